"""The same pictures for papers, by matplotlib: one column wide, small type, colours and shapes of the palette.

Figures are made without pyplot: no window, no global list of figures, and the caller's settings hold
for the caller's own.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from html import unescape
from importlib import import_module
from typing import Any

import numpy as np

from paretoscope.errors import UsageError
from paretoscope.report import journey
from paretoscope.report.marks import Chart, Rows, Trace
from paretoscope.report.palette import LIGHT, LOOKS, VERDICTS
from paretoscope.report.view import View
from paretoscope.study.metric import Metric
from paretoscope.study.speech import SHORT
from paretoscope.study.trace import Snapshot

# Inches: a column and a half of a journal.
_WIDTH, _HEIGHT = 5.2, 3.7
_AREAS = {"accepted": 34, "near": 30, "undecided": 22, "rejected": 13, "infeasible": 22}
_STYLES = ("-", "--", ":", "-.", (0, (5, 1)))
_HATCHES = {
    "accepted": "",
    "near": "xxx",
    "undecided": "...",
    "rejected": "////",
    "infeasible": "---",
}


class Plots:
    """Figures of a study, each a `matplotlib.figure.Figure` of how it stands now."""

    def __init__(self, study: Any) -> None:  # noqa: ANN401  (whatever has a snapshot)
        self._study = study

    def front(self) -> Any:  # noqa: ANN401  (a figure)
        """Estimates with their intervals, by verdict; a matrix of pairs for more than two metrics."""
        return front(self._study.snapshot())

    def timeline(self) -> Any:  # noqa: ANN401
        """When candidates were decided, with which margin."""
        return timeline(self._study.snapshot())

    def allocation(self) -> Any:  # noqa: ANN401
        """Measurements of each candidate."""
        return allocation(self._study.snapshot())

    def progress(self) -> Any:  # noqa: ANN401
        """Candidates in, out and undecided after each round."""
        return progress(self._study.snapshot())

    def residuals(self) -> Any:  # noqa: ANN401
        """Means against the linear fit."""
        return residuals(self._study.snapshot())

    def __repr__(self) -> str:
        names = [name for name in dir(self) if not name.startswith("_")]
        return f"Plots({', '.join(names)})"


def drawn(figure: Any, format: str) -> bytes:  # noqa: ANN401, A002
    """A figure as the bytes of a file."""
    out = io.BytesIO()
    figure.savefig(
        out, format=format, dpi=200, metadata={"Date": None} if format == "svg" else None
    )
    return out.getvalue()


def _figure(width: float = _WIDTH, height: float = _HEIGHT) -> Any:  # noqa: ANN401
    """An empty figure."""
    try:
        made = import_module("matplotlib.figure")
    except ImportError:
        raise UsageError("a figure needs matplotlib: pip install 'paretoscope[plot]'") from None
    return made.Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _bare(ax: Any, x: str, y: str) -> None:  # noqa: ANN401
    """Axes without a frame that says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LIGHT["control"])
    ax.tick_params(labelsize=8, color=LIGHT["control"])
    ax.set_xlabel(_literal(x), fontsize=9)
    ax.set_ylabel(_literal(y), fontsize=9)
    ax.set_axisbelow(True)
    ax.grid(color=LIGHT["rule"], linewidth=0.5)


def _literal(text: str) -> str:
    """Text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def _said(metric: Metric) -> str:
    """Name and unit of a metric, and which way is better."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return f"{metric.name}{unit}, {'less' if metric.goal == 'min' else 'more'} is better"


def _look(verdict: str) -> dict[str, Any]:
    """Colour and shape of a verdict for a scatter."""
    look, colour = LOOKS[verdict], LIGHT[verdict]
    open_ = (
        {"facecolors": "none", "edgecolors": colour} if look.marker != "x" else {"color": colour}
    )
    face = {"color": colour} if look.filled else open_
    return {"marker": look.marker, "s": _AREAS[verdict], "linewidths": 1.0, **face}


def _legend(figure: Any, ax: Any) -> None:  # noqa: ANN401
    """One line above the picture."""
    handles, names = ax.get_legend_handles_labels()
    if names:
        figure.legend(handles, names, loc="outside upper left", ncols=5, fontsize=8, frameon=False)


