"""All data at any time, whatever chose them: least squares in an ellipsoid, or pairs of means.

eta_ij^2 = 2 sigma^2 min_k beta_k (|x_i - x_j|^2_{V^-1} + |x_i - x_j|^2_{V^-1 W_k V^-1})  # `anytime`
W_k = n_k V(w_G), w_G the G-optimal design of all arms, n_k = 10 h 4^k for k = 1 ... 5: fixed beforehand
without features: the union bonus of every pair                                     # `bonuses`
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.anytime import ellipsoid_beta
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.bonuses import ape_union_bonus
from paretoscope.core.elimination import Widths
from paretoscope.policies.reading import Reading, noisy_part, with_misfit
from paretoscope.policies.rounds import RoundState

# Multiples of 10 h pulls: the ellipsoid is tightest near one of these sizes.
_SCALES = 4.0 ** np.arange(1, 6)


def read_anytime(state: RoundState, A: IntArray, sigma: FloatArray, risk: float) -> Reading | None:
    """Estimates of some arms, with widths that hold at all times together; None while too few pulls."""
    setting, tally = state.setting, noisy_part(state.setting, state.got)
    model, d = setting.model, len(sigma)
    if not model.linear:
        n = tally.counts[A].astype(np.float64)
        if not n.all():
            return None
        bonus = ape_union_bonus(setting.K, d, risk)
        widths = Widths(sigma, pair=lambda rows: bonus.of(n[rows][:, None], n))
        widest = float(bonus.of(n.min(), n.min()))
        return Reading(A, tally.means[A], widths, "union of pairs", sigma, sigma, 2.0 * widest)
    pool = np.flatnonzero(tally.counts)
    if model.least(pool) < model.rank:
        return None
    table = _table(state, tally.counts, A, d, risk)
    mu = model.estimate(A, *tally).mu
    widths = Widths(sigma, pair=lambda rows: table[rows])
    accuracy = 2.0 * float(table.max())
    seen = Reading(A, mu, widths, "ellipsoid at all times", sigma, sigma, accuracy)
    return with_misfit(seen, setting, tally.counts)


def _table(state: RoundState, counts: IntArray, A: IntArray, d: int, risk: float) -> FloatArray:
    """eta_ij / sigma for all pairs of A."""
    model = state.setting.model
    Z = model.coordinates()
    assert Z is not None
    everyone = np.arange(len(Z))
    plan = model.designs(everyone, ("g",), np.zeros(len(Z), dtype=bool))[0]
    V, W = (Z * counts[:, None]).T @ Z, (Z * plan.weights[:, None]).T @ Z
    inverse = np.linalg.inv(V)
    own = _squares(Z[A] @ np.linalg.cholesky(inverse))
    off = _squares(Z[A] @ inverse @ np.linalg.cholesky(W))
    best = np.full_like(own, np.inf)
    sizes = 10.0 * model.rank * _SCALES
    for n in sizes:
        beta = ellipsoid_beta(V, n * W, d, len(sizes), risk)
        np.minimum(best, beta * (own + n * off), out=best)
    same = model.twin[A][:, None] == model.twin[A]
    return np.where(same, 0.0, np.sqrt(2.0 * best))


def _squares(rows: FloatArray) -> FloatArray:
    """Squared distances of all pairs of rows, by differences: no digits cancel."""
    out = np.zeros((len(rows), len(rows)))
    for column in rows.T:
        out += np.square(column[:, None] - column)
    return out
