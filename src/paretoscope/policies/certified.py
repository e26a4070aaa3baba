"""What all certified policies in rounds share: their noise, their stops, their certificate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from paretoscope.core.arrays import FloatArray, freeze
from paretoscope.core.elimination import Outcome, Widths, achieved_epsilon, refined
from paretoscope.errors import UsageError
from paretoscope.policies.base import Certificate, Guarantee, RoundForecast, StopReason
from paretoscope.policies.reading import Reading, noisy_part
from paretoscope.policies.rounds import (
    ACCEPTED,
    NEAR,
    RoundPolicy,
    RoundRecord,
    RoundState,
    apply_outcome,
    arm_exact,
    first_state,
    reopened,
    with_verdicts,
    without_infeasible,
)
from paretoscope.policies.scales import first_pulls, risk_left, unscaled, with_scales
from paretoscope.policies.setting import Noise, NoiseKind, Setting, resolve_epsilon
from paretoscope.policies.wording import bound_sentence, certificate


def check_risk(delta: float, epsilon: float) -> None:
    """Refuse a risk outside (0, 1) and a negative tolerance."""
    if not 0.0 < delta < 1.0:
        raise UsageError(f"delta = {delta}: the risk of a wrong label lies between 0 and 1")
    if not (epsilon >= 0.0 and np.isfinite(epsilon)):
        raise UsageError(f"epsilon = {epsilon}: a tolerance is finite and not negative")


def check_choices(name: str, given: Sequence[str], known: tuple[str, ...]) -> None:
    """Refuse no word at all, and words that mean nothing here."""
    if not given or not set(given) <= set(known):
        raise UsageError(f"{name} = {given!r}: choose from {known}")


@dataclass(frozen=True, kw_only=True)
class CertifiedRounds(RoundPolicy[RoundState]):
    """A policy in rounds whose every label is right with probability 1 - delta."""

    delta: float
    epsilon: float = 0.0
    noise: NoiseKind | None = None
    sigma: float | Literal["unknown"] | None = None

    # Verdicts taken back when a candidate that was compared cannot be measured after all: those of arms
    # that left and were certain to dominate nobody only as long as it was there. See `reopened`.
    _withdrawn: ClassVar[tuple[int, ...]] = ()

    @property
    def guarantee(self) -> Guarantee:
        """Certified unless a policy says otherwise."""
        return Guarantee(True, "every label is right with probability 1 - delta")

    def noise_of(self, setting: Setting) -> Noise:
        """The noise of the noisy metrics, as the policy was told or the setting says."""
        noise = setting.noise.only(setting.noisy)
        if self.sigma is not None:
            value = np.nan if self.sigma == "unknown" else float(self.sigma)
            noise = Noise(np.full_like(noise.sigma, value), noise.kind, noise.resolution)
        return noise if self.noise is None else replace(noise, kind=self.noise)

    def risk_of(self, setting: Setting) -> float:
        """What is left of delta where an upper limit of the noise is paid from it; see `scales`."""
        return risk_left(self.noise_of(setting), self.delta)

    def epsilon_of(self, setting: Setting) -> FloatArray:
        """Tolerance per metric."""
        return resolve_epsilon(setting, self.epsilon)

    def _without_infeasible(self, state: RoundState) -> RoundState:
        """Who cannot be measured leaves, who was judged by them comes back, until neither happens."""
        while True:
            after = reopened(state, without_infeasible(state), self._withdrawn)
            if after is state:
                return state
            state = after

    def _advance(self, state: RoundState) -> RoundState:
        """Judge the round if nothing is outstanding; whoever left as near stays only near."""
        after = super()._advance(state)
        if after.stop is StopReason.DECIDED and (after.status == NEAR).any():
            achieved = freeze(np.maximum(after.achieved, self._in_units(after, 1.0)))
            return replace(after, stop=StopReason.EPSILON, achieved=achieved)
        return after

    def _judge_exact(self, state: RoundState) -> RoundState:
        """All metrics are exact: plain dominance decides everything."""
        A = state.active
        outcome = refined(np.zeros((len(A), 0)), Widths(np.zeros(0)), arm_exact(state, A))
        state = apply_outcome(state, A, outcome)
        return replace(state, stop=StopReason.DECIDED, achieved=np.zeros(state.setting.d))

    def _noted(self, state: RoundState, bound: str, freedom: int = 0) -> RoundState:
        """The state with the open round written into its history."""
        record = self._record(state, state.accuracy, bound, freedom)
        return replace(state, history=(*state.history, record))

    @staticmethod
    def _record(state: RoundState, accuracy: float, bound: str, freedom: int = 0) -> RoundRecord:
        """The open round as its history has it."""
        active = state.active
        return RoundRecord(
            number=state.number,
            arms=len(active),
            rank=state.setting.model.least(active),
            pulls=state.got.total,
            accuracy=accuracy,
            risk=state.risk,
            bound=bound,
            design=state.label[1],
            freedom=freedom,
        )

    def _settle(self, state: RoundState, seen: Reading, outcome: Outcome) -> RoundState:
        """Keep the verdicts of a judgement; stop if all is decided, near enough, or out of reach."""
        state = apply_outcome(state, seen.arms, outcome)
        left = state.active
        epsilon = self.epsilon_of(state.setting)
        decided = len(left) == 0 or len(self._rivals(state)) == 1
        t = 0.0 if decided else self._tolerance(state, seen, outcome)
        state = replace(state, achieved=freeze(self._in_units(state, t)))
        if decided:
            state = with_verdicts(state, left, ACCEPTED)
            return replace(state, stop=StopReason.DECIDED)
        if epsilon.any() and t <= 1.0:
            state = with_verdicts(state, left, NEAR)
            return replace(state, stop=StopReason.EPSILON)
        return replace(state, stop=StopReason.MISFIT) if seen.hidden else state

    def _tolerance(self, state: RoundState, seen: Reading, outcome: Outcome) -> float:
        """The tolerance certified for what is kept: in multiples of epsilon, or of the unit.

        Without an epsilon the unit is the scale of the widths, up to a factor, and the judgement has
        said it already.
        """
        epsilon, kept = self.epsilon_of(state.setting), np.flatnonzero(~outcome.rejected)
        if not epsilon.any():
            short = float(-outcome.spare[kept].min(initial=0.0))
            return short * float((seen.widths.scale / state.unit).max()) if short > 0 else 0.0
        unit = epsilon[state.setting.noisy]
        exact = arm_exact(state, seen.arms[kept])
        return achieved_epsilon(seen.mu[kept], seen.widths.restricted(kept), unit, exact)

    def _in_units(self, state: RoundState, t: float) -> FloatArray:
        """The tolerance t as one number per metric."""
        scale = self.epsilon_of(state.setting)
        if not scale.any():
            scale = np.zeros(state.setting.d)
            scale[state.setting.noisy] = state.unit
        return np.where(scale > 0, t, 0.0) * np.where(scale > 0, scale, 1.0)

    def _certificate(self, state: RoundState) -> Certificate:
        return certificate(
            state,
            guarantee=self.guarantee,
            delta=self.delta,
            epsilon=self.epsilon_of(state.setting),
            noise=self.noise_of(state.setting),
            bound=bound_sentence(state.history),
        )


@dataclass(frozen=True, kw_only=True)
class AnytimeRounds(CertifiedRounds):
    """A policy whose widths hold after every measurement: one risk for all, noise of known scale.

    Where the scale is unknown, certified policies run with an upper limit of it: see `scales`.
    """

    features: ClassVar[bool] = False

    def _start(self, setting: Setting) -> RoundState:
        noise = self.noise_of(setting)
        if noise.unknowns.any() and not self.guarantee.certified:
            other = "GEGE" if self.features else "Race"
            raise UsageError(f"{type(self).__name__} needs a known sigma: {other} does not")
        self.epsilon_of(setting)
        state = first_state(setting if self.features else setting.unstructured)
        return replace(state, unit=freeze(noise.sigma)) if noise.sigma.size else state

    @abstractmethod
    def _judge_scaled(self, state: RoundState) -> RoundState:
        """`_judge`, once there are noisy metrics whose scales are known or bounded."""

    def _judge(self, state: RoundState) -> RoundState:
        setting = state.setting
        if not setting.noisy.any():
            return self._judge_exact(state)
        if unscaled(state):
            tally = noisy_part(setting, state.got)
            state = with_scales(state, self.noise_of(setting), tally, self.delta)
            if state.stop is not None or unscaled(state):
                return state if state.stop is not None else self._open(state)
        return self._judge_scaled(state)

    def _each(self, state: RoundState) -> int:
        """Pulls of every arm at first, or while a scale is still unknown."""
        K = state.setting.K
        return -(-first_pulls(self.noise_of(state.setting), K) // K) if unscaled(state) else 1

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """The first look; no later one can be told."""
        state = self.init(setting)
        asked = int(state.want.sum())
        if state.stop is not None:
            return ()
        return (RoundForecast(1, asked, asked, np.inf if setting.noisy.any() else 0.0),)