# ---------------------------------------------------------------- one function per picture


def front(snapshot: Snapshot) -> Any:  # noqa: ANN401
    """Estimates with their intervals."""
    view = View("", snapshot)
    d = len(view.metrics)
    if d == 1:
        return _ladder(view)
    if d == 2:
        figure = _figure()
        ax = figure.subplots()
        _panel(view, ax, 0, 1)
        _legend(figure, ax)
        return figure
    return _matrix(view)


def _panel(view: View, ax: Any, a: int, b: int) -> None:  # noqa: ANN401
    """Two metrics against each other."""
    x, y = view.metrics[a], view.metrics[b]
    if len(view.metrics) == 2:
        rows = sorted(view.guess, key=lambda row: row[x.name])
        step = "post" if x.goal == "min" else "pre"
        values = [[row[m.name] for row in rows] for m in (x, y)]
        ax.step(
            *values, where=step, color=LIGHT["muted"], linewidth=0.9, label="front of estimates"
        )
    for verdict in VERDICTS:
        rows = view.marks[verdict]
        if rows:
            values = [[_number(row[m.name]) for row in rows] for m in (x, y)]
            top = 9 - VERDICTS.index(verdict)
            ax.scatter(*values, label=SHORT[verdict], zorder=top, **_look(verdict))
            if view.boxed(verdict):
                _boxes(ax, rows, x.name, y.name, verdict)
    for metric, letter in ((x, "x"), (y, "y")):
        if metric.scale == "log":
            _logarithmic(ax, letter)
    _bare(ax, _said(x), _said(y))


def _logarithmic(ax: Any, letter: str) -> None:  # noqa: ANN401
    """A logarithmic axis with plain numbers: 1, 2, 5, 10 where it is wide, equal steps where not."""
    ticker = import_module("matplotlib.ticker")
    ax.set(**{f"{letter}scale": "log"})
    low, high = getattr(ax, f"get_{letter}lim")()
    wide = high > 6 * low
    axis = getattr(ax, f"{letter}axis")
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)) if wide else ticker.MaxNLocator(5))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(ticker.NullFormatter())


def _boxes(ax: Any, rows: Rows, x: str, y: str, verdict: str) -> None:  # noqa: ANN401
    """Rectangles of the intervals."""
    corners = []
    for row in rows:
        left, right, low, high = (row[f"{n} {s}"] for n in (x, y) for s in ("low", "high"))
        if None not in {left, right, low, high}:
            corners.append([(left, low), (right, low), (right, high), (left, high)])
    strong = verdict in {"accepted", "near"}
    collection = import_module("matplotlib.collections").PolyCollection(
        corners,
        facecolors=_faded(verdict, 0.12 if strong else 0.0),
        edgecolors=_faded(verdict, 0.55 if strong else 0.25),
        linewidths=0.6,
        zorder=2,
    )
    ax.add_collection(collection)
    ax.autoscale_view()


def _faded(verdict: str, alpha: float) -> tuple[str, float]:
    """A colour that lets others through."""
    return (LIGHT[verdict], alpha)


def _number(value: float | None) -> float:
    """A number, or not one."""
    return np.nan if value is None else value


def _matrix(view: View) -> Any:  # noqa: ANN401
    """The lower triangle of all pairs."""
    d = 1 + max(b for _, b in view.pairs)
    figure = _figure(2.4 * (d - 1), 2.1 * (d - 1) + 0.3)
    grid = figure.subplots(d - 1, d - 1, squeeze=False)
    for row in range(d - 1):
        for column in range(d - 1):
            ax = grid[row][column]
            if column > row:
                ax.set_visible(False)
                continue
            _panel(view, ax, column, row + 1)
            if row < d - 2:
                ax.set_xlabel("")
            if column:
                ax.set_ylabel("")
    _legend(figure, grid[0][0])
    return figure


