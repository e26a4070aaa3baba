"""Half of the budget for everybody, the other half for who looks best: a policy in forty lines.

pull every candidate floor(T / 2K) times
S = the Pareto set of the means
share what is left of T equally among S
answer the Pareto set of the means
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paretoscope.core.dominance import non_dominated
from paretoscope.errors import UsageError
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.rounds import RoundState, want_up_to
from paretoscope.policies.setting import Setting


@dataclass(frozen=True)
class TwoHalves(Budgeted):
    """TwoHalves(budget): a baseline of one's own; nothing is certified, as for every budget."""

    def _start(self, setting: Setting) -> RoundState:
        if 1 < setting.K and self.budget < 2 * setting.K:
            raise UsageError(f"budget {self.budget}: two for each of {setting.K} candidates")
        return super()._start(setting.unstructured)

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        K = state.setting.K
        counts = np.full(K, self.budget // (2 * K))
        return want_up_to(state, counts, risk=0.0, label=("", "everybody"))

    def _judge(self, state: RoundState) -> RoundState:
        found = self._estimates(state)
        if found is None or state.number > 1 or not state.setting.noisy.any():
            return self._empirical_front(state)
        state, mu = found
        best = state.active[non_dominated(mu)]
        counts = state.got.counts.copy()
        counts[best] += (self.budget - state.spent) // len(best)
        return want_up_to(state, counts, risk=0.0, label=("", "the front"))
