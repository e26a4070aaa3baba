from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretoscope.errors import UsageError
from paretoscope.policies import FixedDesign, Noise, OneShot, StopReason
from paretoscope.policies.reading import quantiles
from paretoscope.sim import Instance, monte_carlo, setting_of
from tests.policies.drive import answer, drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])


def policy(**more):
    return FixedDesign(**({"delta": 0.1, "budget": 120} | more))


@pytest.mark.parametrize("noise", [Noise.known(0.1, 2), Noise.unknown(2)])
@pytest.mark.parametrize("X", [None, TRADE, np.eye(4)])
def test_without_bad_luck_everything_is_decided(noise, X):
    verdict = answer(policy(), study(X, K=4, noise=noise), TRADE, 0.1)
    assert verdict.accepted.tolist() == [True, True, True, False]
    assert verdict.rejected.tolist() == [False, False, False, True]
    assert verdict.certificate.certified
    assert verdict.certificate.pulls <= 120


def test_looks_and_risks_are_fixed_beforehand():
    sizes = policy().look_sizes(study(K=4))
    assert sizes.tolist() == [12, 24, 36, 48, 60, 72, 84, 96, 108, 120]
    risks = policy().risks(10)
    assert risks[-1] == pytest.approx(0.05)
    assert sum(risks) == pytest.approx(0.1)
    assert set(risks[:-1]) == {0.05 / 9}
    assert policy(spend="even").risks(4) == (0.025,) * 4
    assert policy().risks(1) == (0.1,)


def test_looks_too_early_to_estimate_anything_are_left_out():
    assert policy(budget=20).look_sizes(study(K=9)).tolist() == [10, 12, 14, 16, 18, 20]
    unknown = study(K=9, noise=Noise.unknown(2))
    assert policy(budget=20).look_sizes(unknown).tolist() == [12, 14, 16, 18, 20]
    with pytest.raises(UsageError, match="11 measurements are the least"):
        policy(budget=10).init(unknown)


def test_the_pulls_of_every_prefix_follow_the_design():
    states = drive(policy(looks=6), study(np.eye(4), sigma=50.0), TRADE, 50.0)
    told = [state.told for state in states]
    assert [t.sum() for t in told] == [0, 20, 40, 60, 80, 100, 120]
    assert all(np.ptp(t) <= 1 for t in told)
    plan = policy(looks=6).plan(study(np.eye(4), sigma=50.0))
    assert [step.high for step in plan] == [20] * 6
    assert [step.low for step in plan] == [20] + [0] * 5


def test_a_budget_too_small_to_decide_ends_undecided_with_what_was_achieved():
    states = drive(policy(), study(K=4, sigma=5.0), TRADE, 5.0)
    verdict = policy().verdict(states[-1])
    assert states[-1].stop is StopReason.BUDGET
    assert verdict.certificate.pulls == 120
    assert not verdict.certificate.certified
    assert verdict.certificate.reason == "4 candidates are undecided: the budget is spent"
    assert (verdict.certificate.achieved_epsilon > 1.0).all()
    last, first = states[-1].achieved, states[1].achieved
    assert (last < first).all()  # more data, smaller tolerance


def test_a_tolerance_keeps_what_is_near():
    verdict = answer(policy(epsilon=0.4), study(K=4, sigma=0.3), 0.01 * TRADE, 0.3)
    assert verdict.near.all()
    assert verdict.certificate.certified
    assert (verdict.certificate.achieved_epsilon <= 0.4).all()


def test_tied_candidates_stay_undecided():
    verdict = answer(policy(), study(K=3, sigma=0.1), [[1, 1], [1, 1], [0, 0]], 0.1)
    assert verdict.undecided.tolist() == [True, True, False]
    assert verdict.rejected.tolist() == [False, False, True]


def test_a_single_candidate_and_copies_of_it():
    assert answer(policy(), study(K=1), [[1.0, 1.0]]).accepted.all()
    verdict = answer(policy(), study(np.ones((3, 2))), np.ones((3, 2)))
    assert verdict.accepted.all()
    assert verdict.certificate.pulls == 0
    assert policy().plan(study(K=1)) == ()


def test_identical_repeats_are_refused_unless_a_resolution_is_given():
    silent = answer(policy(), study(K=4, noise=Noise.unknown(2)), TRADE)
    assert silent.undecided.all()
    assert "give its resolution" in silent.certificate.reason
    told = answer(policy(), study(K=4, noise=Noise.unknown(2, 0.01)), TRADE)
    assert told.certificate.certified
    assert not told.undecided.any()


