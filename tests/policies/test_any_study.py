"""Random studies with random losses: whatever happens, a policy keeps its word and ends.

150 studies over all that a setting can say (features of any rank with copies and zeros, exact metrics
known or not, noise known or not, tolerances, misfits), with pulls lost and candidates gone at random.
"""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import (
    APE,
    EGESH,
    EGESR,
    GEGE,
    PAL,
    PSIPS,
    EpsilonPAL,
    FixedDesign,
    Noise,
    OneShot,
    PFIwR,
    Race,
    Racing,
    Setting,
    Tracking,
    Uniform,
)
from paretoscope.sim.noise import Gaussian
from paretoscope.testing import check_partition
from tests import naive
from tests.policies.drive import answer, drive, quiet, study
from tests.statistics import at_most

CAP = 20_000
MOST = 80


def means_of(rng, K, d, exact):
    """Features of small integers, or none, and the means; exact metrics take few values."""
    p = int(rng.integers(1, 5))
    X = rng.integers(-1, 2, (K, p)).astype(float)
    X[0, 0] = 1.0
    X = None if rng.random() < 0.4 else X
    mu = rng.standard_normal((K, d)) if X is None else X @ rng.standard_normal((p, d))
    mu[:, exact] = rng.integers(0, 3, (K, int(exact.sum())))
    return X, mu


def any_study(rng):
    K, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    exact = rng.random(d) < 0.3
    X, mu = means_of(rng, K, d, exact)
    kind = "subgaussian" if rng.random() < 0.3 else "gaussian"
    noise = Noise.unknown(d) if rng.random() < 0.3 else Noise.known(rng.uniform(0.1, 1, d), d, kind)
    known = np.where(rng.random((K, d)) < 0.8, mu, np.nan) if rng.random() < 0.4 else None
    epsilon = rng.uniform(0, 0.5, d) * (rng.random(d) < 0.7) if rng.random() < 0.4 else None
    zeta = rng.uniform(0, 0.05, d) if X is not None and rng.random() < 0.2 else None
    more = {"known": known, "epsilon": epsilon, "zeta": zeta}
    return Setting(K=K, d=d, noise=noise, X=X, exact=exact, **more), mu


def policies_for(setting):
    some = [
        GEGE(0.1, max_samples=CAP),
        GEGE(0.1, max_samples=CAP, designs=("g",), scale_from="replicates"),
        GEGE(budget=80),
        Tracking(budget=60),
        OneShot(60),
        Uniform(30),
        FixedDesign(delta=0.1, budget=60),
        FixedDesign(delta=0.1, budget=60, looks=4, scale_from="replicates"),
        Race(0.1, max_samples=CAP),
        Race(0.1, max_samples=CAP, noise_from="pooled"),
        EGESH(60),
        EGESR(60),
    ]
    some.append(Racing(0.1, max_samples=CAP, growth=0.3))
    if setting.zeta is None:
        some.append(Tracking(0.1, max_samples=CAP, batch=0.5))
    some.append(APE(0.1, max_samples=CAP, growth=1.0, max_rounds=50))
    some.append(PSIPS(0.1, stop="certificate", max_samples=CAP, growth=0.5))
    if not setting.noise.unknowns.any():
        if setting.zeta is None:
            some.append(PFIwR(0.1, gamma_scale=1e-7, max_samples=CAP, growth=0.7))
        some.append(PAL(0.1, max_samples=CAP, growth=0.3))
        some.append(EpsilonPAL(0.1, max_samples=CAP, growth=1.0, max_rounds=20))
    if not setting.noise.unknowns.any() and setting.zeta is None:
        some += [GEGE(0.1, max_samples=CAP, schedule=name) for name in ("corrected", "authors")]
    if not setting.exact.any() and setting.zeta is None:
        some.append(GEGE(0.1, max_samples=CAP, rule="paper"))
    return some


