"""The margins that boxes leave over, against the whole table."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.core import margins
from paretoscope.core.gaps import psi_gaps
from tests import naive


def draw(seed, d=None):
    """Points, queries and prices: small integers, which tie, every other time."""
    rng = np.random.default_rng(seed)
    d = d or rng.integers(1, 5)
    shapes = (d, rng.integers(1, 30)), (d, rng.integers(1, 30)), (rng.integers(1, 30),)
    if seed % 2:
        points, queries, _ = (rng.integers(0, 5, shape).astype(float) for shape in shapes)
    else:
        points, queries, _ = (rng.standard_normal(shape) for shape in shapes)
    return points, queries, rng.integers(0, 3, points.shape[1]).astype(float)


@pytest.mark.parametrize("seed", range(200))
def test_margins_by_boxes_are_those_of_the_table(monkeypatch, seed):
    monkeypatch.setattr(margins, "BOX", 1 + seed % 4)
    points, queries, _ = draw(seed)
    table = (points[:, None, :] - queries[:, :, None]).min(axis=0)
    best, which = margins.best_margins(points, queries)
    np.testing.assert_array_equal(best, table.max(axis=1))
    np.testing.assert_array_equal(which, table.argmax(axis=1))
    if points.shape[1] > 1:
        alone = (points[:, None, :] - points[:, :, None]).min(axis=0)
        np.fill_diagonal(alone, -np.inf)
        best, which = margins.best_margins(points, points, np.arange(points.shape[1]))
        np.testing.assert_array_equal(best, alone.max(axis=1))
        np.testing.assert_array_equal(which, alone.argmax(axis=1))


@pytest.mark.parametrize("seed", range(200))
def test_sums_by_boxes_are_those_of_the_table(monkeypatch, seed):
    monkeypatch.setattr(margins, "BOX", 1 + seed % 4)
    points, queries, price = draw(seed)
    above = (points[:, None, :] - queries[:, :, None]).max(axis=0)
    want = (price + np.maximum(above, 0.0)).min(axis=1)
    np.testing.assert_array_equal(margins.nearest_sums(points, price, queries), want)


def wide(n, d, optimal, seed=0):
    """Optimal arms on a sphere, and arms that each lie below one of them."""
    rng = np.random.default_rng(seed)
    front = np.abs(rng.standard_normal((optimal, d)))
    front /= np.linalg.norm(front, axis=1)[:, None]
    below = front[rng.integers(0, optimal, n - optimal)] - rng.uniform(0.001, 0.3, (n - optimal, d))
    return np.vstack([front, below])[rng.permutation(n)]


def check_some(mu, found, count):
    """Margins and gaps of some arms by their definition, each against all others."""
    front = found.strict
    for i in [*np.flatnonzero(front)[:count], *np.flatnonzero(~front)[:count]]:
        above = (mu - mu[i]).min(axis=1)
        above[i] = -np.inf
        assert found.star[i] == above.max()
        if front[i]:
            ahead = (mu[i] - mu).max(axis=1)
            behind = np.maximum((mu - mu[i]).max(axis=1), 0) + np.maximum(found.star, 0)
            reach = np.minimum(ahead, behind)
            reach[i] = np.inf
            assert found.gap[i] == pytest.approx(reach.min(), rel=1e-12)


def test_a_wide_front_of_some_size_is_the_definition():
    mu = wide(25_000, 4, 5_000)
    check_some(mu, psi_gaps(mu), 50)
    few = wide(60, 4, 20)
    assert psi_gaps(few).star.tolist() == naive.psi_stars(few)


@pytest.mark.long
def test_twenty_thousand_optimal_of_a_hundred_thousand():
    mu = wide(100_000, 5, 20_000)
    found = psi_gaps(mu)
    assert int(found.strict.sum()) == 20_000
    check_some(mu, found, 200)
