from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from paretoscope.core.confidence import GAUSSIAN, SUBGAUSSIAN
from paretoscope.core.spread import BOUNDS, Spread
from paretoscope.errors import DataError, UsageError
from paretoscope.policies import GEGE, Noise, StopReason
from paretoscope.sim import Gaussian, Instance, monte_carlo, setting_of, simulate
from tests.policies.drive import answer, drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])  # two optimal, two dominated
FRONT = [True, True, True, False]


def masks(verdict):
    return verdict.accepted.tolist(), verdict.rejected.tolist()


@pytest.mark.parametrize("schedule", ["proven", "corrected", "paper", "authors"])
@pytest.mark.parametrize("X", [None, TRADE, np.eye(4)], ids=["unstructured", "linear", "canonical"])
def test_without_bad_luck_every_schedule_is_right(schedule, X):
    policy = GEGE(0.1, schedule=schedule, max_rounds=12)
    verdict = answer(policy, study(X, K=4), TRADE, 1.0)
    assert masks(verdict) == (FRONT, [not x for x in FRONT])
    assert verdict.certificate.certified == (schedule in {"proven", "corrected"})


@pytest.mark.parametrize("X", [None, np.ones((1, 3))])
def test_a_single_candidate_is_optimal_without_a_pull(X):
    states = drive(GEGE(0.1), study(X, K=1), [[1.0, 2.0]])
    verdict = GEGE(0.1).verdict(states[0])
    assert len(states) == 1
    assert verdict.accepted.tolist() == [True]
    assert verdict.certificate.certified
    assert verdict.certificate.pulls == 0


def test_rank_one():
    X = np.array([[1.0], [2.0], [-1.0]])
    assert answer(GEGE(0.1), study(X), X * [1, -1], 1.0).accepted.all()  # all trade off
    rising = answer(GEGE(0.1), study(X), X * [1, 1], 1.0)
    assert rising.accepted.tolist() == [False, True, False]


def test_rank_two():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.4]])
    assert answer(GEGE(0.1), study(X), X, 1.0).accepted.tolist() == [True, True, True]
    assert answer(GEGE(0.1), study(X, d=1), X[:, :1], 1.0).accepted.tolist() == [True, False, False]


def test_the_canonical_basis_is_the_unstructured_problem():
    policy = GEGE(0.1, designs=("g",), max_rounds=9)
    plain, basis = (drive(policy, study(X, K=4), TRADE, 1.0) for X in (None, np.eye(4)))
    assert len(plain) == len(basis)
    for one, other in zip(plain, basis, strict=True):
        counts = policy.allocate(one), policy.allocate(other)
        assert counts[0].sum() == counts[1].sum()
        assert np.abs(counts[0] - counts[1]).max() <= 1  # who gets the odd pulls is free
    assert masks(policy.verdict(plain[-1])) == masks(policy.verdict(basis[-1]))


def test_rank_deficient_features_are_their_span():
    X = TRADE @ np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 3.0]])
    assert np.linalg.matrix_rank(X) == 2
    verdict = answer(GEGE(0.1), study(X), TRADE, 1.0)
    assert verdict.accepted.tolist() == FRONT


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_zero_row_is_never_pulled_and_still_compared(sign):
    X = np.array([[0.0], [1.0], [2.0]])
    states = drive(GEGE(0.1), study(X), sign * X * [1, 1], 1.0)
    verdict = GEGE(0.1).verdict(states[-1])
    assert verdict.accepted.tolist() == [sign < 0, False, sign > 0]
    assert states[-1].told[0] == 0


def test_copies_are_one_arm_with_one_verdict():
    X = TRADE[[0, 1, 0, 3, 0, 3]]
    states = drive(GEGE(0.1), study(X), TRADE[[0, 1, 0, 3, 0, 3]], 1.0)
    single = drive(GEGE(0.1), study(TRADE[[0, 1, 3]]), TRADE[[0, 1, 3]], 1.0)
    assert states[-1].told[[0, 1, 3]].tolist() == single[-1].told.tolist()
    assert states[-1].told[[2, 4, 5]].tolist() == [0, 0, 0]
    verdict = GEGE(0.1).verdict(states[-1])
    assert verdict.accepted.tolist() == [True, True, True, False, True, False]


