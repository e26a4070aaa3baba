"""Pictures of the way there: decisions, measurements, certainty over time, residuals of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.policies.base import Decision
from paretoscope.report.marks import SIZES, Chart, Trace, label
from paretoscope.report.palette import LOOKS, VERDICTS
from paretoscope.report.view import View, plain, thinned
from paretoscope.study.speech import SHORT, count

# Candidates whose names fit under their bars.
_NAMED = 40
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = (
    "circle-open",
    "diamond-open",
    "square-open",
    "triangle-up-open",
    "cross-open",
    "star-open",
)


def timeline(view: View) -> Chart | None:
    """When each candidate was decided, by whom, and by how much its margin was more than needed."""
    data = []
    for verdict in VERDICTS:
        some = [
            (place, d)
            for place, d in view.decided
            if d.status == verdict and np.isfinite([d.gap, d.threshold]).all()
        ]
        if some:
            data.append(_left(view, verdict, some))
    if not data:
        return None
    layout = {
        "xaxis": {
            "title": {"text": "measurements made when it was decided"},
            "rangemode": "tozero",
        },
        "yaxis": {"title": {"text": "margin beyond the one needed"}, "rangemode": "tozero"},
        "height": 380,
    }
    said = (
        "A candidate is decided once its margin is as large as the bound asks for. The higher the"
        " mark, the clearer the decision. The table names the candidate that rejected it."
    )
    return Chart(
        "timeline", "How each candidate was decided", said, {"data": data, "layout": layout}
    )


def _left(view: View, verdict: str, some: list[tuple[int, Decision]]) -> Trace:
    """Decisions of one verdict, spread a little around the round in which they were made."""
    spent, ids = view.spent, view.result.problem.candidates.ids
    ends = [int(spent[view.round_of(p)]) for p, _ in some]
    wide = 0.012 * float(spent[-1] or 1)
    spread = np.random.default_rng(0).uniform(-wide, wide, len(some))
    look = LOOKS[verdict]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": SHORT[verdict],
        "x": plain(np.array(ends) + spread),
        "y": [d.gap - d.threshold for _, d in some],
        "ids": [ids[d.arm] for _, d in some],
        "text": [_decision(ids, d, end) for (_, d), end in zip(some, ends, strict=True)],
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"verdict": verdict},
        "marker": {
            "symbol": look.symbol,
            "size": SIZES[verdict],
            "color": f"var:{verdict}",
            "line": {"width": 1.5, "color": f"var:{verdict}"},
        },
    }


def _decision(ids: Sequence[str], decision: Decision, made: int) -> str:
    """One decision in words."""
    by = f"<br>rejected by {label(ids[decision.by])}" if decision.by >= 0 else ""
    return (
        f"{label(ids[decision.arm])}: {SHORT[decision.status]}, round {decision.round},"
        f" after {count(made, 'measurement')}{by}"
        f"<br>margin {decision.gap:.3g}, needed {decision.threshold:.3g}"
    )


def allocation(view: View) -> Chart | None:
    """How many measurements each candidate got, most first."""
    counts, ids = view.result.counts, view.result.problem.candidates.ids
    some = thinned(np.flatnonzero(counts), view.most)
    if not len(some):
        return None
    order = some[np.argsort(-counts[some], kind="stable")].tolist()
    places = {k: rank for rank, k in enumerate(order, 1)}
    data = []
    for verdict in VERDICTS:
        counted = [k for k in view.of(verdict).tolist() if k in places]
        if counted:
            data.append(_counted(view, verdict, counted, places))
    ticks: dict[str, Any] = {"title": {"text": "candidates, most measured first"}}
    if len(places) <= _NAMED:
        names = [label(short(ids[k])) for k in order]
        ticks |= {"tickvals": list(range(1, len(names) + 1)), "ticktext": names, "tickangle": -60}
        ticks["title"] = {"text": ""}
    layout = {
        "xaxis": ticks,
        "yaxis": {"title": {"text": "measurements"}, "rangemode": "tozero"},
        "bargap": 0.25 if len(places) <= _NAMED else 0,
        "height": 340,
    }
    never = int((counts == 0).sum())
    said = "Hard cases get more: candidates close to the front, and points that tell several apart."
    if never:
        said += f" {count(never, 'candidate')} had no measurement, and none is drawn for them."
    return Chart(
        "allocation", "Where the measurements went", said, {"data": data, "layout": layout}
    )


_PATTERNS = {"accepted": "", "near": "-", "undecided": ".", "rejected": "/", "infeasible": "x"}


def _counted(view: View, verdict: str, some: list[int], places: dict[int, int]) -> Trace:
    """Bars of one verdict, told apart by pattern as well."""
    ids = view.result.problem.candidates.ids
    pattern = {
        "shape": _PATTERNS[verdict],
        "fillmode": "overlay",
        "fgcolor": "var:ground",
        "size": 6,
        "solidity": 0.25,
    }
    return {
        "type": "bar",
        "name": SHORT[verdict],
        "x": [places[k] for k in some],
        "y": [int(view.result.counts[k]) for k in some],
        "ids": [ids[k] for k in some],
        "textposition": "none",
        "hovertemplate": f"%{{text}}: {SHORT[verdict]}, n = %{{y}}<extra></extra>",
        "meta": {"verdict": verdict},
        "marker": {"color": f"var:{verdict}", "pattern": pattern, "line": {"width": 0}},
    }


def short(name: str) -> str:
    """A name that fits under a bar."""
    return name if len(name) <= 14 else name[:13] + "…"


def progress(view: View) -> Chart | None:
    """Candidates in, out and undecided after every round."""
    x, lines = progress_lines(view)
    if not x[-1]:
        return None
    data = [_line(SHORT[verdict], verdict, x, y, n) for n, (verdict, y) in enumerate(lines.items())]
    layout = {
        "xaxis": {"title": {"text": "measurements"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "candidates"}, "rangemode": "tozero"},
        "height": 340,
    }
    said = "Verdicts come at the end of a round, and stay."
    return Chart("progress", "Certainty over time", said, {"data": data, "layout": layout})


def progress_lines(view: View) -> tuple[list[int], dict[str, list[int]]]:
    """Measurements at the end of each round, and candidates of each verdict then."""
    K, batches = view.result.problem.K, view.result.verdict.batches
    arms = np.concatenate([batch.arm for batch in batches] or [np.zeros(0, dtype=np.int64)])
    ranks = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
    open_ = ranks["undecided"]
    words = [ranks.get(batch.status, open_) for batch in batches]
    codes = np.repeat(np.array(words, dtype=np.int64), [len(batch.arm) for batch in batches])
    held = np.full(K, open_)
    x, lines, done = [0], {v: [0] for v in VERDICTS}, 0
    lines["undecided"] = [K]
    for end, upto in zip(view.spent.tolist(), view.snapshot.decided.tolist(), strict=True):
        held[arms[done:upto]] = codes[done:upto]
        done = max(done, upto)
        x.append(int(end))
        now = np.bincount(held, minlength=len(VERDICTS)).tolist()
        for verdict in VERDICTS:
            lines[verdict].append(now[ranks[verdict]])
    seen = {v: y for v, y in lines.items() if any(y)}
    return x, seen


def _line(name: str, verdict: str, x: list[int], y: list[int], n: int) -> Trace:
    """One line of the progress."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": f"var:{verdict}", "width": 2, "shape": "hv", "dash": _DASHES[n]},
        "marker": {
            "symbol": LOOKS[verdict].symbol,
            "size": 7,
            "line": {"width": 1.5, "color": f"var:{verdict}"},
        },
        "hovertemplate": f"{name}: %{{y}} after %{{x}} measurements<extra></extra>",
        "meta": {"verdict": verdict},
    }


