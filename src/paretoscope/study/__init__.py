"""The one mutable object, and the words it is defined in; each name loads its file when it is first used.

Sheets and tables use `problem` and `book`, and `Study` uses sheets: a door that loaded everything at once
would make a circle of that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paretoscope.study.batch import Batch, Request
    from paretoscope.study.intake import Told
    from paretoscope.study.metric import Metric, parse_metric
    from paretoscope.study.problem import Candidates, Problem
    from paretoscope.study.result import Result
    from paretoscope.study.status import Status
    from paretoscope.study.study import Study

_NAMES = {
    "Batch": "batch",
    "Candidates": "problem",
    "Metric": "metric",
    "Problem": "problem",
    "Request": "batch",
    "Result": "result",
    "Status": "status",
    "Study": "study",
    "Told": "intake",
    "parse_metric": "metric",
}

__all__ = [
    "Batch",
    "Candidates",
    "Metric",
    "Problem",
    "Request",
    "Result",
    "Status",
    "Study",
    "Told",
    "parse_metric",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever the name stands for)
    """Load a public name when it is first used."""
    if name not in _NAMES:
        raise AttributeError(f"paretoscope.study has no {name!r}: see paretoscope.study.__all__")
    value = getattr(import_module(f"paretoscope.study.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