def _ladder(view: View) -> Any:  # noqa: ANN401
    """One metric in the order of its estimates."""
    metric, figure = view.metrics[0], _figure()
    ax = figure.subplots()
    known = [row for row in view.table if row[metric.name] is not None]
    known.sort(key=lambda row: row[metric.name], reverse=metric.goal == "max")
    for verdict in VERDICTS:
        ranked = [(rank, row) for rank, row in enumerate(known, 1) if row["verdict"] == verdict]
        if not ranked:
            continue
        at, values = [rank for rank, _ in ranked], [row[metric.name] for _, row in ranked]
        if view.boxed(verdict):
            sides = [
                [_number(row[f"{metric.name} {s}"]) for _, row in ranked] for s in ("low", "high")
            ]
            ax.vlines(at, *sides, color=_faded(verdict, 0.55), linewidth=1.0)
        ax.scatter(at, values, label=SHORT[verdict], zorder=5, **_look(verdict))
    if metric.scale == "log":
        _logarithmic(ax, "y")
    _bare(ax, "candidates, best estimate first", _said(metric))
    _legend(figure, ax)
    return figure


def timeline(snapshot: Snapshot) -> Any:  # noqa: ANN401
    """When candidates were decided, with which margin."""
    return _scattered(snapshot, journey.timeline, lambda trace: trace["meta"]["verdict"])


def residuals(snapshot: Snapshot) -> Any:  # noqa: ANN401
    """Means against the linear fit."""
    return _scattered(snapshot, journey.residuals, None)


def _scattered(
    snapshot: Snapshot,
    made: Callable[[View], Chart | None],
    verdict_of: Callable[[Trace], str] | None,
) -> Any:  # noqa: ANN401
    """The marks and levels of a chart of the page."""
    chart = _needed(made(View("", snapshot)))
    figure, layout = _figure(), chart.figure["layout"]
    ax = figure.subplots()
    for n, trace in enumerate(chart.figure["data"]):
        verdict = ("accepted", "undecided", "near", "infeasible")[n % 4]
        look = _look(verdict_of(trace) if verdict_of else verdict)
        ax.scatter(trace["x"], trace["y"], label=_literal(_raw(trace["name"])), **look)
    for shape in layout.get("shapes", ()):
        ax.axhline(shape["y0"], color=LIGHT["control"], linewidth=0.8, linestyle=":")
    _bare(ax, layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"])
    _legend(figure, ax)
    return figure


def allocation(snapshot: Snapshot) -> Any:  # noqa: ANN401
    """Measurements of each candidate."""
    chart = _needed(journey.allocation(View("", snapshot)))
    figure, axis = _figure(), chart.figure["layout"]["xaxis"]
    ax = figure.subplots()
    for trace in chart.figure["data"]:
        verdict = trace["meta"]["verdict"]
        look = {"edgecolor": LIGHT[verdict], "linewidth": 0.6, "hatch": _HATCHES[verdict]}
        face = LIGHT[verdict] if verdict == "accepted" else "white"
        ax.bar(trace["x"], trace["y"], label=trace["name"], facecolor=face, width=0.8, **look)
    names = axis.get("ticktext", ())
    _bare(ax, axis["title"]["text"], "measurements")
    ax.grid(visible=False, axis="x")
    if names:
        ax.set_xticks(
            axis["tickvals"], [_literal(_raw(name)) for name in names], rotation=60, ha="right"
        )
    _legend(figure, ax)
    return figure


def progress(snapshot: Snapshot) -> Any:  # noqa: ANN401
    """Candidates in, out and undecided after each round."""
    x, lines = journey.progress_lines(View("", snapshot))
    figure = _figure()
    ax = figure.subplots()
    for n, (verdict, y) in enumerate(lines.items()):
        look = LOOKS[verdict]
        face = LIGHT[verdict] if look.filled else "white"
        style = {"linestyle": _STYLES[n], "marker": look.marker, "markersize": 4, "linewidth": 1.3}
        ax.step(
            x,
            y,
            where="post",
            color=LIGHT[verdict],
            markerfacecolor=face,
            label=SHORT[verdict],
            **style,
        )
    _bare(ax, "measurements", "candidates")
    _legend(figure, ax)
    return figure


def _raw(text: str) -> str:
    """A label of a chart as matplotlib takes it, which reads no tags."""
    return unescape(text)


def _needed(chart: Chart | None) -> Chart:
    """A chart that has something to show."""
    if chart is None:
        raise UsageError("nothing to draw yet: measure first (residuals need features as well)")
    return chart