def residuals(view: View) -> Chart | None:
    """Means against the linear fit, in units of their own noise."""
    found = view.snapshot.residuals
    if found is None or not np.isfinite(found.scaled).any():
        return None
    data = [_left_over(view, c) for c in range(len(found.metrics))]
    layout = {
        "xaxis": {"title": {"text": "fitted value, as part of its range"}},
        "yaxis": {"title": {"text": "residual, in standard deviations"}, "zeroline": True},
        "shapes": [_level(2.0), _level(-2.0)],
        "height": 360,
    }
    said = (
        "If means are linear in the features, about 19 of 20 marks lie between the lines at ±2, and"
        " they show no bend. The test of the fit stands among the assumptions below."
    )
    return Chart(
        "residuals", "Residuals against the linear fit", said, {"data": data, "layout": layout}
    )


def _left_over(view: View, c: int) -> Trace:
    """Residuals of one metric."""
    found = view.snapshot.residuals
    assert found is not None
    ok = np.flatnonzero(np.isfinite(found.scaled[:, c]))
    metric, ids = view.metrics[int(found.metrics[c])], view.result.problem.candidates.ids
    names = [ids[k] for k in found.candidates[ok].tolist()]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label(metric.name),
        "x": plain(ranged(found.fitted[ok, c])),
        "y": plain(found.scaled[ok, c]),
        "ids": names,
        "hovertemplate": "%{text}: %{y:.2f}<extra></extra>",
        "meta": {"metric": metric.name},
        "marker": {
            "symbol": _SYMBOLS[c % len(_SYMBOLS)],
            "size": 7,
            "color": f"var:{('accepted', 'undecided', 'near', 'infeasible')[c % 4]}",
            "line": {"width": 1.25},
        },
    }


def ranged(values: FloatArray) -> FloatArray:
    """Values from 0 (the least) to 1."""
    wide = float(np.ptp(values)) if len(values) else 0.0
    return (values - values.min()) / wide if wide else np.full(len(values), 0.5)


def _level(y: float) -> dict[str, Any]:
    """A line across the chart."""
    line = {"color": "var:control", "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}
