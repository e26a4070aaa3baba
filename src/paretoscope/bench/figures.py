"""Figures of results: lines with exact intervals, boxes of pulls, bars of errors; PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from paretoscope.bench import sketch
from paretoscope.bench.experiment import Experiment
from paretoscope.bench.looks import RC, Look, looks_of
from paretoscope.bench.rows import missed, ran
from paretoscope.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, str]
# Inches: a panel fits a column of a paper, two fit a page.
PANEL = (3.4, 2.7)
# Two ends of lines this near, as shares of the height, would have labels on top of each other.
_CROWDED = 0.062
# Wider axes have enough powers of ten.
FEW_TICKS = 300.0


def possible() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """The figure of an experiment, a panel per world.

    Raises
    ------
    UsageError
        If matplotlib is not installed, or the experiment is a table.
    """
    if not possible():
        raise UsageError("figures need matplotlib: install paretoscope[plot]")
    if experiment.figure not in _KINDS:
        raise UsageError(f"{experiment.name} is a table: it has no figure")
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    with mpl.rc_context(RC):
        return _KINDS[experiment.figure](experiment, rows)


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """PNG and SVG; the same figure is the same file."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    png, svg = out / f"{name}.png", out / f"{name}.svg"
    with mpl.rc_context(RC):
        figure.savefig(png, metadata={"Software": None}, bbox_inches="tight")
        figure.savefig(svg, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    return [png, svg]


def _panels(
    worlds: Sequence[str],
    size: tuple[float, float] = PANEL,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each world, two in a row, their titles set."""
    from matplotlib.figure import Figure as New  # noqa: PLC0415  (an extra)

    columns = min(2, len(worlds))
    lines = -(-len(worlds) // columns)
    figure = New(figsize=(size[0] * columns, size[1] * lines), layout="constrained")
    axes = (
        figure.subplots(lines, columns, squeeze=False, sharex=sharex, sharey=sharey)
        .ravel()
        .tolist()
    )
    for axis, world in zip(axes, worlds, strict=False):
        axis.set_title(
            world.replace("nu_K", r"$\nu_K$").replace("sigma", r"$\sigma$ ="), loc="left"
        )
    for axis in axes[len(worlds) :]:
        axis.remove()
    return figure, axes[: len(worlds)]


def _worlds(rows: Sequence[Row]) -> list[str]:
    """Worlds of the rows, in their order."""
    return list(dict.fromkeys(row["world"] for row in rows))


def _of(rows: Sequence[Row], world: str, policy: str) -> list[Row]:
    """Rows of a policy in a world that were run."""
    return [r for r in rows if r["world"] == world and r["policy"] == policy and ran(r)]


def _lines(
    experiment: Experiment,
    rows: Sequence[Row],
    point: Callable[[Row], tuple[float, float, float]],
    *,
    share: bool,
) -> tuple[Figure, list[Axes]]:
    """A line per policy with a band (level, low, high), its name at its right end."""
    worlds = _worlds(rows)
    looks = looks_of(row["policy"] for row in rows)
    figure, axes = _panels(worlds, sharey=share)
    for axis, world in zip(axes, worlds, strict=True):
        ends: list[tuple[str, Look, float, float]] = []
        for policy, look in looks.items():
            mine = _of(rows, world, policy)
            if mine:
                x = [float(row[experiment.axis]) for row in mine]
                points = [point(row) for row in mine]
                _line(axis, x, points, look)
                ends.append((policy, look, x[-1], points[-1][0]))
        _log_ticks(axis)
        axis.set_xlabel(experiment.label)
        if share:
            axis.set_ylim(-0.02, 1.02)
        else:
            axis.set_yscale("log")
        _name_ends(axis, ends)
    return figure, axes


def _line(axis: Axes, x: list[float], points: list[tuple[float, float, float]], look: Look) -> None:
    """One line with its band."""
    y, low, high = ([point[k] for point in points] for k in range(3))
    axis.fill_between(x, low, high, color=look.colour, alpha=0.13, linewidth=0)
    face = look.colour if look.filled else "white"
    axis.plot(x, y, color=look.colour, marker=look.mark, linestyle=look.dash, markerfacecolor=face)


def _name_ends(axis: Axes, ends: list[tuple[str, Look, float, float]]) -> None:
    """Names at the right ends of the lines, moved apart where they would overlap."""
    to_axes = axis.transData + axis.transAxes.inverted()
    heights = [float(to_axes.transform((x, y))[1]) for _, _, x, y in ends]
    order = sorted(range(len(ends)), key=heights.__getitem__)
    spread = apart([heights[k] for k in order])
    for k, height in zip(order, spread, strict=True):
        name, look, *_ = ends[k]
        axis.annotate(
            name,
            (1.0, height),
            xytext=(4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=look.colour,
            va="center",
            fontsize=6.5,
            annotation_clip=False,
        )


def apart(heights: Sequence[float], least: float = _CROWDED) -> list[float]:
    """Ascending heights moved as little as it takes to be ``least`` apart, within 0 and 1.

    >>> [round(h, 2) for h in apart([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    least = min(least, 1.0 / max(len(heights), 1))
    shifted = [height - least * k for k, height in enumerate(heights)]
    groups: list[tuple[float, int]] = []  # means that ascend, each of how many: pool adjacent ones
    for value in shifted:
        groups.append((value, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, m), (b, n) = groups.pop(-2), groups.pop()
            groups.append(((a * m + b * n) / (m + n), m + n))
    top = 1.0 - least * max(len(heights) - 1, 0)
    flat = [min(max(mean, 0.0), top) for mean, n in groups for _ in range(n)]
    return [value + least * k for k, value in enumerate(flat)]


def _error_lines(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Misidentification with exact 95 % intervals."""
    figure, axes = _lines(experiment, rows, missed, share=True)
    axes[0].set_ylabel("misidentification rate")
    return figure


def _pulls_lines(experiment: Experiment, rows: Sequence[Row]) -> Figure:
    """Mean pulls; the band holds nine runs of ten."""
    figure, axes = _lines(experiment, rows, _mean_and_ends, share=False)
    for axis in axes[::2]:
        axis.set_ylabel("measurements until the stop")
    return figure


def _mean_and_ends(row: Row) -> tuple[float, float, float]:
    """Mean pulls, and what 5 and 95 of 100 runs need."""
    return float(row["pulls_mean"]), float(row["pulls_q05"]), float(row["pulls_q95"])


def _pulls_boxes(_: Experiment, rows: Sequence[Row]) -> Figure:
    """Boxes of pulls: quartiles, median, whiskers from 5 to 95 %; hollow where nothing is certified."""
    worlds = _worlds(rows)
    looks = looks_of(row["policy"] for row in rows)
    tall = 0.55 + 0.21 * len(looks)
    figure, axes = _panels(worlds, (PANEL[0], tall), sharey=True)
    names = list(looks)
    for axis, world in zip(axes, worlds, strict=True):
        for place, policy in enumerate(names):
            for row in _of(rows, world, policy):
                _box(axis, row, len(names) - place, looks[policy])
        _log_ticks(axis)
        axis.grid(visible=False, axis="y")
        axis.set_yticks(range(len(names), 0, -1), names)
        axis.set_ylim(0.4, len(names) + 0.6)
    for axis in axes[-2:]:
        axis.set_xlabel("measurements until the stop")
    return figure


def _log_ticks(axis: Axes) -> None:
    """Powers of ten; 1, 2 and 5 of each where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: PLC0415  (an extra)

    axis.set_xscale("log")
    low, high = axis.get_xlim()
    subs = (1.0,) if high / low > FEW_TICKS else (1.0, 2.0, 5.0)
    axis.xaxis.set_major_locator(LogLocator(subs=subs))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))


def short(value: float) -> str:
    """A count in as few characters as possible.

    >>> short(500), short(20_000), short(5e6)
    ('500', '20k', '5M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _box(axis: Axes, row: Row, place: int, look: Look) -> None:
    """One box, the number of wrong runs beside it where there are any."""
    names = {"q1": "q25", "q3": "q75", "med": "median", "whislo": "q05", "whishi": "q95"}
    stats = {key: float(row[f"pulls_{name}"]) for key, name in names.items()}
    certified = row["certified"] == "true"
    face = (look.colour, 0.35) if certified else "white"
    axis.bxp(
        [stats | {"fliers": []}],
        positions=[place],
        widths=0.55,
        orientation="horizontal",
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": face, "edgecolor": look.colour, "linewidth": 0.9},
        medianprops={"color": look.colour, "linewidth": 2.0},
        whiskerprops={"color": look.colour, "linewidth": 0.9},
        capprops={"color": look.colour, "linewidth": 0.9},
    )
    if int(row["errors"]):
        axis.annotate(
            f"{row['errors']} of {row['runs']} wrong",
            (stats["whishi"], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            color=look.colour,
        )


def _error_bars(_: Experiment, rows: Sequence[Row]) -> Figure:
    """Misidentification as points with exact 95 % intervals."""
    worlds = _worlds(rows)
    looks = looks_of(row["policy"] for row in rows)
    names = list(looks)
    figure, axes = _panels(worlds, (PANEL[0], 0.55 + 0.2 * len(names)), sharex=True, sharey=True)
    for axis, world in zip(axes, worlds, strict=True):
        for place, policy in enumerate(names):
            for row in _of(rows, world, policy):
                _whisker(axis, row, len(names) - place, looks[policy])
        axis.grid(visible=False, axis="y")
        axis.set_yticks(range(len(names), 0, -1), names)
        axis.set_xlim(-0.03, 1.03)
        axis.set_ylim(0.4, len(names) + 0.6)
    for axis in axes[-2:]:
        axis.set_xlabel("misidentification rate")
    return figure


def _whisker(axis: Axes, row: Row, place: int, look: Look) -> None:
    """One rate with its interval."""
    rate, low, high = missed(row)
    reach = [[rate - low], [high - rate]]
    axis.errorbar(
        [rate], [place], xerr=reach, color=look.colour, marker=look.mark, capsize=2.5, markersize=5
    )


_KINDS: dict[str, Callable[[Experiment, Sequence[Row]], Figure]] = {
    "error-lines": _error_lines,
    "pulls-lines": _pulls_lines,
    "pulls-boxes": _pulls_boxes,
    "error-bars": _error_bars,
    "gaps": sketch.draw_gaps,
}
