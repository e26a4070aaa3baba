"""From the weights of a design to integer pulls, and how good those pulls are.

F(n) = max_i z_i' V(n)^-1 z_i over all arms, V(n) = sum n_a z_a z_a', is what every width depends
on.  GEGE (Kone, Kaufmann, Richert, AISTATS 2025, appendix on computation and rounding) asks for
integers of sum N with F(n) <= (1 + 6 kappa) h / N whenever N >= 5 h / kappa^2.  Efficient
apportionment gives F(n) <= F(w) / (N - m + 1) on a support of m arms, nearly always less, and the
exact leverage of the integers certifies it; the regret-minimisation swaps of Allen-Zhu, Li, Singh
and Wang (2017, 2021) and Caratheodory's reduction of the support stand behind it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.least_squares import EPS, gram_factor, leverages, whiten
from paretoscope.errors import NumericalError, UsageError

LARGEST = 2**53  # beyond this float64 no longer counts one by one
MAX_SWAPS = 10_000  # ample: from rounded weights a few h swaps are made; the theory allows n / eps
SWAP_WORK = 2 * 10**10  # multiplications, about ten seconds: fewer swaps on very many arms
PROMISE_SLACK = 1e-9  # rounding of the leverage itself
NULL_TOL = 1e-10  # singular values below this share are dependent moments


class Rounding(NamedTuple):
    """Integer pulls (K,), their exact largest leverage over all arms, and how they were found."""

    counts: IntArray
    leverage: float
    method: str


def apportion(w: npt.ArrayLike, n: int) -> IntArray:
    """Efficient rounding of weights w (K,) to integers (K,) of sum n (Pukelsheim, Rieder 1992).

    Starts from ceil((n - m/2) w_a) on the m arms with weight, then adds a pull where n_a / w_a is
    least or takes one where (n_a - 1) / w_a is greatest, lowest index first among ties.  The
    result has min n_a / w_a >= n - m + 1.  The weights need not sum to one.

    Raises UsageError for bad weights and for n below the number of positive weights.

    >>> apportion([0.5, 0.3, 0.2], 11).tolist()
    [6, 3, 2]
    """
    support, v, size = _support(w, n)
    m = len(v)
    if n < m:
        raise UsageError(f"n={n} pulls cannot cover {m} arms: raise n to {m} or shrink the support")
    with np.errstate(over="ignore"):  # a weight of 1e-320 asks for its pull last: inf is right
        total = v.sum()
        pulls = np.ceil((n - m / 2) * v / total)
        gap = int(n - pulls.sum())
        if gap > 0:
            pulls = _grow(v, pulls, gap, np.ceil(n * v / total))
        elif gap < 0:
            pulls = _shrink(v, pulls, -gap, np.ceil((n - m) * v / total))
        pulls = _exchange(v, pulls)
    return _spread(support, pulls, size)


def largest_remainder(w: npt.ArrayLike, n: int) -> IntArray:
    """Quotas n w_a rounded down, the rest by largest remainder: integers (K,) of sum n >= 0.

    Ties go to the lowest index; arms without weight get nothing.

    Raises UsageError for bad weights and for negative n.

    >>> largest_remainder([0.5, 0.3, 0.2], 11).tolist()
    [6, 3, 2]
    """
    support, v, size = _support(w, n)
    total = v.sum()
    share = n * v
    rest = np.fmod(share, total)  # exact, where a quotient minus its floor is not
    pulls = np.rint((share - rest) / total)
    gap = int(n - pulls.sum())
    if gap < 0:  # quotas rounded up by one ulp, n near 2^53 only
        pulls[np.argsort(-pulls, kind="stable")[:-gap]] -= 1
    else:
        pulls += gap // len(v)
        pulls[np.argsort(-rest, kind="stable")[: gap % len(v)]] += 1
    return _spread(support, pulls, size)


def _support(w: npt.ArrayLike, n: int) -> tuple[IntArray, FloatArray, int]:
    """Arms with weight, their weights and K, once the arguments make sense."""
    weights = np.asarray(w, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0 or not (weights.min() >= 0 < weights.sum() < np.inf):
        raise UsageError("weights must be a vector, finite, not negative and not all zero")
    if not 0 <= n < LARGEST:
        raise UsageError(f"n={n} pulls: give an integer from 0 to 2**53 - 1")
    support = np.flatnonzero(weights)
    return support, weights[support], weights.size


def _spread(support: IntArray, pulls: FloatArray, size: int) -> IntArray:
    """Counts over all arms from counts on the support."""
    counts = np.zeros(size, dtype=np.int64)
    counts[support] = pulls
    return counts


def _ladder(extra: FloatArray) -> tuple[IntArray, IntArray]:
    """Arm and running number 0..extra_a - 1 of every further pull, arm by arm."""
    steps = np.maximum(extra, 0).astype(np.int64)
    arm = np.repeat(np.arange(len(steps)), steps)
    return arm, np.arange(len(arm)) - np.repeat(np.cumsum(steps) - steps, steps)


def _grow(v: FloatArray, pulls: FloatArray, gap: int, most: FloatArray) -> FloatArray:
    """`gap` more pulls, each at argmin n_a / v_a; no arm goes beyond most + 1."""
    arm, k = _ladder(most + 1 - pulls)
    key = (pulls[arm] + k) / v[arm]
    # keys of one arm increase, so the greedy sequence is the sorted one; stable = lowest index
    taken = arm[np.argsort(key, kind="stable")[:gap]]
    return pulls + np.bincount(taken, minlength=len(v))


def _shrink(v: FloatArray, pulls: FloatArray, gap: int, least: FloatArray) -> FloatArray:
    """`gap` fewer pulls, each at argmax (n_a - 1) / v_a; no arm goes below least - 1 or 1."""
    arm, k = _ladder(pulls - np.maximum(least - 1, 1))
    key = (k + 1 - pulls[arm]) / v[arm]
    taken = arm[np.argsort(key, kind="stable")[:gap]]
    return pulls - np.bincount(taken, minlength=len(v))


def _exchange(v: FloatArray, pulls: FloatArray) -> FloatArray:
    """Move pulls until max (n - 1)/v <= min n/v: undoes a rounding error of the first product."""
    while True:
        low, high = pulls / v, (pulls - 1) / v
        taker, giver = int(low.argmin()), int(high.argmax())
        if high[giver] <= low[taker]:
            return pulls
        pulls[giver] -= 1
        pulls[taker] += 1


def order_prefix(w: npt.ArrayLike, n_total: int, Z: FloatArray | None = None) -> IntArray:
    """Arms in the order of pulling, (n_total,): the next pull is at argmin n_a / w_a.

    Ties go to the lowest index, so the m arms with weight come once each first and every longer
    prefix is an efficient rounding of its own length.  With Z (K, h) the first round opens with h
    independent arms (pivoted QR of their rows): every prefix of at least h pulls spans.

    >>> order_prefix([0.5, 0.25, 0.25], 6).tolist()
    [0, 1, 2, 0, 0, 1]
    """
    order, v, _ = _priority(w, n_total, Z)
    pulls = _prefix(v, n_total)
    arm, k = _ladder(pulls)
    return order[arm[np.argsort(k / v[arm], kind="stable")]]


def prefix_counts(w: npt.ArrayLike, looks: npt.ArrayLike, Z: FloatArray | None = None) -> IntArray:
    """Counts (L, K) of `order_prefix` after each of the looks (L,), without the sequence itself.

    >>> prefix_counts([0.5, 0.25, 0.25], [3, 6]).tolist()
    [[1, 1, 1], [3, 2, 1]]
    """
    at = [int(n) for n in np.atleast_1d(np.asarray(looks))]
    order, v, size = _priority(w, max(at, default=0), Z)
    return np.array([_spread(order, _prefix(v, n), size) for n in at], dtype=np.int64)


def _priority(w: npt.ArrayLike, n: int, Z: FloatArray | None) -> tuple[IntArray, FloatArray, int]:
    """Arms with weight in the order that settles ties, their weights, and K."""
    support, v, size = _support(w, n)
    if Z is not None:
        first = _independent(Z[support])
        order = np.concatenate([first, np.setdiff1d(np.arange(len(v)), first)])
        support, v = support[order], v[order]
    return support, v, size


def _prefix(v: FloatArray, n: int) -> FloatArray:
    """Pulls after n steps of argmin n_a / v_a from zero, ties in the order of v."""
    total = v.sum()
    # every step with n_a / v_a < (n - m) / total comes first: fewer than n of them in all
    sure = np.maximum(np.ceil((n - len(v)) * v / total) - 1, 0)
    return _grow(v, sure, int(n - sure.sum()), np.ceil(n * v / total))


def _independent(rows: FloatArray) -> IntArray:
    """The h rows of rows (m, h) that pivoted QR takes first, or NumericalError."""
    m, h = rows.shape
    top = np.abs(rows).max(axis=0)  # the scaling of coordinates must not decide the rank
    factor, pivots = lapack.dgeqp3((rows / np.where(top > 0, top, 1.0)).T)[:2]
    diagonal = np.abs(np.diagonal(factor))
    if m < h or diagonal[h - 1] <= diagonal[0] * max(m, h) * EPS:
        raise NumericalError(
            f"the {m} arms with weight do not span the {h} dimensions: use weights of a design"
        )
    return np.asarray(pivots[:h], dtype=np.int64) - 1


def round_design(Z: FloatArray, w: FloatArray, n: int, kappa: float = 1 / 3) -> Rounding:
    """Integers of sum n near the design w (K,) on coordinates Z (K, h), with their exact F.

    n >= 2m, m arms with weight: efficient apportionment; m <= n < 2m: the better of it and largest
    remainder; n < m: h independent arms, then the better of largest remainder and largest leverage.
    If F(n) > (1 + 6 kappa) F(w) / n although n >= 5 h / kappa^2 (F(w) = h when w is optimal), swaps
    and then a smaller support are tried; the best of all by F is returned.

    Raises UsageError when n < h (no choice spans) and NumericalError when w itself does not span.

    >>> round_design(np.eye(2), np.array([0.5, 0.5]), 8)
    Rounding(counts=array([4, 4]), leverage=0.25, method='apportion')
    """
    h = Z.shape[1]
    if n < h:
        raise UsageError(f"n={n} pulls cannot span {h} dimensions: give at least {h}")
    m = int(np.count_nonzero(w))
    if n >= m:
        best = _rated(Z, apportion(w, n), "apportion")
        if n < 2 * m:
            best = _better(best, _rated(Z, largest_remainder(w, n), "largest-remainder"))
    else:
        best = _few(Z, w, n)
    promise = (1 + 6 * kappa) / n * (1 + PROMISE_SLACK)
    if n >= 5 * h / kappa**2 and best.leverage > promise * h:
        promise *= max(h, largest_leverage(Z, w))  # what w itself lacks, no rounding makes good
        if best.leverage > promise:
            best = _better(best, _rated(Z, swap_rounding(Z, w, n, kappa), "swap"))
        if best.leverage > promise:
            best = _better(best, _rated(Z, apportion(caratheodory(Z, w), n), "caratheodory"))
    return best


def largest_leverage(Z: FloatArray, counts: IntArray | FloatArray) -> float:
    """F(counts) = max_i z_i' V(counts)^-1 z_i over all rows of Z (K, h); inf if V is singular."""
    try:
        L = gram_factor(Z, counts)
    except NumericalError:
        return float("inf")
    return float(leverages(Z, L).max())


