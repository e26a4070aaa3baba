"""What a completed round or look says: estimates of the active arms, and the widths of their errors.

Known scales give one eta for all pairs (`read_uniform`) or a width per pair (`read_pairs`); unknown
ones give a width per pair by Student's law, with the noise estimated from the very same pulls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from paretoscope.core import confidence
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.confidence import GAUSSIAN, SUBGAUSSIAN, Tail, student
from paretoscope.core.elimination import Widths
from paretoscope.core.least_squares import ResidualSums
from paretoscope.core.spread import Spread
from paretoscope.policies.base import Tally
from paretoscope.policies.setting import Noise, Setting

ScaleFrom = Literal["residuals", "replicates"]
# Residuals below this share of the values are rounding: `Estimate.means` keeps within a few ulps.
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


class Reading(NamedTuple):
    """Estimates of some arms and the widths of their differences.

    ``silent``: a metric of unknown noise never varied. ``hidden``: what is left lies below the misfit
    that the model is allowed. ``accuracy``: twice the largest width, in working units.
    """

    arms: IntArray
    mu: FloatArray
    widths: Widths
    bound: str
    unit: FloatArray
    sigma_hat: FloatArray
    accuracy: float
    freedom: int = 0
    silent: bool = False
    hidden: bool = False


class Estimated(NamedTuple):
    """A noise estimate: scales, degrees of freedom, and whether some metric never varied."""

    sigma: FloatArray
    nu: int
    silent: bool


def tail_of(noise: Noise) -> Tail:
    """The law of known scales."""
    return GAUSSIAN if noise.kind == "gaussian" else SUBGAUSSIAN


def quantiles(noise: Noise, risk: float, n: int, rank: int, nu: int) -> FloatArray:
    """The z of each objective: Student's where its scale is estimated."""
    unknowns, laws = noise.unknowns, []
    if not unknowns.all() or not len(unknowns):
        laws.append(tail_of(noise))
    if unknowns.any():
        laws.append(student(nu))
    z = confidence.simultaneous_widths(risk, n, len(unknowns), rank, laws)
    return np.where(unknowns, z[-1], z[0])


def estimate_noise(
    noise: Noise, residual: ResidualSums, scale_from: ScaleFrom, means: FloatArray
) -> Estimated | None:
    """Scales from the residuals of one fit; known ones as they are; None without a spare pull.

    Silent is a metric whose repeats agree, or whose residuals are no more than the rounding of its
    means (n, d): a width made of that would be no width at all.
    """
    if not noise.unknowns.any():
        return Estimated(noise.sigma, 0, silent=False)
    replicates = scale_from == "replicates" or residual.df_lack < 1
    squares = residual.pure_error + (0.0 if replicates else residual.lack_of_fit)
    nu = residual.df_pure + (0 if replicates else residual.df_lack)
    if nu < 1:
        return None
    sigma_hat = confidence.resolution_floor(np.sqrt(squares / nu), noise.resolution)
    constant = sigma_hat <= _ROUNDING * np.abs(means).max(axis=0)
    if residual.df_pure > 0:
        constant |= residual.pure_error <= 0.0
    silent = bool((noise.unknowns & constant & (noise.resolution == 0.0)).any())
    return Estimated(np.where(noise.unknowns, sigma_hat, noise.sigma), nu, silent)


def read_uniform(
    arms: IntArray,
    mu: FloatArray,
    unit: FloatArray,
    eta: float,
    sigma: FloatArray,
    bound: str,
    twin: IntArray | None = None,
) -> Reading:
    """One eta for all pairs, in working units; none where equal features make the estimates one."""
    widths = Widths(unit, uniform=eta)
    if twin is not None and len(np.unique(twin[arms])) < len(arms):
        group = twin[arms]
        widths = Widths(unit, pair=lambda rows: eta * (group[rows][:, None] != group))
    return Reading(arms, mu, widths, bound, unit, sigma, 2.0 * eta)


