"""Empirical gap elimination for a fixed budget, without structure: halving, or one arm at a time.

    EGE-SH: R = ceil(log2 K) rounds; lambda_1 = K, lambda_{r+1} = ceil(lambda_r / 2)
        pull every arm left floor(T / (lambda_r R)) times; means of all its pulls    # algorithm 2
        keep the lambda_{r+1} arms first in (gap, not in S, index)                   # eq. 5
        accept the others of S, reject the others outside S
    EGE-SR: K - 1 rounds; logbar = 1/2 + sum_{i=2..K} 1/i
        pull every arm left up to n_r = ceil((T - K) / (logbar (K + 1 - r))) times   # algorithm 1
        drop one: reject argmax D* if that is at least every gap of S, else accept the largest gap of S
    the last one left is accepted; EGE-SR-k ends at k accepted arms

Kone, Kaufmann, Richert, "Bandit Pareto Set Identification: the Fixed Budget Setting", AISTATS 2024.
All pulls of an arm count, whatever the round. Never more than T pulls: EGE-SR leaves fewer than K of
them unspent, EGE-SH what its rounding cuts off. Ties are broken in favour of S: gap_i = D*_j between an
optimal arm and the arm it dominates is exact and occurs in almost every run.

Guaranteed: P(error) falls as exp(-c T / (sigma^2 H2 log K)), H2 over all K arms; no certificate on one's
own data. What EGE-SR-k leaves over has no label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.core.gaps import PsiGaps, gaps_beside_exact, gaps_of
from paretoscope.errors import UsageError
from paretoscope.policies.base import RoundForecast, StopReason
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.gege_budget import GEGEBudget
from paretoscope.policies.rounds import (
    ACCEPTED,
    REJECTED,
    RoundState,
    arm_exact,
    want_up_to,
    with_verdicts,
)
from paretoscope.policies.setting import Setting


@dataclass(frozen=True)
class EGESH(GEGEBudget):
    """EGESH(budget): halve the candidates by empirical gaps, features ignored.

    Raises
    ------
    UsageError
        If the budget is below K ceil(log2 K): a round must measure every candidate once.
    """

    def _start(self, setting: Setting) -> RoundState:
        free = setting.unstructured
        R, _ = self._rounds(free)
        if 1 < setting.K and self.budget < R * setting.K and setting.noisy.any():
            raise UsageError(
                f"budget {self.budget} is too small: {R} rounds of {setting.K} candidates need"
                f" {R * setting.K} measurements"
            )
        return super(GEGEBudget, self)._start(free)

    def _sizes(self, setting: Setting) -> list[int]:
        """Measurements in all of an arm that is still there, round by round."""
        R, K = self._rounds(setting)[0], setting.K
        alive = [math.ceil(K / 2**r) for r in range(R)]
        return list(accumulate(self.budget // (n * R) for n in alive))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        return _open_up_to(self, state, self._sizes(state.setting)[state.number])

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Every round exactly, unless candidates cannot be measured."""
        free = setting.unstructured
        if not setting.noisy.any() or self.init(setting).stop is not None:
            return super(GEGEBudget, self).plan(free)
        steps = np.diff(self._sizes(free), prepend=0).tolist()
        pulls = [n * math.ceil(setting.K / 2**r) for r, n in enumerate(steps)]
        return tuple(RoundForecast(r + 1, N, N, math.nan) for r, N in enumerate(pulls))


@dataclass(frozen=True)
class EGESR(Budgeted):
    """EGESR(budget, k): drop one candidate a round by empirical gaps, features ignored.

    Parameters
    ----------
    budget : int
        Measurements at most.
    k : int or None
        Stop at this many accepted candidates; None = classify all.

    Raises
    ------
    UsageError
        If the budget is not above K, or k is below 1.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None and self.k < 1:
            raise UsageError(f"k = {self.k}: ask for at least one optimal candidate")

    def _start(self, setting: Setting) -> RoundState:
        if 1 < setting.K and self.budget <= setting.K and setting.noisy.any():
            raise UsageError(
                f"budget {self.budget} is too small: successive rejects of {setting.K} candidates"
                f" need more than {setting.K} measurements"
            )
        return super()._start(setting.unstructured)

    def _size(self, K: int, left: int) -> int:
        """n_r when r - 1 arms were dropped: ``left`` = K + 1 - r of them remain."""
        return math.ceil((self.budget - K) / (_log_bar(K) * left))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        return _open_up_to(self, state, self._size(state.setting.K, len(state.active)))

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._empirical_front(state)
        found, K = self._estimates(state), state.setting.K
        if found is None:
            return replace(state, stop=StopReason.BUDGET)
        (state, mu), size = found, int(state.want[state.active].max())
        while len(state.active) > 1 and self._size(K, len(state.active)) <= size:
            state, mu = _drop_one(state, mu)
            if self.k is not None and (state.status == ACCEPTED).sum() >= self.k:
                return replace(state, stop=StopReason.FOUND)
        if len(state.active) > 1:
            return self._open(state)
        state = with_verdicts(state, state.active, ACCEPTED)
        return replace(state, stop=StopReason.BUDGET)

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Every round that asks for something, exactly; fewer where k is reached."""
        K = setting.K
        if not setting.noisy.any() or self.init(setting).stop is not None:
            return super().plan(setting)
        sizes = [self._size(K, left) for left in range(K, 1, -1)]
        pulls = (np.diff(sizes, prepend=0) * np.arange(K, 1, -1)).tolist()
        steps = [N for N in pulls if N]
        return tuple(
            RoundForecast(r + 1, N if r == 0 or self.k is None else 0, N, math.nan)
            for r, N in enumerate(steps)
        )


@lru_cache(maxsize=64)
def _log_bar(K: int) -> float:
    """1/2 + sum_{i=2..K} 1/i (Audibert, Bubeck, Munos 2010)."""
    return 0.5 + math.fsum(1.0 / i for i in range(2, K + 1))


def _open_up_to(policy: Budgeted, state: RoundState, size: int) -> RoundState:
    """A round that brings every arm left to ``size`` pulls; judged at once if all have them."""
    counts = np.zeros(state.setting.K, dtype=np.int64)
    counts[state.active] = size
    opened = want_up_to(state, counts, risk=0.0, label=("", "equal"))
    return opened if policy.allocate(opened).any() else policy._advance(opened)  # noqa: SLF001


def _gaps(state: RoundState, mu: FloatArray) -> PsiGaps:
    """Gaps of the arms left, beside what is known exactly."""
    exact = arm_exact(state, state.active)
    return gaps_of(mu) if exact is None else gaps_beside_exact(mu, exact)


def _drop_one(state: RoundState, mu: FloatArray) -> tuple[RoundState, FloatArray]:
    """The easiest arm leaves: the most dominated one, or the optimal one of largest gap."""
    gaps, A = _gaps(state, mu), state.active
    outside = np.where(gaps.strict, -np.inf, gaps.star)
    inside = np.where(gaps.strict, gaps.gap, -np.inf)
    rejected = outside.max() >= inside.max() and not gaps.strict.all()
    i = int((outside if rejected else inside).argmax())
    status = REJECTED if rejected else ACCEPTED
    state = with_verdicts(state, A[i : i + 1], status, gap=gaps.gap[i : i + 1])
    return state, np.delete(mu, i, axis=0)
