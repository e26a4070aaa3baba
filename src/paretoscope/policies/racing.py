"""Racing: every arm left is pulled once more, and leaves when its bonus allows (Auer et al. 2016).

    b_ij = beta_i + beta_j, beta_i = sigma sqrt(2 ln(4 K d n_i^2 / delta) / n_i)     # `auer_bonus`
        or one of APE's bonuses of a pair                                           # `bonuses`
    pull each arm of A once
    A1 = {i in A: m(i,j) <= b_ij for all j in A}                                    # others rejected
    P1 = {i in A1: M_eps(i,j) >= b_ij for all other j in A1}
         M_eps(i,j) = max(0, max_c [mu_i(c) + eps_c - mu_j(c)])
    P2 = {j in P1: no i in A1 without P1 with M_eps(i,j) <= b_ij}                   # accepted
    A = A1 without P2, until it is empty

Auer, Chiang, Ortner, Drugan, "Pareto Front Identification from Stochastic Bandit Feedback", AISTATS
2016. Their constants hold at every n at once, so that looking less often is right as well: with
``growth`` = g each look comes after a share g more pulls (0: after every single one, as published).
The default costs about two in a hundred pulls more, and makes thousands of looks hundreds.

Guaranteed with 'auer' and 'union': every label is right with probability 1 - delta. With a tolerance
all that is kept is called near, because whoever left may exceed it by up to epsilon. Nothing is
guaranteed with 'reference', which the GEGE paper's experiments ran. sigma must be known.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.core.bonuses import ape_reference_bonus, ape_union_bonus, auer_bonus
from paretoscope.core.elimination import Widths, certain_pairs, refined
from paretoscope.errors import UsageError
from paretoscope.policies.base import Guarantee, StopReason
from paretoscope.policies.certified import AnytimeRounds, check_choices, check_risk
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.reading import Reading, noisy_part
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

Bonus = Literal["auer", "union", "reference"]
_WHY = {
    "auer": "Hoeffding's inequality at every number of measurements of every candidate",
    "union": "an inequality for all pairs and all numbers of measurements at once",
    "reference": "the bonus of the published experiments has no union bound",
}


@dataclass(frozen=True)
class Racing(AnytimeRounds):
    """Racing(delta, epsilon): eliminate whenever the bonuses separate, features ignored.

    Parameters
    ----------
    delta, epsilon : float
        Risk of any wrong label, and tolerance of the metrics that have none of their own.
    bonus : 'auer', 'union' or 'reference'
        Whose widths; the last certifies nothing.
    growth : float
        Share of more pulls between two looks; 0 = one more of each candidate.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.
    """

    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    bonus: Bonus = "auer"
    growth: float = 0.05
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    _withdrawn = (ACCEPTED, NEAR)

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("bonus", [self.bonus], ("auer", "union", "reference"))
        if not 0.0 <= self.growth <= 1.0:
            raise UsageError(f"growth = {self.growth}: a share between 0 and 1 of the pulls so far")

    @property
    def guarantee(self) -> Guarantee:
        """Certified by the two bonuses that have a proof."""
        return Guarantee(self.bonus != "reference", _WHY[self.bonus])

    def _rivals(self, state: RoundState) -> IntArray:
        """Whoever left as near may still dominate."""
        return np.flatnonzero((state.status == ACTIVE) | (state.status == NEAR))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        before = int(state.got.counts[state.active].max())
        counts = np.zeros(state.setting.K, dtype=np.int64)
        counts[state.active] = before + max(1, int(self.growth * before))
        opened = want_up_to(state, counts, risk=self.delta, label=("", "equal"))
        asked = int(self.allocate(opened).sum())
        if state.spent + asked > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if asked else self._advance(opened)

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        seen = self._read(state)
        state = replace(state, accuracy=seen.accuracy)
        state = replace(state, history=self._noted(state, seen.bound).history[-1:])
        if self.epsilon_of(state.setting).any():
            state = self._near(state, seen)
        else:
            outcome = refined(seen.mu, seen.widths, arm_exact(state, seen.arms))
            state = self._settle(state, seen, outcome)
        return state if state.stop is not None else self._open(state)

    def _read(self, state: RoundState) -> Reading:
        """Means of all pulls so far, with the bonuses of the counts there are."""
        A, sigma = state.active, np.asarray(state.unit)
        tally = noisy_part(state.setting, state.got)
        n = tally.counts[A].astype(np.float64)
        widest = float(self._width(state, n.min(), n.min()))
        widths = Widths(sigma, uniform=widest)
        if n.min() < n.max():
            table = self._width(state, n[:, None], n)
            widths = Widths(sigma, pair=lambda rows: table[rows])
        bound = f"bonus '{self.bonus}'"
        return Reading(A, tally.means[A], widths, bound, sigma, sigma, 2.0 * widest)

    def _width(
        self, state: RoundState, n_i: FloatArray | float, n_j: FloatArray | float
    ) -> FloatArray:
        """b_ij in units of sigma."""
        K, d = state.setting.K, len(state.unit)
        if self.bonus == "auer":
            return auer_bonus(n_i, K, d, self.delta) + auer_bonus(n_j, K, d, self.delta)
        if self.bonus == "union":
            return ape_union_bonus(K, d, self.delta).of(n_i, n_j)
        return ape_reference_bonus(self.delta).of(n_i, n_j)

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
