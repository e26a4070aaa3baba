"""Arrays in, arrays out: the mathematics, without memory."""

from __future__ import annotations

from paretoscope.core import (
    anytime,
    bonuses,
    confidence,
    design,
    dominance,
    elimination,
    gaps,
    least_squares,
    rounding,
    schedule,
    spread,
    theory,
)

__all__ = [
    "anytime",
    "bonuses",
    "confidence",
    "design",
    "dominance",
    "elimination",
    "gaps",
    "least_squares",
    "rounding",
    "schedule",
    "spread",
    "theory",
]
