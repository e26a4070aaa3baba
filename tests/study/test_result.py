from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies.base import Certificate, Tally, Verdict
from paretoscope.policies.fixed import FixedDesign
from paretoscope.policies.gege import GEGE
from paretoscope.policies.uniform import Uniform
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Candidates, Problem
from paretoscope.study.result import Estimate, Result, estimate, probabilities
from tests.study.lab import MEANS, SIGMA, finish, fresh, linear_world, measured, metrics


def result_of(mu, epsilon, kept=None):
    """A result with these estimates, whose candidates are kept."""
    K, d = mu.shape
    problem = Problem(
        Candidates(tuple(f"c{k}" for k in range(K))), tuple(Metric(f"y{c + 1}") for c in range(d))
    )
    none = np.zeros(K, dtype=bool)
    mask = ~none if kept is None else kept
    certificate = Certificate(True, "", 0.1, np.full(d, epsilon), "", (), 0, np.zeros(d))
    verdict = Verdict(mask, none, ~mask, none, none, (), certificate)
    found = Estimate(mu, np.zeros_like(mu), np.ones(d), 1)
    return Result(problem, verdict, certificate, found, np.ones(K, dtype=np.int64))


def covered(mu, chosen, tolerance):
    return all(any((mu[j] + tolerance >= mu[k]).all() for j in chosen) for k in range(len(mu)))


@pytest.mark.parametrize("seed", range(25))
def test_cover_is_the_smallest_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    mu, epsilon = rng.standard_normal((K, d)).round(1), float(rng.choice([0.1, 0.5, 1.0]))
    chosen = [int(name[1:]) for name in result_of(mu, epsilon).cover()]
    assert covered(mu, chosen, epsilon)
    least = next(
        n
        for n in range(1, K + 1)
        if any(covered(mu, some, epsilon) for some in combinations(range(K), n))
    )
    assert len(chosen) == least


def test_cover_looks_at_kept_candidates_and_named_tolerances():
    mu = np.array([[0.0, 1.0], [1.0, 0.0], [0.9, 0.05], [5.0, 5.0]])
    kept = np.array([True, True, True, False])
    result = result_of(mu, 0.0, kept)
    assert result.cover() == ["c0", "c1", "c2"]
    assert len(result.cover({"y1": 0.1, "y2": 0.05})) == 2
    assert len(result.cover({"y1": 1.0, "y2": 1.0})) == 1
    with pytest.raises(UsageError, match="'y9' is no metric"):
        result.cover({"y9": 1.0})
    assert result_of(mu, 0.0, ~kept).cover() == ["c3"]
    assert result_of(mu, 0.0, kept & False).cover() == []


def test_a_finished_study_by_name():
    study = fresh(epsilon=0.1)
    finish(study)
    result = study.result()
    assert result.certified
    assert set(result.pareto_set) == {"0", "1", "2", "5"}
    assert set(result.rejected) == {"3", "4"}
    assert result.undecided == result.infeasible == []
    assert sorted(result.pareto_set) == sorted(result.accepted + result.near)
    assert result.status[3:5] == ["rejected"] * 2
    assert all(value <= 0.1 for value in result.achieved_epsilon.values())
    by = {row["candidate"]: row for row in result.margins if row["verdict"] == "rejected"}
    assert set(by) == {"3", "4"}
    assert all(row["margin"] >= row["needed"] and row["by"] in "0125" for row in by.values())


def test_the_table_is_in_the_metrics_own_units():
    named = [Metric("y1", "min", sigma=0.05, scale="log", epsilon="10%"), metrics()[1]]
    named[1] = Metric("y2", sigma=SIGMA, epsilon=0.3)
    study = fresh(metrics=named, epsilon=0.0)
    world = np.column_stack([MEANS[:, 0] + 2.0, MEANS[:, 1]])
    while batch := study.ask():
        rows = [measured(request, means=world) for request in batch]
        study.tell([row | {"y1": float(np.exp(row["y1"] * 0.25))} for row in rows])
    result = study.result()
    for k, row in enumerate(result.table()):
        assert row["y1 low"] < row["y1"] < row["y1 high"]
        assert row["y1"] == pytest.approx(np.exp(0.25 * world[k, 0]), rel=0.2)
        assert row["a"] == k
        assert row["n"] == sum(f"c{k}n" in uid for uid in study._book.values)
    assert result.achieved_epsilon["y1"] == np.expm1(result.certificate.achieved_epsilon[0])
    empty = fresh(metrics=named).result().table()[0]
    assert (empty["y1"], empty["y2 low"], empty["n"]) == (None, None, 0)


def test_columns_never_hide_what_the_table_says():
    columns = {"candidate": ["x", "y"], "n": [7, 8], "y1": [5.0, 6.0]}
    study = fresh(candidates=columns, epsilon=0.1)
    row = study.result().table()[1]
    assert (row["candidate"], row["n"], row["y1"]) == ("1", 0, None)


