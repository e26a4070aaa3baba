"""Batch sheets: the requests on their way to the lab, and the measurements on their way back.

A sheet has the columns uid, candidate, replicate, the columns of the candidates, the metrics to be
measured, and note. A blank metric is not yet measured; FAILED in a metric, or FAILED: reason in the
note, is a failure. Sheets come back from spreadsheets, so what those change without changing its
meaning (08 to 8, TRUE, a decimal comma, cells left off the end) is understood; whatever else differs
is refused with its place, and nothing of the sheet is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import narwhals as nw

from paretoscope.cells import COMMA_NUMBER, NUMBER, Table, frame_of, read_table, unescape
from paretoscope.errors import DataError, UsageError
from paretoscope.study.book import Uid, without_try
from paretoscope.study.columns import Numbers
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem
from paretoscope.table import csv_text, write_text

NOTE = "note"
FRONT = ("uid", "candidate", "replicate")
_FAILED = re.compile(r"failed\s*(?::\s*(.*))?", re.IGNORECASE | re.DOTALL)
# 1.234,5 and 1,234,567 and 1 234: digits in groups of three.
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[.,'\s]\d{3})+(?:[.,]\d*)?")
# Spreadsheets show, and save, as few as seven digits of a parameter.
_SHOWN = 1e-6
_LIKELY = "write a number, FAILED, or nothing while it is not measured"


class Requested(Protocol):
    """What a row of a sheet asks for."""

    @property
    def uid(self) -> str:
        """Names the measurement."""

    @property
    def candidate(self) -> str:
        """What is measured."""

    @property
    def replicate(self) -> int:
        """Running number of the candidate."""


def measured(problem: Problem) -> list[Metric]:
    """Metrics that a sheet asks for."""
    return [metric for metric in problem.metrics if metric.known is None]


def parameters(problem: Problem) -> dict[str, Sequence[Any]]:
    """Columns of the candidates that a sheet can carry beside its own."""
    own = {*FRONT, NOTE, *(metric.name for metric in measured(problem))}
    return {k: values for k, values in problem.candidates.columns.items() if k not in own}


# ---------------------------------------------------------------- out


def sheet_header(problem: Problem) -> list[str]:
    """The columns of a sheet, in order."""
    return [*FRONT, *parameters(problem), *(m.name for m in measured(problem)), NOTE]


def sheet_rows(problem: Problem, requests: Iterable[Requested]) -> list[dict[str, Any]]:
    """One row per request, by column; metrics are None, the note is empty."""
    columns, blank = parameters(problem), dict.fromkeys(m.name for m in measured(problem))
    rows = []
    for request in requests:
        k = problem.candidates.index[request.candidate]
        front = zip(FRONT, (request.uid, request.candidate, request.replicate), strict=True)
        shown = {name: values[k] for name, values in columns.items()}
        rows.append({**dict(front), **shown, **blank, NOTE: ""})
    return rows


def write_sheet(
    target: Any,  # noqa: ANN401  (a path, a text stream or None)
    problem: Problem,
    requests: Iterable[Requested],
    *,
    delimiter: str = ",",
    decimal: Literal[".", ","] = ".",
) -> str:
    """The sheet as CSV, written to a path or a stream, or nowhere; its text is returned.

    Cells that a spreadsheet would run get an apostrophe in front, which `read_sheet` takes off.

    Parameters
    ----------
    delimiter, decimal : str
        What the spreadsheet expects: ``;`` and ``,`` in much of Europe.
    """
    if delimiter == decimal:
        raise UsageError(f"delimiter and decimal mark are both {decimal!r}: give two")
    header, columns = sheet_header(problem), parameters(problem)
    rows = sheet_rows(problem, requests)
    if decimal == ",":
        rows = [r | {name: _with_comma(r[name]) for name in columns} for r in rows]
    cells = [[row[name] for name in header] for row in rows]
    return write_text(csv_text(header, cells, delimiter), target, mark=True)


def _with_comma(cell: Any) -> Any:  # noqa: ANN401
    """A number with a decimal comma; whatever else, as it is."""
    number = isinstance(cell, (int, float)) or NUMBER.fullmatch(str(cell))
    return str(cell).replace(".", ",") if number else cell


def sheet_frame(problem: Problem, requests: Iterable[Requested], backend: str | None = None) -> Any:  # noqa: ANN401  (a frame of the backend)
    """The sheet as a frame: pandas if it is installed, or the named backend.

    Metrics are columns of floats without values; a failure is told in the note.

    Raises
    ------
    UsageError
        If the backend is not installed.
    """
    rows, schema = sheet_rows(problem, requests), _schema(problem)
    data = {k: [_typed(row[k], kind) for row in rows] for k, kind in schema.items()}
    return frame_of(data, schema, backend)


def _schema(problem: Problem) -> dict[str, Any]:
    """The type of every column."""
    columns = parameters(problem)
    floats = {m.name for m in measured(problem)}
    kinds = {name: _kind(values) for name, values in columns.items()}
    kinds |= dict.fromkeys(floats, nw.Float64) | {"replicate": nw.Int64}
    return {name: kinds.get(name, nw.String) for name in sheet_header(problem)}


def _kind(values: Sequence[Any]) -> Any:  # noqa: ANN401  (a type of narwhals)
    """The type that holds all values of a column."""
    if isinstance(values, Numbers) and not values.text:
        return nw.Float64 if values.array.dtype.kind == "f" else nw.Int64
    values = getattr(values, "levels", values)  # a few stand for a million
    types = {type(value) for value in values}
    small = all(abs(value) < 2**63 for value in values if isinstance(value, int))
    if types <= {int, float} and small:
        return nw.Int64 if types == {int} else nw.Float64
    return nw.Boolean if types == {bool} else nw.String


def _typed(value: Any, kind: Any) -> Any:  # noqa: ANN401
    """A value of a column of this type."""
    return str(value) if kind is nw.String else value


# ---------------------------------------------------------------- in


def read_sheet(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame or rows by name)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a sheet for `Study.tell`: uid, candidate, metrics, failed, where.

    Parameters
    ----------
    delimiter, decimal : str, optional
        Of a file; by default told from its rows. Decimal commas are expected where cells are
        separated by semicolons or tabs and no metric has a decimal point.

    Raises
    ------
    DataError
        For the first row, column or cell that cannot be used, with its place and the remedy.
    """
    return sheet_of(source, problem, delimiter=delimiter, decimal=decimal).rows()


