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
