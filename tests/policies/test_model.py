from __future__ import annotations

import numpy as np
import pytest

from paretoscope.policies.model import FreeModel, LinearModel, build_model
from tests import naive

X = np.random.default_rng(0).standard_normal((7, 3))
A = np.array([0, 2, 3, 6])
NONE = np.zeros(7, dtype=bool)


def model(rows=X, *, keep_twins=False):
    return LinearModel(np.asarray(rows, dtype=float), keep_twins=keep_twins)


def test_the_spread_is_the_norm_of_the_differences():
    counts = np.array([3, 0, 2, 0, 5, 1, 0])
    pairs, _ = naive.pinv_norms2(X, counts)
    np.testing.assert_allclose(
        model().spread(A, counts).matrix ** 2, pairs[np.ix_(A, A)], atol=1e-12
    )


def test_estimates_are_least_squares():
    counts = np.array([3, 0, 2, 0, 5, 1, 0])
    rng = np.random.default_rng(1)
    samples = [rng.standard_normal((n, 2)) for n in counts]
    means = np.array([s.mean(axis=0) if len(s) else np.zeros(2) for s in samples])
    m2 = np.array(
        [((s - s.mean(axis=0)) ** 2).sum(axis=0) if len(s) else np.zeros(2) for s in samples]
    )
    mu, residual = model().estimate(A, counts, means, m2)
    rows, values = naive.pulls_of(X, samples)
    np.testing.assert_allclose(mu, X[A] @ np.linalg.lstsq(rows, values, rcond=None)[0], atol=1e-10)
    lack, pure = naive.residual_sums(X, samples)
    np.testing.assert_allclose(residual.lack_of_fit, lack, atol=1e-10)
    np.testing.assert_allclose(residual.pure_error, pure, atol=1e-10)
    assert (residual.df_lack, residual.df_pure) == (1, 7)


def test_pulls_that_miss_a_difference_compare_nothing():
    assert model().spread(A, np.array([3, 0, 2, 0, 0, 0, 0])) is None
    assert model().spread(A, np.zeros(7, dtype=int)) is None
    assert FreeModel(4).spread(np.arange(3), np.array([1, 0, 1, 1])) is None
    assert FreeModel(4).spread(np.arange(3), np.array([1, 1, 1, 0])) is not None


def test_copies_are_collapsed_unless_they_may_differ():
    rows = np.vstack([X[:2], X[:1], X[1:3]])
    single, twins = model(rows), model(rows, keep_twins=True)
    assert single.first.tolist() == [0, 1, 4]
    assert single.inverse.tolist() == [0, 1, 0, 1, 2]
    assert twins.first.tolist() == list(range(5))
    counts = np.array([4, 4, 0, 0, 4])
    spread = twins.spread(np.arange(5), counts)
    assert spread.matrix[0, 2] == 0.0
    assert spread.matrix[1, 3] == 0.0
    mu, _ = twins.estimate(np.arange(5), counts, rows[:, :2], np.zeros((5, 2)))
    assert (mu[0] == mu[2]).all()
    assert (mu[1] == mu[3]).all()


def test_designs_pull_where_they_may():
    barred = NONE.copy()
    barred[[0, 4]] = True
    plans = {plan.kind: plan.weights for plan in model().designs(A, ("g", "xy", "xy-all"), barred)}
    assert set(plans) == {"g", "xy", "xy-all"}
    for weights in plans.values():
        assert weights.sum() == pytest.approx(1.0)
        assert not weights[[0, 4]].any()
    assert not plans["g"][[1, 5]].any()
    assert not plans["xy"][[1, 5]].any()
    assert model().designs(A, ("g",), np.ones(7, dtype=bool)) == ()


def test_integers_sum_to_what_was_asked_for():
    for plan in model().designs(A, ("g", "xy", "xy-all"), NONE):
        m = int(np.count_nonzero(plan.weights))
        for N in (m, m + 1, 50):
            assert model().integers(plan, A, N).sum() == N
        assert model().integers(plan, A, 2) is None
    free = FreeModel(5)
    (plan,) = free.designs(np.array([1, 3, 4]), ("g",), NONE[:5])
    assert free.integers(plan, np.array([1, 3, 4]), 8).tolist() == [0, 3, 0, 3, 2]
    assert free.integers(plan, np.array([1, 3, 4]), 2) is None


def test_misfit_factors_are_the_expansion():
    counts = np.array([3, 1, 2, 0, 5, 1, 0])
    everything = np.arange(7)
    beta = model().misfit_factors(everything, counts)
    np.testing.assert_allclose(beta, naive.misspecification_factor(X, counts), atol=1e-9)
    some = model().misfit_factors(A, counts)
    np.testing.assert_allclose(some, beta[np.ix_(A, A)], atol=1e-9)
    assert not FreeModel(3).misfit_factors(np.arange(3), np.ones(3, int)).any()


def test_ranks():
    assert (model().rank, model().difference_rank, model().least(A[:2])) == (3, 3, 2)
    flat = model(np.column_stack([np.ones(5), np.arange(5)]))
    assert (flat.rank, flat.difference_rank) == (2, 1)
    assert model([[0.0], [2.0]]).least(np.array([0])) == 1
    assert isinstance(build_model(None, 6, keep_twins=False), FreeModel)


def test_the_cache_forgets_the_oldest_and_nothing_else():
    free, made = FreeModel(2), []
    for key in [*range(600), 599, 0]:
        assert free.memo(key, lambda key=key: made.append(key) or key) == key
    assert made == [*range(600), 0]
    assert len(free.store) == 512


@pytest.mark.parametrize("seed", range(5))
def test_independent_arms_are_estimated_by_their_own_means_as_least_squares_does(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 4)) * [1.0, 1e3, 1e-3, 1.0]
    model, A = LinearModel(X, keep_twins=False), np.array([1, 4, 7])
    plan = model.designs(A, ("g",), np.zeros(9, dtype=bool))[0]
    counts = model.integers(plan, A, 11)
    assert counts[A].tolist() == [4, 4, 3]
    assert model.integers(plan, A, 2) is None
    means, m2 = rng.standard_normal((9, 2)), rng.random((9, 2))
    found = model.estimate(A, counts, means, m2)
    theta = np.linalg.lstsq(X[A] / np.abs(X).max(axis=0), means[A], rcond=None)[0]
    np.testing.assert_allclose(found.mu, X[A] / np.abs(X).max(axis=0) @ theta, rtol=1e-9)
    np.testing.assert_allclose(found.residual.pure_error, m2[A].sum(axis=0))
    assert (found.residual.df_lack, found.residual.df_pure) == (0, 8)
    # five arms in four dimensions: pulls of others are news of these
    counts[[0, 2]] = 5
    assert not np.allclose(model.estimate(A, counts, means, m2).mu, means[A])
    assert model.compares(A, counts)
    assert not model.compares(np.arange(4), np.where(np.arange(9) < 3, 2, 0))
