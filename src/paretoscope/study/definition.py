"""From what a person has (a frame, a file, an array) to the definition of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from numbers import Real
from typing import Any

from paretoscope import table
from paretoscope.errors import UsageError
from paretoscope.stages import stage
from paretoscope.study import methods
from paretoscope.study.features import build_features
from paretoscope.study.methods import Wishes
from paretoscope.study.metric import Metric, parse_metric
from paretoscope.study.problem import Candidates, Problem
from paretoscope.version import __version__

# Why a method runs that its caller has named.
_NAMED = "as asked for"


def define(
    *,
    candidates: Any,  # noqa: ANN401  (a frame of any library, an array, a path, a dict)
    metrics: Sequence[Metric | str],
    id: str | None = None,  # noqa: A002  (the public name of the option)
    features: Any = None,  # noqa: ANN401  (formula, names, array or transformer)
    intercept: bool = True,
    method: Any = "auto",  # noqa: ANN401  (any policy)
    delta: float | None = None,
    epsilon: float | None = None,
    budget: int | None = None,
    batches: int | None = None,
    time: float | None = None,
    seed: int = 0,
    command: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The definition that `Study.on` takes; see `Study.create` for the parameters."""
    if isinstance(metrics, (str, Metric)):
        raise UsageError("metrics is a list, even of one: [Metric(...)]")
    stage("reading the candidates")
    listed = table.read_candidates(candidates, id)
    stage("making the features")
    made = build_features(features, listed.columns, len(listed.ids), intercept=intercept)
    parsed = tuple(m if isinstance(m, Metric) else parse_metric(m) for m in metrics)
    problem = Problem(listed, parsed, made, seed)
    asked = {"delta": delta, "epsilon": epsilon, "budget": budget}
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    _check_numbers(given)
    if method != "auto":
        _check_once(method, given)
    return _settled(problem, method, Wishes(**given, batches=batches, time=time), command)


def _settled(
    problem: Problem,
    method: Any,  # noqa: ANN401  (any policy)
    wishes: Wishes,
    command: dict[str, Any] | None,
) -> dict[str, Any]:
    """The definition of a problem with a method, named or chosen."""
    stage("designing the first round")
    if method == "auto":
        choice = methods.choose(problem.setting, wishes)
    else:
        methods.method_to_plain(method)  # refuses what is no method of ours
        choice = methods.Choice(methods.within_budget(method, problem.setting, wishes), _NAMED)
    method_plain = methods.method_to_plain(choice.policy)
    methods.check_terms(choice.policy, problem.setting)
    return {
        "problem": problem.to_plain(),
        "method": method_plain,
        "reason": choice.reason,
        "wishes": vars(wishes),
        "version": __version__,
        **({} if command is None else {"command": command}),
    }


def reframed(old: dict[str, Any], problem: Problem, changed: Mapping[str, Any]) -> dict[str, Any]:
    """A definition with other features, metrics or method; candidates, seed and wishes stay."""
    unknown = set(changed) - {"features", "intercept", "metrics", "method"}
    if unknown or not changed:
        what = f"not {min(unknown)!r}" if unknown else "at least one"
        raise UsageError(f"a study is reframed by features, metrics or method: {what}")
    K, features, metrics = problem.K, problem.features, problem.metrics
    if "features" in changed:
        intercept = bool(changed.get("intercept", True))
        columns = problem.candidates.columns
        features = build_features(changed["features"], columns, K, intercept=intercept)
    if "metrics" in changed:
        parsed = (m if isinstance(m, Metric) else parse_metric(m) for m in changed["metrics"])
        metrics = tuple(parsed)
        names = [metric.name for metric in problem.metrics]
        if [metric.name for metric in metrics] != names:
            raise UsageError(f"a reframed study has the same metrics in the same order: {names}")
    made = replace(problem, features=features, metrics=metrics)
    method = changed.get("method", "auto")
    if method == "auto" and "method" not in changed and old["reason"] == _NAMED:
        method = methods.method_from_plain(old["method"])
    return _settled(made, method, Wishes(**old["wishes"]), old.get("command"))


