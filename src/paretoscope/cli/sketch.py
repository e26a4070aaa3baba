"""Two metrics of all candidates as a picture made of letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from paretoscope.cli import show
from paretoscope.core.arrays import FloatArray
from paretoscope.study import Metric, Result

# Marks, from the one drawn first to the one that covers others.
MARKS = {"infeasible": "", "rejected": "·", "undecided": "?", "near": "o", "accepted": "●"}
_PLAIN = {"·": ".", "●": "#"}
_SAID = {"rejected": "out", "undecided": "undecided", "near": "near", "accepted": "in"}
_HEIGHT = 14


def picture(result: Result, width: int, *, plain: bool = False) -> list[str]:
    """Lines of a picture of the first metric against the second; none where there is nothing to see.

    A metric on the log scale, or one over more than a factor of thirty, has a logarithmic axis.
    """
    metrics = result.problem.metrics
    values = result.problem.outward(result.found.mu)[:, :2]
    words = result.status
    seen = (
        [k for k in range(len(words)) if np.isfinite(values[k]).all() and words[k] in _SAID]
        if len(metrics) > 1
        else []
    )
    if len(seen) < 2:
        return []
    axes = [_Axis(metric, values[seen, c]) for c, metric in enumerate(metrics[:2])]
    left = max(len(axes[1].top), len(axes[1].bottom)) + 1
    wide = max(20, min(width - left - 2, 72))
    grid = [[" "] * wide for _ in range(_HEIGHT)]
    order = list(MARKS)
    for k in sorted(seen, key=lambda k: order.index(words[k])):
        column = round(axes[0].place(values[k, 0]) * (wide - 1))
        line = round((1 - axes[1].place(values[k, 1])) * (_HEIGHT - 1))
        grid[line][column] = MARKS[words[k]]
    margins = [axes[1].top, *[""] * (_HEIGHT - 2), axes[1].bottom]
    lines = [
        f"{label.rjust(left)} ┤{''.join(row).rstrip()}"
        for label, row in zip(margins, grid, strict=True)
    ]
    ends = axes[0].bottom + axes[0].top.rjust(wide - len(axes[0].bottom))
    present = [word for word in reversed(order) if word in {words[k] for k in seen}]
    key = ", ".join(f"{MARKS[word]} {_SAID[word]}" for word in present)
    title = f"{axes[1].title} over {axes[0].title}: {key}"
    lines = [title, *lines, " " * left + " └" + "─" * wide, " " * (left + 2) + ends]
    return [_ascii(line) for line in lines] if plain else lines


def _ascii(line: str) -> str:
    """A line for terminals that know nothing else."""
    table = {**_PLAIN, "┤": "|", "└": "+", "─": "-", "µ": "u"}
    return "".join(table.get(letter, letter) for letter in line)


def _said(end: float) -> str:
    """The end of an axis: thousands are written out.

    >>> _said(8016.0), _said(0.01234)
    ('8,016', '0.0123')
    """
    return f"{end:,.0f}" if 1000 <= abs(end) < 1e7 else show.number(end, 3)


class _Axis:
    """A metric from the smallest to the largest of its values."""

    def __init__(self, metric: Metric, values: FloatArray) -> None:
        self.low, self.high = float(values.min()), float(values.max())
        self.log = self.low > 0 and (metric.scale == "log" or self.high > 30 * self.low)
        unit = f" {metric.unit}" if metric.unit else ""
        self.bottom, self.top = (_said(end) + unit for end in (self.low, self.high))
        self.title = show.printable(metric.name) + (" (log)" if self.log else "")

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        ends: Sequence[float] = (value, self.low, self.high)
        at, low, high = map(math.log, ends) if self.log else ends
        return (at - low) / (high - low) if high > low else 0.5
