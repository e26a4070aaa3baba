"""G-optimal weights of many rows: interior point on a working set, violators in, idle rows out.

Every round solves the working set, takes one pass of leverages over the rows still in play, deletes
those which cannot support the optimum (Harman and Pronzato 2007) and adds the worst violators,
spread out. The last pass covers all rows and is the certificate.
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.certificate import precision_root
from paretoscope.core.interior_point import harman_pronzato, optimal_weights
from paretoscope.core.leverage import EPS, Whitening, leverages
from paretoscope.errors import NumericalError

MAX_ROUNDS = 100
# The inner problem is solved this much closer than the outer one needs (measured: flat around it).
INNER = 0.01
FIRST = 0.03
FLOOR = 1e-11
# Rows closer in angle than this do the same work in a start.
SAME = 0.99
# Above this many rows in play violators come one per block: a pass costs more than the choice.
MANY = 100_000
# Whitened rows have mean square norm h: a residual this small is no new direction to start from.
SMALL_RESIDUAL = 1e-6


class Pool:
    """The rows still in play: all of X at first, a smaller copy once most of them are ruled out."""

    def __init__(self, X: FloatArray) -> None:
        self.X = self.rows = X
        self.alive: IntArray | None = None
        self.working = np.zeros(X.shape[0], dtype=np.bool_)

    def restore(self) -> bool:
        """Put all rows back; False if they were all in play."""
        shrunk = self.alive is not None
        self.rows, self.alive = self.X, None
        return shrunk

    def shrink(self, g: FloatArray, least: float) -> None:
        """Leave rows of leverage below `least` out, once that halves the work."""
        keep = g >= least
        if 2 * np.count_nonzero(keep) < keep.size:
            index = np.flatnonzero(keep)
            self.alive = index if self.alive is None else self.alive[index]
            self.rows = self.rows[index]

    def violators(
        self, M: FloatArray, g: FloatArray, work: IntArray, above: float, cosine: float
    ) -> IntArray:
        """Rows of X to add to `work`: the largest g above `above`, spread out in angles of x M."""
        # Where a pass is dear a larger inner problem is cheaper than another pass.
        limit = (2 if g.size <= MANY else 4) * M.shape[0] + 20
        local = _block_best(g, 8 * limit) if g.size > MANY else _top(g, 4 * limit)
        local = local[g[local] > above]
        index = local if self.alive is None else self.alive[local]
        self.working[work] = True
        fresh = ~self.working[index]
        self.working[work] = False
        local, index = local[fresh], index[fresh]
        return np.asarray(index[spread(self.rows[local] @ M, g[local], limit, cosine)])


def solve(
    X: FloatArray, white: Whitening, tol: float, max_rounds: int = MAX_ROUNDS
) -> tuple[IntArray, FloatArray, float]:
    """Support (m,), weights (m,) and the largest leverage over all rows, h (1 + tol) if all is well."""
    h, T = white.rank, white.T
    pool = Pool(X)
    floor = max(0.3 * tol, FLOOR)
    inner = max(FIRST, floor)
    todo = first_rows(X, T)
    if X.shape[0] <= _start_size(h):
        inner = floor
    start = np.ones(todo.size)
    for _ in range(max_rounds):
        work, w, M = _solve_rows(X, T, todo, start, inner, tol)
        g = leverages(pool.rows, M)
        if float(g.max()) <= h * (1.0 + tol) and pool.restore():
            g = leverages(X, M)
        excess = float(g.max()) / h - 1.0
        if excess <= tol:
            break
        # The nearer the end, the finer the neighbours that are told apart.
        cosine = max(SAME, 1.0 - 0.1 * excess)
        new = pool.violators(M, g, work, h * (1.0 + 0.5 * tol), cosine)
        stuck = not new.size and inner <= floor
        if stuck and not pool.restore():
            break
        if not stuck:
            pool.shrink(g, h * harman_pronzato(excess, h))
        inner = max(floor, INNER * excess)
        start = warm(w, new.size, excess)
        todo = np.concatenate([work, new])
    if pool.restore():
        g = leverages(X, M)
    return work[w > 0.0], w[w > 0.0], float(g.max())


def _solve_rows(
    X: FloatArray, T: FloatArray, work: IntArray, start: FloatArray, inner: float, tol: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rows of `work` kept, their weights (crumbs set to zero), and M with leverage |x M|^2."""
    Y = X[work] @ T
    kept, w = optimal_weights(Y, start, inner)
    # Together the crumbs weigh less than a tenth of the tolerance.
    w[w <= 0.1 * tol / w.size] = 0.0
    w /= w.sum()
    C = precision_root(Y[kept], w)
    if C is None:
        raise NumericalError("the weighted rows of a design stopped spanning: please report X")
    return work[kept], w, T @ C


