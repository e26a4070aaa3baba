"""From the columns of the candidates to the numbers of a linear model, each step stated in words.

A linear model is never assumed silently: no specification means no structure. Numeric columns are
scaled to mean 0 and standard deviation 1, text becomes one column per level but the first, and an
intercept is added unless it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.packing import LONG, pack, unpack
from paretoscope.study.columns import codes_of, floats

Columns = Mapping[str, Sequence[Any]]
# formulaic evaluates Python inside a formula: only these functions, and the columns, may be named.
FUNCTIONS = {"C", "I", "log", "log2", "log10", "sqrt", "exp"}
_ALLOWED = re.compile(r"[\w\s.+\-*/:^()~|,]*")
# 9**9**9 has 370 million digits: a power is a plain small number, and never a tower of them.
_POWER = re.compile(r"(\*\*|\^)(?!\s*\d{1,2}(\.\d+)?(?![\w.])(?!\s*(\*\*|\^)))")
_COLOUR = re.compile(r"\x1b\[[\d;]*m|[\u29db\u29da]")  # formulaic marks the place in its messages
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Features:
    """Numbers of a linear model, the name of each column, and how they were made."""

    X: FloatArray
    names: tuple[str, ...]
    said: str

    def to_plain(self, columns: Columns) -> dict[str, Any]:
        """The numbers really used as JSON values: many of them packed, or as columns of the candidates."""
        rows: Any = self.X.tolist() if len(self.X) <= LONG else _by_sources(self.X, columns)
        return {"X": rows, "names": list(self.names), "said": self.said}

    @staticmethod
    def from_plain(plain: Mapping[str, Any], columns: Columns) -> Features:
        """The features written by `to_plain`."""
        rows = plain["X"]
        if isinstance(rows, list):
            X = np.array(rows)
        else:
            made = [_of_source(source, columns, rows["rows"]) for source in rows["columns"]]
            X = np.column_stack(made)
        return Features(X, tuple(plain["names"]), plain["said"])


def build_features(spec: Any, columns: Columns, K: int, *, intercept: bool) -> Features | None:  # noqa: ANN401
    """The features a specification asks for.

    Parameters
    ----------
    spec : None, str, list of str, array or transformer
        Nothing; a formula; column names and products of them such as ``a^2`` and ``a:b``; the numbers
        themselves; anything with ``fit_transform``.
    intercept : bool
        Whether a column of ones is added (a formula says ``- 1`` itself).

    Raises
    ------
    UsageError, DataError
        If the specification names what is not there, or a cell cannot be used.
    """
    if spec is None or isinstance(spec, Features):
        return spec
    if isinstance(spec, str):
        return _by_formula(spec, columns, K, intercept=intercept)
    if hasattr(spec, "fit_transform"):
        made = _dense(spec.fit_transform(_table(columns)), type(spec).__name__)
        return _finish(made, _numbered(made), f"by {type(spec).__name__}", K, intercept=intercept)
    if isinstance(spec, (list, tuple)) and all(isinstance(name, str) for name in spec):
        return _by_columns(list(spec), columns, K, intercept=intercept)
    made = np.asarray(spec, dtype=np.float64)
    return _finish(made, _numbered(made), "as given", K, intercept=intercept)


def _dense(made: Any, who: str) -> FloatArray:  # noqa: ANN401  (an array, sparse or not, or a frame)
    """What a transformer made, as numbers; one-hot encoders give sparse matrices."""
    try:
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{who} made no table of numbers ({error})") from None


def _numbered(X: FloatArray) -> tuple[str, ...]:
    """x0, x1, ... for columns without names."""
    return tuple(f"x{k}" for k in range(X.shape[1] if X.ndim == 2 else 1))


def _finish(
    X: FloatArray, names: tuple[str, ...], said: str, K: int, *, intercept: bool
) -> Features:
    """Check the shape, add the intercept."""
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or len(X) != K:
        raise UsageError(f"features of shape {X.shape} for {K} candidates: one row each")
    if not np.isfinite(X).all():
        row = int(np.argwhere(~np.isfinite(X))[0, 0])
        raise DataError(f"the features of candidate number {row + 1} are not finite")
    if intercept:
        X, names = np.column_stack([np.ones(K), X]), ("1", *names)
        said += ", with an intercept"
    return Features(X, names, said)


def _by_columns(names: list[str], columns: Columns, K: int, *, intercept: bool) -> Features:
    """Numeric columns scaled, text one-hot without the first level; ``a^2`` and ``a:b`` are products."""
    made = [pair for name in names for pair in _term(name, columns)]
    X = np.column_stack([part for _, part in made]) if made else np.zeros((K, 0))
    said = "numeric columns scaled to mean 0 and deviation 1, text one column per level"
    if any(name not in columns for name in names):
        said += ", then multiplied"
    return _finish(X, tuple(label for label, _ in made), said, K, intercept=intercept)


def _term(name: str, columns: Columns) -> list[tuple[str, FloatArray]]:
    """A column, or a product of columns and their powers, as numbers with their names."""
    if name in columns:
        return _column(name, columns)
    made: list[tuple[str, FloatArray]] = []
    for factor in name.split(":"):
        base, _, power = (
            factor.strip().rpartition("^") if "^" in factor else (factor.strip(), "", "1")
        )
        if base not in columns or power not in {"1", "2", "3"}:
            raise UsageError(
                f"feature {name!r} is no column: there are {sorted(columns)}, and products such as"
                " a^2 and a:b"
            )
        found = [
            (label if power == "1" else f"{label}^{power}", part ** int(power))
            for label, part in _column(base, columns)
        ]
        made = [(f"{a}:{b}", x * y) for a, x in made for b, y in found] if made else found
    return made


def _column(name: str, columns: Columns) -> list[tuple[str, FloatArray]]:
    """One column as numbers with their names."""
    numbers = floats(columns[name])
    if numbers is None:
        levels, codes = codes_of(columns[name])
        return [(f"{name}={v}", (codes == k).astype(float)) for k, v in enumerate(levels) if k]
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"column {name!r} of candidate number {row + 1} is not finite")
    spread = float(numbers.std())
    return [(name, (numbers - numbers.mean()) / (spread or 1.0))]


def check_formula(formula: str, columns: Columns) -> None:
    """Refuse a formula that names anything but columns and whitelisted functions."""
    if not _ALLOWED.fullmatch(formula) or "__" in formula:
        raise UsageError(
            f"formula {formula!r}: only names, numbers and + - * / : ^ ( ) are allowed"
        )
    for name in _NAME.findall(formula):
        if name not in columns and name not in FUNCTIONS:
            raise UsageError(
                f"formula {formula!r}: {name!r} is neither a column ({', '.join(columns)}) nor one"
                f" of {', '.join(sorted(FUNCTIONS))}"
            )
    if _POWER.search(formula):
        raise UsageError(f"formula {formula!r}: powers are numbers below 100, one at a time")
    if re.search(r"[\w)]\s*\.\s*[^\W\d]", formula):
        raise UsageError(f"formula {formula!r}: attributes are not allowed")


def _by_formula(formula: str, columns: Columns, K: int, *, intercept: bool) -> Features:
    """A formula through formulaic, after the whitelist."""
    check_formula(formula, columns)
    try:
        formulaic = import_module("formulaic")
    except ImportError:
        raise UsageError(
            "a formula needs formulaic: pip install 'paretoscope[formula]', or name columns"
        ) from None
    functions = {"log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "exp": np.exp}
    text = formula if intercept else f"{formula} - 1"
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below, by its row
            matrix = formulaic.Formula(text).get_model_matrix(
                _table(columns), context=functions, na_action="raise"
            )
    except Exception as error:  # whatever formulaic raises is about the caller's formula or columns
        said = " ".join(_COLOUR.sub("", str(error)).split())
        raise UsageError(f"formula {formula!r}: {said}") from error
    if not hasattr(matrix, "columns"):
        raise UsageError(f"formula {formula!r}: features have no left side and no parts")
    names = tuple(str(name) for name in matrix.columns)
    X = np.asarray(matrix, dtype=np.float64)
    return _finish(X, names, f"by the formula {text}", K, intercept=False)


def _table(columns: Columns) -> Any:  # noqa: ANN401  (a pandas frame)
    """The columns as a data frame: numbers where all values are, text elsewhere."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise UsageError(
            "a transformer gets a pandas frame: pip install pandas, or give the numbers themselves"
        ) from None
    made = {}
    for name, values in columns.items():
        numbers = floats(values)
        made[name] = [str(v) for v in values] if numbers is None else numbers
    return pandas.DataFrame(made)


