from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from paretoscope.errors import DataError, UsageError
from paretoscope.study.features import build_features, check_formula

COLUMNS = {"a": [1.0, 2.0, 3.0, 6.0], "kind": ["x", "y", "x", "z"], "same": [5, 5, 5, 5]}


def build(spec, columns=COLUMNS, *, intercept=True):
    return build_features(spec, columns, 4, intercept=intercept)


def test_no_specification_is_no_structure():
    assert build(None) is None


def test_columns_are_scaled_text_is_one_hot_and_all_of_it_is_stated():
    made = build(["a", "kind", "same"])
    assert made.names == ("1", "a", "kind=y", "kind=z", "same")
    a = np.array(COLUMNS["a"])
    expected = [np.ones(4), (a - 3.0) / a.std(), [0, 1, 0, 0], [0, 0, 0, 1], np.zeros(4)]
    assert np.allclose(made.X, np.array(expected).T, atol=1e-15)
    for word in ("scaled to mean 0 and deviation 1", "one column per level", "with an intercept"):
        assert word in made.said
    bare = build(["a"], intercept=False)
    assert bare.names == ("a",)
    assert "intercept" not in bare.said


def test_an_array_is_used_as_given():
    X = np.arange(8.0).reshape(4, 2)
    made = build(X, intercept=False)
    assert (made.X == X).all()
    assert made.names == ("x0", "x1")
    assert (build(X).X == np.column_stack([np.ones(4), X])).all()
    assert build(np.arange(4.0)).X.shape == (4, 2)


class Doubler:
    def fit_transform(self, frame):
        return np.asarray(frame[["a"]]) * 2.0


def test_a_transformer_sees_the_columns():
    made = build(Doubler(), intercept=False)
    assert made.X[:, 0].tolist() == [2.0, 4.0, 6.0, 12.0]
    assert made.said == "by Doubler"


class OneHot:
    """What scikit-learn's encoders do by default: a sparse matrix."""

    def fit_transform(self, frame):
        levels = sorted(set(frame["text"]))
        return sparse.csr_matrix([[float(v == level) for level in levels] for v in frame["text"]])


class Wordy:
    def fit_transform(self, frame):
        return [["not", "numbers"]] * len(frame)


def test_a_transformer_may_give_a_sparse_matrix_but_no_words(monkeypatch):
    columns = {"text": ["x", "y", "x"]}
    made = build_features(OneHot(), columns, 3, intercept=False)
    assert made.X.tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(UsageError, match="Wordy made no table of numbers"):
        build_features(Wordy(), columns, 3, intercept=True)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        build_features(OneHot(), columns, 3, intercept=True)


def test_a_formula():
    made = build("a + I(a**2) + C(kind) + log(a)")
    assert made.names[0] == "Intercept"
    columns = dict(zip(made.names, made.X.T, strict=True))
    assert columns["log(a)"] == pytest.approx(np.log(COLUMNS["a"]))
    assert columns["I(a ** 2)"].tolist() == [1.0, 4.0, 9.0, 36.0]
    assert columns["C(kind)[T.z]"].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert "by the formula" in made.said
    bare = build("a", intercept=False)
    assert bare.names == ("a",)


INJECTIONS = [
    "__import__('os').system('true')",
    "a.__class__",
    "a.mean()",
    "a . real",
    "open(a)",
    "eval(a)",
    "exec(a)",
    "center(a)",
    "np.log(a)",
    "os",
    "'text'",
    '"text"',
    "lambda: a",
    "[b for b in a]",
    "{a}",
    "a if a else a",
    "`a`",
    "a; a",
    "a = 3",
    "a @ a",
    "a & a",
    "log(a).__class__",
    "(a).real",
    "1 .real",
    "f\\x41",
    "Q(a)",
    "poly(a, 2)",
    "I(9**9**9)",
    "I(9 ** (9 ** 9))",
    "I(a ^ 999)",
    "I(a ** a)",
    "I(9**9.9**9)",
]


@pytest.mark.parametrize("formula", INJECTIONS)
def test_a_formula_may_name_columns_and_a_few_functions_only(formula, monkeypatch):
    def never(name):
        raise AssertionError(f"{name} was loaded before the formula was checked")

    monkeypatch.setattr("paretoscope.study.features.import_module", never)
    with pytest.raises(UsageError, match="formula"):
        build(formula)


def test_columns_may_be_called_anything_a_formula_can_name():
    check_formula("a + logic", {"a": [1], "logic": [2]})
    with pytest.raises(UsageError, match="'logic' is neither a column"):
        check_formula("a + logic", {"a": [1]})


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        (["b"], UsageError, "'b' is no column"),
        (np.ones((3, 2)), UsageError, r"\(3, 2\) for 4 candidates"),
        (np.ones((4, 2, 2)), UsageError, "one row each"),
        (np.array([[1.0], [np.nan], [1.0], [1.0]]), DataError, "candidate number 2"),
        ("log(a - 1)", DataError, "candidate number 1"),
        ("a +", UsageError, "formula"),
        ("a ~ same", UsageError, "no left side"),
        ("a | same", UsageError, "no left side and no parts"),
    ],
)
def test_what_cannot_be_a_feature_is_refused(spec, error, said):
    with pytest.raises(error, match=said) as caught:
        build(spec)
    assert "\x1b" not in str(caught.value)


def test_a_column_with_a_hole_is_refused():
    with pytest.raises(DataError, match="column 'b' of candidate number 3"):
        build(["b"], {"b": [1.0, 2.0, float("nan"), 4.0]})


def test_without_formulaic_the_remedy_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("paretoscope.study.features.import_module", missing)
    with pytest.raises(UsageError, match=r"pip install 'paretoscope\[formula\]'"):
        build("a")
