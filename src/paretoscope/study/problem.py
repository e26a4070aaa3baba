"""The only translator: names, units and directions outside; indices and maximisation inside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.setting import Noise, Setting
from paretoscope.study import columns
from paretoscope.study.columns import Names
from paretoscope.study.features import Features
from paretoscope.study.metric import Metric

Row = tuple[float | None, ...]


@dataclass(frozen=True)
class Candidates:
    """What can be measured: an id each, and columns of numbers or text.

    Attributes
    ----------
    ids : sequence of str
        A tuple, or names that are made when they are asked for (see `columns`).
    columns : dict of sequences
        Values as they were given: a command receives "08" as "08".
    """

    ids: Sequence[str]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ids:
            raise DataError("there are no candidates: give at least one row")
        if not isinstance(self.ids, Names):  # these differ, and have no blanks
            _check_names(self.ids)
        for name, values in self.columns.items():
            if len(values) != len(self.ids):
                raise DataError(f"column {name!r} has {len(values)} values, not {len(self.ids)}")

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each id."""
        if isinstance(self.ids, Names):
            return self.ids.places
        return {name: k for k, name in enumerate(self.ids)}

    def row(self, k: int) -> dict[str, Any]:
        """The columns of one candidate."""
        return {name: values[k] for name, values in self.columns.items()}

    def to_plain(self) -> dict[str, Any]:
        """Ids and columns as JSON values."""
        # a list of pairs: the store sorts the keys of a dict, and columns have an order
        return {
            "ids": columns.to_plain(self.ids),
            "columns": [[name, columns.to_plain(v)] for name, v in self.columns.items()],
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Candidates:
        """The candidates written by `to_plain`."""
        made = {name: columns.from_plain(values) for name, values in plain["columns"]}
        return Candidates(columns.names_from_plain(plain["ids"], made), made)


def _check_names(ids: Sequence[str]) -> None:
    """Refuse names that are the same, empty or padded."""
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            raise DataError(
                f"candidate id {name!r} stands in row {seen[name] + 1} and in row {row + 1}:"
                " ids must differ"
            )
        if not name or name != name.strip():
            raise DataError(f"candidate id {name!r} in row {row + 1} is empty or padded")
        seen[name] = row


@dataclass(frozen=True)
class Problem:
    """Candidates, metrics and features of a study."""

    candidates: Candidates
    metrics: tuple[Metric, ...]
    features: Features | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.metrics:
            raise UsageError("a study needs at least one metric")
        names = [metric.name for metric in self.metrics]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"metric {name!r} is given twice")
        reserved = {"uid", "candidate", "replicate", "round", "note", "n", "failed", "where"}
        clash = reserved & {*names}
        if clash:
            raise UsageError(f"metric {min(clash)!r}: the name is a column of every sheet")
        for metric in self.metrics:
            if metric.known is not None:
                self._known_column(metric)

    @property
    def K(self) -> int:
        """Number of candidates."""
        return len(self.candidates.ids)

    @property
    def d(self) -> int:
        """Number of metrics."""
        return len(self.metrics)

    @cached_property
    def exact(self) -> BoolArray:
        """Which metrics have no noise."""
        return np.array([metric.exact for metric in self.metrics])

    def _known_column(self, metric: Metric) -> FloatArray:
        """Values of an exact metric that stand with the candidates, on the inner scale."""
        given = self.candidates.columns
        if metric.known is None or metric.known not in given:
            raise UsageError(
                f"metric {metric.name!r}: known={metric.known!r} is no column of the candidates"
            )
        values = columns.floats(given[metric.known])
        if values is None or not np.isfinite(values).all():
            raise DataError(
                f"column {metric.known!r} holds the metric {metric.name!r}: numbers only"
            )
        return np.array([metric.inward(metric.check(v)) for v in values.tolist()])

    @cached_property
    def setting(self) -> Setting:
        """What a policy is told."""
        sigma = np.array([1.0 if m.exact else m.inner_sigma for m in self.metrics])
        steps = np.array([0.0 if m.exact else m.resolution for m in self.metrics])
        bounded = any(metric.bounded for metric in self.metrics)
        known = np.full((self.K, self.d), np.nan)
        for c, metric in enumerate(self.metrics):
            if metric.known is not None:
                known[:, c] = self._known_column(metric)
        return Setting(
            K=self.K,
            d=self.d,
            noise=Noise(sigma, "subgaussian" if bounded else "gaussian", steps),
            X=None if self.features is None else self.features.X,
            exact=self.exact,
            known=known if self.exact.any() else None,
            epsilon=self.epsilon,
            zeta=self.misfit,
            scale=tuple(metric.scale for metric in self.metrics),
            seed=self.seed,
        )

    @property
    def misfit(self) -> FloatArray | None:
        """What the linear model may be wrong by, per metric; None where it must hold."""
        if self.features is None or not any(metric.misfit for metric in self.metrics):
            return None
        return np.array([metric.misfit for metric in self.metrics])

    @cached_property
    def epsilon(self) -> FloatArray | None:
        """Tolerance per metric on the inner scale; None if no metric has one of its own."""
        own = [metric.tolerance for metric in self.metrics]
        if all(value is None for value in own):
            return None
        missing = [
            m.name for m, v in zip(self.metrics, own, strict=True) if v is None and not m.exact
        ]
        if missing:
            raise UsageError(
                f"metric {missing[0]!r} has no epsilon while others have: give every noisy metric"
                " one, or none"
            )
        return np.array([value or 0.0 for value in own])

    # ------------------------------------------------------------ values

    def check_row(self, values: Mapping[str, Any]) -> Row:
        """Measured values in the order of the metrics, each one checked.

        Raises
        ------
        DataError
            For a metric that does not exist, is missing, or cannot have this value.
        """
        if not values.keys() <= self._names:
            unknown = next(name for name in values if name not in self._names)
            raise DataError(f"{unknown!r} is no metric of this study")
        row: list[float | None] = []
        for metric in self.metrics:
            value = values.get(metric.name)
            if value is None and metric.known is not None:
                row.append(None)
            elif value is None:
                raise DataError(f"{metric.name} is missing")
            else:
                row.append(metric.check(_number(metric.name, value)))
        return tuple(row)

    @cached_property
    def _names(self) -> set[str]:
        """What a row may hold."""
        return {metric.name for metric in self.metrics}

    def inward(self, rows: Sequence[Sequence[float | None]]) -> FloatArray:
        """Checked rows (n, d) on the inner scale; NaN for a blank exact metric."""
        made = np.array(rows, dtype=np.float64).reshape(len(rows), self.d)
        for c, metric in enumerate(self.metrics):
            if metric.scale == "log":
                made[:, c] = [np.nan if math.isnan(v) else math.log(v) for v in made[:, c].tolist()]
            if metric.goal == "min":
                np.negative(made[:, c], out=made[:, c])
        return made

    def outward(self, inner: FloatArray) -> FloatArray:
        """Inner values (n, d) as people know them."""
        told = [
            [metric.outward(v) for v in inner[:, c].tolist()]
            for c, metric in enumerate(self.metrics)
        ]
        return np.array(told).T.reshape(inner.shape)

    # ------------------------------------------------------------ on paper

    def to_plain(self) -> dict[str, Any]:
        """The problem as JSON values, features as the numbers really used."""
        features = self.features
        return {
            "candidates": self.candidates.to_plain(),
            "metrics": [metric.to_plain() for metric in self.metrics],
            "features": None if features is None else features.to_plain(self.candidates.columns),
            "seed": self.seed,
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Problem:
        """The problem written by `to_plain`."""
        listed, made = Candidates.from_plain(plain["candidates"]), plain["features"]
        return Problem(
            candidates=listed,
            metrics=tuple(Metric.from_plain(m) for m in plain["metrics"]),
            features=None if made is None else Features.from_plain(made, listed.columns),
            seed=plain["seed"],
        )


def _number(name: str, value: Any) -> float:  # noqa: ANN401
    """A cell as a number; a boolean or a word is none."""
    if isinstance(value, (bool, np.bool_)) or value is None:
        raise DataError(f"{name} = {value!r} is not a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"{name} = {value!r} is not a number") from None
