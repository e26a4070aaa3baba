"""Bounds against their definitions, and against simulated errors: never exceeded, and not idle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paretoscope.core import confidence as c
from paretoscope.errors import UsageError
from tests import naive

TAILS = {
    "gaussian": (c.GAUSSIAN, lambda x: naive.upper(x, "gaussian")),
    "subgaussian": (c.SUBGAUSSIAN, lambda x: naive.upper(x, "subgaussian")),
    "student": (c.student(7), lambda x: naive.upper(x, "student", 7)),
}


@pytest.mark.parametrize("law", TAILS)
@pytest.mark.parametrize("x", [0.3, 1.0, 2.5, 4.0])
def test_tails_are_the_integrals_of_their_densities(law, x):
    tail, upper = TAILS[law]
    assert float(tail.upper(np.float64(x))) == pytest.approx(upper(x), rel=1e-8)
    assert tail.quantile(upper(x)) == pytest.approx(x, rel=1e-7)


@pytest.mark.parametrize("law", TAILS)
@pytest.mark.parametrize("rank", [1, 2, 5, 16])
@pytest.mark.parametrize("p", [0.2, 1e-3, 1e-9])
def test_the_ball_and_its_quantile_are_inverse(law, rank, p):
    tail = TAILS[law][0]
    assert tail.ball(tail.ball_quantile(p, rank), rank) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("law", ["gaussian", "student"])
def test_the_ball_of_one_dimension_is_both_sides_of_the_tail(law):
    tail, upper = TAILS[law]
    assert tail.ball(2.2, 1) == pytest.approx(2 * upper(2.2), rel=1e-8)


def test_the_subgaussian_ball_covers_the_gaussian_and_the_rademacher_one():
    # 40,000 draws; the bound p = 0.05 is loose, so a count above its mean + 4 sd would refute it
    rng = np.random.default_rng(3)
    for rank in (1, 3, 8):
        x = c.SUBGAUSSIAN.ball_quantile(0.05, rank)
        assert c.GAUSSIAN.ball(x, rank) < 0.05
        A = np.linalg.qr(rng.standard_normal((20, rank)))[0]
        signs = rng.choice([-1.0, 1.0], size=(40_000, 20))
        assert (np.linalg.norm(signs @ A, axis=1) >= x).mean() < 0.05


@given(
    st.integers(2, 6),
    st.integers(1, 6),
    st.floats(0.3, 6.0),
    st.integers(0, 10_000),
    st.sampled_from(sorted(TAILS)),
)
def test_pairs_failure_is_the_worst_choice_of_the_optimal_arms(n, d, eta, seed, law):
    tail, _ = TAILS[law]
    s = np.random.default_rng(seed).uniform(0.1, 2.0, (n, n))
    s = s + s.T
    want = naive.pairs_failure(s, eta, d, lambda x: float(tail.upper(np.float64(x))))
    assert c.pairs_failure(s, eta, d, tail) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 5), (5, 2), (5, 5), (40, 3)])
def test_equal_pairs_amount_to_the_event_count(n, d):
    Q = float(stats.norm.sf(2.0))
    s = np.ones((n, n))
    events = n * (n - 1) + (n - 1) * max(d - 2, 0)
    assert c.pairs_failure(s, 2.0, d) == pytest.approx(events * Q)
    assert c.event_count(n, d) == events
    assert c.pairs_width(0.1, n, d) == pytest.approx(stats.norm.isf(0.1 / events))


def test_blocks_of_the_pair_matrix_change_nothing(monkeypatch):
    s = np.random.default_rng(0).uniform(0.5, 2.0, (60, 60))
    whole = c.pairs_failure(s, 3.0, 3)
    monkeypatch.setattr(c, "_BLOCK", 180)
    assert c.pairs_failure(s, 3.0, 3) == pytest.approx(whole, rel=1e-12)


def test_equal_arms_and_single_arms_cannot_be_confused():
    s = np.array([[0.0, 0.0], [0.0, 0.0]])
    assert c.pairs_failure(s, 1.0, 3) == 0.0
    assert c.pairs_failure(np.zeros((1, 1)), 1.0, 3) == 0.0
    assert c.arms_failure(np.ones(1), 1.0, 3) == 0.0
    assert c.scheffe_failure(0.0, 1.0, 3, 2) == 0.0
    assert c.pairs_width(0.1, 1, 3) == 0.0
    assert c.scheffe_width(0.1, 3, 0) == 0.0


def _event_rate(W, mu, eta, runs, rng):
    """How often (a) or (b) happens: Gaussian errors W g, means mu, by the definition of the events."""
    n, d = mu.shape
    beats = [[(mu[j] >= mu[i]).all() and (mu[j] > mu[i]).any() for j in range(n)] for i in range(n)]
    optimal = [not any(row) for row in beats]
    g = rng.standard_normal((runs, W.shape[1], d))
    err = np.einsum("nh,rhd->rnd", W, g)
    bad = np.zeros(runs, dtype=bool)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            if not beats[i][j]:
                objective = int(np.argmin(mu[j] - mu[i]))
                bad |= err[:, j, objective] - err[:, i, objective] >= eta
        if not optimal[i]:
            best = max(
                (k for k in range(n) if optimal[k]), key=lambda k, i=i: (mu[k] - mu[i]).min()
            )
            bad |= (err[:, i] - err[:, best] >= eta).any(axis=1)
    return bad.mean()


@pytest.mark.parametrize("seed", range(6))
def test_no_bound_is_below_the_simulated_probability(seed):
    # 20,000 runs each; the simulated rate may exceed a valid bound p by 4 sqrt(p (1-p) / runs) only
    rng = np.random.default_rng(seed)
    n, h, d = [(2, 2, 2), (3, 2, 4), (6, 3, 2), (6, 6, 3), (10, 2, 2), (4, 3, 5)][seed]
    W = rng.standard_normal((n, h))
    mu = rng.standard_normal((n, d))
    s = np.linalg.norm(W[:, None] - W[None], axis=2)
    eta = c.pairs_width(0.15, n, d) * s.max()
    rate = _event_rate(W, mu, eta, 20_000, rng)
    slack = 4 * math.sqrt(0.15 / 20_000)
    centred = np.linalg.norm(W - W.mean(axis=0), axis=1)
    rank = min(h, n - 1)
    assert rate <= c.pairs_failure(s, eta, d) + slack
    assert rate <= c.arms_failure(centred, eta, d) + slack
    assert rate <= c.scheffe_failure(s.max(), eta, d, rank) + slack
    assert c.pairs_failure(s, eta, d) <= 0.15 + 1e-12


def test_the_pairs_bound_is_tight_for_two_optimal_arms():
    # both arms optimal, equal in the objective that decides: (a) twice, disjoint events, so 2 Q exactly
    rng = np.random.default_rng(1)
    W, mu, eta = np.eye(2), np.array([[0.0, 5.0], [1e-7, 0.0]]), 1.5
    s = np.linalg.norm(W[:, None] - W[None], axis=2)
    rate = _event_rate(W, mu, eta, 200_000, rng)
    bound = c.pairs_failure(s, eta, 2)
    assert rate == pytest.approx(bound, abs=4 * math.sqrt(bound / 200_000) + bound**2)


def test_arms_failure_has_two_sides_halved_errors_and_all_objectives():
    s = np.array([1.0, 2.0, 0.0])
    want = 2 * 3 * (stats.norm.sf(2.0) + stats.norm.sf(1.0))
    assert c.arms_failure(s, 4.0, 3) == pytest.approx(want, rel=1e-12)


def test_scheffe_counts_objectives_not_arms():
    want = 4 * stats.chi2.sf((3.0 / 0.8) ** 2, 5)
    assert c.scheffe_failure(0.8, 3.0, 4, 5) == pytest.approx(want, rel=1e-10)
    assert c.scheffe_width(0.05, 4, 5) == pytest.approx(math.sqrt(stats.chi2.isf(0.05 / 4, 5)))
    width = c.scheffe_width(0.05, 4, 5, c.student(12))
    assert width == pytest.approx(math.sqrt(5 * stats.f.isf(0.05 / 4, 5, 12)))
    widths = c.pairs_width(0.05, 30, 4), c.scheffe_width(0.05, 4, 5)
    assert c.simultaneous_width(0.05, 30, 4, 5) == min(widths)


def test_the_supremum_limit_covers_its_quantile_and_beats_the_union():
    # 60 limits at risk 0.2: each may be wrong with probability <= 0.02, so more than 6 wrong has p < 1e-3
    rng = np.random.default_rng(5)
    W = rng.standard_normal((40, 3))
    fresh = rng.standard_normal((400_000, 3)) @ W.T
    spread = np.sort(fresh.max(axis=1) - fresh.min(axis=1))
    wrong, widths = 0, []
    for seed in range(60):
        eta, share = c.supremum_width(W, 0.2, 2, 2_000, np.random.default_rng(seed))
        assert share == pytest.approx(0.02)
        wrong += (spread >= eta).mean() > (0.2 - share) / 2
        widths.append(eta)
    assert wrong <= 6
    s_max = np.linalg.norm(W[:, None] - W[None], axis=2).max()
    assert np.mean(widths) < c.pairs_width(0.2, 40, 2) * s_max


def test_the_smallest_of_several_simulated_limits_is_a_limit():
    # 200 times the smallest of 8 at risk 0.5: wrong with probability <= 0.05 (more than 21: p < 1e-3)
    W, rng = np.eye(2) / math.sqrt(2), np.random.default_rng(0)
    quantile = float(
        stats.norm.isf(0.45 / 2)
    )  # the range of two is |g|, at risk .9 x .5 in one metric
    draw = lambda limits: [  # noqa: E731
        min(c.supremum_width(W, 0.5, 1, 400, rng, limits)[0] for _ in range(8)) for _ in range(200)
    ]
    assert sum(eta < quantile for eta in draw(8)) <= 21
    assert (
        sum(eta < quantile for eta in draw(1)) > 40
    )  # what one limit is allowed, taken eight times


def test_too_few_draws_for_a_supremum_say_so():
    eta, _ = c.supremum_width(np.eye(3), 1e-3, 2, 50, np.random.default_rng(0))
    assert eta == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_misspecification_factor_is_the_response_to_every_misfit(seed):
    rng = np.random.default_rng(seed)
    n, h = 6, 3
    Z = rng.standard_normal((n, h))
    counts = rng.integers(1, 5, n)
    V = (Z * counts[:, None]).T @ Z
    beta = c.misspecification_factor(Z, V, counts)
    np.testing.assert_allclose(beta, naive.misspecification_factor(Z, counts), atol=1e-10)
    W = np.linalg.solve(np.linalg.cholesky(V), Z.T).T
    s = np.linalg.norm(W[:, None] - W[None], axis=2)
    assert (beta <= 2 + math.sqrt(counts.sum()) * s + 1e-9).all()


@pytest.mark.parametrize(("nu", "factor"), [(8, 2.85), (20, 1.77), (50, 1.40), (100, 1.25)])
def test_sigma_upper_has_its_published_factors(nu, factor):
    assert c.sigma_upper(np.ones(3), nu, 0.005)[0] == pytest.approx(factor, abs=0.01)


def test_sigma_upper_covers():
    # 20,000 runs at risk 0.1 over three objectives: the miss rate is below 0.1 + 4 sd
    rng = np.random.default_rng(0)
    sigma = np.array([1.0, 10.0, 0.1])
    estimates = sigma * np.sqrt(rng.chisquare(12, (20_000, 3)) / 12)
    limits = np.array([c.sigma_upper(row, 12, 0.1) for row in estimates[:4_000]])
    miss = (limits < sigma).any(axis=1).mean()
    assert 0.06 < miss < 0.1 + 4 * math.sqrt(0.09 / 4_000)


def test_student_refuses_no_degrees_of_freedom():
    with pytest.raises(UsageError, match="nu = 0"):
        c.student(0)


def test_the_resolution_is_a_floor():
    floored = c.resolution_floor(np.array([0.0, 2.0]), np.array([1.2, 1.2]))
    np.testing.assert_allclose(floored, [1.2 / math.sqrt(12), 2.0])


def test_lack_of_fit_has_its_level_and_its_power():
    # 4,000 runs: level .05 over two objectives (binomial 99.9 % limit), power .8 at the detectable misfit
    rng = np.random.default_rng(7)
    n, reps, runs, sigma = 8, 4, 4_000, 0.7
    x = np.linspace(-1, 1, n)
    Z = np.stack([np.ones(n), x], axis=1)
    misfit = x**2 - Z @ np.linalg.lstsq(Z, x**2, rcond=None)[0]
    H = np.eye(n) - Z @ np.linalg.pinv(Z)

    def one(scale):
        Y = scale * misfit[:, None, None] + sigma * rng.standard_normal((n, reps, 2))
        mean = Y.mean(axis=1)
        ss_pure = ((Y - mean[:, None]) ** 2).sum(axis=(0, 1))
        ss_lack = reps * ((H @ mean) ** 2).sum(axis=0)
        return c.lack_of_fit(ss_lack, ss_pure, n - 2, n * (reps - 1), n * reps, level=0.05)

    null = np.mean([one(0.0).rejected.any() for _ in range(runs)])
    assert null < 0.05 + 3.1 * math.sqrt(0.05 / runs)
    assert null > 0.03
    critical = stats.f.isf(0.025, n - 2, n * (reps - 1))
    amplitude = math.sqrt(_noncentrality(n, reps, critical) * sigma**2 / (reps * (misfit**2).sum()))
    power = np.mean([one(amplitude).rejected[0] for _ in range(1_000)])
    assert abs(power - 0.8) < 4 * math.sqrt(0.16 / 1_000)


def _noncentrality(n, reps, critical):
    """The noncentrality with power .8, by bisection on scipy's distribution."""
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = 0.5 * (low + high)
        if stats.ncf.sf(critical, n - 2, n * (reps - 1), middle) < 0.8:
            low = middle
        else:
            high = middle
    return high


def test_detectable_is_exact_for_known_pure_error():
    fit = c.lack_of_fit(np.array([1.0]), np.array([24.0]), 6, 24, 32, level=0.05)
    nc = _noncentrality(8, 4, stats.f.isf(0.05, 6, 24))
    assert fit.detectable[0] == pytest.approx(math.sqrt(nc / 32), rel=1e-4)
    assert fit.F[0] == pytest.approx((1 / 6) / 1.0)


@pytest.mark.parametrize(("df_lack", "df_pure"), [(0, 5), (3, 0)])
def test_lack_of_fit_needs_spare_arms_and_replicates(df_lack, df_pure):
    with pytest.raises(UsageError, match="replicates"):
        c.lack_of_fit(np.ones(1), np.ones(1), df_lack, df_pure, 10)
