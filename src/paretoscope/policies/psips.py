"""PSIPS: Pareto set identification with posterior samples; linear or free means, correlated metrics.

    start with h pulls of a G-optimal design; then at t pulls, S = front of the estimates
    posterior N(Theta_hat, Sigma x V^-1); M = ceil(ln(t/delta)/delta), c = 1 + ln(max(ln t, 1))/ln(1/delta)
    stop if the fronts of M draws, covariance times c, are all S                  # algorithm 1
    lambda = the first draw, covariance times 1/eta, whose front is not S (eta = 1/2; twice that if M fail)
    AdaHedge over the arms: gains |x_a'(Theta_hat - lambda)|^2 in the norm of Sigma^-1 # `hedge`
    pull from (1 - 1/t) w + (1/t) w_G                                             # alpha = 1

Kone, Jourdan, Kaufmann, "Pareto Set Identification With Posterior Sampling", AISTATS 2025; constants of its
experiments. ``growth`` = g draws a share g of all pulls at once (0: one at a time, as published).

stop='posterior', theirs, is a heuristic: for several linear metrics no c and M are known that keep the
risk at delta. stop='certificate' is certified at risk delta, at every time and for any sampling, by one
ellipsoid of all data (without features: by the bonus of every pair), looked at when the pulls have grown
by a fiftieth: labels once given are kept. `correlation` guides the sampling; no certificate uses it.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from paretoscope.core.arrays import IntArray
from paretoscope.core.elimination import refined
from paretoscope.errors import UsageError
from paretoscope.policies.base import Guarantee, StopReason
from paretoscope.policies.certified import AnytimeRounds, check_choices, check_risk
from paretoscope.policies.codec import plain_state
from paretoscope.policies.draws import build_draws, check_correlation
from paretoscope.policies.ellipsoid import read_anytime
from paretoscope.policies.equal_rounds import check_growth
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.hedge import Hedge, fresh_hedge
from paretoscope.policies.posterior import spanning_pulls
from paretoscope.policies.rounds import (
    ACCEPTED,
    ACTIVE,
    REJECTED,
    RoundState,
    arm_exact,
    extended,
    want_up_to,
    with_verdicts,
)
from paretoscope.policies.scales import first_pulls, unscaled
from paretoscope.policies.setting import Setting

# eta; how often M draws without another front double the covariance.
_ETA, _PATIENCE = 0.5, 12
# Share of more pulls between two looks at the certificate.
_LOOK = 0.02


@plain_state
@dataclass(frozen=True)
class HedgeState(RoundState):
    """State with the weights learnt, and the pulls at the last look at the certificate."""

    hedge: Hedge
    looked: int


@dataclass(frozen=True)
class PSIPS(AnytimeRounds):
    """PSIPS(delta, epsilon): measure what would tell the present front from the most credible other.

    Parameters
    ----------
    delta, epsilon : float
        Risk, and tolerance (of stop='certificate' only).
    stop : 'posterior' or 'certificate'
        The published stop, a heuristic; or the anytime certificate.
    correlation : (d, d) nested sequence or None
        Of the noise of the noisy metrics of one measurement; None = independent.
    growth : float
        Share of all pulls drawn at once; 0 = one at a time.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.
    """

    features: ClassVar[bool] = True
    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    stop: Literal["posterior", "certificate"] = "posterior"
    correlation: tuple[tuple[float, ...], ...] | None = None
    growth: float = 0.01
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("stop", [self.stop], ("posterior", "certificate"))
        check_growth(self.growth)
        if self.correlation is not None:
            rows = tuple(tuple(float(r) for r in row) for row in self.correlation)
            object.__setattr__(self, "correlation", rows)
            check_correlation(np.array(rows))

    @property
    def guarantee(self) -> Guarantee:
        """A guess by the published stop, certified by the other."""
        if self.stop == "certificate":
            return Guarantee(True, "every label is right with probability 1 - delta, at all times")
        return Guarantee(False, "no proof that posterior samples keep the risk at delta")

    def _start(self, setting: Setting) -> HedgeState:
        state = super()._start(setting)
        if self.correlation is not None and len(self.correlation) != len(state.unit):
            raise UsageError(
                f"correlation of {len(self.correlation)} metrics, not {len(state.unit)}"
            )
        if self.stop == "posterior" and self.epsilon_of(setting).any():
            raise UsageError("posterior samples know no epsilon: give PSIPS stop='certificate'")
        return extended(state, HedgeState, hedge=fresh_hedge(len(state.status)), looked=0)

    def _rivals(self, state: RoundState) -> IntArray:
        """Whoever is not rejected is compared to the end."""
        return np.flatnonzero(np.isin(state.status, (ACTIVE, ACCEPTED)))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        counts = self._pulls(state)
        opened = want_up_to(state, counts, risk=self.delta, label=("", "posterior sample"))
        asked = int(self.allocate(opened).sum())
        if state.spent + asked > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if asked else self._advance(opened)

    def _pulls(self, state: RoundState) -> IntArray:
        """Pulls in all of each arm: h at first, then some drawn from the mixture."""
        alive, model = self._rivals(state), state.setting.model
        if not state.got.counts.any() or unscaled(state):
            first = first_pulls(self.noise_of(state.setting), model.least(alive))
            return state.got.counts[model.first] + spanning_pulls(state, alive, first)
        assert isinstance(state, HedgeState)
        t = state.got.total
        plans = model.designs(alive, ("g",), state.barred)
        w = np.where(state.barred, 0.0, state.hedge.weights())
        flat = plans[0].weights if plans else w
        w = w / w.sum() * (1.0 - 1.0 / t) + flat / t if w.sum() > 0 else flat
        rng = np.random.default_rng([state.setting.seed, 1, state.number])
        more = rng.multinomial(self._more(t), w / w.sum())
        return np.asarray(state.got.counts[model.first] + more)

    def _more(self, t: int) -> int:
        """Pulls of the next round, and what a gain counts in it."""
        return max(1, int(self.growth * t))

    def _judge_scaled(self, state: RoundState) -> RoundState:
        if self.stop == "posterior":
            return self._sampled(replace(state, history=self._noted(state, "").history[-1:]))
        assert isinstance(state, HedgeState)
        if state.got.total < (1.0 + _LOOK) * state.looked:
            return self._sampled(state)
        after = self._certified(replace(state, looked=state.got.total))
        return self._sampled(after) if after.stop is None else after

    def _certified(self, state: RoundState) -> RoundState:
        """Labels by the anytime certificate."""
        A, sigma = self._rivals(state), np.asarray(state.unit)
        seen = read_anytime(state, A, sigma, self.risk_of(state.setting))
        if seen is None:
            return state
        outcome = refined(seen.mu, seen.widths, arm_exact(state, A), all_stay=True)
        state = replace(state, history=self._noted(state, seen.bound).history[-1:])
        return self._settle(state, seen, outcome)

    def _sampled(self, state: RoundState) -> RoundState:
        """Stop, or learn from a draw of another front and go on."""
        assert isinstance(state, HedgeState)
        alive, t = self._rivals(state), max(state.got.total, 2)
        draws, seed = build_draws(state, self.correlation), state.setting.seed
        front = draws.front(alive)
        most = math.ceil(math.log(t / self.delta) / self.delta)
        if self.stop == "posterior":
            c = 1.0 + math.log(max(math.log(t), 1.0)) / math.log(1.0 / self.delta)
            luck = np.random.default_rng([seed, 2, state.number])
            if not len(draws.other_fronts(c, most, luck, front)):
                after = with_verdicts(state, np.flatnonzero(front), ACCEPTED)
                after = with_verdicts(after, after.active, REJECTED)
                return replace(after, stop=StopReason.DECIDED)
        luck = np.random.default_rng([seed, 3, state.number])
        scales = 2.0 ** np.arange(_PATIENCE) / _ETA
        found = (draws.other_fronts(scale, most, luck, front) for scale in scales)
        others = next((means for means in found if len(means)), None)
        if others is not None:
            gains = draws.gains(others[: self._more(t)]) * self._more(t)
            gains[state.barred] = 0.0
            state = replace(state, hedge=state.hedge.after(gains))
        return self._open(state)