def _rated(Z: FloatArray, counts: IntArray, method: str) -> Rounding:
    """A rounding with its exact leverage."""
    return Rounding(counts, largest_leverage(Z, counts), method)


def _better(a: Rounding, b: Rounding) -> Rounding:
    """The one of smaller leverage, the first on a tie."""
    return b if b.leverage < a.leverage else a


def _few(Z: FloatArray, w: FloatArray, n: int) -> Rounding:
    """Fewer pulls than arms with weight: h independent arms, then the better of two fillings."""
    support = np.flatnonzero(w)
    first = _independent(Z[support])
    start = np.zeros(len(w), dtype=np.int64)
    start[support[first]] = 1
    rest = n - len(first)
    filled = _rated(Z, start + largest_remainder(w, rest), "pivots+largest-remainder")
    greedy = _rated(Z, _by_leverage(Z, support, start, rest), "pivots+leverage")
    return _better(filled, greedy)


def _by_leverage(Z: FloatArray, support: IntArray, start: IntArray, rest: int) -> IntArray:
    """`rest` more pulls, each at the arm of the support with the largest leverage."""
    counts = start.copy()
    W = whiten(Z[support], gram_factor(Z, start))
    for _ in range(rest):
        s2 = np.einsum("ij,ij->i", W, W)
        k = int(s2.argmax())
        counts[support[k]] += 1
        # (I + u u')^-1/2 = I - (1 - 1/sqrt(1 + |u|^2)) u u' / |u|^2, u the row pulled
        W -= np.outer(W @ W[k], W[k] * ((1 - (1 + s2[k]) ** -0.5) / s2[k]))
    return counts


