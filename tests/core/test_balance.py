"""The shares that end all questions together, against a slow search and against cases known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from paretoscope.core.balance import (
    balanced,
    balanced_free,
    completed,
    completed_free,
    pulls_left,
)


def worst(Z, U, a, w):
    V = (Z * w[:, None]).T @ Z
    return float((a / np.einsum("mh,hm->m", U, np.linalg.solve(V, U.T))).min())


def slow(Z, U, a):
    """The optimum by a general solver from several starts, in logarithms of the shares."""

    def loss(x):
        w = np.exp(x - x.max())
        return -np.log(worst(Z, U, a, w / w.sum() + 1e-9))

    rng = np.random.default_rng(0)
    found = [
        optimize.minimize(loss, rng.standard_normal(len(Z)), method="Powell").fun for _ in range(3)
    ]
    return float(np.exp(-min(found)))


@pytest.mark.parametrize("seed", range(4))
def test_it_comes_within_a_tenth_of_the_optimum(seed):
    rng = np.random.default_rng(seed)
    Z, U = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    a, even = rng.uniform(0.5, 2, 4), np.full(7, 1 / 7)
    best = slow(Z, U, a)
    w = balanced(Z, U, a, even)
    assert w.sum() == pytest.approx(1.0, abs=1e-9)
    assert (w >= 0).all()
    assert best * 0.9 <= worst(Z, U, a, w) <= best * 1.02
    assert worst(Z, U, a, w) > 1.1 * worst(Z, U, a, even)


@pytest.mark.parametrize("seed", range(3))
def test_the_rest_of_a_budget_makes_up_for_what_the_past_did_badly(seed):
    """The past and the rest together come near the optimum of both; a past of nothing changes nothing."""
    rng = np.random.default_rng(seed)
    Z, U = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    a, even = rng.uniform(0.5, 2, 4), np.full(7, 1 / 7)
    fresh = completed(Z, U, a, np.zeros((3, 3)), even)
    assert worst(Z, U, a, fresh) == pytest.approx(worst(Z, U, a, balanced(Z, U, a, even)), rel=0.05)
    past = 0.5 * np.outer(Z[0], Z[0])
    w = completed(Z, U, a, past, even)
    assert w.sum() == pytest.approx(1.0)

    def together(w):
        V = past + (Z * w[:, None]).T @ Z
        return float((a / np.einsum("mh,hm->m", U, np.linalg.solve(V, U.T))).min())

    assert together(w) >= 0.97 * max(together(fresh), together(even))
    assert w[0] < fresh[0] + 0.02


def test_free_arms_with_a_past_agree_with_the_identity_as_features():
    i, j, a = np.array([0, 1, 3]), np.array([1, 2, 0]), np.array([1.0, 3.0, 0.5])
    past, even = np.array([0.9, 0.0, 0.1, 0.0]), np.full(4, 0.25)
    free = completed_free(i, j, a, past, even)
    line = completed(np.eye(4), np.eye(4)[j] - np.eye(4)[i], a, np.diag(past), even)

    def together(w):
        return float((a / (1.0 / (past + w)[i] + 1.0 / (past + w)[j])).min())

    assert together(free) == pytest.approx(together(line), rel=0.03)
    assert together(free) > together(even)
    none = completed_free(i[:1], j[:1], a[:1], past, np.array([0.0, 0.0, 0.5, 0.5]))
    assert none.tolist() == [0.0, 0.0, 0.5, 0.5]  # neither arm of the pair can be pulled


def test_one_pair_of_free_arms_shares_evenly_and_the_others_get_the_rest_of_the_start():
    i, j = np.array([0]), np.array([2])
    w = balanced_free(i, j, np.array([1.0]), np.full(4, 0.25), steps=2_000)
    assert w[0] == pytest.approx(0.5, abs=0.01)
    assert w[2] == pytest.approx(0.5, abs=0.01)


def test_free_arms_agree_with_the_identity_as_features():
    i, j, a = np.array([0, 1, 3]), np.array([1, 2, 0]), np.array([1.0, 3.0, 0.5])
    even, Z = np.full(4, 0.25), np.eye(4)
    free = balanced_free(i, j, a, even, steps=3_000)
    line = balanced(Z, Z[j] - Z[i], a, even, steps=3_000)
    assert worst(Z, Z[j] - Z[i], a, free) == pytest.approx(worst(Z, Z[j] - Z[i], a, line), rel=0.02)


def test_an_arm_that_cannot_be_pulled_gets_nothing():
    i, j, a = np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.0])
    w = balanced_free(i, j, a, np.array([0.5, 0.0, 0.5]))
    assert w[1] == 0.0
    assert w[[0, 2]].min() > 0.3


def test_pulls_left_is_the_slowest_question():
    assert pulls_left(np.array([1.0, 4.0]), np.array([1.0, 2.0])) == 4.0
