"""Uniform sampling: the baseline that every other policy must beat.

    pull every candidate floor(T / K) times
    pull T mod K candidates, drawn at random, once more
    answer the Pareto set of the means

Nothing is certified. The draw comes from the setting's seed, so a replay asks for the same pulls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paretoscope.errors import UsageError
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.rounds import RoundState, want_round
from paretoscope.policies.setting import Setting


@dataclass(frozen=True)
class Uniform(Budgeted):
    """Uniform(budget): the same number of measurements of every candidate, features ignored.

    Raises
    ------
    UsageError
        If the budget is below one measurement per candidate.
    """

    def _start(self, setting: Setting) -> RoundState:
        if self.budget < setting.K and setting.K > 1:
            raise UsageError(
                f"budget {self.budget} is below one measurement for each of {setting.K} candidates"
            )
        return super()._start(setting.unstructured)

    def _open(self, state: RoundState) -> RoundState:
        K = state.setting.K
        counts = np.full(K, self.budget // K)
        rng = np.random.default_rng([state.setting.seed, 1])
        counts[rng.permutation(K)[: self.budget % K]] += 1
        return want_round(state, counts, accuracy=0.0, risk=0.0, label=("", "uniform"))

    def _judge(self, state: RoundState) -> RoundState:
        return self._empirical_front(state)
