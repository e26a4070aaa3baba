"""Two sets of results side by side: which cells differ by more than chance."""

from __future__ import annotations

import math
from typing import NamedTuple

from paretoscope.bench.store import Results

# All cells together are found different with this probability when nothing is.
SURPRISE = 1e-3
# Columns that say which cell a row is of; any other that both tables have are results.
_NAMES = ("world", "K", "T", "shape", "policy", "quantity", "i", "j")


class Difference(NamedTuple):
    """One number of one cell in both results, and how surprising the difference is.

    ``p`` is None where there is no chance: such numbers are equal or not.
    """

    cell: tuple[str, ...]
    what: str
    first: str
    second: str
    p: float | None


class Contrast(NamedTuple):
    """What two results say of the cells they share."""

    name: str
    shared: int
    only_first: int
    only_second: int
    same: int
    differences: list[Difference]


def contrast(first: Results, second: Results) -> Contrast:
    """Cells that both have: identical, within chance, or different.

    Errors are compared by Fisher's exact test, mean pulls by Welch's; the level is divided among all
    tests. Only differences that chance does not explain are listed.
    """
    ours, theirs = _by_cell(first), _by_cell(second)
    shared = [cell for cell in ours if cell in theirs]
    level = SURPRISE / max(1, 2 * len(shared))
    found = [d for cell in shared for d in _differences(cell, ours[cell], theirs[cell])]
    return Contrast(
        first.name,
        len(shared),
        len(ours) - len(shared),
        len(theirs) - len(shared),
        sum(_results(ours[cell]) == _results(theirs[cell]) for cell in shared),
        [d for d in found if d.p is None or d.p < level],
    )


def _by_cell(results: Results) -> dict[tuple[str, ...], dict[str, str]]:
    """Rows under the names of their cells."""
    return {tuple(row[n] for n in _NAMES if n in row): row for row in results.rows}


def _results(row: dict[str, str]) -> dict[str, str]:
    """What a row found."""
    return {name: value for name, value in row.items() if name not in {*_NAMES, "experiment"}}


def _differences(cell: tuple[str, ...], a: dict[str, str], b: dict[str, str]) -> list[Difference]:
    """Numbers of a cell that differ, with the probability of such a difference by chance."""
    if _results(a) == _results(b):
        return []
    if "value" in a:
        return [Difference(cell, "value", a["value"], b["value"], None)]
    if a["runs"] == "0" or b["runs"] == "0":
        both = a["runs"] == b["runs"]
        return [] if both else [Difference(cell, "runs", a["runs"], b["runs"], None)]
    return [
        Difference(cell, "error", a["error"], b["error"], _fisher(a, b)),
        Difference(cell, "pulls", a["pulls_mean"], b["pulls_mean"], _welch(a, b)),
    ]


def _fisher(a: dict[str, str], b: dict[str, str]) -> float:
    """Fisher's exact test of two counts of errors."""
    from scipy import stats  # noqa: PLC0415  (only where results are compared)

    table = [[int(r["errors"]), int(r["runs"]) - int(r["errors"])] for r in (a, b)]
    return float(stats.fisher_exact(table).pvalue)


def _welch(a: dict[str, str], b: dict[str, str]) -> float | None:
    """Welch's test of two means, by the normal law; constant pulls are equal or not."""
    gap = abs(float(a["pulls_mean"]) - float(b["pulls_mean"]))
    if gap == 0.0:
        return 1.0
    spread = math.hypot(float(a["pulls_se"]), float(b["pulls_se"]))
    if not spread > 0.0 or math.isnan(spread):
        return None if spread == 0.0 else 1.0
    return math.erfc(gap / spread / math.sqrt(2.0))