@pytest.mark.parametrize("cap", [{"max_rounds": 4}, {"max_samples": 5000}])
def test_tied_optimal_arms_stop_at_the_cap_undecided(cap):
    policy = GEGE(0.1, **cap)
    states = drive(policy, study(K=3), [[1, 1], [1, 1], [0, 0]], 1.0)
    verdict, stop = policy.verdict(states[-1]), policy.stopped(states[-1])
    assert stop is (StopReason.ROUNDS if "max_rounds" in cap else StopReason.SAMPLES)
    assert verdict.undecided[:2].all()
    assert not verdict.certificate.certified
    assert "undecided: the cap on" in verdict.certificate.reason
    assert verdict.certificate.pulls <= cap.get("max_samples", np.inf)
    assert (verdict.certificate.achieved_epsilon > 0).all()


def test_a_tolerance_above_every_gap_keeps_all_after_one_round():
    policy = GEGE(0.1, epsilon=10.0)
    states = drive(policy, study(K=4), TRADE, 1.0)
    verdict = policy.verdict(states[-1])
    assert len(states) == 2
    assert verdict.near.all()
    assert verdict.answer.all()
    assert policy.stopped(states[-1]) is StopReason.EPSILON
    assert verdict.certificate.certified
    assert (verdict.certificate.achieved_epsilon <= 10.0).all()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, np.nan])
