"""Columns that are made when they are asked for are the lists that they stand for."""

from __future__ import annotations

import doctest
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope import bulk, product
from paretoscope.errors import DataError, UsageError
from paretoscope.policies import packing
from paretoscope.policies.packing import LONG, pack, unpack
from paretoscope.study import columns
from paretoscope.study.columns import Coded, Cycle, Numbers, Parts, RowNumbers, of_text
from paretoscope.study.features import build_features
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Candidates, Problem

LEVELS = st.lists(st.integers(-5, 99) | st.text("abc08.", min_size=1), min_size=1, max_size=4)
FACTORS = st.dictionaries(st.text("xyz", min_size=1), LEVELS, min_size=1, max_size=4)


@pytest.mark.parametrize("module", [packing, bulk])
def test_the_examples_hold(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0


def stored(values):
    """What comes back from JSON."""
    return columns.from_plain(json.loads(json.dumps(columns.to_plain(values), allow_nan=False)))


COLUMNS = {
    "floats": (Numbers(np.array([0.1, -2.5, 1e300])), [0.1, -2.5, 1e300]),
    "integers": (Numbers(np.array([3, 0, -7])), [3, 0, -7]),
    "texts of floats": (Numbers(np.array([0.5, 2.0]), text=True), ["0.5", "2.0"]),
    "codes": (Coded(["08", "x"], np.array([1, 0, 0])), ["x", "08", "08"]),
    "a cycle": (Cycle(("a", "b"), 2, 8), ["a", "a", "b", "b", "a", "a", "b", "b"]),
    "numbers of rows": (RowNumbers(3), ["0", "1", "2"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_is_the_list_that_it_stands_for(kind):
    column, cells = COLUMNS[kind]
    assert column == cells
    assert [column[k] for k in range(len(cells))] == list(column) == cells
    assert [type(cell) for cell in column] == [type(cell) for cell in cells]
    assert column[-1] == cells[-1]
    assert column[1:] == cells[1:]
    assert column != [*cells, cells[0]]
    assert column != [None, *cells[1:]]
    with pytest.raises(IndexError):
        column[len(cells)]
    if kind != "numbers of rows":
        assert stored(column) == cells
        numbers = column.numbers()
        expected = columns.floats(cells)
        assert (numbers is None) == (expected is None)
        assert numbers is None or np.array_equal(numbers, expected)


def test_blocks_are_one_column(monkeypatch):
    monkeypatch.setattr(columns, "BLOCK", 3)
    cells = ["1", "2", "3", "x", "1", "1", "0.5"]
    made = Parts([of_text(cells[k : k + 3]) for k in range(0, 7, 3)])
    assert made == stored(made) == cells
    assert made.numbers() is None
    assert Parts([of_text(["1", "2", "3"]), of_text(["0.5"])]).numbers().tolist() == [1, 2, 3, 0.5]


@given(st.lists(st.text("0123456789.e-+x _", max_size=6), min_size=1, max_size=9))
def test_texts_come_back_letter_by_letter(cells):
    assert list(of_text(cells)) == cells
    assert list(stored(of_text(cells))) == cells


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["1", "-2"], Numbers),
        (["0.1", "-1e-05", "3.0"], Numbers),
        (["08", "1"], Coded),
        (["1e-5", *["0.25"] * 99], Numbers),
        (["1", "0.5"], Coded),
        (["1" * 30], Coded),
    ],
)
def test_what_texts_are_kept_as(cells, form):
    assert type(of_text(cells)) is form
    assert of_text(cells) == cells


@given(st.sampled_from(["f8", "i8"]), st.integers(0, 2**32), st.integers(1, 3 * LONG))
def test_arrays_come_back_bit_for_bit(kind, seed, size):
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(size) if kind == "f8" else rng.integers(-(10**9), 10**9, size)
    for given_ in (array, np.repeat(array[:1], size)):
        found = unpack(json.loads(json.dumps(pack(given_))))
        assert found.dtype == given_.dtype
        assert found.tobytes() == given_.tobytes()
        assert not found.flags.writeable


def test_a_damaged_array_is_refused():
    whole = pack(np.arange(2.0))
    bomb = pack(np.zeros(10 * LONG)) | {"shape": [2]}
    for wrong in ({"base64": "AA"}, {"shape": [3]}, {"base64": "%"}, {"type": "no"}):
        with pytest.raises(DataError, match="damaged"):
            unpack(whole | wrong)
    assert "zlib" in bomb
    with pytest.raises(DataError, match="damaged"):
        unpack(bomb)


# ---------------------------------------------------------------- products


@given(FACTORS)
def test_a_product_is_the_product_of_its_lists(factors):
    factors = {name: list(dict.fromkeys(map(str, some))) for name, some in factors.items()}
    rows = list(itertools.product(*factors.values()))
    made = product(**factors)
    assert made.columns == {name: [row[j] for row in rows] for j, name in enumerate(factors)}
    assert list(made.ids) == [",".join(row) for row in rows]
    assert [made.index[name] for name in made.ids] == list(range(len(rows)))
    again = Candidates.from_plain(json.loads(json.dumps(made.to_plain())))
    assert again == made


def test_what_is_no_name_is_not_found():
    made = product(a=[1, 2], b=["x", "y"])
    for name in ("1", "1,z", "1,x,x", "", "01,x"):
        assert name not in made.index
    plain = RowNumbers(10).places
    assert plain["9"] == 9
    assert not {"10", "-1", "01", "1.0", "", "\u0663"} & {n for n in plain.names if n in plain}
    assert [name in plain for name in ("10", "-1", "01", "", "\u0663")] == [False] * 5


def test_levels_with_commas_are_named_by_rows():
    made = product(a=["1,2", "3"], b=[1, 2])
    assert list(made.ids) == ["0", "1", "2", "3"]
    assert made.row(1) == {"a": "1,2", "b": 2}


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({}, "needs factors"),
        ({"a": []}, "at least one level"),
        ({"a": "xyz"}, "give a list"),
        ({"a": [1, 1.0, "1"]}, "twice"),
        ({"a": [1, None]}, "level None"),
        ({"a": [float("nan")]}, "finite"),
    ],
)
def test_products_that_make_no_sense_are_refused(factors, said):
    with pytest.raises(UsageError, match=said):
        product(**factors)


