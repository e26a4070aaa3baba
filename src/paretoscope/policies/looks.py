"""How many measurements and how much risk each look of a race gets: `Race` tells why it may.

Where every metric has a tolerance and all candidates share a scale that is known, or was estimated at
look 1, the size is known at which no pair can be open any more; twenty looks lead there in equal
ratios. Otherwise the looks grow by a fixed ratio, and each gets a seventh of the risk that is left.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from paretoscope.core.schedule import look_share, next_risk
from paretoscope.policies.base import RoundForecast
from paretoscope.policies.reading import Estimated, quantiles
from paretoscope.policies.rounds import RoundState
from paretoscope.policies.setting import Setting

if TYPE_CHECKING:
    from paretoscope.policies.race import Race

# Measurements of each at look 1, and looks up to the last size: by measurement on worlds of 6, 20, 48
# and 200 candidates (2 or 3 metrics, noise 5 %, tolerances of 2 to 10 %).
_FIRST_KNOWN, _FIRST_OWN, _FIRST_POOLED, _FREEDOM_POOLED = 2, 6, 3, 40
_LOOKS = 20


def first_size(policy: Race, setting: Setting) -> int:
    """n_1."""
    if policy.first != "auto":
        return policy.first
    if not policy.noise_of(setting).unknowns.any():
        return _FIRST_KNOWN
    if policy.own_noise(setting):
        return _FIRST_OWN
    return max(_FIRST_POOLED, 1 + math.ceil(_FREEDOM_POOLED / setting.K))


def has_end(policy: Race, setting: Setting) -> bool:
    """Whether a last size can be told from the scale of the noise alone."""
    tolerances = policy.epsilon_of(setting)[setting.noisy]
    return bool((tolerances > 0).all()) and not policy.own_noise(setting)


def risk(policy: Race, state: RoundState) -> float:
    """delta_l: a preset share, or a part of what is left where looks have no known end."""
    look = state.number + 1
    if has_end(policy, state.setting) and look <= _LOOKS:
        return policy.delta * look_share(look, _LOOKS)
    return next_risk(policy.delta - math.fsum(r.risk for r in state.history), None)


def size(policy: Race, state: RoundState) -> int:
    """n_l: in equal ratios up to the last size where that can be told, by the given ratio beyond."""
    look, first = state.number + 1, first_size(policy, state.setting)
    if look == 1:
        return first
    # of all, not of those left: who comes back has fewer, and how many depends on the data
    before, found = int(state.want.max()), shared_scale(policy, state)
    if found is None or look > _LOOKS or not has_end(policy, state.setting):
        return max(before + 1, math.ceil(policy.ratio * before))
    last = _last_size(policy, state.setting, found)
    grown = first * math.pow(max(last / first, 1.0), (look - 1) / (_LOOKS - 1))
    return max(before + 1, math.ceil(grown))


def _last_size(policy: Race, setting: Setting, found: Estimated) -> float:
    """The n at which twice the width of a pair is epsilon: rejected or within it, either way."""
    at_last = policy.delta * look_share(_LOOKS, _LOOKS)
    z = quantiles(policy.noise_of(setting), at_last, setting.K, setting.K - 1, found.nu)
    tolerances = policy.epsilon_of(setting)[setting.noisy]
    return 8.0 * float(np.square(z * found.sigma / tolerances).max())


def shared_scale(policy: Race, state: RoundState) -> Estimated | None:
    """The scale that all candidates share, once it is known."""
    noise = policy.noise_of(state.setting)
    if not noise.unknowns.any():
        return Estimated(noise.sigma, 0, silent=False)
    nu = next((record.freedom for record in state.history if record.freedom), 0)
    return Estimated(np.asarray(state.sigma_hat), nu, silent=False) if nu else None


def forecast(policy: Race, setting: Setting) -> tuple[RoundForecast, ...]:
    """Measurements of each look if nobody left; look 1 alone where no last size can be told yet."""
    state = policy.init(setting)
    if state.stop is not None:
        return ()
    asked, K = int(state.want.sum()), setting.K
    if not setting.noisy.any():
        return (RoundForecast(1, asked, asked, 0.0),)
    found = shared_scale(policy, state)
    if found is None or not has_end(policy, setting):
        return (RoundForecast(1, asked, asked, math.inf),)
    steps = [RoundForecast(1, asked, asked, _accuracy(policy, state, found))]
    while state.number < min(policy.max_rounds or _LOOKS, _LOOKS):
        before, n = int(state.want.max()), size(policy, state)
        share = risk(policy, state)
        want = np.full(K, n, dtype=np.int64)
        state = replace(state, number=state.number + 1, want=want, risk=share)
        accuracy = _accuracy(policy, state, found)
        steps.append(RoundForecast(state.number, 0, K * (n - before), accuracy))
    return tuple(steps)


def _accuracy(policy: Race, state: RoundState, found: Estimated) -> float:
    """Twice the width of a pair at the open look, in working units."""
    K = state.setting.K
    z = quantiles(policy.noise_of(state.setting), state.risk, K, K - 1, found.nu)
    scale = float((z * found.sigma / state.unit).max())
    return 2.0 * scale * math.sqrt(2.0 / int(state.want.max()))