def test_estimates_are_means_with_intervals_of_the_right_width():
    study = fresh(method=Uniform(60), metrics=metrics(1.0))
    (batch,) = finish(study, sigma=1.0)
    found = study.result()
    rows = [measured(r, sigma=1.0) for r in batch]
    mine = np.array([[r["y1"], r["y2"]] for r in rows if r["candidate"] == "2"])
    assert found.found.mu[2] == pytest.approx(mine.mean(axis=0))
    t54 = 2.004879  # 0.975 quantile of Student's t with 54 degrees of freedom, from tables
    assert found.found.half[2] == pytest.approx(np.full(2, t54 / np.sqrt(10)), rel=1e-5)


def test_probabilities_are_those_of_a_coin_between_equals():
    problem = Problem(Candidates(("a", "b", "c")), (Metric("y", sigma=1.0),))
    tally = Tally(np.full(3, 100), np.array([[1.0], [1.0], [-9.0]]), np.full((3, 1), 99.0))
    chance = probabilities(problem, estimate(problem, tally, np.full((3, 1), np.nan)), tally, 0)
    assert chance[:2] == pytest.approx([0.5, 0.5], abs=0.1)
    assert chance[0] + chance[1] == pytest.approx(1.0)
    assert chance[2] == 0.0


def test_equal_features_are_one_arm():
    x = [0.0, 1.0, 1.0, 2.0, 2.0]
    study = fresh(candidates={"x": x}, features=["x"], method=Uniform(40), metrics=metrics(1.0))
    (batch,) = finish(study, sigma=1.0)
    rows = [measured(request, sigma=1.0) for request in batch]
    Z = np.array([[1.0, x[int(row["candidate"])]] for row in rows])
    Y = np.array([[row["y1"], row["y2"]] for row in rows])
    theta, squares = np.linalg.lstsq(Z, Y, rcond=None)[:2]
    found = study.result().found
    assert found.mu == pytest.approx(np.column_stack([np.ones(5), x]) @ theta)
    assert found.nu == len(rows) - 2
    unknown = fresh(candidates={"x": x}, features=["x"], method=Uniform(40), metrics=metrics(None))
    finish(unknown, sigma=1.0)
    assert unknown.result().found.sigma == pytest.approx(np.sqrt(squares / found.nu))


def test_all_exact_metrics_are_certain():
    study = fresh(
        candidates={"a": [1, 2]}, metrics=[Metric("y1", exact=True), Metric("y2", exact=True)]
    )
    finish(study, exact=(0, 1))
    status = study.status()
    assert (status.result.pareto_set, status.front) == (["0", "1"], [("0", 1.0), ("1", 1.0)])
    assert status.result.certified


LINE = {"candidates": {"x": np.linspace(-1, 1, 20).tolist()}, "features": ["x"], "epsilon": 0.3}
X = np.linspace(-1, 1, 20)


def test_a_linear_truth_passes_the_test_and_says_what_would_have_been_found():
    study = fresh(**LINE)
    finish(study, means=np.column_stack([X, -0.5 * X]))
    certificate = study.result().certificate
    assert certificate.certified
    assert any("the linear model was tested" in said for said in certificate.assumptions)
    assert certificate.pulls == len(study._book.values)


@pytest.mark.parametrize(
    "method", ["auto", FixedDesign(delta=0.1, epsilon=0.3, budget=60, looks=3)]
)
def test_a_crooked_truth_is_refused_by_name(method):
    study = fresh(**LINE | {"method": method, "epsilon": 0.3 if method == "auto" else 0.0})
    finish(study, means=np.column_stack([X, 3.0 * X**2]))
    result = study.result()
    assert "the linear model does not fit y2" in result.certificate.reason
    assert "give richer features" in result.certificate.reason
    assert not result.certified


def test_a_linear_study_that_cannot_test_its_fit_is_not_certified():
    """Of three candidates on a line, one cannot be measured: two points fit any line."""
    study = fresh(candidates={"x": [-1.0, 0.0, 1.0]}, features=["x"], epsilon=0.5)
    while batch := study.ask():
        for request in batch:
            row = measured(request, means=MEANS[[0, 1, 2]])
            study.tell([{"uid": request.uid, "failed": "dry"} if request.candidate == "1" else row])
    result = study.result()
    assert (result.undecided, result.infeasible) == ([], ["1"])
    assert (result.certified, result.certificate.reason) == (False, "linearity untested")


def test_as_many_features_as_candidates_fit_any_truth():
    corners = {"candidates": np.eye(3), "features": np.eye(3), "intercept": False}
    study = fresh(**corners, epsilon=0.5)
    finish(study, means=MEANS[:3])
    assert study.result().certified
    assert not any(uid.startswith("q") for uid in study._book.values)


def test_without_features_there_is_nothing_to_test():
    study = fresh(method=GEGE(delta=0.1, epsilon=0.3))
    finish(study)
    assert study.result().certified
    assert not any("linear" in said for said in study.result().certificate.assumptions)
    assert linear_world()[1].shape == (12, 2)


def test_what_is_certified_of_a_median_is_said():
    named = [Metric("y1", sigma=0.2, statistic="p99"), Metric("y2", sigma=0.2)]
    study = fresh(metrics=named, epsilon=0.3)
    finish(study)
    said = study.result().certificate.assumptions
    assert "y1: what is certified is the expectation of the p99 of one measurement" in said
    assert not [text for text in said if text.startswith("y2")]
