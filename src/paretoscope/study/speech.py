"""Numbers and settings as people write them, wherever they are shown: terminal, report, page."""

from __future__ import annotations

import math

from paretoscope.study.intake import Told
from paretoscope.study.metric import Metric
from paretoscope.study.result import Result

# The word of a verdict beside a candidate.
SHORT = {
    "accepted": "in",
    "near": "near",
    "rejected": "out",
    "undecided": "undecided",
    "infeasible": "infeasible",
}


def number(value: float | None, digits: int = 4) -> str:
    """A number as people write it; a dash where there is none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def count(n: int, one: str, many: str = "") -> str:
    """'1 candidate', '2 candidates'."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def delivered(told: Told) -> str:
    """What became of the rows of a delivery."""
    extra = {
        "failed": told.failed,
        "still blank": told.pending,
        "told before": told.repeated,
        "kept as surplus": told.surplus,
    }
    named = [f"{n:,} {word}" for word, n in extra.items() if n]
    return ", ".join([count(told.accepted, "measurement"), *named])


def tolerance(metric: Metric, value: float) -> str:
    """An epsilon of a metric: per cent where ratios are compared, else with its unit."""
    if not math.isfinite(value):
        return "not yet known"
    if metric.scale == "log":
        return f"{100 * value:.3g} %"
    return f"{value:.3g} {metric.unit}".strip()


def noise(metric: Metric) -> str:
    """What is known of a metric's noise."""
    if metric.exact:
        return "none (exact)" if metric.known is None else f"none (column {metric.known})"
    if metric.bounds is not None:
        return f"within [{metric.bounds[0]:g}, {metric.bounds[1]:g}]"
    if metric.kind == "proportion":
        return f"of {metric.of} trials"
    return "unknown" if metric.sigma in {None, "unknown"} else f"sigma {metric.sigma:g}"


def estimates(result: Result, k: int) -> list[str]:
    """Estimates of a candidate with their 95 % half widths, or intervals on the log scale."""
    mean = result.problem.outward(result.found.mu[k : k + 1])[0]
    low, high = (side[0] for side in result.intervals_of([k]))
    metrics = enumerate(result.problem.metrics)
    return [estimate(m, float(mean[c]), float(low[c]), float(high[c])) for c, m in metrics]


def estimate(metric: Metric, mean: float, low: float, high: float) -> str:
    """One estimate, with as many digits as its half width warrants: per cent on the log scale."""
    if not math.isfinite(mean):
        return "-"
    half = (high - low) / 2
    if not math.isfinite(half) or half == 0.0:
        return number(mean)
    places = 1 - math.floor(math.log10(half))
    middle = f"{round(mean, places):.{max(0, places)}f}"
    if metric.scale == "log":
        percent = 50 * math.log(high / low)
        return f"{middle} ± {percent:.{1 if percent < 10 else 0}f} %"
    return f"{middle} ± {round(half, places):.{max(0, places)}f}"