def warm(w: FloatArray, added: int, excess: float) -> FloatArray:
    """Start of the next inner solve: the old weights off the boundary, a share for the new rows."""
    share = min(0.5, max(excess, 1e-3)) if added else 0.0
    old = np.maximum(w, 1e-3 / w.size) * (1.0 - share)
    return np.concatenate([old, np.full(added, share / max(added, 1))])


def _start_size(h: int) -> int:
    """Rows to start with: enough for most optimal supports, few enough for cheap steps."""
    return 3 * h + 30


def first_rows(X: FloatArray, T: FloatArray) -> IntArray:
    """First working set: the longest whitened rows, no near duplicates, spanning; all if few.

    Zero rows are never in it: measuring them teaches nothing.
    """
    h = T.shape[1]
    limit = _start_size(h)
    if X.shape[0] <= limit:
        return np.flatnonzero(X.any(axis=1))
    g = leverages(X, T)
    top = _top(g, 2 * limit)
    top = top[g[top] > 0.0]
    Z = X[top] @ T
    chosen = spread(Z, g[top], limit, SAME)
    s = np.linalg.svd(Z[chosen], compute_uv=False)
    if s.size == h and s[-1] > 1e-3 * s[0]:
        return np.asarray(top[chosen])
    return _spanning(X, T, g, top[chosen])


def _spanning(X: FloatArray, T: FloatArray, g: FloatArray, work: IntArray) -> IntArray:
    """`work` and the rows that pivoted Gram-Schmidt adds: from a few first, else from all."""
    h = T.shape[1]
    few = _block_best(g, 64 * h)
    s, Vt = np.linalg.svd(X[work] @ T, full_matrices=False)[1:]
    basis = Vt[s > 1e-3 * s[0]]
    while basis.shape[0] < h:
        off = T @ (np.eye(h) - basis.T @ basis)
        left = leverages(X[few], off)
        best = int(few[left.argmax()])
        if left.max() <= SMALL_RESIDUAL:
            best = int(leverages(X, off).argmax())
        q = X[best] @ off
        q -= (q @ basis.T) @ basis
        basis = np.vstack([basis, q / np.linalg.norm(q)])
        work = np.append(work, best)
    return np.unique(work)


def _top(g: FloatArray, many: int) -> IntArray:
    """Indices of the `many` largest, in no order; all if there are not so many."""
    if g.size <= many:
        return np.arange(g.size)
    if g.size > MANY:
        # At least `many` rows reach the threshold of the block maxima, and hardly more.
        bests = g[_block_best(g, 4 * many)]
        enough = np.flatnonzero(g >= np.partition(bests, bests.size - many)[bests.size - many])
        return np.asarray(enough[np.argsort(-g[enough], kind="stable")[:many]])
    return np.asarray(np.argpartition(g, g.size - many)[g.size - many :])


def _block_best(g: FloatArray, blocks: int) -> IntArray:
    """Index of the largest of each block: on ordered grids, one per peak."""
    step = -(-g.size // blocks)
    return np.array([s + int(g[s : s + step].argmax()) for s in range(0, g.size, step)])


def spread(Z: FloatArray, g: FloatArray, limit: int, cosine: float) -> IntArray:
    """At most `limit` rows of Z, best g first, none within `cosine` of a better row."""
    order = np.argsort(-g, kind="stable")
    Zs = Z[order]
    norm = np.sqrt(np.einsum("ij,ij->i", Zs, Zs))
    unit = Zs / np.maximum(norm, EPS)[:, None]
    # Dropped when any better row, kept or not, is that close: one comparison instead of a loop.
    near = np.tril(np.abs(unit @ unit.T) > cosine, -1)
    return np.asarray(order[~near.any(axis=1)][:limit])
