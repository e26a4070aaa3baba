"""What all charts share: charts are plain JSON values that plotly draws, with colours as names.

A colour is written ``var:accepted`` and looked up in the style of the page, so that light and dark have
one source. Text of people goes through `label`: plotly reads tags and templates in text, and ours has
none. Marks carry the candidate in ``ids``, from which the page makes their text, and the numbers of
`Result.table` as they are.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from paretoscope.study.metric import Metric

Trace = dict[str, Any]
Rows = Sequence[dict[str, Any]]
SIZES = {"accepted": 11, "near": 10, "undecided": 8, "rejected": 6, "infeasible": 8}


class Chart(NamedTuple):
    """One picture: its place in the page, a title, what it says in words, and the figure."""

    key: str
    title: str
    said: str
    figure: dict[str, Any]


def label(text: object) -> str:
    """Text of people as plotly shows it: no tag, no template."""
    return html.escape(str(text), quote=False).replace("%{", "%&#123;")


def axis_title(metric: Metric) -> str:
    """Name and unit of a metric, and which way is better."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return label(f"{metric.name}{unit}, {'less' if metric.goal == 'min' else 'more'} is better")


def axis(metric: Metric, **more: Any) -> dict[str, Any]:  # noqa: ANN401  (plotly's settings)
    """An axis of a metric."""
    scale = {"type": "log"} if metric.scale == "log" else {}
    return {"title": {"text": axis_title(metric)}, **scale, **more}
