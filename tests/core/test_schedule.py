"""The closed-form schedules, number by number, and the search for the smallest certified round."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.core import schedule as sch
from paretoscope.errors import UsageError


def test_first_rounds_of_the_paper_by_hand():
    assert [sch.paper_accuracy(r) for r in (1, 2, 3)] == [0.25, 0.125, 0.0625]
    assert sch.paper_risk(0.1, 1) == pytest.approx(0.6 / math.pi**2)
    # 32 (1 + .75) 8 / .0625 = 7168 per unit of the logarithm
    risk = sch.paper_risk(0.1, 1)
    assert sch.round_pulls("paper", 0.25, risk, 50, 8, 2, 1.0) == math.ceil(
        7168 * math.log(50 / risk)
    )
    assert sch.round_pulls("corrected", 0.25, risk, 50, 8, 2, 1.0) == math.ceil(
        7168 * math.log(200 / risk)
    )
    assert sch.round_pulls("authors", 0.25, risk, 50, 8, 2, 1.0) == math.ceil(
        128 * math.log(1 / risk)
    )


def test_corrected_never_falls_below_what_the_rounding_needs():
    assert sch.round_pulls("corrected", 0.25, 0.1, 4, 4, 2, 0.01) == 20 * 4 * 16


def test_the_risks_of_the_paper_sum_to_delta():
    spent = sum(sch.paper_risk(0.1, r) for r in range(1, 20_001))
    assert spent == pytest.approx(0.1, rel=1e-4)
    assert spent <= 0.1


@given(st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=1, max_size=60))
def test_risks_never_sum_to_more_than_delta_however_the_number_of_rounds_was_guessed(guesses):
    left = 0.1
    for to_come in guesses:
        risk = sch.next_risk(left, to_come)
        assert 0 < risk < left
        left -= risk
    assert left > 0


def test_known_rounds_get_twice_the_risk_of_the_one_before():
    left, risks = 0.1, []
    for to_come in (3, 2, 1, 0):
        risks.append(sch.next_risk(left, to_come))
        left -= risks[-1]
    ratios = [b / a for a, b in pairwise(risks)]
    assert ratios == pytest.approx([2.0, 2.0, 2.0], rel=0.05)
    assert sum(risks) > 0.097


def test_proven_has_no_closed_form():
    with pytest.raises(UsageError, match="closed form"):
        sch.round_pulls("proven", 0.25, 0.1, 4, 4, 2, 1.0)


@given(st.integers(1, 3_000), st.integers(1, 4_000), st.integers(1, 2_000))
def test_the_search_finds_the_threshold_from_any_guess(threshold, guess, least):
    found = sch.smallest_certified(lambda n: n >= threshold, guess, least)
    assert found == max(threshold, least)


@given(st.integers(1, 3_000), st.integers(1, 4_000), st.integers(0, 40))
def test_the_search_with_slack_ends_at_most_that_early(threshold, guess, slack):
    found = sch.smallest_certified(lambda n: n >= threshold, guess, 1, slack)
    assert threshold <= found <= threshold + slack


def test_the_search_returns_a_certified_number_even_when_irregular():
    odd = lambda n: n >= 50 and n % 7 != 0  # noqa: E731
    found = sch.smallest_certified(odd, 80, 1)
    assert odd(found)
    assert not odd(found - 1)
