"""Rows of results, looked up by what they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paretoscope.bench.store import Results
from paretoscope.errors import UsageError
from paretoscope.sim.metrics import Interval, clopper_pearson

Row = Mapping[str, str]


def worlds_of(results: Results) -> list[str]:
    """Worlds, in their order."""
    return list(dict.fromkeys(row["world"] for row in results.rows))


def policies_of(results: Results, world: str) -> list[str]:
    """Policies that take part in a world, in their order."""
    return list(dict.fromkeys(row["policy"] for row in results.rows if row["world"] == world))


def line_of(results: Results, world: str, policy: str) -> list[dict[str, str]]:
    """Rows of a policy in a world along the axis, refused ones too.

    Raises
    ------
    UsageError
        If there are none.
    """
    found = [r for r in results.rows if r["world"] == world and r["policy"] == policy]
    if not found:
        raise UsageError(f"{results.name} has no {policy!r} in {world!r}")
    return found


def ran(row: Row) -> bool:
    """Whether it was run at all: a policy may have refused, and the note says why."""
    return row["runs"] != "0"


def missed(row: Row) -> Interval:
    """Share of the runs whose answer is not settled as exactly the Pareto set, with its exact interval.

    Without a certificate that is the error; a certified policy may be right and unsettled.
    """
    return clopper_pearson(int(row["inexact"]), int(row["runs"]))


def counts_of(rows: Sequence[Row]) -> str:
    """Runs of a line: one number, or the least and the most."""
    counts = sorted({int(row["runs"]) for row in rows if ran(row)})
    if not counts:
        return "none"
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"


def seconds_at(
    results: Results, world: str, value: str, policy: str
) -> dict[str, dict[str, float]]:
    """Mean and least seconds of a cell by what they were spent on."""
    for cell in results.about["cells"]:
        if (cell["world"], str(cell["value"]), cell["policy"]) == (world, value, policy):
            spent: dict[str, dict[str, float]] = cell["seconds"]
            return spent
    raise UsageError(f"{results.name} has no seconds of {policy!r} in {world!r} at {value}")
