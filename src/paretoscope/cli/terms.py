"""From options and a study.toml to what `Study.create` takes."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from paretoscope.errors import UsageError
from paretoscope.policies.ape import APE
from paretoscope.policies.ege import EGESH, EGESR
from paretoscope.policies.fixed import OneShot
from paretoscope.policies.gege import GEGE
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.uniform import Uniform
from paretoscope.study import Candidates, Metric, parse_metric, plugins
from paretoscope.study.methods import TIMED_LOOKS, TIMED_ROUNDS, Wishes, fixed_design
from paretoscope.table import read_candidates

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)?")
_OPERATORS = re.compile(r"[+*/:^()~|-]")
# Types of the keys of a study.toml that are not plain text.
_KINDS: dict[str, tuple[type, ...]] = {
    "features": (str, list),
    "intercept": (bool,),
    "delta": (int, float),
    "epsilon": (int, float, str),
    "budget": (int,),
    "time": (int, float, str),
    "batches": (int,),
    "batch_size": (int,),
    "seed": (int,),
    "metrics": (list,),
}


@dataclass
class Terms:
    """Everything a study can be asked for, in the words of study.toml; None = not said."""

    candidates: str | None = None
    id: str | None = None
    features: str | list[str] | None = None
    intercept: bool | None = None
    method: str | None = None
    delta: float | None = None
    epsilon: float | str | None = None
    budget: int | None = None
    time: float | str | None = None
    batches: int | None = None
    batch_size: int | None = None
    seed: int | None = None
    delimiter: str | None = None
    decimal: Literal[".", ","] | None = None
    metrics: list[dict[str, Any]] | None = None

    def over(self, other: Terms) -> Terms:
        """These terms, and the other's where these say nothing."""
        mine = {k: v for k, v in vars(self).items() if v is not None}
        return Terms(**vars(other) | mine)


def read_terms(path: str | Path) -> Terms:
    """The terms of a study.toml; paths in it start from its folder.

    Raises
    ------
    UsageError
        If it is no TOML, or has a key or a value that makes no sense.
    """
    file = Path(path)
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # no TOML, or no UTF-8
        raise UsageError(f"{file}: {error}") from None
    known = [f.name for f in fields(Terms)]
    for key, value in found.items():
        if key not in known:
            raise UsageError(f"{file}: there is no key {key!r}: there are {', '.join(known)}")
        kinds = _KINDS.get(key, (str,))
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{file}: {key} = {value!r}: give {_names(kinds)}")
    if found.get("decimal", ".") not in {".", ","}:
        raise UsageError(f"{file}: decimal = {found['decimal']!r}: give a point or a comma")
    for table in found.get("metrics", []):
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise UsageError(f"{file}: every metric is a table [[metrics]] with a name")
    if "candidates" in found:
        found["candidates"] = str(file.parent / found["candidates"])
    return Terms(**found)


def _names(kinds: Sequence[type]) -> str:
    """Types as TOML calls them."""
    said = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list"}
    return " or ".join(dict.fromkeys(said[kind] for kind in kinds))


# ---------------------------------------------------------------- metrics


def metric_tables(short: Sequence[str], more: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Metrics in the words of study.toml: short forms, or those of a file."""
    return [parse_metric(text).to_plain() for text in short] or [dict(table) for table in more]


def add_options(
    tables: Sequence[dict[str, Any]],
    key: str,
    values: Sequence[str],
    read: Callable[[str, str], Any],
) -> None:
    """Put values of the form ``METRIC=VALUE`` where they belong."""
    by_name = {table["name"]: table for table in tables}
    for text in values:
        name, equals, value = text.rpartition("=")
        if not equals or name not in by_name:
            raise UsageError(
                f"--{key.replace('_', '-')} {text}: write METRIC=VALUE with one of the metrics {', '.join(by_name)}"
            )
        by_name[name][key] = read(text, value)


def read_number(text: str, value: str) -> float:
    """A number of an option."""
    try:
        made = float(value)
    except ValueError:
        raise UsageError(f"{text}: {value!r} is no number") from None
    if not math.isfinite(made):
        raise UsageError(f"{text}: {value} is not finite")
    return made


def read_sigma(text: str, value: str) -> float | str:
    """A noise scale, or the word that it is unknown."""
    return value if value == "unknown" else read_number(text, value)


def read_bounds(text: str, value: str) -> list[float]:
    """A lower and an upper bound."""
    parts = value.split(",")
    if len(parts) != 2:
        raise UsageError(f"{text}: write METRIC=LOW,HIGH")
    return [read_number(text, part) for part in parts]


def read_epsilon(text: str, value: str) -> float | str:
    """A tolerance: a number, or per cent."""
    return value if value.strip().endswith("%") else read_number(text, value)


# Options that are written METRIC=VALUE, and how a value is read.
_OWN: dict[str, Callable[[str, str], Any]] = {
    "sigma": read_sigma,
    "bounds": read_bounds,
    "resolution": read_number,
    "misfit": read_number,
    "timeout_value": read_number,
}


def from_options(given: dict[str, Any]) -> Terms:
    """The options of a definition over the file, if there is one."""
    config, short = given.pop("config"), given.pop("short")
    own = {key: given.pop(key, ()) for key in (*_OWN, "epsilon")}
    below = read_terms(config) if config else Terms()
    tables = metric_tables(short, below.metrics or [])
    bare = [text for text in own["epsilon"] if "=" not in text]
    if len(bare) > 1:
        raise UsageError(f"--epsilon {' and '.join(bare)}: give one that holds for all metrics")
    for key, read in _OWN.items():
        add_options(tables, key, own[key], read)
    add_options(tables, "epsilon", [t for t in own["epsilon"] if "=" in t], read_epsilon)
    epsilon = read_epsilon(f"--epsilon {bare[0]}", bare[0]) if bare else None
    return Terms(**given, epsilon=epsilon, metrics=tables).over(below)


def _metrics(terms: Terms) -> tuple[list[Metric], float]:
    """The metrics, and the tolerance of those that leave it to the method."""
    tables = [dict(table) for table in terms.metrics or []]
    if not tables:
        raise UsageError("give at least one metric: -m NAME:min or -m NAME:max")
    bare = terms.epsilon
    own = any("epsilon" in table for table in tables)
    if bare is not None and (own or isinstance(bare, str)):
        for table in tables:
            table.setdefault("epsilon", bare)
        bare = None
    return [Metric(**table) for table in tables], float(bare or 0.0)


# ---------------------------------------------------------------- the rest


def seconds(text: float | str | None) -> float | None:
    """A time such as 90, "30 min", "2h" or "5d" in seconds."""
    if text is None:
        return None
    found = _TIME.fullmatch(str(text).strip())
    if found is None or not float(found[1]):
        raise UsageError(f"time {text!r}: write a number and s, min, h or d, such as 2h")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def feature_spec(text: str | list[str] | None, columns: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Column names if all parts between commas are, else a formula if it has operators."""
    if not isinstance(text, str):
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part in columns for part in parts) and _OPERATORS.search(text):
        return text
    return parts


