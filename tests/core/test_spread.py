"""Spreads against loops, and widths that are certified, smallest, and safe for very many arms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.core import confidence
from paretoscope.core import spread as sp
from paretoscope.core.confidence import GAUSSIAN, SUBGAUSSIAN
from paretoscope.core.spread import Spread
from paretoscope.errors import UsageError

TAILS = {"gaussian": GAUSSIAN, "subgaussian": SUBGAUSSIAN, "student": confidence.student(9)}
CHOICES = [("pairs",), ("arms",), ("scheffe",), ("pairs", "scheffe"), sp.BOUNDS]


def linear(n, h, seed=0):
    W = np.random.default_rng([n, h, seed]).standard_normal((n, h))
    return Spread(min(h, n - 1), W=W)


def independent(n, seed=0):
    return Spread(n - 1, v=np.random.default_rng([n, seed]).uniform(0.1, 3.0, n))


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 1_000))
def test_pairs_radii_and_the_widest_are_their_definitions(n, h, seed):
    a, b = linear(n, h, seed), independent(n, seed)
    for i in range(n):
        for j in range(n):
            assert a.matrix[i, j] == pytest.approx(math.dist(a.W[i], a.W[j]), rel=1e-14)
            want = 0.0 if i == j else math.sqrt(b.v[i] + b.v[j])
            assert b.matrix[i, j] == pytest.approx(want, rel=1e-14)
    centre = a.W.mean(axis=0)
    np.testing.assert_allclose(a.radii, [math.dist(w, centre) for w in a.W], rtol=1e-12)
    np.testing.assert_allclose(b.radii, [math.sqrt(v) for v in b.v], rtol=1e-14)
    rows = np.random.default_rng(seed).permutation(n)[: 1 + n // 2]
    for spread in (a, b):
        assert spread.n == n
        np.testing.assert_array_equal(spread.pair(rows), spread.matrix[rows])
        assert spread.widest >= spread.matrix.max()
        assert spread.widest == pytest.approx(spread.matrix.max(), rel=1e-11)


def test_close_pairs_far_from_the_origin_keep_their_digits():
    W = 1e8 + np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(Spread(2, W=W).matrix[1], [1.0, 0.0, 2.0])


def by_hand(spread, eta, d, tail, name):
    """One bound, straight from `confidence`."""
    ways = {
        "pairs": lambda: confidence.pairs_failure(spread.matrix, eta, d, tail),
        "arms": lambda: confidence.arms_failure(spread.radii, eta, d, tail),
        "scheffe": lambda: confidence.scheffe_failure(
            spread.matrix.max(), eta, d, spread.rank, tail
        ),
    }
    return ways[name]()


@pytest.mark.parametrize("bounds", CHOICES)
@pytest.mark.parametrize("law", TAILS)
@pytest.mark.parametrize("make", [lambda: linear(7, 3), lambda: independent(5)])
def test_failure_is_the_smallest_of_the_chosen_bounds(make, law, bounds):
    spread, tail = make(), TAILS[law]
    for eta in (0.5, 3.0, 9.0):
        each = {name: by_hand(spread, eta, 3, tail, name) for name in bounds}
        got = spread.failure(eta, 3, tail, bounds)
        assert got == pytest.approx(min(each.values()), rel=1e-9)
        assert each[spread.best_bound(eta, 3, tail, bounds)] == pytest.approx(got, rel=1e-9)


@pytest.mark.parametrize("bounds", CHOICES)
@pytest.mark.parametrize("law", TAILS)
@settings(max_examples=60)
@given(
    n=st.integers(2, 14),
    h=st.integers(0, 4),
    d=st.integers(1, 5),
    risk=st.sampled_from([0.4, 0.05, 1e-4, 1e-9]),
    unit=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_the_certain_width_is_the_smallest_certified(bounds, law, n, h, d, risk, unit):
    spread = linear(n, h) if h else independent(n)
    spread = Spread(
        spread.rank,
        None if spread.W is None else unit * spread.W,
        None if spread.v is None else unit**2 * spread.v,
    )
    tail = TAILS[law]
    eta, name = spread.certain_width(risk, d, tail, bounds)
    assert spread.failure(eta, d, tail, bounds) <= risk
    assert spread.failure(eta * (1 - 1e-5), d, tail, bounds) > risk
    assert by_hand(spread, eta, d, tail, name) <= risk * (1 + 1e-9)
    # less risk, more metrics: wider; one more bound to choose from: not wider
    assert spread.certain_width(risk / 2, d, tail, bounds).eta > eta
    assert spread.certain_width(risk, d + 1, tail, bounds).eta >= eta * (1 - 2e-6)
    assert spread.certain_width(risk, d, tail, sp.BOUNDS).eta <= eta * (1 + 2e-6)


def test_two_arms_by_hand():
    # pairs: both arms optimal, 2 Q(eta / sqrt 5) = 0.1
    spread = Spread(1, v=np.array([1.0, 4.0]))
    want = math.sqrt(5) * GAUSSIAN.quantile(0.05)
    assert spread.certain_width(0.1, 2, GAUSSIAN, ("pairs",)).eta == pytest.approx(want, rel=2e-6)


@pytest.mark.parametrize(
    "spread", [linear(1, 3), independent(1), Spread(0, W=np.full((4, 3), 0.1))]
)
def test_one_arm_or_equal_arms_are_known_without_error(spread):
    assert spread.widest == 0.0
    assert spread.certain_width(0.1, 3, GAUSSIAN, sp.BOUNDS) == (0.0, "one arm")
    assert spread.failure(1.0, 3, GAUSSIAN, ("pairs", "scheffe")) == 0.0


def test_some_equal_arms_cost_nothing_among_themselves():
    W = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    Q = float(GAUSSIAN.upper(np.array([2.0]))[0])
    assert Spread(1, W=W).failure(2.0, 1, GAUSSIAN, ("pairs",)) == pytest.approx(4 * Q)


def test_the_supremum_is_offered_where_it_holds_and_refused_elsewhere():
    spread = linear(30, 2)
    closed = spread.certain_width(0.1, 2, GAUSSIAN, sp.BOUNDS)
    sup = spread.certain_width(0.1, 2, GAUSSIAN, (*sp.BOUNDS, "sup"), seed=(1,))
    assert sup.bound == "sup"
    assert 0.7 * closed.eta < sup.eta < closed.eta
    assert sup == spread.certain_width(0.1, 2, GAUSSIAN, ("sup",), seed=(1,))
    assert sup != spread.certain_width(0.1, 2, GAUSSIAN, ("sup",), seed=(2,))
    assert sup.eta < spread.certain_width(0.1, 2, GAUSSIAN, ("sup",), seed=(1,), limits=3).eta
    both = ("pairs", "sup")
    assert spread.certain_width(0.1, 2, SUBGAUSSIAN, both).bound == "pairs"
    assert independent(9).certain_width(0.1, 2, GAUSSIAN, both).bound == "pairs"
    # too few draws for so small a risk: the closed bounds answer
    assert spread.certain_width(1e-9, 2, GAUSSIAN, both).bound == "pairs"
    for other, tail in ((spread, SUBGAUSSIAN), (independent(9), GAUSSIAN)):
        with pytest.raises(UsageError, match="supremum"):
            other.certain_width(0.1, 2, tail, ("sup",))


@pytest.mark.parametrize("name", ["PAIRS_EXACT", "DIAMETER_EXACT"])
@pytest.mark.parametrize("make", [lambda: linear(20, 3), lambda: independent(20)])
def test_the_ways_for_very_many_arms_are_bounds_of_the_exact_ones(monkeypatch, make, name):
    exact = make()
    known = exact.widest, [exact.failure(eta, 3, GAUSSIAN, ("pairs",)) for eta in (2.0, 6.0)]
    monkeypatch.setattr(sp, name, 5)
    many = make()
    assert known[0] <= many.widest <= 2 * known[0]
    for eta, p in zip((2.0, 6.0), known[1], strict=True):
        q = many.failure(eta, 3, GAUSSIAN, ("pairs",))
        if name == "PAIRS_EXACT":
            Q = float(GAUSSIAN.upper(np.array([eta / many.widest]))[0])
            assert p < q == pytest.approx((19 * 20 + 19) * Q)  # d = 3
        else:
            assert p == q
    if name == "DIAMETER_EXACT" and many.W is not None:
        assert many.widest == pytest.approx(2 * many.radii.max())
    width = many.certain_width(0.1, 3, GAUSSIAN, sp.BOUNDS).eta
    assert width >= exact.certain_width(0.1, 3, GAUSSIAN, sp.BOUNDS).eta * (1 - 2e-6)


def test_very_many_equal_arms_are_certain(monkeypatch):
    monkeypatch.setattr(sp, "PAIRS_EXACT", 2)
    assert Spread(0, W=np.ones((4, 2))).failure(1.0, 2, GAUSSIAN, ("pairs",)) == 0.0
