from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretoscope.core.curvature import curvature
from tests.statistics import at_least, at_most


def world(rng, bend=0.0, n=4):
    """Corners of a cube and eight points inside, n measurements each; noise of one."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    inside = rng.uniform(-0.7, 0.7, (8, 3))
    x = np.concatenate([corners, inside])
    counts = np.concatenate([np.full(8, 4 * n), np.full(8, n)])
    mu = x @ [1.0, -2.0, 0.5] + 3.0 - bend * np.square(x).sum(axis=1)
    means = mu + rng.standard_normal(16) / np.sqrt(counts)
    return np.column_stack([np.ones(16), x]), counts, means[:, None], int(counts.sum() - 16)


def rejected(runs, **how):
    rng, found = np.random.default_rng(1), 0
    for _ in range(runs):
        Z, counts, means, df = world(rng, **how)
        found += bool(curvature(Z, counts, means, np.array([rng.chisquare(df)]), df)[0] <= 0.05)
    return found


def test_straight_means_are_rejected_within_the_level():
    """2,000 runs at .05."""
    at_most(rejected(2000), 2000, 0.05)


def test_a_bowl_is_found():
    """160 measurements, and a bend of .4 of the noise in each column: in nine of ten."""
    at_least(rejected(200, bend=0.4), 200, 0.9)


def test_it_is_the_f_of_one_more_term():
    rng = np.random.default_rng(2)
    Z, counts, means, df = world(rng, bend=0.05)
    V = (Z * counts[:, None]).T @ Z
    g = np.einsum("ij,jk,ik->i", Z, np.linalg.inv(V), Z)
    root = np.sqrt(counts)[:, None]

    def squares(X):
        fit = np.linalg.lstsq(X * root, means * root, rcond=None)[0]
        return float(np.square((means - X @ fit) * root).sum())

    F = (squares(Z) - squares(np.column_stack([Z, g]))) / (17.0 / df)
    p = curvature(Z, counts, means, np.array([17.0]), df)
    assert 1e-6 < p[0] == pytest.approx(stats.f.sf(F, 1, df), rel=1e-9)


def test_where_all_arms_have_one_leverage_nothing_can_be_told():
    Z = np.array([[1.0, -1.0], [1.0, 1.0]])
    p = curvature(Z, np.array([5, 5]), np.array([[1.0], [2.0]]), np.ones(1), 8)
    assert p.tolist() == [1.0]
