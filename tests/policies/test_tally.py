from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.errors import DataError, UsageError
from paretoscope.policies import Tally
from paretoscope.policies.base import DecisionBatch, check_delivery
from tests import naive

samples = st.lists(
    st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3), st.floats(-1e-3, 1e-3)),
    min_size=1,
    max_size=30,
)


def of(rows):
    return Tally.of(4, [row[0] for row in rows], [row[1:] for row in rows])


def same(a, b):
    assert (a.counts == b.counts).all()
    np.testing.assert_allclose(a.means, b.means, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e-9, atol=1e-8)


@given(samples)
def test_a_tally_is_what_the_loop_says(rows):
    counts, means, m2 = naive.tally(4, rows)
    same(of(rows), Tally(counts, means, m2))


@given(samples, st.lists(st.integers(0, 30), max_size=3))
def test_merged_in_any_split_it_is_the_whole(rows, cuts):
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    total = Tally.empty(4, 2)
    for start, stop in pairwise(ends):
        part = rows[start:stop]
        total = total.merge(of(part) if part else Tally.empty(4, 2))
    same(total, of(rows))


def test_a_variance_a_hundred_thousand_million_times_smaller_than_its_mean_keeps_its_digits():
    deviations = np.arange(-3000, 3001) * 2.0**-18  # exact numbers beside 1e9: sd 6.6e-3
    values = 1e9 + deviations
    true = np.square(deviations).sum()
    whole = Tally.of(1, np.zeros(len(values), int), values)
    parts = Tally.empty(1, 1)
    for piece in np.array_split(np.random.default_rng(0).permutation(values), 37):
        parts = parts.merge(Tally.of(1, np.zeros(len(piece), int), piece))
    assert whole.m2[0, 0] == pytest.approx(true, rel=1e-6)
    assert parts.m2[0, 0] == pytest.approx(true, rel=1e-6)
    naive_squares = (values**2).sum() - len(values) * values.mean() ** 2
    assert abs(naive_squares / true - 1) > 0.5  # what raw squares would make of it


def test_the_mean_of_1e9_with_sd_1e_2():
    values = 1e9 + 1e-2 * np.random.default_rng(1).standard_normal(2000)
    exact = values - 1e9  # Sterbenz: no rounding
    first, second = (Tally.of(1, np.zeros(1000, int), part) for part in np.split(values, 2))
    tally = first.merge(second)
    assert tally.m2[0, 0] == pytest.approx(np.square(exact - exact.mean()).sum(), rel=1e-6)


def test_empties_change_nothing():
    some, none = of([(1, 2.0, 3.0), (1, 4.0, 3.0)]), Tally.empty(4, 2)
    for merged in (some.merge(none), none.merge(some), none.merge(some).merge(none)):
        for a, b in zip(merged, some, strict=True):
            assert (a == b).all()
    assert none.merge(none).total == 0


def test_a_constant_far_from_zero_has_no_variance():
    tally = Tally.of(2, [0] * 9, [[0.1, 1e9 + 0.1]] * 9)
    tally = tally.merge(Tally.of(2, [0] * 5, [[0.1, 1e9 + 0.1]] * 5))
    assert (tally.m2 == 0).all()
    assert tally.means[0].tolist() == [0.1, 1e9 + 0.1]


def test_merging_leaves_both_parts_alone():
    a, b = of([(0, 1.0, 2.0)]), of([(0, 5.0, 2.0), (2, 1.0, 1.0)])
    before = [part.copy() for part in (*a, *b)]
    a.merge(b)
    assert all((x == y).all() for x, y in zip(before, (*a, *b), strict=True))


@pytest.mark.parametrize(
    ("arms", "values"),
    [([2], [[1.0]]), ([-1], [[1.0]]), ([0, 1], [[1.0]]), ([0], [[np.nan]])],
)
def test_measurements_of_nobody_are_refused(arms, values):
    with pytest.raises(UsageError):
        Tally.of(2, arms, values)


def test_a_delivery_is_checked_by_name():
    want = np.array([2, 0])
    check_delivery(want, Tally.of(2, [0, 0], [[1.0], [2.0]]))
    with pytest.raises(UsageError, match="candidate 1: 1 measurements told, 0 asked for"):
        check_delivery(want, Tally.of(2, [1], [[1.0]]))
    broken = Tally(np.array([1, 0]), np.array([[np.inf], [0.0]]), np.zeros((2, 1)))
    with pytest.raises(DataError, match="not finite"):
        check_delivery(want, broken)


def test_an_unmeasured_arm_may_hold_anything():
    check_delivery(
        np.array([1, 0]),
        Tally(np.array([1, 0]), np.array([[1.0], [np.nan]]), np.zeros((2, 1))),
    )


def test_a_batch_expands_to_one_decision_per_arm():
    batch = DecisionBatch(
        "rejected",
        3,
        np.array([4, 7]),
        np.array([0.5, 1.0]),
        np.array([0.25, 0.5]),
        np.array([1, 2]),
    )
    first, second = batch.expand()
    assert first == (4, "rejected", 3, 0.5, 0.25, 1)
    assert second.arm == 7
    assert second.by == 2
