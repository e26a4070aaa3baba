"""Whole runs of GEGE beside a plain transcription of the published procedure.

One thread; K = 500 arms, h = 8, d = 8, two worlds with a smallest gap of 0.1:

narrow  eight base arms, each best in one objective, and 492 mixtures of them that they dominate (as the
        paper's synthetic instances are made); noise 0.5, one round of eps_1 = 0.15 decides all
wide    Gaussian features and parameters: 482 of 500 arms are optimal, so that one look at all pairs
        of the front costs a millisecond by itself; noise 1, three rounds

The targets are printed, not enforced. On noise of 1e-6 both programs must find the true Pareto set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import board
from paretoscope.bench import published
from paretoscope.policies import GEGE
from paretoscope.sim import Instance, Run, random_instance, setting_of, simulate

QUIET = 1e-6
FIRST = {"narrow": 0.15, "wide": 0.5}


def policy_of(world: str, kind: str) -> Any:
    if kind == "budget":
        return GEGE(budget=500)
    return GEGE(0.1, first_accuracy=FIRST[world], designs=("g",))


@cache
def instance_of(world: str, quiet: bool = False) -> Instance:
    if world == "wide":
        return random_instance(500, 8, 8, 0.1, seed=0, sigma=QUIET if quiet else 1.0)
    rng = np.random.default_rng(0)
    base = 0.3 + 0.5 * np.eye(8) + rng.uniform(0.0, 0.05, (8, 8))
    mixed = rng.uniform(0.0, 1.0, (100_000, 8)) ** 3
    mixed *= rng.uniform(0.1, 0.7, (100_000, 1)) / mixed.sum(axis=1, keepdims=True)
    margin = (base[None] - (mixed @ base)[:, None]).min(axis=2).max(axis=1)
    X = np.vstack([np.eye(8), mixed[margin > 0.1][:492]])
    return Instance(X, X @ base, QUIET if quiet else 0.5)


@cache
def slow(world: str, kind: str) -> tuple[frozenset[int], float]:
    """Answer and seconds of one run of the twin, on hardly any noise."""
    instance, rng, start = instance_of(world), np.random.default_rng(0), perf_counter()
    assert instance.X is not None
    if kind == "confidence":
        found = published.fixed_confidence(instance.X, instance.mu, QUIET, 0.1, rng)
    else:
        found = published.fixed_budget(instance.X, instance.mu, QUIET, 500, rng)
    return frozenset(found), perf_counter() - start


def seeds() -> Iterator[np.random.SeedSequence]:
    return iter(np.random.SeedSequence(1).spawn(10_000))


def check_and_show(benchmark: BenchmarkFixture, world: str, kind: str, target: float) -> None:
    """The same set as the twin and the truth on low noise; speed beside target and twin."""
    answer, seconds = slow(world, kind)
    quiet = instance_of(world, True)
    found = simulate(policy_of(world, kind), quiet).answer
    assert set(np.flatnonzero(found)) == answer == set(np.flatnonzero(quiet.pareto))
    best = benchmark.stats.stats.min
    name = benchmark.name.removeprefix("test_gege[").rstrip("]")
    row = board.row(
        "Whole runs of GEGE, K = 500, h = 8, d = 8", name, best, "the same set on low noise"
    )
    row.hold(board.spoken(target), best <= target)
    row.peer("as published", seconds, "the same set on low noise")


@pytest.mark.parametrize("world", ["narrow", "wide"])
@pytest.mark.parametrize(
    ("kind", "shared", "target"),
    [
        ("confidence", False, 2e-3),
        ("confidence", True, 1e-3),
        ("budget", False, 1.1e-3),
        ("budget", True, 1.1e-3),
    ],
    ids=["confidence-alone", "confidence-in-monte-carlo", "budget-alone", "budget-in-monte-carlo"],
)
def test_gege(
    benchmark: BenchmarkFixture, world: str, kind: str, shared: bool, target: float
) -> None:
    instance, draws = instance_of(world), seeds()
    setting, policy = setting_of(instance), policy_of(world, kind)

    def once() -> Run:
        return simulate(policy, instance, next(draws), setting=setting if shared else None)

    run: Callable[[], Run] = once
    found = benchmark.pedantic(run, rounds=60, warmup_rounds=3)
    assert found.correct or kind == "budget"
    check_and_show(benchmark, world, kind, target)
