"""What `Tracking` is predicted to spend before anything is measured.

a tolerance settles every pair once the widths of the ellipsoid are below half of it: whichever estimate
comes, either some eps - gap_hat reaches the width (ND_eps), or all gap_hat do (DOM)
at N pulls in the shares of the G-optimal design:  V = N V(w_G), so that all eigenvalues of W_0^-1 V are N
    width^2 = 2 max |u|^2_{V(w_G)^-1} / N * min_k beta_k (1 + n_k / N)                     # `anytime`
need = the least such N. Studies with gaps need less; without a tolerance nothing can be said.
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.anytime import scaled_threshold
from paretoscope.core.arrays import FloatArray
from paretoscope.policies.base import RoundForecast
from paretoscope.policies.field import base_weights
from paretoscope.policies.setting import Setting
from paretoscope.policies.signs import Terms


def tolerance_need(terms: Terms, setting: Setting, most: int) -> int | None:
    """Pulls that the tolerance needs, in the worst case, or ``most``; None without a tolerance everywhere."""
    goal = float(terms.epsilon.min(initial=np.inf)) / 2.0
    if not goal > 0.0:
        return None
    model = setting.model
    w = base_weights(model, np.zeros(terms.n, dtype=bool))
    spread = model.spread(np.arange(terms.n), w)
    if spread is None:
        return None
    square = spread.widest**2

    def wide(N: int) -> bool:
        ratios, share = np.full(model.rank, float(N)), np.array([1.0 / N])
        limit = scaled_threshold(ratios, share, terms.sizes, terms.d, terms.risk)
        return bool(2.0 * square / N * limit[0] > goal**2)

    low, high = 0, 1
    while wide(high) and high < most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return min(high, most)


def forecast(first: int, need: int | None, batch: float, goal: FloatArray) -> list[RoundForecast]:
    """Batches that grow by their share from the first one to the need; only the first is certain."""
    if need is None:
        return [RoundForecast(1, first, first, float("inf"))]
    steps = [RoundForecast(1, first, first, float(goal.max()))]
    done = first
    while done < need:
        size = min(max(1, int(batch * done)), need - done)
        steps.append(RoundForecast(len(steps) + 1, 0, size, float(goal.max())))
        done += size
    return steps
