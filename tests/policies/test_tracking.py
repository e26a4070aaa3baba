"""Tracking: what it asks, what it labels, when it stops, and what its certificate says."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from paretoscope import sim
from paretoscope.errors import UsageError
from paretoscope.policies import GEGE, Noise, StopReason, Tracking
from paretoscope.policies.codec import from_plain, to_plain
from paretoscope.policies.field import build_field
from paretoscope.sim import monte_carlo
from tests.policies.drive import answer, drive, quiet, study
from tests.statistics import at_most

PLANE = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.2, 0.2], [0.5, 0.1]])
THETA = np.array([[1.0, 0.0], [0.0, 1.0]])
MU = PLANE @ THETA


def test_it_finds_the_front_and_says_so():
    verdict = answer(Tracking(0.1), study(PLANE), MU)
    assert verdict.accepted.tolist() == [True, True, True, False, False]
    assert verdict.rejected.tolist() == [False, False, False, True, True]
    assert verdict.certificate.certified
    assert verdict.certificate.achieved_epsilon.tolist() == [0.0, 0.0]
    assert "at all times" in verdict.certificate.bound
    assert "noise is Gaussian of scale 1, 1" in verdict.certificate.assumptions


def test_candidates_without_features():
    mu = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.5]])
    verdict = answer(Tracking(0.1), study(K=3), mu)
    assert verdict.accepted.tolist() == [True, True, False]


def test_a_single_objective_and_copies_of_rows():
    X = np.array([[1.0], [1.0], [0.5], [0.0]])
    verdict = answer(Tracking(0.1), study(X, d=1), X)
    assert verdict.accepted.tolist() == [True, True, False, False]
    states = drive(Tracking(0.1), study(X, d=1), X)
    assert states[-1].told[1] == states[-1].told[3] == 0  # a copy and a zero row tell nothing


def test_noise_of_each_objective_is_its_own():
    loud = study(PLANE, noise=Noise(np.array([4.0, 0.5])))
    assert answer(Tracking(0.1), loud, MU).accepted.sum() == 3
    few = drive(Tracking(0.1), study(PLANE, sigma=0.5), MU)[-1].spent
    assert drive(Tracking(0.1), loud, MU)[-1].spent > 4 * few


def test_ties_end_only_with_a_tolerance():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    mu = X @ np.array([[1.0, 0.0], [1.0, 0.0]])  # all equal everywhere
    near = answer(Tracking(0.1, 0.4), study(X), mu)
    assert near.near.all()
    assert near.certificate.certified
    assert (near.certificate.achieved_epsilon <= 0.4).all()
    capped = drive(Tracking(0.1, max_samples=900), study(X), mu)[-1]
    assert capped.stop is StopReason.SAMPLES
    assert capped.spent <= 900
    assert Tracking(0.1, max_samples=900).verdict(capped).undecided.all()


def test_a_tolerance_of_each_metric():
    setting = study(PLANE, epsilon=np.array([0.3, 0.1]))
    verdict = answer(Tracking(0.1), setting, MU)
    assert verdict.certificate.epsilon.tolist() == [0.3, 0.1]
    assert verdict.certificate.certified
    assert verdict.answer[:3].all()
    assert (verdict.certificate.achieved_epsilon <= [0.3, 0.1]).all()


def test_an_exact_metric_stays_outside():
    mu = np.column_stack([PLANE[:, 0], [1.0, 2.0, 2.0, 1.0, 1.0]])
    setting = study(PLANE, exact=np.array([False, True]))
    verdict = answer(Tracking(0.1), setting, mu, np.array([0.0, 0.0]))
    assert verdict.accepted.tolist() == [True, False, True, False, False]
    assert verdict.rejected.sum() == 3


def test_equal_features_are_compared_by_the_exact_metric_alone():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    mu = np.array([[0.5, 1.0], [0.5, 2.0], [0.0, 3.0]])
    setting = study(X, exact=np.array([False, True]))
    verdict = answer(Tracking(0.1), setting, mu)
    assert verdict.accepted.tolist() == [False, True, True]


def test_half_a_batch_is_judged_by_the_ellipsoid():
    policy, setting = Tracking(0.1), study(PLANE, sigma=0.02)
    state = policy.init(setting)
    want = policy.allocate(state)
    assert policy.verdict(state).undecided.all()
    half = policy.observe(state, quiet(MU, want - want // 3))
    assert policy.stopped(half) is None
    early = policy.verdict(half)
    assert early.rejected.tolist() == [False, False, False, True, True]
    assert early.accepted[:3].all()
    assert early.certificate.certified
    assert (policy.allocate(half) == want // 3).all()
    late = policy.observe(half, quiet(MU, want // 3))
    assert policy.stopped(late) is StopReason.DECIDED


def test_windows_hear_every_batch_once():
    rng = np.random.default_rng(5)
    policy, setting = Tracking(0.1, max_samples=4_000), study(PLANE)
    state, told = policy.init(setting), 0
    while policy.stopped(state) is None:
        want, before = policy.allocate(state), state
        noisy = MU + rng.standard_normal(MU.shape) / np.sqrt(np.maximum(want, 1))[:, None]
        state = policy.observe(state, quiet(noisy, want))
        alone = build_field(setting.model, quiet(noisy, want), np.ones(2))
        for old, new in zip(before.windows, state.windows, strict=False):
            i, j, _, _ = policy._terms(state).signs(old.code)
            np.testing.assert_allclose(new.I - old.I, 1.0 / alone.squares(i, j))
            told += 1
    assert told > 2
    assert state.past.total == state.spent


def test_ties_in_one_objective_are_accepted_by_the_other():
    X = np.eye(2)
    mu = np.array([[0.0, 3.0], [0.2, 0.0]])
    states = drive(Tracking(0.1, max_samples=2_000), study(X), mu)
    early = [Tracking(0.1).verdict(state) for state in states]
    assert any(verdict.accepted.tolist() == [True, False] for verdict in early)


def test_a_state_from_json_goes_on_bit_for_bit():
    policy, setting = Tracking(0.1, 0.05), study(PLANE)
    for state in drive(policy, setting, MU)[:-1]:
        back = from_plain(to_plain(state), setting)
        assert to_plain(policy.observe(back, quiet(MU, policy.allocate(back)))) == to_plain(
            policy.observe(state, quiet(MU, policy.allocate(state)))
        )


def test_whoever_was_beaten_by_a_lost_candidate_comes_back():
    X = np.array([[1.0, 0.0], [0.4, -0.4], [0.0, 1.0]])
    mu = X @ THETA * 2
    policy, setting = Tracking(0.1, 0.01, max_samples=3_000), study(X)
    state = policy.init(setting)
    while not policy.verdict(state).rejected[1]:
        state = policy.observe(state, quiet(mu, policy.allocate(state)))
    assert policy.verdict(state).rejected[1]
    if policy.stopped(state) is None:
        lost = policy.allocate(state) * np.array([1, 0, 0])
        state = policy.forgo(state, lost, np.array([True, False, False]))
        rest = policy.allocate(state)
        state = policy.observe(state, quiet(mu, rest)) if rest.any() else state
        assert not policy.verdict(state).rejected[1]
        assert policy.verdict(state).infeasible[0]


def test_the_risk_makes_it_dearer_and_a_doubling_has_fewer_batches():
    world = sim.random_instance(30, 3, 2, 0.2, seed=4)
    pulls = {
        delta: np.mean([r.pulls for r in monte_carlo(Tracking(delta), world, 6)])
        for delta in (0.2, 0.001)
    }
    assert pulls[0.001] > 1.2 * pulls[0.2]
    few = monte_carlo(Tracking(0.1, batch=1.0), world, 6)
    many = monte_carlo(Tracking(0.1, batch=0.2), world, 6)
    assert np.mean([r.rounds for r in few]) < np.mean([r.rounds for r in many])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Tracking(0.0), "delta = 0.0"),
        (lambda: Tracking(0.1, -1.0), "epsilon = -1.0"),
        (lambda: Tracking(0.1, batch=0.0), "batch = 0.0"),
        (lambda: Tracking(0.1).init(study(PLANE, zeta=np.ones(2))), "knows no misfit"),
    ],
)
def test_what_makes_no_sense_is_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


def test_sigma_given_to_the_policy_wins():
    setting = study(PLANE, noise=Noise.unknown(2))
    policy = Tracking(0.1, sigma=0.5, noise="subgaussian")
    assert "sub-Gaussian of scale 0.5, 0.5" in " ".join(
        answer(policy, setting, MU).certificate.assumptions
    )


def test_no_noise_at_all_needs_one_measurement_each():
    setting = study(PLANE, exact=np.ones(2, dtype=bool))
    states = drive(Tracking(0.1), setting, MU)
    assert states[-1].spent == 5
    assert Tracking(0.1).verdict(states[-1]).accepted.sum() == 3


def check_noc(path: Path, runs: int) -> float:
    """Mean pulls on NoC; no more errors than the risk allows."""
    found = monte_carlo(Tracking(0.1), sim.noc(path), runs, seed=1)
    at_most(sum(not run.correct for run in found), runs, 0.1)
    assert all(run.exact for run in found if run.correct)
    return float(np.mean([run.pulls for run in found]))


def test_noc_takes_a_fraction_of_the_pulls_of_elimination(noc_csv: Path) -> None:
    mean = check_noc(noc_csv, 8)
    rounds = monte_carlo(GEGE(0.1), sim.noc(noc_csv), 4)
    assert mean < 9_000
    assert mean < np.mean([run.pulls for run in rounds]) / 2


def seconds_of_looks(K, h, looks):
    """Processor time of each judgement and new allocation in a study of many candidates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((K, h))
    mu = X @ rng.standard_normal((h, 2))
    policy, spent = Tracking(0.1), []
    state = policy.init(study(X))
    for _ in range(looks):
        want = policy.allocate(state)
        noisy = mu + rng.standard_normal(mu.shape) / np.sqrt(np.maximum(want, 1))[:, None]
        start = time.process_time()
        state = policy.observe(state, quiet(noisy, want))
        spent.append(time.process_time() - start)
    return spent, state


def test_looks_are_quick_with_many_candidates():
    """The best of eight looks: the machine may be busy. Nothing of K x K is ever held."""
    spent, _ = seconds_of_looks(500, 8, 8)
    assert min(spent) <= 0.010
    tracemalloc.start()
    try:
        spent, state = seconds_of_looks(10_000, 16, 4)
        assert tracemalloc.get_traced_memory()[1] < 120e6  # a bit for each pair: 100 MB a time
    finally:
        tracemalloc.stop()
    assert min(spent) <= 0.2
    assert (state.status == 0).sum() < 1_000
