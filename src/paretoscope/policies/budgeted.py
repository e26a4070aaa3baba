"""What the policies that spend a fixed budget share: units, estimates, an answer without certificate.

A fixed budget promises an error rate that falls exponentially, and no statement on one's own data:
the verdicts are the best guess, and the certificate says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.dominance import non_dominated
from paretoscope.errors import UsageError
from paretoscope.policies.base import Certificate, Guarantee, RoundForecast, StopReason
from paretoscope.policies.reading import estimate_noise, noisy_part
from paretoscope.policies.rounds import (
    ACCEPTED,
    REJECTED,
    RoundPolicy,
    RoundState,
    arm_exact,
    first_state,
    with_verdicts,
)
from paretoscope.policies.setting import Setting
from paretoscope.policies.wording import assumptions


@dataclass(frozen=True)
class Budgeted(RoundPolicy[RoundState]):
    """A policy that spends exactly ``budget`` measurements and then answers."""

    budget: int

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise UsageError(f"budget = {self.budget}: give at least one measurement")

    @property
    def guarantee(self) -> Guarantee:
        """A guess: right with a probability that grows with the budget, never certified."""
        return Guarantee(
            False, "a fixed budget bounds the error before measuring, it certifies nothing"
        )

    def _start(self, setting: Setting) -> RoundState:
        state = first_state(setting)
        noise = setting.noise.only(setting.noisy)
        if noise.unknowns.any() or not noise.sigma.size:
            return state
        return replace(state, unit=freeze(noise.sigma))

    def _measure_exact(self, state: RoundState) -> RoundState:
        """No noise anywhere: once each is all there is to spend."""
        if self._reserve(state) > self.budget:
            raise UsageError(
                f"budget {self.budget} is too small: exact metrics need {self._reserve(state)}"
                " measurements"
            )
        return super()._measure_exact(state)

    def _estimates(self, state: RoundState) -> tuple[RoundState, FloatArray] | None:
        """Means (n, d_noisy) of the active arms in units of the noise; None if they cannot be compared.

        Without a known noise the unit is the first round's estimate, or its range of means where no
        pull was to spare: a number without dimension either way, so that metrics never mix.
        """
        setting, A = state.setting, state.active
        tally = noisy_part(setting, state.got)
        if not setting.noisy.any():
            return state, np.zeros((len(A), 0))
        if not setting.model.compares(A, tally.counts):
            return None
        mu, residual = setting.model.estimate(A, *tally)
        if not state.unit.size:
            noise = setting.noise.only(setting.noisy)
            found = estimate_noise(noise, residual, "residuals", tally.means)
            scale = np.ptp(mu, axis=0) if found is None or found.silent else found.sigma
            state = replace(state, unit=freeze(np.where(scale > 0, scale, 1.0)))
        return state, mu / state.unit

    def _answer(self, state: RoundState, optimal: BoolArray, arms: IntArray) -> RoundState:
        """Accept some of the arms, reject the others, stop."""
        state = with_verdicts(state, arms[~optimal], REJECTED)
        state = with_verdicts(state, arms[optimal], ACCEPTED)
        return replace(state, stop=StopReason.BUDGET)

    def _empirical_front(self, state: RoundState) -> RoundState:
        """Answer the Pareto set of the estimates; leave all undecided if they cannot be compared."""
        found = self._estimates(state)
        if found is None:
            return replace(state, stop=StopReason.BUDGET)
        state, mu = found
        exact = arm_exact(state, state.active)
        values = mu if exact is None else np.concatenate([mu, exact], axis=1)
        state = self._answer(state, non_dominated(values), state.active)
        return state if state.setting.noisy.any() else replace(state, stop=StopReason.DECIDED)

    def _certificate(self, state: RoundState) -> Certificate:
        setting = state.setting
        return Certificate(
            certified=False,
            reason=self.guarantee.reason,
            delta=float("nan"),
            epsilon=np.zeros(setting.d),
            bound="",
            assumptions=assumptions(state, setting.noise.only(setting.noisy)),
            pulls=state.spent,
            achieved_epsilon=np.full(setting.d, np.inf),
        )

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """The budget, round by round."""
        state = self.init(setting)
        if state.stop is not None:
            return ()
        asked = int(state.want.sum())
        rest = self.budget - asked if setting.noisy.any() else 0
        first = RoundForecast(1, asked, asked, float("nan"))
        if rest <= 0:
            return (first,)
        return (first, RoundForecast(2, rest, rest, float("nan")))

    def _reserve(self, state: RoundState) -> int:
        """Pulls of the budget that exact metrics need: one per candidate not known yet."""
        return int(state.setting.to_measure.sum())
