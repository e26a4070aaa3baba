"""What can be told beforehand: what a budget buys, and what would be asked next."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies.base import Tally
from paretoscope.policies.fixed import FixedDesign, OneShot
from paretoscope.policies.gege import GEGE
from paretoscope.study import forecast, result
from paretoscope.study.definition import define
from paretoscope.study.forecast import NoOutlook, Outlook, believe, certified_method, outlook
from paretoscope.study.methods import Wishes
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem
from tests.study.lab import finish, fresh, measured, metrics

K = 16
# Real studies per case: the same as simulated runs, so that both averages have the same error.
STUDIES = forecast.RUNS


def problem_of(K=K, features=None, named=None, **more):
    columns = {name: np.linspace(-1, 1, K).tolist() for name in ("a",)} | more
    made = define(
        candidates=columns, metrics=named or metrics(), features=features, epsilon=0.1, seed=1
    )
    return Problem.from_plain(made["problem"])


def nothing(problem):
    return Tally.empty(problem.K, problem.d), np.full((problem.K, problem.d), np.nan)


# ---------------------------------------------------------------- against real studies


def features_of(rng):
    return rng.standard_normal((K, 3))


CASES = {
    "unstructured, known noise": (0.2, False, {"epsilon": 0.1, "budget": 160}),
    "unstructured, unknown noise": (None, False, {"budget": 160}),
    "linear, known noise": (0.2, True, {"epsilon": 0.4, "budget": 60}),
    "linear, rounds with a cap": (
        0.2,
        True,
        {"method": GEGE(0.05, 0.1, max_samples=300), "budget": 300, "epsilon": 0.1},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_outlook_is_what_real_studies_achieve(case):
    """Means of two samples of 20 studies: they may differ by 4 standard errors (level 3e-4 each)."""
    sigma, linear, settings = CASES[case]
    X = features_of(np.random.default_rng(5))
    more = {"candidates": X, "features": X if linear else None, "metrics": metrics(sigma)}
    foreseen = fresh(**settings | more).outlook()
    assert isinstance(foreseen, Outlook)
    assert foreseen.runs == STUDIES
    found, tolerances = [], []
    for seed in range(STUDIES):
        means = real_means(X, linear, np.random.default_rng([seed, 99]))
        study = fresh(**settings | more | {"seed": seed})
        finish(study, means=means, sigma=0.2)
        now = study.result()
        used = now.certificate.pulls - study._course.checks  # those test the fit, beside the budget
        words = (now.rejected, now.accepted, now.near, now.undecided)
        found.append([*map(len, words), used])
        tolerances.append([*now.achieved_epsilon.values()])
    mean, deviation = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    margin = 4.0 * np.maximum(deviation, 0.5) * math.sqrt(2 / STUDIES)
    said = (
        foreseen.out,
        foreseen.inside,
        foreseen.near,
        foreseen.undecided,
        foreseen.measurements,
    )
    assert (np.abs(np.array(said) - mean) <= margin).all(), (said, mean, margin)
    assert sum(said[:4]) == pytest.approx(K)
    unit = 0.2 if sigma is None else 1.0  # in multiples of the noise while that is unknown
    expected = np.median(tolerances, axis=0) / unit
    got = np.array([*foreseen.epsilon.values()])
    assert (np.abs(got - expected) <= 0.35 * np.maximum(expected, got)).all(), (got, expected)


def real_means(X, linear, rng):
    """Means that differ by five times the noise of 0.2, one by one or along three features."""
    if not linear:
        return rng.standard_normal((K, 2))
    scaled = X / X.std(axis=0)
    return scaled @ rng.standard_normal((3, 2)) / math.sqrt(3)


def test_the_same_seed_says_the_same_and_another_one_nearly():
    study = fresh(epsilon=0.1, budget=60)
    first = study.outlook(runs=4)
    assert first == study.outlook(runs=4)
    assert first == fresh(epsilon=0.1, budget=60).outlook(runs=4)
    other = fresh(epsilon=0.1, budget=60, seed=4).outlook(runs=4)
    assert other != first
    assert len(list(study.ledger.read())) == 1  # nothing was asked or told


def test_a_larger_budget_settles_more():
    small, large = (fresh(epsilon=0.01, budget=n).outlook() for n in (30, 300))
    assert large.undecided < small.undecided
    assert all(large.epsilon[name] < small.epsilon[name] for name in small.epsilon)


# ---------------------------------------------------------------- what is believed


def test_before_any_measurement_the_ratio_is_assumed():
    problem = problem_of(named=[Metric("y1", sigma=0.3), Metric("y2", sigma=2.0)])
    belief = believe(problem, *nothing(problem))
    assert belief.sigma.tolist() == [0.3, 2.0]
    assert belief.spread.tolist() == [1.5, 10.0]
    assert not belief.relative.any()
    assert belief.said == "candidates that differ by about five times the noise"


def test_of_an_unknown_noise_only_the_ratio_is_meant():
    problem = problem_of(named=[Metric("y1", sigma=0.3), Metric("y2", "min", scale="log")])
    belief = believe(problem, *nothing(problem))
    assert (belief.sigma.tolist(), belief.spread.tolist()) == ([0.3, 1.0], [1.5, 5.0])
    assert belief.relative.tolist() == [False, True]
    assert belief.said.endswith("no tolerance, as the noise is unknown")
    seen = outlook(problem, FixedDesign(delta=0.05, epsilon=0.1, budget=200), belief, 3)
    assert (seen.relative, seen.near) == (["y2"], 0.0)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_the_log_scale_says_ratios_but_not_of_multiples_of_the_noise(sigma):
    policy, seen = FixedDesign(delta=0.05, epsilon=0.1, budget=160), []
    for scale in ("linear", "log"):
        problem = problem_of(named=[Metric("y", sigma=sigma, scale=scale)])
        seen.append(outlook(problem, policy, believe(problem, *nothing(problem)), 3))
    assert 0 < seen[0].epsilon["y"] < math.inf
    expected = seen[0].epsilon["y"] if sigma is None else math.expm1(seen[0].epsilon["y"])
    assert seen[1].epsilon["y"] == pytest.approx(expected, rel=1e-12)


def test_bounded_metrics_spread_over_their_range():
    named = [Metric("y1", bounds=(2.0, 8.0)), Metric("y2", kind="proportion", of=25)]
    problem = problem_of(named=named)
    belief = believe(problem, *nothing(problem))
    assert belief.sigma.tolist() == [3.0, 0.1]
    assert belief.spread == pytest.approx(np.array([6.0, 1.0]) / math.sqrt(12.0))
    assert belief.said.startswith("bounded metrics spread over their range")


def test_measurements_say_noise_and_spread():
    """The spread is corrected for the error of the means: var(estimates) - sigma^2 / n."""
    problem = problem_of(K=200, named=metrics(sigma=None))
    rng = np.random.default_rng(3)
    means = rng.standard_normal((200, 2)) * [1.0, 0.25]
    arms = np.repeat(np.arange(200), 2)
    tally = Tally.of(200, arms, means[arms] + rng.standard_normal((400, 2)) * [1.0, 0.5])
    belief = believe(problem, tally, nothing(problem)[1])
    assert belief.sigma == pytest.approx([1.0, 0.5], rel=0.15)  # 3 / sqrt(2 * 200 degrees)
    raw = tally.means.var(axis=0, ddof=1)
    assert belief.spread**2 == pytest.approx(raw - belief.sigma**2 / 2, rel=1e-9)
    assert not belief.relative.any()
    assert belief.said == "candidates that differ as the 400 measurements so far say"


def test_candidates_that_do_not_differ_have_no_spread():
    problem = problem_of(K=4, named=[Metric("y", sigma=1.0)])
    tally = Tally.of(4, [0, 1, 2, 3], [[0.1], [0.0], [0.1], [0.0]])
    assert believe(problem, tally, nothing(problem)[1]).spread.tolist() == [0.0]
    few = Tally.of(4, [0, 1, 2], [[9.0], [0.0], [5.0]])
    assert believe(problem, few, nothing(problem)[1]).spread.tolist() == [5.0]


def test_a_study_takes_its_own_measurements():
    study = fresh(epsilon=0.1, budget=60)
    before = study.outlook(runs=3)
    study.tell([measured(request) for request in study.ask()])
    after = study.outlook(runs=3)
    told = study.status().done
    assert f"{told} measurements" in after.assumed
    assert (after.undecided, after.epsilon) != (before.undecided, before.epsilon)


# ---------------------------------------------------------------- worlds and values


def test_means_are_linear_in_the_features_and_spread_as_believed():
    problem = problem_of(K=40, features=["a", "b"], b=np.square(np.linspace(0, 9, 40)).tolist())
    belief = replace(believe(problem, *nothing(problem)), spread=np.array([1.0, 3.0]))
    rng, X = np.random.default_rng(0), problem.setting.X
    worlds = [forecast._world(problem.setting, belief, rng) for _ in range(1500)]
    for mu in worlds[:3]:
        fitted = X @ np.linalg.lstsq(X, mu, rcond=None)[0]
        assert fitted == pytest.approx(mu, abs=1e-9)
    variance = np.mean([mu.var(axis=0) for mu in worlds], axis=0)
    assert variance == pytest.approx([1.0, 9.0], rel=0.15)
    assert "means linear in the features" in believe(problem, *nothing(problem)).said


def test_exact_metrics_are_as_known_and_drawn_without_ties_where_not():
    named = [Metric("y", sigma=1.0), Metric("a", exact=True, known="a"), Metric("z", exact=True)]
    problem = problem_of(named=named)
    exact = problem.setting.known.copy()
    exact[:4, 2] = [5.0, 5.0, 6.0, 7.0]
    belief = believe(problem, nothing(problem)[0], exact)
    mu = forecast._world(problem.setting, belief, np.random.default_rng(1))
    assert mu[:, 1].tolist() == np.linspace(-1, 1, K).tolist()
    assert mu[:4, 2].tolist() == [5.0, 5.0, 6.0, 7.0]
    assert len({*mu[4:, 2].tolist()} - {5.0, 6.0, 7.0}) == K - 4
    seen = outlook(problem, FixedDesign(delta=0.05, epsilon=0.1, budget=160), belief, 3)
    assert list(seen.epsilon) == ["y"]


def test_only_exact_metrics_are_decided_by_one_look():
    problem = problem_of(named=[Metric("z", exact=True)])
    policy = FixedDesign(delta=0.05, epsilon=0.1, budget=160)
    belief = believe(problem, *nothing(problem))
    seen = outlook(problem, policy, belief, 3)
    assert (seen.out, seen.inside, seen.measurements) == (K - 1, 1, K)  # no ties: one is best
    assert seen.assumed == "exact metrics drawn at random where they are not known"


def test_drawn_tallies_have_the_law_of_values():
    """20,000 arms of n = 4: mean and variance of both statistics within 5 standard errors."""
    n, sigma = 20_000, np.array([2.0, 0.0])
    mu = np.full((n, 2), 3.0)
    counts = np.full(n, 4)
    counts[0] = 0
    tally = forecast._drawn(mu, sigma, counts, np.random.default_rng(2))
    assert not tally.means[0].any()
    assert not tally.m2[0].any()
    assert (tally.means[1:, 1] == 3.0).all()
    assert not tally.m2[:, 1].any()
    means, m2 = tally.means[1:, 0], tally.m2[1:, 0]
    assert abs(means.mean() - 3.0) < 5 * 1.0 / math.sqrt(n)
    assert abs(means.var() - 1.0) < 5 * math.sqrt(2 / n)
    assert abs(m2.mean() - 12.0) < 5 * math.sqrt(2 * 3 * 16 / n)
    assert m2.var() == pytest.approx(2 * 3 * 16, rel=0.1)
    single = forecast._drawn(mu, sigma, np.ones(n, dtype=np.int64), np.random.default_rng(2))
    assert not single.m2.any()


# ---------------------------------------------------------------- which method, and why none


def test_the_own_method_is_held_to_the_budget():
    fixed = FixedDesign(delta=0.05, budget=70)
    assert certified_method(fixed, Wishes(budget=500)) is fixed
    rounds = certified_method(GEGE(0.05, 0.1), Wishes(budget=500))
    assert rounds == GEGE(0.05, 0.1, max_samples=500)
    own = GEGE(0.05, 0.1, max_samples=300)
    assert certified_method(own, Wishes()) == own
    assert certified_method(own, Wishes(budget=500)) == own
    instead = certified_method(OneShot(60), Wishes(delta=0.1, epsilon=0.2, budget=60))
    assert instead == FixedDesign(delta=0.1, epsilon=0.2, budget=60)


def test_nothing_is_said_without_a_budget_with_too_small_a_one_or_for_too_many():
    assert fresh(epsilon=0.1).outlook() == NoOutlook("no budget was given")
    assert certified_method(OneShot(60), Wishes()) == NoOutlook("no budget was given")
    problem = problem_of()
    belief = believe(problem, *nothing(problem))
    refused = outlook(problem, FixedDesign(delta=0.05, budget=5), belief)
    assert "budget 5 is too small" in refused.reason
    many = problem_of(K=2001)
    refused = outlook(many, FixedDesign(delta=0.05, budget=9000), believe(many, *nothing(many)))
    assert refused.reason == "2001 candidates are too many to simulate in a moment"


def test_many_candidates_are_simulated_less_often():
    """The number of runs is counted from K, d and the rounds, not timed: the answer repeats."""
    policy = FixedDesign(delta=0.05, budget=10_000)
    runs = [forecast._affordable(policy, problem_of(K=k).setting) for k in (48, 700, 2000)]
    assert runs[0] >= forecast.RUNS > runs[1] > runs[2] == 3


# ---------------------------------------------------------------- what comes next


def test_peek_is_the_next_ask_and_stores_nothing():
    study = fresh(epsilon=0.3, budget=100_000)
    events = len(list(study.ledger.read()))
    for n in (2, 3, None):
        seen = study.peek(n)
        assert seen == study.peek(n)
        assert len(list(study.ledger.read())) == events
        assert not any(request in study.pending() for request in seen)
        assert study.ask(n) == seen
        events += 1
    assert study.peek() == []
    with pytest.raises(UsageError, match="at least one measurement, not 0"):
        study.peek(0)
    study.tell([measured(request) for request in study.pending()])
    finish(study)
    assert study.peek() == []


def test_peek_sees_what_others_have_asked_for():
    study = fresh(epsilon=0.3)
    other = type(study)(study.ledger)
    assert other.ask(2) == other.pending()
    assert study.peek(1) == other.peek(1)
    assert study.peek(1)[0] not in other.pending()


def test_chances_are_drawn_when_they_are_read(monkeypatch):
    calls = []
    drawn = result.probabilities

    def counted(*args):
        calls.append(args)
        return drawn(*args)

    monkeypatch.setattr("paretoscope.study.result.probabilities", counted)
    study = fresh(epsilon=0.3)
    study.tell([measured(request) for request in study.ask()])
    status = study.status()
    assert calls == []
    assert status.front == status.front
    assert len(calls) == 1
