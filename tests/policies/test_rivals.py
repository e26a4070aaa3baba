"""Race, EGE and Racing beside their slow twins, value by value, and the cases at the edges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from paretoscope.core.design import g_optimal
from paretoscope.errors import UsageError
from paretoscope.policies import (
    APE,
    EGESH,
    EGESR,
    GEGE,
    PAL,
    PSIPS,
    EpsilonPAL,
    Noise,
    PFIwR,
    Race,
    Racing,
    StopReason,
    Tally,
)
from paretoscope.policies.draws import build_draws
from paretoscope.policies.ellipsoid import read_anytime
from paretoscope.sim import Instance, simulate
from tests import rivals
from tests.policies.drive import answer, drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])
OPTIMAL = [True, True, True, False]


def values(seed, K, d, N, noise=1.0, spread=1.0):
    rng = np.random.default_rng(seed)
    mu = spread * rng.standard_normal((K, 1, d))
    own = noise * rng.uniform(0.3, 1.5, (K, 1, 1))
    return mu + own * rng.standard_normal((K, N, d))


def same(policy, setting, Y, expected):
    state = rivals.feed(policy, setting, Y)
    found, pulls = expected
    assert rivals.labels(policy.verdict(state)) == found
    assert state.told.tolist() == pulls.tolist()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["known", "pooled", "candidates"])
def test_race_is_its_twin(mode, seed):
    rng = np.random.default_rng([seed, 1])
    K, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    Y = values(seed, K, d, 6000, noise=rng.uniform(0.2, 1.0))
    epsilon = rng.uniform(0.2, 0.6, d) * (1.0 if seed % 3 else 0.0)
    sigma = np.full(d, 1.0)
    first, cap = int(rng.integers(3, 9)), 3000
    noise = Noise(sigma) if mode == "known" else Noise.unknown(d)
    setting = study(K=K, d=d, noise=noise, epsilon=epsilon)
    way = {} if mode == "known" else {"noise_from": mode}
    policy = Race(0.1, first=first, max_samples=cap, **way)
    state = rivals.feed(policy, setting, Y)
    found, pulls = rivals.race(Y, mode, 0.1, epsilon.tolist(), first, cap, sigma.tolist())
    assert state.told.tolist() == pulls.tolist()
    ours = rivals.labels(policy.verdict(state))
    if state.stop is StopReason.SAMPLES:  # those who stayed for the sake of others are told as well
        ours = [a if b else "" for a, b in zip(ours, found, strict=True)]
    assert ours == found


@pytest.mark.parametrize("seed", range(20))
def test_ege_is_its_twin(seed):
    rng = np.random.default_rng([seed, 2])
    K, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    T = int(rng.integers(4 * K, 30 * K))
    Y = values(seed, K, d, T)
    setting = study(K=K, d=d)
    same(EGESH(T), setting, Y, rivals.ege_sh(Y, T))
    same(EGESR(T), setting, Y, rivals.ege_sr(Y, T))
    same(EGESR(T, k=2), setting, Y, rivals.ege_sr(Y, T, 2))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bonus", ["auer", "union", "reference"])
def test_racing_is_its_twin(bonus, seed):
    rng = np.random.default_rng([seed, 3])
    K, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    sigma, epsilon = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d) * (seed % 2)
    Y = values(seed, K, d, 1500, spread=5.0)
    setting = study(K=K, d=d, noise=Noise(sigma), epsilon=epsilon)
    growth = 0.1 * (seed % 3)
    policy = Racing(0.1, bonus=bonus, growth=growth, max_samples=1500)
    expected = rivals.racing(Y, sigma, 0.1, epsilon.tolist(), bonus, growth, 1500)
    same(policy, setting, Y, expected)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("bonus", ["union", "reference"])
def test_ape_is_its_twin(bonus, seed):
    rng = np.random.default_rng([seed, 4])
    K, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    sigma, epsilon = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d) * (seed % 2)
    Y = values(seed, K, d, 600, spread=3.0)
    setting = study(K=K, d=d, noise=Noise(sigma), epsilon=epsilon)
    growth = 0.1 * (seed % 3)
    policy = APE(0.1, bonus=bonus, growth=growth, max_samples=600)
    expected = rivals.ape(Y, sigma, 0.1, epsilon.tolist(), bonus, growth, 600)
    same(policy, setting, Y, expected)


def linear_values(seed, K, h, d, N, spread=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((K, h))
    mu = spread * X @ rng.standard_normal((h, d))
    return X, mu[:, None, :] + rng.standard_normal((K, N, d))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bonus", ["theory", "reference"])
def test_pal_is_its_twin(bonus, seed):
    rng = np.random.default_rng([seed, 5])
    K, d = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    sigma, epsilon = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d) * (seed % 2)
    X, Y = linear_values(seed, K, 2, d, 400)
    growth = 0.1 * (seed % 3)
    policy = PAL(0.1, bonus=bonus, growth=growth, max_samples=400)
    expected = rivals.pal(Y, X, sigma, 0.1, epsilon.tolist(), bonus, growth, 400)
    same(policy, study(X, d=d, noise=Noise(sigma), epsilon=epsilon), Y, expected)
    free = study(K=K, d=d, noise=Noise(sigma), epsilon=epsilon)  # the identity as features
    same(policy, free, Y, rivals.pal(Y, np.eye(K), sigma, 0.1, epsilon, bonus, growth, 400))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bonus", ["theory", "reference"])
def test_epsilon_pal_is_its_twin(bonus, seed):
    rng = np.random.default_rng([seed, 6])
    K, d = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    sigma, epsilon = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d) * (seed % 2)
    X, Y = linear_values(seed, K, 2, d, 300)
    policy = EpsilonPAL(0.1, bonus=bonus, growth=0.2 * (seed % 3), max_samples=300)
    setting = study(X, d=d, noise=Noise(sigma), epsilon=epsilon)
    first, more = policy.allocate(policy.init(setting)), policy.growth
    assert first.sum() == 2
    expected = rivals.epsilon_pal(Y, X, first, sigma, 0.1, epsilon.tolist(), bonus, more, 300)
    same(policy, setting, Y, expected)


@pytest.mark.parametrize("seed", range(6))
def test_psips_is_its_twin(seed):
    rng = np.random.default_rng([seed, 7])
    K, d = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    sigma, A = rng.uniform(0.5, 1.5, d), rng.standard_normal((d, d + 1))
    R = np.corrcoef(A) if seed % 2 else np.eye(d)
    R = (R + R.T) / 2
    R[np.arange(d), np.arange(d)] = 1.0
    X, Y = linear_values(seed, K, 2, d, 300)
    setting = study(X, d=d, noise=Noise(sigma), seed=seed)
    policy = PSIPS(0.1, correlation=R.tolist() if seed % 2 else None, growth=0.1 * (seed % 3))
    policy = replace(policy, max_samples=300)
    first = policy.allocate(policy.init(setting))
    expected = rivals.psips(Y, X, sigma, R, 0.1, seed, first, policy.growth, 300)
    same(policy, setting, Y, expected)


@pytest.mark.parametrize("seed", range(6))
def test_pfiwr_is_its_twin(seed):
    rng = np.random.default_rng([seed, 8])
    K, d = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    sigma, epsilon = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d) * (seed % 2)
    X, Y = linear_values(seed, K, 2, d, 700)
    X = X if seed % 3 else np.column_stack([X, X.sum(axis=1)])  # three columns of rank two
    growth, cap = 0.1 * (seed % 4), 600 if seed % 4 else 150
    scale = float(rng.uniform(3e-6, 3e-5 if growth else 6e-6))
    policy = PFIwR(0.1, gamma_scale=scale, theta_max=2.0, growth=growth, max_samples=cap)
    setting = study(X, d=d, noise=Noise(sigma), epsilon=epsilon, seed=seed)
    args = (X, sigma, 0.1, epsilon.tolist(), scale, seed, 2.0, growth, cap)
    same(policy, setting, Y, rivals.pfiwr(Y, *args))


def test_the_ellipsoid_is_its_formula():
    X, Y = linear_values(3, 7, 3, 2, 300)
    policy = PSIPS(0.1, stop="certificate", max_samples=200)
    state = rivals.feed(policy, study(X, noise=Noise(np.array([0.5, 2.0]))), Y)
    seen = read_anytime(state, np.arange(7), np.array([0.5, 2.0]), 0.1)
    weights, counts = g_optimal(X).weights, state.got.counts
    for i, j in ((0, 1), (6, 2), (4, 5)):
        by_hand = rivals.ellipsoid_width(X, counts, weights, i, j, 2, 0.1)
        assert seen.widths.rows(np.array([i]))[0, j] == pytest.approx(by_hand, rel=1e-4)
    blind = policy.init(study(X))
    assert read_anytime(blind, np.arange(7), np.ones(2), 0.1) is None


def test_correlated_noise_moves_the_samples_not_the_certificate():
    rows, X = ((1.0, 0.9), (0.9, 1.0)), np.eye(3)
    policy = PSIPS(0.1, correlation=rows, growth=0.3, max_samples=200)
    setting = study(X, noise=Noise(np.array([1.0, 4.0])))
    state = rivals.feed(policy, setting, linear_values(0, 3, 3, 2, 300)[1])
    draws = build_draws(state, rows)
    shifts = draws._shifts(20_000, np.random.default_rng(0))[:, 0]
    assert np.corrcoef(shifts.T)[0, 1] == pytest.approx(0.9, abs=0.01)
    n = int(state.got.counts[0])
    assert shifts.var(axis=0) == pytest.approx([1 / n, 1 / n], rel=0.05)  # in units of sigma
    off = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    gains = draws.gains((draws.mu - off)[None])
    assert gains == pytest.approx([1 / 0.19, 0.2 / 0.19, 0.0])
    sure = replace(policy, stop="certificate")
    widths = [read_anytime(state, np.arange(3), np.ones(2), 0.1).accuracy for _ in (policy, sure)]
    assert widths[0] == widths[1]
    for wrong in (((1, 2), (2, 1)), ((1, 0), (0, 2)), ((1.0,),)):
        with pytest.raises(UsageError, match="correlation"):
            PSIPS(0.1, correlation=wrong).init(setting)


def test_posterior_samples_have_no_tolerance():
    with pytest.raises(UsageError, match="give PSIPS stop='certificate'"):
        PSIPS(0.1, 0.1).init(study(K=3))


def test_tables_that_are_kept_are_tables_built_afresh():
    """700 steps, bit for bit; another policy or another state finds nothing of them."""
    policy, setting = APE(0.1, growth=0.0), study(K=9, d=3, noise=Noise(np.array([0.5, 1.0, 2.0])))
    rng, state = np.random.default_rng(6), policy.init(setting)
    mu = rng.standard_normal((9, 3)) / 4
    for turn in range(700):
        counts = policy.allocate(state)
        noise = rng.standard_normal((9, 3)) * (counts > 0)[:, None]
        state = policy.observe(state, Tally(counts, mu + noise, np.zeros((9, 3))))
        if turn % 50 == 0:
            kept = policy._shelf(state).take(state.got.means, state.status)
            fresh = policy._tables(state)
            for name in ("low", "high", "h", "u", "n", "share"):
                assert (getattr(kept, name) == getattr(fresh, name)).all()
            assert policy._shelf(state).take(state.got.means, state.status) is None
    assert state.number > 700
    assert APE(0.2)._shelf(state) is not policy._shelf(state)


@pytest.mark.parametrize("K", [4, 8, 5])
def test_gege_on_the_canonical_basis_is_ege_sh(K):
    """The same means in every round: fresh and pooled estimates agree, and so do all decisions."""
    rng, R = np.random.default_rng(K), int(np.ceil(np.log2(K)))
    for _ in range(20):
        mu = rng.standard_normal((K, 2))
        T = 60 * K * R
        with_features = answer(GEGE(budget=T), study(np.eye(K)), mu, 1.0)
        without = answer(EGESH(T), study(K=K), mu, 1.0)
        assert (with_features.accepted == without.accepted).all()
        assert (with_features.rejected == without.rejected).all()
        told = [d for d in with_features.decisions if np.isfinite(d.gap)]
        gaps = {d.arm: d.gap for d in without.decisions}
        assert told
        assert all(d.gap == pytest.approx(gaps[d.arm]) for d in told)


def test_ege_spends_no_more_than_its_budget():
    for K, T in ((259, 2331), (259, 4000), (7, 40), (48, 999)):
        for policy in (EGESH(T), EGESR(T)):
            plan = policy.plan(study(K=K))
            state = drive(
                policy, study(K=K), np.random.default_rng(0).normal(size=(K, 2)), 1.0, 300
            )
            assert state[-1].spent == sum(step.high for step in plan)
            assert T - 2 * K < state[-1].spent <= T


def test_budgets_too_small_are_refused():
    with pytest.raises(UsageError, match="9 rounds of 259 candidates need 2331"):
        EGESH(2330).init(study(K=259))
    assert EGESH(2331).init(study(K=259)).want.sum() == 259
    with pytest.raises(UsageError, match="need more than 12"):
        EGESR(12).init(study(K=12))
    with pytest.raises(UsageError, match="k = 0"):
        EGESR(12, k=0)


def test_sr_k_stops_at_k():
    verdict = answer(EGESR(200, k=1), study(K=4), TRADE, 1.0)
    assert verdict.accepted.sum() == 1
    assert not (verdict.accepted & verdict.rejected).any()
    state = drive(EGESR(200, k=1), study(K=4), TRADE, 1.0)[-1]
    assert state.stop is StopReason.FOUND


def test_guesses_need_a_known_sigma():
    with pytest.raises(UsageError, match="APE needs a known sigma: Race does not"):
        APE(0.1, bonus="reference").init(study(K=3, noise=Noise.unknown(2)))
    with pytest.raises(UsageError, match="PSIPS needs a known sigma: GEGE does not"):
        PSIPS(0.1).init(study(K=3, noise=Noise.unknown(2)))


def test_only_the_published_bonus_of_the_experiments_certifies_nothing():
    assert Racing(0.1).guarantee.certified
    assert Racing(0.1, bonus="union").guarantee.certified
    verdict = answer(Racing(0.1, bonus="reference"), study(K=4, sigma=0.1), TRADE, 0.1)
    assert verdict.accepted.tolist() == OPTIMAL
    assert not verdict.certificate.certified
    assert "no union bound" in verdict.certificate.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Race(0.1, ratio=1.0),
        lambda: Race(0.1, first=0),
        lambda: Race(1.5),
        lambda: Race(0.1, noise_from="all"),
        lambda: Racing(0.1, growth=2.0),
        lambda: Racing(0.1, bonus="own"),
        lambda: Racing(0.0),
        lambda: APE(0.1, bonus="auer"),
        lambda: APE(0.1, growth=-0.1),
        lambda: PAL(0.1, bonus="auer"),
        lambda: PAL(0.1, growth=1.1),
        lambda: EpsilonPAL(2.0),
        lambda: PSIPS(0.1, stop="never"),
    ],
)
def test_arguments_that_make_no_sense(wrong):
    with pytest.raises(UsageError):
        wrong()


# ---------------------------------------------------------------- edges


CERTIFIED = {
    "race": Race(0.1, 0.05),
    "race pooled": Race(0.1, 0.05, noise_from="pooled"),
    "racing": Racing(0.1, 0.05, growth=0.1),
    "racing union": Racing(0.1, 0.05, bonus="union", growth=0.1),
    "ape": APE(0.1, 0.05, growth=0.3),
    "psips": PSIPS(0.1, 0.05, stop="certificate", growth=0.3),
}
KERNEL = {
    "pal": PAL(0.1, 0.05, growth=0.1),
    "epsilon-pal": EpsilonPAL(0.1, 0.05, growth=0.3),
    "pfiwr": PFIwR(0.1, 0.05, gamma_scale=1e-6, growth=0.3),
}
ALL = (CERTIFIED | KERNEL) | {
    "psips posterior": PSIPS(0.1, growth=0.3),
    "ege-sh": EGESH(400),
    "ege-sr": EGESR(400),
}


def noise_for(name, d=2):
    return Noise.unknown(d) if name.startswith("race") else Noise.known(0.1, d)


@pytest.mark.parametrize("name", ALL)
def test_one_candidate_one_metric_and_quiet_worlds(name):
    policy = ALL[name]
    alone = answer(policy, study(K=1), [[1.0, 1.0]])
    assert alone.accepted.all()
    assert alone.certificate.pulls == 0
    line = study(K=5, d=1, noise=noise_for(name, 1))
    best = answer(policy, line, [[0.0], [3.0], [1.0], [2.0], [-1.0]], 0.1)
    assert best.answer.tolist() == [False, True, False, False, False]
    clear = answer(policy, study(K=4, noise=noise_for(name)), TRADE, 0.1)
    assert clear.answer.tolist() == OPTIMAL


@pytest.mark.parametrize("name", ALL)
def test_exact_metrics_alone_and_beside_noisy_ones(name):
    policy = ALL[name]
    every = answer(policy, study(K=4, exact=np.array([True, True])), TRADE)
    assert every.answer.tolist() == OPTIMAL
    assert every.certificate.pulls == 4
    mu = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [-0.5, -0.5]])
    beside = study(K=4, noise=noise_for(name), exact=np.array([False, True]))
    assert answer(policy, beside, mu, [0.1, 0.0]).answer.tolist() == [True, False, True, False]


@pytest.mark.parametrize("name", [*CERTIFIED, "pal", "pfiwr"])
def test_ties_and_duplicates_are_near(name):
    mu = [[1, 1], [1, 1], [0, 0], [1, 1]]
    verdict = answer(ALL[name], study(K=4, noise=noise_for(name)), mu, 0.1, most=400)
    assert verdict.near.tolist() == [True, True, False, True]
    assert verdict.rejected.tolist() == [False, False, True, False]
    assert verdict.certificate.certified is (name in CERTIFIED)
    assert 0 < verdict.certificate.achieved_epsilon.max() <= 0.05


def test_epsilon_pal_keeps_a_cover():
    mu = [[1, 1], [1, 1], [0, 0], [1, 1]]
    verdict = answer(ALL["epsilon-pal"], study(K=4, sigma=0.1), mu, 0.1, most=400)
    assert verdict.near[[0, 1, 3]].any()
    assert verdict.rejected[2]
    assert "covers the front" in verdict.certificate.reason
    assert not verdict.certificate.certified


@pytest.mark.parametrize(
    "kind",
    [
        Race,
        Racing,
        APE,
        PAL,
        EpsilonPAL,
        partial(PSIPS, stop="certificate"),
        partial(PFIwR, gamma_scale=1e-6),
    ],
)
def test_ties_without_a_tolerance_end_at_the_cap(kind):
    policy = kind(0.1, max_samples=500)
    setting = study(K=3, sigma=0.1)
    state = drive(policy, setting, [[1, 1], [1, 1], [0, 0]], 0.1, most=400)[-1]
    verdict = policy.verdict(state)
    assert state.stop is StopReason.SAMPLES
    assert verdict.undecided.tolist() == [True, True, False]
    assert not verdict.certificate.certified
    capped = kind(0.1, max_rounds=2)
    assert drive(capped, setting, [[1, 1], [1, 1], [0, 0]], 0.1)[-1].stop is StopReason.ROUNDS


@pytest.mark.parametrize("name", CERTIFIED | KERNEL)
def test_an_epsilon_above_every_gap_keeps_all_and_stops_soon(name):
    policy = replace(ALL[name], epsilon=50.0)
    verdict = answer(policy, study(K=4, noise=noise_for(name)), TRADE, 0.1)
    assert verdict.answer.sum() + verdict.rejected.sum() == 4
    assert verdict.certificate.certified is (name in CERTIFIED)
    assert verdict.certificate.pulls <= 4 * 40


def test_copies_of_features_are_candidates_like_any():
    X = np.ones((4, 1))
    for policy in (Race(0.1, 0.05), EGESH(60), EGESR(60), Racing(0.1, 0.05), APE(0.1, 0.05)):
        verdict = answer(policy, study(X, sigma=0.01), TRADE, 0.01, most=400)
        assert verdict.answer.tolist() == OPTIMAL
        assert "linear" not in " ".join(verdict.certificate.assumptions)


@pytest.mark.parametrize("way", ["candidates", "pooled"])
def test_a_metric_that_repeats_itself_is_refused_unless_its_resolution_is_given(way):
    policy = Race(0.1, 0.05, noise_from=way)
    silent = answer(policy, study(K=4, noise=Noise.unknown(2)), TRADE)
    assert silent.undecided.all()
    assert "give its resolution" in silent.certificate.reason
    told = answer(policy, study(K=4, noise=Noise.unknown(2, 0.01)), TRADE)
    assert told.certificate.certified


def test_one_silent_candidate_is_no_certificate_either():
    sigma = np.array([[0.1, 0.1]] * 3 + [[0.0, 0.1]])
    verdict = answer(Race(0.1, 0.05), study(K=4, noise=Noise.unknown(2)), TRADE, sigma)
    assert verdict.undecided.all()


def test_a_certificate_says_whose_noise_was_estimated():
    setting = study(K=4, noise=Noise.unknown(2))
    own = answer(Race(0.1, 0.05), setting, TRADE, 0.1).certificate
    assert "one scale per candidate and metric" in " ".join(own.assumptions)
    assert "own variances" in own.bound
    pooled = answer(Race(0.1, 0.05, noise_from="pooled"), setting, TRADE, 0.1).certificate
    assert "one scale per metric" in " ".join(pooled.assumptions)
    assert pooled.bound == "Student t (40 degrees of freedom)"


def test_lost_pulls_are_asked_for_again_and_lost_candidates_leave():
    policy, setting = Race(0.1, 0.05, first=8), study(K=4, sigma=3.0)
    state = policy.init(setting)
    lost = np.array([3, 0, 0, 8])
    state = policy.forgo(policy.observe(state, quiet(TRADE, state.want - lost, 0.1)), lost)
    assert policy.verdict(state).infeasible.tolist() == [False, False, False, True]
    want = policy.allocate(state)
    assert want[0] == want[1] + 3
    assert want[3] == 0


def test_ape_goes_on_without_whoever_lost_its_only_pull():
    policy, setting = APE(0.1, growth=0.3), study(K=3, sigma=0.1)
    state = policy.forgo(policy.init(setting), np.array([0, 1, 1]))
    state = policy.observe(state, quiet(TRADE[:3], policy.allocate(state), 0.1))
    verdict = policy.verdict(state)
    assert verdict.infeasible.tolist() == [False, True, True]
    assert verdict.accepted.tolist() == [True, False, False]


def test_a_plan_bounds_what_a_race_can_cost():
    setting = study(K=6, sigma=0.5, epsilon=0.3)
    plan = Race(0.1).plan(setting)
    assert plan[-1].accuracy <= 0.3 / 0.5 * 1.0001  # in units of the noise
    run = simulate(Race(0.1), Instance(None, np.zeros((6, 2)), 0.5), 3, setting=setting)
    assert run.pulls <= sum(step.high for step in plan)
    assert run.certificate.certified
    blind = Race(0.1, 0.3).plan(study(K=6, noise=Noise.unknown(2)))
    assert [step.high for step in blind] == [36]
    assert np.isinf(blind[0].accuracy)
