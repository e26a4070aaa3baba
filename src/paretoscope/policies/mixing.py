"""Explorations mixed into other pulls: what has been drawn, pulled and learnt, step by step.

The steps of a round are drawn from what was known before it, so that they can be drawn again when its
pulls are in; nothing of them is kept. Pulls that never came are left out: the arms' later draws make
up for lost explorations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from paretoscope.core import doubly_robust
from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.doubly_robust import Axes, Sums
from paretoscope.errors import UsageError
from paretoscope.policies.base import Tally
from paretoscope.policies.codec import plain_state
from paretoscope.policies.model import like
from paretoscope.policies.setting import Setting

plain_state(Sums)
# Without features h = K, and explorations grow with its cube: nobody means so many candidates.
MOST_FREE = 500


@plain_state
class Mix(NamedTuple):
    """What is known of n arms in d metrics, in units of the noise.

    Attributes
    ----------
    sums : Sums
        Of all steps since the first, or since an arm was last lost.
    counts, means : (n,), (n, d) arrays
        All pulls that were judged.
    drawn, explored : (n,) arrays
        Draws of each arm, and explorations among its pulls.
    pool : (n, d) array
        Mean of its explorations.
    lost : (n,) bool array
        Arms that cannot be measured: the axes are those of the others.
    """

    sums: Sums
    counts: IntArray
    means: FloatArray
    drawn: IntArray
    explored: IntArray
    pool: FloatArray
    lost: BoolArray


class Steps(NamedTuple):
    """Steps of a round; where ``direct``, the pull itself is picked, and else the axis."""

    axis: IntArray
    drawn: IntArray
    explores: BoolArray
    pulled: IntArray
    direct: BoolArray


def axes_without(setting: Setting, lost: BoolArray) -> Axes:
    """The axes of the arms that can be measured; without features, every arm has its own."""
    model = setting.model

    def make() -> Axes:
        if model.linear:
            assert setting.X is not None
            return doubly_robust.axes_of(setting.X[model.first], lost)
        if setting.K > MOST_FREE:
            raise UsageError(f"PFIwR without features: {setting.K} candidates are too many")
        return doubly_robust.axes_of(np.eye(setting.K), lost)

    return model.memo(("axes", lost.tobytes()), make)


def fresh_mix(axes: Axes, lost: BoolArray, counts: IntArray, means: FloatArray) -> Mix:
    """No step yet, whatever was pulled before."""
    n, d = means.shape
    none, zeros = freeze(np.zeros(n, dtype=np.int64)), freeze(np.zeros((n, d)))
    sums = doubly_robust.fresh_sums(n, len(axes.lengths), d)
    return Mix(sums, freeze(counts), freeze(means), none, none, zeros, freeze(lost))


def draw_steps(
    axes: Axes, mix: Mix, front: IntArray, share: float, size: int, rng: np.random.Generator
) -> Steps:
    """The next steps; the arms of ``front`` are pulled where nothing has to be explored."""
    axis = rng.integers(len(axes.lengths), size=size)
    drawn = doubly_robust.arms_for(axes, axis, rng.random(size))
    direct = rng.random(size) < 0.5
    other = front[rng.integers(len(front), size=size)]
    explores = doubly_robust.explores(drawn, mix.drawn, mix.explored, share)
    return Steps(axis, drawn, explores, np.where(explores, drawn, other), direct)


def mixed(axes: Axes, mix: Mix, steps: Steps, tally: Tally) -> Mix:
    """What is known once the pulls of these steps are in; ``tally``: all pulls of the arms so far."""
    n = len(mix.counts)
    fresh = tally.counts - mix.counts
    weight = (tally.counts / np.maximum(fresh, 1))[:, None]
    values = mix.means + (tally.means - mix.means) * weight  # means of the new pulls alone
    came = doubly_robust.turns(steps.pulled) < fresh[steps.pulled]
    new = np.bincount(steps.drawn[steps.explores & came], minlength=n)
    explored = mix.explored + new
    pool = mix.pool + (values - mix.pool) * (new / np.maximum(explored, 1))[:, None]
    able = explored[steps.drawn] > 0  # a pull that was lost may have been the only one
    return Mix(
        _summed(axes, mix.sums, steps, (able, came), pool, values),
        freeze(tally.counts),
        freeze(tally.means),
        freeze(mix.drawn + np.bincount(steps.drawn, minlength=n)),
        freeze(explored),
        freeze(pool),
        mix.lost,
    )


def _summed(
    axes: Axes,
    sums: Sums,
    steps: Steps,
    usable: tuple[BoolArray, BoolArray],
    pool: FloatArray,
    values: FloatArray,
) -> Sums:
    """The sums after these steps: axes that are ``usable``, and pulls that are."""
    able, came = usable
    n, picks = len(pool), able & ~steps.direct
    place = steps.axis[picks] * n + steps.drawn[picks]
    count = np.bincount(place, minlength=axes.v.size).reshape(axes.v.shape)
    after = doubly_robust.with_picks(sums, axes, count, pool)
    direct = np.bincount(steps.pulled[steps.direct & came], minlength=n)
    return Sums(
        sums.t + int(able.sum()),
        freeze(after.picked),
        freeze(after.worth),
        freeze(sums.pulls + np.bincount(steps.pulled[came], minlength=n)),
        freeze(sums.direct + direct),
        freeze(sums.total + direct[:, None] * values),
    )


def mixed_estimates(axes: Axes, mix: Mix, twin: IntArray) -> FloatArray:
    """Means (n, d); arms of equal features have the very same."""
    guess = doubly_robust.ridge(axes, mix.counts, mix.means)
    mu = axes.Z @ doubly_robust.doubly_robust(axes, mix.sums, guess)
    return np.asarray(mu[like(twin)])
