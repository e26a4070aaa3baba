"""The picture of gaps and distances between a few candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from paretoscope.bench.experiment import Experiment
from paretoscope.bench.looks import BLACK, BLUE, GREY, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, str]


class Plane(NamedTuple):
    """Candidates by name: their two means, and which are optimal."""

    means: dict[str, tuple[float, float]]
    optimal: dict[str, bool]
    gap: dict[str, float]


def draw_gaps(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Candidates in the plane; arrows for the distances that make the gaps."""
    from matplotlib.figure import Figure as New  # noqa: PLC0415  (an extra)

    plane = _plane(list(experiment.worlds[0].settings["means"]), rows)
    figure = New(figsize=(4.2, 3.4), layout="constrained")
    axis = figure.subplots()
    _candidates(axis, plane)
    for i in plane.means:
        if plane.optimal[i]:
            _excesses(axis, plane, i)
        else:
            _shortfalls(axis, plane, i)
    axis.set_xlabel("objective 1")
    axis.set_ylabel("objective 2")
    axis.set_aspect("equal")
    axis.margins(0.16)
    axis.grid(visible=False)
    return figure


def _plane(names: list[str], rows: Sequence[Row]) -> Plane:
    """Coordinates, optimality and gaps from the rows."""
    value = {(row["quantity"], row["i"], row["j"]): float(row["value"]) for row in rows}
    told = {name: str(k) for k, name in enumerate(names)}
    return Plane(
        {n: (value["mu(1)", k, ""], value["mu(2)", k, ""]) for n, k in told.items()},
        {n: value["optimal", k, ""] > 0 for n, k in told.items()},
        {n: value["gap", k, ""] for n, k in told.items()},
    )


def _candidates(axis: Axes, plane: Plane) -> None:
    """Points with their names and gaps."""
    for name, (x, y) in plane.means.items():
        colour = BLUE if plane.optimal[name] else GREY
        axis.plot([x], [y], "o", color=colour, markersize=6, zorder=3)
        axis.annotate(
            f"${name}$   $\\Delta_{name}$ = {plane.gap[name]:g}",
            (x, y),
            xytext=(6, 6 if plane.optimal[name] else -10),
            textcoords="offset points",
            color=colour,
        )


def _shortfalls(axis: Axes, plane: Plane, i: str) -> None:
    """m(i,j) > 0: how much i lacks in the objective in which it lacks least, for each j above it."""
    x, y = plane.means[i]
    for j, (u, v) in plane.means.items():
        if u > x and v > y:
            across = u - x < v - y
            end = (u, y) if across else (x, v)
            _arrow(axis, (x, y), end, f"$m({i},{j})$", RED)


def _excesses(axis: Axes, plane: Plane, k: str) -> None:
    """M(k,j) of the other optimal j: by how much k exceeds it where it does most."""
    x, y = plane.means[k]
    for j, (u, v) in plane.means.items():
        if j != k and plane.optimal[j]:
            across = x - u > y - v
            start = (u, y) if across else (x, v)
            _arrow(axis, start, (x, y), f"$M({k},{j})$", BLACK)


def _arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], text: str, colour: str
) -> None:
    """An arrow along one axis with its name at the middle."""
    how = {"arrowstyle": "->", "color": colour, "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", end, start, arrowprops=how)
    level = start[1] == end[1]
    axis.annotate(
        text,
        ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2),
        xytext=(0, 3) if level else (3, 0),
        textcoords="offset points",
        ha="center" if level else "left",
        va="bottom" if level else "center",
        fontsize=7,
        color=colour,
    )