def sheet_of(
    source: Any,  # noqa: ANN401  (as in `read_sheet`)
    problem: Problem,
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> Sheet:
    """A sheet whose columns are in order, its rows not yet read."""
    table = read_table(source, delimiter=delimiter, optional={NOTE})
    known = [*sheet_header(problem), *(metric.name for metric in problem.metrics)]
    table = replace(table, header=tuple(n if n in known else unescape(n) for n in table.header))
    _check_header(table, problem)
    return Sheet(table, problem, decimal)


def _check_header(table: Table, problem: Problem) -> None:
    """All columns that are needed, and none that the study does not know."""
    if not table.header and not table.rows:
        return  # no rows by name: nothing to tell
    needed = ["uid", *(metric.name for metric in measured(problem))]
    known = dict.fromkeys([*sheet_header(problem), *(m.name for m in problem.metrics)])
    for name in needed:
        if name not in table.header:
            like = [other for other in table.header if other.casefold() == name.casefold()]
            remedy = f"rename {like[0]!r}" if like else "put it back, even if blank"
            raise table.refuse(table.head, f"column {name!r} is missing: {remedy}")
    for name in table.header:
        if name not in known:
            raise table.refuse(
                table.head, f"column {name!r} is none of {', '.join(known)}: rename or remove it"
            )


@dataclass(frozen=True)
class Sheet:
    """The rows of a table, read as a sheet of a problem."""

    table: Table
    problem: Problem
    decimal: str | None

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Columns that hold values of metrics."""
        return {metric.name: metric for metric in measured(self.problem)}

    @cached_property
    def _parameters(self) -> dict[str, Sequence[Any]]:
        """Columns that must come back as they went out, if they do."""
        columns = self.problem.candidates.columns
        known = {m.name: columns[m.known] for m in self.problem.metrics if m.known is not None}
        return {
            k: v for k, v in (known | parameters(self.problem)).items() if k in self.table.header
        }

    @cached_property
    def _comma(self) -> bool:
        """Whether numbers have decimal commas."""
        if self.decimal is not None or self.table.delimiter not in {"\t", ";"}:
            return self.decimal == ","
        texts = (str(cell) for name in self.metrics for cell in self.table.column(name))
        return not any("." in text and NUMBER.fullmatch(text.strip()) for text in texts)

    def rows(self) -> list[dict[str, Any]]:
        """All rows that are not blank, no uid twice."""
        made: list[dict[str, Any]] = []
        seen: dict[str, int] = {}
        for number, cells in self._filled():
            row = self.row(number, cells)
            if row["uid"] in seen:
                raise self.table.refuse_cell(
                    number, "uid", row["uid"], f"stands in row {seen[row['uid']]} too: keep one"
                )
            seen[row["uid"]] = number
            made.append(row)
        return made

    def refused(self, judge: Callable[[dict[str, Any]], object]) -> list[tuple[int, str]]:
        """Number and reason of every row that cannot be read, or that the judge refuses, by itself."""
        found = []
        for number, cells in self._filled():
            try:
                judge(self.row(number, cells))
            except DataError as error:
                said = str(error).removeprefix(self.table.where(number)).lstrip(":, ")
                found.append((number, said))
        return found

    def _filled(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and cells by name of every row that is not blank."""
        for number, cells in self.table.rows:
            texts = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
            if not all(map(is_blank, texts)):
                yield number, dict(zip(self.table.header, texts, strict=True))

    def row(self, number: int, cells: Mapping[str, Any]) -> dict[str, Any]:
        """One row for `Study.tell`."""
        uid, k = self._request(number, cells["uid"])
        name = self.problem.candidates.ids[k]
        self._check_candidate(number, cells.get("candidate"), name)
        for column, values in self._parameters.items():
            self._check_parameter(number, column, cells[column], values[k], name)
        row: dict[str, Any] = {"uid": uid, "candidate": name, "where": self.table.where(number)}
        row |= {column: self._value(number, column, cells[column]) for column in self.metrics}
        reason = self._failure(cells)
        return row if reason is None else row | {"failed": reason}

    def _request(self, number: int, cell: Any) -> tuple[str, int]:  # noqa: ANN401
        """The uid and the index of its candidate."""
        uid = Uid.parse(str(cell))
        known = uid is not None and str(uid) == without_try(str(cell))[0]
        if uid is None or not known or uid.candidate >= self.problem.K:
            raise self.table.refuse_cell(
                number, "uid", cell, "is no request of this study: copy it from the sheet"
            )
        return str(cell), uid.candidate

    def _check_candidate(self, number: int, cell: Any, name: str) -> None:  # noqa: ANN401
        """The candidate must be the one that was asked for; 8 stands for 08 if nothing else does."""
        if is_blank(cell) or name in _readings(cell):
            return
        if str(cell) in self.problem.candidates.index or not _same(cell, name):
            raise self.table.refuse_cell(
                number, "candidate", cell, f"where {name!r} was asked for: undo the sorting or edit"
            )

    def _check_parameter(self, number: int, column: str, cell: Any, given: Any, name: str) -> None:  # noqa: ANN401
        """A column of the candidates must say what it said, unless it is blank."""
        if not is_blank(cell) and not any(_same(text, given) for text in _readings(cell)):
            raise self.table.refuse_cell(
                number,
                column,
                cell,
                f"where candidate {name!r} has {given!r}: undo the edit, or if columns were sorted"
                " apart, fill a fresh sheet",
            )

    def _value(self, number: int, column: str, cell: Any) -> float | None:  # noqa: ANN401
        """A metric's cell: None where it is blank or failed."""
        if is_blank(cell) or (isinstance(cell, str) and _FAILED.fullmatch(unescape(cell))):
            return None
        value = self.number(number, column, cell)
        if not math.isfinite(value):
            raise self.table.refuse_cell(number, column, cell, f"is not finite: {_LIKELY}")
        try:
            return self.metrics[column].check(value)
        except DataError as error:
            raise self.table.refuse_cell(
                number, column, cell, f"cannot be: {error}; correct it or write FAILED"
            ) from None

    def number(self, number: int, column: str, cell: Any) -> float:  # noqa: ANN401
        """A cell as a number; text by the decimal mark of the sheet."""
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            return _float(cell)
        said = f"is no number: {_LIKELY}"
        if isinstance(cell, str):
            cell = unescape(cell)
            pattern = COMMA_NUMBER if self._comma and "," in cell else NUMBER
            if pattern.fullmatch(cell) and not (self._comma and "." in cell):
                return float(cell.replace(",", "."))
            if _GROUPED.fullmatch(cell):
                said = "may have a separator of thousands: write the number without"
            elif NUMBER.fullmatch(cell) or COMMA_NUMBER.fullmatch(cell):
                mark = "comma" if self._comma else "point"
                said = (
                    f"has not the decimal {mark} of the sheet: write a {mark}, or declare the mark"
                    " (--decimal)"
                )
        raise self.table.refuse_cell(number, column, cell, said)

    def _failure(self, cells: Mapping[str, Any]) -> str | None:
        """Why a row failed; None if it did not."""
        note = "" if is_blank(cells.get(NOTE)) else str(cells[NOTE])
        texts = [str(cells[name]) for name in self.metrics] + [note]
        found = [_FAILED.fullmatch(unescape(text)) for text in texts]
        said = [match[1] for match in found if match]
        if not said:
            return None
        remark = "" if found[-1] else note
        return next(filter(None, [*said, remark]), "marked FAILED on the sheet")


def is_blank(cell: Any) -> bool:  # noqa: ANN401
    """Whether a cell says nothing."""
    return cell is None or (isinstance(cell, str) and not cell)


def _readings(cell: Any) -> set[str]:  # noqa: ANN401
    """What a cell may say: frames do not tell whether they were read from an escaped sheet."""
    return {str(cell), unescape(str(cell))}


def _float(value: float) -> float:
    """A number as a float; one too large for it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _same(cell: Any, given: Any) -> bool:  # noqa: ANN401
    """Whether a cell says what was given, as far as a spreadsheet keeps it."""
    one, two = str(cell).strip(), str(given).strip()
    if one.casefold() == two.casefold():
        return True
    a, b = _parsed(one), _parsed(two)
    return a is not None and b is not None and math.isclose(a, b, rel_tol=_SHOWN)


def _parsed(text: str) -> float | None:
    """A number with a point or a comma; None for any other text."""
    number = NUMBER.fullmatch(text) or COMMA_NUMBER.fullmatch(text)
    return float(text.replace(",", ".")) if number else None
