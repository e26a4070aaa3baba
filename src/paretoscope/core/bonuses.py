"""Confidence bonuses that hold after every pull, in units of sigma: one arm's, or a pair's.

An algorithm that looks at its data after each pull needs widths valid at all counts at once. Each
function here is one published form, named by its origin; all are elementwise in the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from paretoscope.core.arrays import FloatArray

# The search stays where zeta(2 l) and ln(1 - l) are finite; every l inside gives a valid bound.
_LOWEST, _HIGHEST = 0.5 + 1e-9, 1.0 - 1e-9


def auer_bonus(counts: npt.ArrayLike, K: int, d: int, delta: float) -> FloatArray:
    """One arm's width sqrt(2 ln(4 K d n^2 / delta) / n) (Auer, Chiang, Ortner, Drugan 2016).

    Hoeffding at every n with risk delta / (2 K d n^2) for both sides together: over all n, arms and
    objectives these sum to pi^2 / 12 times delta.

    >>> float(auer_bonus(8, 3, 2, 0.1).round(3))
    1.552
    """
    n = np.asarray(counts, dtype=np.float64)
    return np.asarray(np.sqrt(2.0 * np.log(4.0 * K * d * n * n / delta) / n))


@lru_cache(maxsize=256)
def mixture_threshold(x: float) -> float:
    """Cg(x) = min over 1/2 < l < 1 of (g(l) + x) / l, the Gaussian threshold of Kaufmann and Koolen (2021).

    ``g(l) = 2l - 2l ln(4l) + ln zeta(2l) - ln(1-l)/2``. It is about x + ln x, which is too small
    for x below 6: a certificate never uses the approximation.

    >>> round(mixture_threshold(5.0), 3)
    6.757
    """

    def bound(l: float) -> float:  # noqa: E741  (the letter of the paper)
        g = 2 * l - 2 * l * np.log(4 * l) + np.log(special.zeta(2 * l)) - np.log1p(-l) / 2
        return float((g + x) / l)

    found = optimize.minimize_scalar(
        bound, bounds=(_LOWEST, _HIGHEST), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.fun)


class PairBonus(NamedTuple):
    """A pair's width ``sqrt(2 [constant + s(n_i) + s(n_j)] (1/n_i + 1/n_j))``, s = ``share``."""

    constant: float
    share: Callable[[FloatArray], FloatArray]

    def of(self, counts_i: npt.ArrayLike, counts_j: npt.ArrayLike) -> FloatArray:
        """The width at these counts, elementwise."""
        n_i, n_j = np.asarray(counts_i, dtype=np.float64), np.asarray(counts_j, dtype=np.float64)
        return self.given(self.share(n_i) + self.share(n_j), 1.0 / n_i + 1.0 / n_j)

    def given(self, shares: FloatArray, variance: FloatArray) -> FloatArray:
        """The width where ``s(n_i) + s(n_j)`` and ``1/n_i + 1/n_j`` are at hand."""
        return np.asarray(np.sqrt(2.0 * (self.constant + shares) * variance))


def ape_union_bonus(K: int, d: int, delta: float) -> PairBonus:
    """Widths that hold for all pairs, objectives and counts at once with probability 1 - delta.

    ``sqrt(2 [2 Cg(x) + 2 ln(4 + ln n_i) + 2 ln(4 + ln n_j)] (1/n_i + 1/n_j))`` with
    ``x = ln(K (K-1) d / (2 delta)) / 2`` (Kaufmann and Koolen 2021, theorem 9 for two arms, then
    Cauchy-Schwarz; a union over K (K-1) / 2 pairs and d objectives, both sides at once).

    >>> float(ape_union_bonus(3, 2, 0.1).of(8, 8).round(3))
    2.691
    """
    x = 0.5 * float(np.log(max(K * (K - 1), 2) * d / (2.0 * delta)))
    return PairBonus(2.0 * mixture_threshold(x), lambda n: 2.0 * np.log(4.0 + np.log(n)))


def ape_reference_bonus(delta: float) -> PairBonus:
    """Widths as the experiments of the GEGE paper ran them; no union, no proof.

    ``sqrt(2 [2 cg + ln(1 + ln n_i) + ln(1 + ln n_j)] (1/n_i + 1/n_j))`` with
    ``cg = L + max(ln L, 0)``, ``L = ln(1/delta) / 2``.

    >>> float(ape_reference_bonus(0.1).of(8, 8).round(3))
    1.555
    """
    half = 0.5 * float(np.log(1.0 / delta))
    return PairBonus(2.0 * (half + max(float(np.log(half)), 0.0)), lambda n: np.log1p(np.log(n)))
