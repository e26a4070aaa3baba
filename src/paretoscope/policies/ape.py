"""APE: adaptive Pareto exploration, one measurement at a time, where the front is least certain.

    pull every arm once; then, with b_ij a bonus of the pair                     # `bonuses`
    g_i = max_j [m(i,j) - b_ij],  h_i = min_j [M_eps(i,j) - b_ij],  j != i
    stop when max(g_i, h_i) >= 0 for every i                                     # Z1, Z2 >= 0
    b_t = argmax_{i: h_i <= 0} min_j [M(i,j) + b_ij]                             # eq. 3
    c_t = argmin_j [M_eps(b_t,j) - b_ij]                                         # eq. 4
    pull the one of b_t and c_t with fewer pulls so far
    answer {i: g_i < 0};  g_i >= 0: rejected;  h_i >= 0 with eps = 0: accepted;  the rest: near

Kone, Kaufmann, Richert, "Adaptive Algorithms for Relaxed Pareto Set Identification", NeurIPS 2023; eps is
added inside M. As an arm of the empirical front has g_i < 0, one test for all arms is both of theirs.

Guaranteed with 'union' and no structure: every label is right with probability 1 - delta,
at every time at once, so that ``growth`` = g may add a share g of an arm's pulls at once (0: one at a
time, as published; the default costs a few in a hundred pulls more). Nothing is guaranteed with
'reference', the bonus that the GEGE paper's experiments ran.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from paretoscope.core.arrays import freeze
from paretoscope.core.bonuses import PairBonus, ape_reference_bonus, ape_union_bonus
from paretoscope.core.elimination import Widths, refined
from paretoscope.errors import UsageError
from paretoscope.policies.base import Guarantee, StopReason, Tally, Verdict
from paretoscope.policies.certified import AnytimeRounds, check_choices, check_risk
from paretoscope.policies.equal_rounds import check_growth
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.pairs import PairTables, Shelf, build, with_one
from paretoscope.policies.reading import Reading, noisy_part
from paretoscope.policies.rounds import (
    NEAR,
    RoundState,
    apply_outcome,
    arm_exact,
    want_up_to,
    with_verdicts,
)
from paretoscope.policies.scales import unscaled
from paretoscope.policies.setting import Setting

# Candidates whose table of all pairs is held in memory: 400 MB.
MOST_ARMS = 5000
_WHY = {
    "union": "an inequality for all pairs and all numbers of measurements at once",
    "reference": "the bonus of the published experiments has no union bound",
}


@dataclass(frozen=True)
class APE(AnytimeRounds):
    """APE(delta, epsilon): measure where the front is least certain, features ignored.

    Parameters
    ----------
    delta, epsilon : float
        Risk of any wrong label, and tolerance of the metrics that have none of their own.
    bonus : 'union' or 'reference'
        Whose widths; the second certifies nothing.
    growth : float
        Share of its measurements that a candidate gets at once; 0 = one at a time.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.
    """

    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    bonus: Literal["union", "reference"] = "union"
    growth: float = 0.05
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("bonus", [self.bonus], ("union", "reference"))
        check_growth(self.growth)

    @property
    def guarantee(self) -> Guarantee:
        """Certified by the bonus that has a proof."""
        return Guarantee(self.bonus == "union", _WHY[self.bonus])

    def _start(self, setting: Setting) -> RoundState:
        if setting.K > MOST_ARMS:
            raise UsageError(
                f"APE compares all pairs: {setting.K} candidates are too many, Race runs"
            )
        return super()._start(setting)

    def _open(self, state: RoundState) -> RoundState:
        """Every arm once; more often while the noise is unknown."""
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        each = np.full(state.setting.K, (state.number + 1) * self._each(state))
        opened = want_up_to(state, each, risk=self.delta, label=("", "each once"))
        if state.spent + int(self.allocate(opened).sum()) > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened

    def observe(self, state: RoundState, tally: Tally) -> RoundState:
        """Add some of the pulls asked for; the usual case, all pulls of one arm, has a short way."""
        at = np.flatnonzero(tally.counts)
        whole = len(at) == 1 and (tally.counts == state.want - state.got.counts).all()
        whole = whole and not state.forgone.any()  # somebody may have no pull at all
        if not whole or state.stop is not None or state.gone.any() or state.exact.shape[1]:
            return super().observe(state, tally)
        if not np.isfinite(tally.means[at]).all():
            return super().observe(state, tally)
        a, tables = int(at[0]), self._shelf(state).take(state.got.means, state.status)
        got = with_one(state.got, tally, slice(a, a + 1), state.want)
        if tables is not None:
            tables.move(a, got.means[a] / state.unit, float(got.counts[a]))
            self._shelf(state).put(got.means, state.status, tables)
        return self._judge(replace(state, got=got, told=freeze(state.told + tally.counts)))

    def _judge_scaled(self, state: RoundState) -> RoundState:
        """Stop, or ask for more of one of the two arms in question."""
        tables = self._tables(state)
        after = self._next(state, tables)
        self._shelf(state).put(state.got.means, state.status, tables)
        return after

    def _next(self, state: RoundState, tables: PairTables) -> RoundState:
        """The same, given the tables."""
        if tables.settled:
            return self._labelled(state, tables, StopReason.DECIDED)
        counts = state.got.counts
        b, c = tables.contest()
        a = b if counts[b] <= counts[c] else c
        more = max(1, int(self.growth * counts[a]))
        if state.spent + more > self.max_samples:
            return self._labelled(state, tables, StopReason.SAMPLES)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return self._labelled(state, tables, StopReason.ROUNDS)
        want = counts.copy()
        want[a] += more
        none = freeze(np.zeros_like(want))
        return replace(
            state, number=state.number + 1, want=freeze(want), forgone=none, label=("", "one arm")
        )

    def _shelf(self, state: RoundState) -> Shelf:
        """Where the tables of this policy's runs are kept."""
        return state.setting.model.memo(self, Shelf)

    def _tables(self, state: RoundState) -> PairTables:
        """The tables of a state: from the shelf, or built."""
        kept = self._shelf(state).take(state.got.means, state.status)
        if kept is not None:
            return kept
        return build(state, self._bonus(state), self.epsilon_of(state.setting))

    def _bonus(self, state: RoundState) -> PairBonus:
        """b_ij in units of sigma."""
        if self.bonus == "reference":
            return ape_reference_bonus(self.delta)
        return ape_union_bonus(state.setting.K, len(state.unit), self.risk_of(state.setting))

    def _labelled(
        self, state: RoundState, tables: PairTables, stop: StopReason | None
    ) -> RoundState:
        """The state with all that is certain at present written down."""
        A, sigma = state.active, np.asarray(state.unit)
        mu = noisy_part(state.setting, state.got).means[A]
        widths = Widths(sigma, pair=lambda rows: tables.widths(A[rows])[:, A])
        fewest = np.argsort(tables.n[A])[:2]
        widest = float(tables.widths(A[fewest])[0, A[fewest[1]]])
        seen = Reading(A, mu, widths, f"bonus '{self.bonus}'", sigma, sigma, 2.0 * widest)
        outcome = refined(mu, widths, arm_exact(state, A), all_stay=True)
        state = self._noted(replace(state, accuracy=seen.accuracy), seen.bound)
        state = apply_outcome(state, A, outcome)
        t = self._tolerance(state, seen, outcome)
        left = state.active
        if self.epsilon_of(state.setting).any():
            near = left if stop is StopReason.DECIDED else left[tables.h[left] >= 0.0]
            state = with_verdicts(state, near, NEAR)
            if stop is StopReason.DECIDED and len(near):
                stop, t = StopReason.EPSILON, min(t, 1.0)
        return replace(state, stop=stop, achieved=freeze(self._in_units(state, t)))

    def verdict(self, state: RoundState) -> Verdict:
        """What is certain at present: the bonuses hold at all times."""
        if state.stop is None and state.number > 1 and not unscaled(state):
            tables = self._tables(state)
            state = self._labelled(state, tables, None)
            self._shelf(state).put(state.got.means, state.status, tables)
        return super().verdict(state)
