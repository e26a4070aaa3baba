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
from typing import Any, Literal

from paretoscope.core.arrays import freeze
from paretoscope.core.elimination import paper, refined
from paretoscope.core.schedule import Schedule
from paretoscope.core.spread import BOUNDS, Bound, Spread
from paretoscope.errors import UsageError
from paretoscope.policies import sizing
from paretoscope.policies.base import Guarantee, RoundForecast, StopReason, Tally
from paretoscope.policies.certified import CertifiedRounds, check_choices, check_risk
from paretoscope.policies.gege_budget import GEGEBudget
from paretoscope.policies.model import DesignKind
from paretoscope.policies.reading import (
    Reading,
    ScaleFrom,
    estimate_noise,
    noisy_part,
    quantiles,
    read_pairs,
    read_uniform,
    tail_of,
    with_misfit,
)
from paretoscope.policies.rounds import (
    ACCEPTED,
    RoundState,
    arm_exact,
    first_state,
    joined,
    want_round,
)
from paretoscope.policies.setting import Setting

# Ties never separate: a study without epsilon ends here.
MOST_SAMPLES = 10**9


@dataclass(frozen=True, kw_only=True)
class GEGEConfidence(CertifiedRounds):
    """GEGE for fixed confidence; see `GEGE` for the parameters."""

    schedule: Schedule = "proven"
    rule: Literal["refined", "paper"] = "refined"
    ratio: float = 2.0
    first_accuracy: float | Literal["auto"] = "auto"
    designs: tuple[DesignKind, ...] = ("g", "xy", "xy-all")
    bounds: tuple[Bound, ...] = BOUNDS
    scale_from: ScaleFrom = "residuals"
    max_rounds: int | None = None
    max_samples: int = MOST_SAMPLES

    _withdrawn = (ACCEPTED,)

    def __post_init__(self) -> None:
        check_risk(self.delta, self.epsilon)
        if not self.ratio > 1.0:
            raise UsageError(
                f"ratio = {self.ratio}: the accuracy must improve, so give more than 1"
            )
        if self.first_accuracy != "auto" and not float(self.first_accuracy) > 0.0:
            raise UsageError(f"first_accuracy = {self.first_accuracy}: 'auto' or a positive number")
        check_choices("schedule", [self.schedule], ("proven", "corrected", "paper", "authors"))
        check_choices("rule", [self.rule], ("refined", "paper"))
        check_choices("designs", self.designs, ("g", "xy", "xy-all"))
        check_choices("bounds", self.bounds, (*BOUNDS, "sup"))
        check_choices("scale_from", [self.scale_from], ("residuals", "replicates"))

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

    def _start(self, setting: Setting) -> RoundState:
        noise = self.noise_of(setting)
        if self.schedule != "proven" and noise.unknowns.any():
            raise UsageError(f"schedule {self.schedule!r} needs a known sigma: 'proven' does not")
        if setting.zeta is not None and (self.schedule != "proven" or self.rule != "refined"):
            raise UsageError("a misfit zeta needs schedule 'proven' and rule 'refined'")
        if self.rule == "paper" and setting.exact.any() and setting.noisy.any():
            raise UsageError("rule 'paper' knows no exact metrics beside noisy ones: use 'refined'")
        self.epsilon_of(setting)
        state = first_state(setting)
        if not noise.unknowns.any() and noise.sigma.size:
            state = replace(state, unit=freeze(noise.sigma / noise.sigma.max()))
        return state

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        need = sizing.size_round(self, state)
        if need is None:
            return replace(state, stop=StopReason.NOTHING)
        label = (need.bound, need.design)
        opened = want_round(state, need.counts, accuracy=need.accuracy, risk=need.risk, label=label)
        if state.spent + int(opened.want.sum()) > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        seen = self._read(state)
        if seen is None:  # what was given up left too little to compare the arms with
            return self._open(self._noted(state, "none"))
        if seen.silent:
            return replace(state, stop=StopReason.SILENT)
        state = replace(state, unit=seen.unit, sigma_hat=seen.sigma_hat, accuracy=seen.accuracy)
        state = self._noted(state, seen.bound, seen.freedom)
        if self.rule == "paper":
            outcome = paper(seen.mu, seen.widths.scale, float(seen.widths.uniform or 0.0))
        else:
            outcome = refined(seen.mu, seen.widths, arm_exact(state, seen.arms))
        state = self._settle(state, seen, outcome)
        return state if state.stop is not None else self._open(state)

    def _read(self, state: RoundState) -> Reading | None:
        """Estimates and widths of the round just completed; None if its pulls compare nothing."""
        setting, A, noise = state.setting, state.active, self.noise_of(state.setting)
        tally = noisy_part(setting, state.got)
        if not setting.model.compares(A, tally.counts):
            return None
        mu, residual = setting.model.estimate(A, *tally)
        if noise.unknowns.any():
            found = estimate_noise(noise, residual, self.scale_from, tally.means)
            if found is None:
                return None
            spread = self._spread(state, tally)
            z = quantiles(noise, state.risk, spread.n, spread.rank, found.nu)
            seen = read_pairs(A, mu, spread, z, found, state.unit)
            if self.rule == "paper":  # its gaps compare with one number
                widths = replace(seen.widths, uniform=spread.widest, pair=None)
                seen = seen._replace(widths=widths)
            return with_misfit(seen, setting, tally.counts)
        eta, bound = state.accuracy / 2.0, state.label[0]
        if (state.forgone.any() or joined(state)) and self.guarantee.certified:
            d, sigma = len(noise.sigma), float(noise.sigma.max())
            fresh, spread = (setting.seed, state.number, 1), self._spread(state, tally)
            width = spread.certain_width(state.risk, d, tail_of(noise), self.bounds, seed=fresh)
            eta, bound = width.eta * sigma, f"{width.bound}, some pulls given up"
        twin = setting.model.twin if setting.model.twins else None
        seen = read_uniform(A, mu, state.unit, eta, noise.sigma, bound, twin)
        return with_misfit(seen, setting, tally.counts)

    @staticmethod
    def _spread(state: RoundState, tally: Tally) -> Spread:
        """The spread of the active arms under the pulls that came, which can compare them."""
        spread = state.setting.model.spread(state.active, tally.counts)
        assert spread is not None
        return spread

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Round 1 exactly; a later round has at most the pulls it would need if no arm had left."""
        return sizing.forecast(self, setting)


def GEGE(
    delta: float | None = None,
    epsilon: float = 0.0,
    *,
    budget: int | None = None,
    **more: Any,  # noqa: ANN401  (fields of GEGEConfidence)
) -> GEGEConfidence | GEGEBudget:
    """GEGE for a risk (``delta``) or for a budget (``budget``).

    Parameters
    ----------
    delta : float
        Risk of any wrong label.
    epsilon : float
        Tolerance of every metric that has none of its own; 0 = decide everything.
    budget : int
        Measurements to spend, instead of delta: the best guess, without certificate.
    schedule : 'proven', 'corrected', 'paper' or 'authors'
        How rounds are sized; only the first two are certified.
    rule : 'refined' or 'paper'
        When an arm is accepted.
    noise, sigma : optional
        'gaussian' or 'subgaussian', and a scale or 'unknown', in place of what the metrics say.
    ratio : float
        eps_r / eps_{r+1}: 2 for few rounds, sqrt(e) for few measurements.
    first_accuracy : float or 'auto'
        eps_1, in units of the noisiest metric; 'auto' = what the smallest useful round certifies.
    designs : tuple of 'g', 'xy', 'xy-all'
        Designs to choose from, each round.
    bounds : tuple of 'pairs', 'arms', 'scheffe', 'sup'
        Unions to choose from, each round.
    scale_from : 'residuals' or 'replicates'
        Where an unknown noise scale comes from.
    max_rounds, max_samples : int
        Caps; a capped result is not certified.

    Raises
    ------
    UsageError
        If neither or both of delta and budget are given, or a value makes no sense.

    >>> GEGE(0.05).guarantee.certified, GEGE(budget=100).guarantee.certified
    (True, False)
    """
    if (delta is None) == (budget is None):
        raise UsageError("GEGE needs either delta, a risk, or budget, a number of measurements")
    if budget is not None:
        if more or epsilon:
            raise UsageError(f"GEGE(budget=...) does not take {['epsilon', *more]}")
        return GEGEBudget(budget)
    assert delta is not None
    return GEGEConfidence(delta=delta, epsilon=epsilon, **more)
