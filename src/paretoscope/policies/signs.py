"""Signs that are certain, and what they say about candidates.

A sign (i, j, c, s) states that j is above i in objective c: mu_j(c) + s eps_c > mu_i(c), where s = 1
grants the tolerance. A sign once certain is kept for ever. They settle pairs,

    DOM(i, j)    j dominates i: the signs (i, j, c, 0) of all noisy c, and j nowhere below i in an exact metric
    ND(i, j)     j does not dominate i: some sign (j, i, c, 0), or i strictly above j in an exact metric
    ND_eps(i, j) the same with s = 1: j does not exceed i by more than eps everywhere

and pairs settle candidates, R being those without a DOM:

    i is rejected once DOM(i, j) for some j; accepted once ND(i, j) for all j in R;
    everything is within the tolerance once ND_eps(i, j) for all i, j in R.

If every certain sign is true, R contains the Pareto set, and a dominated i in R has an optimal dominator k
that is in R too, so ND(i, k) was never certain: nothing false is said. See docs/anytime.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paretoscope.core.anytime import scaled_threshold
from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import front_of
from paretoscope.policies.field import Field

# Entries of a table of pairs that is filled at once.
_TABLE = 4_000_000


@dataclass(frozen=True)
class Terms:
    """What the claims of a study refer to.

    Attributes
    ----------
    n, d : int
        Arms, and noisy objectives.
    epsilon : (d,) array
        Tolerances in units of the noise.
    exact : (n, e) array or None
        Metrics without noise.
    twin : (n,) int array
        Arms of equal features have the same number.
    sizes : (s,) array
        n_k of the ellipsoid.
    risk : float
        delta_e, of the ellipsoid.
    """

    n: int
    d: int
    epsilon: FloatArray
    exact: FloatArray | None
    twin: IntArray
    sizes: FloatArray
    risk: float

    @property
    def tolerant(self) -> bool:
        """Whether there is a tolerance at all."""
        return bool(self.epsilon.any())

    def code(self, i: IntArray, j: IntArray, c: IntArray, s: IntArray) -> IntArray:
        """The number of a sign."""
        return np.asarray(((i * self.n + j) * self.d + c) * 2 + s)

    def signs(self, code: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """(i, j, c, s) of some numbers."""
        pair, s = np.divmod(code, 2)
        pair, c = np.divmod(pair, self.d)
        i, j = np.divmod(pair, self.n)
        return i, j, c, s

    def threshold(self, field: Field, i: IntArray, j: IntArray) -> FloatArray:
        """What gap^2 / (2 |u|^2) must reach by the ellipsoid."""
        shares = field.shares(i, j)
        return scaled_threshold(field.ratios, shares, self.sizes, self.d, self.risk)

    def widths(self, field: Field, i: IntArray, j: IntArray) -> FloatArray:
        """The error of mu_j - mu_i that the ellipsoid excludes; 0 for arms of equal features."""
        squares = field.squares(i, j)
        width = np.sqrt(2.0 * squares * self.threshold(field, i, j))
        return np.where(self.twin[i] == self.twin[j], 0.0, width)


class Table(NamedTuple):
    """Pairs (a in rows, b in columns): margins (r, k, d) of b over a, and which signs are certain."""

    rows: IntArray
    columns: IntArray
    gap: FloatArray
    width: FloatArray  # (r, k)
    above: BoolArray  # s = 0: b certainly above a
    within: BoolArray  # s = 1: b + eps certainly above a


def sign_table(
    terms: Terms, field: Field, sure: IntArray, rows: IntArray, columns: IntArray
) -> Table:
    """All signs between two sets of arms, by the ellipsoid or kept from before."""
    shape = (len(rows), len(columns))
    i, j = np.repeat(rows, shape[1]), np.tile(columns, shape[0])
    gap = (field.mu[j] - field.mu[i]).reshape(*shape, terms.d)
    width = terms.widths(field, i, j).reshape(shape)
    other = terms.twin[rows][:, None] != terms.twin[columns]
    above = (gap >= width[:, :, None]) & other[:, :, None]
    within = gap + terms.epsilon >= width[:, :, None]
    _recall(terms, sure, rows, columns, above, within)
    return Table(rows, columns, gap, width, above, within | above)


def _recall(
    terms: Terms,
    sure: IntArray,
    rows: IntArray,
    columns: IntArray,
    above: BoolArray,
    within: BoolArray,
) -> None:
    """Write the signs kept from before into a table."""
    row, column = np.full(terms.n, -1), np.full(terms.n, -1)
    row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
    i, j, c, s = terms.signs(sure)
    here = (row[i] >= 0) & (column[j] >= 0)
    i, j, c, s = row[i[here]], column[j[here]], c[here], s[here]
    above[i[s == 0], j[s == 0], c[s == 0]] = True
    within[i, j, c] = True


def dominated(terms: Terms, table: Table) -> BoolArray:
    """(r, k): the column certainly dominates the row."""
    dom = table.above.all(axis=2)
    if terms.exact is None:
        return np.asarray(dom)
    a, b = terms.exact[table.rows][:, None, :], terms.exact[table.columns][None, :, :]
    twins = (terms.twin[table.rows][:, None] == terms.twin[table.columns]) & (b > a).any(axis=2)
    return np.asarray((dom | twins) & (b >= a).all(axis=2))


def undominated(terms: Terms, table: Table) -> tuple[BoolArray, BoolArray]:
    """(r, k): the row certainly does not dominate the column; and not by more than the tolerance."""
    twins = terms.twin[table.rows][:, None] == terms.twin[table.columns]
    above, within = table.above.any(axis=2), table.within.any(axis=2)
    if terms.exact is None:
        return above | twins, within | twins
    a, b = terms.exact[table.rows][:, None, :], terms.exact[table.columns][None, :, :]
    better, equal = (b > a).any(axis=2), (a == b).all(axis=2)
    return above | better | (twins & equal), within | better | (twins & equal)


def front(terms: Terms, mu: FloatArray, live: IntArray) -> IntArray:
    """The live arms that none dominates by these means."""
    values = mu[live] if terms.exact is None else np.hstack([mu[live], terms.exact[live]])
    return live[front_of(values)]


class Judgement(NamedTuple):
    """What is certain now: who is out and by whom, who is in, whether the rest is near; signs to keep."""

    out: IntArray
    by: IntArray
    gap: FloatArray
    width: FloatArray
    inside: IntArray
    settled: bool
    sure: IntArray


def judge(terms: Terms, field: Field, sure: IntArray, live: IntArray) -> Judgement:
    """Verdicts on the live arms (those not rejected), from all data and the signs kept so far."""
    best = front(terms, field.mu, live)
    table = sign_table(terms, field, sure, live, best)
    dom = dominated(terms, table)
    out = np.flatnonzero(dom.any(axis=1))
    margin = np.where(dom, table.gap.min(axis=2), -np.inf)[out]
    by = margin.argmax(axis=1) if len(out) else np.zeros(0, dtype=np.int64)
    rest = np.flatnonzero(~dom.any(axis=1))
    R, kept = live[rest], np.isin(best, live[rest])
    table = _restricted(table, rest, kept)
    not_below, near = undominated(terms, table)
    own = R[:, None] == table.columns
    inside = table.columns[(not_below | own).all(axis=0)]
    settled = len(inside) == len(R) or (
        terms.tolerant and bool((near | own).all()) and _all_near(terms, field, sure, R)
    )
    return Judgement(
        live[out],
        best[by],
        margin[np.arange(len(out)), by],
        table_width(terms, field, live[out], best[by]),
        inside,
        settled,
        np.union1d(sure, _kept(terms, table)),
    )


def _restricted(table: Table, rows: IntArray, columns: BoolArray) -> Table:
    """Some rows and columns of a table."""
    return Table(
        table.rows[rows],
        table.columns[columns],
        table.gap[rows][:, columns],
        table.width[rows][:, columns],
        table.above[rows][:, columns],
        table.within[rows][:, columns],
    )


def table_width(terms: Terms, field: Field, i: IntArray, j: IntArray) -> FloatArray:
    """Widths of some pairs."""
    return terms.widths(field, i, j) if len(i) else np.zeros(0)


def _all_near(terms: Terms, field: Field, sure: IntArray, R: IntArray) -> bool:
    """Whether no arm of R exceeds another by more than the tolerance, columns a few at a time."""
    step = max(1, _TABLE // (len(R) * terms.d))
    for start in range(0, len(R), step):
        columns = R[start : start + step]
        _, near = undominated(terms, sign_table(terms, field, sure, R, columns))
        if not (near | (R[:, None] == columns)).all():
            return False
    return True


def _kept(terms: Terms, table: Table) -> IntArray:
    """Numbers of the certain signs of a table that is not too large to be kept."""
    if table.above.size > _TABLE // 20:
        return np.zeros(0, dtype=np.int64)
    found = []
    for s, mask in enumerate((table.above, table.within)):
        if s and not terms.tolerant:
            continue
        a, b, c = np.nonzero(mask)
        found.append(terms.code(table.rows[a], table.columns[b], c, np.full(len(a), s)))
    return np.concatenate(found)
