"""AdaHedge: weights of experts that follow their gains, with a learning rate nobody has to choose.

w = softmax(rate G), G = gains so far, rate = ln(n) / gap; gap = 0: all weight on the best
after gains g: mixed = ln(sum w e^(rate g)) / rate, gap += mixed - w'g      # de Rooij et al. 2014, eq. 8
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray, freeze
from paretoscope.policies.codec import plain_state


@plain_state
class Hedge(NamedTuple):
    """Gains so far (n,), and the cumulative mixability gap."""

    gains: FloatArray
    gap: float

    def weights(self) -> FloatArray:
        """The weights (n,), sum 1."""
        return _softmax(self.gains, self._rate)

    @property
    def _rate(self) -> float:
        """The learning rate; infinite before anything was missed."""
        return float(np.log(len(self.gains))) / self.gap if self.gap > 0.0 else np.inf

    def after(self, gains: FloatArray) -> Hedge:
        """The state after one more round of gains (n,)."""
        w, rate, total = self.weights(), self._rate, self.gains + gains
        if np.isinf(rate):
            mixed = float(total.max() - self.gains.max())
        else:
            top = float(gains.max())
            mixed = top + float(np.log(w @ np.exp(rate * (gains - top)))) / rate
        return Hedge(freeze(total), self.gap + max(0.0, mixed - float(w @ gains)))


def _softmax(gains: FloatArray, rate: float) -> FloatArray:
    """Weights proportional to e^(rate G); shared by the best where the rate is infinite."""
    lead = gains - gains.max()
    w = np.asarray((lead == 0.0).astype(np.float64) if np.isinf(rate) else np.exp(rate * lead))
    return np.asarray(w / w.sum())


def fresh_hedge(n: int) -> Hedge:
    """No gains of n experts yet."""
    return Hedge(freeze(np.zeros(n)), 0.0)
