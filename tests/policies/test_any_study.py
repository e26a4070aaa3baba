"""Random studies with random losses: whatever happens, a policy keeps its word and ends.

150 studies over all that a setting can say (features of any rank with copies and zeros, exact metrics
known or not, noise known or not, tolerances, misfits), with pulls lost and candidates gone at random.
"""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.policies import GEGE, FixedDesign, Noise, OneShot, Setting, Uniform
from paretoscope.testing import check_partition
from tests.policies.drive import answer, drive, quiet, study

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
        OneShot(60),
        Uniform(30),
        FixedDesign(delta=0.1, budget=60),
        FixedDesign(delta=0.1, budget=60, looks=4, scale_from="replicates"),
    ]
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
    policy = FixedDesign(delta=0.1, budget=20)
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
