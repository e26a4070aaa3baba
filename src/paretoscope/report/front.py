"""The picture of the front: two metrics, a matrix of pairs, or one metric in the order of its estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretoscope.report.marks import SIZES, Chart, Rows, Trace, axis, label
from paretoscope.report.palette import LOOKS, VERDICTS
from paretoscope.report.view import View
from paretoscope.study.speech import SHORT


def front(view: View) -> Chart:
    """Estimates with their intervals: two metrics, a matrix of pairs, or one metric in order."""
    d = len(view.metrics)
    if d == 1:
        return _ladder(view)
    if d == 2:
        data = _panel(view, 0, 1, "", legend=True)
        x, y = view.metrics
        layout = {"xaxis": axis(x), "yaxis": axis(y), "height": 520}
        return Chart("front", "The front", _front_said(view), {"data": data, "layout": layout})
    return _matrix(view)


def _front_said(view: View) -> str:
    """The picture of the front in words."""
    if not any(view.result.counts):
        return "Nothing is measured yet: every candidate will be a mark, with its interval."
    intervals = "Rectangles and bars are 95 % intervals, one candidate at a time."
    kept = [v for v in VERDICTS if view.marks[v] and not view.boxed(v)]
    if kept:
        words = " and ".join(SHORT[v] for v in kept)
        intervals += f" Those of {words} are left out, for there are many."
    return f"Every mark is the estimate of a candidate. {intervals}"


def _panel(view: View, a: int, b: int, at: str, *, legend: bool) -> list[Trace]:
    """Marks and rectangles of two metrics; ``at`` names the axes of a panel."""
    x, y = view.metrics[a].name, view.metrics[b].name
    axes = {"xaxis": f"x{at}", "yaxis": f"y{at}"}
    made: list[Trace] = []
    for verdict in reversed(VERDICTS):  # those of the front on top
        rows = view.marks[verdict]
        if not rows:
            continue
        if view.boxed(verdict):
            made.append(_boxes(rows, x, y, verdict) | axes)
        made.append(_marks(rows, x, y, verdict) | axes | {"showlegend": legend})
    made.insert(0, _stairs(view, a, b) | axes | {"showlegend": legend})
    return made


def _marks(rows: Rows, x: str, y: str, verdict: str) -> Trace:
    """One mark per candidate of a verdict."""
    look = LOOKS[verdict]
    across = f"<br>{label(x)} %{{x:.5g}}" if x else ""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": SHORT[verdict],
        "legendgroup": verdict,
        "legendrank": 1000 - SIZES[verdict],
        "meta": {"verdict": verdict},
        "x": [row[x] for row in rows],
        "y": [row[y] for row in rows],
        "ids": [row["candidate"] for row in rows],
        "hovertemplate": f"%{{text}}: {SHORT[verdict]}{across}<br>{label(y)} %{{y:.5g}}<extra></extra>",
        "marker": {
            "symbol": look.symbol,
            "size": SIZES[verdict],
            "color": f"var:{verdict}",
            "line": {"width": 1.5, "color": f"var:{verdict}"},
        },
    }


def _boxes(rows: Rows, x: str, y: str, verdict: str) -> Trace:
    """A rectangle per candidate: the interval of one metric by that of the other."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row in rows:
        left, right, low, high = (row[f"{n} {s}"] for n in (x, y) for s in ("low", "high"))
        if None not in {left, right, low, high}:
            xs += [left, right, right, left, left, None]
            ys += [low, low, high, high, low, None]
    strong = verdict in {"accepted", "near"}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "fill": "toself" if strong else "none",
        "fillcolor": f"var:{verdict}:{0.12 if strong else 0}",
        "line": {"width": 1, "color": f"var:{verdict}:{0.55 if strong else 0.3}"},
        "legendgroup": verdict,
        "showlegend": False,
        "hoverinfo": "skip",
        "meta": {"boxes": verdict},
    }


def _stairs(view: View, a: int, b: int) -> Trace:
    """What the estimates dominate, as its edge; a line for two metrics only, of which it is one."""
    x, y = view.metrics[a], view.metrics[b]
    rows = sorted(view.guess, key=lambda row: row[x.name]) if len(view.metrics) == 2 else []
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "front of the estimates",
        "x": [row[x.name] for row in rows],
        "y": [row[y.name] for row in rows],
        "line": {"width": 1.25, "color": "var:muted", "shape": "vh" if x.goal == "max" else "hv"},
        "hoverinfo": "skip",
        "visible": bool(rows),
        "meta": {"stairs": True},
    }


def _matrix(view: View) -> Chart:
    """Every metric against every other one."""
    data: list[Trace] = []
    d = min(len(view.metrics), 1 + max(b for _, b in view.pairs))
    size = 1.0 / (d - 1)
    pad = 0.16 * size
    layout: dict[str, Any] = {"height": 300 * (d - 1) + 80}
    for n, (a, b) in enumerate(view.pairs):
        at = "" if n == 0 else str(n + 1)
        data += _panel(view, a, b, at, legend=n == 0)
        x, y = axis(view.metrics[a]), axis(view.metrics[b])
        top = 1.0 - (b - 1) * size
        x |= {"domain": [a * size + (pad if a else 0), (a + 1) * size], "anchor": f"y{at}"}
        y |= {"domain": [top - size + (pad if b < d - 1 else 0), top], "anchor": f"x{at}"}
        if b < d - 1:
            x["title"] = {"text": ""}
        if a > 0:
            y["title"] = {"text": ""}
        layout |= {f"xaxis{at}": x, f"yaxis{at}": y}
    said = _front_said(view)
    if d < len(view.metrics):
        said += f" The first {d} of {len(view.metrics)} metrics are drawn; the table has all."
    return Chart("front", "The front, pair by pair", said, {"data": data, "layout": layout})


def _ladder(view: View) -> Chart:
    """One metric: candidates in the order of their estimates."""
    metric = view.metrics[0]
    name = metric.name
    known = [row for row in view.table if row[name] is not None]
    order = sorted(known, key=lambda row: row[name], reverse=metric.goal == "max")
    place = {row["candidate"]: rank for rank, row in enumerate(order, 1)}
    made = []
    for verdict in reversed(VERDICTS):
        rows = [row for row in view.marks[verdict] if row["candidate"] in place]
        if not rows:
            continue
        ranked = [row | {"": place[row["candidate"]]} for row in rows]
        trace = _marks(ranked, "", name, verdict)
        if view.boxed(verdict):
            low, high = ([row[f"{name} {side}"] for row in rows] for side in ("low", "high"))
            trace["error_y"] = _bars([row[name] for row in rows], low, high, verdict)
        made.append(trace)
    layout = {
        "xaxis": {"title": {"text": "candidates, best estimate first"}, "zeroline": False},
        "yaxis": axis(metric),
        "height": 460,
    }
    return Chart("front", "The front", _front_said(view), {"data": made, "layout": layout})


def _bars(
    at: Sequence[float], low: Sequence[float | None], high: Sequence[float | None], verdict: str
) -> dict[str, Any]:
    """Intervals as error bars; where there is none, no bar."""
    up = [0.0 if h is None else h - v for h, v in zip(high, at, strict=True)]
    down = [0.0 if one is None else v - one for one, v in zip(low, at, strict=True)]
    look = {"color": f"var:{verdict}:0.55", "thickness": 1.25, "width": 0}
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **look}
