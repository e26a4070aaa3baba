"""What still has to be shown: the signs that an answer needs, their prices, and the pulls that show them.

    needed(mu) for some means mu, S its Pareto set:
        for each i outside S: the signs of DOM(i, j), j in S with the largest min_c gap_c^2 / |u|^2
            (with a tolerance: or ND_eps against all that is kept, where that is easier)
        for each pair in S: the sign of ND(i, j) with the largest gap
    prices of a window: needed() of M draws of the means from the law of the estimates; in each draw
        pi ~ exp(-SHARP (z / z_min - 1)), z = gap^2 / |u|^2_{V(w)^-1}, summed to 1; averaged
    shares of the next batch: max over w of min over needed signs of
        (gap^2 + CAUTION |u|^2_{V^-1}) / (need |u|^2_{V(w)^-1})    # `balance`
Any rule that looks at the past alone would do: nothing here can make a certificate wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.balance import (
    balanced,
    balanced_free,
    completed,
    completed_free,
    pulls_left,
)
from paretoscope.policies.field import Field, FreeField, LinearField
from paretoscope.policies.signs import Terms, front

DRAWS = 200
# Sharpness of the prices, and the share below which a sign is not listed.
SHARP, LISTED = 4.0, 1e-4
# Variances added to a squared gap: a pair that happens to look equal must not take all pulls.
CAUTION = 3.0
# Part of every batch that is spread over all directions.
SPREAD = 0.15
# Signs the shares are balanced for, the hardest ones; and those looked for in one draw.
HARDEST, LONGEST = 60, 2_000
# Least evidence that a sign is taken to lack.
FLOOR = 0.2


class Wanted(NamedTuple):
    """Signs with the gaps that some means give them."""

    code: IntArray
    gap: FloatArray


def needed(terms: Terms, mu: FloatArray, field: Field, live: IntArray) -> Wanted:
    """Signs that would have to be certain if these were the means; ``field`` tells which pairs are hard."""
    S = front(terms, mu, live)
    others = np.setdiff1d(live, S, assume_unique=True)
    i, j, gap, keep = _dominators(terms, mu, field, others, S)
    c = np.tile(np.arange(terms.d), len(i))
    code = terms.code(np.repeat(i, terms.d), np.repeat(j, terms.d), c, np.zeros_like(c))
    kept = np.concatenate([S, keep])
    a, b = (part.ravel() for part in np.meshgrid(kept, kept, indexing="ij"))
    pair = _open_pairs(terms, a, b)
    a, b = a[pair], b[pair]
    slack = mu[b] - mu[a] + terms.epsilon  # b is not dominated by a
    best = slack.argmax(axis=1)
    s = np.full(len(a), int(terms.tolerant))
    return Wanted(
        np.concatenate([code, terms.code(a, b, best, s)]),
        np.concatenate([gap.ravel(), slack[np.arange(len(a)), best]]),
    )


def _open_pairs(terms: Terms, a: IntArray, b: IntArray) -> IntArray:
    """Pairs of which only measurements can tell that a does not dominate b."""
    keep = (a != b) & (terms.twin[a] != terms.twin[b])
    if terms.exact is not None:
        keep &= ~(terms.exact[b] > terms.exact[a]).any(axis=1)
    return np.flatnonzero(keep)


def _dominators(
    terms: Terms, mu: FloatArray, field: Field, others: IntArray, S: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """The easiest dominator of each arm outside S, and the gaps; arms better shown to be near."""
    if len(others) == 0:
        return others, others, np.zeros((0, terms.d)), others
    ease = np.full(len(others), -1.0)
    by = np.zeros(len(others), dtype=np.int64)
    for j in S:  # few columns, many rows
        gap = (mu[j] - mu[others]).min(axis=1)
        z = np.where(gap > 0, gap, 0.0) ** 2 / _positive(
            field.squares(others, np.full_like(others, j))
        )
        if terms.exact is not None:
            z = np.where((terms.exact[j] >= terms.exact[others]).all(axis=1), z, -1.0)
        z = np.where(terms.twin[others] == terms.twin[j], -1.0, z)
        by, ease = np.where(z > ease, j, by), np.maximum(z, ease)
    found = ease > 0.0
    i, j, ease = others[found], by[found], ease[found]
    gap = mu[j] - mu[i]
    near = np.zeros(len(i), dtype=bool)
    if terms.tolerant:
        room = (terms.epsilon - gap).max(axis=1)
        near = np.maximum(room, 0.0) ** 2 / _positive(field.squares(i, j)) > ease
    first = np.argsort(ease[~near], kind="stable")[:LONGEST]
    return i[~near][first], j[~near][first], gap[~near][first], i[near]


def _positive(squares: FloatArray) -> FloatArray:
    """Squares to divide by."""
    return np.asarray(np.maximum(squares, 1e-300))


def price(
    terms: Terms,
    field: Field,
    target: Field,
    live: IntArray,
    sure: IntArray,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Signs of a new window with their prices; ``target`` is the field of the shares now in use."""
    codes, shares = [], []
    for mu in field.draws(rng, DRAWS):
        want = needed(terms, mu, target, live)
        fresh = ~np.isin(want.code, sure)
        code, gap = want.code[fresh], want.gap[fresh]
        if len(code) == 0:
            continue
        i, j, _, _ = terms.signs(code)
        z = gap**2 / _positive(target.squares(i, j))
        pi = np.exp(-SHARP * (z / max(float(z.min()), 1e-300) - 1.0))
        pi /= pi.sum()
        listed = pi > LISTED
        codes.append(code[listed])
        shares.append(pi[listed] / DRAWS)
    if not codes:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    code, place = np.unique(np.concatenate(codes), return_inverse=True)
    pi = np.bincount(place, np.concatenate(shares))
    i, j, _, _ = terms.signs(code)
    listed = (pi > LISTED / 10.0) & np.isfinite(field.squares(i, j))  # else the past has no prior
    return code[listed], np.asarray(pi[listed], dtype=np.float64)


