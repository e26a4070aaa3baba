import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.core import least_squares as ls
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.least_squares import (
    collapse,
    estimate,
    gram_factor,
    leverages,
    pair_norms2,
    pair_norms2_matrix,
    residual_ss,
    row_basis,
    scaled_basis,
    whiten,
)
from paretoscope.errors import NumericalError, UsageError
from tests import naive

shapes = st.tuples(st.integers(3, 14), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))


def world(
    shape: tuple[int, int, int, int], scale: float = 0.0
) -> tuple[FloatArray, IntArray, int, np.random.Generator]:
    """Features (K, p) of rank <= r with columns scaled by up to 10^scale, and counts that span."""
    K, p, r, seed = shape
    rng = np.random.default_rng(seed)
    r = min(r, p, K)
    X = rng.normal(size=(K, r)) @ rng.normal(size=(r, p)) if r < p else rng.normal(size=(K, p))
    counts = rng.integers(0, 5, size=K) + (np.arange(K) < r)
    return X * 10.0 ** rng.uniform(-scale, scale, size=p), counts, r, rng


def tally(samples: list[FloatArray], d: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Counts, means and centred sums of squares of raw samples."""
    filled = [ys if len(ys) else np.zeros((1, d)) for ys in samples]
    means = np.array([ys.mean(axis=0) for ys in filled])
    m2 = np.array([((ys - ys.mean(axis=0)) ** 2).sum(axis=0) for ys in filled])
    return np.array([len(ys) for ys in samples]), means, m2


@given(shapes)
def test_row_basis_spans_the_rows(shape: tuple[int, int, int, int]) -> None:
    X, _, r, _ = world(shape)
    B, h = row_basis(X)
    assert (h, B.shape) == (r, (X.shape[1], r))
    np.testing.assert_allclose(B.T @ B, np.eye(h), atol=1e-12)
    U = np.linalg.svd(X.T)[0][:, :h]
    np.testing.assert_allclose(B @ B.T, U @ U.T, atol=1e-9)


@given(shapes)
def test_rank_and_norms_do_not_depend_on_column_scales(shape: tuple[int, int, int, int]) -> None:
    X, counts, r, rng = world(shape)
    scaled = X * 10.0 ** rng.integers(-7, 8, size=X.shape[1])
    assert row_basis(scaled)[1] == scaled_basis(scaled)[1] == r
    if r < X.shape[1]:  # rounding of the scaled copies moves a deficient space: exact powers only
        scaled = X * 2.0 ** rng.integers(-23, 24, size=X.shape[1])
    T = scaled_basis(scaled)[0]
    got = leverages(scaled @ T, gram_factor(scaled @ T, counts))
    np.testing.assert_allclose(got, naive.pinv_norms2(X, counts)[1], rtol=1e-6, atol=1e-9)


def test_row_basis_with_zero_and_copied_columns() -> None:
    X = np.zeros((5, 4))
    X[:, 1] = np.arange(5)
    X[:, 3] = 1e-7
    B, h = row_basis(X)
    assert h == 2
    np.testing.assert_array_equal(np.sort(B.sum(axis=1)), [0, 0, 1, 1])
    assert row_basis(np.hstack([X, X[:, 1:2] * 1e7]))[1] == 2
    assert row_basis(np.array([[1.0, 1.0], [1.0, 1.001]]), rtol=1e-2)[1] == 1
    with pytest.raises(UsageError, match="all features are zero"):
        row_basis(np.zeros((3, 2)))


def test_row_basis_in_blocks_and_almost_dependent() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150_000, 4))
    X[:, 3] = X[:, :3].sum(axis=1)
    B, h = row_basis(X)
    assert h == 3
    np.testing.assert_allclose(
        B @ B.T, np.eye(4) - np.outer(v := [0.5, 0.5, 0.5, -0.5], v), atol=1e-12
    )
    X[:, 3] += 1e-6 * rng.normal(size=len(X))
    assert row_basis(X)[1] == 4


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_collapse_finds_equal_rows(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.integers(-2, 3, size=(30, p)) * 10.0 ** rng.integers(-6, 7, size=p)
    first, inverse = collapse(base * (1 + 1e-14 * rng.uniform(-1, 1, size=base.shape)))
    seen = []
    for row in base.tolist():
        if row not in seen:
            seen.append(row)
    assert base[first].tolist() == seen
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(base[first][inverse], base)


def test_collapse_keeps_rows_that_share_a_projection_or_nearly_agree() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1e-9], [1.0, 0.0]])
    assert collapse(X)[1].tolist() == [0, 1, 2, 0]
    assert collapse(X, rtol=1e-8)[1].tolist() == [0, 1, 0, 0]
    assert collapse(np.zeros((3, 1)))[0].tolist() == [0]
    assert collapse(np.arange(4.0)[:, None])[1].tolist() == [0, 1, 2, 3]


@given(shapes)
def test_norms_equal_the_pseudo_inverse(shape: tuple[int, int, int, int]) -> None:
    X, counts, _, _ = world(shape)
    Z = X @ row_basis(X)[0]
    L = gram_factor(Z, counts)
    pairs, singles = naive.pinv_norms2(X, counts)
    np.testing.assert_allclose(L @ L.T, (Z.T * counts) @ Z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(leverages(Z, L), singles, rtol=1e-7)
    np.testing.assert_allclose(pair_norms2_matrix(Z, L), pairs, rtol=1e-7, atol=1e-12)
    i, j = np.triu_indices(len(X))
    np.testing.assert_allclose(pair_norms2(Z, L, i, j), pairs[i, j], rtol=1e-7, atol=1e-12)
    W = whiten(Z, L)
    np.testing.assert_allclose(np.square(W).sum(axis=1), singles, rtol=1e-7)


def test_nearly_tied_arms_keep_relative_accuracy() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(6, 3)) + 10.0
    Z[1] = Z[0] + 2.0**-30 * np.array([1.0, -2.0, 0.0])
    Z[0] = Z[1] - 2.0**-30 * np.array([1.0, -2.0, 0.0])
    counts = np.full(6, 10**9)
    V = (Z.T * counts) @ Z
    diff = Z[0] - Z[1]
    want = diff @ np.linalg.solve(V, diff)
    got = pair_norms2_matrix(Z, gram_factor(Z, counts))
    np.testing.assert_allclose([got[0, 1], got[1, 0]], want, rtol=1e-9)
    assert got.diagonal().tolist() == [0.0] * 6


def test_leverages_in_blocks() -> None:
    Z = np.random.default_rng(0).normal(size=(70_000, 2))
    L = np.array([[2.0, 0.0], [1.0, 3.0]])
    want = np.square(np.linalg.solve(L, Z.T)).sum(axis=0)
    np.testing.assert_allclose(leverages(Z, L), want, rtol=1e-12)


def test_gram_factor_of_an_ill_conditioned_matrix() -> None:
    year = np.arange(2000.0, 2021.0)
    Z = np.column_stack([np.ones(21), year, year**2])  # condition about 1e10 after scaling columns
    L = gram_factor(Z, np.ones(21, dtype=np.int64))
    hat = np.linalg.qr(np.vander(np.arange(-10.0, 11.0), 3))[0]  # the same model, well conditioned
    np.testing.assert_allclose(leverages(Z, L), np.square(hat).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("counts", [[0, 0, 0], [5, 0, 0], [0, 2, 2]])
def test_pulls_that_do_not_span(counts: list[int]) -> None:
    Z = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    with pytest.raises(NumericalError, match="do not span the 2 dimensions"):
        gram_factor(Z, np.array(counts))
    with pytest.raises(NumericalError, match="do not span the 2 dimensions"):
        estimate(Z, np.array(counts), np.ones((3, 1)))
    slanted = Z @ np.array([[1.0, 1.0], [-1.0, 2.0]])
    with pytest.raises(NumericalError, match="do not span the 2 dimensions"):
        gram_factor(slanted, np.array(counts))


@given(shapes, st.integers(1, 6), st.floats(0, 7))
def test_estimate_and_sums_equal_single_pulls(
    shape: tuple[int, int, int, int], d: int, scale: float
) -> None:
    X, counts, _, rng = world(shape, scale)
    samples = [rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d) for n in counts]
    n, means, m2 = tally(samples, d)
    Z = X @ scaled_basis(X)[0]
    fit = estimate(Z, n, means)
    theta = np.linalg.lstsq(*naive.pulls_of(Z, samples), rcond=None)[0]
    size = np.abs(means).max(axis=0)
    for got in (fit.means(Z), Z @ fit.theta):
        np.testing.assert_allclose(got / size, Z @ theta / size, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fit.V, (Z.T * n) @ Z, rtol=1e-8, atol=1e-8)
    sums = residual_ss(Z, n, means, m2, fit)
    lack, pure = naive.residual_sums(Z, samples)
    np.testing.assert_allclose(sums.lack_of_fit / size**2, lack / size**2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sums.pure_error, pure, rtol=1e-9)
    m = np.count_nonzero(n)
    assert (sums.df_lack, sums.df_pure) == (m - Z.shape[1], n.sum() - m)


@given(st.integers(0, 10**6), st.booleans())
def test_small_noise_on_a_large_mean(seed: int, rotated: bool) -> None:
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    Z = Z @ np.linalg.qr(rng.normal(size=(3, 3)))[0] if rotated else Z
    counts = rng.integers(2, 50, size=12)
    noise = [1e-2 * rng.normal(size=(n, 2)) for n in counts]
    _, small, m2 = tally(noise, 2)
    means = small + 1e9
    small = means - 1e9  # what is left of the digits, exactly
    fit, near = estimate(Z, counts, means), estimate(Z, counts, small)
    np.testing.assert_allclose(fit.means(Z) - 1e9, near.means(Z), atol=2.0**-23)  # 1 ulp of 1e9
    got = residual_ss(Z, counts, means, m2, fit)
    want = residual_ss(Z, counts, small, m2, near)
    np.testing.assert_allclose(got.lack_of_fit, want.lack_of_fit, rtol=1e-5)
    np.testing.assert_array_equal(got.pure_error, want.pure_error)


def test_a_constant_that_is_only_nearly_in_the_model_is_not_taken_for_one() -> None:
    Z = 1.0 + 1e-9 * np.arange(5.0)[:, None]
    means = 1e9 * Z
    fit = estimate(Z, np.full(5, 4), means)
    np.testing.assert_allclose(fit.means(Z), means, rtol=3e-16)
    np.testing.assert_allclose(fit.means(np.array([[2.0]])), 2e9, rtol=3e-16)


def test_arms_without_pulls_are_not_read() -> None:
    Z = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    means = np.array([[2.0], [3.0], [np.nan]])
    counts = np.array([1, 1, 0])
    fit = estimate(Z, counts, means)
    np.testing.assert_allclose(fit.means(Z), [[2.0], [3.0], [5.0]])
    sums = residual_ss(Z, counts, means, np.array([[0.0], [0.0], [np.nan]]), fit)
    assert (sums.df_lack, sums.df_pure) == (0, 0)
    np.testing.assert_allclose([sums.lack_of_fit, sums.pure_error], 0.0, atol=1e-28)


@pytest.mark.parametrize("seed", range(20))
def test_the_rank_of_differences_is_that_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rng.integers(1, 12), 2)) @ rng.standard_normal((2, 4))
    X = X + (10.0 if seed % 2 else 0.0) * rng.standard_normal(4)
    X = np.column_stack([X * 10.0 ** rng.integers(-6, 7, 4), np.zeros(len(X))])
    pairs = np.array([a - b for a in X for b in X])
    pairs /= np.maximum(np.abs(pairs).max(axis=0), 1e-300)
    assert ls.difference_rank(X) == np.linalg.matrix_rank(pairs, tol=1e-9)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    for rank, p in ((3, 3), (2, 5)):
        X = (
            rng.standard_normal((50, rank))
            @ rng.standard_normal((rank, p))
            * [1e-5, *[1.0] * (p - 1)]
        )
        monkeypatch.undo()
        whole = ls.row_basis(X), ls.difference_rank(X)
        Z = X @ whole[0][0]
        fit = ls.estimate(Z, np.full(50, 2), X[:, :2])
        means = fit.means(Z)
        monkeypatch.setattr(ls, "BLOCK", 7)
        parts = ls.row_basis(X), ls.difference_rank(X)
        assert parts[0][1] == whole[0][1] == rank
        assert parts[1] == whole[1] == rank
        project = [B @ B.T for B, _ in (parts[0], whole[0])]
        np.testing.assert_allclose(project[0], project[1], atol=1e-12)
        np.testing.assert_allclose(fit.means(Z), means, rtol=1e-13, atol=1e-13)
