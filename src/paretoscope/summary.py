"""Sheets by candidate: one row for several measurements, told as their number, mean and deviation.

For laboratories that keep summaries. A row names requests of one candidate with consecutive numbers;
``n`` may be lowered to what was really measured, and the rest stays due. Metrics judged on logarithms
need single values, since the mean of logarithms is not the logarithm of the mean.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from paretoscope.cells import read_table
from paretoscope.errors import UsageError
from paretoscope.sheet import (
    NOTE,
    Requested,
    Sheet,
    is_blank,
    measured,
    parameters,
    sheet_of,
)
from paretoscope.study.book import Uid, group_members, group_text, with_try, without_try
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem
from paretoscope.table import csv_text, write_text

FRONT = ("uid", "candidate", "n")


def _columns(metric: Metric) -> tuple[str, ...]:
    """Columns of one metric: an exact one has no deviation."""
    return (
        (f"{metric.name} mean",) if metric.exact else (f"{metric.name} mean", f"{metric.name} sd")
    )


def summary_header(problem: Problem) -> list[str]:
    """The columns of a sheet by candidate, in order.

    Raises
    ------
    UsageError
        If a metric is judged on logarithms.
    """
    for metric in measured(problem):
        if metric.scale == "log":
            raise UsageError(
                f"{metric.name} is judged on logarithms, which a mean does not tell: ask for a sheet"
                " by measurement"
            )
    own = [name for metric in measured(problem) for name in _columns(metric)]
    return [*FRONT, *parameters(problem), *own, NOTE]


def groups(requests: Iterable[Requested]) -> list[tuple[str, str, int]]:
    """Runs of requests of one candidate with consecutive numbers: (group, candidate, n)."""
    found: dict[tuple[bool, int, int, int], list[Uid]] = {}
    names: dict[int, str] = {}
    for request in requests:
        uid, tries = Uid.parse(request.uid), without_try(request.uid)[1]
        assert uid is not None, "a study asked for something that is no request"
        names[uid.candidate] = request.candidate
        found.setdefault((uid.check, uid.turn, uid.candidate, tries), []).append(uid)
    return [
        (with_try(group_text(run[0], run[-1]), tries), names[run[0].candidate], len(run))
        for (_, _, _, tries), uids in found.items()
        for run in _runs(uids)
    ]


def _runs(uids: Iterable[Uid]) -> list[list[Uid]]:
    """Requests of one candidate, parted where a number is missing."""
    runs: list[list[Uid]] = []
    for uid in sorted(uids, key=lambda uid: uid.number):
        if runs and uid.number == runs[-1][-1].number + 1:
            runs[-1].append(uid)
        else:
            runs.append([uid])
    return runs


def write_summary(target: Any, problem: Problem, requests: Iterable[Requested]) -> str:  # noqa: ANN401  (a path, a stream or None)
    """The sheet by candidate as CSV, written to a path or a stream, or nowhere; its text."""
    header, columns = summary_header(problem), parameters(problem)
    cells = []
    for group, name, n in groups(requests):
        k = problem.candidates.index[name]
        row = {"uid": group, "candidate": name, "n": n}
        row |= {column: values[k] for column, values in columns.items()}
        cells.append([row.get(column, "") for column in header])
    return write_text(csv_text(header, cells, ","), target, mark=True)


def is_summary(header: Iterable[str]) -> bool:
    """Whether a sheet is one by candidate."""
    return "n" in header and "replicate" not in header


def read_summary(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame or rows by name)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a sheet by candidate for `Study.tell`."""
    return _summary_of(source, problem, delimiter=delimiter, decimal=decimal).rows()


def _summary_of(
    source: Any,  # noqa: ANN401  (as in `read_summary`)
    problem: Problem,
    *,
    delimiter: str | None,
    decimal: Literal[".", ","] | None,
) -> Sheet:
    """A sheet by candidate whose columns are in order, its rows not yet read."""
    table = read_table(source, delimiter=delimiter, optional={NOTE})
    header = summary_header(problem)
    for name in header:
        if name not in table.header and name in {"uid", "n"} | _all_columns(problem):
            raise table.refuse(table.head, f"column {name!r} is missing: put it back")
    for name in table.header:
        if name not in header:
            raise table.refuse(table.head, f"column {name!r} is none of {', '.join(header)}")
    return _Summary(table, problem, decimal)


def read_either(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame or rows by name)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a sheet of either kind for `Study.tell`."""
    return either_sheet(source, problem, delimiter=delimiter, decimal=decimal).rows()


def either_sheet(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame or rows by name)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> Sheet:
    """A sheet of either kind whose columns are in order, its rows not yet read."""
    if hasattr(source, "read"):  # a stream is read once
        source = _kept(source)
    header = read_table(source, delimiter=delimiter, optional={NOTE}).header
    if hasattr(source, "seek"):
        source.seek(0)
    read = _summary_of if is_summary(header) else sheet_of
    return read(source, problem, delimiter=delimiter, decimal=decimal)


def _kept(source: Any) -> io.StringIO | io.BytesIO:  # noqa: ANN401  (a stream)
    """What a stream holds, to be read as often as needed."""
    data = source.read()
    return io.StringIO(data) if isinstance(data, str) else io.BytesIO(data)


def _all_columns(problem: Problem) -> set[str]:
    """Columns of all metrics."""
    return {name for metric in measured(problem) for name in _columns(metric)}


class _Summary(Sheet):
    """The rows of a table, read as a sheet by candidate."""

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Columns that hold means."""
        return {f"{metric.name} mean": metric for metric in measured(self.problem)}

    def row(self, number: int, cells: Mapping[str, Any]) -> dict[str, Any]:
        """One row for `Study.tell`."""
        members = group_members(str(cells["uid"]))
        if not members:
            raise self.table.refuse_cell(
                number, "uid", cells["uid"], "is no group of this study: copy it from the sheet"
            )
        read = super().row(number, {**cells, "uid": members[0]})
        read["uid"] = str(cells["uid"])
        for column, metric in self.metrics.items():
            read[metric.name] = read.pop(column)
        read["n"] = self._count(number, cells["n"], len(members))
        read["deviations"] = {
            metric.name: self._deviation(number, f"{metric.name} sd", cells[f"{metric.name} sd"])
            for metric in self.metrics.values()
            if not metric.exact
        }
        return read

    def _count(self, number: int, cell: Any, size: int) -> int:  # noqa: ANN401
        """How many measurements were made; a blank cell means all."""
        n = size if is_blank(cell) else self.number(number, "n", cell)
        if n != int(n) or not 1 <= n <= size:
            raise self.table.refuse_cell(
                number, "n", cell, f"must be a whole number from 1 to {size}"
            )
        return int(n)

    def _deviation(self, number: int, column: str, cell: Any) -> float | None:  # noqa: ANN401
        """A standard deviation; None where it is blank."""
        if is_blank(cell):
            return None
        value = self.number(number, column, cell)
        if not 0.0 <= value < float("inf"):
            raise self.table.refuse_cell(number, column, cell, "must be a number, at least 0")
        return value
