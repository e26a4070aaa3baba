"""Tracking: the fewest measurements with a certificate; verdicts that hold at any time.

    measure the G-optimal design in growing batches until about START of the pulls ahead are made
    after every batch:
        signs certain by the ellipsoid on all data, at delta_e = 0.15 delta                     # `anytime`
        signs certain by the windows of later batches, at delta_w = 0.85 delta                  # `windows`
        verdicts from the signs, kept for ever                                                  # `signs`
        open a window if the pulls have tripled since the last one                              # `aims.price`
        next batch: the shares that let all open questions end together                        # `aims.shares`
                    clip(0.3 pulls left, 0.05 t, batch t), rounded by largest remainder
    stop when R, the arms that none certainly dominates, are all accepted (or near each other)

Both claims hold at all times whatever chose the pulls, so looking, stopping and rules of allocation cost
nothing; docs/anytime.md has the proof. Between batches the ellipsoid speaks for whatever has arrived.
An unknown sigma is replaced by an upper limit from the first batch                        # `scales`
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from paretoscope.core.arrays import IntArray, freeze
from paretoscope.errors import UsageError
from paretoscope.policies import windows
from paretoscope.policies.base import Certificate, RoundForecast, StopReason, Tally, Verdict
from paretoscope.policies.certified import CertifiedRounds, check_risk
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.pursuit import (
    TrackingState,
    achieved,
    comparable,
    judged,
    labelled,
    live_arms,
    next_batch,
    start,
    take_in,
    terms_of,
)
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import ACCEPTED, NEAR, RoundState, with_verdicts
from paretoscope.policies.scales import unscaled, with_scales
from paretoscope.policies.setting import NoiseKind, Setting
from paretoscope.policies.signs import Terms
from paretoscope.policies.tracking_budget import TrackingBudget
from paretoscope.policies.tracking_need import forecast, tolerance_need
from paretoscope.policies.wording import certificate

# delta_e / delta.
ELLIPSOID = 0.15
BOUND = "ellipsoid and e-values, at all times"


@dataclass(frozen=True)
class TrackingConfidence(CertifiedRounds):
    """Tracking for fixed confidence; see `Tracking` for the parameters."""

    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    noise: NoiseKind | None = None
    sigma: float | Literal["unknown"] | None = None
    batch: float = 0.25
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    share: ClassVar[float] = ELLIPSOID
    bound: ClassVar[str] = BOUND
    # accepted arms were compared with those that were left, not with what comes back
    _withdrawn = (ACCEPTED, NEAR)

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        if not self.batch > 0.0:
            raise UsageError(f"batch = {self.batch}: a positive share of the pulls so far")

    def _start(self, setting: Setting) -> TrackingState:
        noise = self.noise_of(setting)
        if setting.zeta is not None:
            raise UsageError("Tracking knows no misfit of the model: GEGE does")
        self.epsilon_of(setting)
        return start(setting, noise.sigma)

    def _terms(self, state: RoundState) -> Terms:
        """What the claims refer to."""
        epsilon = self.epsilon_of(state.setting)[state.setting.noisy]
        return terms_of(state, epsilon, self.share * self.risk_of(state.setting))

    def _rivals(self, state: RoundState) -> IntArray:
        """Accepted arms too: they may dominate others."""
        return live_arms(state)

    def _open(self, state: RoundState) -> RoundState:
        assert isinstance(state, TrackingState)
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        risk = self.risk_of(state.setting)
        opened = next_batch(self._terms(state), state, risk, self.batch)
        if opened is None:
            return replace(state, stop=StopReason.NOTHING)
        if state.spent + int(opened.want.sum()) > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened

    def _judge(self, state: RoundState) -> RoundState:
        assert isinstance(state, TrackingState)
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        terms = self._terms(state)
        state = replace(take_in(terms, state), history=self._noted(state, BOUND).history)
        state = replace(state, got=Tally.empty(*state.got.means.shape))
        if unscaled(state):
            state = with_scales(state, self.noise_of(state.setting), state.past, self.delta)
            if state.stop is not None or unscaled(state):
                return state if state.stop is not None else self._open(state)
            terms = self._terms(state)
        state = self._verdicts(terms, state)
        return state if state.stop is not None else self._open(state)

    def _verdicts(self, terms: Terms, state: TrackingState) -> TrackingState:
        """The verdicts that all data in ``past`` and the windows allow; a stop if they settle it."""
        risk = (1.0 - self.share) * self.risk_of(state.setting)
        sure = windows.certain(state.windows, state.sure, risk)
        found = judged(terms, state, sure)
        if found is None:
            return replace(state, sure=freeze(sure))
        state = labelled(replace(state, sure=freeze(found.sure)), found)
        if not found.settled:
            return state
        left = state.active
        state = with_verdicts(state, left, NEAR)
        stop = StopReason.EPSILON if (state.status == NEAR).any() else StopReason.DECIDED
        return replace(state, stop=stop)

    def verdict(self, state: RoundState) -> Verdict:
        """The verdicts so far; within a batch, with what the ellipsoid makes of its pulls so far."""
        assert isinstance(state, TrackingState)
        if state.stop is None and state.got.counts.any() and comparable(state):
            now = replace(state, past=state.past.merge(noisy_part(state.setting, state.got)))
            state = self._verdicts(self._terms(state), now)
        return super().verdict(state)

    def _certificate(self, state: RoundState) -> Certificate:
        assert isinstance(state, TrackingState)
        if comparable(state) and len(live_arms(state)) > 1:
            epsilon = self.epsilon_of(state.setting)
            t = achieved(self._terms(state), state)
            scale = epsilon if epsilon.any() else np.zeros(state.setting.d)
            if not epsilon.any():
                scale[state.setting.noisy] = state.unit
            state = replace(state, achieved=np.where(scale > 0, t * scale, 0.0))
        return certificate(
            state,
            guarantee=self.guarantee,
            delta=self.delta,
            epsilon=self.epsilon_of(state.setting),
            noise=self.noise_of(state.setting),
            bound=self.bound,
        )

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """The first batch, and what a tolerance may need after it; see `tracking_need`."""
        state = self.init(setting)
        if state.stop is not None:
            return ()
        asked = int(state.want.sum())
        if not comparable(state):
            return (RoundForecast(1, asked, asked, np.inf if setting.noisy.any() else 0.0),)
        need = tolerance_need(self._terms(state), setting, self.max_samples)
        return tuple(forecast(asked, need, self.batch, self.epsilon_of(setting)))


def Tracking(
    delta: float | None = None,
    epsilon: float = 0.0,
    *,
    budget: int | None = None,
    batch: float = 0.25,
    **more: Any,  # noqa: ANN401  (fields of TrackingConfidence)
) -> TrackingConfidence | TrackingBudget:
    """Adaptive batches: for a risk (``delta``), verdicts that hold at any time; or for a budget.

    Parameters
    ----------
    delta, epsilon : float
        Risk of any wrong label at any time, and tolerance of the metrics that have none of their own.
    budget : int
        Measurements to spend, instead of delta: the best guess, without certificate.
    batch : float
        Largest batch, as a share of the pulls made so far: 0.25 for the fewest measurements, 1 for
        about half as many batches, 4 for about five in all.
    sigma, noise : optional
        Scale and law of the noise, in place of what the setting says of them.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.

    Raises
    ------
    UsageError
        If neither or both of delta and budget are given, or a number makes no sense.

    Examples
    --------
    >>> Tracking(0.1).guarantee.certified, Tracking(budget=500).guarantee.certified
    (True, False)
    """
    if (delta is None) == (budget is None):
        raise UsageError("Tracking needs either delta, a risk, or budget, a number of measurements")
    if budget is not None:
        if more or epsilon:
            raise UsageError(f"Tracking(budget=...) does not take {['epsilon', *more]}")
        return TrackingBudget(budget, batch)
    assert delta is not None
    return TrackingConfidence(delta, epsilon, batch=batch, **more)
