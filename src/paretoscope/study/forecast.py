"""What a budget will buy: the certified methods, simulated on worlds like the one at hand.

Means are drawn at random, measurements around them with Gaussian noise, and the policy is run to its
stop; the counts of verdicts and the certified tolerances are averaged. How much candidates differ is
taken from the study's own measurements, as soon as there are any; before that it is an assumption,
and the answer says which. A simulation, not a promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.errors import ParetoscopeError
from paretoscope.policies.base import Policy, Tally
from paretoscope.policies.fixed import FixedDesign
from paretoscope.policies.gege import MOST_SAMPLES, GEGEConfidence
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.setting import Setting
from paretoscope.policies.tracking import TrackingConfidence
from paretoscope.study.checks import beside
from paretoscope.study.methods import Wishes, fixed_design
from paretoscope.study.problem import Problem
from paretoscope.study.result import Estimate, estimate

RUNS = 20
# Spread of the candidates in units of the noise while nothing is known of either.
ASSUMED_RATIO = 5.0
# Above this many candidates a run takes seconds.
MOST_CANDIDATES = 2000
# K^2 d rounds that take about two seconds (12 ns each, measured), and the fewest runs to average.
_WORK, _FEWEST = 1.5e8, 3
# Rounds counted at least: a plan cannot name those that follow once an unknown noise is estimated.
_ROUNDS = 5
# Of the half widths in an `Estimate`.
_LEVEL = 0.95
# Estimated means from which a spread can be told.
_ENOUGH = 4

Certified = FixedDesign | GEGEConfidence | Race | Racing | TrackingConfidence


class Outlook(NamedTuple):
    """What to expect of a budget.

    Attributes
    ----------
    method : str
    budget, checks : int
        Measurements in all, and those among them that test a linear model.
    measurements, out, inside, near, undecided : float
        Means over the runs: measurements made for verdicts, and candidates by verdict.
    epsilon : dict
        Median tolerance certified for what is kept, per noisy metric: a ratio - 1 on the log scale, in
        multiples of the noise for the metrics in ``relative``; infinite if nothing is certified.
    relative : list of str
    runs : int
    assumed : str
        What was assumed, as the end of a sentence.
    """

    method: str
    budget: int
    checks: int
    measurements: float
    out: float
    inside: float
    near: float
    undecided: float
    epsilon: dict[str, float]
    relative: list[str]
    runs: int
    assumed: str


class NoOutlook(NamedTuple):
    """Why nothing can be said."""

    reason: str


@dataclass(frozen=True)
class Belief:
    """What worlds to simulate.

    Attributes
    ----------
    sigma, spread : (d,) arrays
        Noise and standard deviation of the means, on the inner scale; noise 0 = exact.
    exact : (K, d) array
        Values of exact metrics as far as they are known; NaN elsewhere.
    relative : (d,) bool array
        Metrics of which neither is known: only the ratio is meant.
    said : str
    """

    sigma: FloatArray
    spread: FloatArray
    exact: FloatArray
    relative: BoolArray
    said: str


# ---------------------------------------------------------------- which policy, which worlds


def certified_method(
    policy: Policy[Any],
    wishes: Wishes,
    budget: int | None = None,
    setting: Setting | None = None,
) -> Certified | NoOutlook:
    """The study's own method held to its budget; fixed looks if it certifies nothing, or to try one.

    With the study's setting a budget pays for the check points of its model as well.
    """
    if budget is not None:
        return fixed_design(replace(wishes, budget=budget), setting)
    own = policy if isinstance(policy, Certified) else None
    if isinstance(own, FixedDesign):
        return own
    if own is not None:
        budget = min(own.max_samples, wishes.budget or MOST_SAMPLES)
        own = replace(own, max_samples=budget) if budget < MOST_SAMPLES else None
    elif wishes.budget is not None:
        return fixed_design(wishes, setting)
    return own or NoOutlook("no budget was given")


def believe(problem: Problem, tally: Tally, exact: FloatArray) -> Belief:
    """Noise and spread as the measurements say, or as assumed while they say nothing.

    Parameters
    ----------
    tally : Tally
        All measurements so far.
    exact : (K, d) array
        Exact metrics as far as they are known.
    """
    noisy = np.flatnonzero(problem.setting.noisy)
    sigma, spread = _assumed(problem)
    measured = _measured(estimate(problem, tally, exact), noisy)
    if measured is not None:
        sigma[noisy], spread[noisy] = measured
    relative = np.isnan(sigma)
    sigma[relative], spread[relative] = 1.0, ASSUMED_RATIO
    if measured is not None:
        said = f"candidates that differ as the {tally.total} measurements so far say"
    else:
        said = _sentence(problem, relative)
    if problem.setting.model.linear:
        said += "; means linear in the features"
    return Belief(sigma, spread, exact, relative, said)


def _assumed(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Noise (NaN = unknown) and spread before any measurement, per metric."""
    sigma, spread = np.zeros(problem.d), np.zeros(problem.d)
    for c, metric in enumerate(problem.metrics):
        if not metric.exact:
            sigma[c] = metric.inner_sigma
            spread[c] = ASSUMED_RATIO * sigma[c]
        if metric.bounded:  # even over its range, whose ends the means cannot leave
            low, high = metric.bounds or (0.0, 1.0)
            spread[c] = (high - low) / math.sqrt(12.0)
    return sigma, spread


