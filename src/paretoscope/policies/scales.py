"""An unknown noise for policies that need a known one: an upper limit from their first pulls.

    while nothing is known, pulls follow a design that looks at no value, nu >= FREEDOM spare ones at best
    sigma <= sigma_hat sqrt(nu / chi2_nu^-1(delta' / d)) for all d metrics, delta' = SHARE delta     # `sigma_upper`
    from then on the policy runs with that limit as its sigma, at risk delta - delta'

Widths grow with sigma, so whatever holds for the true one holds for a limit above it; and windows that
open later see a limit that belongs to their past. See docs/anytime.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from paretoscope.core.arrays import FloatArray, freeze
from paretoscope.core.confidence import sigma_upper
from paretoscope.policies.base import StopReason, Tally
from paretoscope.policies.model import Model
from paretoscope.policies.reading import estimate_noise
from paretoscope.policies.rounds import RoundState
from paretoscope.policies.setting import Noise

S = TypeVar("S", bound=RoundState)
# delta' / delta.
SHARE = 0.1
# Spare pulls of the first round, and the fewest that give a limit: 1.36 and 2.26 times the estimate
# at delta = 0.1, d = 3.
FREEDOM, FEWEST = 50, 10


class Limits(NamedTuple):
    """Scales that the noise does not exceed, their estimates, and whether a metric never varied."""

    sigma: FloatArray
    estimate: FloatArray
    silent: bool


def unscaled(state: RoundState) -> bool:
    """Whether a scale is still unknown."""
    return bool(np.isnan(state.unit).any())


def first_pulls(noise: Noise, least: int) -> int:
    """Pulls of a first round that needs ``least`` anyway: more where a scale must be learnt."""
    return least + FREEDOM if noise.unknowns.any() else least


def risk_left(noise: Noise, delta: float) -> float:
    """The part of the risk that is not spent on the scales."""
    return (1.0 - SHARE) * delta if noise.unknowns.any() else delta


def scale_limits(model: Model, noise: Noise, tally: Tally, delta: float) -> Limits | None:
    """Limits from pulls by arm that looked at no value; None while they are too few."""
    pool = np.flatnonzero(tally.counts)
    if len(pool) == 0:
        return None
    residual = model.estimate(pool, *tally).residual
    found = estimate_noise(noise, residual, "residuals", tally.means)
    if found is None or found.nu < FEWEST:
        return None
    limit, unknowns = found.sigma.copy(), noise.unknowns
    limit[unknowns] = sigma_upper(limit[unknowns], found.nu, SHARE * delta)
    return Limits(limit, found.sigma, found.silent)


def with_scales(state: S, noise: Noise, tally: Tally, delta: float) -> S:
    """The state with its limits as unit, if there are any by now; stopped if a metric never varied."""
    found = scale_limits(state.setting.model, noise, tally, delta)
    if found is None:
        return state
    if found.silent:
        return replace(state, stop=StopReason.SILENT)
    return replace(state, unit=freeze(found.sigma), sigma_hat=freeze(found.estimate))
