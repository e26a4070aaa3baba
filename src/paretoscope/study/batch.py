"""Requests on their way out: a list that can be a sheet or a frame."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from paretoscope import sheet, summary
from paretoscope.study.problem import Problem


class Request(NamedTuple):
    """One measurement to make."""

    uid: str
    candidate: str
    replicate: int
    round: int


class Batch(list[Request]):
    """The requests of one `Study.ask`, in the order of measuring."""

    def __init__(self, problem: Problem, requests: list[Request]) -> None:
        super().__init__(requests)
        self._problem = problem

    def to_csv(
        self,
        target: Any = None,  # noqa: ANN401  (a path, a text stream or None)
        *,
        by: Literal["measurement", "candidate"] = "measurement",
    ) -> str:
        """The sheet to fill in, written to a path or a stream; its text.

        Parameters
        ----------
        by : 'measurement' or 'candidate'
            One row per measurement, or per candidate with n, mean and standard deviation.
        """
        if by == "candidate":
            return summary.write_summary(target, self._problem, self)
        return sheet.write_sheet(target, self._problem, self)

    def to_frame(self, backend: str | None = None) -> Any:  # noqa: ANN401  (a frame of the backend)
        """The sheet as a pandas, polars or pyarrow frame (the first that is installed)."""
        return sheet.sheet_frame(self._problem, self, backend)
