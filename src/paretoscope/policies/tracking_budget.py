"""Tracking for a fixed budget: the sampler of `Tracking`, stopped by a count instead of a proof.

    looks N_1 < ... < N_L = T, each `1 + batch` times the last, N_1 about START of T: fixed beforehand
    first batch: the G-optimal design
    later batches: the shares that, with all pulls before them and for all that are left, balance
        the signs that the present front rests on                               # `aims.last_shares`
    answer: the Pareto set of the estimates from all data

No certificate: which error rate a budget buys depends on gaps that nobody knows. Adaptive pulls bias
least squares a little; what was tried instead and what it gave stands in docs/anytime.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.core.rounding import largest_remainder
from paretoscope.errors import UsageError
from paretoscope.policies import aims
from paretoscope.policies.base import RoundForecast, StopReason
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.field import build_field
from paretoscope.policies.pursuit import live_arms, sampled_base, terms_of
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import RoundState, want_round
from paretoscope.policies.setting import Setting

# Part of the budget that is spent before any estimate is trusted.
START = 0.3


@dataclass(frozen=True)
class TrackingBudget(Budgeted):
    """Tracking for a fixed budget; see `Tracking`."""

    batch: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.batch > 0.0:
            raise UsageError(f"batch = {self.batch}: a positive share of the pulls so far")

    def _aside(self, setting: Setting) -> int:
        """Pulls beside the design, of exact metrics; without features every candidate is in it."""
        return int(setting.to_measure.sum()) if setting.model.linear else 0

    def look_sizes(self, setting: Setting) -> IntArray:
        """N_1 < ... < N_L: pulls made by design after each batch."""
        T, least = self.budget - self._aside(setting), setting.model.least(_all(setting))
        if least > T:
            raise UsageError(
                f"budget {self.budget} is too small: {least + self.budget - T} measurements are the"
                " least that compare all candidates"
            )
        first = max(float(least), START * T)
        steps = max(0, int(np.log(T / first) / np.log1p(self.batch)))
        sizes = np.rint(T * (1.0 + self.batch) ** -np.arange(steps, -1.0, -1.0))
        return np.unique(np.maximum(sizes.astype(np.int64), least))

    def _start(self, setting: Setting) -> RoundState:
        if setting.noisy.any() and len(setting.model.first) > 1:
            self.look_sizes(setting)
        return super()._start(setting)

    def _open(self, state: RoundState) -> RoundState:
        setting = state.setting
        if not setting.noisy.any():
            return self._measure_exact(state)
        size = int(self.look_sizes(setting)[state.number])
        counts = self._counts(state, size + self._aside(setting) - state.spent)
        if counts is None:
            return replace(state, stop=StopReason.NOTHING)
        opened = want_round(
            state,
            counts,
            accuracy=0.0,
            risk=0.0,
            label=("", "tracking"),
            extra=setting.model.linear,
        )
        return replace(opened, got=state.got, want=freeze(opened.want + state.got.counts))

    def _counts(self, state: RoundState, N: int) -> IntArray | None:
        """N pulls by arm; None if no arm can be measured."""
        model = state.setting.model
        if state.number == 0:
            plan = model.designs(_all(state.setting), ("g",), state.barred)
            N -= self._aside(state.setting)
            return model.integers(plan[0], _all(state.setting), N) if plan else None
        base = sampled_base(state)
        return largest_remainder(self._shares(state, base, N), N) if base.any() else None

    def _shares(self, state: RoundState, base: FloatArray, N: int) -> FloatArray:
        """Shares of the next batch; those of the design while nothing can be compared."""
        tally = noisy_part(state.setting, state.got)
        field = build_field(state.setting.model, tally, state.unit) if state.unit.size else None
        if field is None:
            return base
        terms = terms_of(state, np.zeros(len(state.unit)), 1.0)
        target = aims.of_shares(field, base)
        wanted = aims.needed(terms, field.mu, target, live_arms(state))
        rest = max(N, self.budget - state.spent)
        return aims.last_shares(terms, field, wanted, base, state.barred, rest)

    def _judge(self, state: RoundState) -> RoundState:
        last = not state.setting.noisy.any() or state.number >= len(self.look_sizes(state.setting))
        if last:
            return self._empirical_front(state)
        found = self._estimates(state)
        return self._open(state if found is None else found[0])

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Pulls of each batch: exact."""
        if len(setting.model.first) == 1:
            return ()
        if not setting.noisy.any():
            return super().plan(setting)
        steps = np.diff(self.look_sizes(setting), prepend=-self._aside(setting)).tolist()
        return tuple(RoundForecast(r + 1, N, N, float("nan")) for r, N in enumerate(steps))


def _all(setting: Setting) -> IntArray:
    """Every arm."""
    return np.arange(len(setting.model.first))
