"""Which arms can be rejected or accepted when every error is below its width.

For active arms with estimates mu_hat and widths eta_ij(c) > 0, such that no error that matters
(events (a) and (b) of `confidence`) reaches its width::

    reject i    if some j != i has D_ij(c) = mu_hat_j(c) - mu_hat_i(c) >= eta_ij(c) in every objective
    A'          the arms not rejected
    P1          i in A' that every other j in A' certainly does not dominate:
                mu_hat_i(c) - mu_hat_j(c) >= eta_ij(c) in some objective
    accept i    in P1 if it certainly does not dominate any arm of A' outside P1 either

No optimal arm is rejected: some objective c has mu_j(c) <= mu_i(c), so D_ij(c) would be an error
of at least eta. No sub-optimal arm is accepted: the optimal arm i* that dominates it is never
rejected, and is not accepted while i remains, because i is outside P1 and i* dominates it. This is
the 'refined' rule; the 'paper' rule (Kone, Kaufmann, Richert, AISTATS 2025, algorithm 2) accepts
from the empirical gap at 2 eta instead, about one round later when the optimal arms are the hard
ones. Both are right on the same events.

Where every arm stays measured to the end (a design fixed beforehand), i* can never be missing, and
all of P1 is accepted at once: `all_stay`.

Exact metrics (no noise) stay outside: a rejection needs D_ij >= 0 in each of them, and being
strictly better in one of them is as good as a certified objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import non_dominated
from paretoscope.core.front_rule import judge_by_front, tolerance_by_front
from paretoscope.core.gaps import psi_gaps

# Entries of one block of the pair matrix: 0.5 MB of float64 stays in the cache.
_BLOCK = 64_000


@dataclass(frozen=True, slots=True)
class Widths:
    """eta_ij(c) = scale_c w_ij + misfit_c beta_ij, or max(q_ic, q_jc) sqrt(v_ic + v_jc) instead.

    Attributes
    ----------
    scale : (d,) array
        One positive number per objective.
    uniform : float or None
        The same w for every pair, or None where `pair` tells.
    pair : callable or None
        ``pair(rows)``: w for those rows against all arms, shape (len(rows), n).
    misfit : (d,) array or None
        Largest distance of the truth from the model, per objective.
    beta : (n, n) array or None
        How far a misfit of 1 can push the estimate of a pair.
    variance, quantile : (n, d) arrays or None
        v and q where every arm has a noise of its own; w is 0 then.
    """

    scale: FloatArray
    uniform: float | None = None
    pair: Callable[[IntArray], FloatArray] | None = None
    misfit: FloatArray | None = None
    beta: FloatArray | None = None
    variance: FloatArray | None = None
    quantile: FloatArray | None = None

    @property
    def one(self) -> bool:
        """Whether one positive number is the width of every pair."""
        plain = self.misfit is None and self.variance is None
        return plain and self.uniform is not None and self.uniform > 0.0

    def rows(self, rows: IntArray) -> FloatArray | float:
        """The w of those rows: a matrix, or one number."""
        if self.pair is not None:
            return self.pair(rows)
        assert self.uniform is not None
        return self.uniform

    def misfit_of(self, rows: IntArray, c: int) -> FloatArray | float:
        """What a misfit, or arms' own noise, adds to eta of objective c, in units of scale_c."""
        if self.variance is not None and self.quantile is not None:
            v, q = self.variance[:, c], self.quantile[:, c]
            own = np.maximum(q[rows][:, None], q) * np.sqrt(v[rows][:, None] + v)
            return np.asarray(own / self.scale[c])
        if self.misfit is None or self.beta is None:
            return 0.0
        added: FloatArray = (self.misfit[c] / self.scale[c]) * self.beta[rows]
        return added

    def restricted(self, rest: IntArray) -> Widths:
        """The same widths among some of the arms."""
        pair, beta = self.pair, self.beta
        return Widths(
            self.scale,
            self.uniform,
            None if pair is None else lambda rows: pair(rest[rows])[:, rest],
            self.misfit,
            None if beta is None else beta[np.ix_(rest, rest)],
            None if self.variance is None else self.variance[rest],
            None if self.quantile is None else self.quantile[rest],
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdicts on n active arms, with the reason of each.

    Attributes
    ----------
    rejected, accepted : (n,) bool arrays
    by : (n,) int array
        The arm that rejected it; -1 where none did.
    gap, threshold : (n,) arrays
        The empirical margin that decided, in units of the scale, and what it had to reach.
    spare : (n,) array
        By how much every other arm certainly fails to dominate it, in units of the scale; below 0,
        the tolerance at which it still counts as optimal. NaN where it was rejected.
    """

    rejected: BoolArray
    accepted: BoolArray
    by: IntArray
    gap: FloatArray
    threshold: FloatArray
    spare: FloatArray


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A block of rows against all arms: the extremes over objectives of D_ij(c) / scale_c."""

    rows: IntArray
    low: FloatArray  # min_c D_ij(c) / scale_c: by how much j is above i everywhere
    high: FloatArray  # max_c: by how much j is above i somewhere
    reject: FloatArray  # the same minimum after subtracting the width
    spare: FloatArray  # max_c [-D_ij(c) - eta]: by how much i is certainly above j somewhere
    width: FloatArray | float


def _blocks(mu: FloatArray, widths: Widths) -> Iterator[_Pairs]:
    """All pairs, a few rows at a time."""
    n = len(mu)
    scaled = mu / widths.scale
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        yield _pairs(scaled, np.arange(start, min(start + step, n)), widths)


def _pairs(scaled: FloatArray, rows: IntArray, widths: Widths) -> _Pairs:
    """The extremes over objectives for some rows."""
    low = high = scaled[:, 0] - scaled[rows, 0][:, None]
    extra = widths.misfit_of(rows, 0)
    reject, spare = low - extra, _above(low, extra)
    for c in range(1, scaled.shape[1]):
        D = scaled[:, c] - scaled[rows, c][:, None]
        extra = widths.misfit_of(rows, c)
        low, high = np.minimum(low, D), np.maximum(high, D)
        reject, spare = np.minimum(reject, D - extra), np.maximum(spare, _above(D, extra))
    w = widths.rows(rows)
    return _Pairs(rows, low, high, reject - w, spare - w, w)


def _above(D: FloatArray, extra: FloatArray | float) -> FloatArray:
    """By how much i is above j in one objective beyond a misfit; to be equal is not to be above.

    Without a misfit all widths of a pair are zero or none is, and `_spare` sees to equal arms.
    """
    above = -D - extra
    if isinstance(extra, np.ndarray):
        above[D == 0.0] = -np.inf
    return above


def refined(
    mu: FloatArray,
    widths: Widths,
    exact: FloatArray | None = None,
    *,
    all_stay: bool = False,
) -> Outcome:
    """Verdicts by the refined rule (see the head of this file).

    Parameters
    ----------
    mu : (n, d) array
        Estimates in the noisy objectives, all maximised.
    exact : (n, e) array, optional
        Values of the metrics without noise, all maximised.
    all_stay : bool
        Whether accepted arms are compared with the others at every later judgement too.
    """
    n = len(mu)
    if mu.shape[1] == 0:
        assert exact is not None
        return _plain_dominance(exact)
    if exact is None and widths.one:
        assert widths.uniform is not None
        return _by_front(mu / widths.scale, widths.uniform, all_stay=all_stay)
    by, gap, threshold = np.full(n, -1), np.full(n, -np.inf), np.full(n, np.nan)
    for block in _blocks(mu, widths):
        _note_rejections(block, exact, by, gap, threshold)
    rejected = by >= 0
    rest = np.flatnonzero(~rejected)
    accepted = np.zeros(n, dtype=bool)
    some = None if exact is None else exact[rest]
    spare = np.full(n, np.nan)
    accepted[rest], gap[rest], spare[rest] = _accept(
        mu[rest], widths.restricted(rest), some, all_stay=all_stay
    )
    threshold[rest] = 0.0
    return Outcome(rejected, accepted, by, gap, threshold, spare)


def _by_front(scaled: FloatArray, eta: float, *, all_stay: bool) -> Outcome:
    """The same verdicts when one eta serves all pairs."""
    found = judge_by_front(scaled, eta, all_stay=all_stay)
    threshold = np.where(found.rejected, eta, 0.0)
    return Outcome(found.rejected, found.accepted, found.by, found.margin, threshold, found.spare)


def _plain_dominance(exact: FloatArray) -> Outcome:
    """No noisy objective at all: the Pareto set itself."""
    optimal = non_dominated(exact)
    by = np.full(len(exact), -1)
    for i in np.flatnonzero(~optimal):
        by[i] = int(np.argmax(optimal & (exact >= exact[i]).all(axis=1)))
    zeros = np.zeros(len(exact))
    return Outcome(~optimal, optimal, by, zeros, zeros, np.where(optimal, 0.0, np.nan))


def _note_rejections(
    block: _Pairs, exact: FloatArray | None, by: IntArray, gap: FloatArray, threshold: FloatArray
) -> None:
    """Write down, for the rows of a block, the arm that rejects each with the largest margin."""
    margin = block.reject
    margin[np.arange(len(block.rows)), block.rows] = -np.inf
    strict = block.high > 0.0
    if exact is not None:
        D = exact[None, :, :] - exact[block.rows][:, None, :]
        margin[(D < 0).any(axis=2)] = -np.inf
        strict |= (D > 0).any(axis=2)
    margin[~strict] = -np.inf
    best = margin.argmax(axis=1)
    at = np.arange(len(block.rows)), best
    certain = margin[at] >= 0.0
    rows = block.rows[certain]
    width = np.broadcast_to(np.asarray(block.width), margin.shape)[at]
    by[rows], gap[rows] = best[certain], (margin[at] + width)[certain]
    threshold[rows] = width[certain]


def _accept(
    mu: FloatArray, widths: Widths, exact: FloatArray | None, *, all_stay: bool
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Accepted among the arms not rejected, the margin of each (>= 0 where accepted), its spare."""
    n = len(mu)
    margin = np.empty(n)
    for block in _blocks(mu, widths):
        margin[block.rows] = _spare(block, exact).min(axis=1)
    first, spare = margin >= 0.0, margin
    others = np.flatnonzero(~first)
    if len(others) and not all_stay:
        scaled = mu / widths.scale
        step = max(1, _BLOCK // n)
        for start in range(0, len(others), step):
            block = _pairs(scaled, others[start : start + step], widths)
            margin = np.minimum(margin, _spare(block, exact).min(axis=0))
    return first & (margin >= 0.0), margin, spare


def _spare(block: _Pairs, exact: FloatArray | None) -> FloatArray:
    """By how much each row is certainly not dominated by each arm; infinite where exact says so."""
    spare = np.where((block.spare >= 0.0) & (block.low >= 0.0), -np.inf, block.spare)
    # two arms the model knows to be equal (every width is 0) do not dominate each other
    equal = (block.low == 0.0) & (block.high == 0.0) & (block.reject == 0.0)
    if exact is None:
        spare[equal] = 0.0
    else:
        D = exact[None, :, :] - exact[block.rows][:, None, :]
        spare[equal & (D == 0).all(axis=2)] = 0.0
        spare[(D < 0).any(axis=2)] = np.inf
    spare[np.arange(len(block.rows)), block.rows] = np.inf
    return spare


def paper(mu: FloatArray, scale: FloatArray, eta: float) -> Outcome:
    """Verdicts by the rule of the paper: reject at gap >= eta outside S, accept at gap >= 2 eta in S."""
    result = psi_gaps(mu / scale)
    rejected = ~result.strict & (result.gap >= eta)
    accepted = result.strict & (result.gap >= 2 * eta)
    by, out = np.full(len(mu), -1), np.flatnonzero(rejected)
    step = max(1, _BLOCK // max(1, len(mu)))
    for start in range(0, len(out), step):
        rows = out[start : start + step]
        lead = ((mu.T[:, None, :] - mu[rows].T[:, :, None]) / scale[:, None, None]).min(axis=0)
        lead[np.arange(len(rows)), rows] = -np.inf
        by[rows] = lead.argmax(axis=1)
    threshold = np.where(result.strict, 2 * eta, eta)
    spare = np.where(rejected, np.nan, -result.star - eta)
    return Outcome(rejected, accepted, by, result.gap, threshold, spare)


def achieved_epsilon(
    mu: FloatArray, widths: Widths, unit: FloatArray, exact: FloatArray | None = None
) -> float:
    """The smallest t for which every arm here is certainly t-optimal.

    That is: no j exceeds i by more than ``t unit_c`` in all noisy objectives while being at least as
    good in the exact ones. An objective of unit 0 only counts where j is certainly not above i.
    Valid for all t at once on the event that no error reaches its width.
    """
    worst = 0.0
    scaled = mu / widths.scale
    if exact is None and widths.one and unit.all():
        assert widths.uniform is not None
        return tolerance_by_front(scaled, widths.uniform, widths.scale / unit)
    step = max(1, _BLOCK // max(1, len(mu)))
    for start in range(0, len(mu), step):
        rows = np.arange(start, min(start + step, len(mu)))
        excess = _excess(scaled, rows, widths, unit)
        excess[np.arange(len(rows)), rows] = 0.0
        if exact is not None:
            worse = (exact[None, :, :] < exact[rows][:, None, :]).any(axis=2)
            excess[worse] = 0.0
        worst = max(worst, float(excess.max(initial=0.0)))
    return worst


def certain_pairs(
    mu: FloatArray, widths: Widths, unit: FloatArray, exact: FloatArray | None = None
) -> tuple[BoolArray, BoolArray]:
    """For each pair whether j certainly exceeds i by no more than ``unit`` (d,) in some objective.

    Returns
    -------
    within, undominated : (n, n) bool arrays
        That statement, and the same without any tolerance: j certainly does not dominate i.
    """
    n = len(mu)
    scaled, everything = mu / widths.scale, np.arange(n)
    within, undominated = np.empty((n, n), dtype=bool), np.empty((n, n), dtype=bool)
    step = max(1, _BLOCK // max(1, n))
    for start in range(0, n, step):
        rows = everything[start : start + step]
        undominated[rows] = _spare(_pairs(scaled, rows, widths), exact) >= 0.0
        within[rows] = undominated[rows] | (_excess(scaled, rows, widths, unit) <= 1.0)
    np.fill_diagonal(within, val=True)
    return within, undominated


def leave_together(within: BoolArray, undominated: BoolArray) -> BoolArray:
    """The largest set of arms, certainly optimal within the tolerance, that nobody who stays needs.

    Every arm outside the set is certainly not dominated by any arm in it: if the arm that dominates i
    most is here, it is still here for every i that stays. Without a tolerance these are the arms that
    the refined rule accepts.
    """
    leaving: BoolArray = np.logical_and.reduce(within, axis=1)
    while True:
        needed = ~undominated[~leaving].all(axis=0)
        if not (leaving & needed).any():
            return leaving
        leaving &= ~needed


def _excess(scaled: FloatArray, rows: IntArray, widths: Widths, unit: FloatArray) -> FloatArray:
    """min_c (D_ij(c) + eta_ij(c)) / unit_c for some rows, at least 0."""
    w = widths.rows(rows)
    best = np.full((len(rows), len(scaled)), np.inf)
    for c, factor in enumerate(widths.scale):
        upper = scaled[:, c] - scaled[rows, c][:, None] + w + widths.misfit_of(rows, c)
        if unit[c] > 0:
            best = np.minimum(best, upper * (factor / unit[c]))
        else:
            best = np.where(upper <= 0.0, 0.0, best)
    return np.asarray(np.maximum(best, 0.0))
