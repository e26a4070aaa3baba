from __future__ import annotations

import doctest
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.errors import DataError, UsageError
from paretoscope.study import metric as module
from paretoscope.study.metric import Metric, parse_metric

CONTRADICTIONS = [
    ({"goal": "up"}, "give 'min' or 'max'"),
    ({"scale": "ln"}, "give 'linear' or 'log'"),
    ({"kind": "share"}, "give 'proportion' or nothing"),
    ({"statistic": "mode"}, "mean, median or pNN"),
    ({"kind": "proportion"}, "needs of="),
    ({"kind": "proportion", "of": 0}, "needs of="),
    ({"of": 10}, "belongs to kind='proportion'"),
    ({"kind": "proportion", "of": 10, "scale": "log"}, "needs the linear scale"),
    ({"known": "area"}, "set exact=True"),
    ({"exact": True, "sigma": 1.0}, "exact metric has no sigma"),
    ({"exact": True, "bounds": (0, 1)}, "exact metric has no sigma"),
    ({"exact": True, "kind": "proportion", "of": 3}, "exact metric has no sigma"),
    ({"sigma": 1.0, "bounds": (0, 1)}, "give one of sigma, bounds"),
    ({"sigma": 1.0, "kind": "proportion", "of": 3}, "give one of sigma, bounds"),
    ({"bounds": (0, 1), "scale": "log"}, "bounds need the linear scale"),
    ({"bounds": (1, 1)}, "low below high"),
    ({"bounds": (0, math.inf)}, "finite"),
    ({"bounds": (math.nan, 1)}, "finite"),
    ({"bounds": (1,)}, "give (low, high)"),
    ({"bounds": ()}, "give (low, high)"),
    ({"sigma": 0}, "a positive number, or 'unknown'"),
    ({"sigma": -1.0}, "a positive number"),
    ({"sigma": math.nan}, "a positive number"),
    ({"sigma": "0.1"}, "a positive number"),
    ({"resolution": -1.0}, "not negative"),
    ({"resolution": 0.1, "scale": "log"}, "resolution needs the linear scale"),
    ({"epsilon": -0.1}, "negative"),
    ({"epsilon": math.nan}, "negative"),
    ({"epsilon": "2%"}, "set scale='log'"),
    ({"epsilon": "two"}, "neither a number nor per cent"),
    ({"epsilon": "-2%", "scale": "log"}, "neither a number nor per cent"),
    ({"colour": "red"}, "no option 'colour'"),
]


@pytest.mark.parametrize(("options", "remedy"), CONTRADICTIONS)
def test_contradictions_are_refused_with_a_remedy(options, remedy):
    with pytest.raises(UsageError) as caught:
        Metric("y", **options)
    assert remedy in str(caught.value)
    assert "'y'" in str(caught.value)


def test_a_metric_needs_a_name():
    with pytest.raises(UsageError, match="needs a name"):
        Metric("")


def test_per_cent_is_the_logarithm_of_a_ratio():
    assert Metric("t", "min", scale="log", epsilon="2%").tolerance == pytest.approx(
        math.log(1.02), rel=1e-14
    )
    assert Metric("t", "min", scale="log", epsilon=" 1e1 % ").tolerance == math.log1p(0.1)
    assert Metric("t", epsilon="0.5").tolerance == 0.5
    assert Metric("t").tolerance is None


def test_noise_scales():
    assert Metric("y", bounds=(-1, 3)).inner_sigma == 2.0
    assert Metric("y", kind="proportion", of=25).inner_sigma == 0.1
    assert Metric("y", sigma=0.3).inner_sigma == 0.3
    assert math.isnan(Metric("y").inner_sigma)
    assert math.isnan(Metric("y", sigma="unknown").inner_sigma)
    assert [Metric("y", bounds=[0, 1]).bounded, Metric("y", sigma=1).bounded] == [True, False]


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("scale", ["linear", "log"])
@given(value=st.floats(1e-6, 1e6))
def test_inward_and_outward_are_inverse_and_order_by_goal(goal, scale, value):
    metric = Metric("y", goal, scale=scale)
    assert metric.outward(metric.inward(value)) == pytest.approx(value, rel=1e-13)
    better = value * 0.5 if goal == "min" else value * 2.0
    assert metric.inward(better) > metric.inward(value)


@pytest.mark.parametrize(
    ("metric", "value", "said"),
    [
        (Metric("y"), math.nan, "not finite"),
        (Metric("y"), -math.inf, "not finite"),
        (Metric("y", scale="log"), 0.0, "positive"),
        (Metric("y", bounds=(0, 2)), 2.1, r"outside \[0, 2\]"),
        (Metric("y", kind="proportion", of=4), -0.1, r"outside \[0, 1\]"),
    ],
)
def test_values_that_cannot_be_are_refused(metric, value, said):
    with pytest.raises(DataError, match=said):
        metric.check(value)


def test_values_at_the_bounds_are_measurements():
    assert Metric("y", bounds=(0, 2)).check(2) == 2.0
    assert Metric("y", kind="proportion", of=4).check(0) == 0.0


@pytest.mark.parametrize(
    "metric",
    [
        Metric("y"),
        Metric("t", "min", unit="ms", scale="log", epsilon="2%", statistic="p99.9"),
        Metric("p", bounds=(0, 1), resolution=0.5),
        Metric("a", "min", exact=True, known="area"),
        Metric("q", kind="proportion", of=30, epsilon=0.1),
    ],
)
def test_on_paper_and_back(metric):
    assert Metric.from_plain(metric.to_plain()) == metric


def test_short_form():
    assert parse_metric("y") == Metric("y")
    assert parse_metric("t:min:ms:log:p99") == Metric(
        "t", "min", unit="ms", scale="log", statistic="p99"
    )
    assert parse_metric("q::%:proportion=20") == Metric("q", unit="%", kind="proportion", of=20)
    assert parse_metric("a:min::known=area") == Metric("a", "min", exact=True, known="area")
    assert parse_metric("a:min::exact:median").statistic == "median"


@pytest.mark.parametrize("text", ["t:min:ms:cold", "t:up", "q:::proportion=x", "a:::known="])
def test_short_forms_that_mean_nothing(text):
    with pytest.raises(UsageError):
        parse_metric(text)


def test_examples():
    assert doctest.testmod(module).failed == 0


def test_numbers_of_numpy_are_numbers():
    made = Metric("y", sigma=np.float32(0.5), epsilon=np.int64(1), resolution=np.float64(0.1))
    share = Metric("s", kind="proportion", of=np.int64(20))
    bounded = Metric("b", bounds=np.array([0, 1]).tolist())
    ranged = Metric("b", bounds=(np.int64(0), np.int64(1)))
    assert (made.sigma, made.epsilon, share.of) == (0.5, 1, 20)
    assert bounded == ranged
    for metric in (made, share, ranged):
        assert Metric.from_plain(json.loads(json.dumps(metric.to_plain()))) == metric
