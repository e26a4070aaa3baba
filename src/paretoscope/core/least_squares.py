"""Least squares from tallies: coordinates of rank h, norms of V^-1, estimates, residual sums.

Everything works in coordinates z = B'x of full rank h, in which V = sum n_a z_a z_a' is invertible
and ``|z|`` in the norm of V^-1 equals ``|x|`` in the norm of V^+ (GEGE = Kone, Kaufmann, Richert, AISTATS
2025, appendix on computation and rounding).  V enters only through a lower triangular L, L L' = V,
so that ``s_ij = |L^-1 (z_i - z_j)|``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.errors import NumericalError, UsageError

EPS = float(np.finfo(np.float64).eps)
RANK_FACTOR = 100.0  # tol = s1 * max(shape) * eps * 100: room for features computed in float64
GRAM_FULL_RANK = 1e-9  # lambda_min / lambda_max of the Gram matrix, 1e7 times its own rounding
GRAM_TRUSTED = 1e-7  # reciprocal condition down to which Cholesky keeps about 9 digits
CLOSE_PAIR = 1e-4  # below this share of s_i^2 + s_j^2 the expanded square loses over 4 digits
BLOCK = 1 << 16  # rows handled at once: 8 MB per 16 columns


class ResidualSums(NamedTuple):
    """Sums of squares (d,) between arms and fit, and within arms, with their degrees of freedom."""

    lack_of_fit: FloatArray
    pure_error: FloatArray
    df_lack: int
    df_pure: int


@dataclass(frozen=True)
class Estimate:
    """Least squares fit: theta (h, d) and the factor L (h, h) of V; `means` keeps its digits.

    theta = slope + intercept reference', where `intercept` (h,) is the fit of the constant 1 and
    `slope` (h, d) that of the means minus `reference` (d,): least squares is linear in the
    responses, so the split is exact, intercept in the model or not.  On rows whose fitted constant
    is 1 the reference is added back as it is, without passing through a product.
    """

    theta: FloatArray
    L: FloatArray
    slope: FloatArray
    reference: FloatArray
    intercept: FloatArray

    @property
    def V(self) -> FloatArray:
        """The moment matrix sum n_a z_a z_a', shape (h, h)."""
        return self.L @ self.L.T

    def means(self, Z: FloatArray) -> FloatArray:
        """Estimated means (n, d) of the rows of Z (n, h): Z theta, good to about an ulp."""
        return self._centred(Z) + self.reference

    def residuals(self, Z: FloatArray, means: FloatArray) -> FloatArray:
        """Observed minus fitted means (n, d), formed after subtracting the common reference."""
        return (means - self.reference) - self._centred(Z)

    def _centred(self, Z: FloatArray) -> FloatArray:
        """Fitted means minus the reference."""
        if len(Z) > BLOCK:
            return np.concatenate(
                [self._centred(Z[k : k + BLOCK]) for k in range(0, len(Z), BLOCK)]
            )
        excess = Z @ self.intercept - 1.0
        # what rounding alone leaves of a constant that is in the model
        noise = 16.0 * Z.shape[1] * EPS * (np.abs(Z) @ np.abs(self.intercept) + 1.0)
        excess[np.abs(excess) <= noise] = 0.0
        fit: FloatArray = Z @ self.slope + excess[:, None] * self.reference
        return fit


def row_basis(X: FloatArray, rtol: float | None = None) -> tuple[FloatArray, int]:
    """Orthonormal basis B (p, h) of the span of the rows of X (K, p), and the rank h.

    The rank is judged after scaling the columns to one norm: it does not depend on the scaling of
    columns, and singular values of the raw matrix would call a feature in nanometres absent.  B
    spans the rows of X itself.  With h columns that are not zero B is made of unit vectors, so
    that X B holds the features to the last bit.

    Raises UsageError when every entry of X is zero.

    >>> row_basis(np.array([[3.0, 4.0], [6.0, 8.0]]))[0].round(12).tolist()
    [[0.6], [0.8]]
    """
    used, scale, directions = _some_space(X, rtol)
    B = np.zeros((X.shape[1], directions.shape[1]))
    if directions.shape[0] == directions.shape[1]:
        B[used] = directions
    else:
        Q = np.linalg.qr(scale[:, None] * directions)[0]
        B[used] = Q * np.where(Q.sum(axis=0) < 0, -1.0, 1.0)
    return B, B.shape[1]


