"""The ellipsoid: an exact supermartingale on small trees, and coverage under adversarial sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from paretoscope.core import anytime


def _mixture(X, noise, W):
    """(det W / det(V+W))^(1/2) exp(|S|^2_{(V+W)^-1} / 2) for unit-scale noise."""
    V = X.T @ X
    S = X.T @ noise
    ratio = np.linalg.det(W) / np.linalg.det(V + W)
    return math.sqrt(ratio) * math.exp(0.5 * S @ np.linalg.solve(V + W, S))


def test_the_mixture_is_a_supermartingale_on_a_full_tree_of_signs():
    """Expectation over all 2^4 sign sequences, the next arm chosen from the past in a bad-willed way."""
    arms = np.array([[1.0, 0.0], [0.4, 0.9], [-0.3, 1.2]])
    W = np.array([[2.0, 0.3], [0.3, 1.0]])
    value = {0: 1.0}
    for depth in range(1, 5):
        total = 0.0
        for signs in itertools.product([-1.0, 1.0], repeat=depth):
            X = [arms[0]]
            X += [arms[1 if sum(signs[:k]) > 0 else 2] for k in range(1, depth)]
            total += _mixture(np.array(X), np.array(signs), W) / 2**depth
        value[depth] = total
        assert total <= value[depth - 1] + 1e-12
    assert value[4] > 0.5


def test_beta_is_its_formula():
    V, W = np.diag([3.0, 5.0]), np.diag([1.0, 2.0])
    want = math.log(3 * 2 / 0.01) + 0.5 * math.log(4.0 * 3.5)
    assert anytime.ellipsoid_beta(V, W, 3, 2, 0.01) == pytest.approx(want, rel=1e-12)


def test_threshold_is_the_best_scale_in_each_direction():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 3))
    V, scales = A.T @ A, np.stack([k * np.eye(3) for k in (0.1, 1.0, 30.0)])
    U = rng.standard_normal((7, 3))
    got = anytime.ellipsoid_threshold(U, V, scales, 2, 0.05)
    Vi = np.linalg.inv(V)
    for u, value in zip(U, got, strict=True):
        ways = [
            anytime.ellipsoid_beta(V, W, 2, 3, 0.05) * (u @ Vi @ (V + W) @ Vi @ u) / (u @ Vi @ u)
            for W in scales
        ]
        assert value == pytest.approx(min(ways), rel=1e-10)


def test_errors_stay_inside_at_all_times_under_adversarial_sampling():
    """1,000 runs of 60 pulls, risk 0.2: misses at any time <= 0.2 (binomial 99.9 % limit 0.24)."""
    rng = np.random.default_rng(4)
    arms = np.array([[1.0, 0.0, 0.2], [0.1, 1.0, 0.0], [0.5, 0.5, 1.0], [1.0, -1.0, 0.3]])
    scales = np.stack([k * np.eye(3) for k in (0.5, 5.0)])
    U = np.vstack([arms, arms[0] - arms[1], arms[2] - arms[3]])
    misses = 0
    for _ in range(1_000):
        V, S = np.zeros((3, 3)), np.zeros((3, 2))
        out, choice = False, 0
        for t in range(60):
            x = arms[t if t < 3 else choice]
            V += np.outer(x, x)
            S += np.outer(x, rng.standard_normal(2))
            if t < 3:
                continue
            err = U @ np.linalg.solve(V, S)
            s2 = np.einsum("mh,hm->m", U, np.linalg.solve(V, U.T))
            evidence = err**2 / (2 * s2[:, None])
            choice = int(np.argmax(np.abs(arms @ np.linalg.solve(V, S)).max(axis=1)))
            out |= bool(
                (evidence.max(axis=1) >= anytime.ellipsoid_threshold(U, V, scales, 2, 0.2)).any()
            )
        misses += out
    assert misses <= 240


def test_scaled_threshold_is_the_threshold_of_multiples_of_one_matrix():
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((9, 3)), rng.standard_normal((5, 3))
    V, W0, sizes = A.T @ A, B.T @ B, np.array([3.0, 30.0])
    U = rng.standard_normal((6, 3))
    want = anytime.ellipsoid_threshold(U, V, sizes[:, None, None] * W0, 2, 0.05)
    Vi = np.linalg.inv(V)
    share = np.array([(u @ Vi @ W0 @ Vi @ u) / (u @ Vi @ u) for u in U])
    ratios = np.linalg.eigvals(np.linalg.solve(W0, V)).real
    got = anytime.scaled_threshold(ratios, share, sizes, 2, 0.05)
    np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize(("m", "v", "Y", "I"), [(0.4, 0.2, 3.0, 9.0), (-0.5, 0.3, -2.0, 4.0)])
def test_the_e_value_is_its_integral(m, v, Y, I):  # noqa: E741
    grid = np.linspace(1e-6, 8.0, 400_001)
    prior = np.exp(-((grid - m) ** 2) / (2 * v))
    value = (prior * np.exp(grid * Y - grid**2 * I / 2)).sum() / prior.sum()
    got = anytime.log_e_value(*(np.array([x]) for x in (Y, I, m, v)))[0]
    assert got == pytest.approx(math.log(value), abs=1e-4)


def stopped_e_values(mean, runs, rng):
    """E-values where they first exceed 4, or at the end; the next precision follows the sum so far."""
    m, v, d = np.full(runs, 0.3), np.full(runs, 0.1), 12
    Y, I, out = np.zeros(runs), np.zeros(runs), np.zeros(runs)  # noqa: E741
    open_ = np.ones(runs, dtype=bool)
    for _ in range(d):
        precision = np.where(Y > 0, 6.0, 1.5)
        g = mean + rng.standard_normal(runs) / np.sqrt(precision)
        Y, I = Y + g * precision, I + precision  # noqa: E741
        value = np.exp(anytime.log_e_value(Y, I, m, v))
        out[open_] = value[open_]
        open_ &= value < 4.0
    return out


def test_e_values_average_to_at_most_one_at_a_stopping_time():
    """400,000 runs under a wrong sign (gap 0 or -0.2): mean <= 1 + 4 standard errors."""
    rng = np.random.default_rng(2)
    for mean in (0.0, -0.2):
        found = stopped_e_values(mean, 400_000, rng)
        assert found.mean() <= 1.0 + 4.0 * found.std() / math.sqrt(len(found))
    assert stopped_e_values(0.3, 20_000, rng).mean() > 2.0


def test_a_strongly_wrong_sign_never_gains():
    """The cut at 0: without it the average over lambda of both signs grows where the gap is negative."""
    Y, I = np.array([-30.0]), np.array([30.0])  # noqa: E741
    assert anytime.log_e_value(Y, I, np.array([0.1]), np.array([0.5]))[0] < -2.0


def worlds(price, E, sure):
    """The least money by all worlds, one after the other."""
    m, out = len(price), np.full(len(price), np.inf)
    for world in itertools.product([False, True], repeat=m):
        wrong = np.array(world)
        for q in np.flatnonzero(wrong):
            if (wrong & sure & (np.arange(m) != q)).any():
                continue
            money = (price * E)[wrong].sum() / price[wrong].sum()
            out[q] = min(out[q], money)
    return np.log(out)


def test_dilution_is_the_least_over_all_worlds():
    rng = np.random.default_rng(3)
    for _ in range(40):
        m = int(rng.integers(1, 7))
        price, log_e = rng.uniform(0.1, 1, m), rng.normal(0, 3, m).round(1)
        sure = rng.random(m) < 0.3
        got = anytime.dilution(price, log_e, sure)
        np.testing.assert_allclose(got, worlds(price, np.exp(log_e), sure), rtol=1e-9, atol=1e-9)


def test_huge_e_values_of_others_make_no_sign_certain():
    got = anytime.dilution(
        np.array([0.5, 0.5]), np.array([2_000.0, -50.0]), np.zeros(2, dtype=bool)
    )
    assert got[1] == pytest.approx(-50.0)
    assert got[0] == pytest.approx(300.0 + math.log(0.5), abs=1e-6)
