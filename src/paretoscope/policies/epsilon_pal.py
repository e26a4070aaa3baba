"""Epsilon-PAL: boxes of possible means that only shrink; the largest one is measured.

    Q_i = [mu_i -+ sqrt(b_t) x_i' V^-1 x_i ^ (1/2)] per metric, R_i = R_i of before and Q_i    # eq. 6
    discard i if some j of the pessimistic front has max R_i <= min R_j + epsilon         # eq. 8
    keep i if no other arm left has min R_i + epsilon <= max R_j (and < somewhere)        # eq. 9
    start with h pulls of a G-optimal design; then
    pull the arm, kept or undecided, of the longest diagonal of R                         # eq. 10
    until every arm is kept or discarded

Zuluaga, Krause, Pueschel, "e-PAL: An Active Learning Approach to the Multi-Objective Optimization
Problem", JMLR 2016, with a linear kernel (ridge 1e-6); b_t as in `pal`, t counting pulls. ``growth`` = g
pulls the arm again for a share g of its own pulls (0: once, as published).

Nothing is certified: b_t is right on average over means drawn from the prior only ('theory') or has no
proof ('reference'). What is kept covers the front up to epsilon: an optimal arm may be discarded when
another one is as good up to epsilon everywhere, so that "rejected" means covered, not dominated.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.dominance import front_of
from paretoscope.policies.base import Guarantee, StopReason
from paretoscope.policies.certified import AnytimeRounds, check_choices, check_risk
from paretoscope.policies.codec import plain_state
from paretoscope.policies.equal_rounds import check_growth
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.pal import RIDGE, kernel_width, with_working_unit
from paretoscope.policies.posterior import posterior, spanning_pulls
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import (
    ACCEPTED,
    ACTIVE,
    NEAR,
    REJECTED,
    RoundState,
    extended,
    want_up_to,
    with_verdicts,
)
from paretoscope.policies.setting import Setting


@plain_state
@dataclass(frozen=True)
class BoxState(RoundState):
    """State with the boxes: ``low``, ``high`` (arms, noisy metrics) in working units."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class EpsilonPAL(AnytimeRounds):
    """EpsilonPAL(delta, epsilon): measure the candidate whose means are the least known.

    Parameters
    ----------
    delta, epsilon : float
        Risk, and tolerance of the metrics that have none of their own.
    bonus : 'theory' or 'reference'
        The published widths, or those of the GEGE paper's experiments.
    growth : float
        Share of its measurements that a candidate gets at once; 0 = one at a time.
    max_rounds, max_samples : int
        Caps.
    """

    features: ClassVar[bool] = True
    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    bonus: Literal["theory", "reference"] = "theory"
    growth: float = 0.05
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("bonus", [self.bonus], ("theory", "reference"))
        check_growth(self.growth)

    @property
    def guarantee(self) -> Guarantee:
        """A guess, and a cover instead of labels."""
        return Guarantee(False, "what is kept covers the front within epsilon, on average at best")

    def _start(self, setting: Setting) -> BoxState:
        state = with_working_unit(super()._start(setting))
        box = np.full((len(state.status), int(setting.noisy.sum())), np.inf)
        return extended(state, BoxState, low=freeze(-box), high=freeze(box))

    def _rivals(self, state: RoundState) -> IntArray:
        """Whoever is kept is compared to the end."""
        return np.flatnonzero(np.isin(state.status, (ACTIVE, ACCEPTED, NEAR)))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        opened = want_up_to(state, self._sizes(state), risk=self.delta, label=("", "largest box"))
        if state.spent + int(self.allocate(opened).sum()) > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if self.allocate(opened).any() else self._advance(opened)

    def _sizes(self, state: RoundState) -> IntArray:
        """Pulls in all of each arm: h at first, of a G-optimal design, then more of one."""
        alive, model = self._rivals(state), state.setting.model
        if not state.number:
            return spanning_pulls(state, alive)
        assert isinstance(state, BoxState)
        size = np.linalg.norm(state.high - state.low, axis=1)
        counts, a = state.got.counts[model.first].copy(), int(alive[size[alive].argmax()])
        counts[a] += max(1, int(self.growth * counts[a]))
        return counts

    def _judge_scaled(self, state: RoundState) -> RoundState:
        assert isinstance(state, BoxState)
        state = self._shrunk(state)
        state = replace(state, history=self._noted(state, f"widths '{self.bonus}'").history[-1:])
        state = self._classified(state)
        if len(state.active):
            return self._open(state)
        near = bool((state.status == NEAR).any())
        stop = StopReason.EPSILON if near else StopReason.DECIDED
        return replace(state, stop=stop, achieved=freeze(self._in_units(state, float(near))))

    def _shrunk(self, state: BoxState) -> BoxState:
        """The boxes after the pulls of this round; never empty, however unlikely the pulls."""
        setting, unit = state.setting, np.asarray(state.unit)
        found = posterior(setting.model, noisy_part(setting, state.got), RIDGE)
        top = float(self.noise_of(setting).sigma.max())
        t, K, d = max(state.got.total, 1), setting.K, len(unit)
        w = (kernel_width(self.bonus, t, K, d, self.delta, top) * found.s)[:, None]
        mu = found.mu / unit
        low, high = np.maximum(state.low, mu - w), np.minimum(state.high, mu + w)
        return replace(state, low=freeze(low), high=freeze(np.maximum(low, high)))

    def _classified(self, state: BoxState) -> BoxState:
        """Discard, then keep."""
        eps = self.epsilon_of(state.setting)
        exact = state.exact[state.setting.model.first]
        slack = np.concatenate([eps[state.setting.noisy] / state.unit, np.zeros(exact.shape[1])])
        low = np.concatenate([state.low, np.where(np.isnan(exact), -np.inf, exact)], axis=1)
        high = np.concatenate([state.high, np.where(np.isnan(exact), np.inf, exact)], axis=1)
        alive, U = self._rivals(state), state.active
        best = alive[front_of(low[alive])]
        covered = (high[U][:, None] <= low[best] + slack).all(axis=2) & (U[:, None] != best)
        out = covered.any(axis=1) & ~np.isin(U, best)
        by = best[covered[out].argmax(axis=1)]
        state = with_verdicts(state, U[out], REJECTED, by=by)
        U, alive = state.active, self._rivals(state)
        worse = low[U][:, None] + slack
        beaten = (worse <= high[alive]).all(axis=2) & (worse < high[alive]).any(axis=2)
        beaten &= (U[:, None] != alive) & ~self._equals(state, exact, U, alive)
        return with_verdicts(state, U[~beaten.any(axis=1)], NEAR if eps.any() else ACCEPTED)

    @staticmethod
    def _equals(state: BoxState, exact: FloatArray, U: IntArray, alive: IntArray) -> BoolArray:
        """Pairs of equal features and equal exact metrics: neither dominates the other."""
        twin = state.setting.model.twin
        same = twin[U][:, None] == twin[alive]
        return np.asarray(same & (exact[U][:, None] == exact[alive]).all(axis=2))
