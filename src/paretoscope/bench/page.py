"""docs/reproduction.md from results: prose with gaps, tables, claims, figures, so that it cannot drift.

The prose is `reproduction.md` beside this file. A gap is ``{{word}}`` or ``{{word argument}}``: ``table``
and ``figure`` of an experiment, ``claims`` whose names begin like this, ``made`` of how the results came
about.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from io import StringIO
from pathlib import Path

from paretoscope.bench import figures, store
from paretoscope.bench.claims import claims
from paretoscope.bench.experiment import load, names
from paretoscope.bench.looks import RC
from paretoscope.bench.store import Results
from paretoscope.bench.tables import markdown, size, tables
from paretoscope.errors import UsageError

Shelf = Mapping[str, Results]
# Pictures stand beside the page, in this folder.
FOLDER = "reproduction"
# What a browser does not need of a picture: fonts it lacks, turns by nothing, indentation, edges that
# nothing crosses, names that nobody calls, groups of one.
_ONE = re.compile(r"<g>\n(<(?:path|text|use)[^<]*(?:/>|</text>))\n</g>")
_WASTE = (
    (re.compile(r"font-family: 'DejaVu Sans', [^;\"]*?sans-serif; "), ""),
    (re.compile(r"<svg "), "<svg font-family=\"'DejaVu Sans', sans-serif\" "),
    (re.compile(r' ?transform="rotate\(-?0 [^)]*\)"'), ""),
    (re.compile(r"\s*\n\s*"), "\n"),
    (re.compile(r' clip-path="[^"]*"|; stroke-linecap: square'), ""),
    (re.compile(r' id="[a-z.A-Z]*\d*[a-z]?_\d+"'), ""),
    (_ONE, r"\1"),
    (_ONE, r"\1"),
)
_LONG = re.compile(r"(?<![\w.#])(\d+)\.\d{2,}")
_GAP = re.compile(r"{{(\w+)(?: ([^}]*))?}}")


def shelf_of(where: str | Path) -> dict[str, Results]:
    """The results of every experiment.

    Raises
    ------
    UsageError
        If one was not run.
    """
    return {name: store.read_results(where, name) for name in names()}


def written(shelf: Shelf) -> str:
    """The page."""
    return filled(
        (files("paretoscope.bench") / "reproduction.md").read_text(encoding="utf-8"), shelf
    )


def filled(prose: str, shelf: Shelf) -> str:
    """Text with its gaps filled.

    Raises
    ------
    UsageError
        If a gap means nothing.
    """
    return _GAP.sub(lambda gap: _filled(gap[1], gap[2] or "", shelf), prose)


def draw_all(shelf: Shelf, docs: Path) -> list[Path]:
    """Every figure as SVG, with the digest of the rows that it shows."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    folder, made = docs / FOLDER, []
    folder.mkdir(parents=True, exist_ok=True)
    for name in pictured():
        figure = figures.draw(load(name), shelf[name].rows)
        about = {"Date": None, "Creator": None, "Description": digest(shelf[name])}
        path, drawn = folder / f"{name}.svg", StringIO()
        # letters as letters: a fifth of the size, and they can be searched for
        with mpl.rc_context(RC | {"svg.fonttype": "none"}):
            figure.savefig(drawn, format="svg", metadata=about, bbox_inches="tight")
        store.write_whole(path, compact(drawn.getvalue()))
        made.append(path)
    return made


def compact(svg: str) -> str:
    r"""The same picture in fewer characters: tenths of a point, one font with its fallback.

    >>> compact("<g>\n  <path d='M 12.3456'/>\n</g>")
    "<path d='M 12.3'/>"
    """
    for pattern, less in _WASTE:
        svg = pattern.sub(less, svg)
    return _LONG.sub(lambda n: f"{float(n[0]):.1f}" if int(n[1]) else f"{float(n[0]):.2g}", svg)


def pictured() -> list[str]:
    """Experiments that have a figure."""
    return [name for name in names() if load(name).figure]


def digest(results: Results) -> str:
    """Of what a figure shows."""
    return hashlib.sha256(store.as_csv(results.rows).encode()).hexdigest()


def _filled(word: str, argument: str, shelf: Shelf) -> str:
    """What stands in a gap."""
    if word not in _GAPS:
        raise UsageError(f"the gap {word!r} is none of {', '.join(_GAPS)}")
    return _GAPS[word](argument, shelf)


def _table(name: str, shelf: Shelf) -> str:
    """The tables of an experiment."""
    return tables(load(name), shelf[name])


def _figure(name: str, shelf: Shelf) -> str:
    """The picture of an experiment."""
    return f"![{load(shelf[name].name).title}]({FOLDER}/{name}.svg)"


def _listed(start: str, shelf: Shelf) -> str:
    """Claims whose names begin like this: what is claimed, whether it holds, what was measured."""
    found = [claim for claim in claims(shelf) if claim.name.startswith(start)]
    if not found:
        raise UsageError(f"no claim begins with {start!r}")
    lines = [[c.says, "holds" if c.holds else "**does not hold**", c.measured] for c in found]
    return markdown(["claim", "here", "measured"], lines, words=3)


def _tally(argument: str, shelf: Shelf) -> str:
    """How many claims hold."""
    del argument
    found = claims(shelf)
    return f"{sum(c.holds for c in found)} of {len(found)}"


def _made(argument: str, shelf: Shelf) -> str:
    """What was run, with what: a row per experiment."""
    del argument
    header = ["experiment", "cells", "runs in all", "seconds in runs", "seed"]
    lines = [[name, *_told(results)] for name, results in shelf.items()]
    first = next(iter(shelf.values())).about["made_with"]
    told = ", ".join(
        f"{what} {first[what]}" for what in ("paretoscope", "python", "numpy", "scipy")
    )
    return f"{markdown(header, lines)}\n\nMade with {told}, on one core of {first['processor']}."


def _told(results: Results) -> list[str]:
    """Cells, runs, seconds and seed of an experiment."""
    runs = sum(int(row.get("runs") or 0) for row in results.rows)
    about = results.about
    cells = len({(r["world"], *_place(r)) for r in results.rows})
    spent = [kind for cell in about["cells"] for kind in cell["seconds"].values()]
    seconds = sum(kind["mean"] * kind["of"] for kind in spent)
    return [str(cells), size(runs), f"{seconds:.0f}", str(about["seed"])]


def _place(row: Mapping[str, str]) -> tuple[str, ...]:
    """What tells the cells of a world apart."""
    return tuple(row[name] for name in ("K", "T", "shape", "policy") if name in row)


_GAPS: dict[str, Callable[[str, Shelf], str]] = {
    "table": _table,
    "figure": _figure,
    "claims": _listed,
    "tally": _tally,
    "made": _made,
}
