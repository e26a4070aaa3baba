"""PAL: Pareto active learning with a linear kernel; equal rounds, all data kept.

    look t: every arm of A has been pulled t times; V = 1e-6 I + sum of x x' over all pulls
    width_i = sqrt(b_t x_i' V^-1 x_i), estimates by the same ridge regression
    'theory'     b_t = 2 sigma^2 ln(K d pi^2 t^2 / (6 delta))                       # lemma 1
    'reference'  b_t = ln(K d pi^2 t^2 / (6 delta)) / 5
    A1, P1, P2 of Racing with b_ij = width_i + width_j, until A is empty            # `equal_rounds`

Zuluaga, Sergent, Krause, Pueschel, "Active Learning for Multi-Objective Optimization", ICML 2013; the sets
are those of Auer et al., as the GEGE paper's experiments ran it. Without features the kernel is the
identity. The width of 'reference' has no sigma: it is read on the scale of the noisiest metric.

Nothing is certified. 'theory' holds on average over means drawn from the prior N(0, 1e6 sigma^2) of
the parameters. For fixed means it has no proof: which arms are pulled depends on earlier errors, and
least squares on all of the data is then no longer Gaussian. 'reference' has no proof of any kind.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.core.elimination import Widths
from paretoscope.policies.base import Guarantee
from paretoscope.policies.certified import check_choices
from paretoscope.policies.equal_rounds import EqualRounds
from paretoscope.policies.posterior import posterior
from paretoscope.policies.reading import Reading, noisy_part, with_misfit
from paretoscope.policies.rounds import RoundState
from paretoscope.policies.setting import Setting

# Of the published code; the prior variance of a parameter is 1e6 times that of the noise.
RIDGE = 1e-6
_WHY = {
    "theory": "right on average over means drawn from a prior; no proof for any fixed means",
    "reference": "the widths of the published experiments have no proof",
}


def kernel_width(bonus: str, t: int, K: int, d: int, delta: float, sigma: float) -> float:
    """sqrt(b_t), to be multiplied by the deviation of an arm.

    >>> round(kernel_width("theory", 10, 20, 2, 0.1, 1.0), 3)
    4.71
    """
    level = float(np.log(K * d * np.pi**2 * t**2 / (6.0 * delta)))
    return float(np.sqrt(level / 5.0 if bonus == "reference" else 2.0 * sigma**2 * level))


@dataclass(frozen=True)
class PAL(EqualRounds):
    """PAL(delta, epsilon): equal rounds of whoever is left, estimated with the features.

    Parameters
    ----------
    delta, epsilon : float
        Risk of any wrong label, and tolerance of the metrics that have none of their own.
    bonus : 'theory' or 'reference'
        The published widths, or those of the GEGE paper's experiments.
    growth : float
        Share of more pulls between two looks; 0 = one more of each candidate.
    max_rounds, max_samples : int
        Caps.
    """

    features: ClassVar[bool] = True
    delta: float
    epsilon: float = 0.0
    _: KW_ONLY
    bonus: Literal["theory", "reference"] = "theory"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices("bonus", [self.bonus], ("theory", "reference"))

    @property
    def guarantee(self) -> Guarantee:
        """A guess, on average right with 'theory'."""
        return Guarantee(False, _WHY[self.bonus])

    def _start(self, setting: Setting) -> RoundState:
        return with_working_unit(super()._start(setting))

    def _read(self, state: RoundState) -> Reading:
        """Ridge estimates of the arms left from all pulls so far."""
        setting, A, unit = state.setting, state.active, np.asarray(state.unit)
        tally, model = noisy_part(setting, state.got), setting.model
        found = posterior(model, tally, RIDGE)
        t, top = max(1, int(tally.counts[A].max())), float(self.noise_of(setting).sigma.max())
        w = kernel_width(self.bonus, t, setting.K, len(unit), self.delta, top) * found.s[A]
        twin = model.twin[A]

        def pair(rows: IntArray) -> FloatArray:
            both = w[rows][:, None] + w
            return np.where(twin[rows][:, None] == twin, 0.0, both) if model.twins else both

        accuracy = 4.0 * float(w.max())
        widths, bound = Widths(unit, pair=pair), f"widths '{self.bonus}'"
        seen = Reading(A, found.mu[A], widths, bound, unit, unit, accuracy)
        return with_misfit(seen, setting, tally.counts)


def with_working_unit(state: RoundState) -> RoundState:
    """Metrics on the scale of the noisiest one, whose unit is kept."""
    if not state.unit.size:
        return state
    return replace(state, unit=freeze(state.unit / state.unit.max()))
