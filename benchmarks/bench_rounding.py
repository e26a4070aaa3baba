"""Rounding: at most 100 us for a support of 200 at any budget, checked against slow twins.

Each row checks the exact sum and the lemma min n_a / w_a >= n - m + 1 (in fractions) or the exact
leverage, and prints how many times slower the twin of tests/naive.py is in the same process.
"""

from fractions import Fraction
from timeit import repeat

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tests import naive

import board
from paretoscope.core.least_squares import estimate
from paretoscope.core.rounding import apportion, caratheodory, largest_remainder, round_design

SUPPORT = 200
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(SUPPORT))
LIMIT = 100e-6  # seconds, for the fastest call: the median follows the neighbours' load


def show(name: str, benchmark: BenchmarkFixture, slow: float, limit: float) -> bool:
    """A row of the table with the slow twin beside it; whether the fastest call kept the limit."""
    fast = float(benchmark.stats.stats.min)
    row = board.row("Rounding and least squares", name, fast, "equal to the slow twin")
    row.peer("slow twin", slow, "equal")
    row.hold(board.spoken(limit), fast <= limit)
    return row.met


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_apportion(benchmark: BenchmarkFixture, n: int) -> None:
    counts = benchmark(apportion, WEIGHTS, n)
    assert counts.sum() == n
    total = sum(map(Fraction, WEIGHTS.tolist()))
    for pulls, w in zip(counts.tolist(), WEIGHTS.tolist(), strict=True):
        assert pulls * total >= (n - SUPPORT + 1) * Fraction(w)
    assert counts.tolist() == naive.efficient_rounding(WEIGHTS, n)
    slow = min(repeat(lambda: naive.efficient_rounding(WEIGHTS, n), number=1, repeat=2))
    assert show(f"apportion m={SUPPORT} n={n}", benchmark, slow, LIMIT)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_largest_remainder(benchmark: BenchmarkFixture, n: int) -> None:
    counts = benchmark(largest_remainder, WEIGHTS, n)
    assert counts.sum() == n
    assert counts.tolist() == naive.hamilton(WEIGHTS, n)
    slow = min(repeat(lambda: naive.hamilton(WEIGHTS, n), number=1, repeat=2))
    assert show(f"largest remainder m={SUPPORT} n={n}", benchmark, slow, LIMIT)


@pytest.mark.parametrize("n", [60, 10**3, 10**6])
def test_round_design(benchmark: BenchmarkFixture, n: int) -> None:
    Z = np.random.default_rng(1).normal(size=(500, 8))
    w = naive.d_optimal(Z, sweeps=300)
    best = benchmark(round_design, Z, w, n)
    exact = naive.pinv_leverages(Z, best.counts).max()
    assert best.counts.sum() == n
    assert best.leverage == pytest.approx(exact, rel=1e-9)
    slow = min(repeat(lambda: naive.pinv_leverages(Z, best.counts).max(), number=1, repeat=5))
    name = f"round 500 x 8 n={n}: F n/h {best.leverage * n / 8:.4f}"
    assert show(name, benchmark, slow, 1.5 * LIMIT)


@pytest.mark.parametrize(("K", "h"), [(300, 4), (600, 8)])
def test_caratheodory(benchmark: BenchmarkFixture, K: int, h: int) -> None:
    rng = np.random.default_rng(2)
    Z, w = rng.normal(size=(K, h)), rng.dirichlet(np.ones(K))
    x = benchmark(caratheodory, Z, w)
    np.testing.assert_allclose((Z.T * x) @ Z, (Z.T * w) @ Z, atol=1e-12)
    assert x.min() >= 0
    assert np.count_nonzero(x) <= h * (h + 1) // 2 + 1
    best, left = benchmark.stats.stats.min, np.count_nonzero(x)
    board.row(
        "Rounding and least squares", f"Caratheodory {K} x {h}", best, f"same V, {left} points left"
    )


def test_estimate(benchmark: BenchmarkFixture) -> None:
    rng = np.random.default_rng(3)
    Z, counts = rng.normal(size=(500, 8)), np.zeros(500, dtype=np.int64)
    counts[:40] = rng.integers(5, 50, size=40)
    samples = [rng.normal(size=(k, 3)) for k in counts]
    means = np.array([ys.mean(axis=0) if len(ys) else np.zeros(3) for ys in samples])
    fit = benchmark(estimate, Z, counts, means)
    rows, pulls = naive.pulls_of(Z, samples)
    np.testing.assert_allclose(fit.theta, np.linalg.lstsq(rows, pulls, rcond=None)[0], rtol=1e-8)
    slow = min(repeat(lambda: np.linalg.lstsq(rows, pulls, rcond=None), number=1, repeat=5))
    show("least squares from tallies", benchmark, slow, LIMIT)
