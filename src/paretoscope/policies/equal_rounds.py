"""Racing with any widths: every arm left is brought to the same count, and leaves when it may.

    look after look: each arm of A gets a share `growth` more pulls (0: one more)
    A1 = {i in A: m(i,j) <= b_ij for all j in A}                                    # others rejected
    P1 = {i in A1: M_eps(i,j) >= b_ij for all other j in A1}
         M_eps(i,j) = max(0, max_c [mu_i(c) + eps_c - mu_j(c)])
    P2 = {j in P1: no i in A1 without P1 with M_eps(i,j) <= b_ij}                   # accepted
    A = A1 without P2, until it is empty                                            # Auer et al. 2016

With a tolerance all that is kept is called near, because whoever left may exceed it by up to epsilon.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.arrays import IntArray, freeze
from paretoscope.core.elimination import certain_pairs, refined
from paretoscope.errors import UsageError
from paretoscope.policies.base import StopReason
from paretoscope.policies.certified import AnytimeRounds, check_risk
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.reading import Reading
from paretoscope.policies.rounds import (
    ACCEPTED,
    ACTIVE,
    NEAR,
    RoundState,
    apply_outcome,
    arm_exact,
    want_up_to,
    with_verdicts,
)


def check_growth(growth: float) -> None:
    """Refuse a share that is none."""
    if not 0.0 <= growth <= 1.0:
        raise UsageError(f"growth = {growth}: a share between 0 and 1 of the pulls so far")


@dataclass(frozen=True, kw_only=True)
class EqualRounds(AnytimeRounds):
    """A race whose widths hold after every measurement; `_read` says which."""

    growth: float = 0.05
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    _withdrawn = (ACCEPTED, NEAR)

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_growth(self.growth)

    @abstractmethod
    def _read(self, state: RoundState) -> Reading:
        """Estimates of the arms left, and the widths of their differences."""

    def _rivals(self, state: RoundState) -> IntArray:
        """Whoever left as near may still dominate."""
        return np.flatnonzero((state.status == ACTIVE) | (state.status == NEAR))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        before = int(state.got.counts[state.setting.model.first[state.active]].max())
        counts = np.zeros(len(state.status), dtype=np.int64)
        counts[state.active] = before + max(self._each(state), int(self.growth * before))
        opened = want_up_to(state, counts, risk=self.delta, label=("", "equal"))
        asked = int(self.allocate(opened).sum())
        if state.spent + asked > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if asked else self._advance(opened)

    def _judge_scaled(self, state: RoundState) -> RoundState:
        seen = self._read(state)
        record = self._record(state, seen.accuracy, seen.bound)
        state = replace(state, accuracy=seen.accuracy, history=(record,))
        if self.epsilon_of(state.setting).any():
            state = self._near(state, seen)
        else:
            outcome = refined(seen.mu, seen.widths, arm_exact(state, seen.arms))
            state = self._settle(state, seen, outcome)
        return state if state.stop is not None else self._open(state)

    def _near(self, state: RoundState, seen: Reading) -> RoundState:
        """A1, P1 and P2 with a tolerance."""
        exact, noisy = arm_exact(state, seen.arms), state.setting.noisy
        outcome = refined(seen.mu, seen.widths, exact)
        kept = np.flatnonzero(~outcome.rejected)
        unit, rest = self.epsilon_of(state.setting)[noisy], None if exact is None else exact[kept]
        within, _ = certain_pairs(seen.mu[kept], seen.widths.restricted(kept), unit, rest)
        first = within.all(axis=1)
        second = first & within[~first].all(axis=0)
        none = np.zeros_like(outcome.rejected)
        state = apply_outcome(state, seen.arms, replace(outcome, accepted=none))
        state = with_verdicts(state, seen.arms[kept[second]], NEAR)
        over = len(state.active) == 0
        t = 1.0 if over else max(1.0, self._tolerance(state, seen, outcome))
        state = replace(state, achieved=freeze(self._in_units(state, t)))
        return replace(state, stop=StopReason.EPSILON) if over else state
