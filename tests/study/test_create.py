from __future__ import annotations

import re

import numpy as np
import pytest

from paretoscope.errors import LedgerError, UsageError
from paretoscope.ledger import MemoryLedger
from paretoscope.policies.gege import GEGE
from paretoscope.policies.uniform import Uniform
from paretoscope.study.definition import define, differences
from paretoscope.study.problem import Candidates
from paretoscope.study.study import Study
from tests.study.lab import fresh, metrics

BASE = {"candidates": {"id": ["p", "q"], "a": [1.0, 2.0]}, "metrics": ["y1", "y2:min"]}


def test_a_file_is_created_once_and_opened_ever_after(tmp_path):
    where = tmp_path / "w.study"
    made = Study.create(where, **BASE, epsilon=0.1, seed=4)
    asked = made.ask()
    again = Study.create(where, **BASE, epsilon=0.1, seed=4)
    opened = Study.open(where)
    for study in (again, opened):
        assert study.pending() == asked
        assert study.reason == made.reason
    assert opened.problem.candidates.ids == ("p", "q")
    with pytest.raises(LedgerError, match="create the study first"):
        Study.open(tmp_path / "none.study")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 5}, ": seed is 4 there and 5 here$"),
        ({"epsilon": 0.2}, ": asked epsilon is 0.1 there and 0.2 here$"),
        ({"metrics": ["y1", "y2"]}, ": metric y2 goal is 'min' there and 'max' here$"),
        (
            {"candidates": {"id": ["p", "r"], "a": [1.0, 2.0]}},
            "candidate q is .'a': 2.0. there and not",
        ),
        ({"candidates": {"id": ["p", "q"], "a": [1.0, 3.0]}}, ": candidate q a is 2.0 there and 3"),
        ({"candidates": {"id": ["q", "p"], "a": [2.0, 1.0]}}, ": order of candidates is"),
        ({"features": ["a"]}, ": features is not given there and .'1', 'a'. here"),
        ({"features": np.ones((2, 1))}, ": features is not given there and .'1', 'x0'. here$"),
        ({"method": GEGE(delta=0.1, epsilon=0.1)}, "method settings delta is 0.05 there and 0.1"),
    ],
)
def test_another_definition_is_refused_with_the_difference(tmp_path, change, said):
    where = tmp_path / "w.study"
    Study.create(where, **BASE | {"epsilon": 0.1, "seed": 4}).close()
    before = where.read_bytes()
    with pytest.raises(UsageError, match=said) as caught:
        Study.create(where, **BASE | {"epsilon": 0.1, "seed": 4} | change)
    assert len(str(caught.value)) < 700
    assert where.read_bytes() == before


def test_numbers_under_the_same_names_are_compared():
    one, two = (define(**BASE, features=X, epsilon=0.1) for X in (np.eye(2), 2 * np.eye(2)))
    assert differences(one, two)[0].startswith("numbers of the features is [[1.0, 1.0, 0.0], ")


def test_what_a_later_version_would_say_or_choose_is_no_difference():
    made = define(**BASE, epsilon=0.1)
    later = made | {"version": "99", "reason": "in other words", "method": {"policy": "New"}}
    assert differences(made, made | {"version": "99", "reason": "in other words"}) == []
    assert differences(made, later) == []  # "auto" would choose a new method today
    named = define(**BASE, method=GEGE(delta=0.05, epsilon=0.1), epsilon=0.1)
    said = "method policy is 'GEGE' there and 'New' here"
    assert differences(named, named | {"method": {"policy": "New"}})[0] == said


def test_many_differences_are_counted():
    one, two = (
        define(candidates=np.arange(20.0)[:, None] + k, metrics=["y"], epsilon=0.1) for k in (0, 1)
    )
    found = differences(one, two)
    assert found[0] == "candidate 0 x0 is 0.0 there and 1.0 here"
    assert (len(found), found[-1]) == (6, "and 15 more")


def test_an_empty_store_is_no_study():
    with pytest.raises(LedgerError, match="the store is empty"):
        Study(MemoryLedger())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "give an epsilon, a budget or a time"),
        ({"method": GEGE(delta=0.1)}, "give an epsilon, max_samples or max_rounds"),
        ({"metrics": "y1"}, "metrics is a list"),
        ({"metrics": []}, "at least one metric"),
        ({"epsilon": 0.1, "delta": 2.0}, "delta = 2.0"),
        ({"features": ["b"], "epsilon": 0.1}, "'b' is no column"),
        ({"method": object()}, "object cannot be written"),
    ],
)
def test_definitions_that_make_no_sense(change, said):
    with pytest.raises(UsageError, match=said):
        define(**BASE | change)


def test_candidates_come_from_dicts_arrays_and_candidates():
    settings = {"metrics": metrics(), "method": Uniform(9)}
    assert fresh(candidates=np.eye(3), **settings).problem.candidates.columns["x2"] == [0, 0, 1]
    named = Candidates(("p", "q"), {"a": ["x", "y"]})
    assert fresh(candidates=named, **settings).problem.candidates.ids == ("p", "q")
    chosen = fresh(candidates={"id": [1, 2], "name": ["u", "v"]}, id="name", **settings)
    assert chosen.problem.candidates.ids == ("u", "v")


def test_features_are_stated_and_used():
    study = fresh(candidates={"a": [1.0, 2.0, 4.0]}, features=["a"], epsilon=0.5)
    assert study.problem.features.names == ("1", "a")
    assert "with an intercept" in study._book.definition["problem"]["features"]["said"]
    bare = fresh(candidates={"a": [1.0, 2.0, 4.0]}, features=["a"], intercept=False, epsilon=0.5)
    assert bare.problem.setting.X.shape == (3, 1)
    assert fresh(epsilon=0.5).problem.setting.X is None


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ({"epsilon": {"y": 1}}, "goes into Metric(epsilon=...)"),
        ({"epsilon": "2%"}, "epsilon '2%' is no number"),
        ({"delta": "small", "epsilon": 1}, "delta 'small' is no number"),
        ({"budget": "many"}, "budget 'many' is no number"),
    ],
)
def test_terms_are_numbers(term, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Study.create(None, candidates={"x": [1, 2]}, metrics=["y:max"], **term)
