"""The one mutable object, and the words it is defined in."""

from __future__ import annotations

from paretoscope.study.batch import Batch, Request
from paretoscope.study.intake import Told
from paretoscope.study.metric import Metric, parse_metric
from paretoscope.study.problem import Candidates, Problem
from paretoscope.study.result import Result
from paretoscope.study.status import Status
from paretoscope.study.study import Study

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
