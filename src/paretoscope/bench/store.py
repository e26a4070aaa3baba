"""Results on disk: finished cells, one tidy CSV, one JSON beside it.

::

    OUT/figure1.csv         a row per cell; nothing in it depends on the machine
    OUT/figure1.json        seed, versions, machine, seconds
    OUT/figure1.runs.csv    a row per run
    OUT/figure1.cells/      a file per finished cell: what is there is not run again
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from paretoscope.bench.grid import Cell
from paretoscope.bench.measure import Found, rows_of, runs_of, seconds_of
from paretoscope.errors import DataError, UsageError
from paretoscope.version import __version__

Row = dict[str, Any]
# Significant digits of a result: more than any run supports, fewer than rounding errors show in.
DIGITS = 10
_WITH_VERSIONS = ("numpy", "scipy", "moocore")
SHIPPED = "shipped"
# Beside the cells: seconds of all sittings so far.
CLOCK = "wall_seconds"


class Results(NamedTuple):
    """The rows of an experiment as text by column, and what is known of how they came about."""

    name: str
    rows: list[dict[str, str]]
    about: dict[str, Any]


def stored(folder: Path, cell: Cell) -> list[Found] | None:
    """What a finished cell found, or None."""
    path = folder / f"{cell.stem}.json"
    if not path.is_file():
        return None
    try:
        plain: list[Found] = json.loads(path.read_text(encoding="utf-8"))["parts"]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path} is damaged: delete it, and its cell is run again") from None
    return plain


def keep(folder: Path, cell: Cell, found: Sequence[Found]) -> None:
    """Store a finished cell; whoever looks sees all of it or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"cell": cell.said(), "key": cell.key, "parts": list(found)})
    write_whole(folder / f"{cell.stem}.json", text + "\n")


def forget(out: Path, name: str) -> None:
    """Delete the finished cells of an experiment, and nothing else."""
    folder = out / f"{name}.cells"
    for path in folder.glob("*.json") if folder.is_dir() else ():
        path.unlink()
    (folder / CLOCK).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write beside the file, then take its place."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="")
    os.replace(part, path)  # noqa: PTH105  (the atomic one)


def write_results(
    out: Path, name: str, cells: Mapping[Cell, Sequence[Found]], about: Mapping[str, Any]
) -> None:
    """The CSV, the JSON and the runs of an experiment."""
    rows = [row for cell, found in cells.items() for row in rows_of(cell, found)]
    write_whole(out / f"{name}.csv", as_csv(rows))
    spent = [_spent(cell, found) for cell, found in cells.items()]
    told = {"experiment": name, **about, "cells": [cell for cell in spent if cell["seconds"]]}
    write_whole(out / f"{name}.json", json.dumps(told, indent=1) + "\n")
    single = [row for cell, found in cells.items() for row in _single_runs(cell, found)]
    if single:
        write_whole(out / f"{name}.runs.csv", as_csv(single))


def _spent(cell: Cell, found: Sequence[Found]) -> dict[str, Any]:
    """Seconds of a cell: mean, median and smallest of each kind, over how many."""
    named = {"world": cell.world.name, "value": cell.value, "policy": cell.entrant.name}
    spent = {
        kind: {
            "mean": _short(sum(s) / len(s)),
            "median": _short(median(s)),
            "least": _short(min(s)),
            "of": len(s),
        }
        for kind, s in seconds_of(found).items()
        if s
    }
    return named | {"seconds": spent}


def _short(seconds: float) -> float:
    """Seconds to four digits: no clock says more."""
    return float(f"{seconds:.4g}")


def _single_runs(cell: Cell, found: Sequence[Found]) -> Iterable[Row]:
    """A row per run."""
    if "correct" not in found[0]:
        return
    named = {"world": cell.world.name, cell.experiment.axis: cell.value}
    for k, run in enumerate(runs_of(found)):
        yield named | {"policy": cell.entrant.name, "run": k, **vars(run)}


def as_csv(rows: Sequence[Row]) -> str:
    r"""Rows under the names of all their columns, in the order in which these first come.

    >>> as_csv([{"a": 0.1 + 0.2}, {"a": True, "b": 1}])
    'a,b\n0.3,\ntrue,1\n'
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name, "")) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:  # noqa: ANN401  (a plain value)
    """A value as text: numbers short, truth in lower case."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def machine() -> dict[str, Any]:
    """What the numbers were made with: versions, and the kind of machine."""
    return {
        "paretoscope": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in _WITH_VERSIONS},
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(name: str) -> str:
    """Version of a library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _processor() -> str:
    """Name of the processor, where the system tells."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def read_results(where: str | Path, name: str) -> Results:
    """The results of an experiment in a folder, or the ones of the package ('shipped').

    Raises
    ------
    UsageError
        If there are none.
    """
    folder = files("paretoscope.bench") / "results" if where == SHIPPED else Path(where)
    table, about = folder / f"{name}.csv", folder / f"{name}.json"
    if not table.is_file():
        raise UsageError(f"{where} has no results of {name!r}: run it first")
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    said = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    return Results(name, rows, said)


def held_in(where: str | Path, of: Iterable[str]) -> list[str]:
    """Which of these experiments have results there."""
    folder = files("paretoscope.bench") / "results" if where == SHIPPED else Path(where)
    return [name for name in of if (folder / f"{name}.csv").is_file()]
