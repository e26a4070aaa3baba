"""GEGE for fixed confidence: G-optimal design, least squares, elimination by gaps, in rounds.

    r = 1, 2, ... while more than one arm is active
        eps_r, delta_r from the schedule                                   # section 4.2, `schedule`
        pull the integer design of A with the smallest certified N         # algorithm 1
        Theta_hat by least squares on these pulls alone                    # eq. 3
        reject, accept by the rule at eta = eps_r / 2                      # `elimination`
        stop at epsilon: every arm left is certainly within it             # remark after theorem 4

Kone, Kaufmann, Richert, "Bandit Pareto Set Identification in a Multi-Output Linear Model", AISTATS
2025. Where it differs: the default schedule 'proven' sizes each round by an exact bound on what can
go wrong with the integer design really pulled (events (a) and (b) in `confidence`), so P(error) <=
delta with far fewer pulls; 'paper' keeps the printed constants, which prove 4 delta; 'corrected'
repairs them; 'authors' is what the published code runs, without sigma and without union bound.

Guaranteed with 'proven' and 'corrected': with probability 1 - delta every label is right, at all
rounds at once. Each round uses fresh pulls, so that its design, chosen from the past, is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from paretoscope.core.arrays import FloatArray, freeze
from paretoscope.core.elimination import Widths, achieved_epsilon, paper, refined
from paretoscope.core.schedule import Schedule
from paretoscope.core.spread import BOUNDS, Bound
from paretoscope.errors import UsageError
from paretoscope.policies import sizing
from paretoscope.policies.base import (
    Certificate,
    Guarantee,
    Noise,
    NoiseKind,
    RoundForecast,
    Setting,
    StopReason,
    resolve_epsilon,
)
from paretoscope.policies.model import DesignKind
from paretoscope.policies.rounds import (
    ACCEPTED,
    NEAR,
    RoundPolicy,
    RoundRecord,
    RoundState,
    apply_outcome,
    arm_exact,
    first_state,
    want_round,
    with_verdicts,
)
from paretoscope.policies.wording import certificate

# Ties never separate: a study that has no epsilon ends here.
_MOST_SAMPLES = 10**9


@dataclass(frozen=True)
class GEGEConfidence(RoundPolicy[RoundState]):
    """GEGE for fixed confidence; see `GEGE` for the parameters."""

    delta: float
    epsilon: float = 0.0
    schedule: Schedule = "proven"
    rule: Literal["refined", "paper"] = "refined"
    noise: NoiseKind | None = None
    sigma: float | Literal["unknown"] | None = None
    ratio: float = 2.0
    first_accuracy: float | Literal["auto"] = "auto"
    designs: tuple[DesignKind, ...] = ("g", "xy", "xy-all")
    bounds: tuple[Bound, ...] = BOUNDS
    scale_from: Literal["residuals", "replicates"] = "residuals"
    max_rounds: int | None = None
    max_samples: int = _MOST_SAMPLES

    @property
    def guarantee(self) -> Guarantee:
        """Certified, unless the schedule has no proof at this delta."""
        why = {
            "proven": "every round is sized by an exact bound on its own integer design",
            "corrected": "the paper's schedule with the union over arms, sides and objectives",
            "paper": "the printed constants prove an error of 4 delta, not delta",
            "authors": "the published code's round sizes contain neither sigma nor a union bound",
        }
        return Guarantee(self.schedule in {"proven", "corrected"}, why[self.schedule])

    def noise_of(self, setting: Setting) -> Noise:
        """The noise of the noisy metrics, as the policy was told or the setting says."""
        noise = setting.noise.only(setting.noisy)
        if self.sigma is not None:
            value = np.nan if self.sigma == "unknown" else float(self.sigma)
            noise = Noise(np.full_like(noise.sigma, value), noise.kind, noise.resolution)
        return noise if self.noise is None else replace(noise, kind=self.noise)

    # ------------------------------------------------------------ rounds

    def _start(self, setting: Setting) -> RoundState:
        noise = self.noise_of(setting)
        if self.schedule != "proven" and noise.unknowns.any():
            raise UsageError(f"schedule {self.schedule!r} needs a known sigma: 'proven' does not")
        if setting.zeta is not None and (self.schedule != "proven" or self.rule != "refined"):
            raise UsageError("a misfit zeta needs schedule 'proven' and rule 'refined'")
        resolve_epsilon(setting, self.epsilon)
        state = first_state(setting)
        if not noise.unknowns.any():
            state = replace(state, unit=freeze(noise.sigma / noise.sigma.max(initial=1e-300)))
        return state

    def _open(self, state: RoundState) -> RoundState:
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        setting = state.setting
        if not setting.noisy.any():
            return self._measure_exact(state)
        need = sizing.size_round(self, state)
        if need is None:
            return replace(state, stop=StopReason.NOTHING)
        if state.spent + int(need.counts.sum()) > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return want_round(
            state,
            need.counts,
            accuracy=need.accuracy,
            risk=need.risk,
            label=(need.bound, need.design),
        )

    def _measure_exact(self, state: RoundState) -> RoundState:
        """No noise anywhere: measure what is not known, once."""
        none = np.zeros(len(state.status), dtype=np.int64)
        state = want_round(state, none, accuracy=0.0, risk=0.0, label=("exact", "once each"))
        return state if state.want.any() else self._advance(state)

    def _judge(self, state: RoundState) -> RoundState:
        A = state.active
        exact = arm_exact(state, A)
        if not state.setting.noisy.any():
            outcome = refined(np.zeros((len(A), 0)), Widths(np.zeros(0)), exact)
            state = apply_outcome(state, A, outcome)
            return replace(state, stop=StopReason.DECIDED, achieved=np.zeros(state.setting.d))
        seen = sizing.read_round(self, state)
        if seen is None:  # what was given up left too little to compare the arms with
            return self._open(replace(state, history=(*state.history, self._record(state, "none"))))
        if seen.silent:
            return replace(state, stop=StopReason.SILENT)
        state = replace(state, unit=seen.unit, sigma_hat=seen.sigma_hat, accuracy=seen.accuracy)
        state = replace(state, history=(*state.history, self._record(state, seen.bound)))
        if self.rule == "paper":
            outcome = paper(seen.mu, seen.widths.scale, float(seen.widths.uniform or 0.0))
        else:
            outcome = refined(seen.mu, seen.widths, exact)
        state = apply_outcome(state, A, outcome)
        return self._conclude(state, seen, outcome.rejected, outcome.accepted)

    def _conclude(
        self,
        state: RoundState,
        seen: sizing.Reading,
        rejected: np.ndarray,
        accepted: np.ndarray,
    ) -> RoundState:
        """Stop when all is decided, near enough, or out of reach; else the next round."""
        epsilon = resolve_epsilon(state.setting, self.epsilon)
        kept = np.flatnonzero(~rejected)
        left = np.flatnonzero(~(rejected | accepted))
        exact = arm_exact(state, seen.arms)
        unit = epsilon[state.setting.noisy] if epsilon.any() else state.unit
        t = 0.0
        if len(left) > 1:
            some = None if exact is None else exact[kept]
            t = achieved_epsilon(seen.mu[kept], seen.widths.restricted(kept), unit, some)
        state = replace(state, achieved=freeze(self._in_units(state, t, epsilon)))
        if len(left) <= 1:
            state = with_verdicts(state, seen.arms[left], ACCEPTED)
            return replace(state, stop=StopReason.DECIDED)
        if epsilon.any() and t <= 1.0:
            state = with_verdicts(state, seen.arms[left], NEAR)
            return replace(state, stop=StopReason.EPSILON)
        if seen.hidden:
            return replace(state, stop=StopReason.MISFIT)
        return self._open(state)

    def _in_units(self, state: RoundState, t: float, epsilon: FloatArray) -> FloatArray:
        """The tolerance t as one number per metric."""
        if epsilon.any():
            return t * epsilon
        achieved = np.zeros(state.setting.d)
        achieved[state.setting.noisy] = t * state.unit
        return achieved

    def _record(self, state: RoundState, bound: str) -> RoundRecord:
        rank = state.setting.model.least(state.active)
        return RoundRecord(
            state.number,
            len(state.active),
            rank,
            state.got.total,
            state.accuracy,
            state.risk,
            bound,
            state.label[1],
        )

    # ------------------------------------------------------------ what is known

    def _certificate(self, state: RoundState) -> Certificate:
        return certificate(
            state,
            guarantee=self.guarantee,
            delta=self.delta,
            epsilon=resolve_epsilon(state.setting, self.epsilon),
            noise=self.noise_of(state.setting),
            bound=", ".join(dict.fromkeys(record.bound for record in state.history)),
            linear=state.setting.model.linear,
        )

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Round 1 exactly; a later round has at most the pulls it would need if no arm had left."""
        return sizing.forecast(self, setting)
