"""GEGE for a fixed budget: halve the active arms by empirical gaps.

    R = max(1, ceil(log2 h))
    r = 1..R: N = T // R, one more in the first T mod R rounds
        pull N by the integer G-optimal design of A, estimate                  # algorithm 1
        gaps on A; keep the ceil(h / 2^r) arms first in (gap, not in S, index) # eq. 5
        accept the others of S, reject the others outside S
    return accepted + A                                                        # algorithm 2

Kone, Kaufmann, Richert, "Bandit Pareto Set Identification in a Multi-Output Linear Model", AISTATS
2025. Ties between an optimal arm and the arm it dominates are exact and occur in almost every run:
the optimal one is kept (breaking them the other way errs with probability one). The paper's budget of T / log2(h) a
round overspends, and T >= log2 h does not suffice: a round needs h pulls, so T >= R h.

Guaranteed: P(error) falls as exp(-T / (1200 sigma^2 H2_lin R)), theorem 1 (`theory`); too wide to
size an experiment by. No certificate on one's own data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import non_dominated
from paretoscope.core.gaps import gaps_beside_exact, gaps_of
from paretoscope.core.theory import elimination_rounds
from paretoscope.errors import UsageError
from paretoscope.policies.base import RoundForecast, StopReason
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.rounds import (
    ACCEPTED,
    REJECTED,
    RoundState,
    arm_exact,
    want_round,
    with_verdicts,
)
from paretoscope.policies.setting import Setting


def _beaten_by_twins(twin: IntArray, exact: FloatArray) -> BoolArray:
    """Arms with the features of another that is better in the exact metrics: no gap tells these."""
    beaten = np.zeros(len(twin), dtype=bool)
    _, group, size = np.unique(twin, return_inverse=True, return_counts=True)
    for g in np.flatnonzero(size > 1):
        members = np.flatnonzero(group == g)
        beaten[members] = ~non_dominated(exact[members])
    return beaten


@dataclass(frozen=True)
class GEGEBudget(Budgeted):
    """GEGE for a fixed budget; see `GEGE`."""

    def _rounds(self, setting: Setting) -> tuple[int, int]:
        """Number of rounds, and pulls to divide among them."""
        h = setting.model.rank
        return elimination_rounds(h), self.budget - int(setting.to_measure.sum())

    def _start(self, setting: Setting) -> RoundState:
        R, T = self._rounds(setting)
        least = R * setting.model.rank
        if T < least and setting.noisy.any() and len(setting.model.first) > 1:
            raise UsageError(
                f"budget {self.budget} is too small: {R} rounds of rank {setting.model.rank} need"
                f" {least + self.budget - T} measurements"
            )
        return super()._start(setting)

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        R, T = self._rounds(state.setting)
        r, A, model = state.number + 1, state.active, state.setting.model
        N = T // R + (1 if r <= T % R else 0)
        plan = model.designs(A, ("g",), state.barred)
        counts = model.integers(plan[0], A, N) if plan else None
        if counts is None:
            return replace(state, stop=StopReason.NOTHING)
        label = ("", plan[0].kind)
        return want_round(state, counts, accuracy=0.0, risk=0.0, label=label, extra=True)

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._empirical_front(state)
        R, _ = self._rounds(state.setting)
        last = state.number >= R
        found = self._estimates(state)
        if found is not None:
            state, mu = found
            state = self._discard(state, mu)
        elif last:  # what was given up left nothing to compare: no guess
            return replace(state, stop=StopReason.BUDGET)
        if last or len(state.active) <= 1:
            state = with_verdicts(state, state.active, ACCEPTED)
            return replace(state, stop=StopReason.BUDGET if last else StopReason.DECIDED)
        return self._open(state)

    def _discard(self, state: RoundState, mu: np.ndarray) -> RoundState:
        """Keep the arms that are hardest to classify; classify the others."""
        A, exact = state.active, arm_exact(state, state.active)
        if exact is not None:
            beaten = _beaten_by_twins(state.setting.model.twin[A], exact)
            state = with_verdicts(state, A[beaten], REJECTED)
            A, mu, exact = A[~beaten], mu[~beaten], exact[~beaten]
        gaps = gaps_of(mu) if exact is None else gaps_beside_exact(mu, exact)
        order = np.lexsort((np.arange(len(A)), ~gaps.strict, gaps.gap))
        size = -(-state.setting.model.rank // 2**state.number)  # ceil(h / 2^r)
        out = np.sort(order[size:])
        for status, members in (
            (ACCEPTED, out[gaps.strict[out]]),
            (REJECTED, out[~gaps.strict[out]]),
        ):
            state = with_verdicts(state, A[members], status, gap=gaps.gap[members])
        return state

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Pulls of each round: exact, unless few arms are left before the last one."""
        R, T = self._rounds(setting)
        if len(setting.model.first) == 1:
            return ()
        if not setting.noisy.any():
            return super().plan(setting)
        parts = [T // R + (1 if r <= T % R else 0) for r in range(1, R + 1)]
        parts[0] += self.budget - T
        return tuple(RoundForecast(r + 1, N, N, float("nan")) for r, N in enumerate(parts))