def lose(rng, want):
    """Pulls that never come, and the candidates that are gone for good (or nobody says so)."""
    lost = np.where(rng.random(len(want)) < 0.15, want if rng.random() < 0.5 else want // 2, 0)
    gone = (rng.random(len(want)) < 0.3) & (lost > 0) & (lost == want)
    return lost, gone if rng.random() < 0.5 else np.zeros(len(want), dtype=bool)


def one_turn(rng, policy, state, mu, sigma):
    """Tell what came and give up the rest, in either order."""
    want = policy.allocate(state)
    lost, gone = lose(rng, want)
    luck = rng.standard_normal(mu.shape) / np.sqrt(np.maximum(want - lost, 1))[:, None]
    tally = quiet(mu + sigma * luck, want - lost, sigma)
    if rng.random() < 0.5:
        state = policy.forgo(state, lost, gone)
        return (policy.observe(state, tally) if tally.total else state), gone
    state = policy.observe(state, tally) if tally.total else state
    return policy.forgo(state, lost, gone), gone


def live_through(rng, policy, setting, mu):
    sigma = np.where(setting.exact, 0.0, 0.3)
    state, gone = policy.init(setting), np.zeros(setting.K, dtype=bool)
    for _ in range(MOST):
        if policy.stopped(state) is not None:
            break
        want = policy.allocate(state)
        assert want.any()
        assert not want[gone].any()
        state, new = one_turn(rng, policy, state, mu, sigma)
        gone |= new
    return state


@pytest.mark.parametrize("block", range(5))
def test_whatever_is_lost_a_policy_ends_within_its_means(block):
    for seed in range(30 * block, 30 * (block + 1)):
        rng = np.random.default_rng(seed)
        setting, mu = any_study(rng)
        for policy in policies_for(setting):
            state = live_through(rng, policy, setting, mu)
            verdict = policy.verdict(state)
            check_partition(verdict, setting.K)
            assert policy.stopped(state) is not None
            assert not np.isnan(verdict.certificate.achieved_epsilon).any()
            cap = getattr(policy, "budget", CAP)
            assert verdict.certificate.pulls <= cap


def wrong(verdict, setting, mu):
    """Whether a label is wrong: among those that ran for acceptances, among all for rejections."""
    ran = np.flatnonzero(~verdict.infeasible)
    best = np.zeros(len(mu), dtype=bool)
    if len(ran):
        best[ran] = naive.non_dominated(mu[ran])
    epsilon = verdict.certificate.epsilon[setting.noisy]
    far = [
        ((mu[ran] - mu[k])[:, setting.noisy] > epsilon).all(axis=1)
        & ((mu[ran] - mu[k])[:, setting.exact] >= 0).all(axis=1)
        for k in np.flatnonzero(verdict.near)
    ]
    labels = verdict.accepted & ~best | verdict.rejected & np.array(naive.non_dominated(mu))
    return bool(labels.any() or np.any(far))


def honest_run(rng, policy, setting, mu):
    """A run whose noise is what the setting says."""
    known = np.where(setting.noise.unknowns, 0.3, setting.noise.sigma)
    world, state = Gaussian(np.where(setting.exact, 0.0, known)), policy.init(setting)
    while policy.stopped(state) is None:
        state = policy.observe(state, world.draw(mu, policy.allocate(state), rng))
    return policy.verdict(state)


@pytest.mark.parametrize(
    "policy", [GEGE(0.1, max_samples=CAP), FixedDesign(delta=0.1, budget=60)], ids=["gege", "fixed"]
)
def test_labels_are_right_in_any_study(policy):
    """200 studies at delta = 0.1, one run each."""
    errors = 0
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        setting, mu = any_study(rng)
        errors += wrong(honest_run(rng, policy, setting, mu), setting, mu)
    at_most(errors, 200, 0.1)


def test_what_is_left_alone_may_still_be_dominated_by_what_was_accepted():
    mu = np.array([[1.0, 1.0], [0.0, 0.99]])
    policy = FixedDesign(delta=0.1, budget=60)
    verdict = answer(policy, study(K=2, sigma=0.1), mu, 0.1)
    assert verdict.accepted.tolist() == [True, False]
    assert verdict.undecided.tolist() == [False, True]
    assert (verdict.certificate.achieved_epsilon > 0).all()
    assert answer(GEGE(0.1, max_rounds=3), study(K=2, sigma=0.1), mu, 0.1).undecided.all()


def test_many_rounds_lost_leave_risk_for_another():
    mu = np.array([[0.0, 0.0], [0.05, -0.05], [-0.05, 0.05]])
    policy = GEGE(0.1, epsilon=0.3)
    state = policy.init(study(np.eye(3)))
    for _ in range(25):
        want = policy.allocate(state)
        state = policy.forgo(state, np.where(np.arange(3) == 2, want, want - 1))
        state = policy.observe(state, quiet(mu, policy.allocate(state), 1.0))
    assert policy.stopped(state) is None
    assert sum(record.risk for record in state.history) + state.risk <= 0.1
    while policy.stopped(state) is None:
        state = policy.observe(state, quiet(mu, policy.allocate(state), 1.0))
    assert policy.verdict(state).near.all()


def test_a_plan_does_not_look_ahead_for_ever():
    assert len(GEGE(0.1, max_rounds=60).plan(study(K=3))) <= 10
    assert len(GEGE(0.1, max_rounds=3).plan(study(K=3))) == 3


@pytest.mark.parametrize("more", [{}, {"epsilon": 0.01}, {"schedule": "corrected"}])
@pytest.mark.parametrize("noise", [Noise.known(1.0, 2), Noise.unknown(2)], ids=["known", "unknown"])
def test_the_risks_of_all_rounds_add_up_to_no_more_than_delta(more, noise):
    policy = GEGE(0.1, max_samples=10**7, max_rounds=30, **more)
    setting = study(K=3, noise=noise)
    if "schedule" in more and noise.unknowns.any():
        with pytest.raises(UsageError, match="needs a known sigma"):
            policy.init(setting)
        return
    state = policy.init(setting)
    lost = policy.allocate(state) - 1  # a round that was nearly lost is paid for too
    state = policy.forgo(state, lost)
    spent, mu = [], np.zeros((3, 2))
    while policy.stopped(state) is None:
        spent.append(state.risk)
        state = policy.observe(state, quiet(mu, policy.allocate(state), 1.0))
    assert len(spent) >= 4
    assert sum(spent) <= 0.1
    assert spent == [record.risk for record in state.history]


@pytest.mark.parametrize("policy", [GEGE(0.1), FixedDesign(delta=0.1, budget=60)])
def test_when_the_last_ones_are_gone_the_others_keep_their_verdicts(policy):
    mu = np.array([[9.0, 0.0], [0.0, 9.0], [0.0, 8.999]])
    state = policy.init(study(K=3, sigma=0.1))
    while policy.stopped(state) is None:
        want = policy.allocate(state)
        settled = policy.verdict(state).accepted.any()
        gone = (np.arange(3) > 0) & settled
        state = policy.forgo(state, np.where(gone, want, 0), gone)
        if policy.stopped(state) is None:
            state = policy.observe(state, quiet(mu, np.where(gone, 0, want), 0.1))
    verdict = policy.verdict(state)
    assert verdict.accepted.tolist() == [True, False, False]
    assert verdict.infeasible.tolist() == [False, True, True]
    assert verdict.certificate.certified


def test_fixed_looks_pay_exact_metrics_out_of_the_budget():
    X = np.vstack([np.eye(2), np.random.default_rng(0).random((10, 2)) / 4])
    mu = np.column_stack([X @ [1.0, 1.0], np.arange(12.0)])
    policy, setting = FixedDesign(delta=0.1, budget=40), study(X, sigma=99.0, exact=[False, True])
    states = drive(policy, setting, mu, [99.0, 0.0])
    assert states[-1].spent == 40
    plan = policy.plan(setting)
    assert plan[0].high == policy.allocate(states[0]).sum() == 12 + policy.look_sizes(setting)[0]
    assert sum(step.high for step in plan) == 40


def test_a_look_at_pulls_that_can_never_come_is_no_dead_end():
    X = np.vstack([np.eye(2), 0.1 * np.eye(2)])
    policy = FixedDesign(delta=0.1, budget=20, looks=20)
    state = policy.init(study(X, sigma=99.0))
    while policy.stopped(state) is None:
        want = policy.allocate(state)
        assert want.any()
        at = np.arange(4) == 0
        state = policy.forgo(state, np.where(at, want, 0), at)
        state = policy.observe(state, quiet(X, np.where(at, 0, want), 99.0))
    assert policy.verdict(state).infeasible.tolist() == [True, False, False, False]


def test_a_tolerance_in_exact_metrics_alone_is_a_number_all_the_same():
    setting = study(K=2, exact=[False, True], epsilon=[0.0, 0.5])
    verdict = answer(GEGE(0.1, max_samples=500), setting, [[1.0, 1.0], [1.0, 1.0]], [1.0, 0.0])
    assert verdict.undecided.all()
    assert verdict.certificate.achieved_epsilon.tolist() == [0.0, np.inf]


def test_a_misfit_outside_the_span_of_the_pulls_counts_too():
    X = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    model = study(X, zeta=0.1).model
    beta = model.misfit_factors(np.array([0, 1]), np.array([0, 0, 2, 4]))
    # theta_1 = (2 y_2 + 12 y_3) / 38: both pulls push the difference, and each arm has its own misfit
    assert beta[0, 1] == pytest.approx(2 + 14 / 38)