def _hardest(
    terms: Terms, field: Field, open_: Wanted, lacks: FloatArray, begin: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs (i, j) of the hardest signs that shares like ``begin`` can tell, and gap^2 / need."""
    i, j, _, _ = terms.signs(open_.code)
    squares = field.squares(i, j)
    able = np.isfinite(squares) & np.isfinite(of_shares(field, begin).squares(i, j))
    i, j, squares = i[able], j[able], squares[able]
    a = (open_.gap[able] ** 2 + CAUTION * squares) / np.maximum(lacks[able], FLOOR)
    hard = np.argsort(a / _positive(squares), kind="stable")[:HARDEST]
    return i[hard], j[hard], a[hard]


def shares(
    terms: Terms,
    field: Field,
    open_: Wanted,
    lacks: FloatArray,
    start: FloatArray,
    base: FloatArray,
    barred: BoolArray,
) -> tuple[FloatArray, float]:
    """Shares of the next batch, and the pulls left if the estimates are right; infinite if no pull can help."""
    begin = np.where(barred, 0.0, 0.5 * start + 0.5 * base)
    i, j, a = _hardest(terms, field, open_, lacks, begin)
    if len(i) == 0:
        return base, float("inf")
    if isinstance(field, LinearField):
        w = np.zeros(len(base))
        w[~barred] = balanced(field.Z[~barred], field.Z[j] - field.Z[i], a, begin[~barred])
    else:
        w = balanced_free(i, j, a, begin)
    w = (1.0 - SPREAD) * w + SPREAD * base / base.sum()
    return w, pulls_left(of_shares(field, w).squares(i, j), a)


def last_shares(
    terms: Terms, field: Field, open_: Wanted, base: FloatArray, barred: BoolArray, rest: int
) -> FloatArray:
    """Shares of the last ``rest`` pulls of a budget, so that with all before them they balance the signs."""
    i, j, a = _hardest(terms, field, open_, np.ones(len(open_.code)), base)
    if len(i) == 0:
        return base
    w: FloatArray = np.zeros(len(base))
    if isinstance(field, LinearField):
        past, U = field.V / rest, field.Z[j] - field.Z[i]
        w[~barred] = completed(field.Z[~barred], U, a, past, base[~barred])
    else:
        assert isinstance(field, FreeField)
        w = completed_free(i, j, a, field.n / rest, base)
    return np.asarray((1.0 - SPREAD) * w + SPREAD * base / base.sum())


def of_shares(field: Field, w: FloatArray) -> Field:
    """The field that one pull in these shares would make."""
    if isinstance(field, LinearField):
        return LinearField(field.Z, (field.Z * w[:, None]).T @ field.Z, field.W0, field.mu)
    assert isinstance(field, FreeField)
    return FreeField(w, field.w, field.mu)
