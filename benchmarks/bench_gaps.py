"""Gaps and fronts beside their plain forms: every row is timed and checked for equality."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import moocore
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import board
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


def report(benchmark: BenchmarkFixture, name: str, limit: float) -> board.Row:
    """A row of the table, held to its limit; the caller has compared the answer with another."""
    best = benchmark.stats.stats.min
    row = board.row("Gaps and fronts", name, best, "equal to the plain form")
    row.hold(board.spoken(limit), best <= limit)
    return row


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
    row = report(benchmark, f"gaps {n} x {d}", limit)
    row.peers.append((f"the O(n^3 d) form, 200 x {d}", slow / quick, "equal"))
    assert row.met


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
    row = report(benchmark, f"gaps 1000000 x 2, {front} optimal", 1.0)
    row.peers.append(("strips, 20,000 arms", slow / quick, f"equal, {fast.strict.sum()} optimal"))
    assert row.met


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
    row = report(benchmark, f"front {n} x {d}, one arm raised by {lift:g}", limit)
    row.peer("moocore alone", seconds, "equal")
    assert row.met