def read_pairs(
    arms: IntArray,
    mu: FloatArray,
    spread: Spread,
    z: FloatArray,
    found: Estimated,
    unit: FloatArray,
) -> Reading:
    """Each pair its own width z_c sigma_c s_ij."""
    sigma = found.sigma
    unit = unit if unit.size else sigma / max(float(sigma.max()), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = 2.0 * float((z * sigma / unit).max()) * spread.widest
    bound = "Student t" if found.nu else "pairs and Scheffe"
    # arms of equal features differ by nothing, and z is 0 if all are: any scale will do
    widths = Widths(np.where(z > 0, z, 1.0) * sigma, pair=spread.pair)
    return Reading(arms, mu, widths, bound, unit, sigma, accuracy, found.nu, found.silent)


def read_alike(
    arms: IntArray,
    mu: FloatArray,
    spread: Spread,
    z: FloatArray,
    found: Estimated,
    unit: FloatArray,
) -> Reading:
    """`read_pairs` of independent arms; one number where all were measured equally often.

    The verdicts are the same, and come from the front alone: a hundred thousand arms have 10^10 pairs.
    """
    made = read_pairs(arms, mu, spread, z, found, unit)
    if spread.v is None or np.ptp(spread.v) > 0.0:
        return made
    return made._replace(widths=replace(made.widths, pair=None, uniform=spread.widest))


def read_own(
    arms: IntArray, tally: Tally, noise: Noise, risk: float, K: int, unit: FloatArray
) -> Reading:
    """Each arm its own variance, from its own pulls; ``tally`` is theirs alone, K arms raced at first.

    The pair has the smaller number of degrees of freedom, which bounds the Behrens-Fisher statistic
    from above (Mickey, Brown 1966). A single pull says nothing: its quantile is infinite.
    """
    d, n = len(noise.sigma), tally.counts[:, None]
    nu = np.maximum(n - 1, 0)
    never = (tally.m2 <= 0.0) & (nu > 0) & noise.unknowns & (noise.resolution == 0.0)
    steps = np.broadcast_to(noise.resolution, tally.m2.shape)
    own = confidence.resolution_floor(np.sqrt(tally.m2 / np.maximum(nu, 1)), steps)
    sigma = np.where(noise.unknowns, np.where(nu > 0, own, 1.0), noise.sigma)
    freedoms, which = np.unique(nu, return_inverse=True)
    t = [_own_quantile(risk, K, d, int(k)) for k in freedoms]
    known = confidence.pairs_width(risk, K, d, tail_of(noise))
    quantile = np.where(noise.unknowns, np.array(t)[which].reshape(nu.shape), known)
    typical = np.sqrt(np.square(sigma).mean(axis=0))
    unit = unit if unit.size else typical / max(float(typical.max()), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = 2.0 * float((quantile * sigma * np.sqrt(2.0 / n) / unit).max())
    widths = Widths(
        np.where(unit > 0, unit, 1.0), uniform=0.0, variance=sigma**2 / n, quantile=quantile
    )
    bound = "Student t, own variances"
    silent = bool(never.any())
    return Reading(arms, tally.means, widths, bound, unit, typical, accuracy, int(nu.min()), silent)


def _own_quantile(risk: float, K: int, d: int, nu: int) -> float:
    """Student's quantile for the pairs of K arms; infinite without a degree of freedom."""
    return confidence.pairs_width(risk, K, d, student(nu)) if nu else float("inf")


def with_misfit(reading: Reading, setting: Setting, counts: IntArray) -> Reading:
    """Widths grown by what a model wrong by zeta can add; hidden when that is most of them."""
    if setting.zeta is None:
        return reading
    zeta = setting.zeta[setting.noisy]
    beta = setting.model.misfit_factors(reading.arms, counts)
    old = reading.widths
    widths = Widths(old.scale, old.uniform, old.pair, zeta, beta)
    eta = reading.accuracy / 2.0 * reading.unit
    hidden = bool((zeta > 0).any() and (eta <= zeta * beta.max() / 2.0).all())
    bound = f"{reading.bound}, widened by the misfit"
    return reading._replace(widths=widths, bound=bound, hidden=hidden)


def noisy_part(setting: Setting, tally: Tally) -> Tally:
    """A tally of candidates by arm, noisy metrics only."""
    first, noisy = setting.model.first, setting.noisy
    if len(first) == setting.K and noisy.all():
        return tally
    return Tally(tally.counts[first], tally.means[first][:, noisy], tally.m2[first][:, noisy])


def by_arm(first: IntArray, inverse: IntArray, tally: Tally) -> Tally:
    """All measurements under the candidate that stands for its arm (equal features are one arm)."""
    if len(first) == len(inverse):
        return tally
    told = np.flatnonzero(tally.counts)
    at, n = first[inverse[told]], tally.counts[told][:, None]
    made = Tally.empty(*tally.means.shape)
    made.means[at] = tally.means[told]  # any mean of the arm: differences lose no digits
    shift, total = made.means.copy(), np.zeros_like(made.means)
    np.add.at(made.counts, at, tally.counts[told])
    np.add.at(total, at, n * (tally.means[told] - shift[at]))
    made.means[:] = shift + total / np.maximum(made.counts, 1)[:, None]
    np.add.at(made.m2, at, tally.m2[told] + n * np.square(tally.means[told] - made.means[at]))
    return made