def check_kept(definition: dict[str, Any], rows: Iterable[Sequence[float | None]]) -> None:
    """Refuse metrics that cannot have the values measured so far."""
    metrics = [Metric.from_plain(plain) for plain in definition["problem"]["metrics"]]
    for row in rows:
        for metric, value in zip(metrics, row, strict=True):
            if value is not None:
                metric.check(value)


def _check_numbers(given: Mapping[str, Any]) -> None:
    """The terms of a study are numbers; what belongs to one metric stands in that metric."""
    for name, value in given.items():
        if not isinstance(value, Real):
            own = ": one of a metric, or in per cent, goes into Metric(epsilon=...)"
            raise UsageError(f"{name} {value!r} is no number{own if name == 'epsilon' else ''}")


def _check_once(method: Any, given: dict[str, Any]) -> None:  # noqa: ANN401  (any policy)
    """A term of the method may be repeated, but not contradicted."""
    for key, value in given.items():
        own = getattr(method, key, None)
        if value and own is not None and own != value:
            raise UsageError(
                f"{key} is {own} in the method and {value} in the study: give it in one place"
            )


# ---------------------------------------------------------------- two definitions side by side

# Differences that a message names, and that it counts.
_MOST, _COUNTED = 5, 1000


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two definitions; versions, and reasons in words, are not compared.

    Where "auto" chose both times, the methods are not either: a later version may choose a new one,
    and the study keeps the one that it began with.
    """
    if old == new:
        return []
    chosen = _NAMED not in {old["reason"], new["reason"]}
    one, two = (_by_names(each, with_method=not chosen) for each in (old, new))
    rows = _in_rows(*(Candidates.from_plain(each["problem"]["candidates"]) for each in (old, new)))
    found = list(islice(chain(_differing(one, two, ""), rows), _COUNTED))
    found = found or list(_differing(_rest(old), _rest(new), ""))
    many = "many" if len(found) == _COUNTED else len(found) - _MOST
    more = [f"and {many} more"] if len(found) > _MOST else []
    return found[:_MOST] + more


def _by_names(definition: dict[str, Any], *, with_method: bool) -> dict[str, Any]:
    """A definition in which everything stands under the name that people gave it."""
    problem = definition["problem"]
    listed = Candidates.from_plain(problem["candidates"])
    features = problem["features"] or {}
    return {
        "method": definition["method"] if with_method else None,
        "metric": {m["name"]: asdict(Metric.from_plain(m)) for m in problem["metrics"]},
        "features": features.get("names"),
        "seed": problem["seed"],
        "number of candidates": len(listed.ids),
        "asked": definition["wishes"],
        "command": definition.get("command"),
    }


def _in_rows(old: Candidates, new: Candidates) -> Iterator[str]:
    """Every cell in which the rows of candidates differ, by their names."""
    if old.ids == new.ids and old.columns == new.columns:
        return
    for name in dict.fromkeys(chain(old.ids, new.ids)):
        one, two = (c.row(c.index[name]) if name in c.index else None for c in (old, new))
        yield from _differing(one, two, f"candidate {name}")


def _rest(definition: dict[str, Any]) -> dict[str, Any]:
    """What is worth a word only where all that has a name is equal."""
    problem = definition["problem"]
    features = problem["features"] or {}
    return {
        "order of candidates": Candidates.from_plain(problem["candidates"]).ids,
        "order of metrics": [metric["name"] for metric in problem["metrics"]],
        "features made": features.get("said"),
        "numbers of the features": features.get("X"),
    }


def _differing(old: Any, new: Any, where: str) -> Iterator[str]:  # noqa: ANN401  (JSON values)
    """Every place at which two JSON values differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{where} {key}" if where else str(key)
            yield from _differing(old.get(key), new.get(key), inner)
    elif old != new:
        yield f"{where} is {_short(old)} there and {_short(new)} here"


def _short(value: Any) -> str:  # noqa: ANN401  (a JSON value)
    """A value as it is written, or its beginning."""
    text = "not given" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
