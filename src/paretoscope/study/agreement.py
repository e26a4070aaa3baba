"""Rounds side by side: what differs between them that should not.

A sheet whose columns were exchanged, whose rows slipped, or that is in another unit looks healthy by
itself; beside another round it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paretoscope.core import agreement
from paretoscope.core.agreement import Batch
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.confidence import Tail, student
from paretoscope.policies.base import Tally
from paretoscope.policies.reading import by_arm, noisy_part, tail_of
from paretoscope.study.book import Uid
from paretoscope.study.evidence import Rows
from paretoscope.study.problem import Problem

# Spare replicates from which a noise is compared.
_FEWEST = 5
# Rounds that are compared; those after them would have next to nothing of the level.
_MOST = 40


class Pair(NamedTuple):
    """Measurements of a round, and earlier ones to compare them with; ``share`` of the level."""

    round: int
    earlier: Tally
    later: Tally
    share: float


class Clash(NamedTuple):
    """Where two rounds disagree most; the arms are candidates, ``size`` is on the inner scale."""

    p: float
    level: float
    size: float
    round: int
    metric: int
    first: int = -1
    second: int = -1


def pairs(
    rounds: Sequence[Rows], tallied: Callable[[list[Uid]], Tally], *, past: bool
) -> Iterator[Pair]:
    """Every complete round but the first, with the first one or, if ``past``, with all before it.

    All before it only where their pulls do not depend on their values, or do not matter.
    """
    told = [tallied([uid for _, uid in rows]) for rows in rounds[:_MOST]]
    earlier = told[0] if told else None
    for t in range(1, len(told)):
        assert earlier is not None
        if told[t].total and earlier.total:
            yield Pair(t + 1, earlier, told[t], 1.0 / (t * (t + 1)))
        if past:
            earlier = earlier.merge(told[t])


def worst(found: Sequence[Clash]) -> Clash | None:
    """The most telling one: p over its level decides."""
    return min(found, key=lambda clash: clash.p / clash.level, default=None)


def differences(problem: Problem, pair: Pair, level: float, *, pooled: bool) -> list[Clash]:
    """Differences between candidates that are not the same in both, one for each noisy metric."""
    one, two = (_arms(problem, tally) for tally in (pair.earlier, pair.later))
    at = np.flatnonzero((one.counts > 0) & (two.counts > 0))
    if problem.setting.model.linear and pooled:
        at = np.flatnonzero(two.counts)
    if len(at) < 2:
        return []
    at = at[np.argsort(-two.counts[at], kind="stable")]  # the reference has the most
    n, N, read = len(at), len(one.counts), _pooled if pooled else _own
    # which arms are compared depends on the earlier values: their limits hold for all
    every, these = (N * (N - 1), 2 * (n - 1)) if pooled else (2 * N, 2 * n)
    sides = read(problem, at, one, every), read(problem, at, two, these)
    if sides[0] is None or sides[1] is None:
        return []
    found = agreement.differences(sides[0], sides[1])
    names = problem.setting.model.first[at].tolist()
    rows = zip(found.p.tolist(), found.size.tolist(), found.arm.tolist(), strict=True)
    share = level * pair.share / len(found.p)
    return [
        Clash(p, share, size, pair.round, c, names[1 + arm], names[0])
        for c, (p, size, arm) in enumerate(rows)
    ]


def noise(problem: Problem, pair: Pair, level: float) -> list[Clash]:
    """Scales of the noise that are not the same in both, one for each metric of unknown noise."""
    one, two = (_arms(problem, tally) for tally in (pair.earlier, pair.later))
    squares, df = zip(*(_pure(tally) for tally in (one, two)), strict=True)
    unknown = np.flatnonzero(problem.setting.noise.only(problem.setting.noisy).unknowns)
    usable = unknown[(squares[0][unknown] > 0) & (squares[1][unknown] > 0)]
    if min(df) < _FEWEST or not len(usable):
        return []
    p, ratio = agreement.noise(squares[0][usable], df[0], squares[1][usable], df[1])
    share = level * pair.share / len(usable)
    rows = zip(p.tolist(), ratio.tolist(), usable.tolist(), strict=True)
    return [Clash(q, share, size, pair.round, c) for q, size, c in rows]


def _arms(problem: Problem, tally: Tally) -> Tally:
    """Noisy metrics by arm."""
    model = problem.setting.model
    return noisy_part(problem.setting, by_arm(model.first, model.inverse, tally))


def _pure(tally: Tally) -> tuple[FloatArray, int]:
    """Squares of replicates, and how many of them are spare."""
    seen = tally.counts > 0
    return tally.m2[seen].sum(axis=0), int(tally.counts.sum() - seen.sum())


def _pooled(problem: Problem, at: IntArray, tally: Tally, events: int) -> Batch | None:
    """One batch at some arms, the first of which is the reference; one noise for all arms."""
    model, noise = problem.setting.model, problem.setting.noise.only(problem.setting.noisy)
    spread = model.spread(at, tally.counts)
    if spread is None:
        return None
    mu, residual = model.estimate(at, *tally)
    nu = residual.df_lack + residual.df_pure
    if noise.unknowns.any() and nu < 1:
        return None
    sigma = np.sqrt((residual.lack_of_fit + residual.pure_error) / max(nu, 1))
    sigma = np.where(noise.unknowns, sigma, noise.sigma)
    laws = [student(nu) if unknown else tail_of(noise) for unknown in noise.unknowns]
    apart = spread.pair(np.zeros(1, dtype=np.int64))[0, 1:, None]
    return Batch(mu[1:] - mu[0], apart * sigma, laws, events)


def _own(problem: Problem, at: IntArray, tally: Tally, events: int) -> Batch | None:
    """The same with a noise for each arm, which has to be replicated: limits of both are added."""
    counts = tally.counts[at]
    if (counts < 2).any():
        return None
    law: Tail = student(int(counts.min()) - 1)
    mu = tally.means[at]
    deviation = np.sqrt(tally.m2[at] / (counts * (counts - 1))[:, None])
    laws = [law] * int(problem.setting.noisy.sum())
    return Batch(mu[1:] - mu[0], deviation[1:] + deviation[0], laws, events)
