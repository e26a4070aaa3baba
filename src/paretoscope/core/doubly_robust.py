"""Doubly robust estimates of linear means from few explorations, each used many times.

    X = sum_i lambda_i v_i u_i'           # singular values; x_k = Z_k in the axes u_i, z_i = lambda_i u_i
    z_i = sum_k v_ik x_k: an arm drawn with probability |v_ik| / |v_i|_1 and its value, times
        |v_i|_1 sgn v_ik, stand for a value of z_i
    step t has h + 1 vectors: z_1 ... z_h and the arm that is pulled. One is picked, z_i with
        probability 1/2h and the arm with 1/2; it counts 2h or 2 times, and for all others, and for
        what it differs from it, stands a guess (ridge regression on all pulls)
    F = sum of all these vectors' squares + I      # h + 1 a step

Kim, Iyengar, Zeevi, "Learning the Pareto Front Using Bootstrapped Observation Samples", AISTATS
2025. Values are in units of the noise. What the published rule leaves open is chosen here: the value of
an arm drawn for an axis is the mean of its explorations so far, and the guess is made of all pulls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.least_squares import row_basis

# Explorations that their theorem asks for: EXPLORED h^3 ln(2 h t^2 / delta) of t pulls.
EXPLORED = 33750.0


class Axes(NamedTuple):
    """The arms in the axes of their own second moments.

    Attributes
    ----------
    Z : (n, h) array
        Arms; zero where they cannot be measured.
    lengths : (h,) array
        lambda_i: z_i is that far along axis i.
    v : (h, n) array
        What every arm adds to z_i; ``z_i = v_i Z``.
    reach : (h, n) array
        Probabilities |v_ik| / |v_i|_1 summed over the arms up to k, plus i.
    """

    Z: FloatArray
    lengths: FloatArray
    v: FloatArray
    reach: FloatArray


def axes_of(X: FloatArray, barred: BoolArray) -> Axes:
    """The axes of the rows of X (n, p) that are not barred.

    >>> found = axes_of(np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 0.0]]), np.zeros(3, dtype=bool))
    >>> found.lengths.round(3).tolist(), np.abs(found.v).round(3).tolist()
    ([5.0], [[0.6, 0.8, 0.0]])
    """
    rows = np.where(barred[:, None], 0.0, X)
    h = row_basis(rows)[1] if rows.any() else 1
    left, lengths, _ = np.linalg.svd(rows, full_matrices=False)
    v = left.T[:h]
    reach = np.cumsum(np.abs(v), axis=1)
    reach = reach / reach[:, -1:] + np.arange(h)[:, None]
    return Axes(v.T * lengths[:h], lengths[:h], v, reach)


def arms_for(axes: Axes, axis: IntArray, luck: FloatArray) -> IntArray:
    """The arms that stand for some axes, by numbers uniform in [0, 1)."""
    at = np.searchsorted(axes.reach.ravel(), axis + luck, side="right")
    return np.asarray(np.minimum(at - axis * len(axes.Z), len(axes.Z) - 1), dtype=np.int64)


def explorations(h: int, t: int, delta: float, scale: float = 1.0) -> float:
    """gamma_t, the explorations wanted of t pulls.

    >>> round(explorations(4, 10**6, 0.1) / 1e6, 1)
    69.1
    """
    return scale * EXPLORED * h**3 * float(np.log(2.0 * h * float(t) ** 2 / delta))


def first_label(h: int, delta: float, scale: float = 1.0) -> float:
    """Pulls from which on at most half of all have to be explorations: t >= 2 gamma_t.

    ``t >= 2 a ln(a b)`` implies ``t >= a ln(b t)``; here a = 4 C, b = sqrt(2 h / delta) and
    C = EXPLORED h^3 scale. The published statement has the factor 8 C and leaves its logarithm open.

    >>> round(first_label(4, 0.1) / 1e8, 1)
    3.1
    """
    a = 4.0 * scale * EXPLORED * h**3
    return 2.0 * a * max(1.0, float(np.log(a * np.sqrt(2.0 * h / delta))))


def turns(arm: IntArray) -> IntArray:
    """For each entry, how many before it are equal to it.

    >>> turns(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(arm, kind="stable")
    place = np.arange(len(arm))
    starts = np.searchsorted(arm[order], arm[order])
    turn = np.empty(len(arm), dtype=np.int64)
    turn[order] = place - starts
    return turn


def explores(arm: IntArray, drawn: IntArray, explored: IntArray, share: float) -> BoolArray:
    """Which draws of arms are explorations, after ``drawn`` (n,) draws of which ``explored`` were.

    The rule, draw by draw: explore if the explorations so far are at most share times the draws,
    this one included. After the k-th draw there are floor(share k) + 1 as soon as they have caught up.
    """
    before, turn = explored[arm], turns(arm)
    k = drawn[arm] + turn
    now = np.minimum(before + turn + 1, np.floor(share * (k + 1)).astype(np.int64) + 1)
    last = np.minimum(before + turn, np.floor(share * k).astype(np.int64) + 1)
    return np.asarray(np.maximum(before, now) > np.maximum(before, last))


class Sums(NamedTuple):
    """What the steps so far come to.

    Attributes
    ----------
    t : int
        Steps.
    picked : (h, h) array
        For each axis, the sum of |v_i|_1 sgn v_ik Z_k over its picks.
    worth : (h, d) array
        The same sum of the arms' values.
    pulls, direct : (n,) arrays
        Pulls of each arm, and how many of them were picked themselves.
    total : (n, d) array
        Sum of the values of these.
    """

    t: int
    picked: FloatArray
    worth: FloatArray
    pulls: IntArray
    direct: IntArray
    total: FloatArray


def fresh_sums(n: int, h: int, d: int) -> Sums:
    """Nothing yet."""
    none = np.zeros(n, dtype=np.int64)
    return Sums(0, np.zeros((h, h)), np.zeros((h, d)), none, none, np.zeros((n, d)))


def with_picks(sums: Sums, axes: Axes, count: IntArray, values: FloatArray) -> Sums:
    """The sums after ``count`` (h, n) picks of axes by arms of these mean values (n, d)."""
    signed = np.sign(axes.v) * np.abs(axes.v).sum(axis=1, keepdims=True) * count
    return sums._replace(picked=sums.picked + signed @ axes.Z, worth=sums.worth + signed @ values)


def ridge(axes: Axes, pulls: IntArray, means: FloatArray) -> FloatArray:
    """Theta (h, d) by ridge regression, ridge 1, on the means (n, d) of pulls."""
    Zn = axes.Z * pulls[:, None]
    return np.asarray(np.linalg.solve(axes.Z.T @ Zn + np.eye(Zn.shape[1]), Zn.T @ means))


def doubly_robust(axes: Axes, sums: Sums, guess: FloatArray) -> FloatArray:
    """Theta (h, d): pseudo-values of all h + 1 vectors of every step, regressed on them with ridge 1."""
    Z, lengths, h = axes.Z, axes.lengths[:, None], len(axes.lengths)
    along = sums.t * lengths * guess + 2.0 * h * (sums.worth - sums.picked @ guess)
    expected = Z @ guess
    own = sums.pulls[:, None] * expected
    own += 2.0 * (sums.total - sums.direct[:, None] * expected)
    F = np.diag(sums.t * axes.lengths**2 + 1.0) + (Z * sums.pulls[:, None]).T @ Z
    return np.asarray(np.linalg.solve(F, lengths * along + Z.T @ own))


def published_widths(
    axes: Axes, t: int, d: int, delta: float, size: float, left: int
) -> FloatArray:
    """Widths (n,) of the estimated means with ``left`` arms undecided and |theta| at most ``size``."""
    h = len(axes.lengths)
    norm = np.sqrt((axes.Z**2 / (t * axes.lengths**2 + 1.0)).sum(axis=1))
    if left > h:
        level = size + np.sqrt(h * np.log(7.0 * d * t / delta))
    else:
        level = size + 3.0 * np.sqrt(np.log(56.0 * d * h * float(t) ** 2 / delta))
    return np.asarray(3.0 * norm * level)
