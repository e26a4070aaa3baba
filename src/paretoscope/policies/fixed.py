"""One design fixed before any data: a single shot, or fixed looks at data that keep accumulating.

OneShot(budget): all T pulls by one integer G-optimal design, the empirical Pareto set. A strong
baseline: often better than elimination when the noise is large.

FixedDesign(budget = T, looks = L):
    w = G-optimal design (uniform when unstructured); pulls ordered so that every prefix is near w
    looks N_1 < ... < N_L = T and risks delta_l are fixed before any data, half of delta on the last
    at look l: least squares on ALL pulls so far, widths z_l sigma s_ij for the pairs of all K arms
        z_l = min(Q^-1(delta_l / ((K-1) (K+d-2))), Scheffe), or Student's with N_l - h degrees
        verdicts by the refined rule on all arms, kept for ever             # `elimination`

Nothing in the design depends on the data, so the estimate of each look has its exact law, whatever
was decided before; the events of all looks add up to delta. That is what a laboratory with 120
measurements needs: fresh rounds could not accept anything with so few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from paretoscope.core.arrays import IntArray, freeze
from paretoscope.core.elimination import refined
from paretoscope.core.rounding import prefix_counts
from paretoscope.errors import UsageError
from paretoscope.policies.base import RoundForecast, StopReason
from paretoscope.policies.budgeted import Budgeted
from paretoscope.policies.certified import CertifiedRounds, check_choices, check_risk
from paretoscope.policies.reading import (
    Reading,
    ScaleFrom,
    estimate_noise,
    noisy_part,
    quantiles,
    read_pairs,
    with_misfit,
)
from paretoscope.policies.rounds import (
    INFEASIBLE,
    REJECTED,
    RoundState,
    arm_exact,
    first_state,
    want_round,
)
from paretoscope.policies.setting import Setting


@dataclass(frozen=True)
class OneShot(Budgeted):
    """OneShot(budget): one G-optimal round, then the Pareto set of the estimates."""

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        A, model = state.active, state.setting.model
        N = self.budget - self._reserve(state)
        plan = model.designs(A, ("g",), state.barred)
        counts = model.integers(plan[0], A, N) if plan and N > 0 else None
        if counts is None:
            raise UsageError(
                f"budget {self.budget} is too small: {model.least(A)} measurements are the least"
                f" that compare all candidates, and exact metrics need {self._reserve(state)}"
            )
        return want_round(state, counts, accuracy=0.0, risk=0.0, label=("", "g"), extra=True)

    def _judge(self, state: RoundState) -> RoundState:
        return self._empirical_front(state)


def _reserve(setting: Setting) -> int:
    """Pulls that exact metrics need beside the design; without features every candidate is in it."""
    return int(setting.to_measure.sum()) if setting.model.linear else 0


@dataclass(frozen=True, kw_only=True)
class FixedDesign(CertifiedRounds):
    """FixedDesign(budget, looks, delta, epsilon): certified verdicts at preset looks on one design.

    Parameters
    ----------
    budget : int
        Measurements in all; fewer if everything is decided at an earlier look.
    looks : int
        Times the data are looked at, evenly spaced; looks too early to estimate anything are left out.
    delta, epsilon : float
        Risk of any wrong label, and tolerance.
    spend : 'half-last' or 'even'
        How delta is divided over the looks.
    scale_from : 'residuals' or 'replicates'
        Where an unknown noise scale comes from; replicates are right even if the model is wrong.
    """

    budget: int
    looks: int = 10
    spend: Literal["half-last", "even"] = "half-last"
    scale_from: ScaleFrom = "residuals"

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        check_choices("spend", [self.spend], ("half-last", "even"))
        check_choices("scale_from", [self.scale_from], ("residuals", "replicates"))
        if self.looks < 1 or self.budget < 1:
            raise UsageError(f"looks = {self.looks}, budget = {self.budget}: both at least 1")

    def look_sizes(self, setting: Setting) -> IntArray:
        """N_1 < ... < N_L = budget, fixed before any data."""
        everything = np.arange(len(setting.model.first))
        least = setting.model.least(everything)
        if self.noise_of(setting).unknowns.any():
            least += 2  # one degree of freedom gives quantiles in the hundreds
        T = self.budget - _reserve(setting)
        sizes = np.rint(np.arange(1, self.looks + 1) * T / self.looks).astype(np.int64)
        sizes = np.unique(sizes[sizes >= least])
        if len(sizes) == 0:
            raise UsageError(
                f"budget {self.budget} is too small: {least + _reserve(setting)} measurements are the least that"
                " estimate the candidates and the noise"
            )
        return np.asarray(sizes)

    def risks(self, looks: int) -> tuple[float, ...]:
        """delta_l of each look: half on the last, or the same for all."""
        if looks == 1 or self.spend == "even":
            return (self.delta / looks,) * looks
        return (self.delta / 2 / (looks - 1),) * (looks - 1) + (self.delta / 2,)

    def _counts(self, setting: Setting, N: int) -> IntArray:
        """Pulls per arm after the first N."""
        model = setting.model
        everything = np.arange(len(model.first))
        barred = np.zeros(len(everything), dtype=bool)
        plan = model.designs(everything, ("g",), barred)[0]

        def prefix() -> IntArray:
            return np.asarray(prefix_counts(plan.weights, [N], model.coordinates())[0])

        return model.memo(("prefix", N), prefix)

    def _start(self, setting: Setting) -> RoundState:
        self.epsilon_of(setting)
        state, noise = first_state(setting), self.noise_of(setting)
        if not noise.unknowns.any() and noise.sigma.size:
            state = replace(state, unit=freeze(noise.sigma / noise.sigma.max()))
        return state

    def _rivals(self, state: RoundState) -> IntArray:
        """Accepted arms too: nothing says yet that they do not dominate the others (`all_stay`)."""
        return np.flatnonzero(~np.isin(state.status, (REJECTED, INFEASIBLE)))

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        sizes = self.look_sizes(state.setting)
        if state.number >= len(sizes):
            return replace(state, stop=StopReason.BUDGET)
        look = state.number
        counts = self._counts(state.setting, int(sizes[look]))
        before = self._counts(state.setting, int(sizes[look - 1])) if look else 0 * counts
        risk = self.risks(len(sizes))[look]
        label = ("", "g" if state.setting.model.linear else "uniform")
        fresh = np.where(state.barred, 0, counts - before)
        extra = state.setting.model.linear
        opened = want_round(
            state, fresh, accuracy=state.accuracy, risk=risk, label=label, extra=extra
        )
        opened = replace(opened, got=state.got, want=freeze(opened.want + state.got.counts))
        # all pulls of this look may be of candidates that cannot be measured
        return opened if self.allocate(opened).any() else self._advance(opened)

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        seen = self._read(state)
        if seen is not None and seen.silent:
            return replace(state, stop=StopReason.SILENT)
        if seen is None:
            return self._open(self._noted(state, "none"))
        if not state.unit.size:
            state = replace(state, unit=seen.unit)
        state = replace(state, sigma_hat=seen.sigma_hat, accuracy=seen.accuracy)
        state = self._noted(state, seen.bound, seen.freedom)
        exact = arm_exact(state, seen.arms)
        outcome = refined(seen.mu, seen.widths, exact, all_stay=True)
        state = self._settle(state, seen, outcome)
        return state if state.stop is not None else self._open(state)

    def _read(self, state: RoundState) -> Reading | None:
        """Estimates from all pulls so far, widths for the pairs of all arms there ever were."""
        setting, noise = state.setting, self.noise_of(state.setting)
        model, everything = setting.model, np.arange(len(setting.model.first))
        A = everything[state.status != INFEASIBLE]
        tally = noisy_part(setting, state.got)
        spread = model.spread(A, tally.counts)
        if spread is None:
            return None
        mu, residual = model.estimate(A, *tally)
        found = estimate_noise(noise, residual, self.scale_from, tally.means)
        if found is None:
            return None
        z = quantiles(noise, state.risk, len(everything), model.difference_rank, found.nu)
        return with_misfit(read_pairs(A, mu, spread, z, found, state.unit), setting, tally.counts)

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Pulls up to each look: exact, unless everything is decided before."""
        if len(setting.model.first) == 1:
            return ()
        steps = np.diff(self.look_sizes(setting), prepend=-_reserve(setting)).tolist()
        return tuple(
            RoundForecast(look + 1, N if look == 0 else 0, N, float("nan"))
            for look, N in enumerate(steps)
        )
