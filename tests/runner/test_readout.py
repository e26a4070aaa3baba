"""What the output of a command says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.errors import UsageError
from paretoscope.runner.process import Ended
from paretoscope.runner.readout import Failed, Misuse, Wanted, json_file, last_json, summary


def ended(out="", **more):
    return Ended(
        **(
            {"code": 0, "out": out, "err": "", "wall": 2.0, "cpu": 0.5, "rss": 3e6, "late": False}
            | more
        )
    )


@pytest.mark.parametrize(
    ("out", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1}\n{"a": 2}\nbye\n', {"a": 2}),
        ('{"a": 1}\n{"a": 2\n', {"a": 1}),
        ('{"a": 1}\n[1, 2]\n"text"\n3\n', {"a": 1}),
        ('  {"a": 1}  \r\n', {"a": 1}),
        ('x{"a": 1}', {}),
        ("", {}),
        ("{" * 100000, {}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
    ],
)
def test_the_last_line_that_is_an_object_counts(out, found):
    assert last_json(out) == found


def test_a_file_is_one_object_or_lines_of_them():
    assert json_file('{\n "a": 1\n}') == {"a": 1}
    assert json_file('{"a": 1}\n{"a": 2}\n') == {"a": 2}
    assert json_file("[1]") == json_file("") == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("NaN", "not finite"),
        ("Infinity", "not finite"),
        ("1" + "0" * 400, "not finite"),
        ('"fast"', "'fast' is no number"),
        ("true", "no number"),
        ("null", "no number"),
        ("{}", "no number"),
        ("[]", "empty list"),
        ("[1, NaN]", "not finite"),
    ],
)
def test_what_is_no_finite_number_is_a_failure(value, said):
    want = Wanted.of("y", statistic="mean")
    with pytest.raises(Failed, match=said):
        want.values(ended(), last_json(f'{{"y": {value}}}'))


def test_what_is_missing_shows_the_end_of_the_output():
    with pytest.raises(
        Failed, match=r"no JSON line with 'y'; its last line was 'Segmentation fault'"
    ):
        Wanted.of("y").values(ended("hi\nSegmentation fault\n\n"), {})
    with pytest.raises(Failed, match="it printed nothing"):
        Wanted.of("y").values(ended(), {})


def test_a_list_needs_a_statistic():
    told = {"latency": [float(k) for k in range(1000)]}
    with pytest.raises(Misuse, match=r"^latency: 1000 values; add :p99 or :median$"):
        Wanted.of("latency").values(ended(), told)
    values = Wanted.of("latency", statistic="p99").values(ended(), told)
    assert summary(values, "p99") == np.percentile(told["latency"], 99)


def test_patterns_take_the_last_match():
    want = Wanted.of("y", pattern=r"^took (\S+) ms")
    assert want.values(ended("took 1 ms\ntook 2.5e1 ms\n not took 3 ms"), {}) == [25.0]
    with pytest.raises(Failed, match="matches"):
        want.values(ended("nothing"), {})
    with pytest.raises(Failed, match="'soon' is no number"):
        want.values(ended("took soon ms"), {})
    with pytest.raises(Failed, match="not finite"):
        want.values(ended("took inf ms"), {})
    assert Wanted.of("wall", "ms", pattern="wall=(.)").values(ended("wall=3"), {}) == [3.0]


@pytest.mark.parametrize(
    ("name", "unit", "value"),
    [("wall", "", 2.0), ("wall", "ms", 2e3), ("cpu", "us", 5e5), ("rss", "", 3.0), ("rss", "B", 3e6), ("exit", "", 4)],
)  # fmt: skip
def test_built_in_metrics_have_units(name, unit, value):
    assert Wanted.of(name, unit).values(ended(code=4), {}) == [pytest.approx(value)]


def test_settings_that_make_no_sense_are_refused():
    for wrong in (("rss", "ms", "", ""), ("y", "", "", "("), ("y", "", "", "a")):
        with pytest.raises(UsageError):
            Wanted.of(*wrong)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    st.sampled_from(["p1", "p50", "p99", "p99.9"]),
)
def test_percentiles_are_those_of_numpy(values, statistic):
    expected = np.percentile(values, float(statistic[1:]))
    assert summary(values, statistic) == pytest.approx(expected, abs=1e-6)
    assert summary(values, "median") == pytest.approx(np.median(values), abs=1e-9)
    assert summary(values, "mean") == pytest.approx(np.mean(values), abs=1e-6)


def test_an_exact_metric_says_the_same_in_every_run():
    size = Wanted.of("size", exact=True)
    assert size.summary([3.0, 3.0, 3.0], "median") == 3.0
    with pytest.raises(Misuse, match="is 3 in one run and 4 in the next"):
        size.summary([3.0, 4.0, 3.0], "median")
