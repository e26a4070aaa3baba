"""Verdicts and tolerances where one width serves every pair: the front alone decides.

With one eta for all pairs an arm i is best rejected by the arm j with the largest
m(i,j) = min_c mu_j(c) - mu_i(c), and that largest margin is attained on the empirical front: whatever
dominates j is at least as far above i. Only an arm of the front can be certainly undominated. So each
question is a comparison of s front arms with n arms, made in strips: O(s n d) time and O(n) memory,
where all pairs would take O(n^2 d). Rounding keeps the order of differences, so the answers are those
of the pairs to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import front_of
from paretoscope.core.gaps import STRIP_CELLS
from paretoscope.core.margins import margin_table


class FrontVerdicts(NamedTuple):
    """Verdicts on n arms: the largest margin above each (gap), by whom, and what keeps the others.

    ``margin`` (n,) is `gap` where an arm is rejected, and otherwise how certainly it is optimal;
    ``spare`` (n,) is how certainly it is undominated, NaN where it is rejected.
    """

    rejected: BoolArray
    accepted: BoolArray
    by: IntArray
    margin: FloatArray
    spare: FloatArray


def judge_by_front(mu: FloatArray, eta: float, *, all_stay: bool) -> FrontVerdicts:
    """The refined rule at one eta > 0 for the estimates ``mu`` (n, d), in units of the scale."""
    front = np.flatnonzero(front_of(mu))
    columns = np.ascontiguousarray(mu.T)
    gap, leader = _best_above(columns, front)
    rejected = gap >= eta
    rest = np.flatnonzero(~rejected)
    margin = -gap - eta
    margin[front] = -_nearest(columns, front, rest) - eta
    spare = np.where(rejected, np.nan, margin)
    first = front[margin[front] >= 0.0]
    others = np.setdiff1d(rest, first, assume_unique=True)
    if len(first) and len(others) and not all_stay:
        beaten = _most_beaten(columns, first, others)
        margin[first] = np.minimum(margin[first], -beaten - eta)
    accepted = np.zeros(len(mu), dtype=bool)
    accepted[first] = margin[first] >= 0.0
    by = np.where(rejected, leader, -1)
    return FrontVerdicts(rejected, accepted, by, np.where(rejected, gap, margin), spare)


def _parts(size: int, others: int) -> Iterator[slice]:
    """Strips of ``size`` arms against ``others``, each within the cache."""
    step = max(1, STRIP_CELLS // max(1, others))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def _best_above(columns: FloatArray, front: IntArray) -> tuple[FloatArray, IntArray]:
    """For every arm the largest margin by which another one, of the front, is above it, and which."""
    n = columns.shape[1]
    best, leader = np.empty(n), np.empty(n, dtype=np.int64)
    rows = columns[:, front]
    for part in _parts(n, len(front)):
        above = margin_table(rows, columns[:, part])
        own = np.flatnonzero((front >= part.start) & (front < part.stop))
        above[own, front[own] - part.start] = -np.inf
        at = above.argmax(axis=0)
        best[part] = above[at, np.arange(above.shape[1])]
        leader[part] = front[at]
    return best, leader


def _nearest(columns: FloatArray, front: IntArray, rest: IntArray) -> FloatArray:
    """For every front arm the largest margin by which another arm of ``rest`` is above it."""
    nearest, targets = np.full(len(front), -np.inf), columns[:, front]
    place = np.searchsorted(rest, front)  # the front is never rejected: all of it is in the rest
    for part in _parts(len(rest), len(front)):
        above = margin_table(columns[:, rest[part]], targets)
        own = np.flatnonzero((place >= part.start) & (place < part.stop))
        above[place[own] - part.start, own] = -np.inf
        np.maximum(nearest, above.max(axis=0), out=nearest)
    return nearest


def _most_beaten(columns: FloatArray, first: IntArray, others: IntArray) -> FloatArray:
    """For every arm of ``first`` the largest margin by which it is above one of the others."""
    beaten, rows = np.full(len(first), -np.inf), columns[:, first]
    for part in _parts(len(others), len(first)):
        above = margin_table(rows, columns[:, others[part]])
        np.maximum(beaten, above.max(axis=1), out=beaten)
    return beaten


def tolerance_by_front(mu: FloatArray, eta: float, factor: FloatArray) -> float:
    """The smallest t >= 0 such that no arm exceeds another by more than t / factor_c in every objective.

    Parameters
    ----------
    mu : (n, d) array
        Estimates, each wrong by less than half of ``eta`` as far as pairs are concerned.
    factor : (d,) array
        What one unit of the scale is in units of t.
    """
    columns = np.ascontiguousarray(mu.T)
    front = np.flatnonzero(front_of(mu))
    everything = np.arange(len(mu))
    worst = 0.0
    for rows, others in ((front, everything), (everything, front)):
        for part in _parts(len(others), len(rows)):
            here = others[part]
            upper = _excess(columns[:, rows], columns[:, here], eta, factor)
            upper[rows[:, None] == here] = 0.0
            worst = max(worst, float(upper.max(initial=0.0)))
    return worst


def _excess(above: FloatArray, below: FloatArray, eta: float, factor: FloatArray) -> FloatArray:
    """min_c (above_c + eta - below_c) factor_c, shape (above, below)."""
    best = np.full((above.shape[1], below.shape[1]), np.inf)
    for high, low, unit in zip(above, below, factor, strict=True):
        np.minimum(best, (high[:, None] - low + eta) * unit, out=best)
    return best
