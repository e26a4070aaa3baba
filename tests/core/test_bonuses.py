"""Bonuses against their twins, and the events they promise to exclude."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from paretoscope.core import bonuses
from paretoscope.core.bonuses import (
    ape_reference_bonus,
    ape_union_bonus,
    auer_bonus,
    mixture_threshold,
)
from tests import rivals
from tests.statistics import above, at_most


@pytest.mark.parametrize("K", [2, 30])
@pytest.mark.parametrize("delta", [0.1, 0.001])
def test_every_bonus_is_its_formula(K, delta):
    for n_i, n_j in ((1, 1), (3, 8), (1000, 20)):
        auer = float(auer_bonus(n_i, K, 2, delta) + auer_bonus(n_j, K, 2, delta))
        assert auer == pytest.approx(rivals.pair_bonus("auer", n_i, n_j, K, 2, delta))
        union = float(ape_union_bonus(K, 2, delta).of(n_i, n_j))
        assert union == pytest.approx(rivals.pair_bonus("union", n_i, n_j, K, 2, delta), rel=1e-5)
        reference = float(ape_reference_bonus(delta).of(n_i, n_j))
        assert reference == pytest.approx(rivals.pair_bonus("reference", n_i, n_j, K, 2, delta))


def test_the_approximation_of_the_threshold_is_no_upper_bound():
    for x in (1.5, 3.0, 5.0):
        assert x + np.log(x) < mixture_threshold(x) == pytest.approx(rivals.threshold(x), rel=1e-5)


def crossings(bonus, runs=400, most=3000):
    """Runs of two arms in which a mean ever leaves its bonus, looked at after every pull."""
    rng, n = np.random.default_rng(4), np.arange(1, most + 1)
    walks = rng.standard_normal((runs, 2, most)).cumsum(axis=2) / n
    return int((np.abs(walks[:, 0] - walks[:, 1]) > bonus(n)).any(axis=1).sum())


def test_bonuses_hold_at_all_times_at_once():
    """400 runs of 3,000 looks at delta = 0.3: the certified ones err less often, a bare quantile does not."""
    at_most(crossings(lambda n: 2 * auer_bonus(n, 2, 1, 0.3)), 400, 0.3)
    at_most(crossings(lambda n: ape_union_bonus(2, 1, 0.3).of(n, n)), 400, 0.3)
    above(crossings(lambda n: 1.44 * np.sqrt(2 / n)), 400, 0.3)


def test_the_examples_run():
    done = doctest.testmod(bonuses)
    assert (done.failed, done.attempted > 3) == (0, True)
