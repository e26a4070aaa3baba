"""Two batches: rejected within the level whatever the second one was chosen by, and found when they differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretoscope.core import agreement
from paretoscope.core.agreement import Batch
from paretoscope.core.confidence import GAUSSIAN, student
from tests.statistics import above, at_least, at_most

LEVEL = 0.05


def batch(mu, deviation, events, nu=None):
    law = GAUSSIAN if nu is None else student(nu)
    return Batch(mu[1:, None] - mu[0], np.full((len(mu) - 1, 1), deviation), [law], events)


def survivors(rng, K=10, slope=0.0):
    """The better half by a first batch, measured again; the first of them is the reference."""
    first = rng.standard_normal(K)
    at = np.argsort(-first)[: K // 2]
    return first[at], slope * np.arange(K // 2) + rng.standard_normal(K // 2)


def test_survivors_are_not_taken_for_changed():
    """Regression to the mean is no disagreement; a test that ignores the selection says it is."""
    rng, runs, found, careless = np.random.default_rng(0), 400, 0, 0
    for _ in range(runs):
        one, two = survivors(rng)
        s = np.sqrt(2.0)
        found += agreement.differences(batch(one, s, 90), batch(two, s, 8)).p[0] <= LEVEL
        careless += abs(two.mean() - one.mean()) * np.sqrt(2.5) >= stats.norm.isf(LEVEL / 2)
    at_most(int(found), runs, LEVEL)
    above(int(careless), runs, LEVEL)


def test_a_difference_that_changed_is_found():
    rng, found = np.random.default_rng(1), 0
    for _ in range(100):
        one, two = survivors(rng, slope=4.0)
        s = np.sqrt(2.0)
        found += agreement.differences(batch(one, s, 90), batch(two, s, 8)).p[0] <= LEVEL
    at_least(int(found), 100, 0.9)


@pytest.mark.parametrize("nu", [None, 3, 30])
def test_the_p_value_is_the_level_at_which_limits_part(nu):
    law = GAUSSIAN if nu is None else student(nu)
    rng = np.random.default_rng(2)
    one, two = (
        batch(rng.standard_normal(5), 1.5, 20, nu),
        batch(rng.standard_normal(5) * 20, 2.0, 8),
    )
    found = agreement.differences(one, two)
    p, k = float(found.p[0]), int(found.arm[0])
    limits = law.quantile(p / 40) * 1.5 + GAUSSIAN.quantile(p / 16) * 2.0
    assert p < 1.0
    apart = np.abs(two.gap - one.gap)[:, 0]
    assert found.size[0] == apart[k] == apart.max() == pytest.approx(limits)


def test_an_offset_of_a_whole_batch_is_no_disagreement():
    mu = np.arange(4.0)
    assert agreement.differences(batch(mu, 0.1, 12), batch(mu + 50.0, 0.1, 6)).p[0] == 1.0


def test_noise_of_two_batches():
    """Level where the second is larger the quieter the first seemed, as rounds are; then power."""
    rng, runs, found, careless = np.random.default_rng(3), 1000, 0, 0
    for _ in range(runs):
        one = rng.chisquare(10)
        df = 10 if one < 8 else 200
        two = rng.chisquare(df)
        p, ratio = agreement.noise(np.array([one]), 10, np.array([two]), df)
        assert ratio[0] == pytest.approx(np.sqrt(two / df / (one / 10)))
        found += p[0] <= LEVEL
        careless += abs(np.log(ratio[0])) > np.log(1.5)
    at_most(int(found), runs, LEVEL)
    above(int(careless), runs, LEVEL)
    loud = [agreement.noise(np.array([rng.chisquare(40)]), 40, np.array([r * rng.chisquare(40)]), 40)
            for r in [9.0, 1 / 9.0] * 50]  # fmt: skip
    at_least(sum(bool(p[0] <= LEVEL) for p, _ in loud), 100, 0.9)


def test_the_p_value_of_a_noise_is_that_of_its_limits():
    p, _ = agreement.noise(np.array([8.0]), 9, np.array([300.0]), 20)
    most = 8.0 / stats.chi2.ppf(p[0] / 4, 9)
    assert 300.0 / stats.chi2.isf(p[0] / 4, 20) == pytest.approx(most)
    huge, _ = agreement.noise(np.array([1e-250]), 9, np.array([1.0]), 900)
    assert 0.0 < huge[0] < 1e-100
