"""Sub-optimality gaps of Pareto set identification (GEGE, section 2; Kone et al. 2023).

With m(i,j) = min_c mu_j(c) - mu_i(c) and M(i,j) = -m(i,j)::

    D*_i  = max_{j != i} m(i,j)
    gap_i = D*_i                                                             if D*_i > 0
    gap_i = min_{j != i} min( M(i,j), max(M(j,i), 0) + max(D*_j, 0) )        otherwise

Arms with D*_i = 0 have gap 0 under either reading of "optimal", so weak and strict ties need no
separate case. Two facts make it fast. A dominated j is dominated by an arm of the front, hence
D*_j is attained on the front, and only m(j,i) with i on the front is ever formed. And where an
optimal i is attained through the arm j it dominates, gap_i = 0 + D*_j is the *stored* D*_j, so that
this tie, which eliminations have to break, is exact in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, as_matrix
from paretoscope.core.dominance import front_of
from paretoscope.core.margins import best_margins, margin_table, nearest_sums
from paretoscope.errors import UsageError

# Up to this many arms the full table is cheaper than finding the front first.
DENSE_UP_TO = 32
# Cells of the table made at once: they stay in a core's own cache.
STRIP_CELLS = 1 << 17
# From this many cells on it pays to rule most of them out by boxes first (measured in 5 and 8 objectives).
BOXES_FROM = 10**8


@dataclass(frozen=True, slots=True)
class PsiGaps:
    """Gaps of n arms: ``gap`` (n,), ``star`` (n,) = D*_i, ``strict`` (n,) = D*_i <= 0."""

    gap: FloatArray
    star: FloatArray
    strict: BoolArray


@dataclass(frozen=True, slots=True)
class Complexity:
    """Sample complexities H1 = sum 1/gap^2, H2 = max i/gap_(i)^2; ``_lin``: the h smallest gaps."""

    H1: float
    H2: float
    H1_lin: float
    H2_lin: float
    gaps: FloatArray


def psi_gaps(mu: npt.ArrayLike) -> PsiGaps:
    """Gaps, margins D*_i and strict front of n arms.

    Parameters
    ----------
    mu : (n, d) means, every objective maximised

    Returns
    -------
    PsiGaps
        For one arm: gap inf, star -inf, strict.

    Raises
    ------
    UsageError
        If ``mu`` is empty, not finite, or not a matrix.

    Examples
    --------
    >>> psi_gaps([[4, 1], [1, 4], [3, 0]]).gap.tolist()
    [1.0, 3.0, 1.0]
    """
    return gaps_of(as_matrix(mu, "mu"))


def complexity(mu: npt.ArrayLike, h: int) -> Complexity:
    """Complexities of an instance whose features have rank h.

    Parameters
    ----------
    mu : (n, d) means, every objective maximised
    h : rank of the features, 1 <= h <= n (h = n: unstructured)

    Raises
    ------
    UsageError
        If ``mu`` is unusable or ``h`` is not between 1 and n.

    Examples
    --------
    >>> complexity([[4, 1], [1, 4], [3, 0]], 2).H1_lin
    2.0
    """
    matrix = as_matrix(mu, "mu")
    if not 1 <= h <= len(matrix):
        raise UsageError(f"h = {h}: the rank of {len(matrix)} arms lies in 1..{len(matrix)}")
    gaps = np.sort(gaps_of(matrix).gap)
    with np.errstate(divide="ignore"):
        cost = 1.0 / gaps**2
    ranked = np.arange(1, len(gaps) + 1) * cost
    sums = float(cost.sum()), float(cost[:h].sum())
    return Complexity(sums[0], float(ranked.max()), sums[1], float(ranked[:h].max()), gaps)


def gaps_of(matrix: FloatArray) -> PsiGaps:
    """`psi_gaps` for a finite (n, d) matrix already checked."""
    n, d = matrix.shape
    if n <= DENSE_UP_TO:
        return _dense(matrix)
    if d == 1:
        return _line(matrix[:, 0])
    front = front_of(matrix)
    first, rest = np.flatnonzero(front), np.flatnonzero(~front)
    parts = _sweep if d == 2 else _strips
    star, gap = np.empty(n), np.empty(n)
    star[first], gap[first], star[rest] = parts(matrix[first], matrix[rest])
    gap[rest] = star[rest]
    return PsiGaps(gap, star, star <= 0.0)


def _dense(matrix: FloatArray) -> PsiGaps:
    """Apply the definition on the whole table T[i,j] = m(j,i): for few arms."""
    columns = matrix.T
    table = (columns[:, :, None] - columns[:, None, :]).min(axis=0)
    table.flat[:: len(table) + 1] = -np.inf
    star = table.max(axis=0)
    reach = (np.maximum(star, 0.0) - np.minimum(table, 0.0, out=table)).min(axis=1)
    strict = star <= 0.0
    gap = np.where(strict, np.minimum(0.0 - star, reach), star)
    return PsiGaps(gap, star, strict)


def _line(values: FloatArray) -> PsiGaps:
    """One objective: everything is the distance to the best other arm."""
    second, first = np.partition(values, -2)[-2:]
    star = first - values
    star[values == first] = second - first
    return PsiGaps(np.abs(star), star, star <= 0.0)


def _strips(front: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D* and gap on the front, D* off it: the table in strips of columns, O(n) memory."""
    rows, columns = np.ascontiguousarray(front.T), np.ascontiguousarray(rest.T)
    if len(front) * (len(front) + len(rest)) >= BOXES_FROM:
        star, nearest, star_rest, reach, single = _by_boxes(rows, columns)
    else:
        star, nearest = _among_front(rows)
        star_rest, reach, single = _against_front(rows, columns)
    np.maximum(star, single, out=star)
    gap = np.minimum(0.0 - star, np.minimum(np.maximum(0.0 - nearest, 0.0), reach))
    return star, gap, star_rest


