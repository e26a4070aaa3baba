"""Tests of what a certificate assumes of the measurements themselves; none looks at a verdict.

All work on replicates: measurements of the same arm in one round, whose differences are noise and
nothing else, whatever the means are. The arms of a round are fixed before it, so every p-value here is
that of a fixed design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from paretoscope.core.arrays import FloatArray, IntArray

# Below this share of its spread inside arms, an order in time cannot be told from the arms.
CONFOUNDED = 0.2
# Besag and Clifford (1991): stop a Monte Carlo test after so many exceedances; the p-value stays valid.
_EXCEED = 10
# Draws made at once, and in all for each 1 / level.
_CHUNK, _PER_LEVEL = 400, 6
# Share of equal measurements above which values come in steps.
STEPS = 0.3
# Share of a round that counts as its start, and the fewest measurements that do.
_START, _FEWEST = 0.1, 3

Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Replicates:
    """Measurements (n, d) of one round in the order they were made, and the arm of each (n,)."""

    arms: IntArray
    Y: FloatArray

    @cached_property
    def group(self) -> IntArray:
        """The arms numbered 0 ... m - 1."""
        return np.unique(self.arms, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def sizes(self) -> IntArray:
        """Measurements of each arm."""
        return np.bincount(self.group)

    @property
    def df(self) -> int:
        """Spare measurements, n - m."""
        return len(self.group) - len(self.sizes)

    @cached_property
    def residual(self) -> FloatArray:
        """Distance of each measurement from the mean of its arm."""
        return self.centred(self.Y)

    @cached_property
    def squares(self) -> FloatArray:
        """Sums of squares within each arm (m, d)."""
        out = np.zeros((len(self.sizes), self.Y.shape[1]))
        np.add.at(out, self.group, np.square(self.residual))
        return out

    def centred(self, Z: FloatArray) -> FloatArray:
        """Z (n, e) without its means over arms."""
        shift = np.zeros((len(self.sizes), Z.shape[1]))
        shift[self.group] = Z  # any value of the arm: differences lose no digits
        rest = Z - shift[self.group]
        mean = np.zeros_like(shift)
        np.add.at(mean, self.group, rest)
        return np.asarray(rest - (mean / self.sizes[:, None])[self.group])

    def repeated(self) -> Replicates:
        """The measurements of arms that have at least two."""
        keep = (self.sizes >= 2)[self.group]
        return Replicates(self.arms[keep], self.Y[keep])


class Effect(NamedTuple):
    """p-value of each objective, and the size of what was looked for; NaN where nothing can be told."""

    p: FloatArray
    size: FloatArray


def _nothing(d: int) -> Effect:
    return Effect(np.full(d, np.nan), np.full(d, np.nan))


# ---------------------------------------------------------------- order in time


def confounding(rep: Replicates) -> float:
    """Share of the spread of the order in time that lies inside arms: 0 = one arm after the other."""
    z = np.arange(len(rep.group), dtype=np.float64)[:, None]
    total = float(np.square(z - z.mean()).sum())
    return float(np.square(rep.centred(z)).sum()) / total if total > 0 else 0.0


def trend(rep: Replicates) -> Effect:
    """Change from the first to the last measurement of the round, if it is a straight line.

    >>> rep = Replicates(np.arange(40) % 2, np.linspace(0, 1, 40)[:, None])
    >>> bool(trend(rep).p[0] < 1e-9), float(trend(rep).size[0].round(6))
    (True, 1.0)
    """
    n = len(rep.group)
    return _contrast(rep, np.arange(n) / max(n - 1, 1))


def start(rep: Replicates) -> Effect:
    """Distance of the first tenth of a round from the rest of it: a machine that warms up."""
    n = len(rep.group)
    first = max(_FEWEST, int(np.ceil(_START * n)))
    return _contrast(rep, (np.arange(n) < first).astype(np.float64))


def _contrast(rep: Replicates, z: FloatArray) -> Effect:
    """Student's t of the regression of the residuals on z, arms allowed for."""
    d = rep.Y.shape[1]
    inside = rep.centred(z[:, None])[:, 0]
    weight, spread = float(inside @ inside), float(np.square(z - z.mean()).sum())
    nu = rep.df - 1
    if nu < 1 or weight <= CONFOUNDED * spread:
        return _nothing(d)
    slope = inside @ rep.residual / weight
    left = np.maximum(rep.squares.sum(axis=0) - slope**2 * weight, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(slope) * np.sqrt(weight * nu / left)
    p = 2.0 * special.stdtr(nu, -t)
    return Effect(np.where(np.isnan(t), np.nan, p), slope)


# ---------------------------------------------------------------- scale and shape of the noise


def excess(rep: Replicates, sigma: FloatArray) -> Effect:
    """Whether the noise is larger than declared, over all arms or in one; size = estimate / declared.

    Exact for Gaussian noise: chi-square over all arms, and over each with Bonferroni, doubled.
    """
    spare = rep.sizes - 1
    some = spare > 0
    if not some.any():
        return _nothing(rep.Y.shape[1])
    ratio = rep.squares[some] / np.square(sigma)
    each = special.chdtrc(spare[some][:, None], ratio)
    pooled = special.chdtrc(rep.df, ratio.sum(axis=0))
    p = np.minimum(1.0, 2.0 * np.minimum(pooled, int(some.sum()) * each.min(axis=0)))
    return Effect(p, np.sqrt(ratio.sum(axis=0) / rep.df))


def unequal(rep: Replicates, level: float) -> Effect:
    """Brown and Forsythe (1974), whose law under equal Gaussian noise is drawn; size = largest / pooled.

    The statistic compares distances from the median of the arm. Its F approximation fails for arms
    of two or three measurements; the Monte Carlo law does not.
    """
    rep = rep.repeated()
    m, d = len(rep.sizes), rep.Y.shape[1]
    if m < 2 or rep.df < m:  # with single spare measurements there is nothing to compare
        return _nothing(d)
    order = np.argsort(rep.group, kind="stable")
    blocks = _Blocks(rep.sizes)
    p = [_drawn(blocks.brown_forsythe, rep.residual[order, c], level, c) for c in range(d)]
    variance = rep.squares / (rep.sizes - 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(variance.max(axis=0) * rep.df / rep.squares.sum(axis=0))
    return Effect(np.array(p), size)


def tails(rep: Replicates, level: float) -> Effect:
    """Whether the noise has heavier tails than a Gaussian: kurtosis of the residuals, its law drawn."""
    rep = rep.repeated()
    d = rep.Y.shape[1]
    if rep.df < 8:  # fewer residuals have no tails
        return _nothing(d)
    order = np.argsort(rep.group, kind="stable")
    blocks = _Blocks(rep.sizes)
    found = [rep.residual[order, c] for c in range(d)]
    p = [_drawn(blocks.kurtosis, y, level, c) for c, y in enumerate(found)]
    return Effect(np.array(p), np.array([float(blocks.kurtosis(y[None])[0]) for y in found]))


def _drawn(statistic: Statistic, y: FloatArray, level: float, stream: int) -> float:
    """Monte Carlo p-value of a statistic that does not depend on means and scale of the arms."""
    seen = float(statistic(y[None])[0])
    if not np.isfinite(seen):
        return float("nan")
    rng = np.random.default_rng([17, stream])
    most, drawn, above = int(_PER_LEVEL / level), 0, 0
    while drawn < most:
        values = statistic(rng.standard_normal((_CHUNK, len(y)))) >= seen * (1.0 - 1e-12)
        hits = np.flatnonzero(np.cumsum(values) + above >= _EXCEED)
        if len(hits):
            return _EXCEED / (drawn + int(hits[0]) + 1)
        above, drawn = above + int(values.sum()), drawn + _CHUNK
    return (above + 1) / (drawn + 1)


class _Blocks:
    """Statistics of many samples (s, n) at once, whose columns stand arm by arm."""

    def __init__(self, sizes: IntArray) -> None:
        self.sizes = sizes
        self.starts = np.cumsum(sizes) - sizes
        self.group = np.repeat(np.arange(len(sizes)), sizes)

    def _medians(self, Y: FloatArray) -> FloatArray:
        """Median of every arm, arms of one size together."""
        out = np.empty((len(Y), len(self.sizes)))
        for size in np.unique(self.sizes):
            which = np.flatnonzero(self.sizes == size)
            columns = self.starts[which][:, None] + np.arange(size)
            out[:, which] = np.median(Y[:, columns], axis=2)
        return out

    def _means(self, Y: FloatArray) -> FloatArray:
        sums: FloatArray = np.add.reduceat(Y, self.starts, axis=1)
        return sums / self.sizes

    def brown_forsythe(self, Y: FloatArray) -> FloatArray:
        """Spread between arms of the distances from the median, over that within arms."""
        Z = np.abs(Y - self._medians(Y)[:, self.group])
        means = self._means(Z)
        within = np.square(Z - means[:, self.group]).sum(axis=1)
        between = (self.sizes * np.square(means - Z.mean(axis=1, keepdims=True))).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(between / within)

    def kurtosis(self, Y: FloatArray) -> FloatArray:
        """Fourth moment of the residuals over the square of the second."""
        R = (Y - self._means(Y)[:, self.group]) / np.sqrt(1.0 - 1.0 / self.sizes)[self.group]
        second = np.square(R).mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((R**4).mean(axis=1) / second**2)


# ---------------------------------------------------------------- identity of the measurements


def equal_rows(Y: FloatArray) -> list[IntArray]:
    """Sets of measurements (their positions) equal in every objective: noise never repeats itself."""
    if not len(Y):
        return []
    _, inverse, count = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    return [np.flatnonzero(inverse == k) for k in np.flatnonzero(count > 1)]


def repeats(Y: FloatArray) -> float:
    """Share of the measurements that are equal to another one in every objective.

    Where it is above `STEPS`, values come in steps, and nothing is copied.
    """
    count = np.unique(Y, axis=0, return_counts=True)[1]
    return float(count[count > 1].sum() / len(Y))


class Run(NamedTuple):
    """One value ``length`` times in a row, from position ``start``; p = its probability, at most."""

    start: int
    length: int
    p: float


def longest_run(arms: IntArray, y: FloatArray) -> Run:
    """The longest run of one value over changing arms: an instrument that hangs.

    The next value is the same by chance no more often than the commonest value comes outside the run
    (and once more); so a run of L somewhere among n has probability at most n times that to the L - 1.
    """
    same = (np.diff(y) == 0.0) & (np.diff(arms) != 0)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int64)))
    starts, lengths = ends[::2], ends[1::2] - ends[::2] + 1
    if not len(lengths):
        return Run(0, 1, 1.0)
    best = int(lengths.argmax())
    start, length = int(starts[best]), int(lengths[best])
    rest = np.delete(y, np.arange(start + 1, start + length))
    commonest = int(np.unique(rest, return_counts=True)[1].max())
    agree = (commonest + 1.0) / (len(rest) + 1.0)
    return Run(start, length, min(1.0, len(y) * agree ** (length - 1)))


