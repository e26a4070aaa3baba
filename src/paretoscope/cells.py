"""Cells of files and frames, with the place of each: what `table` and `sheet` read from.

Cells of a CSV file stay the text that they are. Whoever refuses one names the file, the row as a
spreadsheet numbers it (the header is row 1), the column, the value, and what to do.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from paretoscope.errors import DataError, UsageError

Cells = tuple[Any, ...]
# Libraries of frames, the first that is installed being taken.
_BACKENDS = ("pandas", "polars", "pyarrow")
# In the order in which a tie is decided: a comma may be a decimal comma, the others are rarely data.
_DELIMITERS = ("\t", ";", ",")
# Records from which the delimiter is told.
_LOOK = 20
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
COMMA_NUMBER = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
# What a spreadsheet may run, behind any number of our own apostrophes.
_RUNNABLE = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True)
class Table:
    """Cells as they were given; every row has the number under which its owner knows it.

    Attributes
    ----------
    name : str
        File, or what else it is, for messages.
    header : tuple of str
    rows : tuple of (number, cells)
    head : int or None
        Number of the header's row; None for frames.
    delimiter : str or None
        Of a text file.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[int, Cells], ...]
    head: int | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        for position, name in enumerate(self.header):
            if not name:
                raise self.refuse(
                    self.head, f"column {position + 1} has no name: name it or remove it"
                )
            if name in self.header[:position]:
                raise self.refuse(self.head, f"column {name!r} stands there twice: rename one")

    def where(self, number: int | None) -> str:
        """A place in words."""
        return self.name if number is None else f"{self.name}, row {number}"

    def refuse(self, number: int | None, said: str) -> DataError:
        """The error that names a row."""
        return DataError(f"{self.where(number)}: {said}")

    def refuse_cell(self, number: int, column: str, value: Any, said: str) -> DataError:  # noqa: ANN401
        """The error that names a cell."""
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
        return DataError(f"{self.where(number)}, column {column!r}: {shown} {said}")

    def column(self, name: str) -> list[Any]:
        """The cells under a name."""
        position = self.header.index(name)
        return [cells[position] for _, cells in self.rows]


def read_table(
    source: Any,  # noqa: ANN401  (a path, a stream, a frame of any library, columns or rows)
    *,
    delimiter: str | None = None,
    optional: Collection[str] = (),
) -> Table:
    """The cells of a path, a stream, a frame, a mapping of columns or a list of rows by name.

    Parameters
    ----------
    delimiter : str, optional
        Of a text file; by default told from its first rows among comma, semicolon and tab.
    optional : names
        Columns whose cells may be missing at the end of a row.

    Raises
    ------
    DataError
        If the text is not UTF-8, has no header, or a row has not as many cells as the header.
    UsageError
        If the file cannot be read, or the source is none of these.
    """
    if isinstance(source, (str, Path)):
        try:
            data = Path(source).read_bytes()
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(
                f"{str(source)!r} cannot be read ({said}): give the path of a table"
            ) from None
        return _read_text(data, Path(source).name, delimiter, optional)
    if hasattr(source, "read"):
        name = Path(str(getattr(source, "name", "the table"))).name
        return _read_text(source.read(), name, delimiter, optional)
    if isinstance(source, Mapping):
        return _by_columns(source)
    if isinstance(source, (list, tuple)) and all(isinstance(row, Mapping) for row in source):
        return _by_rows(source)
    return _by_frame(source)


def _read_text(
    data: str | bytes, name: str, delimiter: str | None, optional: Collection[str]
) -> Table:
    """A text file cell by cell."""
    text = (data if isinstance(data, str) else _decode(data, name)).removeprefix("\ufeff")
    if "\x00" in text:
        number = text.count("\n", 0, text.index("\x00")) + 1
        raise DataError(f"{name}, row {number}: a NUL character: save the table as CSV in UTF-8")
    mark = delimiter or _tell_delimiter(text)
    records = list(_records(text, mark, name))
    if not records:
        raise DataError(f"{name} is empty: row 1 must hold the name of each column")
    (head, first), *rest = records
    header = tuple(cell.strip() for cell in first)
    made = tuple((number, _full(name, header, row, number, optional)) for number, row in rest)
    return Table(name, header, made, head, mark)


def _decode(data: bytes, name: str) -> str:
    """Text of a file in UTF-8, and of no other."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, row {number}: byte 0x{data[error.start]:02x} is not UTF-8: save the table as"
            " 'CSV UTF-8'"
        ) from None


def _records(text: str, delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, numbered as a spreadsheet numbers its rows."""
    number = 0
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for number, record in enumerate(reader, 1):
            if any(cell.strip() for cell in record):
                yield number, record
    except csv.Error as error:
        raise DataError(
            f"{name}, row {number + 1}: no CSV ({error}): look for a stray quotation mark"
        ) from None
    except (TypeError, ValueError):
        raise UsageError(f"delimiter {delimiter!r}: give one character") from None


