"""The margins of all pairs of arms beside their bonuses, brought up to date one arm at a time.

    low[i, j]  = M_eps(i, j) - b_ij      high[i, j] = M(i, j) + b_ij      M(i, j) = max_c mu_i(c) - mu_j(c)
    h_i = min_j low[i, j] >= 0: no j is certainly better by more than eps (eps = 0: i is optimal)
    u_i = min_j high[i, j] <= 0: some j certainly dominates i; g_i = -u_i

One arm changes one row and one column: O(K d), and the minima of the rows whose nearest rival it was.
Every entry is a function of the counts and means alone, so that tables kept and tables built afresh
are equal bit for bit. They are a cache: `tables` finds the ones that belong to a tally, or builds them.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.bonuses import PairBonus
from paretoscope.policies.base import Tally
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import INFEASIBLE, RoundState

# Tables kept beside a model: one for each run that goes on at the same time.
_KEPT = 2


class PairTables:
    """Tables of K arms; ``mu`` (K, d) and ``eps`` (d,) in units of sigma.

    Parameters
    ----------
    apart : (K, K) bool array or None
        Pairs (i, j) in which j certainly does not dominate i, whatever the means say.
    """

    def __init__(
        self,
        mu: FloatArray,
        n: FloatArray,
        bonus: PairBonus,
        eps: FloatArray,
        apart: BoolArray | None,
    ) -> None:
        K = len(mu)
        self.bonus, self.apart, self.everyone = bonus, apart, np.arange(K)
        self.mu, self.eps = np.ascontiguousarray(mu.T), eps[:, None]
        self.n, self.inverse, self.share = n.copy(), 1.0 / n, bonus.share(n)
        self.low, self.high = np.empty((K, K)), np.empty((K, K))
        for a in range(K):
            own, _, slack, _, b = self._margins(a)
            self.low[a], self.high[a] = slack - b, own + b
            self._mask(a)
        self.nearest, self.closest = self.low.argmin(axis=1), self.high.argmin(axis=1)
        self.h, self.u = self.low.min(axis=1), self.high.min(axis=1)

    def _margins(self, a: int) -> tuple[FloatArray, ...]:
        """M(a, .), M(., a), both with eps, and b_a."""
        D = self.mu[:, a : a + 1] - self.mu
        own, other = D.max(axis=0), -D.min(axis=0)
        b = self.bonus.given(self.share[a] + self.share, self.inverse[a] + self.inverse)
        if not self.eps.any():
            return own, other, own, other, b
        return own, other, (D + self.eps).max(axis=0), (self.eps - D).max(axis=0), b

    def _mask(self, a: int) -> None:
        """No arm is its own rival, nor one that certainly does not dominate it."""
        for table in (self.low, self.high):
            table[a, a] = np.inf
            if self.apart is not None:
                table[a, self.apart[a]] = np.inf
                table[self.apart[:, a], a] = np.inf

    def move(self, a: int, mu: FloatArray, n: float) -> None:
        """Arm a now has mean ``mu`` (d,) from n pulls."""
        self.mu[:, a], self.n[a], self.inverse[a] = mu, n, 1.0 / n
        self.share[a] = self.bonus.share(self.n[a : a + 1])[0]
        own, other, slack, other_slack, b = self._margins(a)
        self.low[a], self.high[a] = slack - b, own + b
        self.low[:, a], self.high[:, a] = other_slack - b, other + b
        self._mask(a)
        _refresh(self.low, self.h, self.nearest, a)
        _refresh(self.high, self.u, self.closest, a)

    @property
    def settled(self) -> bool:
        """Whether every arm is certainly within eps of optimal or certainly dominated."""
        return bool(np.maximum(-self.u, self.h).min() >= 0.0)

    def contest(self) -> tuple[int, int]:
        """b_t, of those not certain the least likely to be dominated, and c_t, its nearest rival."""
        b = int(np.where(self.h <= 0.0, self.u, -np.inf).argmax())
        return b, int(self.low[b].argmin())

    def widths(self, rows: IntArray) -> FloatArray:
        """b_ij for some rows."""
        shares = self.share[rows][:, None] + self.share
        return self.bonus.given(shares, self.inverse[rows][:, None] + self.inverse)


def _refresh(table: FloatArray, best: FloatArray, at: IntArray, a: int) -> None:
    """Minima of the rows after row a and column a have changed; ``at``: where each one was."""
    column = table[:, a]
    lower = column <= best
    stale = (at == a) & ~lower
    stale[a] = True
    best[lower], at[lower] = column[lower], a
    rows = np.flatnonzero(stale)
    block = table[rows]
    at[rows] = block.argmin(axis=1)
    best[rows] = block[np.arange(len(rows)), at[rows]]


class Shelf:
    """The last few tables, each under the array of means that it reflects.

    Who takes tables has them alone: threads that share a setting never change each other's.
    """

    def __init__(self) -> None:
        self.kept: OrderedDict[int, tuple[FloatArray, IntArray, PairTables]] = OrderedDict()

    def take(self, means: FloatArray, status: IntArray) -> PairTables | None:
        """The tables of these very arrays, no longer on the shelf."""
        found = self.kept.pop(id(means), None)
        if found is None or found[0] is not means or found[1] is not status:
            return None
        return found[2]

    def put(self, means: FloatArray, status: IntArray, tables: PairTables) -> None:
        """Keep them; the oldest leaves."""
        self.kept[id(means)] = means, status, tables
        if len(self.kept) > _KEPT:
            self.kept.popitem(last=False)


def build(state: RoundState, bonus: PairBonus, epsilon: FloatArray) -> PairTables:
    """The tables of a state in which every arm that can be measured has been."""
    setting, out = state.setting, state.status == INFEASIBLE
    tally, unit = noisy_part(setting, state.got), np.asarray(state.unit)
    n = np.where(out, 1, tally.counts).astype(np.float64)
    exact = state.exact[:, None, :] > state.exact[None, :, :]
    apart = exact.any(axis=2) | out | out[:, None]
    eps = epsilon[setting.noisy] / unit
    return PairTables(tally.means / unit, n, bonus, eps, apart if apart.any() else None)


def with_one(got: Tally, tally: Tally, row: slice, counts: IntArray) -> Tally:
    """Both tallies together where only one row is new: `Tally.merge` of that row."""
    one = _row(got, row).merge(_row(tally, row))
    means, m2 = got.means.copy(), got.m2.copy()
    means[row], m2[row] = one.means, one.m2
    return Tally(counts, freeze(means), freeze(m2))


def _row(tally: Tally, row: slice) -> Tally:
    """One row of a tally."""
    return Tally(tally.counts[row], tally.means[row], tally.m2[row])