def constant(rep: Replicates) -> FloatArray:
    """Objectives that never vary within an arm, though arms were repeated (1.0 or 0.0 each)."""
    still = rep.squares.sum(axis=0) <= 0.0
    return np.asarray(still & (rep.df > 0), dtype=np.float64)


class Swap(NamedTuple):
    """Two measurements that fit far better exchanged, and the evidence as a p-value (Bonferroni)."""

    first: int
    second: int
    p: float


def swaps(rep: Replicates, level: float, most: int = 60) -> list[Swap]:
    """Pairs of measurements of two arms that would fit far better if they were exchanged.

    In units of the noise, two arms D apart: the squared distance an exchange saves is Gaussian with
    mean -2 D^2 and variance 8 D^2 under no exchange, so a saving g has probability at most Q(sqrt(g))
    whatever D is. Only the ``most`` measurements farthest from their arm are paired.
    """
    n = len(rep.group)
    if rep.df < 8 or not (rep.squares.sum(axis=0) > 0).all():
        return []
    scale = np.sqrt(rep.squares.sum(axis=0) / rep.df)
    size = rep.sizes[rep.group]
    usable = np.flatnonzero(size >= 3)
    own = rep.residual * (size / np.maximum(size - 1, 1))[:, None] / scale  # from the others' mean
    far = usable[np.argsort(-np.square(own[usable]).sum(axis=1), kind="stable")[:most]]
    base = (rep.Y / scale) - own  # mean of the others of the arm
    found = []
    for a, i in enumerate(far.tolist()):
        for j in far[a + 1 :].tolist():
            if rep.group[i] != rep.group[j]:
                p = _swap_p(rep.Y / scale, base, size, i, j, rep.df) * n * (n - 1) / 2
                found += [Swap(min(i, j), max(i, j), p)] if p <= level else []
    return _apart(sorted(found, key=lambda swap: swap.p))


def _apart(found: list[Swap]) -> list[Swap]:
    """The best pairs in which no measurement stands twice."""
    used: set[int] = set()
    kept = []
    for swap in found:
        if not used & {swap.first, swap.second}:
            kept.append(swap)
            used |= {swap.first, swap.second}
    return kept


def _swap_p(Y: FloatArray, base: FloatArray, size: IntArray, i: int, j: int, nu: int) -> float:
    """Probability of the saving of one exchange; means of n - 1 others widen it by n / (n - 1)."""
    before = np.square(Y[i] - base[i]).sum() + np.square(Y[j] - base[j]).sum()
    after = np.square(Y[i] - base[j]).sum() + np.square(Y[j] - base[i]).sum()
    saved = float(before - after)
    if saved <= 0:
        return 1.0
    smallest = min(int(size[i]), int(size[j]))
    return float(special.stdtr(nu, -np.sqrt(saved * (smallest - 1) / smallest)))
