"""XY-optimal designs: measure so as to tell arms apart, not to know each of them (Soare 2014)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import FloatArray, IntArray, as_matrix, freeze
from paretoscope.core.certificate import Design, dense_design
from paretoscope.core.leverage import EPS, Whitening, leverages, whiten
from paretoscope.core.working_set import SAME, Pool, first_rows, spread, warm
from paretoscope.core.xy_interior_point import Saddle, saddle
from paretoscope.core.xy_targets import ListedTargets, PairTargets, Targets
from paretoscope.errors import NumericalError, UsageError

MAX_ROUNDS = 60
# Share of the tolerance that the inner solve may use up.
INNER = 0.3
# Targets and rows that beat the working ones by less than this share of tol are left out.
SLACK = 0.1
# A design further than this from its lower bound (or tol, if larger) is an error.
ACCEPTABLE = 1e-2
# A component this small, relative to the longest target, is rounding and not a direction.
OUTSIDE = 1e-7
# Singular values of the weighted rows below this share of the largest span nothing.
FLAT = 1e-10


def xy_optimal(X: npt.ArrayLike, targets: npt.ArrayLike, tol: float = 1e-2) -> Design:
    """Weights on the rows of X which minimise the largest u' V(w)^+ u over the targets u.

    The certificate is the value, recomputed from the final weights, over a proven lower bound of the
    best possible value. The weighted rows span every target, though not always every row.

    Parameters
    ----------
    X : (K, p) array
        The rows which may be measured.
    targets : (m, p) array
        Directions to learn, in the row span of X: usually differences of arms.
    tol : float
        Relative: the value is at most (1 + tol) times the optimum.

    Raises
    ------
    UsageError
        An array is not finite or of the wrong shape, or a target is outside the row span of X.
    NumericalError
        The certificate did not come down to 1 + max(tol, 0.01).

    Examples
    --------
    >>> xy_optimal(np.eye(2), [[1.0, -3.0]], tol=1e-6).weights.round(3)
    array([0.25, 0.75])
    """
    X = as_matrix(X, "X")
    U = as_matrix(targets, "targets")
    white = _checked(X, U, tol, "targets")
    return _solve(X, white, ListedTargets(U @ white.T), tol)


def xy_optimal_arms(
    X: npt.ArrayLike,
    arms: npt.ArrayLike,
    pull: npt.ArrayLike | None = None,
    tol: float = 1e-2,
) -> Design:
    """XY-optimal design for all pairs of `arms`, measuring rows of `pull` (default: all rows).

    Same as `xy_optimal` on all differences of the rows `arms` of X (K, p), without storing the
    n (n - 1) / 2 of them. The weights (K,) are zero outside `pull`.

    Raises
    ------
    UsageError
        Fewer than two arms, an index outside X, or a difference outside the span of `pull`.
    NumericalError
        The certificate did not come down to 1 + max(tol, 0.01).

    Examples
    --------
    >>> xy_optimal_arms([[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [0, 1], pull=[0, 1]).weights.round(2)
    array([0.5, 0.5, 0. ])
    """
    X = as_matrix(X, "X")
    chosen = _indices(arms, X.shape[0], "arms")
    if chosen.size < 2:
        raise UsageError(f"arms must hold at least two rows to tell apart, not {chosen.size}")
    rows = None if pull is None else _indices(pull, X.shape[0], "pull")
    pulled = X if rows is None else X[rows]
    # Every pair is in the span if the differences to one arm are.
    white = _checked(pulled, X[chosen[1:]] - X[chosen[0]], tol, "differences of arms")
    design = _solve(pulled, white, PairTargets(X[chosen] @ white.T), tol)
    if rows is None:
        return design
    return _embedded(design, rows, X.shape[0])


def pair_differences(X_A: npt.ArrayLike) -> FloatArray:
    """All differences (n (n - 1) / 2, p) of two rows of X_A (n, p), equal rows left out.

    Examples
    --------
    >>> pair_differences([[1.0], [3.0], [6.0]]).ravel()
    array([-2., -5., -3.])
    """
    X_A = as_matrix(X_A, "X_A")
    i, j = np.triu_indices(X_A.shape[0], 1)
    difference = X_A[i] - X_A[j]
    return np.asarray(difference[difference.any(axis=1)])


def _indices(values: npt.ArrayLike, K: int, name: str) -> IntArray:
    """Sorted distinct row numbers, or a UsageError."""
    index = np.asarray(values)
    if index.dtype == np.bool_ and index.shape == (K,):
        index = np.flatnonzero(index)
    if index.ndim != 1 or not index.size or index.dtype.kind not in "iu":
        raise UsageError(f"{name} must be a nonempty list of row numbers, not {values!r}")
    if index.min() < 0 or index.max() >= K:
        raise UsageError(f"{name} must lie in 0..{K - 1}, not {index.min()}..{index.max()}")
    return np.unique(index).astype(np.int64)


def _checked(X: FloatArray, U: FloatArray, tol: float, name: str) -> Whitening:
    """The whitening of X, once every row of U is known to lie in its row span."""
    if not 0.0 < tol < np.inf:
        raise UsageError(f"tol must be positive and finite, not {tol}")
    if U.shape[1] != X.shape[1]:
        raise UsageError(f"{name} have {U.shape[1]} columns where X has {X.shape[1]}")
    white = whiten(X)
    if white.rank == X.shape[1]:
        return white
    # T is D^-1 W S^-1: with D taken off its columns span the scaled rows (W of their SVD).
    size = np.where(white.scale > 0.0, white.scale, 1.0)
    basis = np.linalg.qr(white.T * size[:, None])[0]
    scaled = U / size
    outside = np.abs(scaled - (scaled @ basis) @ basis.T).max(axis=1)
    bad = outside > OUTSIDE * np.abs(scaled).max()
    if bad.any():
        raise UsageError(
            f"{name}: row {int(bad.argmax())} is outside the row span of X, so that no measurement "
            "can learn it: add rows or leave it out"
        )
    return white


def _embedded(design: Design, rows: IntArray, K: int) -> Design:
    """The same design on K rows, of which it knew only `rows`."""
    weights = np.zeros(K)
    weights[rows] = design.weights
    return replace(design, weights=freeze(weights), support=freeze(rows[design.support]))


def _solve(X: FloatArray, white: Whitening, targets: Targets, tol: float) -> Design:
    """Rounds of an inner solve, after each of which the worst targets and rows are added."""
    h, T = white.rank, white.T
    limit = 2 * h + 20
    longest, U = targets.worst(np.eye(h), 0.0, 4 * limit)
    todo = first_rows(X, T)
    start = np.full(todo.size, 1.0 / todo.size)
    if longest <= (10.0 * EPS) ** 2 * X.shape[0]:
        # Equal arms: every design tells them apart as well as any other.
        return dense_design(X.shape[0], todo, start, h, 0.0, 0.0)
    U = U[spread(U, leverages(U, np.eye(h)), limit, SAME)]
    pool = Pool(X)
    for _ in range(MAX_ROUNDS):
        work = todo
        found = saddle(X[work] @ T, U, start, INNER * tol)
        gain = leverages(X, T @ _gain_root(U, found))
        bound = _lower_bound(U, found, float(gain.max()))
        reached = float(leverages(U, found.C).max())
        value, more = targets.worst(found.C, reached * (1.0 + SLACK * tol), limit)
        if value <= bound * (1.0 + 0.8 * tol):
            break
        above = float(gain[work].max()) * (1.0 + SLACK * tol)
        new = pool.violators(T @ found.C, gain, work, above, SAME)
        if not new.size and not more.shape[0]:
            break
        U = np.concatenate([U, more])
        start = warm(found.w, new.size, 0.1)
        start /= start.sum()
        todo = np.concatenate([work, new])
    return _certified(X, white, targets, work, found.w, bound, tol)


def _gain_root(U: FloatArray, found: Saddle) -> FloatArray:
    """F (h, n) with V^-1 Z V^-1 = F F' for Z = sum lam u u'."""
    return np.asarray(found.C @ ((U @ found.C).T * np.sqrt(found.lam)))


def _lower_bound(U: FloatArray, found: Saddle, gain: float) -> float:
    """(tr V^-1 Z)^2 / max_a x_a' V^-1 Z V^-1 x_a: no design has a smaller largest variance."""
    return float(found.lam @ leverages(U, found.C)) ** 2 / gain


def _certified(
    X: FloatArray,
    white: Whitening,
    targets: Targets,
    work: IntArray,
    w: FloatArray,
    bound: float,
    tol: float,
) -> Design:
    """The design without the weights too small to matter, its value recomputed from the rest."""
    large = w > 0.1 * tol / w.size
    value = _value(X[work[large]] @ white.T, w[large] / w[large].sum(), targets)
    if value > bound * (1.0 + tol):
        # A crumb was needed after all: some target is learned from it alone.
        large = w > 0.0
        value = _value(X[work] @ white.T, w / w.sum(), targets)
    if not value <= bound * (1.0 + max(tol, ACCEPTABLE)):
        raise NumericalError(
            f"the XY design only reached {value / bound:.6g} times its lower bound: raise tol"
        )
    kept = w[large] / w[large].sum()
    return dense_design(X.shape[0], work[large], kept, white.rank, value, bound)


def _value(Y: FloatArray, w: FloatArray, targets: Targets) -> float:
    """Largest u' V(w)^+ u by SVD of the weighted rows; inf if a target is outside their span."""
    R = np.linalg.qr(Y * np.sqrt(w)[:, None], mode="r")
    s, Vt = np.linalg.svd(R)[1:]
    rank = int((s > FLAT * s[0]).sum())
    if rank < Y.shape[1] and targets.extent(Vt[rank:].T) > OUTSIDE:
        return float("inf")
    return targets.worst(Vt[:rank].T / s[:rank], 0.0, 1)[0]
