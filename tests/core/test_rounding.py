from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.core import rounding
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.least_squares import gram_factor, leverages
from paretoscope.core.rounding import (
    _by_leverage,
    apportion,
    caratheodory,
    largest_leverage,
    largest_remainder,
    order_prefix,
    prefix_counts,
    round_design,
    swap_rounding,
)
from paretoscope.errors import NumericalError, UsageError
from tests import naive

# whole numbers of equal parts: ties everywhere, and every quotient exact in float64
parts = st.lists(st.integers(0, 12), min_size=1, max_size=9).filter(any)


def gaussian_design(K: int, h: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Gaussian coordinates and their D-optimal weights."""
    Z = np.random.default_rng(seed).normal(size=(K, h))
    return Z, naive.d_optimal(Z)


@given(parts, st.integers(0, 200))
def test_apportion_equals_its_definition(weights: list[int], more: int) -> None:
    n = sum(x > 0 for x in weights) + more
    assert apportion(weights, n).tolist() == naive.efficient_rounding(weights, n)


@given(parts, st.integers(0, 200))
def test_largest_remainder_equals_its_definition(weights: list[int], n: int) -> None:
    assert largest_remainder(weights, n).tolist() == naive.hamilton(weights, n)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(0, 300))
def test_real_weights_equal_the_definitions(seed: int, m: int, more: int) -> None:
    w = np.random.default_rng(seed).dirichlet(np.full(m, 0.3)) + 1e-9
    assert apportion(w, m + more).tolist() == naive.efficient_rounding(w, m + more)
    assert largest_remainder(w, more).tolist() == naive.hamilton(w, more)


def test_lemma_of_efficient_rounding_on_20000_cases() -> None:
    """min n_a / w_a >= n - m + 1, with sums exact, n from m to 10^12.

    Fractions decide where float64, good to 1e-15, leaves a doubt.
    """
    rng = np.random.default_rng(0)
    for case in range(20_000):
        m = int(rng.integers(1, 8))
        w = rng.dirichlet(np.ones(m)) if case % 2 else rng.integers(1, 9, size=m).astype(float)
        n = m + int(10 ** rng.uniform(0, 12)) - 1
        counts = apportion(w, n)
        assert counts.sum() == n
        doubtful = counts * w.sum() <= (n - m + 1) * w * (1 + 1e-13)
        total = sum(map(Fraction, w.tolist()))
        for pulls, x in zip(counts[doubtful].tolist(), w[doubtful].tolist(), strict=True):
            assert pulls * total >= (n - m + 1) * Fraction(x)


@pytest.mark.parametrize("n", [200, 399, 1000, 10**6, 10**9, 10**12])
def test_large_supports_and_budgets(n: int) -> None:
    w = np.random.default_rng(n).dirichlet(np.ones(200))
    for counts in (apportion(w, n), largest_remainder(w, n)):
        assert counts.dtype == np.int64
        assert counts.sum() == n
        assert np.abs(counts - n * w).max() <= 100
    assert (apportion(w, n) / w).min() >= (n - 199) * (1 - 1e-15)


def test_weights_of_any_size() -> None:
    w = np.array([1e-320, 0.0, 1e-300, 0.7, 0.3])
    assert apportion(w, 10).tolist() == [1, 0, 1, 5, 3]
    assert largest_remainder(w, 10).tolist() == [0, 0, 0, 7, 3]
    np.testing.assert_array_equal(apportion(w * 2.0**-10, 10), apportion(w, 10))
    assert apportion([5.0], 2**53 - 1).tolist() == [2**53 - 1]
    third = largest_remainder(np.full(3, 1 / 3), 2**53 - 1)
    assert third.sum() == 2**53 - 1


@pytest.mark.parametrize("bad", [[], [0.0, 0.0], [-0.1, 1.1], [np.nan, 1.0], [np.inf, 1.0]])
def test_bad_weights(bad: list[float]) -> None:
    for function in (apportion, largest_remainder, order_prefix):
        with pytest.raises(UsageError, match="weights must be"):
            function(bad, 5)


def test_bad_budgets() -> None:
    with pytest.raises(UsageError, match="n=2 pulls cannot cover 3 arms"):
        apportion([1, 0, 1, 1], 2)
    for n in (-1, 2**53):
        with pytest.raises(UsageError, match="from 0 to"):
            largest_remainder([1.0], n)
    with pytest.raises(UsageError, match="cannot span 2 dimensions"):
        round_design(np.eye(2), np.array([0.5, 0.5]), 1)
    with pytest.raises(UsageError, match="outside"):
        swap_rounding(np.eye(2), np.array([0.5, 0.5]), 4, kappa=0.5)


@given(parts, st.integers(0, 60))
def test_order_is_the_greedy_one(weights: list[int], n: int) -> None:
    order = order_prefix(weights, n)
    assert order.tolist() == naive.pull_order(weights, n)
    looks = list(range(n + 1))
    want = [np.bincount(order[:k], minlength=len(weights)) for k in looks]
    np.testing.assert_array_equal(prefix_counts(weights, looks), want)


def test_prefixes_keep_the_lemma_and_need_no_sequence() -> None:
    w = np.random.default_rng(5).dirichlet(np.ones(30))
    looks = [30, 31, 57, 10**6, 10**12]
    counts = prefix_counts(w, looks)
    assert counts.sum(axis=1).tolist() == looks
    assert ((counts / w).min(axis=1) >= (np.array(looks) - 29) * (1 - 1e-12)).all()
    assert (np.diff(counts, axis=0) >= 0).all()


def test_order_opens_with_independent_arms() -> None:
    Z = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    w = np.array([0.25, 0.25, 0.0, 0.5])
    assert order_prefix(w, 2).tolist() == [0, 1]
    order = order_prefix(w, 9, Z)
    assert np.linalg.matrix_rank(Z[order[:2]]) == 2
    rank = {int(a): k for k, a in enumerate(order[:3])}
    assert order.tolist() == naive.pull_order(w, 9, [rank.get(a, 9) for a in range(4)])
    np.testing.assert_array_equal(
        prefix_counts(w, [2, 5], Z), [np.bincount(order[:k], minlength=4) for k in (2, 5)]
    )
    with pytest.raises(NumericalError, match="do not span"):
        order_prefix(np.array([0.5, 0.5, 0.0, 0.0]), 3, Z)


@pytest.mark.parametrize(("K", "h"), [(12, 1), (30, 2), (60, 4), (120, 6)])
def test_round_design_for_every_budget(K: int, h: int) -> None:
    Z, w = gaussian_design(K, h, seed=h)
    m = np.count_nonzero(w)
    F = naive.pinv_leverages(Z, w).max()
    for n in [*range(h, 3 * m), 45 * h, 10**6]:
        best = round_design(Z, w, n)
        assert best.counts.sum() == n
        exact = naive.pinv_leverages(Z, best.counts).max()
        assert best.leverage == pytest.approx(exact, rel=1e-9)
        if n >= m:
            assert best.leverage <= F / (n - m + 1) * (1 + 1e-9)
        if m <= n < 2 * m:
            other = largest_leverage(Z, largest_remainder(w, n))
            assert best.leverage <= min(other, largest_leverage(Z, apportion(w, n)))
        if n >= 45 * h:
            assert best.leverage <= 3 * h / n


def test_few_pulls_take_the_better_filling() -> None:
    Z, w = gaussian_design(80, 5, seed=11)
    m = np.count_nonzero(w)
    methods = set()
    for n in range(5, m):
        best = round_design(Z, w, n)
        methods.add(best.method)
        assert np.isfinite(best.leverage)
        assert (best.counts[w == 0] == 0).all()
    assert methods == {"pivots+largest-remainder", "pivots+leverage"}
    assert best.leverage <= 2 * 5 / (m - 1)  # close to the continuous h / n already


@pytest.mark.parametrize("seed", range(8))
def test_greedy_filling_pulls_the_largest_leverage_each_time(seed: int) -> None:
    Z = np.random.default_rng(seed).normal(size=(30, 4))
    counts = np.zeros(30, dtype=np.int64)
    counts[3:7] = 1
    support = np.arange(2, 30)
    got = _by_leverage(Z, support, counts, 12)
    for _ in range(12):
        counts[support[naive.pinv_leverages(Z, counts)[support].argmax()]] += 1
    np.testing.assert_array_equal(got, counts)


def test_poor_weights_are_rounded_without_rescue() -> None:
    Z = np.vstack([np.eye(2), [[10.0, 10.0]]])
    w = np.array([0.5, 0.5, 0.0])  # F(w) = 400 = 200 h
    best = round_design(Z, w, 90)
    assert (best.counts.tolist(), best.method) == ([45, 45, 0], "apportion")
    assert best.leverage == pytest.approx(400 / 90)


@pytest.mark.parametrize("scale", [1e-7, 1e7])
def test_scaled_coordinates_round_alike(scale: float) -> None:
    Z, w = gaussian_design(40, 3, seed=4)
    D = np.array([1.0, scale, 1 / scale])
    for n in (3, 5, 9, 500):
        plain, scaled = round_design(Z, w, n), round_design(Z * D, w, n)
        assert scaled.leverage == pytest.approx(plain.leverage, rel=1e-6)


def test_singular_largest_remainder_is_passed_over() -> None:
    Z, w = np.eye(3), np.array([0.94, 0.03, 0.03])
    assert largest_leverage(Z, largest_remainder(w, 4)) == np.inf
    best = round_design(Z, w, 4)
    assert (best.counts.tolist(), best.method) == ([2, 1, 1], "apportion")


def adversarial(Z: FloatArray, n: int) -> IntArray:
    """n pulls on h arms only."""
    counts = np.zeros(len(Z), dtype=np.int64)
    counts[: Z.shape[1]] = n // Z.shape[1]
    counts[0] += n - counts.sum()
    return counts


@pytest.mark.parametrize("kappa", [1 / 3, 1 / 6, 1 / 12])
@pytest.mark.parametrize("h", [1, 2, 5])
def test_swaps_keep_the_promise_from_any_start(h: int, kappa: float) -> None:
    Z, w = gaussian_design(50, h, seed=h)
    n = int(np.ceil(5 * h / kappa**2))
    scaled = Z * 10.0 ** np.arange(h)  # the promise does not see the coordinates
    start = adversarial(Z, n)
    counts = swap_rounding(scaled, w, n, kappa, start)
    assert counts.sum() == n
    assert counts.min() >= 0
    assert naive.pinv_leverages(Z, counts).max() <= (1 + 6 * kappa) * h / n * (1 + 1e-5)
    assert start.tolist() == adversarial(Z, n).tolist()


@pytest.mark.parametrize("swaps", [0, 10_000])
def test_the_last_resort_is_a_smaller_support(swaps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the weight is spread so thin that largest remainder leaves a direction unseen."""
    monkeypatch.setattr(rounding, "MAX_SWAPS", swaps)
    Z = np.repeat(np.eye(4), [1, 1, 2000, 2000], axis=0)
    w = np.repeat([0.26, 0.26, 0.24 / 2000, 0.24 / 2000], [1, 1, 2000, 2000])
    n = 4100
    assert largest_leverage(Z, largest_remainder(w, n)) == np.inf
    best = round_design(Z, w, n)
    assert best.method == ("swap" if swaps else "caratheodory")
    assert best.counts.sum() == n
    assert best.leverage <= 3 / 0.24 / n  # F(w) = 1 / 0.24


def test_wide_supports_go_on_to_swaps_or_fewer_arms() -> None:
    rng = np.random.default_rng(2)
    n = 4100
    narrow = np.column_stack([np.ones(4000), 1e-3 * rng.uniform(-1, 1, size=4000)])
    narrow[:2] = [[1.0, 1.0], [1.0, -1.0]]
    w = np.full(4000, 1e-9)
    w[:2] = 0.5  # apportionment must pull every arm once; nearly all weight is on two
    best = round_design(narrow, w, n)
    assert largest_leverage(narrow, apportion(w, n)) > 3 * 2 / n
    assert best.method != "apportion"
    assert best.leverage <= 3 * 2 / n
    assert best.counts.sum() == n


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 80))
def test_caratheodory_keeps_the_moments(seed: int, h: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(h + 1 + more, h)) * 10.0 ** rng.integers(-5, 6, size=h)
    w = rng.dirichlet(np.full(len(Z), 0.5)) * (rng.uniform(size=len(Z)) < 0.8)
    w[: h + 1] += 0.01
    x = caratheodory(Z, w)
    assert np.count_nonzero(x) <= h * (h + 1) // 2 + 1
    assert x.min() >= 0
    assert x[w == 0].sum() == 0
    assert x.sum() == pytest.approx(w.sum(), rel=1e-12)
    D = np.sqrt(np.diag((Z.T * w) @ Z))
    np.testing.assert_allclose(
        (Z.T * x) @ Z / np.outer(D, D), (Z.T * w) @ Z / np.outer(D, D), atol=1e-11
    )


@pytest.mark.parametrize("K", [7, 300])
def test_caratheodory_of_an_optimal_design_needs_one_point_less(K: int) -> None:
    angle = np.pi * np.arange(K) / K
    Z = np.column_stack([np.cos(angle), np.sin(angle)])  # uniform weights are optimal, F = h
    x = caratheodory(Z, np.full(K, 1 / K))
    assert np.count_nonzero(x) <= 3
    np.testing.assert_allclose((Z.T * x) @ Z, np.eye(2) / 2, atol=1e-13)
    assert leverages(Z, gram_factor(Z, x)).max() == pytest.approx(2.0, rel=1e-12)


def test_arguments_are_left_alone() -> None:
    Z, w = gaussian_design(30, 3, seed=0)
    kept = w.copy(), Z.copy()
    for n in (4, 9, 100):
        round_design(Z, w, n)
    swap_rounding(Z, w, 100)
    caratheodory(Z, w)
    np.testing.assert_array_equal(w, kept[0])
    np.testing.assert_array_equal(Z, kept[1])