def _measured(found: Estimate, noisy: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """Noise and spread of the noisy metrics as estimated; None while that is not possible."""
    mu, half = found.mu[:, noisy], found.half[:, noisy]
    usable = np.isfinite(mu).all(axis=1) & np.isfinite(half).all(axis=1)
    if not len(noisy) or usable.sum() < _ENOUGH or not (found.sigma > 0).all():
        return None
    error = half[usable] / -special.stdtrit(max(found.nu, 1), (1 - _LEVEL) / 2)
    between = mu[usable].var(axis=0, ddof=1) - np.square(error).mean(axis=0)
    return found.sigma, np.sqrt(np.maximum(between, 0.0))


def _sentence(problem: Problem, relative: BoolArray) -> str:
    """What is assumed while nothing is measured."""
    bounded = [metric.bounded for metric in problem.metrics]
    parts = []
    if any(not m.exact and not b for m, b in zip(problem.metrics, bounded, strict=True)):
        parts.append("candidates that differ by about five times the noise")
    if any(bounded):
        parts.append("bounded metrics spread over their range with all the noise it allows")
    if relative.any():
        parts.append("no tolerance, as the noise is unknown")
    return "; ".join(parts) or "exact metrics drawn at random where they are not known"


def as_measured(setting: Setting, found: Estimate) -> Setting:
    """The setting with unknown scales of the noise as estimated: for predictions, never a verdict."""
    sigma = setting.noise.sigma.copy()
    sigma[setting.noisy] = np.where(
        np.isnan(sigma[setting.noisy]) & (found.sigma > 0), found.sigma, sigma[setting.noisy]
    )
    return replace(setting, noise=replace(setting.noise, sigma=sigma))


# ---------------------------------------------------------------- runs


class _Run(NamedTuple):
    """One simulated study: candidates out, in, near, undecided, and measurements; tolerances."""

    counts: list[int]
    achieved: FloatArray


def outlook(
    problem: Problem, policy: Certified, belief: Belief, runs: int = RUNS, seed: int = 0
) -> Outlook | NoOutlook:
    """What to expect at the end of a budget.

    Parameters
    ----------
    policy : FixedDesign, GEGEConfidence, Race, Racing or TrackingConfidence
        With a budget, or a cap on the measurements.
    belief : Belief
    runs : int
        At most; fewer where one takes long.
    seed : int
        The answer is a function of it.
    """
    if problem.K > MOST_CANDIDATES:
        return NoOutlook(f"{problem.K} candidates are too many to simulate in a moment")
    setting = problem.setting
    if belief.relative.any():  # a tolerance means nothing beside a noise of unknown size
        setting, policy = replace(setting, epsilon=None), replace(policy, epsilon=0.0)
    try:
        runs = min(runs, _affordable(policy, setting))
        done = [
            _simulated(policy, setting, belief, np.random.default_rng([seed, run]))
            for run in range(runs)
        ]
    except ParetoscopeError as error:  # a budget too small to begin with
        return NoOutlook(str(error))
    return _summary(problem, policy, belief, done)


def _affordable(policy: Certified, setting: Setting) -> int:
    """Runs that take about two seconds together: counted, not timed, so that the answer repeats."""
    rounds = max(_ROUNDS, len(policy.plan(setting)))
    return max(_FEWEST, int(_WORK / (setting.K**2 * setting.d * rounds)))


def _simulated(
    policy: Certified, setting: Setting, belief: Belief, rng: np.random.Generator
) -> _Run:
    """One study in one world, from the first round to the stop."""
    mu = _world(setting, belief, rng)
    state = policy.init(setting)
    while policy.stopped(state) is None:
        state = policy.observe(state, _drawn(mu, belief.sigma, policy.allocate(state), rng))
    verdict = policy.verdict(state)
    words = (verdict.rejected, verdict.accepted, verdict.near, verdict.undecided)
    counts = [int(mask.sum()) for mask in words]
    return _Run([*counts, state.spent], verdict.certificate.achieved_epsilon)


def _world(setting: Setting, belief: Belief, rng: np.random.Generator) -> FloatArray:
    """True means (K, d): linear in the features where a model says so, else independent.

    Coefficients of columns scaled to unit deviation have the variance spread^2 / (number of columns), so
    that means differ by ``spread`` whatever their number; a constant column moves all alike.
    """
    mu = rng.standard_normal((setting.K, setting.d))
    X = setting.X
    if X is not None and setting.model.linear:
        scale = X.std(axis=0)
        columns = X[:, scale > 0] / scale[scale > 0]
        theta = rng.standard_normal((columns.shape[1], setting.d))
        mu[:, setting.noisy] = (columns @ theta / math.sqrt(max(1, len(theta))))[:, setting.noisy]
    mu[:, setting.noisy] *= belief.spread[setting.noisy]
    for c in np.flatnonzero(setting.exact):
        mu[:, c] = _filled(belief.exact[:, c], mu[:, c])
    return mu


def _filled(known: FloatArray, luck: FloatArray) -> FloatArray:
    """An exact metric with what is not known of it drawn, from the law of what is; ties have chance 0."""
    seen = known[~np.isnan(known)]
    middle, scale = (seen.mean(), seen.std()) if len(seen) > 1 else (0.0, 1.0)
    return np.where(np.isnan(known), middle + (scale or 1.0) * luck, known)


def _drawn(mu: FloatArray, sigma: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
    """The tally of Gaussian values without the values: means, and squares by the chi-squared law."""
    n = np.maximum(counts, 1)[:, None]
    means = mu + sigma * rng.standard_normal(mu.shape) / np.sqrt(n)
    m2 = np.square(sigma) * 2.0 * rng.standard_gamma(np.broadcast_to((n - 1) / 2.0, mu.shape))
    pulled = counts[:, None] > 0
    return Tally(counts, np.where(pulled, means, 0.0), np.where(pulled, m2, 0.0))


def _summary(problem: Problem, policy: Certified, belief: Belief, done: Sequence[_Run]) -> Outlook:
    """Averages in the metrics' own units."""
    out, inside, near, undecided, pulls = np.mean([run.counts for run in done], axis=0).tolist()
    achieved = np.median([run.achieved for run in done], axis=0)
    epsilon = {}
    for metric, value, ratio in zip(problem.metrics, achieved, belief.relative, strict=True):
        if not metric.exact:
            relative_scale = metric.scale == "log" and not ratio
            epsilon[metric.name] = float(np.expm1(value) if relative_scale else value)
    design = policy.budget if isinstance(policy, FixedDesign) else policy.max_samples
    checks = beside(problem.setting, design)
    return Outlook(
        method=type(policy).__name__.removesuffix("Confidence"),
        budget=design + checks,
        checks=checks,
        measurements=pulls,
        out=out,
        inside=inside,
        near=near,
        undecided=undecided,
        epsilon=epsilon,
        relative=[m.name for m, r in zip(problem.metrics, belief.relative, strict=True) if r],
        runs=len(done),
        assumed=belief.said,
    )
