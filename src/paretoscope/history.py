"""Earlier measurements: rows with a candidate and its metrics, from before the study.

They come from anywhere, so nothing is asked of them but a name that the study knows and a value for
every metric. They enter estimates and pictures, never a certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from paretoscope.cells import read_table
from paretoscope.errors import DataError
from paretoscope.sheet import NOTE, Sheet, measured, parameters
from paretoscope.study.problem import Problem

CANDIDATE = "candidate"
Line = list[Any]  # the number of the candidate, and its values in the order of the metrics


def read_history(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame or rows by name)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> list[Line]:
    """The lines of an event 'history'.

    Raises
    ------
    DataError
        For the first row that cannot be used, with its place and the remedy.
    """
    frame = hasattr(source, "columns") or hasattr(source, "read") or isinstance(source, Mapping)
    if isinstance(source, (str, Path)) or frame:
        return _read_file(source, problem, delimiter, decimal)
    return _by_name(source, problem)


def _by_name(rows: Iterable[Mapping[str, Any]], problem: Problem) -> list[Line]:
    """Lines of mappings."""
    lines: list[Line] = []
    for position, row in enumerate(rows, 1):
        name = str(row.get(CANDIDATE, ""))
        values = {key: value for key, value in row.items() if key != CANDIDATE}
        try:
            lines.append([_index(problem, name), list(problem.check_row(values))])
        except DataError as error:
            raise DataError(f"row {position}: {error}") from None
    return lines


def _index(problem: Problem, name: str) -> int:
    """The number of a candidate."""
    index = problem.candidates.index
    if name not in index:
        raise DataError(f"there is no candidate {name!r}")
    return index[name]


def _read_file(
    source: Any,  # noqa: ANN401  (a path, a stream or a frame)
    problem: Problem,
    delimiter: str | None,
    decimal: Literal[".", ","] | None,
) -> list[Line]:
    """Lines of a table; parameters and notes may stand beside the values."""
    table = read_table(source, delimiter=delimiter, optional={NOTE})
    names = [metric.name for metric in measured(problem)]
    allowed = [CANDIDATE, *names, *parameters(problem), NOTE]
    for name in (CANDIDATE, *names):
        if name not in table.header:
            raise table.refuse(table.head, f"column {name!r} is missing: add it")
    for name in table.header:
        if name not in allowed:
            raise table.refuse(
                table.head, f"column {name!r} is none of {', '.join(allowed)}: rename or remove it"
            )
    return _Earlier(table, problem, decimal).lines()


class _Earlier(Sheet):
    """The rows of a table, read as earlier measurements."""

    def lines(self) -> list[Line]:
        """All rows that are not blank."""
        return [self._line(number, cells) for number, cells in self._filled()]

    def _line(self, number: int, cells: Mapping[str, Any]) -> Line:
        """One row."""
        name = str(cells[CANDIDATE])
        try:
            k = _index(self.problem, name)
        except DataError as error:
            raise self.table.refuse(number, str(error)) from None
        for column, given in self._parameters.items():
            self._check_parameter(number, column, cells[column], given[k], name)
        values = {column: self._value(number, column, cells[column]) for column in self.metrics}
        for column, value in values.items():
            if value is None:
                said = "is no value: leave out rows that were not measured"
                raise self.table.refuse_cell(number, column, cells[column], said)
        return [k, list(self.problem.check_row(values))]