def _full(
    name: str, header: Cells, row: list[str], number: int, optional: Collection[str]
) -> tuple[str, ...]:
    """A row with as many cells as the header."""
    short = header[len(row) :]
    if len(row) > len(header) or not set(short) <= set(optional):
        raise DataError(
            f"{name}, row {number}: {len(row)} cells for {len(header)} columns: quote cells that"
            " hold the delimiter, and leave none out"
        )
    return (*row, *("" for _ in short))


def _tell_delimiter(text: str) -> str:
    """The delimiter under which the first rows are as long as the header, and the header longest."""
    best, chosen = (False, 1), ","
    for mark in _DELIMITERS:
        widths = _widths(text, mark)
        score = (len(widths) == 1, widths[0] if widths else 0)
        if score[1] > 1 and score > best:
            best, chosen = score, mark
    return chosen


def _widths(text: str, mark: str) -> list[int]:
    """Different numbers of cells of the first rows, the header's first."""
    widths: dict[int, None] = {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        for _, record in zip(range(_LOOK), filter(None, reader), strict=False):
            widths[len(record)] = None
    except csv.Error:
        pass  # refused with its row when it is read in earnest
    return list(widths)


def _by_columns(columns: Mapping[Any, Any]) -> Table:
    """A table from lists by name."""
    lists: list[list[Any]] = []
    for name, values in columns.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise UsageError(f"column {str(name)!r} is {values!r}: give a list of values")
        lists.append(list(values))
        if len(lists[-1]) != len(lists[0]):
            raise DataError(
                f"the columns: row {min(len(lists[-1]), len(lists[0])) + 1} is not in all of them:"
                f" column {str(name)!r} has {len(lists[-1])} values, the first {len(lists[0])}"
            )
    header = tuple(str(name) for name in columns)
    return Table("the columns", header, numbered(zip(*lists, strict=True)))


def _by_rows(rows: Sequence[Mapping[Any, Any]]) -> Table:
    """A table from mappings; a name that a row lacks is a blank cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = ([row.get(name) for name in names] for row in rows)
    return Table("the rows", tuple(str(name) for name in names), numbered(cells))


def _by_frame(source: Any) -> Table:  # noqa: ANN401  (a frame of any library)
    """A table from a frame; pandas has one mark for missing and for not a number: missing."""
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.NarwhalsError as error:
        said = " ".join(str(error).split())
        raise DataError(f"the frame: a column cannot be used: {said}") from None
    if isinstance(frame, nw.LazyFrame):
        raise UsageError("the frame is lazy: give what its collect() returns")
    if not isinstance(frame, nw.DataFrame):
        raise UsageError(
            f"{type(source).__name__} is no table: give a path, a pandas, polars or pyarrow frame,"
            " or a dict of columns"
        )
    header, rows = tuple(str(name) for name in frame.columns), frame.rows()
    if frame.implementation.is_pandas_like():
        rows = [tuple(None if _is_nan(cell) else cell for cell in row) for row in rows]
    return Table("the frame", header, numbered(rows))


def _is_nan(cell: Any) -> bool:  # noqa: ANN401
    """Whether a cell is a floating NaN."""
    return isinstance(cell, (float, np.floating)) and math.isnan(cell)


def numbered(rows: Any) -> tuple[tuple[int, Cells], ...]:  # noqa: ANN401  (an iterable of rows)
    """Rows counted from 1, their cells as plain values."""
    return tuple((k, tuple(map(plain, row))) for k, row in enumerate(rows, 1))


def plain(value: Any) -> Any:  # noqa: ANN401
    """A cell as a number, a truth value, text or None; anything else as it is.

    >>> plain(np.float64(0.5)), plain(Decimal("1.50")), plain(None)
    (0.5, '1.50', None)
    """
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else math.nan
    if isinstance(value, (date, time, timedelta, np.datetime64, np.timedelta64)):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def escape(cell: str) -> str:
    """A cell that no spreadsheet runs: an apostrophe before = + - @, tab and return.

    >>> escape("=1+1"), escape("-1.5"), unescape(escape("'=1"))
    ("'=1+1", '-1.5', "'=1")
    """
    return "'" + cell if _RUNNABLE.match(cell) and not NUMBER.fullmatch(cell) else cell


def unescape(cell: str) -> str:
    """The cell that was escaped."""
    return cell[1:] if cell[:1] == "'" and _RUNNABLE.match(cell) else cell


def frame_of(
    data: Mapping[str, Sequence[Any]], schema: Mapping[str, Any], backend: str | None = None
) -> Any:  # noqa: ANN401  (a frame of the backend)
    """Columns as a frame: pandas if it is installed, or the named backend.

    Raises
    ------
    UsageError
        If the backend is not installed.
    """
    chosen = backend or next(filter(find_spec, _BACKENDS), None)
    if chosen not in _BACKENDS or find_spec(chosen) is None:
        raise UsageError(f"a frame of {chosen or 'any kind'}: install {' or '.join(_BACKENDS)}")
    # from_dict is typed for the names it knows, of which `chosen` is one
    frame = nw.from_dict(data, schema=schema, backend=chosen)  # type: ignore[arg-type]
    return frame.to_native()
