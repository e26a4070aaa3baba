"""Laws of the drawn tallies: 4,000 tallies of 5 pulls each, two-sided limits of 4.4 sigma (1e-5)."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.sim import Bernoulli, Correlated, Gaussian, Rademacher

RUNS, N = 4000, 5
LIMIT = 4.4
MU = np.array([[0.3, 0.6]])
COVARIANCE = np.array([[1.0, -0.6], [-0.6, 0.5]])


def draws(world, mu=MU, n=N, runs=RUNS, seed=0):
    """Means (runs, d) and m2 (runs, d) of the first arm."""
    rng = np.random.default_rng(seed)
    tallies = [world.draw(mu, np.full(len(mu), n), rng) for _ in range(runs)]
    return np.array([t.means[0] for t in tallies]), np.array([t.m2[0] for t in tallies])


def check_moments(means, m2, sigma, n=N):
    """Mean mu, variance sigma^2 / n, and E m2 = (n - 1) sigma^2, within limits of their spread."""
    error = (means - MU).mean(axis=0) / (means.std(axis=0) / np.sqrt(len(means)))
    assert (np.abs(error) < LIMIT).all()
    squares = np.square(means - MU)
    error = (squares.mean(axis=0) - np.square(sigma) / n) / (squares.std(axis=0) / np.sqrt(RUNS))
    assert (np.abs(error) < LIMIT).all()
    error = (m2.mean(axis=0) - (n - 1) * np.square(sigma)) / (m2.std(axis=0) / np.sqrt(RUNS))
    assert (np.abs(error) < LIMIT).all()


@pytest.mark.parametrize(
    ("world", "sigma"),
    [
        (Gaussian(np.array([0.5, 2.0])), [0.5, 2.0]),
        (Rademacher(np.array([0.5, 2.0])), [0.5, 2.0]),
        (Bernoulli(), np.sqrt(MU[0] * (1 - MU[0]))),
        (Correlated(COVARIANCE), np.sqrt(np.diag(COVARIANCE))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_means_and_variances(world, sigma):
    check_moments(*draws(world), sigma)


def test_squared_deviations_of_gaussian_noise_are_chi_square_and_independent_of_the_mean():
    means, m2 = draws(Gaussian(np.array([1.0, 3.0])))
    scaled = m2 / [1.0, 9.0]
    # var chi2_4 = 8, fourth central moment 12 * 4 * (4 + 4) = 384: sd of a sample variance
    assert (np.abs(scaled.var(axis=0) - 8) < LIMIT * np.sqrt((384 - 64) / RUNS)).all()
    for c in range(2):
        assert abs(np.corrcoef(means[:, c], m2[:, c])[0, 1]) < LIMIT / np.sqrt(RUNS)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_covariances(n):
    """n = 2 draws the Wishart from its factor, more from Bartlett's triangle: the same law."""
    means, m2 = draws(Correlated(COVARIANCE), n=n)
    cross = np.prod(means - MU, axis=1)
    assert abs(cross.mean() - COVARIANCE[0, 1] / n) < LIMIT * cross.std() / np.sqrt(RUNS)
    product = np.prod(m2 - m2.mean(axis=0), axis=1)  # Cov(W_11, W_22) = 2 nu Sigma_12^2
    expected = 2 * (n - 1) * COVARIANCE[0, 1] ** 2
    assert abs(product.mean() - expected) < LIMIT * product.std() / np.sqrt(RUNS)
    check_moments(means, m2, np.sqrt(np.diag(COVARIANCE)), n)


def test_noise_that_differs_between_candidates():
    mu = np.zeros((2, 1))
    rng = np.random.default_rng(4)
    world = Gaussian(np.array([[0.1], [10.0]]))
    m2 = np.array([world.draw(mu, np.array([3, 3]), rng).m2[:, 0] for _ in range(RUNS)])
    for arm, sigma in enumerate((0.1, 10.0)):  # chi2_2: sd 2 sigma^2
        assert abs(m2[:, arm].mean() - 2 * sigma**2) < LIMIT * 2 * sigma**2 / np.sqrt(RUNS)


def test_a_scale_of_zero_is_exact():
    tally = Gaussian(np.array([0.0, 1.0])).draw(MU, np.array([7]), np.random.default_rng(0))
    assert tally.means[0, 0] == MU[0, 0]
    assert tally.m2[0, 0] == 0.0
    assert tally.means[0, 1] != MU[0, 1]
    assert tally.m2[0, 1] > 0.0


@pytest.mark.parametrize(
    "world", [Gaussian(np.ones(2)), Rademacher(np.ones(2)), Bernoulli(), Correlated(COVARIANCE)]
)
def test_what_is_not_pulled_is_not_drawn_and_one_pull_has_no_spread(world):
    mu = np.array([[0.2, 0.4], [0.5, 0.5], [0.9, 0.1]])
    counts = np.array([0, 1, 4])
    tally = world.draw(mu, counts, np.random.default_rng(2))
    assert (tally.counts == counts).all()
    assert not tally.means[0].any()
    assert not tally.m2[:2].any()


def test_tossed_coins_have_only_the_values_of_coins():
    rng = np.random.default_rng(3)
    rademacher = Rademacher(np.array([0.5, 2.0])).draw(MU, np.array([1]), rng)
    np.testing.assert_allclose(np.abs(rademacher.means - MU)[0], [0.5, 2.0])
    bernoulli = Bernoulli().draw(MU, np.array([1]), rng)
    assert set(bernoulli.means[0]) <= {0.0, 1.0}
    sure = Bernoulli().draw(np.array([[0.0, 1.0]]), np.array([9]), rng)
    assert sure.means.tolist() == [[0.0, 1.0]]
    assert not sure.m2.any()


@pytest.mark.parametrize("mean", [-0.01, 1.01])
def test_a_probability_lies_between_0_and_1(mean):
    with pytest.raises(UsageError, match="between 0 and 1"):
        Bernoulli().draw(np.array([[mean]]), np.array([1]), np.random.default_rng(0))
