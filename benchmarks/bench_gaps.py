"""Gaps and fronts beside their plain forms: every row is timed and checked for equality."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import moocore
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from paretoscope.core import gaps as module
from paretoscope.core.dominance import non_dominated
from paretoscope.core.gaps import psi_gaps

T = TypeVar("T")


def gaussian(n: int, d: int) -> np.ndarray:
    return np.random.default_rng([n, d]).standard_normal((n, d))


def margins(mu: np.ndarray) -> np.ndarray:
    """m(i,j) for all pairs, from the definition; never of an arm with itself."""
    table = (mu[None] - mu[:, None]).min(axis=2)
    np.fill_diagonal(table, -np.inf)
    return table


def cubic_gaps(mu: np.ndarray) -> np.ndarray:
    """O(n^3 d), the shape of the published code: all margins again for every optimal arm."""
    gap = margins(mu).max(axis=1)
    for i in np.flatnonzero(gap <= 0):
        table = margins(mu)
        reach = np.maximum(-table[:, i], 0) + np.maximum(table.max(axis=1), 0)
        gap[i] = min(np.delete(np.minimum(-table[i], reach), i))
    return gap


def timed(call: Callable[[], T]) -> tuple[T, float]:
    start = perf_counter()
    found = call()
    return found, perf_counter() - start


def report(benchmark: BenchmarkFixture, limit: float, rows: dict[str, float]) -> None:
    """Print peers as multiples of our fastest round, and hold that round to its limit."""
    best = benchmark.stats.stats.min
    peers = ", ".join(f"{name} {seconds / best:.1f}x" for name, seconds in rows.items())
    print(f"\n{benchmark.name}: {1e3 * best:.3f} ms (limit {1e3 * limit:g}) {peers}")
    assert best <= limit


@pytest.mark.parametrize(("n", "d", "limit"), [(10, 2, 60e-6), (50, 8, 400e-6), (500, 8, 2e-3)])
def test_gaps(benchmark: BenchmarkFixture, n: int, d: int, limit: float) -> None:
    mu = gaussian(n, d)
    found = benchmark(psi_gaps, mu)
    table = margins(mu)
    assert np.array_equal(found.star, table.max(axis=1))
    few = gaussian(200, d)
    exact, slow = timed(lambda: cubic_gaps(few))
    fast, quick = timed(lambda: psi_gaps(few))
    assert np.allclose(fast.gap, exact, rtol=1e-12, atol=0)
    print(f"\n200 x {d}: the O(n^3 d) form takes {slow / quick:.0f}x as long")
    report(benchmark, limit, {})


@pytest.mark.parametrize("front", ["few", "wide"])
def test_gaps_of_a_million_in_the_plane(
    benchmark: BenchmarkFixture, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`few`: Gaussian, 14 optimal; `wide`: along an anti-diagonal, tens of thousands."""
    mu = gaussian(1_000_000, 2)
    if front == "wide":
        x = np.random.default_rng(1).random(len(mu))
        mu = np.column_stack([x, 1 - x]) + 1e-4 * mu
    benchmark.pedantic(psi_gaps, (mu,), rounds=3)
    part = mu[:20_000]
    fast, quick = timed(lambda: psi_gaps(part))
    monkeypatch.setattr(module, "_sweep", module._strips)  # noqa: SLF001
    twin, slow = timed(lambda: psi_gaps(part))
    assert np.array_equal(fast.star, twin.star)
    assert np.allclose(fast.gap, twin.gap, rtol=1e-12, atol=1e-15)
    print(f"\n20,000 x 2, {fast.strict.sum()} optimal: strips take {slow / quick:.1f}x as long")
    report(benchmark, 1.0, {})


@pytest.mark.parametrize(
    ("n", "d", "lift", "limit"),
    [(100_000, 8, 0.0, 1.2), (100_000, 8, 6.0, 0.3), (1_000_000, 2, 0.0, 0.5)],
)
def test_front(benchmark: BenchmarkFixture, n: int, d: int, lift: float, limit: float) -> None:
    """`lift` raises one arm above nearly all others: a tiny front."""
    mu = gaussian(n, d)
    mu[7] += lift
    mask = benchmark.pedantic(non_dominated, (mu,), rounds=3)
    compiled, seconds = timed(lambda: moocore.is_nondominated(mu, maximise=True, keep_weakly=True))
    assert np.array_equal(mask, compiled)
    for i in np.random.default_rng(0).choice(n, 100, replace=False):
        assert mask[i] != ((mu >= mu[i]).all(axis=1) & (mu > mu[i]).any(axis=1)).any()
    report(benchmark, limit, {"moocore alone": seconds})