# ---------------------------------------------------------------- on paper


def _by_sources(X: FloatArray, columns: Columns) -> dict[str, Any]:
    """Each column of many features: a constant, a column of the candidates shifted and scaled, or bytes.

    What is written is checked to give the same numbers back; bytes do in any case.
    """
    given = ((name, floats(values)) for name, values in columns.items())
    known = [_Given.of(name, numbers) for name, numbers in given if numbers is not None]
    made = [_source(np.ascontiguousarray(x), known) for x in X.T]
    return {"rows": len(X), "columns": made}


class _Given(NamedTuple):
    """A column of numbers with the two ways in which it becomes a feature: as it is, and scaled."""

    name: str
    numbers: FloatArray
    ways: tuple[tuple[float, float], ...]

    @staticmethod
    def of(name: str, numbers: FloatArray) -> _Given:
        """A column with its mean and deviation."""
        scaled = float(numbers.mean()), float(numbers.std()) or 1.0
        return _Given(name, numbers, ((0.0, 1.0), scaled))


def _source(x: FloatArray, known: Sequence[_Given]) -> dict[str, Any]:
    """Where one column of the features comes from."""
    if (x == x[0]).all():
        return {"constant": float(x[0])}
    for name, numbers, ways in known:
        for less, over in ways:
            begins = np.array_equal((numbers[:8] - less) / over, x[:8])
            if begins and np.array_equal((numbers - less) / over, x):
                return {"column": name, "less": less, "over": over}
    return pack(x)


def _of_source(source: Mapping[str, Any], columns: Columns, rows: int) -> FloatArray:
    """One column of the features."""
    if "constant" in source:
        return np.full(rows, float(source["constant"]))
    if "column" not in source:
        return unpack(source)
    given = floats(columns[source["column"]])
    assert given is not None, "only columns of numbers are sources of features"
    return np.asarray((given - source["less"]) / source["over"])
