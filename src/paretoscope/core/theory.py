"""What the theorems of the GEGE paper promise before any measurement (Kone, Kaufmann, Richert, AISTATS 2025).

These are offered to readers and plans. They are far too wide to size an experiment by: no policy uses them.
"""

from __future__ import annotations

import math

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.core.schedule import paper_accuracy, paper_risk, round_pulls
from paretoscope.errors import UsageError


def elimination_rounds(h: int) -> int:
    """Rounds of the fixed-budget algorithm: ceil(log2 h), at least one."""
    return max(1, math.ceil(math.log2(h)))


def budget_error_bound(T: int, H2_lin: float, K: int, h: int, d: int, sigma: float = 1.0) -> float:
    """Theorem 1: P(error) <= 2 d (K + h + R) exp(-T / (1200 sigma^2 H2_lin R)), for T >= 45 h R."""
    R = elimination_rounds(h)
    if T < 45 * h * R:
        raise UsageError(
            f"the bound holds from T = 45 h R = {45 * h * R} measurements on, not at T = {T}"
        )
    return min(1.0, 2 * d * (K + h + R) * math.exp(-T / (1200 * sigma**2 * H2_lin * R)))


def apportioned_error_bound(
    T: int, m: int, H2_lin: float, K: int, h: int, d: int, sigma: float = 1.0
) -> float:
    """The same with the apportioned design of support m: exponent (N - m) / (400 sigma^2 H2_lin), N = T // R.

    The constant 400 is 1200 without the factor 3 = 1 + 6/3 that the paper's rounding loses at kappa = 1/3.
    """
    R = elimination_rounds(h)
    N = T // R
    if m >= N:
        raise UsageError(f"a round of {N} measurements cannot hold a design of {m} points")
    return min(1.0, 2 * d * (K + h + R) * math.exp(-(N - m) / (400 * sigma**2 * H2_lin)))


def budget_lower_bound(T: int, H: float, sigma: float = 1.0) -> float:
    """Theorem 2: whatever the algorithm, on some instance of H2_lin <= H it errs with this probability."""
    return 0.25 * math.exp(-2.0 * T / (H * sigma**2))


def confidence_round_count(gaps: FloatArray) -> int:
    """Rounds of fixed confidence with eps_r = 2^-(r+1): max(1, ceil(log2(1/gap_2))), gaps sorted ascending."""
    if len(gaps) < 2:
        return 0
    return max(1, math.ceil(math.log2(1.0 / float(np.sort(gaps)[1]))))


def confidence_pulls_by_round(
    gaps: FloatArray, h: int, d: int, delta: float, sigma: float = 1.0
) -> int:
    """Upper bound on the measurements of schedule 'corrected': sum_r t_r with n_r = #{gap < 4 eps_r}."""
    total = 0
    for r in range(1, confidence_round_count(gaps) + 1):
        eps_r = paper_accuracy(r)
        n = len(gaps) if r == 1 else int((gaps < 4 * eps_r).sum())
        if n <= 1:
            break
        total += round_pulls("corrected", eps_r, paper_risk(delta, r), n, min(h, n), d, sigma)
    return total


def confidence_pulls_closed_form(
    gaps: FloatArray, h: int, K: int, d: int, delta: float, sigma: float = 1.0
) -> float:
    """R + 14336 sigma^2 sum_{i<=h} gap_i^-2 ln(2 K d pi^2 max(1, ceil(log2 1/gap_i))^2 / (6 delta)).

    The constant printed in the paper (256/3) is too small: the schedule itself exceeds it.
    """
    smallest = np.sort(gaps)[:h]
    halvings = np.maximum(1.0, np.ceil(np.log2(1.0 / smallest)))
    logs = np.log(2 * K * d * np.pi**2 * halvings**2 / (6 * delta))
    return confidence_round_count(gaps) + 14336 * sigma**2 * float((logs / smallest**2).sum())