def test_a_risk_lies_between_0_and_1(delta):
    with pytest.raises(UsageError, match="between 0 and 1"):
        GEGE(delta)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either delta, a risk, or budget"),
        ({"delta": 0.1, "budget": 9}, "either delta"),
        ({"delta": 0.1, "epsilon": -1.0}, "epsilon = -1.0"),
        ({"delta": 0.1, "ratio": 1.0}, "ratio = 1.0"),
        ({"budget": 9, "epsilon": 0.1}, "does not take"),
        ({"budget": 9, "ratio": 3.0}, "does not take"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(UsageError, match=message):
        GEGE(**arguments)


def test_the_policy_may_say_what_the_noise_is():
    policy = GEGE(0.1, sigma=2.0, noise="subgaussian")
    noise = policy.noise_of(study(K=3))
    assert noise.sigma.tolist() == [2.0, 2.0]
    assert noise.kind == "subgaussian"
    assert GEGE(0.1, sigma="unknown").noise_of(study(K=3)).unknowns.all()


# ---------------------------------------------------------------- exact metrics


def leveled(levels=8, each=6, seed=0):
    """Configurations on a few levels of memory, each level with one best of a noisy metric."""
    rng = np.random.default_rng(seed)
    memory = np.repeat(np.arange(levels), each).astype(float)
    speed = np.concatenate([rng.permutation(each) for _ in range(levels)]) - 0.5 * memory
    return Instance(None, np.column_stack([speed, memory]), [0.2, 0.0])


def test_configurations_on_levels_of_memory_finish_and_are_right():
    instance = leveled()
    runs = monte_carlo(GEGE(0.1), instance, runs=50, seed=1)
    assert instance.pareto.sum() >= 8
    assert all(run.certificate.certified and run.exact for run in runs)
    assert "exact metrics repeat exactly" in runs[0].certificate.assumptions


def test_a_known_column_costs_nothing_and_a_measured_one_once_per_candidate():
    X = np.vstack([np.eye(2), [[0.5, 0.4], [0.2, 0.3], [0.4, 0.5]]])
    mu = np.column_stack([X @ [1.0, 2.0], [0.0, 0.0, 3.0, 1.0, 2.0]])
    exact = np.array([False, True])
    free = drive(GEGE(0.1), study(X, exact=exact, known=mu), mu, [1.0, 0.0])
    paid = drive(GEGE(0.1), study(X, exact=exact), mu, [1.0, 0.0])
    least = GEGE(0.1).allocate(free[0])
    assert (GEGE(0.1).allocate(paid[0]) == np.maximum(least, 1)).all()
    assert (least == 0).any()
    for states in (free, paid):
        verdict = GEGE(0.1).verdict(states[-1])
        assert verdict.accepted.tolist() == [False, True, True, False, True]


def test_an_exact_metric_that_differs_on_repeat_is_a_data_error():
    setting = study(K=3, exact=np.array([False, True]))
    policy, mu = GEGE(0.1), TRADE[:3]
    state = policy.init(setting)
    part = np.array([1, 1, 1])
    state = policy.observe(state, quiet(mu, part))
    with pytest.raises(DataError, match=r"candidate 1: exact metric 1 was 1\.0 and is now 1\.5"):
        policy.observe(state, quiet(mu + np.array([[0, 0], [0, 0.5], [0, 0]]), part))
    with pytest.raises(DataError, match="candidate 0: exact metric 1"):
        policy.observe(policy.init(setting), quiet(mu, 2 * part, [0.0, 0.1]))


@pytest.mark.parametrize("known", [None, TRADE])
def test_when_all_metrics_are_exact_each_candidate_is_measured_once(known):
    exact = np.array([True, True])
    verdict = answer(GEGE(0.1), study(K=4, exact=exact, known=known), TRADE)
    assert masks(verdict) == (FRONT, [not x for x in FRONT])
    assert verdict.certificate.pulls == (4 if known is None else 0)
    assert verdict.certificate.certified


def test_the_rule_of_the_paper_does_not_know_exact_metrics():
    with pytest.raises(UsageError, match="use 'refined'"):
        GEGE(0.1, rule="paper").init(study(K=3, exact=np.array([False, True])))


# ---------------------------------------------------------------- unknown noise


@pytest.mark.parametrize("X", [None, TRADE], ids=["unstructured", "linear"])
def test_identical_repeats_are_refused_with_the_remedy(X):
    setting = study(X, K=4, noise=Noise.unknown(2))
    verdict = answer(GEGE(0.1), setting, TRADE, 0.0)
    assert verdict.undecided.all()
    assert not verdict.certificate.certified
    assert "declare it exact, or give its resolution" in verdict.certificate.reason


def test_with_a_resolution_identical_repeats_are_enough():
    setting = study(K=4, noise=Noise.unknown(2, resolution=0.01))
    states = drive(GEGE(0.1), setting, TRADE, 0.0)
    verdict = GEGE(0.1).verdict(states[-1])
    assert verdict.accepted.tolist() == FRONT
    assert verdict.certificate.certified
    np.testing.assert_allclose(states[-1].sigma_hat, 0.01 / np.sqrt(12))


def test_the_printed_schedules_need_a_scale():
    with pytest.raises(UsageError, match="needs a known sigma"):
        GEGE(0.1, schedule="corrected").init(study(K=3, noise=Noise.unknown(2)))


# ---------------------------------------------------------------- scales and tolerances


def test_a_scale_per_metric_is_a_unit_per_metric():
    plain = drive(GEGE(0.1), study(K=4), TRADE, 1.0)
    scaled = drive(GEGE(0.1), study(K=4, sigma=[1.0, 0.25]), TRADE * [1, 0.25], [1.0, 0.25])
    assert (plain[-1].told == scaled[-1].told).all()
    assert masks(GEGE(0.1).verdict(plain[-1])) == masks(GEGE(0.1).verdict(scaled[-1]))


def test_a_quieter_metric_never_costs_more():
    loud = drive(GEGE(0.1), study(K=4), TRADE, 1.0)
    half = drive(GEGE(0.1), study(K=4, sigma=[1.0, 0.1]), TRADE, [1.0, 0.1])
    assert half[-1].spent < loud[-1].spent


def test_a_tolerance_per_metric_is_met_per_metric():
    mu = np.array([[1.0, 1.0], [1.01, 0.7], [0.5, 0.5]])
    setting = study(K=3, sigma=0.1, epsilon=[0.05, 0.5])
    verdict = answer(GEGE(0.1), setting, mu, 0.1)
    assert verdict.certificate.certified
    assert (verdict.certificate.achieved_epsilon <= [0.05, 0.5]).all()
    assert verdict.certificate.epsilon.tolist() == [0.05, 0.5]
    strict = answer(GEGE(0.1, max_rounds=12), study(K=3, sigma=0.1), mu, 0.1)
    assert strict.certificate.pulls > verdict.certificate.pulls


def test_it_stops_at_the_tolerance_and_not_before():
    policy = GEGE(0.1, epsilon=0.5, first_accuracy=1.6)  # certifies 0.8 at first
    states = drive(policy, study(K=3), np.zeros((3, 2)), 1.0)
    assert states[1].achieved.tolist() == pytest.approx([0.8, 0.8], rel=1e-3)
    assert len(states) == 3
    assert (states[-1].achieved <= 0.5).all()


def test_subgaussian_noise_costs_more_than_gaussian():
    gauss, bounded = (
        drive(GEGE(0.1, noise=kind, first_accuracy=1.0), study(K=4, sigma=0.5), TRADE, 0.5)
        for kind in ("gaussian", "subgaussian")
    )
    assert bounded[-1].spent > gauss[-1].spent
    told = drive(GEGE(0.1), study(K=4, noise=Noise.bounded([0, 0], [1, 1])), TRADE, 0.5)
    assert (
        told[-1].told
        == drive(GEGE(0.1, noise="subgaussian"), study(K=4, sigma=0.5), TRADE, 0.5)[-1].told
    ).all()


# ---------------------------------------------------------------- pulls given up


@pytest.mark.parametrize("X", [None, TRADE], ids=["unstructured", "linear"])
@pytest.mark.parametrize("kind", ["gaussian", "subgaussian"])
def test_the_width_is_the_one_of_the_pulls_that_came(X, kind):
    policy, setting = GEGE(0.1, noise=kind), study(X, K=4, sigma=0.5)
    state = policy.init(setting)
    want = policy.allocate(state)
    lost = want // 2
    state = policy.forgo(policy.observe(state, quiet(TRADE, want - lost, 0.5)), lost)
    record = state.history[0]
    assert record.pulls == (want - lost).sum()
    assert "some pulls given up" in record.bound
    came, A = want - lost, np.arange(4)
    spread = setting.model.spread(A, came)
    tail = GAUSSIAN if kind == "gaussian" else SUBGAUSSIAN
    eta = record.accuracy / 2 / 0.5
    assert spread.failure(eta, 2, tail, BOUNDS) <= record.risk
    assert spread.failure(0.999 * eta, 2, tail, BOUNDS) > record.risk
    if X is None:  # the spread itself, from its definition
        by_hand = Spread(3, v=1.0 / came)
        assert by_hand.failure(eta, 2, tail, BOUNDS) <= record.risk


def test_a_candidate_that_never_ran_is_infeasible_and_the_certificate_says_so():
    policy = GEGE(0.1)
    state = policy.init(study(K=4, sigma=0.1))
    want = policy.allocate(state)
    lost = np.where(np.arange(4) == 0, want, 0)
    state = policy.forgo(policy.observe(state, quiet(TRADE, want - lost, 0.1)), lost)
    while policy.stopped(state) is None:
        assert policy.allocate(state)[0] == 0
        state = policy.observe(state, quiet(TRADE, policy.allocate(state), 0.1))
    verdict = policy.verdict(state)
    assert verdict.infeasible.tolist() == [True, False, False, False]
    assert verdict.accepted.tolist() == [False, True, True, False]
    assert "the guarantee is among the candidates that ran" in verdict.certificate.assumptions


@pytest.mark.parametrize("noise", [Noise.known(0.1, 2), Noise.unknown(2)])
def test_the_only_candidate_that_ran_is_the_best_of_those_that_ran(noise):
    policy = GEGE(0.1)
    state = policy.init(study(K=3, noise=noise))
    want = policy.allocate(state)
    lost = np.where(np.arange(3) == 1, 0, want)
    state = policy.forgo(policy.observe(state, quiet(TRADE[:3], want - lost, 0.1)), lost)
    verdict = policy.verdict(state)
    assert verdict.accepted.tolist() == [False, True, False]
    assert policy.stopped(state) is StopReason.DECIDED


def test_when_nothing_ran_nothing_is_certified():
    policy = GEGE(0.1)
    state = policy.init(study(K=3))
    state = policy.forgo(state, policy.allocate(state))
    verdict = policy.verdict(state)
    assert policy.stopped(state) is StopReason.NOTHING
    assert verdict.infeasible.all()
    assert not verdict.certificate.certified
    assert verdict.certificate.reason == "no candidate could be measured"


def test_a_round_that_was_not_meant_for_what_comes_back_is_judged_by_its_real_width():
    """A few pulls suit a close pair; they say ten times less of the four that are there in its place."""
    X = np.array([[1, 0], [0, 1], [0.8, 0.8], [0.85, 0.75], [0.7, 0.7], [0.1, 0.1]])
    policy, best = GEGE(0.1), np.isin(np.arange(6), [2, 3])
    state = policy.init(study(X, sigma=0.5))
    while not policy.verdict(state).rejected[4]:
        state = policy.observe(state, quiet(X, policy.allocate(state), 0.5))
    planned, risk, want = state.accuracy, state.risk, policy.allocate(state)
    state = policy.forgo(state, np.zeros(6, dtype=np.int64), best)  # nothing outstanding is lost
    state = policy.observe(state, quiet(X, want, 0.5))
    record = state.history[-1]
    assert record.accuracy > 5 * planned
    spread = state.setting.model.spread(np.array([0, 1, 4, 5]), want)
    assert spread.failure(record.accuracy / 2 / 0.5, 2, GAUSSIAN, BOUNDS) <= risk
    while policy.stopped(state) is None:
        state = policy.observe(state, quiet(X, policy.allocate(state), 0.5))
    assert masks(policy.verdict(state)) == (
        [True, True, False, False, True, False],
        [False] * 5 + [True],
    )


def test_a_support_point_that_is_gone_is_replaced():
    X = np.vstack([np.eye(2), [[0.8, 0.0], [0.5, 0.45]]])
    mu = X @ np.array([[1.0, 0.0], [0.0, 1.0]])
    policy = GEGE(0.1, designs=("g",))
    state = policy.init(study(X, sigma=0.1))
    want = policy.allocate(state)
    assert want[0] > 0
    assert want[2] == 0
    lost, gone = np.where(np.arange(4) == 0, want, 0), np.arange(4) == 0
    state = policy.forgo(policy.observe(state, quiet(mu, want - lost, 0.1)), lost, gone)
    assert policy.allocate(state)[0] == 0
    assert policy.allocate(state)[2] > 0
    while policy.stopped(state) is None:
        state = policy.observe(state, quiet(mu, policy.allocate(state), 0.1))
    verdict = policy.verdict(state)
    assert verdict.infeasible.tolist() == [True, False, False, False]
    assert verdict.accepted[[1, 3]].all()
    assert verdict.certificate.certified


def test_more_than_was_asked_for_cannot_be_given_up():
    policy = GEGE(0.1)
    state = policy.init(study(K=3))
    for counts in (policy.allocate(state) + 1, -np.ones(3, int)):
        with pytest.raises(UsageError, match="more pulls given up"):
            policy.forgo(state, counts)


# ---------------------------------------------------------------- a model that is wrong


def bent(zeta=None):
    """A peak in the middle, on a straight line: the best line puts an end first."""
    x = np.linspace(-1.0, 1.0, 9)
    X = np.column_stack([np.ones(9), x])
    truth = 0.3 * x + np.where(np.abs(x - 0.25) < 0.01, 0.6, 0.0)
    theta = np.linalg.lstsq(X, truth, rcond=None)[0]
    misfit = np.abs(X @ theta - truth).max()
    instance = Instance(X, truth[:, None], 0.3)
    return instance, setting_of(instance, zeta=None if zeta is None else [zeta * misfit])


def test_a_wrong_model_certifies_wrong_labels_and_a_stated_misfit_does_not():
    instance, naive = bent()
    _, honest = bent(1.0)
    policy = GEGE(0.1, max_rounds=12, max_samples=10**6)
    wrong = [not simulate(policy, instance, seed, setting=naive).correct for seed in range(50)]
    runs = [simulate(policy, instance, seed, setting=honest) for seed in range(50)]
    assert sum(wrong) >= 45  # of 50: the line rejects the peak for certain
    assert all(run.correct for run in runs)
    assert all(run.stop is StopReason.MISFIT for run in runs)
    assert not any(run.certificate.certified for run in runs)
    assert "hides what is left" in runs[0].certificate.reason
    assert "widened by the misfit" in runs[0].certificate.bound


def test_widths_grow_with_the_misfit():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    tiny, none = (
        drive(GEGE(0.1, max_rounds=9), study(X, zeta=zeta), X, 1.0) for zeta in (1e-6, None)
    )
    assert masks(GEGE(0.1).verdict(tiny[-1])) == masks(GEGE(0.1).verdict(none[-1]))
    more, less = (
        drive(GEGE(0.1, max_rounds=2), study(X, zeta=zeta), 0 * X, 1.0)[1] for zeta in (0.1, None)
    )
    assert (more.achieved >= less.achieved + 0.1).all()  # 2 zeta at most pairs, less at some
    hidden = drive(GEGE(0.1, max_rounds=9), study(X, zeta=5.0), X, 1.0)
    assert GEGE(0.1).verdict(hidden[-1]).undecided.all()
    assert hidden[-1].stop is StopReason.MISFIT


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("noise", [None, Noise.unknown(2)], ids=["known", "unknown"])
def test_tied_arms_end_a_study_with_tolerance_and_misfit(epsilon, noise):
    """beta = 2 for the far pairs: at eta = epsilon / 2 the misfit alone takes up to .2 of the tolerance."""
    X = np.vstack([np.eye(2), 0.999 * np.eye(2) + 0.0005])
    policy = GEGE(0.1, epsilon)
    states = drive(policy, study(X, zeta=0.1, noise=noise), np.zeros((4, 2)), 1.0, most=9)
    expected = StopReason.EPSILON if epsilon > 0.5 else StopReason.MISFIT
    assert states[-1].stop is expected
    assert states[-1].spent < 20_000
    assert all(a.accuracy > b.accuracy for a, b in pairwise(states[-1].history))


@pytest.mark.parametrize("more", [{"rule": "paper"}, {"schedule": "corrected"}])
def test_a_misfit_needs_the_proven_schedule_and_the_refined_rule(more):
    with pytest.raises(UsageError, match="misfit zeta"):
        GEGE(0.1, **more).init(study(np.eye(2), zeta=0.1))


def test_heteroscedastic_worlds_below_the_stated_scale_are_covered():
    instance = Instance(None, TRADE, 0.4)
    world = Gaussian(np.linspace(0.1, 0.4, 8).reshape(4, 2))
    runs = monte_carlo(GEGE(0.1), instance, runs=100, seed=3, world=world)
    assert sum(not run.correct for run in runs) <= 17  # 100 runs, delta 0.1: P(more) < 1 %
