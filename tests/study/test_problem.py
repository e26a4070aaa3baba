from __future__ import annotations

import json
import math

import numpy as np
import pytest

from paretoscope.errors import DataError, UsageError
from paretoscope.study.features import build_features
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Candidates, Problem

CANDIDATES = Candidates(("p", "q", "r"), {"size": ["08", "1.10", "3"], "area": [4.0, 5.0, 6.0]})
METRICS = (
    Metric("speed", sigma=0.5, epsilon=0.1, resolution=0.25),
    Metric("time", "min", scale="log", epsilon="2%"),
    Metric("area", "min", exact=True, known="area"),
)


@pytest.mark.parametrize(
    ("ids", "columns", "said"),
    [
        ((), {}, "no candidates"),
        (("a", "b", "a"), {}, "row 1 and in row 3"),
        (("a", " b"), {}, "row 2 is empty or padded"),
        (("a", ""), {}, "row 2 is empty"),
        (("a", "b"), {"x": [1]}, "'x' has 1 values, not 2"),
    ],
)
def test_candidates_that_cannot_be_told_apart(ids, columns, said):
    with pytest.raises(DataError, match=said):
        Candidates(ids, columns)


def test_candidates_keep_their_cells():
    assert CANDIDATES.row(1) == {"size": "1.10", "area": 5.0}
    assert CANDIDATES.index["r"] == 2


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ((), "at least one metric"),
        ((Metric("y"), Metric("y")), "given twice"),
        ((Metric("uid"),), "column of every sheet"),
        ((Metric("failed"),), "column of every sheet"),
        ((Metric("where"),), "column of every sheet"),
        ((Metric("y", exact=True, known="weight"),), "no column of the candidates"),
    ],
)
def test_metrics_that_clash(metrics, said):
    with pytest.raises(UsageError, match=said):
        Problem(CANDIDATES, metrics)


def test_a_known_column_holds_numbers():
    named = Candidates(("p", "q"), {"area": [1.0, "big"]})
    with pytest.raises(DataError, match="numbers only"):
        Problem(named, (Metric("a", exact=True, known="area"),))


def test_every_noisy_metric_has_a_tolerance_or_none_has():
    with pytest.raises(UsageError, match="'b' has no epsilon while others have"):
        _ = Problem(CANDIDATES, (Metric("a", epsilon=0.1), Metric("b"))).epsilon
    assert Problem(CANDIDATES, (Metric("a"), Metric("b"))).epsilon is None
    # to the last digit but one: numpy's logarithm of a number and of an array are two functions
    relative = pytest.approx(math.log1p(0.02), rel=1e-15)
    assert Problem(CANDIDATES, METRICS).epsilon.tolist() == [0.1, relative, 0.0]


def test_what_a_policy_is_told():
    setting = Problem(CANDIDATES, METRICS, seed=5).setting
    assert (setting.K, setting.d, setting.seed, setting.X) == (3, 3, 5, None)
    assert setting.noise.sigma[0] == 0.5
    assert np.isnan(setting.noise.sigma[1])
    assert setting.noise.kind == "gaussian"
    assert setting.noise.resolution.tolist() == [0.25, 0.0, 0.0]
    assert setting.exact.tolist() == [False, False, True]
    assert setting.known[:, 2].tolist() == [-4.0, -5.0, -6.0]
    assert np.isnan(setting.known[:, :2]).all()
    assert setting.scale == ("linear", "log", "linear")
    assert not setting.to_measure.any()
    bounded = Problem(CANDIDATES, (Metric("y", bounds=(0, 1)),)).setting
    assert (bounded.noise.kind, bounded.noise.sigma.tolist()) == ("subgaussian", [0.5])


def test_rows_in_and_out():
    problem = Problem(CANDIDATES, METRICS)
    row = problem.check_row({"time": "2.0", "speed": np.float64(3)})
    assert row == (3.0, 2.0, None)
    inner = problem.inward([(3.0, 2.0, 7.0)])[0]
    assert inner.tolist() == [3.0, -np.log(2.0), -7.0]
    assert problem.outward(np.array([inner]))[0] == pytest.approx([3.0, 2.0, 7.0])
    assert np.isnan(problem.inward([row])[0, 2])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"speed": 1.0, "time": 1.0, "colour": 2}, "'colour' is no metric"),
        ({"speed": 1.0}, "time is missing"),
        ({"speed": True, "time": 1.0}, "not a number"),
        ({"speed": "fast", "time": 1.0}, "not a number"),
        ({"speed": [1], "time": 1.0}, "not a number"),
        ({"speed": 1.0, "time": -1.0}, "positive"),
        ({"speed": float("nan"), "time": 1.0}, "not finite"),
    ],
)
def test_rows_that_are_no_measurement(values, said):
    with pytest.raises(DataError, match=said):
        Problem(CANDIDATES, METRICS).check_row(values)


@pytest.mark.parametrize("spec", [None, ["size"]])
def test_on_paper_and_back(spec):
    features = build_features(spec, CANDIDATES.columns, 3, intercept=True)
    problem = Problem(CANDIDATES, METRICS, features, seed=9)
    plain = json.loads(json.dumps(problem.to_plain()))
    again = Problem.from_plain(plain)
    assert again.to_plain() == problem.to_plain()
    assert again.metrics == METRICS
    assert features is None or (again.setting.X == problem.setting.X).all()
