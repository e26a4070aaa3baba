"""How a study came to where it stands, as one snapshot: rounds, decisions, residuals, requests that are out.

Pictures and pages are made of this and nothing else: they look in, and never reach in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.policies.base import Tally
from paretoscope.policies.reading import by_arm, noisy_part
from paretoscope.study.batch import Request
from paretoscope.study.book import Book
from paretoscope.study.course import Course
from paretoscope.study.problem import Problem
from paretoscope.study.result import Estimate
from paretoscope.study.status import Status

# Residuals of means that the fit goes through are rounding, not news.
_THROUGH = 1e-9


class Held(NamedTuple):
    """A request that is out: who has it, since when, and for how many seconds (none: until told)."""

    request: Request
    by: str
    at: float
    lease: float | None


class Residuals(NamedTuple):
    """Means of measured candidates against the linear fit, per noisy metric.

    Attributes
    ----------
    candidates : (m,) int array
        Candidates; one stands for all of equal features.
    metrics : (p,) int array
        The noisy metrics.
    fitted : (m, p) array
        On the inner scale.
    scaled : (m, p) array
        Mean minus fit over its standard deviation; NaN where the fit goes through the mean.
    """

    candidates: IntArray
    metrics: IntArray
    fitted: FloatArray
    scaled: FloatArray


@dataclass(frozen=True)
class Snapshot:
    """Everything that is shown of a study, as of one moment.

    Attributes
    ----------
    events : int
        Events of the ledger that it knows.
    created : float
        Seconds since the epoch.
    definition : dict
        As the ledger has it.
    status : Status
    rounds : (R, K) int array
        Measurements of each candidate in each round so far, the open one last.
    decided : (R,) int array
        How many of `Result.margins` had been decided by the end of each round.
    residuals : Residuals or None
        None without a linear model, or before there is a fit.
    out : tuple of Held
    """

    events: int
    created: float
    definition: dict[str, Any]
    status: Status
    rounds: IntArray
    decided: IntArray
    residuals: Residuals | None
    out: tuple[Held, ...]


def rounds_of(book: Book, base: int, turn: int, K: int) -> IntArray:
    """Measurements of each candidate in the rounds from ``base`` to ``turn``."""
    counts = np.zeros((turn - base + 1, K), dtype=np.int64)
    for uid in book.requests.values():
        if base <= uid.turn <= turn and not book.barred(uid):
            counts[uid.turn - base, uid.candidate] += 1
    return counts


def decided_by(course: Course, made: IntArray) -> IntArray:
    """How many decisions had been made by the end of each round; ``made`` are rounds of the policy.

    A policy may judge more than once in a round of the study, so its own count is looked up.
    """
    ends = [int((made < reached).sum()) for reached in course.reached]
    if course.stop is not None and ends:
        ends[-1] = len(made)
    while len(ends) < course.turn.number - course.base + 1:
        ends.append(len(made))
    return np.array(ends, dtype=np.int64)


def residuals_of(problem: Problem, tally: Tally, found: Estimate) -> Residuals | None:
    """What the linear model leaves, over what noise alone would leave."""
    setting, model = problem.setting, problem.setting.model
    metrics = np.flatnonzero(setting.noisy)
    if not model.linear or not len(metrics) or np.isnan(found.sigma).any():
        return None
    arms = noisy_part(setting, by_arm(model.first, model.inverse, tally))
    seen = np.flatnonzero(arms.counts)
    if not len(seen) or model.spread(seen, arms.counts) is None:
        return None
    at = model.first[seen]
    fitted = found.mu[at][:, metrics]
    room = 1.0 / arms.counts[seen] - model.deviations(seen, arms.counts) ** 2
    room = np.where(room > _THROUGH / arms.counts[seen], room, np.nan)
    scaled = (arms.means[seen] - fitted) / (np.sqrt(room)[:, None] * found.sigma)
    return Residuals(at, metrics, fitted, scaled)