def swap_rounding(
    Z: FloatArray, w: FloatArray, n: int, kappa: float = 1 / 3, start: IntArray | None = None
) -> IntArray:
    """Swaps guided by regret minimisation (Allen-Zhu, Li, Singh, Wang 2017, 2021), sum n.

    In coordinates u_i with sum n w_i u_i u_i' = I let M = sum of u u' over the pulls made.  Then
    F <= F(w) / (n lambda_min(M)), so lambda_min(M) is what to raise.  Follow-the-regularised-leader
    plays A = (c I + alpha M)^-2 with trace 1, alpha = sqrt(h) / eps: a smooth picture of the
    directions in which M is weakest.  Each step gives up the pull with the least
    <A, uu'> / (1 - 2 alpha <A^1/2, uu'>) and takes, from all arms, with repetition, the greatest
    <A, uu'> / (1 + 2 alpha <A^1/2, uu'>), until lambda_min(M) >= 1 - 3 eps, or no swap gains, or
    the work allowed is done: F of the result decides, not the method.
    eps = 2 kappa / (1 + 6 kappa) makes 1 / (1 - 3 eps) exactly the promised 1 + 6 kappa.

    `start` (K,) is any allocation of n pulls, the largest remainder of w by default.

    Raises NumericalError when w does not span, UsageError for kappa outside (0, 1/3].
    """
    if not 0 < kappa <= 1 / 3:
        raise UsageError(f"kappa={kappa} is outside (0, 1/3]")
    eps = 2 * kappa / (1 + 6 * kappa)
    counts = largest_remainder(w, n) if start is None else start.copy()
    U = whiten(Z, gram_factor(Z, w)) / np.sqrt(n)
    alpha = np.sqrt(Z.shape[1]) / eps
    for _ in range(min(MAX_SWAPS, 100 + SWAP_WORK // (Z.size * Z.shape[1]))):
        values, vectors = np.linalg.eigh((U.T * counts) @ U)
        if values[0] >= 1 - 3 * eps:
            break
        giver, taker = _best_swap(np.square(U @ vectors), counts, values, alpha)
        if giver == taker:
            break
        counts[giver] -= 1
        counts[taker] += 1
    return counts


def _best_swap(
    P: FloatArray, counts: IntArray, values: FloatArray, alpha: float
) -> tuple[int, int]:
    """Arm to give up and arm to take (the same: no gain); P (K, h) squares in M's eigenbasis."""
    root = 1 / (_leader_shift(alpha * values) + alpha * values)  # eigenvalues of A^1/2
    gain = P @ np.square(root)
    slope = 2 * alpha * (P @ root)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where((counts > 0) & (slope < 1), gain / (1 - slope), np.inf)
    profit = gain / (1 + slope)
    giver, taker = int(loss.argmin()), int(profit.argmax())
    return (giver, taker) if profit[taker] > loss[giver] else (giver, giver)


def _leader_shift(scaled: FloatArray) -> float:
    """The c with sum (c + scaled_i)^-2 = 1, scaled ascending: Newton from the left is monotone."""
    c = 1.0 - float(scaled[0])  # there the first term alone is 1
    for _ in range(60):
        term = 1 / (c + scaled)
        step = float((np.sum(term**2) - 1) / (2 * np.sum(term**3)))
        c += step
        if step <= 1e-14 * (1 + abs(c)):
            break
    return c


def caratheodory(Z: FloatArray, w: FloatArray) -> FloatArray:
    """Weights (K,) with the same sum and sum w z z' on at most h(h+1)/2 + 1 of the rows of Z.

    Moves along null vectors of the moments until weights vanish (Caratheodory's theorem); for an
    optimal design the mass is a combination of the other moments, tr(V^-1 V) = h, and the bound is
    h(h+1)/2.  Moments are taken in whitened coordinates, so the scaling of Z does not matter.

    Raises NumericalError when w does not span.
    """
    support = np.flatnonzero(w)
    W = whiten(Z[support], gram_factor(Z, w))
    rows, cols = np.triu_indices(Z.shape[1])
    size = 2 * len(rows) + 32  # arms taken up at once: the moments of all need not fit in memory
    kept = np.arange(0)
    x = np.asarray(w, dtype=np.float64)[support].copy()
    for k in range(0, len(support), size):
        kept = np.concatenate([kept, np.arange(k, min(k + size, len(support)))])
        A = np.vstack([(W[kept][:, rows] * W[kept][:, cols]).T, np.ones(len(kept))])
        x[kept] = _reduce(A, x[kept])
        kept = kept[x[kept] > 0]
    out = np.zeros(len(w))
    out[support] = x
    return out


def _reduce(A: FloatArray, x: FloatArray) -> FloatArray:
    """A nonnegative x' with A x' = A x on at most rank(A) of its entries."""
    _, s, Vt = np.linalg.svd(A)
    null = Vt[int(np.count_nonzero(s > NULL_TOL * s[0])) :].T.copy()
    target, x = A @ x, x.copy()
    while null.shape[1]:
        alive = np.flatnonzero(x > 0)
        v = null @ null[alive[x[alive].argmin()]]  # the null direction nearest the lightest arm
        v = v if np.abs(v).max() > NULL_TOL else null[:, 0]
        v = v if v.max() > 0 else -v
        ratio = np.full(len(x), np.inf)
        np.divide(x, v, out=ratio, where=v > NULL_TOL * np.abs(v).max())
        out = int(ratio.argmin())
        x = np.maximum(x - ratio[out] * v, 0.0)
        x[out] = 0.0
        null = _without(null, out)
    return _polished(A, target, x)


def _without(null: FloatArray, row: int) -> FloatArray:
    """The null vectors that vanish at `row`: a Householder reflection of the columns, one dropped."""
    u = null[row].copy()
    u[0] += np.copysign(np.linalg.norm(u), u[0])
    null = null - np.outer(null @ u, u * (2 / (u @ u)))
    null = null[:, 1:]
    null[row] = 0.0
    return null


def _polished(A: FloatArray, target: FloatArray, x: FloatArray) -> FloatArray:
    """The moments of x restored by least squares on its support, if that keeps it positive."""
    alive = np.flatnonzero(x)
    better = x[alive] + np.linalg.lstsq(A[:, alive], target - A @ x, rcond=None)[0]
    if better.min() > 0:
        x[alive] = better
    return x
