"""From what a person has (a frame, a file, an array) to the definition of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretoscope import table
from paretoscope.errors import UsageError
from paretoscope.study import methods
from paretoscope.study.features import build_features
from paretoscope.study.methods import Wishes
from paretoscope.study.metric import Metric, parse_metric
from paretoscope.study.problem import Problem
from paretoscope.version import __version__


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
) -> dict[str, Any]:
    """The definition that `Study.on` takes; see `Study.create` for the parameters."""
    if isinstance(metrics, (str, Metric)):
        raise UsageError("metrics is a list, even of one: [Metric(...)]")
    listed = table.read_candidates(candidates, id)
    made = build_features(features, listed.columns, len(listed.ids), intercept=intercept)
    parsed = tuple(m if isinstance(m, Metric) else parse_metric(m) for m in metrics)
    problem = Problem(listed, parsed, made, seed)
    asked = {"delta": delta, "epsilon": epsilon, "budget": budget}
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    if method != "auto":
        _check_once(method, given)
    wishes = Wishes(**given, batches=batches, time=time)
    if method == "auto":
        choice = methods.choose(problem.setting, wishes)
    else:
        choice = methods.Choice(method, "as asked for")
    method_plain = methods.method_to_plain(choice.policy)  # refuses what is no method of ours
    methods.check_terms(choice.policy, problem.setting)
    return {
        "problem": problem.to_plain(),
        "method": method_plain,
        "reason": choice.reason,
        "wishes": vars(wishes),
        "version": __version__,
    }


def _check_once(method: Any, given: dict[str, Any]) -> None:  # noqa: ANN401  (any policy)
    """A term of the method may be repeated, but not contradicted."""
    for key, value in given.items():
        own = getattr(method, key, None)
        if value and own is not None and own != value:
            raise UsageError(
                f"{key} is {own} in the method and {value} in the study: give it in one place"
            )
