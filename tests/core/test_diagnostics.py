from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretoscope.core import diagnostics
from paretoscope.core.diagnostics import Replicates
from tests.statistics import above, at_least, at_most

LEVEL = 0.05  # high, so that a few hundred runs see a test that rejects too often


def world(rng, m=8, n=25, d=1, ratio=1.0, drift=0.0, warm=0.0):
    """n blocks of every arm in random order; half the arms may have more variance."""
    arms = np.concatenate([rng.permutation(m) for _ in range(n)])
    Y = rng.standard_normal((m * n, d)) * np.where(arms < m // 2, np.sqrt(ratio), 1.0)[:, None]
    Y += drift * np.linspace(0.0, 1.0, m * n)[:, None]
    Y[: m * n // 10] += warm
    return Replicates(arms, Y + 100.0 * rng.standard_normal((m, d))[arms])


TESTS = {
    "trend": diagnostics.trend,
    "start": diagnostics.start,
    "excess": lambda rep: diagnostics.excess(rep, np.ones(rep.Y.shape[1])),
    "unequal": lambda rep: diagnostics.unequal(rep, LEVEL),
    "tails": lambda rep: diagnostics.tails(rep, LEVEL),
}


def rejected(name, runs, **how):
    rng = np.random.default_rng(5)
    return sum(bool(TESTS[name](world(rng, **how)).p[0] <= LEVEL) for _ in range(runs))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("shape", [(8, 25), (40, 3)])
def test_healthy_rounds_are_rejected_within_the_level(name, shape):
    runs = 400
    m, n = shape
    at_most(rejected(name, runs, m=m, n=n), runs, LEVEL)


@pytest.mark.long
@pytest.mark.parametrize("name", TESTS)
def test_levels_over_two_thousand_healthy_rounds(name):
    at_most(rejected(name, 2000), 2000, LEVEL)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("trend", {"drift": 1.0}),
        ("start", {"warm": 1.0}),
        ("excess", {"ratio": 4.0}),
        ("unequal", {"ratio": 4.0}),
    ],
)
def test_what_each_test_is_for_is_found(name, how):
    """At .05 and 400 measurements, in nine rounds of ten."""
    at_least(rejected(name, 60, m=10, n=40, **how), 60, 0.9)


def test_heavy_tails_are_found():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(40):
        arms = np.repeat(np.arange(10), 40)
        rep = Replicates(arms, stats.t(3).rvs((400, 1), random_state=rng))
        found += bool(diagnostics.tails(rep, LEVEL).p[0] <= LEVEL)
    at_least(found, 40, 0.9)


def test_the_f_approximation_would_reject_too_often_where_arms_are_small():
    """Negative control: why the law of the statistic is drawn."""
    rng, wrong, runs = np.random.default_rng(3), 0, 300
    for _ in range(runs):
        y = rng.standard_normal((60, 2))
        z = np.abs(y - np.median(y, axis=1, keepdims=True))
        z += 1e-9 * rng.standard_normal(z.shape)  # both distances are equal: no spread within
        F = 2 * z.mean(axis=1).var(ddof=1) / z.var(axis=1, ddof=1).mean()
        wrong += bool(stats.f.sf(F, 59, 60) <= LEVEL)
    above(wrong, runs, LEVEL)


def test_an_order_that_follows_the_arms_cannot_show_a_drift():
    arms = np.repeat(np.arange(20), 10)
    rep = Replicates(arms, np.linspace(0.0, 3.0, 200)[:, None])
    assert diagnostics.confounding(rep) < diagnostics.CONFOUNDED
    assert np.isnan(diagnostics.trend(rep).p).all()
    mixed = world(np.random.default_rng(0))
    assert diagnostics.confounding(mixed) > 0.9


def test_excess_is_the_chi_square_law():
    arms = np.repeat([0, 1], 6)
    y = np.random.default_rng(2).standard_normal((12, 1))
    rep = Replicates(arms, y)
    each = [stats.chi2.sf(5 * y[arms == a].var(ddof=1) / 0.25, 5) for a in (0, 1)]
    pooled = stats.chi2.sf(5 * sum(y[arms == a].var(ddof=1) for a in (0, 1)) / 0.25, 10)
    found = diagnostics.excess(rep, np.array([0.5]))
    assert found.p[0] == pytest.approx(min(1.0, 2 * min(pooled, 2 * min(each))))


