"""PFIwR: Pareto front identification with regret; few explorations, each used many times.

    step t: axis i uniform on 1..h, an arm c drawn for it                         # `doubly_robust`
    pull c if its explorations <= (gamma_t / t) (its draws), an exploration;
        gamma_t = gamma_scale 33750 h^3 ln(2 h t^2 / delta)
    else pull an arm of the empirical front, uniformly
    estimates: doubly robust, z_i by the mean of the explorations of c, h + 1 vectors a step
    width_k = 3 |x_k|_{F^-1} (theta_max + sigma sqrt(h ln(7 d t / delta)))        F = t sum x x' + I
        with at most h arms left: 3 |x_k| (theta_max + 3 sigma sqrt(ln(56 d h t^2 / delta)))
    A1, P1, P2 of Racing with b_ij = width_i + width_j, until A is empty           # `equal_rounds`

Kim, Iyengar, Zeevi, "Learning the Pareto Front Using Bootstrapped Observation Samples", AISTATS 2025.
Their epsilon is half of this one: what is kept is within 2 epsilon of theirs. No label is given before half
of the pulls may exploit: with gamma_scale = 1 that is after 8 x 33750 h^3 ln(.) pulls, 3e8 for h = 4.

Nothing is certified, whatever gamma_scale: F counts all K arms at each step, so that with K far above h
the widths are below the standard deviation of ANY estimate (the tests show the errors).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.dominance import front_of
from paretoscope.core.doubly_robust import Axes, explorations, first_label, published_widths
from paretoscope.core.elimination import Widths
from paretoscope.errors import UsageError
from paretoscope.policies.base import Guarantee, StopReason
from paretoscope.policies.codec import plain_state
from paretoscope.policies.equal_rounds import EqualRounds
from paretoscope.policies.mixing import (
    Mix,
    Steps,
    axes_without,
    draw_steps,
    fresh_mix,
    mixed,
    mixed_estimates,
)
from paretoscope.policies.reading import Reading, noisy_part
from paretoscope.policies.rounds import REJECTED, RoundState, extended, want_up_to
from paretoscope.policies.setting import Setting

# More than anybody measures: what needs more is refused before the first pull.
MOST_PULLS = 10**8


@plain_state
@dataclass(frozen=True)
class MixedState(RoundState):
    """State with what the steps so far have told, and the arms that the open round may exploit."""

    mix: Mix
    front: BoolArray


@dataclass(frozen=True)
class PFIwR(EqualRounds):
    """PFIwR(delta, epsilon, gamma_scale): measure the front, and explore just enough to know the rest.

    Parameters
    ----------
    delta, epsilon : float
        Risk, and tolerance of the metrics that have none of their own.
    gamma_scale : float
        Share of the explorations that the published theorem asks for; 1 = all of them, which is out
        of reach but for one or two features.
    theta_max : float
        Length of the coefficients of any metric at most, in units of its noise.
    growth : float
        Steps drawn at once, as a share of all so far; 0 = one at a time, as published (but for the
        first h, of which one alone tells nothing).
    max_rounds, max_samples : int
        Caps.

    Raises
    ------
    UsageError
        If more than max_samples would be needed before the first label.
    """

    features: ClassVar[bool] = True
    delta: float
    epsilon: float = 0.0
    gamma_scale: float = 1.0
    _: KW_ONLY
    theta_max: float = 1.0
    max_samples: int = MOST_PULLS

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gamma_scale", "theta_max"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise UsageError(f"{name} = {getattr(self, name)}: give a positive number")

    @property
    def guarantee(self) -> Guarantee:
        """A guess, with the published constant too."""
        if self.gamma_scale < 1.0:
            return Guarantee(False, f"{self.gamma_scale:g} of the explorations of its theorem")
        return Guarantee(False, "the published widths fall below what any estimate can reach")

    def _start(self, setting: Setting) -> MixedState:
        if setting.zeta is not None:
            raise UsageError("PFIwR takes the linear model as exact: GEGE allows a misfit")
        state = super()._start(setting)
        n, d = len(state.status), int(setting.noisy.sum())
        axes = axes_without(setting, np.zeros(n, dtype=bool))
        mix = fresh_mix(axes, state.gone, np.zeros(n, dtype=np.int64), np.zeros((n, d)))
        need, h = self._first_label(axes), len(axes.lengths)
        if need > self.max_samples and n > 1 and d:
            raise UsageError(
                f"PFIwR gives no label before {need:.1e} measurements (h = {h}, gamma_scale ="
                f" {self.gamma_scale:g}), and max_samples is {self.max_samples:.1e}"
            )
        return extended(state, MixedState, mix=mix, front=freeze(np.ones(n, dtype=bool)))

    def _first_label(self, axes: Axes) -> float:
        """Steps before any label."""
        return first_label(len(axes.lengths), self.delta, self.gamma_scale)

    def _open(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._measure_exact(state)
        if self.max_rounds is not None and state.number >= self.max_rounds:
            return replace(state, stop=StopReason.ROUNDS)
        assert isinstance(state, MixedState)
        state = replace(state, front=freeze(self._front(state)))
        pulled = self._steps(state, state.number + 1).pulled
        counts = state.mix.counts + np.bincount(pulled, minlength=len(state.front))
        opened = want_up_to(state, counts, risk=self.delta, label=("", "explorations and front"))
        asked = int(self.allocate(opened).sum())
        if state.spent + asked > self.max_samples:
            return replace(state, stop=StopReason.SAMPLES)
        return opened if asked else self._advance(opened)

    def _front(self, state: MixedState) -> BoolArray:
        """The empirical front of the arms that are not rejected and can be measured."""
        arms = np.flatnonzero(~state.barred & (state.status != REJECTED))
        if len(arms) == 0:
            return ~state.barred
        exact = state.exact[state.setting.model.first[arms]]
        known = exact[:, ~np.isnan(exact).any(axis=0)]  # all of it after the first round
        front = np.zeros(len(state.front), dtype=bool)
        front[arms] = front_of(np.concatenate([self._estimates(state)[arms], known], axis=1))
        return front

    def _steps(self, state: MixedState, number: int) -> Steps:
        """The steps of a round: the same before its pulls and after them."""
        axes, t = axes_without(state.setting, state.mix.lost), state.mix.sums.t
        gamma = explorations(len(axes.lengths), t + 1, self.delta, self.gamma_scale)
        rng = np.random.default_rng([state.setting.seed, 1, number])
        front = np.flatnonzero(state.front)
        size = max(1, int(self.growth * t)) if t else max(2, len(axes.lengths))
        return draw_steps(axes, state.mix, front, gamma / (t + 1), size, rng)

    def _estimates(self, state: MixedState) -> FloatArray:
        """Means of all arms in units of the noise."""
        axes = axes_without(state.setting, state.mix.lost)
        return mixed_estimates(axes, state.mix, state.setting.model.twin)

    def _judge(self, state: RoundState) -> RoundState:
        if not state.setting.noisy.any():
            return self._judge_exact(state)
        assert isinstance(state, MixedState)
        state = replace(state, mix=self._mixed(state))
        axes = axes_without(state.setting, state.mix.lost)
        early = state.mix.sums.t < self._first_label(axes)
        return self._open(state) if early else super()._judge(state)

    def _mixed(self, state: MixedState) -> Mix:
        """What is known now; other arms to measure mean other axes, and steps from the first."""
        tally = noisy_part(state.setting, state.got)
        tally = tally._replace(means=tally.means / state.unit)
        axes = axes_without(state.setting, state.barred)
        if (state.barred != state.mix.lost).any():
            return fresh_mix(axes, state.barred, tally.counts, tally.means)
        return mixed(axes, state.mix, self._steps(state, state.number), tally)

    def _read(self, state: RoundState) -> Reading:
        """Estimates of the arms left, with the published widths."""
        assert isinstance(state, MixedState)
        A, unit, t = state.active, np.asarray(state.unit), state.mix.sums.t
        axes, twin = axes_without(state.setting, state.mix.lost), state.setting.model.twin[A]
        w = published_widths(axes, t, len(unit), self.delta, self.theta_max, len(A))[A]

        def pair(rows: IntArray) -> FloatArray:
            return np.where(twin[rows][:, None] == twin, 0.0, w[rows][:, None] + w)

        mu = self._estimates(state)[A] * unit
        bound = f"published widths, gamma_scale {self.gamma_scale:g}"
        return Reading(A, mu, Widths(unit, pair=pair), bound, unit, unit, 4.0 * float(w.max()))