def scaled_basis(X: FloatArray, rtol: float | None = None) -> tuple[FloatArray, int]:
    """T (p, h) such that X T has rank h and columns of like scale, and the rank h.

    T is not orthonormal, but every leverage, norm and fitted mean is the same in the coordinates
    X T as in X B; when X is rank deficient *and* its columns differ by more than about 1e6, X T
    keeps digits that X B has lost.  Scales are powers of two: no rounding.

    Raises UsageError when every entry of X is zero.
    """
    used, scale, directions = _some_space(X, rtol)
    T = np.zeros((X.shape[1], directions.shape[1]))
    T[used] = directions / scale[:, None]
    return T, T.shape[1]


def _some_space(X: FloatArray, rtol: float | None) -> tuple[IntArray, FloatArray, FloatArray]:
    """`_row_space` of rows that are not all zero."""
    found = _row_space(X, rtol)
    if found[0].size == 0:
        raise UsageError("all features are zero: give features that vary, or none at all")
    return found


def difference_rank(X: FloatArray) -> int:
    """Rank of all differences x_i - x_j; 0 where all rows are one.

    >>> difference_rank(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 5.0]]))
    1
    """
    return len(_row_space(X, None, X[0])[2].T)


def _row_space(
    X: FloatArray, rtol: float | None, origin: FloatArray | None = None
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Columns in use, their scale (powers of two) and h orthonormal directions of (X - origin) / scale."""
    o = np.zeros(X.shape[1]) if origin is None else origin
    top = np.maximum(X.max(axis=0) - o, o - X.min(axis=0))
    used = np.flatnonzero(top)
    if used.size == 0:
        return used, np.zeros(0), np.zeros((0, 0))
    unit = np.exp2(-np.frexp(top[used])[1])
    G = sum(rows.T @ rows for rows in _scaled_blocks(X, o, used, unit))
    norm = np.sqrt(np.diag(G))
    step = np.exp2(np.rint(np.log2(norm)))
    scale: FloatArray = np.exp2(np.frexp(top[used])[1]) * step
    eigenvalues = np.linalg.eigvalsh(G / np.outer(norm, norm))
    if eigenvalues[0] > GRAM_FULL_RANK * eigenvalues[-1] and rtol is None:
        return used, scale, np.eye(used.size)
    parts = [np.linalg.qr(rows / step, mode="r") for rows in _scaled_blocks(X, o, used, unit)]
    R = parts[0] if len(parts) == 1 else np.linalg.qr(np.concatenate(parts), mode="r")
    s, Vt = np.linalg.svd(R)[1:]
    tol = s[0] * (max(X.shape) * EPS * RANK_FACTOR if rtol is None else rtol)
    h = int(np.count_nonzero(s > tol))
    return used, scale, np.eye(h) if h == used.size else Vt[:h].T


def _scaled_blocks(
    X: FloatArray, origin: FloatArray, used: IntArray, unit: FloatArray
) -> Iterator[FloatArray]:
    """The rows in blocks, so that no copy of X is made: less the origin, used columns, scaled."""
    whole = used.size == X.shape[1]
    for k in range(0, len(X), BLOCK):
        rows = X[k : k + BLOCK]
        rows = rows - origin if origin.any() else rows
        yield (rows if whole else rows[:, used]) * unit


def collapse(X: FloatArray, rtol: float = 1e-12) -> tuple[IntArray, IntArray]:
    """Rows of X (K, p) equal up to rtol become one arm: (first (n_unique,), inverse (K,)).

    X[first] are the distinct rows in order of first appearance, and row k belongs to
    first[inverse[k]].  Two values of a column are equal when no gap between neighbouring values
    from one to the other exceeds rtol times the largest absolute value of the column.

    >>> collapse(np.array([[2.0], [1.0], [2.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    top = np.maximum(X.max(axis=0), -X.min(axis=0))
    Xs = X / np.where(top > 0, top, 1.0)
    suspects = _suspects(Xs, rtol)
    if suspects.size == 0:
        return np.arange(len(X)), np.arange(len(X))
    leader = np.arange(len(X))
    code = _row_codes(Xs[suspects], rtol)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    leader[suspects] = suspects[first][group]
    first, inverse = np.unique(leader, return_inverse=True)
    return first, inverse.astype(np.int64)


def _suspects(Xs: FloatArray, rtol: float) -> IntArray:
    """Rows whose projection on one odd direction has a neighbour: equal rows are among them."""
    direction = np.cos(np.arange(1, Xs.shape[1] + 1) ** 2)  # no small integer relation
    key = Xs @ direction
    order = np.argsort(key, kind="stable")
    reach = Xs.shape[1] * (rtol + 8.0 * EPS)  # |direction| <= 1, plus the rounding of the product
    near = np.diff(key[order]) <= reach
    found = np.zeros(len(Xs), dtype=bool)
    found[order[:-1][near]] = True
    found[order[1:][near]] = True
    return np.flatnonzero(found)


def _row_codes(Xs: FloatArray, rtol: float) -> IntArray:
    """One integer per row, equal for rows whose values fall in the same run in every column."""
    code = np.zeros(len(Xs), dtype=np.int64)
    for column in Xs.T:
        order = np.argsort(column, kind="stable")
        run = np.empty(len(Xs), dtype=np.int64)
        run[order] = np.cumsum(np.diff(column[order], prepend=column[order[0]]) > rtol)
        code = np.unique(code * (run.max() + 1) + run, return_inverse=True)[1].astype(np.int64)
    return code


def gram_factor(Z: FloatArray, counts: IntArray | FloatArray) -> FloatArray:
    """Lower triangular L (h, h) with L L' = V = sum counts_a z_a z_a', from Z (n, h), counts (n,).

    Counts may be the weights of a design.  Cholesky of the Gram matrix scaled to a unit diagonal
    where its condition allows, QR of the weighted rows otherwise (the condition then enters once,
    not squared).

    Raises NumericalError when the pulled arms do not span the h dimensions.

    >>> gram_factor(np.eye(2), np.array([4, 9])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    rows = _weighted(Z, counts, np.flatnonzero(counts))
    G = rows.T @ rows
    norm = np.sqrt(G.diagonal())
    if not norm.all():
        raise _not_spanning(rows)
    G /= norm
    G /= norm[:, None]
    L, info = lapack.dpotrf(G, lower=1, clean=1)
    trusted = info == 0 and lapack.dpocon(L, np.abs(G).sum(axis=0).max(), "L")[0] > GRAM_TRUSTED
    factor: FloatArray = norm[:, None] * (L if trusted else _qr(rows / norm)[1].T)
    return factor


def _weighted(Z: FloatArray, counts: IntArray | FloatArray, pulled: IntArray) -> FloatArray:
    """Rows sqrt(n_a) z_a of the pulled arms."""
    rows: FloatArray = Z[pulled] * np.sqrt(counts[pulled])[:, None]
    return rows


def _qr(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """QR of weighted rows with columns of unit norm, diagonal of R positive, or NumericalError."""
    m, h = rows.shape
    if m < h:
        raise _not_spanning(rows)
    Q, R = np.linalg.qr(rows)
    if lapack.dtrcon(np.asfortranarray(R))[0] <= max(m, h) * EPS:
        raise _not_spanning(rows)
    sign = np.where(R.diagonal() < 0, -1.0, 1.0)
    return Q * sign, R * sign[:, None]


def _not_spanning(rows: FloatArray) -> NumericalError:
    """The error for pulls that leave some direction of the coordinates unseen."""
    m, h = rows.shape
    return NumericalError(
        f"the {m} pulled arms do not span the {h} dimensions: pull at least {h} independent arms"
    )


def whiten(Z: FloatArray, L: FloatArray) -> FloatArray:
    """W (n, h) = Z L^-T: ``|W_i - W_j|`` is s_ij and ``|W_i|`` is s_i."""
    # a small inverse and a product: triangular solves start threads even for tiny matrices
    W: FloatArray = Z @ lapack.dtrtri(L, lower=1)[0].T
    return W


def leverages(Z: FloatArray, L: FloatArray) -> FloatArray:
    """Leverages s_i^2 = z_i' V^-1 z_i, shape (n,), of the rows of Z (n, h).

    >>> leverages(np.array([[1.0, 1.0]]), np.diag([2.0, 1.0])).tolist()
    [1.25]
    """
    if len(Z) <= BLOCK:
        W = whiten(Z, L)
        squares: FloatArray = np.einsum("ij,ij->i", W, W)
        return squares
    return np.concatenate([leverages(Z[k : k + BLOCK], L) for k in range(0, len(Z), BLOCK)])


def pair_norms2(Z: FloatArray, L: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """s_ij^2 (q,) for index arrays i, j (q,): the difference is taken first, then whitened."""
    return leverages(Z[i] - Z[j], L)


def pair_norms2_matrix(Z: FloatArray, L: FloatArray) -> FloatArray:
    """All s_ij^2 as a matrix (n, n), symmetric up to rounding, zero on the diagonal.

    Squares are expanded about the mean of the arms; pairs so close that this loses digits are
    taken again from their difference, so nearly tied arms keep relative accuracy as well.
    """
    W = whiten(Z, L)
    W = W - W.mean(axis=0)
    s2 = np.einsum("ij,ij->i", W, W)
    one = np.ones_like(s2)
    # s_i^2 + s_j^2 - 2 w_i'w_j as one product
    pairs: FloatArray = np.column_stack([W, s2, one]) @ np.column_stack([-2.0 * W, one, s2]).T
    i, j = np.divmod(np.flatnonzero(pairs < CLOSE_PAIR * 2.0 * s2.max()), len(W))
    close = (i < j) & (pairs[i, j] < CLOSE_PAIR * (s2[i] + s2[j]))
    i, j = i[close], j[close]
    pairs[i, j] = pairs[j, i] = pair_norms2(Z, L, i, j)
    np.fill_diagonal(pairs, 0.0)
    return pairs


def estimate(Z: FloatArray, counts: IntArray, means: FloatArray) -> Estimate:
    """Least squares of all pulls from Z (n, h), counts (n,) and the arms' means (n, d).

    Each arm is one row weighted by sqrt(counts), solved by QR with one step of refinement; rows of
    arms without pulls are not read.  The responses are centred by their mean, see `Estimate`.

    Raises NumericalError when the pulled arms do not span the h dimensions.

    >>> estimate(np.eye(2), np.array([1, 3]), np.array([[5.0], [7.0]])).theta.round(12).tolist()
    [[5.0], [7.0]]
    """
    pulled = np.flatnonzero(counts)
    rows = _weighted(Z, counts, pulled)
    norm = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    if not norm.all():
        raise _not_spanning(rows)
    Q, R = _qr(rows / norm)
    n, y = counts[pulled], means[pulled]
    reference = (n / n.sum()) @ y
    targets = np.sqrt(n)[:, None] * np.column_stack([y - reference, np.ones(len(y))])
    fit = _solve(Q, R, targets) / norm[:, None]
    fit += _solve(Q, R, targets - rows @ fit) / norm[:, None]
    slope, intercept = fit[:, :-1], fit[:, -1]
    theta = slope + np.outer(intercept, reference)
    return Estimate(theta, norm[:, None] * R.T, slope, reference, intercept)


def _solve(Q: FloatArray, R: FloatArray, targets: FloatArray) -> FloatArray:
    """R^-1 Q' targets."""
    solution: FloatArray = lapack.dtrtri(R)[0] @ (Q.T @ targets)
    return solution


def residual_ss(
    Z: FloatArray, counts: IntArray, means: FloatArray, m2: FloatArray, fit: Estimate
) -> ResidualSums:
    """Residual sums of squares of a fit, split into lack of fit and pure error.

    lack_of_fit (d,) = sum n_a (mean_a - fit_a)^2 on m - h degrees of freedom, m the number of arms
    pulled; pure_error (d,) = sum of m2 (n, d) on N - m, N the number of pulls.  Their sum is the
    residual sum of squares over single pulls (Draper and Smith, Applied Regression Analysis, 2.1).
    """
    pulled = np.flatnonzero(counts)
    n = counts[pulled]
    residual = fit.residuals(Z[pulled], means[pulled])
    lack: FloatArray = n.astype(np.float64) @ np.square(residual)
    pure: FloatArray = m2[pulled].sum(axis=0)
    m = len(pulled)
    return ResidualSums(lack, pure, m - Z.shape[1], int(n.sum()) - m)
