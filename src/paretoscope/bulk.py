"""Many candidates read column by column: arrays, memory-mapped files, frames, Parquet, long CSV files.

Cell by cell a million rows of sixteen columns would be sixteen million Python objects; here a column is
the array that it came in, or blocks of rows that are packed as they are read. Only what has nothing to
refuse is taken this way: whatever looks odd goes through `cells`, which names the place of each fault.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from paretoscope.cells import plain
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.packing import LONG
from paretoscope.study.columns import (
    BLOCK,
    Coded,
    Joined,
    Numbers,
    RowNumbers,
    from_blocks,
    of_text,
    product_columns,
)
from paretoscope.study.problem import Candidates

# What reads Parquet, the first that is installed being taken.
_READERS = ("pyarrow", "polars")
_PARQUET = {".parquet", ".pq"}
# A file shorter than this has no long column.
_SHORT_FILE = 2 * LONG


def product(**levels: Sequence[Any]) -> Candidates:
    """All combinations of the levels of some factors: a million candidates from a hundred levels.

    No row is written out, neither in memory nor in the study. A candidate is named by its levels, or by
    the number of its row where a level is a text with a comma.

    Parameters
    ----------
    **levels
        Different values of each factor; the last factor changes fastest.

    Raises
    ------
    UsageError
        If there is no factor, or a factor has no level or the same level twice.

    >>> made = product(depth=[1, 2, 4], width=[8, 16])
    >>> len(made.ids), made.ids[3], made.row(3)
    (6, '2,16', {'depth': 2, 'width': 16})
    """
    made = product_columns({name: _levels(name, values) for name, values in levels.items()})
    if not made:
        raise UsageError("a product needs factors: product(depth=[1, 2], width=[8, 16])")
    texts = [str(level) for column in made.values() for level in column.levels]
    names = Joined(tuple(made.values()))
    joined = all(text and text == text.strip() and "," not in text for text in texts)
    return Candidates(names if joined else RowNumbers(len(names)), made)


def _levels(name: str, values: Sequence[Any]) -> list[Any]:
    """The levels of a factor as plain values, all different."""
    if isinstance(values, str) or not len(values):
        raise UsageError(f"factor {name!r} is {values!r}: give a list of at least one level")
    made = [plain(value) for value in values]
    for level in made:
        odd = isinstance(level, float) and not math.isfinite(level)
        if odd or not isinstance(level, (str, int, float)):
            raise UsageError(
                f"factor {name!r} has the level {level!r}: give text or finite numbers"
            )
    if len({str(level) for level in made}) < len(made):
        raise UsageError(f"factor {name!r} has a level twice: {made}")
    return made


def loaded(source: Any) -> Any:  # noqa: ANN401  (a path or anything else)
    """What a Parquet file or an array file holds; anything else as it is.

    An array file is mapped, not read: its numbers stay on the disk until they are used.
    """
    kind = Path(source).suffix.lower() if isinstance(source, (str, Path)) else ""
    if kind not in _PARQUET | {".npy"}:
        return source
    try:
        return np.load(source, "r", allow_pickle=False) if kind == ".npy" else _parquet(str(source))
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UsageError(
            f"{str(source)!r} cannot be read ({said}): give the path of a table"
        ) from None


def _parquet(path: str) -> Any:  # noqa: ANN401  (a frame)
    """The frame of a Parquet file."""
    reader = next(filter(find_spec, _READERS), None)
    if reader is None:
        raise UsageError(f"{path!r}: a Parquet file needs {' or '.join(_READERS)}: install one")
    # read_parquet is typed for the names it knows, of which `reader` is one
    return nw.read_parquet(path, backend=reader).to_native()  # type: ignore[arg-type]


def from_array(source: Any) -> Candidates | None:  # noqa: ANN401  (an array, or anything else)
    """A long array as candidates, its numbers not copied; None where it has to be looked at closely."""
    if not isinstance(source, np.ndarray) or source.ndim != 2 or len(source) <= LONG:
        return None
    if source.dtype.kind not in "fiu" or not source.shape[1]:
        return None
    return Candidates(
        RowNumbers(len(source)), {f"x{j}": _floats(source[:, j]) for j in range(source.shape[1])}
    )


def _floats(values: np.ndarray[Any, Any]) -> Numbers:
    """A column of finite numbers."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(f"the candidate in row {bad[0] + 1} of the array is not finite: drop it")
    return Numbers(values if values.dtype == np.float64 else values.astype(np.float64))


def from_frame(source: Any, key: str | None) -> Candidates | None:  # noqa: ANN401  (a frame, or not)
    """A long frame without a hole as candidates; None where it has to be looked at closely."""
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.NarwhalsError:
        return None
    if not isinstance(frame, nw.DataFrame) or len(frame) <= LONG:
        return None
    made = {name: _of_series(frame[name]) for name in frame.columns}
    names = {name: column for name, column in made.items() if column is not None}
    return _listed(names, key) if len(names) == len(made) else None