def test_brown_forsythe_and_kurtosis_as_they_are_defined():
    sizes = np.array([3, 4, 3])
    blocks = diagnostics._Blocks(sizes)
    y = np.random.default_rng(4).standard_normal(10)
    groups = np.split(y, [3, 7])
    W, _ = stats.levene(*groups, center="median")
    assert blocks.brown_forsythe(y[None])[0] * 7 / 2 == pytest.approx(W)
    r = np.concatenate([(g - g.mean()) / np.sqrt(1 - 1 / len(g)) for g in groups])
    assert blocks.kurtosis(y[None])[0] == pytest.approx((r**4).mean() / (r**2).mean() ** 2)


def test_trend_is_the_regression_with_a_mean_for_each_arm():
    rng = np.random.default_rng(6)
    rep = world(rng, m=3, n=7, drift=0.5)
    n = len(rep.arms)
    Z = np.column_stack([np.eye(3)[rep.arms], np.arange(n) / (n - 1)])
    beta, ss, *_ = np.linalg.lstsq(Z, rep.Y[:, 0], rcond=None)
    cov = np.linalg.inv(Z.T @ Z)[-1, -1] * ss[0] / (n - 4)
    found = diagnostics.trend(rep)
    assert found.size[0] == pytest.approx(beta[-1])
    assert found.p[0] == pytest.approx(
        2 * stats.t.sf(abs(beta[-1]) / np.sqrt(cov), n - 4), rel=1e-6
    )


def test_equal_rows_are_named_and_their_share_is_told():
    Y = np.random.default_rng(7).standard_normal((20, 2))
    Y[13] = Y[4]
    assert [rows.tolist() for rows in diagnostics.equal_rows(Y)] == [[4, 13]]
    assert diagnostics.repeats(Y) == 0.1
    assert diagnostics.repeats(np.round(Y)) > diagnostics.STEPS
    assert diagnostics.equal_rows(np.empty((0, 2))) == []


def test_an_instrument_that_hangs_is_found_and_values_in_steps_are_not():
    """Rounded noise: steps of a fiftieth to twice its scale, 500 rounds of each, level .05."""
    rng = np.random.default_rng(9)
    arms = np.concatenate([rng.permutation(8) for _ in range(25)])
    for step in (0.02, 0.2, 1.0, 2.0):
        Y = step * np.round(rng.standard_normal((500, 200)) / step)
        at_most(sum(diagnostics.longest_run(arms, y).p <= LEVEL for y in Y), 500, LEVEL)
    y = rng.standard_normal(200)
    y[90:94] = y[90]
    assert diagnostics.longest_run(arms, y)[:2] == (90, 4)
    assert diagnostics.longest_run(arms, y).p == pytest.approx(200 * (2 / 198) ** 3)
    assert diagnostics.longest_run(np.repeat(np.arange(8), 25), y)[:2] == (0, 1)  # one arm
    assert diagnostics.longest_run(arms, np.ones(200)).p == 1.0


def test_an_exchange_is_found_and_healthy_rounds_show_none():
    rng = np.random.default_rng(8)
    arms = np.concatenate([rng.permutation(6) for _ in range(10)])
    for _ in range(50):
        Y = rng.standard_normal((60, 2)) + 12.0 * np.arange(6)[arms][:, None]
        assert diagnostics.swaps(Replicates(arms, Y), 0.005) == []
    a, b = np.flatnonzero(arms == 1)[3], np.flatnonzero(arms == 4)[5]
    Y[[a, b]] = Y[[b, a]]
    first = diagnostics.swaps(Replicates(arms, Y), 0.005)[0]
    assert {first.first, first.second} == {int(a), int(b)}


def test_a_metric_that_never_varies():
    rep = Replicates(
        np.array([0, 0, 1, 1]), np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 1.0], [2.0, 1.5]])
    )
    assert diagnostics.constant(rep).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", TESTS)
def test_too_little_to_tell(name):
    rep = Replicates(np.arange(5), np.arange(5.0)[:, None])
    assert np.isnan(TESTS[name](rep).p).all()
