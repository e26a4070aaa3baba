"""Whole runs of the policies without structure on NoC, beside a check against their slow twins.

One thread; 259 candidates (copies kept), two metrics, sigma 0.5; the features are ignored
except by PAL and PFIwR. Each policy
first has to give the labels and pulls of its twin on small worlds, value by value. The targets are
printed, not enforced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tests import rivals
from tests.conftest import data_file

from paretoscope.policies import APE, EGESH, EGESR, PAL, Noise, PFIwR, Race, Racing, Setting
from paretoscope.sim import Instance, noc, setting_of, simulate

SIGMA = np.ones(2)
Twin = Callable[[np.ndarray], tuple[list[str], np.ndarray]]
ROWS: dict[str, tuple[Any, Any, Twin, float | None]] = {
    "EGE-SR": (EGESR(4000), EGESR(90), lambda Y: rivals.ege_sr(Y, 90), 50e-3),
    "EGE-SH": (EGESH(4000), EGESH(90), lambda Y: rivals.ege_sh(Y, 90), None),
    "Racing auer": (
        Racing(0.1),
        Racing(0.1, max_samples=900),
        lambda Y: rivals.racing(Y, SIGMA, 0.1, [0.0] * 2, "auer", 0.05, 900),
        50e-3,
    ),
    "Racing reference": (
        Racing(0.1, bonus="reference"),
        Racing(0.1, bonus="reference", max_samples=900),
        lambda Y: rivals.racing(Y, SIGMA, 0.1, [0.0] * 2, "reference", 0.05, 900),
        50e-3,
    ),
    "APE union": (
        APE(0.1),
        APE(0.1, max_samples=900),
        lambda Y: rivals.ape(Y, SIGMA, 0.1, [0.0] * 2, "union", 0.05, 900),
        4.0,
    ),
    "APE reference, one at a time": (
        APE(0.1, bonus="reference", growth=0.0),
        APE(0.1, bonus="reference", growth=0.0, max_samples=900),
        lambda Y: rivals.ape(Y, SIGMA, 0.1, [0.0] * 2, "reference", 0.0, 900),
        4.0,
    ),
    "PAL theory": (
        PAL(0.1),
        PAL(0.1, max_samples=900),
        lambda Y: rivals.pal(Y, np.eye(6), SIGMA, 0.1, [0.0] * 2, "theory", 0.05, 900),
        150e-3,
    ),
    "PAL reference": (
        PAL(0.1, bonus="reference"),
        PAL(0.1, bonus="reference", max_samples=900),
        lambda Y: rivals.pal(Y, np.eye(6), SIGMA, 0.1, [0.0] * 2, "reference", 0.05, 900),
        150e-3,
    ),
    "PFIwR, a thousandth of its explorations": (
        PFIwR(0.1, gamma_scale=1e-3),
        PFIwR(0.1, gamma_scale=1e-7, growth=0.1, max_samples=600),
        lambda Y: rivals.pfiwr(Y, np.eye(6), SIGMA, 0.1, [0.0] * 2, 1e-7, 0, 1.0, 0.1, 600),
        None,
    ),
    "Race, known noise": (
        Race(0.1, 0.1),
        Race(0.1, 0.8),
        lambda Y: rivals.race(Y, "known", 0.1, [0.8] * 2, 2, 10**9, SIGMA.tolist()),
        None,
    ),
}


@cache
def world(features: bool) -> Instance:
    published = noc(data_file("noc.csv"))
    return published if features else Instance(None, published.mu, published.sigma)


def check_twin(policy: Any, twin: Twin) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Y = 3.0 * rng.standard_normal((6, 1, 2)) + rng.standard_normal((6, 900, 2))
        state = rivals.feed(policy, Setting(K=6, d=2, noise=Noise(SIGMA)), Y)
        labels, pulls = twin(Y)
        assert state.told.tolist() == pulls.tolist()
        if not policy.verdict(state).undecided.any():
            assert rivals.labels(policy.verdict(state)) == labels


@pytest.mark.parametrize("name", ROWS)
def test_run(benchmark: BenchmarkFixture, name: str) -> None:
    policy, small, twin, target = ROWS[name]
    check_twin(small, twin)
    instance = world(isinstance(policy, (PAL, PFIwR)))
    setting, seeds = setting_of(instance), iter(range(10_000))
    spent: list[tuple[float, int]] = []

    def once() -> None:
        start = process_time()
        run = simulate(policy, instance, next(seeds), setting=setting)
        spent.append((process_time() - start, run.pulls))

    benchmark.pedantic(once, rounds=8 if target is None or target < 1 else 3, warmup_rounds=1)
    best, mean = min(seconds for seconds, _ in spent), np.mean([pulls for _, pulls in spent])
    said = "" if target is None else f", target {1e3 * target:g} ms ({target / best:.2f}x of it)"
    print(f"\n{name}: {1e3 * best:.1f} ms of processor a run{said}; {mean:.0f} pulls, twin equal")