def _wishes(terms: Terms, epsilon: float) -> Wishes:
    """Budget and batches, each worked out from the other and the size of a batch."""
    budget, batches, size = terms.budget, terms.batches, terms.batch_size
    for name, value in (("budget", budget), ("batches", batches), ("batch size", size)):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: give at least 1")
    if size is not None:
        budget = size * batches if budget is None and batches is not None else budget
        batches = math.ceil(budget / size) if budget is not None and batches is None else batches
    delta = 0.05 if terms.delta is None else float(terms.delta)
    return Wishes(delta, epsilon, budget, batches, seconds(terms.time))


def method_named(name: str, wishes: Wishes) -> Any:  # noqa: ANN401  (a policy, or "auto")
    """The policy of a name."""
    if name == "auto":
        return name
    rounds: dict[str, Callable[..., Any]] = {
        "ape": APE,
        "gege": GEGE,
        "race": Race,
        "racing": Racing,
    }
    if name in rounds:
        capped = {} if wishes.budget is None else {"max_samples": wishes.budget}
        most = TIMED_ROUNDS if name == "gege" else TIMED_LOOKS
        timed = {"max_rounds": most} if wishes.time and not wishes.epsilon and name != "ape" else {}
        return rounds[name](delta=wishes.delta, epsilon=wishes.epsilon, **capped, **timed)
    kinds: dict[str, Callable[[Wishes], Any]] = {
        "ege-sh": lambda wishes: EGESH(wishes.budget or 0),
        "ege-sr": lambda wishes: EGESR(wishes.budget or 0),
        "fixed": fixed_design,
        "oneshot": lambda wishes: OneShot(wishes.budget or 0),
        "uniform": lambda wishes: Uniform(wishes.budget or 0),
    }
    if name not in kinds:
        return _installed(name, wishes, [*rounds, *kinds])
    if wishes.budget is None:
        raise UsageError(f"method {name} needs --budget, the measurements it may spend")
    return kinds[name](wishes)


def _installed(name: str, wishes: Wishes, ours: list[str]) -> Any:  # noqa: ANN401  (any policy)
    """A policy of another package, with the terms that it takes."""
    policy = plugins.make(name, vars(wishes))
    if policy is None:
        known = ", ".join([*ours, *plugins.installed()])
        raise UsageError(f"method {name!r}: give auto, {known}")
    return policy


def definition(terms: Terms, listed: Candidates | None = None) -> dict[str, Any]:
    """The keywords of `Study.create`.

    Parameters
    ----------
    listed : Candidates, optional
        In place of a file of them.

    Raises
    ------
    UsageError, DataError
        If an option makes no sense, or the candidates cannot be read.
    """
    if terms.candidates is None and listed is None:
        raise UsageError("give the candidates: --candidates FILE.csv, or a --config with them")
    metrics, epsilon = _metrics(terms)
    wishes = _wishes(terms, epsilon)
    marks: dict[str, Any] = {"delimiter": terms.delimiter, "decimal": terms.decimal}
    candidates = listed or read_candidates(terms.candidates, terms.id, **marks)
    return {
        "candidates": candidates,
        "metrics": metrics,
        "features": feature_spec(terms.features, candidates.columns),
        "intercept": terms.intercept is not False,
        "method": method_named(terms.method or "auto", wishes),
        "seed": terms.seed or 0,
        **vars(wishes),
    }