def test_exact_metrics_stand_beside_noisy_ones():
    mu = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [-0.5, -0.5]])
    setting = study(K=4, sigma=0.1, exact=np.array([False, True]))
    assert answer(policy(), setting, mu, [0.1, 0.0]).accepted.tolist() == [True, False, True, False]
    every = study(K=4, exact=np.array([True, True]))
    verdict = answer(policy(), every, mu)
    assert verdict.accepted.tolist() == [True, False, True, False]
    assert verdict.certificate.pulls == 4


def test_a_misfit_hides_what_lies_below_it():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    verdict = answer(policy(), study(X, sigma=0.1, zeta=3.0), X, 0.1)
    assert verdict.undecided.all()
    assert "hides what is left" in verdict.certificate.reason


def test_lost_pulls_shrink_what_is_known_not_what_is_right():
    p = policy(looks=2)
    state = p.init(study(K=4, sigma=0.1))
    want = p.allocate(state)
    lost = np.where(np.arange(4) == 3, want, want // 2)
    state = p.forgo(p.observe(state, quiet(TRADE, want - lost, 0.1)), lost)
    verdict = p.verdict(state)
    assert verdict.infeasible.tolist() == [False, False, False, True]
    assert verdict.accepted.tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    "more", [{"delta": 0.0}, {"delta": 1.0}, {"epsilon": -1.0}, {"looks": 0}, {"budget": 0}]
)
def test_arguments_that_make_no_sense(more):
    with pytest.raises(UsageError):
        policy(**more)


@pytest.mark.parametrize("noise", [None, Noise.unknown(2)], ids=["known", "unknown"])
def test_labels_of_all_looks_are_right_on_near_ties(noise):
    """300 runs at delta = 0.1: 43 or more errors would have probability below 1 %."""
    mu = np.array([[0.0, 0.0], [-0.05, -0.05], [1.0, -1.0], [0.95, -1.05]])
    instance = Instance(None, mu, 0.4)
    setting = setting_of(instance, noise=noise)
    runs = monte_carlo(policy(budget=80), instance, 300, seed=2, setting=setting)
    assert sum(not run.correct for run in runs) <= 42


def test_an_estimated_scale_has_students_quantiles():
    known = quantiles(Noise.known(1.0, 2), 0.01, 4, 3, 8)
    mixed = quantiles(Noise(np.array([np.nan, 1.0])), 0.01, 4, 3, 8)
    events = 3 * 4  # (n - 1) n where d = 2
    by_pairs = stats.t(8).isf(0.01 / events)
    by_ball = np.sqrt(3 * stats.f(3, 8).isf(0.01 / 2))
    np.testing.assert_allclose(mixed, [min(by_pairs, by_ball), known[1]])
    assert mixed[0] > 1.4 * known[0]


def test_objectives_of_different_laws_share_one_union():
    """By pairs all the risk may lie in one objective: Scheffe for the other would be charged on top."""
    n, rank, nu, risk = 4, 2, 4, 0.1
    by_pairs = (stats.norm.isf(risk / 12), stats.t(nu).isf(risk / 12))
    by_ball = (
        stats.chi2(rank).isf(risk / 2) ** 0.5,
        (rank * stats.f(rank, nu).isf(risk / 2)) ** 0.5,
    )
    assert by_pairs[0] < by_ball[0]  # each objective alone would choose another union
    assert by_ball[1] < by_pairs[1]
    mixed = quantiles(Noise(np.array([1.0, np.nan])), risk, n, rank, nu)
    np.testing.assert_allclose(mixed, by_ball)
    np.testing.assert_allclose(quantiles(Noise.known(1.0, 2), risk, n, rank, 0), by_pairs[0])
    np.testing.assert_allclose(quantiles(Noise.unknown(2), risk, n, rank, nu), by_ball[1])


def test_residuals_that_are_rounding_are_no_noise():
    """Values that obey the model exactly leave residuals of some ulps, not zero: refused all the same."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(60), rng.uniform(-1.0, 1.0, (60, 9))])
    mu = X @ rng.standard_normal((10, 2))
    setting = study(X, noise=Noise.unknown(2))
    for looks in (2, 10):  # 12 pulls of 12 candidates at the first of ten looks: no repeats at all
        verdict = answer(policy(looks=looks), setting, mu)
        assert verdict.undecided.all()
        assert "declare it exact" in verdict.certificate.reason
    assert answer(policy(), study(X, noise=Noise.unknown(2, 1e-6)), mu).certificate.certified


def test_one_shot_is_one_round_of_the_whole_budget():
    states = drive(OneShot(50), study(np.eye(4)), TRADE, 1.0)
    assert (len(states) == 2 and states[-1].told.tolist() == [12, 13, 13, 12]) or (
        sorted(states[-1].told.tolist()) == [12, 12, 13, 13]
    )
    with pytest.raises(UsageError, match="4 measurements are the least"):
        OneShot(3).init(study(K=4))
