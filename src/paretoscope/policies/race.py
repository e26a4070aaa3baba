"""Race: candidates without structure, measured side by side; whoever is settled leaves.

    looks l = 1, 2, ... of sizes n_1 < n_2 < ... and risks delta_l that sum to delta
        bring every candidate left to n_l measurements, all data pooled
        z_l = quantile at delta_l / ((K-1) (K+d-2)), K = all that ever raced    # `event_count`
        reject by the refined rule                                               # `elimination`
        leave together, as accepted or near: certainly optimal or within epsilon,
            and certainly not dominating anyone who stays                        # `leave_together`

    noise known        normal quantiles, width z sigma sqrt(2 / n)
    'candidates'       Student's at n - 1 degrees of freedom, width z sqrt((s_i^2 + s_j^2) / n)
    'pooled'           Student's, width z s sqrt(2 / n), s from look 1 of all candidates ONLY

Guaranteed: with probability 1 - delta every label of every look is right, for Gaussian noise (of
known scale: sub-Gaussian as well); proof in docs/guarantee.md. Pooling is valid because the mean of a
candidate at n_l exists whether or not the race still asks for it: no event depends on who left.
'candidates' allows each its own noise (Mickey, Brown 1966, on the Behrens-Fisher statistic).
'pooled' needs one scale for all; a candidate three times as noisy breaks it. Where every metric has
an epsilon and the scale is known, or estimated at look 1, the sizes lead to the one at which no
pair can be open any more; they depend on that scale alone (Stein 1945).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from paretoscope.core.arrays import freeze
from paretoscope.core.elimination import certain_pairs, leave_together, refined
from paretoscope.errors import UsageError
from paretoscope.policies import looks, reading
from paretoscope.policies.base import Certificate, RoundForecast, StopReason, Tally
from paretoscope.policies.certified import CertifiedRounds, check_choices, check_risk
from paretoscope.policies.gege import MOST_SAMPLES
from paretoscope.policies.reading import Reading
from paretoscope.policies.rounds import (
    ACCEPTED,
    NEAR,
    RoundState,
    apply_outcome,
    arm_exact,
    first_state,
    joined,
    want_up_to,
    with_verdicts,
)
from paretoscope.policies.setting import Setting
from paretoscope.policies.wording import bound_sentence, certificate

# Arms kept of which all pairs are looked at: two tables of 64 MB.
_PAIRED = 8192


@dataclass(frozen=True)
class Race(CertifiedRounds):
    """Race(delta, epsilon): certified labels for candidates without structure, features ignored.

    Parameters
    ----------
    delta, epsilon : float
        Risk of any wrong label, and tolerance of the metrics that have none of their own.
    noise_from : 'candidates' or 'pooled'
        Unknown noise: a scale for each candidate, or one for all (cheaper, and wrong if it differs).
    first : int or 'auto'
        Measurements of each candidate at the first look.
    ratio : float
        Growth of the looks where no last size can be told.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.
    """

    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    noise_from: Literal["candidates", "pooled"] = "candidates"
    first: int | Literal["auto"] = "auto"
    ratio: float = 1.35
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    _withdrawn = (ACCEPTED, NEAR)

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("noise_from", [self.noise_from], ("candidates", "pooled"))
        if not self.ratio > 1.0:
            raise UsageError(f"ratio = {self.ratio}: looks must grow, so give more than 1")
        if self.first != "auto" and self.first < 1:
            raise UsageError(f"first = {self.first}: 'auto', or at least 1 measurement of each")

    def own_noise(self, setting: Setting) -> bool:
        """Whether each candidate has a scale of its own to estimate."""
        return self.noise_from == "candidates" and bool(self.noise_of(setting).unknowns.any())

    def _start(self, setting: Setting) -> RoundState:
        state, noise = first_state(setting.unstructured), self.noise_of(setting)
        self.epsilon_of(setting)
        if not noise.unknowns.any() and noise.sigma.size:
            state = replace(state, unit=freeze(noise.sigma / noise.sigma.max()))
        return state

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        counts = np.zeros(state.setting.K, dtype=np.int64)
        counts[state.active] = looks.size(self, state)
        opened = want_up_to(state, counts, risk=looks.risk(self, state), label=("", "equal"))
        asked = int(self.allocate(opened).sum())
        if state.spent + asked > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if asked else self._advance(opened)

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        if joined(state):  # fewer measurements than the others: how many depends on the data
            return self._open(state)
        seen = self._read(state)
        if seen is None:
            return self._open(self._noted(state, "none"))
        if seen.silent:
            return replace(state, stop=StopReason.SILENT)
        if not state.sigma_hat.size:
            state = replace(state, unit=freeze(seen.unit), sigma_hat=freeze(seen.sigma_hat))
        state = self._noted(replace(state, accuracy=seen.accuracy), seen.bound, seen.freedom)
        return self._label(state, seen)

    def _read(self, state: RoundState) -> Reading | None:
        """Means of all data so far, with the widths of this look."""
        setting, A, noise = state.setting, state.active, self.noise_of(state.setting)
        tally, K = reading.noisy_part(setting, state.got), setting.K
        if self.own_noise(setting):
            rows = Tally(tally.counts[A], tally.means[A], tally.m2[A])
            return reading.read_own(A, rows, noise, state.risk, K, state.unit)
        spread = setting.model.spread(A, tally.counts)
        if spread is None:
            return None
        mu, residual = setting.model.estimate(A, *tally)
        found = looks.shared_scale(self, state) or reading.estimate_noise(
            noise, residual, "replicates", tally.means
        )
        if found is None:
            return None
        z = reading.quantiles(noise, state.risk, K, K - 1, found.nu)
        return reading.read_alike(A, mu, spread, z, found, state.unit)

    def _label(self, state: RoundState, seen: Reading) -> RoundState:
        """Labels of one look; the next look opened, or a stop."""
        exact, early = arm_exact(state, seen.arms), bool((state.status == NEAR).any())
        outcome = refined(seen.mu, seen.widths, exact, all_stay=True)
        t = self._tolerance(state, seen, outcome)
        kept, unit = np.flatnonzero(~outcome.rejected), self.epsilon_of(state.setting)
        rest = None if exact is None else exact[kept]
        if (
            len(kept) > _PAIRED
        ):  # together or not at all: all pairs of so many would fill the memory
            leaving = np.full(len(kept), t <= 1.0)
            optimal = np.asarray(outcome.spare[kept] >= 0.0)
        else:
            within, undominated = certain_pairs(
                seen.mu[kept], seen.widths.restricted(kept), unit[state.setting.noisy], rest
            )
            leaving = leave_together(within, undominated)
            optimal = np.asarray(undominated.all(axis=1))
        accepted = np.isin(np.arange(len(seen.arms)), kept[leaving & optimal])
        state = apply_outcome(state, seen.arms, replace(outcome, accepted=accepted))
        state = with_verdicts(state, seen.arms[kept[leaving & ~optimal]], NEAR)
        near, left = bool((state.status == NEAR).any()), state.active
        if len(left) > 1:
            t = max(t, float(near))
            opened = self._open(replace(state, achieved=freeze(self._in_units(state, t))))
            # at a cap, those certainly optimal that stayed for the sake of others are labelled too
            return opened if opened.stop is None else apply_outcome(opened, seen.arms, outcome)
        state = with_verdicts(state, left, ACCEPTED)
        t = 0.0 if not near else 1.0 if early or len(left) else t
        stop = StopReason.EPSILON if near else StopReason.DECIDED
        return replace(state, stop=stop, achieved=freeze(self._in_units(state, t)))

    def _certificate(self, state: RoundState) -> Certificate:
        return certificate(
            state,
            guarantee=self.guarantee,
            delta=self.delta,
            epsilon=self.epsilon_of(state.setting),
            noise=self.noise_of(state.setting),
            bound=bound_sentence(state.history),
            own_noise=self.own_noise(state.setting),
        )

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Look 1 exactly; the others, where their sizes can be told, if nobody left."""
        return looks.forecast(self, setting)
