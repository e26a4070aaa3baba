"""Whole runs of GEGE beside a plain transcription of the published procedure.

One thread; K = 500 arms, h = 8, d = 8: Gaussian features and parameters, scaled to a smallest gap of
0.1 at noise 1. Almost every arm is optimal there (482 of 500), and 23,000 pulls in 3 rounds of
eps_r = 0.5, 0.25, 0.125 decide all. The targets are printed, not enforced. On noise of 1e-6 both
programs must find the true Pareto set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from time import perf_counter

import numpy as np
import pytest
from benchmarks import published
from pytest_benchmark.fixture import BenchmarkFixture

from paretoscope.policies import GEGE
from paretoscope.sim import Instance, Run, random_instance, setting_of, simulate

CONFIDENCE = GEGE(0.1, first_accuracy=0.5, ratio=2.0)
BUDGET = GEGE(budget=500)
QUIET = 1e-6


def world(sigma: float = 1.0) -> Instance:
    return random_instance(500, 8, 8, 0.1, seed=0, sigma=sigma)


@cache
def slow(kind: str) -> tuple[frozenset[int], float]:
    """Answer and seconds of one run of the twin, on hardly any noise."""
    instance, rng, start = world(), np.random.default_rng(0), perf_counter()
    assert instance.X is not None
    if kind == "confidence":
        found = published.fixed_confidence(instance.X, instance.mu, QUIET, 0.1, rng)
    else:
        found = published.fixed_budget(instance.X, instance.mu, QUIET, 500, rng)
    return frozenset(found), perf_counter() - start


def seeds() -> Iterator[np.random.SeedSequence]:
    return iter(np.random.SeedSequence(1).spawn(10_000))


def check_and_print(benchmark: BenchmarkFixture, kind: str, target: float) -> None:
    """The same set as the twin and the truth on low noise; speed beside target and twin."""
    answer, seconds = slow(kind)
    policy = CONFIDENCE if kind == "confidence" else BUDGET
    found = simulate(policy, world(QUIET)).answer
    assert set(np.flatnonzero(found)) == answer == set(np.flatnonzero(world().pareto))
    best = benchmark.stats.stats.min
    print(
        f"\n{benchmark.name}: {1e3 * best:.2f} ms, target {1e3 * target:g} ms"
        f" ({target / best:.2f}x of it), published {seconds:.1f} s ({seconds / best:.0f}x)"
    )


@pytest.mark.parametrize(
    ("kind", "shared", "target"),
    [("confidence", False, 2e-3), ("confidence", True, 1e-3), ("budget", False, 1.1e-3)],
    ids=["confidence-alone", "confidence-in-monte-carlo", "budget-alone"],
)
def test_gege(benchmark: BenchmarkFixture, kind: str, shared: bool, target: float) -> None:
    instance, draws = world(), seeds()
    setting = setting_of(instance)
    policy = CONFIDENCE if kind == "confidence" else BUDGET

    def once() -> Run:
        return simulate(policy, instance, next(draws), setting=setting if shared else None)

    run: Callable[[], Run] = once
    found = benchmark.pedantic(run, rounds=30, warmup_rounds=3)
    assert found.correct or kind == "budget"
    assert found.rounds == 3 if kind == "budget" else found.rounds <= 4
    check_and_print(benchmark, kind, target)
