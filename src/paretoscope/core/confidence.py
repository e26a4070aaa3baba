"""How wrong an estimate can be: tails of one contrast, and unions over all that matter.

A round (or a look) estimates every mean by least squares. Written in units of the noise, the error of
``mu_hat_j - mu_hat_i`` in one objective has the standard deviation ``s_ij = |x_i - x_j|`` in the norm of
``V^+``. A verdict on the active arms A (n of them, d objectives) can only be wrong if

(a) for some i and some j that does not dominate it, the error of ``mu_hat_j - mu_hat_i`` reaches eta in
    ONE objective (one in which j is truly not above i), or
(b) for some sub-optimal i and the optimal arm i* that dominates it most, the error of
    ``mu_hat_i - mu_hat_i*`` reaches eta in some objective.

Every ``*_failure`` below bounds the probability of (a) or (b); all are functions of the design alone, so
the smallest of them is a bound too. At least one active arm is optimal, and the pair (i*, i) of (b) is
already counted once in (a). For sub-optimal i the labels do not need (a), which is why it costs a row no
more than d - 2 terms where d > 2; it makes every rejection one by an arm that truly dominates, and so
keeps the others right when an arm turns out not to be measurable after all.

Gaussian noise has the tail 1 - Phi; any sub-Gaussian noise of the same scale has exp(-x^2/2); an estimated
scale with nu degrees of freedom has Student's. A `Tail` holds the three faces of one such law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.errors import UsageError

# Rows of the pair matrix held at once: 4 MB blocks stay in the cache.
_BLOCK = 500_000
# The customary power at which a smallest detectable misfit is quoted.
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class Tail:
    """The law of an error in units of its (known or estimated) standard deviation.

    Attributes
    ----------
    name : str
        What is assumed, in words.
    upper : callable
        ``upper(x)``: P(error of one contrast >= x), elementwise, x >= 0.
    quantile : callable
        ``quantile(p)``: the x with ``upper(x) = p``.
    ball : callable
        ``ball(x, rank)``: P(the error of some contrast in a space of that rank >= x standard deviations).
    ball_quantile : callable
        ``ball_quantile(p, rank)``: the x with ``ball(x, rank) = p``.
    """

    name: str
    upper: Callable[[FloatArray], FloatArray]
    quantile: Callable[[float], float]
    ball: Callable[[float, int], float]
    ball_quantile: Callable[[float, int], float]


def _gaussian_ball(x: float, rank: int) -> float:
    """P(chi2_rank >= x^2)."""
    return float(special.chdtrc(rank, x * x))


def _gaussian_ball_quantile(p: float, rank: int) -> float:
    """Root of the upper chi-square quantile."""
    return float(np.sqrt(special.chdtri(rank, p)))


def _subgaussian_upper(x: FloatArray) -> FloatArray:
    """exp(-x^2/2): Chernoff's bound for any noise whose moment generating function is below the normal's."""
    bound: FloatArray = np.exp(-0.5 * np.square(x))
    return bound


def _subgaussian_ball(x: float, rank: int) -> float:
    """e^-t with rank + 2 sqrt(rank t) + 2 t = x^2 (Hsu, Kakade, Zhang 2012, theorem 2.1)."""
    if x * x <= rank:
        return 1.0
    root_t = 0.5 * (np.sqrt(2.0 * x * x - rank) - np.sqrt(rank))
    return float(np.exp(-root_t * root_t))


def _subgaussian_ball_quantile(p: float, rank: int) -> float:
    """The same statement, solved for x."""
    t = np.log(1.0 / p)
    return float(np.sqrt(rank + 2.0 * np.sqrt(rank * t) + 2.0 * t))


GAUSSIAN = Tail(
    name="Gaussian noise of known scale",
    upper=lambda x: special.ndtr(-x),
    quantile=lambda p: float(-special.ndtri(p)),
    ball=_gaussian_ball,
    ball_quantile=_gaussian_ball_quantile,
)
SUBGAUSSIAN = Tail(
    name="sub-Gaussian noise of known scale",
    upper=_subgaussian_upper,
    quantile=lambda p: float(np.sqrt(2.0 * np.log(1.0 / p))),
    ball=_subgaussian_ball,
    ball_quantile=_subgaussian_ball_quantile,
)


def student(nu: float) -> Tail:
    """Gaussian noise whose scale is estimated with nu degrees of freedom, independently of the means.

    One contrast follows Student's t, the whole space Scheffe's ``sqrt(rank F_{rank, nu})``.
    Plugging the estimate into the normal law instead is too small: 3.09 in place of 4.14 at nu = 10, p = 1e-3.
    """
    if not nu >= 1:
        raise UsageError(
            f"nu = {nu} degrees of freedom cannot estimate a noise level: measure more"
        )

    def ball_quantile(p: float, rank: int) -> float:
        beta = special.betaincinv(nu / 2.0, rank / 2.0, p)  # P(F >= f) = I_{nu/(nu + rank f)}
        return float(np.sqrt(nu * (1.0 - beta) / beta))

    return Tail(
        name=f"Gaussian noise of unknown scale ({nu:g} degrees of freedom)",
        upper=lambda x: special.stdtr(nu, -x),
        quantile=lambda p: float(-special.stdtrit(nu, p)),
        ball=lambda x, rank: float(special.fdtrc(rank, nu, x * x / rank)),
        ball_quantile=ball_quantile,
    )


# ---------------------------------------------------------------- unions over arms, pairs, directions


def event_count(n: int, d: int) -> int:
    """Number of one-sided events that (a) and (b) amount to when all pairs count alike.

    Each of n (n-1) ordered pairs is charged one objective; each of at most n-1 sub-optimal arms d - 2 more.

    >>> event_count(10, 2), event_count(10, 4)
    (90, 108)
    """
    return (n - 1) * (n + max(d - 2, 0))


def pairs_failure(s: FloatArray, eta: float, d: int, tail: Tail = GAUSSIAN) -> float:
    """Bound by the pairs, each with its own width: sum_i [sum_j Q_ij + (d-2) max_j Q_ij].

    Parameters
    ----------
    s : (n, n) array
        Standard deviations ``s_ij`` of the pairs, in units of the noise; the diagonal is ignored.
    eta : float
        The error that must not be reached, in the same units.

    Notes
    -----
    Row i costs its sum when i is optimal. When it is not, the pair (i, i*) leaves the sum and comes back with
    d - 1 events. As at least one arm is optimal, the cheapest row is not charged for that.
    """
    n = len(s)
    if n < 2:
        return 0.0
    total, largest = _row_charges(s, eta, tail)
    return float(total.sum() + max(d - 2, 0) * (largest.sum() - largest.min()))


def _row_charges(s: FloatArray, eta: float, tail: Tail) -> tuple[FloatArray, FloatArray]:
    """For each row of pairs: the sum of Q_ij, and their largest."""
    n = len(s)
    total, largest = np.empty(n), np.empty(n)
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        Q = _upper_of_ratio(eta, s[rows], tail)
        Q[np.arange(rows.stop - start), np.arange(start, rows.stop)] = 0.0
        total[rows], largest[rows] = Q.sum(axis=1), Q.max(axis=1)
    return total, largest


def _upper_of_ratio(eta: float, s: FloatArray, tail: Tail) -> FloatArray:
    """Q(eta / s), and 0 where s = 0: the difference of equal arms is known without error."""
    with np.errstate(divide="ignore"):
        return tail.upper(eta / s)


def arms_failure(s: FloatArray, eta: float, d: int, tail: Tail = GAUSSIAN) -> float:
    """Bound by the arms, O(n): two errors below eta/2 differ by less than eta; two sides, d objectives.

    Parameters
    ----------
    s : (n,) array
        Standard deviations of ``x_i - x_0``, any fixed x_0 (0, or the mean of the active arms).
    """
    if len(s) < 2:
        return 0.0
    return float(2 * d * _upper_of_ratio(0.5 * eta, s, tail).sum())


def scheffe_failure(s_max: float, eta: float, d: int, rank: int, tail: Tail = GAUSSIAN) -> float:
    """Bound by Scheffe: every direction of a space of that rank at once, so no number of arms enters.

    Parameters
    ----------
    s_max : float
        The largest ``s_ij``.
    rank : int
        Rank of the differences ``x_i - x_j``.
    """
    if rank == 0 or s_max == 0.0:
        return 0.0
    return d * tail.ball(eta / s_max, rank)


def pairs_width(risk: float, n: int, d: int, tail: Tail = GAUSSIAN) -> float:
    """The z such that no pair errs by z s_ij in an event that matters, except with probability risk."""
    return tail.quantile(risk / event_count(n, d)) if n > 1 else 0.0


def scheffe_width(risk: float, d: int, rank: int, tail: Tail = GAUSSIAN) -> float:
    """The z such that no direction errs by z standard deviations in any objective, except with that risk."""
    return tail.ball_quantile(risk / d, rank) if rank > 0 else 0.0


def simultaneous_width(risk: float, n: int, d: int, rank: int, tail: Tail = GAUSSIAN) -> float:
    """The smaller of `pairs_width` and `scheffe_width`: both are known before sampling."""
    return simultaneous_widths(risk, n, d, rank, [tail])[0]


def simultaneous_widths(
    risk: float, n: int, d: int, rank: int, tails: Sequence[Tail]
) -> tuple[float, ...]:
    """One z per law when the d objectives obey different ones: all by pairs, or all by Scheffe.

    The pairs charge the risk to events that may all lie in one objective, Scheffe charges a d-th of it
    to each: the smaller of the two for each objective alone could cost up to twice the risk.
    """
    by_pairs = tuple(pairs_width(risk, n, d, tail) for tail in tails)
    by_ball = tuple(scheffe_width(risk, d, rank, tail) for tail in tails)
    return min(by_pairs, by_ball, key=max)


def supremum_width(
    W: FloatArray, risk: float, d: int, draws: int, rng: np.random.Generator, limits: int = 1
) -> tuple[float, float]:
    """Gaussian supremum by Monte Carlo: eta with P(some pair of arms errs by eta in some objective) <= risk.

    Parameters
    ----------
    W : (n, h) array
        Whitened arms: ``s_ij = |W_i - W_j|``.
    limits : int
        From how many simulated limits the smallest will be chosen: the luckiest is wrong more often than
        any one of them.

    Returns
    -------
    eta : float
        An upper confidence limit of the quantile of ``max_ij (W_i - W_j)'g`` at level ``.9 risk / d``.
        Infinite when the draws are too few to say.
    share : float
        The probability with which this limit may be wrong.

    Notes
    -----
    A tenth of the risk pays for the simulation, divided among the limits. The (k+1)-th largest of M draws
    is below the quantile only if at most k draws exceed it: probability Binomial(M, level) <= k.
    """
    share = 0.1 * risk / limits
    level = 0.9 * risk / d
    G = rng.standard_normal((draws, W.shape[1])) @ W.T
    spread = np.sort(G.max(axis=1) - G.min(axis=1))
    k = np.arange(draws)
    allowed = np.flatnonzero(special.bdtr(k.astype(np.float64), draws, level) <= share)
    if len(allowed) == 0:
        return float("inf"), share
    return float(spread[draws - 1 - allowed[-1]]), share


# ---------------------------------------------------------------- models that are wrong, noise that is unknown


def misspecification_factor(Z: FloatArray, V: FloatArray, counts: IntArray) -> FloatArray:
    """beta_ij: how far a misfit of size 1 per arm can push the estimate of mu_j - mu_i.

    Parameters
    ----------
    Z : (n, h) array
        Features in full-rank coordinates.
    V : (h, h) array
        ``sum n_a z_a z_a'``.
    counts : (n,) array
        Pulls n_a.

    Returns
    -------
    (n, n) array
        ``beta_ij = sum_a |G_ia - G_ja - 1{a=i} + 1{a=j}|`` with ``G_ia = n_a z_i' V^-1 z_a``; it is at most
        ``2 + sqrt(N) s_ij`` (Cauchy-Schwarz).
    """
    R = Z @ np.linalg.solve(V, Z.T) * counts - np.eye(len(Z))
    beta = np.empty((len(Z), len(Z)))
    for i, row in enumerate(R):
        beta[i] = np.abs(row - R).sum(axis=1)
    return beta


def sigma_upper(sigma_hat: FloatArray, nu: float, risk: float) -> FloatArray:
    """Upper confidence limits of the noise scales of all d objectives at once (Gaussian noise).

    >>> float(sigma_upper(np.ones(3), 20, 0.005)[0].round(3))
    1.775
    """
    d = len(sigma_hat)
    lower_chi2 = special.chdtri(nu, 1.0 - risk / d)
    limit: FloatArray = sigma_hat * np.sqrt(nu / lower_chi2)
    return limit


def resolution_floor(sigma_hat: FloatArray, resolution: FloatArray) -> FloatArray:
    """A noise estimate is never below resolution / sqrt(12), the deviation of a rounding error."""
    floored: FloatArray = np.maximum(sigma_hat, resolution / np.sqrt(12.0))
    return floored


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """Outcome of the test of a linear model against replicates.

    Attributes
    ----------
    F, p : (d,) arrays
        Statistic and p-value of each objective.
    rejected : (d,) bool array
        Whether the model is refused there, at the level divided by d (Bonferroni).
    detectable : (d,) array
        The root mean square misfit per pull the test finds with probability .8.
    """

    F: FloatArray
    p: FloatArray
    rejected: BoolArray
    detectable: FloatArray


def lack_of_fit(
    ss_lack: FloatArray,
    ss_pure: FloatArray,
    df_lack: int,
    df_pure: int,
    N: int,
    level: float = 0.005,
    misfit: FloatArray | None = None,
) -> LackOfFit:
    """F test of the misfit of m pulled arms to an h-dimensional model against the noise within arms.

    Parameters
    ----------
    ss_lack, ss_pure : (d,) arrays
        Sums of squares between the arms' means and the fit, and within arms.
    df_lack, df_pure : int
        m - h and N - m.
    N : int
        Pulls in all.
    misfit : (d,) array, optional
        What the model is allowed to be wrong by at any arm; the test then asks whether it is wrong by more.

    Raises
    ------
    UsageError
        If there is nothing to test with: no arm beyond h, or no replicates.
    """
    if df_lack < 1 or df_pure < 1:
        raise UsageError(
            f"a test of the fit needs more arms than parameters (spare: {df_lack}) and replicates (spare: {df_pure}):"
            " pull some arms beyond the support of the design, and some twice"
        )
    d = len(ss_lack)
    mean_square = ss_pure / df_pure
    F = (ss_lack / df_lack) / mean_square
    p: FloatArray = special.fdtrc(df_lack, df_pure, F)
    if misfit is not None and misfit.any():
        # allowed noncentrality, with the noise at its lower limit (risk level / 2d of its own)
        low = mean_square * df_pure / special.chdtri(df_pure, level / (2 * d))
        allowed = np.where(low > 0, N * misfit**2 / np.maximum(low, 1e-300), np.inf)
        p = np.minimum(1.0, 1.0 - special.ncfdtr(df_lack, df_pure, allowed, F) + level / (2 * d))
    critical = special.fdtri(df_lack, df_pure, 1.0 - level / d)
    noncentrality = special.ncfdtrinc(df_lack, df_pure, 1.0 - _POWER, critical)
    detectable = np.sqrt(mean_square * noncentrality / N)  # N misfit^2 / sigma^2 = noncentrality
    return LackOfFit(F, p, p <= level / d, detectable)
