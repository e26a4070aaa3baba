"""Results as tables of a page: one row per policy, what varies in the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from paretoscope.bench.experiment import Experiment
from paretoscope.bench.figures import short
from paretoscope.bench.printed import MILLISECONDS
from paretoscope.bench.rows import (
    Row,
    counts_of,
    line_of,
    missed,
    policies_of,
    ran,
    seconds_at,
    worlds_of,
)
from paretoscope.bench.store import Results

Line = list[str]
# Where a policy did not run: it refused, or was left out.
NOTHING = "-"


def tables(experiment: Experiment, results: Results) -> str:
    """All tables of an experiment, one per world where it has a figure."""
    if experiment.kind in _WHOLE:
        return _WHOLE[experiment.kind](results)
    make = _PER_WORLD[experiment.figure]
    return "\n\n".join(
        f"**{world}**\n\n{make(experiment, results, world)}{_absent(experiment, results, world)}"
        for world in worlds_of(results)
    )


def _absent(experiment: Experiment, results: Results, name: str) -> str:
    """Who took no part in a world, and who refused to."""
    world = next(world for world in experiment.worlds if world.name == name)
    told = [f"Not run: {'; '.join(world.without)} ({world.because})."] if world.without else []
    for policy in policies_of(results, name):
        rows = line_of(results, name, policy)
        if not any(map(ran, rows)):
            told.append(f"Refused: {rows[0]['note']}.")
    return "".join(f"\n\n{line}" for line in told)


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table whose first ``words`` columns are text, the others numbers.

    >>> print(markdown(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    rule = "|" + "---|" * words + "---:|" * (len(header) - words)
    body = [f"| {' | '.join(line)} |" for line in [header, *lines]]
    return "\n".join([body[0], rule, *body[1:]])


def size(value: float) -> str:
    """A number of measurements to three digits.

    >>> size(131_684.2), size(0.0), size(20_000_000)
    ('132k', '0', '20M')
    """
    return short(float(f"{value:.3g}"))


def _along(
    experiment: Experiment, results: Results, world: str, cell: Callable[[Row], str]
) -> tuple[Line, list[tuple[str, list[dict[str, str]], Line]]]:
    """Places on the axis; and for each policy its rows and its cells at these places."""
    places = list(
        dict.fromkeys(row[experiment.axis] for row in results.rows if row["world"] == world)
    )
    found = []
    for policy in policies_of(results, world):
        rows = line_of(results, world, policy)
        at = {row[experiment.axis]: cell(row) for row in rows if ran(row)}
        found.append((policy, rows, [at.get(place, NOTHING) for place in places]))
    return places, found


def _errors(experiment: Experiment, results: Results, world: str) -> str:
    """Shares of runs whose answer was not exactly the Pareto set."""
    places, found = _along(experiment, results, world, lambda row: f"{missed(row).share:.3f}")
    header = ["policy", *(f"{experiment.axis} = {size(float(p))}" for p in places), "runs"]
    return markdown(header, [[name, *cells, counts_of(rows)] for name, rows, cells in found])


def _error_bars(experiment: Experiment, results: Results, world: str) -> str:
    """The same at one place, with exact intervals."""
    _, found = _along(experiment, results, world, _with_interval)
    header = ["policy", "goal", "misidentified (95 % interval)", "runs"]
    lines = [[name, rows[0]["goal"], *cells, counts_of(rows)] for name, rows, cells in found]
    return markdown(header, lines, words=2)


def _with_interval(row: Row) -> str:
    """A share with its limits."""
    share, low, high = missed(row)
    return f"{share:.3f} ({low:.3f} to {high:.3f})"


def _pulls(experiment: Experiment, results: Results, world: str) -> str:
    """Mean measurements until the stop."""
    places, found = _along(experiment, results, world, lambda row: size(float(row["pulls_mean"])))
    header = ["policy", "certified", *(f"K = {p}" for p in places), "wrong", "runs"]
    lines = [
        [name, _certified(rows), *cells, _wrong(rows), counts_of(rows)]
        for name, rows, cells in found
    ]
    return markdown(header, lines, words=2)


def _boxes(experiment: Experiment, results: Results, world: str) -> str:
    """Quantiles of the measurements, rounds, and wrong runs."""
    names = ("pulls_q05", "pulls_median", "pulls_q95", "rounds_mean")
    header = ["policy", "certified", "5 %", "median", "95 %", "rounds", "wrong", "runs"]
    lines = []
    for policy in policies_of(results, world):
        rows = [r for r in results.rows if r["world"] == world and r["policy"] == policy]
        for row in filter(ran, rows):
            cells = [size(float(row[name])) for name in names]
            lines.append([policy, _certified([row]), *cells, _wrong([row]), row["runs"]])
    del experiment
    return markdown(header, lines, words=2)


def _certified(rows: Sequence[Row]) -> str:
    """Whether the policy proves what it says."""
    return "yes" if rows[0]["certified"] == "true" else "no"


def _wrong(rows: Sequence[Row]) -> str:
    """Runs with a wrong label."""
    return str(sum(int(row["errors"]) for row in rows if ran(row)))


def _bounds(results: Results) -> str:
    """Quantities in the rows, instances in the columns; two tables, of nu_K and of the data sets."""
    quantities = list(dict.fromkeys(row["quantity"] for row in results.rows))
    parts = []
    for synthetic in (True, False):
        rows = [r for r in results.rows if r["world"].startswith("nu_K") is synthetic]
        places = list(dict.fromkeys((r["world"], r["K"]) for r in rows))
        value = {(r["quantity"], r["world"], r["K"]): size(float(r["value"])) for r in rows}
        header = ["quantity", *(f"{w}, K = {k}" if synthetic else w for w, k in places)]
        lines = [[q, *(value[q, w, k] for w, k in places)] for q in quantities]
        parts.append(markdown(header, lines))
    return "\n\n".join(parts)


def _gaps(results: Results) -> str:
    """Means and gaps of each candidate, and the distances between each two."""
    value = {(r["quantity"], r["i"], r["j"]): r["value"] for r in results.rows}
    arms = list(dict.fromkeys(r["i"] for r in results.rows))
    names = dict(zip(arms, "ijkl", strict=True))
    header = ["candidate", "objective 1", "objective 2", "optimal", "gap"]
    header += [f"m(., {names[j]})" for j in arms]
    lines = []
    for i in arms:
        own = [value["mu(1)", i, ""], value["mu(2)", i, ""]]
        optimal = "yes" if float(value["optimal", i, ""]) > 0 else "no"
        to = [value.get(("m", i, j), "") for j in arms]
        lines.append([names[i], *own, optimal, value["gap", i, ""], *to])
    return markdown(header, lines)


def _times(results: Results) -> str:
    """Milliseconds of each shape beside the paper's and the transcription's."""
    header = ["K, h, d", "policy", "smallest gap", "paper, ms", "alone, ms", "in a series, ms"]
    header += ["transcription, ms", "paper / alone", "transcription / alone"]
    return markdown(header, [_times_line(results, row) for row in results.rows], words=2)


def _times_line(results: Results, row: Row) -> Line:
    """One shape, one policy."""
    found = seconds_at(results, row["world"], row["shape"], row["policy"])
    budget = row["goal"].startswith("budget")
    paper, alone = MILLISECONDS[row["shape"]][budget], 1e3 * found["alone"]["median"]
    slow = 1e3 * found["transcription"]["median"] if "transcription" in found else None
    said = [
        row["shape"].replace(",", ", "),
        row["policy"],
        row["world"].rpartition(" ")[2],
        f"{paper:g}",
        f"{alone:.2f}",
        f"{1e3 * found['shared']['mean']:.2f}",
    ]
    beside = [NOTHING, NOTHING] if slow is None else [f"{slow:,.0f}", f"{slow / alone:.3g}"]
    return [*said, beside[0], f"{paper / alone:.3g}", beside[1]]


_WHOLE: dict[str, Callable[[Results], str]] = {"bounds": _bounds, "gaps": _gaps, "times": _times}
_PER_WORLD: dict[str, Callable[[Experiment, Results, str], str]] = {
    "error-lines": _errors,
    "error-bars": _error_bars,
    "pulls-lines": _pulls,
    "pulls-boxes": _boxes,
}
