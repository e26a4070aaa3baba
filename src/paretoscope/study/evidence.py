"""The study's measurements as tests of assumptions need them: by round, in the order they were told.

The pulls of a round are fixed before any of its values, so a test on a complete round has its exact
law. Where one design was fixed before everything, rounds are only looks at it, and are tested
together: at the end, at the half, the quarter, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from paretoscope.core import least_squares
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.confidence import LackOfFit, lack_of_fit
from paretoscope.core.curvature import curvature
from paretoscope.policies.base import Tally
from paretoscope.policies.reading import by_arm, noisy_part
from paretoscope.study.book import Book, Uid, group_members
from paretoscope.study.problem import Problem

# Smaller rounds are not looked at.
FEWEST = 6


class Span(NamedTuple):
    """Measurements whose pulls were fixed before them: requests, arms, noisy values on the inner scale.

    ``share`` is the part of a test's level that belongs to them. ``tally`` holds those that were told
    as a mean and a deviation as well.
    """

    uids: Sequence[str]
    arms: IntArray
    Y: FloatArray
    share: float
    tally: Tally

    def upto(self, n: int) -> Span:
        """The first n of them."""
        return self._replace(uids=self.uids[:n], arms=self.arms[:n], Y=self.Y[:n])


Rows = list[tuple[str, Uid]]
Tallied = Callable[[list[Uid]], Tally]


def by_round(problem: Problem, book: Book, rounds: Sequence[Rows], tallied: Tallied) -> list[Span]:
    """Complete rounds, one by one; round t has 1 / ((t + 1)(t + 2)) of the level."""
    return [
        _span(problem, book, rows, tallied, 1.0 / ((t + 1) * (t + 2)))
        for t, rows in enumerate(rounds)
        if len(rows) >= FEWEST
    ]


def by_half(
    problem: Problem, book: Book, rounds: Sequence[Rows], tallied: Tallied, looks: int
) -> list[Span]:
    """All measurements up to look ``looks``, up to its half, its quarter ..., as far as complete."""
    ends = {1}
    while looks > 1:
        ends.add(looks)
        looks = (looks + 1) // 2
    made = []
    for end in sorted(ends):
        rows = [row for part in rounds[:end] for row in part]
        if end <= len(rounds) and len(rows) >= FEWEST:
            made.append(_span(problem, book, rows, tallied, 1.0 / len(ends)))
    return made


def complete_rounds(book: Book, base: int, turn: int) -> list[Rows]:
    """Requests told in each round from ``base`` to ``turn`` (which is open), in the order told."""
    rounds: list[Rows] = [[] for _ in range(turn - base)]
    for text, uid in book.requests.items():
        if base <= uid.turn < turn and not book.barred(uid):
            rounds[uid.turn - base].append((text, uid))
    return rounds


def _span(problem: Problem, book: Book, rows: Rows, tallied: Tallied, share: float) -> Span:
    """Some requests with their arms and values; candidates of equal features are one arm.

    Those told as a mean and a deviation have no values of their own, and stand in the tally only.
    """
    summed = {uid for group in book.sums for uid in group_members(group)}
    single = [(text, uid) for text, uid in rows if text not in summed]
    texts = [text for text, _ in single]
    candidates = np.array([uid.candidate for _, uid in single], dtype=np.int64)
    Y = problem.inward([book.values[text] for text in texts])[:, problem.setting.noisy]
    tally = tallied([uid for _, uid in rows])
    return Span(texts, problem.setting.model.inverse[candidates], Y, share, tally)


class Scale(NamedTuple):
    """Noise of one metric on its inner scale, with 95 % limits, from ``nu`` spare replicates."""

    metric: str
    sigma: float
    low: float
    high: float
    nu: int


def pilot(problem: Problem, tally: Tally) -> list[Scale]:
    """What replicates say of the noise of each metric; not a number where there are none."""
    model = problem.setting.model
    arms = noisy_part(problem.setting, by_arm(model.first, model.inverse, tally))
    seen = arms.counts > 0
    nu = int(arms.counts.sum() - seen.sum())
    squares = arms.m2[seen].sum(axis=0)
    low, high = (special.chdtri(nu, p) if nu else np.nan for p in (0.025, 0.975))
    names = [metric.name for metric in problem.metrics if not metric.exact]
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = [np.sqrt(squares / part).tolist() for part in (np.float64(nu), low, high)]
    rows = zip(names, *sides, strict=True)
    return [Scale(name, sigma, least, most, nu) for name, sigma, least, most in rows]


class _Fitted(NamedTuple):
    """The linear model on measurements fixed beforehand: candidates, counts, means, fit, what is left."""

    at: IntArray
    Z: FloatArray
    counts: IntArray
    means: FloatArray
    fit: FloatArray
    left: least_squares.ResidualSums


def _fitted(problem: Problem, tally: Tally) -> _Fitted | None:
    """The fit, where what was measured can test it."""
    setting, model = problem.setting, problem.setting.model
    arms = noisy_part(setting, by_arm(model.first, model.inverse, tally))
    pool = np.flatnonzero(arms.counts)
    Z = model.coordinates()
    if Z is None or not len(pool) or not Z[pool].any():
        return None
    B, rank = least_squares.row_basis(Z[pool])
    ZP, counts = Z[pool] @ B, arms.counts[pool]
    if len(pool) <= rank or int(counts.sum()) <= len(pool):
        return None
    fit = least_squares.estimate(ZP, counts, arms.means[pool])
    left = least_squares.residual_ss(ZP, counts, arms.means[pool], arms.m2[pool], fit)
    if left.df_lack < 1 or left.df_pure < 1 or not (left.pure_error > 0).all():
        return None
    return _Fitted(model.first[pool], ZP, counts, arms.means[pool], fit.means(ZP), left)


def fit_test(problem: Problem, tally: Tally, level: float) -> LackOfFit | None:
    """The test of the linear model on measurements fixed beforehand; None where they cannot test it.

    Half of the level looks in all directions, half in the commonest: a bend between middle and edge. A
    metric whose model may be wrong by a stated misfit is tested in all directions only.
    """
    found = _fitted(problem, tally)
    if found is None:
        return None
    setting, left = problem.setting, found.left
    zeta = None if setting.zeta is None else setting.zeta[setting.noisy]
    made = lack_of_fit(
        left.lack_of_fit,
        left.pure_error,
        left.df_lack,
        left.df_pure,
        int(found.counts.sum()),
        level=level / 2,
        misfit=zeta,
    )
    bent = curvature(found.Z, found.counts, found.means, left.pure_error, left.df_pure)
    bent = bent if zeta is None else np.where(zeta > 0, 1.0, bent)
    p = np.minimum(1.0, 2.0 * np.minimum(made.p, bent))
    return replace(made, p=p, rejected=p <= level / len(p))


def misfits(problem: Problem, tally: Tally, c: int, most: int = 3) -> list[tuple[int, float]]:
    """The candidates that say most against the fit of noisy metric c, and how far they lie above it."""
    found = _fitted(problem, tally)
    if found is None:
        return []
    apart = (found.means - found.fit)[:, c]
    told = np.argsort(-found.counts * np.square(apart), kind="stable")[:most]
    return [(int(found.at[k]), float(apart[k])) for k in told]
