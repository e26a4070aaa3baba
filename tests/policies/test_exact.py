"""Metrics without noise in every policy: pulls given up, equal features, budgets, caps."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import GEGE, FixedDesign, Noise, OneShot, StopReason, Uniform
from tests.policies.drive import answer, drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])
BOTH, SECOND = np.array([True, True]), np.array([False, True])
# Two pairs of equal features: one of each pair is better in the exact metric, and the last is beaten.
PAIRED = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.2, 0.1]])
PAIRED_MU = np.column_stack([PAIRED @ [1.0, 0.4], [1.0, 2.0, 4.0, 3.0, 0.0]])
BEST_OF_PAIRS = [False, True, True, False, False]


def policies(budget=60):
    return {
        "gege": GEGE(0.1),
        "fixed": FixedDesign(delta=0.1, budget=budget),
        "budget": GEGE(budget=budget),
        "one shot": OneShot(budget),
    }


@pytest.fixture(params=policies())
def policy(request):
    return policies()[request.param]


@pytest.mark.parametrize("X", [None, TRADE], ids=["unstructured", "linear"])
def test_an_exact_value_that_never_came_makes_its_candidate_infeasible(policy, X):
    state = policy.init(study(X, K=4, exact=BOTH))
    want = policy.allocate(state)
    lost = np.where(np.arange(4) == 0, want, 0)
    state = policy.observe(policy.forgo(state, lost), quiet(TRADE, want - lost))
    verdict = policy.verdict(state)
    assert verdict.infeasible.tolist() == [True, False, False, False]
    assert verdict.accepted.tolist() == [False, True, True, False]
    assert "the guarantee is among the candidates that ran" in verdict.certificate.assumptions


def test_so_it_is_beside_a_noisy_metric(policy):
    state = policy.init(study(PAIRED, exact=SECOND, sigma=0.05))
    want = policy.allocate(state)
    lost = np.where(np.arange(5) == 1, want, 0)
    state = policy.observe(policy.forgo(state, lost), quiet(PAIRED_MU, want - lost, [0.05, 0.0]))
    while policy.stopped(state) is None:
        state = policy.observe(state, quiet(PAIRED_MU, policy.allocate(state), [0.05, 0.0]))
    verdict = policy.verdict(state)
    assert verdict.infeasible.tolist() == [False, True, False, False, False]
    assert verdict.accepted.tolist() == [True, False, True, False, False]


@pytest.mark.parametrize("noise", [Noise.known(1.0, 2), Noise.unknown(2)], ids=["known", "unknown"])
def test_of_equal_features_the_better_exact_value_wins(policy, noise):
    setting = study(PAIRED, exact=SECOND, noise=noise)
    verdict = answer(policy, setting, PAIRED_MU, [0.05, 0.0])
    assert verdict.accepted[[0, 3]].tolist() == [False, False]
    assert verdict.rejected[[0, 3]].all()


def test_equal_features_are_told_apart_at_once_and_the_rest_in_time():
    for policy in (GEGE(0.1), GEGE(0.1, sigma="unknown"), FixedDesign(delta=0.1, budget=60)):
        verdict = answer(policy, study(PAIRED, exact=SECOND, sigma=0.05), PAIRED_MU, [0.05, 0.0])
        assert verdict.accepted.tolist() == BEST_OF_PAIRS
        assert verdict.certificate.certified
    state = drive(GEGE(0.1), study(PAIRED, exact=SECOND, sigma=50.0), PAIRED_MU, [50.0, 0.0])[1]
    assert GEGE(0.1).verdict(state).rejected.tolist() == [True, False, False, True, False]


@pytest.mark.parametrize("noise", [Noise.known(1.0, 2), Noise.unknown(2)], ids=["known", "unknown"])
def test_when_all_features_are_equal_only_exact_metrics_decide(policy, noise):
    mu = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 1.0], [1.0, 2.0]])
    setting = study(np.ones((4, 1)), exact=SECOND, noise=noise)
    states = [policy.init(setting)]
    rng = np.random.default_rng(0)
    while policy.stopped(states[-1]) is None:  # noise that varies: silence would be refused
        counts = policy.allocate(states[-1])
        tally = quiet(mu, counts, [1.0, 0.0])
        tally.means[:, 0] += rng.standard_normal(4) * (counts > 0)
        states.append(policy.observe(states[-1], tally))
    verdict = policy.verdict(states[-1])
    assert verdict.accepted.tolist() == [False, True, False, True]
    assert verdict.rejected.tolist() == [True, False, True, False]


@pytest.mark.parametrize("make", [OneShot, lambda T: GEGE(budget=T)], ids=["one shot", "gege"])
def test_a_budget_pays_exact_metrics_once_each_and_no_more(make):
    for T in (4, 5, 40):
        setting = study(K=4, exact=BOTH)
        verdict = answer(make(T), setting, TRADE)
        assert verdict.accepted.tolist() == [True, True, True, False]
        assert verdict.certificate.pulls == 4
        assert [step.high for step in make(T).plan(setting)] == [4]
    known = drive(make(1), study(K=4, exact=BOTH, known=TRADE), TRADE)
    assert known[0].stop is StopReason.DECIDED
    assert known[0].spent == 0
    with pytest.raises(UsageError, match="exact metrics need 4 measurements"):
        make(3).init(study(K=4, exact=BOTH))


def test_uniform_ignores_what_is_exact_and_is_right():
    verdict = answer(Uniform(9), study(K=4, exact=BOTH), TRADE)
    assert verdict.accepted.tolist() == [True, True, True, False]
    assert verdict.certificate.pulls == 9


def test_the_cap_on_measurements_counts_those_of_exact_metrics():
    rng = np.random.default_rng(0)
    X = np.vstack([np.eye(2), 0.4 * rng.random((18, 2))])
    setting = study(X, exact=SECOND)
    asked = int(GEGE(0.1).allocate(GEGE(0.1).init(setting)).sum())
    assert asked >= 20  # one each, though the design needs two points
    below, enough = (GEGE(0.1, max_samples=cap).init(setting) for cap in (asked - 1, asked))
    assert below.stop is StopReason.SAMPLES
    assert enough.stop is None


@pytest.mark.parametrize(
    "more",
    [
        {"schedule": "printed"},
        {"rule": "strict"},
        {"designs": ()},
        {"designs": ("d",)},
        {"bounds": ()},
        {"bounds": ("pairs", "all")},
        {"scale_from": "guess"},
        {"first_accuracy": 0.0},
        {"first_accuracy": -1.0},
    ],
)
def test_words_and_numbers_that_mean_nothing_are_refused(more):
    with pytest.raises(UsageError, match=next(iter(more))):
        GEGE(0.1, **more)


@pytest.mark.parametrize("more", [{"spend": "last"}, {"scale_from": "guess"}])
def test_so_they_are_with_fixed_looks(more):
    with pytest.raises(UsageError, match=next(iter(more))):
        FixedDesign(delta=0.1, budget=60, **more)


@pytest.mark.parametrize("kind", ["xy", "xy-all"])
def test_designs_of_pairs_give_way_where_there_are_too_many_arms(kind):
    X = np.random.default_rng(0).standard_normal((90, 3))
    policy = GEGE(0.1, designs=(kind,), max_rounds=12)
    states = drive(policy, study(X), X[:, :2], 1.0)
    assert states[-1].history[0].design == "g"
    assert {record.design for record in states[-1].history if record.arms <= 80} <= {kind}
    assert policy.verdict(states[-1]).accepted.any()
