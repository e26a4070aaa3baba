"""Candidates in, results out: files, frames and arrays; CSV, Markdown and JSON.

Cells of a CSV file stay the text that they are, "08" too: a command receives what was written.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from paretoscope import bulk
from paretoscope.cells import COMMA_NUMBER, INTEGER, Table, escape, numbered, read_table
from paretoscope.errors import DataError, UsageError
from paretoscope.study.problem import Candidates

# A NUL, or half of a surrogate pair: no store takes them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def read_candidates(
    source: Any,  # noqa: ANN401  (a path, a frame of any library, columns, an array)
    id: str | None = None,  # noqa: A002  (the public name of the option)
    *,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> Candidates:
    """Candidates of a file, a frame, columns by name, or an array (n, p) of numbers.

    Files are CSV, Parquet (by pyarrow or polars) or an array of NumPy (.npy), which is mapped. What has
    many rows is kept column by column, see `bulk`.

    Parameters
    ----------
    id : str, optional
        Column that names them; by default a column called "id", else the row numbers from 0.
    delimiter, decimal : str, optional
        Of a file. By default told from its rows; where cells are not separated by commas, a column
        of numbers with commas has decimal commas, and is read with points.

    Raises
    ------
    DataError
        If a name, a row or a cell cannot be used; the message says which, and what to do.
    UsageError
        If there is no such file or no such column.

    >>> read_candidates([[1, 2], [3, 4]])
    Candidates(ids=('0', '1'), columns={'x0': [1.0, 3.0], 'x1': [2.0, 4.0]})
    """
    if isinstance(source, Candidates):
        return source
    source = bulk.loaded(source)
    many = _many(source, id) if delimiter is decimal is None else None
    if many is not None:
        return many
    table = _by_array(source) if _is_array(source) else read_table(source, delimiter=delimiter)
    if not table.rows:
        raise DataError(f"{table.name} has a header and no row: give a row for each candidate")
    key = id or ("id" if "id" in table.header else None)
    if key is not None and key not in table.header:
        raise UsageError(f"{table.name} has no column {key!r}: there are {list(table.header)}")
    ids = [str(k) for k in range(len(table.rows))] if key is None else _ids(table, key)
    names = [name for name in table.header if name != key]
    return Candidates(tuple(ids), {name: _column(table, name, decimal) for name in names})


def _many(source: Any, key: str | None) -> Candidates | None:  # noqa: ANN401
    """Candidates whose rows are too many to be read one by one; None for all others."""
    if _is_array(source):
        return bulk.from_array(source)
    if isinstance(source, Mapping):
        return bulk.from_columns(source, key)
    path = isinstance(source, (str, Path))
    return bulk.from_csv(source, key) if path else bulk.from_frame(source, key)


def _is_array(source: Any) -> bool:  # noqa: ANN401
    """Whether a source is an array, or lists of numbers."""
    rows = isinstance(source, (list, tuple)) and not (source and isinstance(source[0], Mapping))
    return rows or isinstance(source, np.ndarray)


def _by_array(source: Any) -> Table:  # noqa: ANN401  (an array, or lists of numbers)
    """A table with the columns x0, x1, ..."""
    try:
        array = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the candidates are no array of numbers ({error})") from None
    if array.ndim != 2 or not array.size:
        raise DataError(
            f"candidates of shape {array.shape}: give one row each, and a column for each number"
        )
    header = tuple(f"x{j}" for j in range(array.shape[1]))
    return Table("the array", header, numbered(array.tolist()))


def _ids(table: Table, key: str) -> list[str]:
    """The names of the candidates, all different."""
    rows: dict[str, int] = {}
    for (number, _), cell in zip(table.rows, table.column(key), strict=True):
        _check_cell(table, number, key, cell)
        name = str(cell)
        if not name or name != name.strip():
            raise table.refuse_cell(number, key, cell, "is blank or padded: name the candidate")
        if name in rows:
            raise table.refuse_cell(
                number, key, cell, f"stands in row {rows[name]} too: ids differ"
            )
        rows[name] = number
    return list(rows)


def _check_cell(table: Table, number: int, column: str, cell: Any) -> None:  # noqa: ANN401
    """Refuse what is neither text nor a finite number."""
    if cell is None:
        raise table.refuse_cell(number, column, cell, "is missing: fill it, or drop its row")
    if not isinstance(cell, (str, int, float)):
        raise table.refuse_cell(number, column, cell, "is neither a number nor text: convert it")
    if isinstance(cell, float) and not math.isfinite(cell):
        raise table.refuse_cell(number, column, cell, "is not finite: give a number")
    if isinstance(cell, str) and _UNSTORABLE.search(cell):
        raise table.refuse_cell(number, column, cell, "holds a NUL or half a character: remove it")


def _column(table: Table, name: str, decimal: str | None) -> list[Any]:
    """Checked cells; numbers with decimal commas get points."""
    cells = table.column(name)
    for (number, _), cell in zip(table.rows, cells, strict=True):
        _check_cell(table, number, name, cell)
    told = "," if table.delimiter in {"\t", ";"} else "."
    if table.delimiter is None or (decimal or told) == ".":
        return cells
    texts = [cell.strip() for cell in cells]
    numbers = [COMMA_NUMBER.fullmatch(text) or INTEGER.fullmatch(text) for text in texts]
    if any(COMMA_NUMBER.fullmatch(text) for text in texts) and not all(numbers):
        _refuse_mixed(table, name, texts)
    return [text.replace(",", ".") for text in texts] if all(numbers) else cells


def _refuse_mixed(table: Table, name: str, texts: Sequence[str]) -> None:
    """Refuse points among decimal commas: 1.234 may be one or a thousand."""
    for (number, _), text in zip(table.rows, texts, strict=True):
        if re.fullmatch(r"[+-]?[\d.,]*\.[\d.,]*", text):
            raise table.refuse_cell(
                number, name, text, "has a point where others have a decimal comma: write one kind"
            )


# ---------------------------------------------------------------- out


def write_text(text: str, target: Any, *, mark: bool = False) -> str:  # noqa: ANN401  (a path, a stream or None)
    """Text to a path or a stream, or nowhere; returned in each case.

    Parameters
    ----------
    mark : bool
        Whether a file that is not plain ASCII opens with the mark by which spreadsheets know UTF-8.
    """
    if hasattr(target, "write"):
        target.write(text)
    elif target is not None:
        front = "\ufeff" if mark and not text.isascii() else ""
        try:
            Path(target).write_bytes((front + text).encode("utf-8"))
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(
                f"{str(target)!r} cannot be written ({said}): choose another place"
            ) from None
    return text


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    """Rows as CSV with every cell escaped; None is blank."""
    made = io.StringIO()
    writer = csv.writer(made, delimiter=delimiter)
    for row in (header, *rows):
        writer.writerow("" if cell is None else escape(str(cell)) for cell in row)
    return made.getvalue()


def write_table(
    rows: Sequence[Mapping[str, Any]],
    target: Any = None,  # noqa: ANN401  (a path, a text stream or None)
    format: Literal["csv", "markdown", "json"] = "csv",  # noqa: A002  (the public name)
) -> str:
    r"""Rows by name, such as those of `Result.table`, as CSV, Markdown or JSON.

    >>> print(write_table([{"candidate": "a|b", "y": 0.5, "low": None}], format="markdown"))
    | candidate | y | low |
    | --- | --- | --- |
    | a\|b | 0.5 |  |
    <BLANKLINE>
    """
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in header] for row in rows]
    if format == "csv":
        return write_text(csv_text(header, cells) if header else "", target, mark=True)
    if format == "json":
        text = json.dumps([dict(row) for row in rows], indent=2, ensure_ascii=False)
        return write_text(text + "\n", target)
    if format != "markdown":
        raise UsageError(f"format {format!r}: give csv, markdown or json")
    lines: list[list[Any]] = [header, ["---"] * len(header), *cells] if header else []
    return write_text(
        "".join(f"| {' | '.join(_marked(cell) for cell in line)} |\n" for line in lines), target
    )


def _marked(cell: Any) -> str:  # noqa: ANN401
    """A cell of a Markdown table."""
    if cell is None:
        return ""
    text = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
