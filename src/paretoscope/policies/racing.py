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
guaranteed with 'reference', which the GEGE paper's experiments ran.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.core.bonuses import ape_reference_bonus, ape_union_bonus, auer_bonus
from paretoscope.core.elimination import Widths
from paretoscope.policies.base import Guarantee
from paretoscope.policies.certified import check_choices
from paretoscope.policies.equal_rounds import EqualRounds
from paretoscope.policies.reading import Reading, noisy_part
from paretoscope.policies.rounds import RoundState

Bonus = Literal["auer", "union", "reference"]
_WHY = {
    "auer": "Hoeffding's inequality at every number of measurements of every candidate",
    "union": "an inequality for all pairs and all numbers of measurements at once",
    "reference": "the bonus of the published experiments has no union bound",
}


@dataclass(frozen=True)
class Racing(EqualRounds):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices("bonus", [self.bonus], ("auer", "union", "reference"))

    @property
    def guarantee(self) -> Guarantee:
        """Certified by the two bonuses that have a proof."""
        return Guarantee(self.bonus != "reference", _WHY[self.bonus])

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
        K, d, risk = state.setting.K, len(state.unit), self.risk_of(state.setting)
        if self.bonus == "auer":
            return auer_bonus(n_i, K, d, risk) + auer_bonus(n_j, K, d, risk)
        if self.bonus == "union":
            return ape_union_bonus(K, d, risk).of(n_i, n_j)
        return ape_reference_bonus(self.delta).of(n_i, n_j)
