"""Margins of many arms over many: only those that can be the largest are ever formed.

For queries q and points p the largest of m(q,p) = min_c p_c - q_c is wanted, for every q. Queries are
put into small boxes by halving. What a point can reach in a box is at most its margin over the lower
corner and at least its margin over the upper one; so only points whose most is no less than the best
least come into question. Rounding keeps the order of differences: nothing that attains the maximum is
ever left out, and the first of equals wins as in a full table.

A wide front of 20,000 among 100,000 arms in five objectives would need 2 10^9 margins; a few in a
hundred are formed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray

# Queries of a box: larger ones are wider and rule out less, smaller ones ask every point more often.
BOX = 64
# Cells of the scratch beside a table: it stays in a core's own cache.
SCRATCH_CELLS = 1 << 14


def margin_table(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """T[i,j] = min_c rows[c,i] - columns[c,j]: two operations per objective on cached blocks."""
    (d, s), n = rows.shape, columns.shape[1]
    out = np.empty((s, n))
    height = max(1, SCRATCH_CELLS // n)
    scratch = np.empty((min(height, s), n))
    for start in range(0, s, height):
        block = out[start : start + height]
        spare = scratch[: len(block)]
        left = rows[:, start : start + height, None]
        np.subtract(left[0], columns[0], out=block)
        for c in range(1, d):
            np.subtract(left[c], columns[c], out=spare)
            np.minimum(block, spare, out=block)
    return out


def boxes(columns: FloatArray) -> Iterator[IntArray]:
    """The queries (d, m) in boxes, by halving the longest side."""
    stack = [np.arange(columns.shape[1])]
    while stack:
        members = stack.pop()
        if len(members) <= BOX:
            yield np.sort(members)
            continue
        part = columns[:, members]
        side = part[int(np.ptp(part, axis=1).argmax())]
        order = np.argpartition(side, len(members) // 2)
        stack += [members[order[: len(members) // 2]], members[order[len(members) // 2 :]]]


def margins_over(points: FloatArray, corner: FloatArray) -> FloatArray:
    """min_c p_c - q_c of all points (d, n) over one query (d,)."""
    least = points[0] - corner[0]
    for row, value in zip(points[1:], corner[1:], strict=True):
        np.minimum(least, row - value, out=least)
    return np.asarray(least)


def best_margins(
    points: FloatArray, queries: FloatArray, own: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """For every query (d, m) its largest margin over the points (d, n), and the first that has it.

    ``own`` (m,): the point that a query is itself and is not compared with; -1 for none.
    """
    m = queries.shape[1]
    best, which = np.empty(m), np.empty(m, dtype=np.int64)
    for members in boxes(queries):
        part = queries[:, members]
        least = margins_over(points, part.max(axis=1))
        # one of the points may be the query itself: the second best serves every query of the box
        rank = least.size - 1 if own is None else max(0, least.size - 2)
        floor = np.partition(least, rank)[rank]
        chosen = np.flatnonzero(margins_over(points, part.min(axis=1)) >= floor)
        table = margin_table(points[:, chosen], part)
        if own is not None:
            table[chosen[:, None] == own[members]] = -np.inf
        at = table.argmax(axis=0)
        best[members], which[members] = table[at, np.arange(len(members))], chosen[at]
    return best, which


def nearest_sums(points: FloatArray, price: FloatArray, queries: FloatArray) -> FloatArray:
    """For every query q the least of price_p + max(0, max_c p_c - q_c) over the points."""
    least = np.empty(queries.shape[1])
    for members in boxes(queries):
        part = queries[:, members]
        low = _sums(points, price, part.max(axis=1))
        high = _sums(points, price, part.min(axis=1))
        chosen = np.flatnonzero(low <= high.min())
        table = margin_table(part, points[:, chosen])
        least[members] = (price[chosen] - np.minimum(table, 0.0)).min(axis=1)
    return least


def _sums(points: FloatArray, price: FloatArray, corner: FloatArray) -> FloatArray:
    """What `nearest_sums` minimises, of all points for one query."""
    return np.asarray(price - np.minimum(margins_over(-points, -corner), 0.0))