def test_a_million_combinations_are_a_hundred_levels():
    made = product(**{f"k{j}": list(range(10)) for j in range(6)})
    assert len(made.ids) == 10**6
    assert made.ids[123456] == "1,2,3,4,5,6"
    assert made.index["9,9,9,9,9,9"] == 999_999
    assert made.row(100_001) == {"k0": 1, "k1": 0, "k2": 0, "k3": 0, "k4": 0, "k5": 1}
    assert len(json.dumps(made.to_plain())) < 1000
    assert "..." in repr(made)


# ---------------------------------------------------------------- features on paper


def test_features_of_many_candidates_are_stored_by_where_they_come_from():
    K = LONG + 904
    rng = np.random.default_rng(0)
    x, kinds = rng.standard_normal(K), rng.integers(0, 3, K)
    made = {"x": x.tolist(), "kind": [f"level {k}" for k in kinds]}
    features = build_features(["x", "kind", "x^2"], made, K, intercept=True)
    plain = json.loads(json.dumps(features.to_plain(made)))
    assert [next(iter(source)) for source in plain["X"]["columns"][:2]] == ["constant", "column"]
    again = type(features).from_plain(plain, made)
    assert np.array_equal(again.X, features.X)
    assert (again.names, again.said) == (features.names, features.said)


def test_a_large_problem_comes_back_from_the_store():
    K = 2 * LONG
    X = np.random.default_rng(0).standard_normal((K, 3))
    listed = bulk.from_array(X)
    features = build_features(X, listed.columns, K, intercept=False)
    problem = Problem(listed, (Metric("y", sigma=1.0),), features)
    text = json.dumps(problem.to_plain())
    assert len(text) < 12 * X.size, "every number is stored once"
    again = Problem.from_plain(json.loads(text))
    assert np.array_equal(again.features.X, X)
    assert again.candidates.row(77) == {f"x{j}": X[77, j] for j in range(3)}
    assert again.candidates.ids[77] == "77"
