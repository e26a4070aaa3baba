"""Whether two batches of measurements say the same of the same arms.

Each batch has limits of its own, at half the level, for everything that could be compared; the batches
disagree where the limits of one exclude those of the other. So the level holds however the second
batch was chosen from what the first one said, as long as each was fixed before its own values.

Only differences between arms are compared: an offset of a whole batch, a new calibration say, moves
all arms alike and harms no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import special

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.confidence import Tail

# No p-value is looked for below this: a quantile would overflow.
_LEAST = 1e-200
# Halvings of ln p: far below the digits that are shown.
_STEPS = 50


class Batch(NamedTuple):
    """Differences to a reference arm as one batch sees them.

    Attributes
    ----------
    gap, deviation : (n, d) arrays
        The difference of each arm, and what a quantile is multiplied with for its limit.
    laws : d Tails
    events : int
        Limits, upper and lower, that must hold at once; per objective.
    """

    gap: FloatArray
    deviation: FloatArray
    laws: Sequence[Tail]
    events: int

    def limits(self, c: int, risk: float) -> FloatArray:
        """Half widths (n,) of objective c that all hold with probability 1 - risk."""
        quantile = self.laws[c].quantile(risk / self.events)
        return self.deviation[:, c] * (np.inf if np.isnan(quantile) else max(quantile, 0.0))


class Disagreement(NamedTuple):
    """p-value, size and arm of the clearest disagreement of each objective."""

    p: FloatArray
    size: FloatArray
    arm: IntArray


def differences(one: Batch, two: Batch) -> Disagreement:
    """Whether differences between arms are the same in both.

    >>> from paretoscope.core.confidence import GAUSSIAN
    >>> def batch(gap):
    ...     return Batch(np.array([[gap]]), np.array([[1.0]]), [GAUSSIAN], 2)
    >>> [float(differences(batch(0.0), batch(x)).p[0].round(4)) for x in (0.0, 6.0)]
    [1.0, 0.0054]
    """
    apart = np.abs(two.gap - one.gap)

    def excess(c: int, risk: float) -> FloatArray:
        half = risk / 2.0
        return np.asarray(apart[:, c] - one.limits(c, half) - two.limits(c, half))

    def beyond(c: int, risk: float) -> float:
        return float(excess(c, risk).max())

    d = apart.shape[1]
    p = np.array([_smallest(partial(beyond, c)) for c in range(d)])
    arm = np.array([int(excess(c, 0.5).argmax()) for c in range(d)])
    return Disagreement(p, apart[arm, np.arange(d)], arm)


def noise(
    one: FloatArray, one_df: int, two: FloatArray, two_df: int
) -> tuple[FloatArray, FloatArray]:
    """Whether Gaussian noise has the same scale in both: p-values, and ratios of the scales.

    Parameters
    ----------
    one, two : (d,) arrays
        Sums of squares with their degrees of freedom, of replicates alone.

    >>> p, ratio = noise(np.array([10.0]), 10, np.array([90.0]), 10)
    >>> float(p[0].round(3)), float(ratio[0])
    (0.041, 3.0)
    """
    ratio = np.sqrt(two / two_df / (one / one_df))

    def beyond(c: int, risk: float) -> float:
        low, high = (one, one_df), (two, two_df)
        if ratio[c] < 1.0:
            low, high = high, low
        most = np.log(low[0][c]) - np.log(max(_lower_chi2(low[1], risk / 4.0), 1e-300))
        least = np.log(high[0][c]) - np.log(special.chdtri(high[1], risk / 4.0))
        return float(least - most)

    p = [_smallest(partial(beyond, c)) for c in range(len(ratio))]
    return np.array(p), ratio


def _lower_chi2(nu: int, p: float) -> float:
    """The x that a chi-square variable stays below with probability p."""
    return 2.0 * float(special.gammaincinv(nu / 2.0, p))


def _smallest(beyond: Callable[[float], float]) -> float:
    """The smallest level at which the limits exclude each other (``beyond`` >= 0); 1 if none."""
    low, high = float(np.log(_LEAST)), 0.0
    if not beyond(1.0) >= 0.0:
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if beyond(np.exp(middle)) >= 0.0 else (middle, high)
    return float(np.exp(high))