def from_columns(source: Mapping[Any, Any], key: str | None) -> Candidates | None:
    """Long arrays by name as candidates; None where one has to be looked at closely."""
    made = {str(name): _of_array(values) for name, values in source.items()}
    columns = {name: column for name, column in made.items() if column is not None}
    if len(columns) < len(source) or len({len(column) for column in columns.values()}) != 1:
        return None
    return _listed(columns, key)


def _of_array(values: Any) -> Sequence[Any] | None:  # noqa: ANN401  (an array, or anything else)
    """A long array as a column; None if it is none, or holds anything but finite numbers or text."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or len(values) <= LONG:
        return None
    if values.dtype.kind == "U":
        return _texts(values.tolist())
    fine = values.dtype in {np.dtype("f8"), np.dtype("i8")} and np.isfinite(values).all()
    return Numbers(values) if fine else None


def _of_series(series: Any) -> Sequence[Any] | None:  # noqa: ANN401  (a series of narwhals)
    """A column of a frame; None if it holds anything but numbers or text."""
    if series.null_count():
        return None
    kind = series.dtype
    if kind.is_integer() and kind != nw.UInt64:
        return Numbers(np.asarray(series.to_numpy(), dtype=np.int64))
    if kind in {nw.Float64, nw.Float32}:
        numbers = np.asarray(series.to_numpy(), dtype=np.float64)
        return Numbers(numbers) if np.isfinite(numbers).all() else None
    if kind not in {nw.String, nw.Categorical}:
        return None
    return _texts(series.to_list())


def _texts(text: list[Any]) -> Sequence[Any] | None:
    """Texts in blocks; None if one of them is odd."""
    fine = all(isinstance(cell, str) and "\x00" not in cell and cell.isprintable() for cell in text)
    return (
        from_blocks([_few(text[k : k + BLOCK]) for k in range(0, len(text), BLOCK)])
        if fine
        else None
    )


def _few(text: list[str]) -> Sequence[Any]:
    """Texts as codes where they are few; never as numbers, for a frame has its own."""
    levels = {level: k for k, level in enumerate(dict.fromkeys(text))}
    if len(levels) > LONG:
        return text
    return Coded(list(levels), np.array([levels[cell] for cell in text], dtype=np.int64))


def from_csv(source: Any, key: str | None) -> Candidates | None:  # noqa: ANN401  (a path, or not)
    """A long file with commas as candidates, block by block; None where it has to be looked at closely."""
    if not isinstance(source, (str, Path)) or not _is_long(Path(source)):
        return None
    try:
        with Path(source).open(encoding="utf-8-sig", newline="") as file:
            records = csv.reader(file, strict=True)
            header = [cell.strip() for cell in next(records)]
            blocks = [_columns(block, len(header)) for block in _blocks(records)]
    except (StopIteration, UnicodeDecodeError, csv.Error, ValueError):
        return None
    if not blocks or not all(header) or len({*header}) < len(header) or len(header) < 2:
        return None
    made = {
        name: from_blocks(parts)
        for name, parts in zip(header, zip(*blocks, strict=True), strict=True)
    }
    return _listed(made, key)


def _is_long(path: Path) -> bool:
    """Whether a file has many rows, by its size first."""
    try:
        if path.stat().st_size < _SHORT_FILE:
            return False
        with path.open("rb") as file:
            head = file.readline()
            return b"," in head and b";" not in head and b"\t" not in head and _rows_over(file)
    except (OSError, ValueError):
        return False


def _rows_over(file: io.BufferedReader) -> bool:
    """Whether there are more lines than are worth a list of their own."""
    return sum(1 for _ in islice(file, LONG + 1)) > LONG


def _blocks(records: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Records that are not blank, some at a time."""
    filled = (record for record in records if any(cell.strip() for cell in record))
    while block := [*islice(filled, BLOCK)]:
        yield block


def _columns(block: list[list[str]], width: int) -> list[Sequence[Any]]:
    """The columns of a block; a ValueError if a row is longer or shorter, or a cell has a NUL."""
    columns = [*zip(*block, strict=True)]
    if len(columns) != width or any("\x00" in cell for column in columns for cell in column):
        raise ValueError("rows differ in length")
    return [of_text(column) for column in columns]


def _listed(columns: dict[str, Sequence[Any]], key: str | None) -> Candidates | None:
    """Candidates of whole columns; None if their names have to be looked at closely."""
    name = key or ("id" if "id" in columns else None)
    if name is not None and name not in columns:
        return None
    rows = len(next(iter(columns.values())))
    if name is None:
        return Candidates(RowNumbers(rows), columns)
    ids = tuple(map(str, columns.pop(name)))
    numbered = ids[0] == "0" and ids == tuple(RowNumbers(rows))
    if len({*ids}) < rows or not all(cell == cell.strip() != "" for cell in ids):
        return None
    return Candidates(RowNumbers(rows) if numbered else ids, columns)
