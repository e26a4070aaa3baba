"""The theorems' numbers: by hand, and against the schedule they are meant to bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from paretoscope.core import theory
from paretoscope.core.schedule import round_pulls
from paretoscope.errors import UsageError


@pytest.mark.parametrize(("h", "rounds"), [(1, 1), (2, 1), (3, 2), (8, 3), (9, 4)])
def test_rounds_of_the_fixed_budget(h, rounds):
    assert theory.elimination_rounds(h) == rounds


def test_budget_bounds_by_hand():
    T = 10**8
    want = 2 * 2 * (50 + 8 + 3) * math.exp(-T / (1200 * 5000 * 3))
    assert theory.budget_error_bound(T, 5000, 50, 8, 2) == pytest.approx(want)
    want = 2 * 2 * (50 + 8 + 3) * math.exp(-(T // 3 - 20) / (400 * 5000))
    assert theory.apportioned_error_bound(T, 20, 5000, 50, 8, 2) == pytest.approx(want)
    assert theory.budget_lower_bound(2500, 5000) == pytest.approx(0.25 * math.exp(-1))


def test_sigma_enters_every_bound():
    ways = [
        lambda s: theory.budget_error_bound(10**8, 5000, 50, 8, 2, s),
        lambda s: theory.apportioned_error_bound(10**8, 20, 5000, 50, 8, 2, s),
        lambda s: theory.budget_lower_bound(2500, 5000, s),
    ]
    assert all(way(0.9) < way(1.0) for way in ways)


def test_too_small_budgets_are_refused_with_the_number_needed():
    with pytest.raises(UsageError, match="1080"):
        theory.budget_error_bound(1079, 5000, 50, 8, 2)
    with pytest.raises(UsageError, match="20 points"):
        theory.apportioned_error_bound(60, 20, 5000, 50, 8, 2)


def test_the_closed_form_bounds_the_sum_over_rounds_and_the_printed_one_does_not():
    rng = np.random.default_rng(0)
    violated = 0
    for _ in range(300):
        K, h = 30, 6
        gaps = np.sort(rng.uniform(0.01, 0.9, K))
        by_round = theory.confidence_pulls_by_round(gaps, h, 2, 0.05)
        closed = theory.confidence_pulls_closed_form(gaps, h, K, 2, 0.05)
        assert by_round <= closed
        logs = np.log(K * 2 * np.log2(2 / gaps[1:h]) / 0.05)
        violated += by_round > math.log2(2 / gaps[0]) + 256 / 3 * (logs / gaps[1:h] ** 2).sum()
    assert violated > 0


def test_one_arm_needs_nothing():
    assert theory.confidence_round_count(np.array([math.inf])) == 0
    assert theory.confidence_pulls_by_round(np.array([math.inf]), 1, 2, 0.1) == 0


def test_rounds_and_pulls_of_an_instance_by_hand():
    # unsorted gaps; the second smallest, 0.2, is settled in round ceil(log2 5) = 3
    gaps = np.array([0.9, 0.2, 0.1, 0.5])
    assert theory.confidence_round_count(gaps) == 3
    # accuracies 1/4, 1/8, 1/16: all 4 arms, then those below 1/2, then those below 1/4
    plan = [(0.25, 4), (0.125, 2), (0.0625, 2)]
    want = sum(
        round_pulls("corrected", eps_r, 0.6 / (math.pi * r) ** 2, n, min(3, n), 2, 1.0)
        for r, (eps_r, n) in enumerate(plan, start=1)
    )
    assert theory.confidence_pulls_by_round(gaps, 3, 2, 0.1) == want
    terms = [
        math.log(2 * 4 * 2 * math.pi**2 * halvings**2 / 0.6) / gap**2
        for gap, halvings in [(0.1, 4), (0.2, 3), (0.5, 1)]
    ]
    closed = theory.confidence_pulls_closed_form(gaps, 3, 4, 2, 0.1, sigma=0.5)
    assert closed == pytest.approx(3 + 14336 * 0.25 * sum(terms))