def _among_front(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For i on the front: max_j m(i,j) and max_j m(j,i) over the other front arms j."""
    s = rows.shape[1]
    star, nearest = np.empty(s), np.full(s, -np.inf)
    width = _strip_width(s, s)
    for start in range(0, s, width):
        part = slice(start, min(start + width, s))
        table = margin_table(rows, rows[:, part])
        own = np.arange(table.shape[1])
        table[start + own, own] = -np.inf
        star[part] = table.max(axis=0)
        np.maximum(nearest, table.max(axis=1), out=nearest)
    return star, nearest


def _against_front(
    rows: FloatArray, columns: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D*_j off the front; for i on it the min over these j of the reach, the max of m(i,j).

    m(i,j) can be the largest of i only if no other front arm dominates j, so one dominator of
    each j, found with D*_j, is all that has to be looked at.
    """
    s, n = rows.shape[1], columns.shape[1]
    star, reach, single = np.empty(n), np.full(s, np.inf), np.full(s, -np.inf)
    width = _strip_width(s, n)
    for start in range(0, n, width):
        here = columns[:, start : start + width]
        table = margin_table(rows, here)
        star[start : start + width] = best = table.max(axis=0)
        by = table.argmax(axis=0)
        np.maximum.at(single, by, (here - rows[:, by]).min(axis=0))
        np.minimum(table, 0.0, out=table)
        np.subtract(best, table, out=table)
        np.minimum(reach, table.min(axis=1), out=reach)
    return star, reach, single


def _by_boxes(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, ...]:
    """What `_among_front` and `_against_front` say, by the few margins that can matter."""
    own = np.arange(rows.shape[1])
    star, _ = best_margins(rows, rows, own)
    nearest, _ = best_margins(-rows, -rows, own)
    single = np.full(rows.shape[1], -np.inf)
    if not columns.shape[1]:
        return star, nearest, np.empty(0), -single, single
    star_rest, by = best_margins(rows, columns)
    np.maximum.at(single, by, (columns - rows[:, by]).min(axis=0))
    return star, nearest, star_rest, nearest_sums(columns, star_rest, rows), single


def _strip_width(s: int, n: int) -> int:
    """Columns of a strip over s rows."""
    return max(1, min(n, STRIP_CELLS // s))


def _sweep(front: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Two objectives: along the sorted front every question is a range of indices, O(n log n)."""
    order = np.lexsort((-front[:, 1], front[:, 0]))
    x, y = front[order].T
    star, nearest = _neighbours(x, y)
    reach = np.full(len(x), np.inf)
    star_rest = np.empty(len(rest))
    if len(rest):
        u, v = rest.T
        begin = np.searchsorted(x, u, side="left")
        end = np.searchsorted(-y, -v, side="right")
        star_rest = _margins((x, y), (u, v), (begin, end))
        single = np.minimum(u - x[begin], v - y[begin])
        np.maximum.at(star, begin, single)
        reach = _reach((x, y), (u, v), (begin, end), star_rest)
    gap = np.minimum(0.0 - star, np.minimum(np.maximum(0.0 - nearest, 0.0), reach))
    back = np.argsort(order)
    return star[back], gap[back], star_rest


def _neighbours(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Along a front x rising, y falling: max_j m(i,j) and max_j m(j,i) are at a neighbour."""
    star, nearest = np.full(len(x), -np.inf), np.full(len(x), -np.inf)
    dx, dy = np.diff(x), np.diff(y)
    star[:-1], nearest[:-1] = dy, -dx
    np.maximum(star[1:], -dx, out=star[1:])
    np.maximum(nearest[1:], dy, out=nearest[1:])
    return star, nearest


def _margins(
    front: tuple[FloatArray, FloatArray],
    arms: tuple[FloatArray, FloatArray],
    spans: tuple[IntArray, IntArray],
) -> FloatArray:
    """D* of dominated arms: the largest of min(rising, falling) is where the two cross."""
    (x, y), (u, v) = front, arms
    low, high = spans[0].copy(), spans[1].copy()
    last = len(x) - 1
    for _ in range(int((high - low).max()).bit_length()):
        middle = (low + high) >> 1
        at = np.minimum(middle, last)
        crossed = x[at] - u >= y[at] - v
        high = np.where(crossed, middle, high)
        low = np.where(crossed | (low == high), low, middle + 1)
    after, before = np.minimum(low, last), np.maximum(low - 1, 0)
    return np.maximum(
        np.minimum(x[after] - u, y[after] - v), np.minimum(x[before] - u, y[before] - v)
    )


def _reach(
    front: tuple[FloatArray, FloatArray],
    arms: tuple[FloatArray, FloatArray],
    spans: tuple[IntArray, IntArray],
    margins: FloatArray,
) -> FloatArray:
    """For i on the front min_j max(M(j,i), 0) + D*_j over dominated j: right, left and below i."""
    (x, y), (u, v), (begin, end) = front, arms, spans
    # j is right of the front arms before `begin`, left of those from `end` on, below the others
    right, left = np.full(len(x) + 1, np.inf), np.full(len(x) + 1, np.inf)
    np.minimum.at(right, begin, u + margins)
    np.minimum.at(left, end, v + margins)
    right = np.minimum.accumulate(right[::-1])[::-1]
    left = np.minimum.accumulate(left)
    sideways = np.minimum(right[1:] - x, left[:-1] - y)
    return np.minimum(sideways, _range_minima(len(x), begin, end, margins))


def _range_minima(size: int, begin: IntArray, end: IntArray, values: FloatArray) -> FloatArray:
    """Take the min of the values whose range [begin, end) covers an index, by a sparse table."""
    level = np.frexp((end - begin).astype(np.float64))[1] - 1
    best = np.full(size, np.inf)
    for power in range(int(level.max()), -1, -1):
        here, width = level == power, 1 << power
        np.minimum.at(best, begin[here], values[here])
        np.minimum.at(best, end[here] - width, values[here])
        if power:
            half, above = width >> 1, best.copy()
            np.minimum(best[half:], above[:-half], out=best[half:])
    return best


def gaps_beside_exact(mu: FloatArray, exact: FloatArray) -> PsiGaps:
    """The gaps when some metrics have no noise.

    m(i, j) is the least noisy margin, and -inf where i is strictly better than j in an exact metric:
    then no change of the noisy means lets j dominate i.

    Parameters
    ----------
    mu : (n, d) array
        Noisy metrics. With none of them, arms are separated by the exact metrics alone.
    exact : (n, e) array
    """
    n = len(mu)
    m = np.full((n, n), np.inf)
    for values in mu.T:
        m = np.minimum(m, values[None, :] - values[:, None])
    better = np.zeros((n, n), dtype=bool)
    alike = np.ones((n, n), dtype=bool)
    for values in exact.T:
        better |= values[:, None] > values[None, :]
        alike &= values[:, None] == values[None, :]
    m[better] = -np.inf
    m[np.isinf(m) & (m > 0) & alike] = 0.0  # no noisy metric, and equal in every exact one
    np.fill_diagonal(m, -np.inf)
    star: FloatArray = m.max(axis=1)
    strict: BoolArray = star <= 0.0
    reach = np.maximum(-m.T, 0.0) + np.maximum(star, 0.0)[None, :]
    np.fill_diagonal(reach, np.inf)
    inside = np.minimum((-m).min(axis=1), reach.min(axis=1))
    return PsiGaps(np.where(strict, inside, star), star, strict)
