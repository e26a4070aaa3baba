"""Columns of many candidates: read one by one like a list, kept as arrays, made when they are asked for.

A full factorial of ten knobs has a million rows and a hundred levels: the levels are kept, and no row is
ever written out. What a cell gives is the plain value that the caller gave: "08" stays "08".
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.errors import DataError
from paretoscope.policies.packing import pack, unpack

# Rows that are handled at once.
BLOCK = 1 << 16
# Different texts in a block for which codes are shorter than the texts.
_FEW = 1 << 12
# Share of numbers in a block that may be spelled otherwise than here: 1e-5 for 1e-05.
_ODD = 1 / 64


class Column(Sequence[Any]):
    """Cells in order; made of less than the cells."""

    @abstractmethod
    def cell(self, k: int) -> Any:  # noqa: ANN401
        """The cell of a row."""

    @abstractmethod
    def numbers(self) -> FloatArray | None:
        """All cells as numbers; None if some cell is none."""

    @abstractmethod
    def plain(self) -> Any:  # noqa: ANN401
        """The column as JSON values, as `from_plain` reads it."""

    @overload
    def __getitem__(self, k: int) -> Any: ...  # noqa: ANN401
    @overload
    def __getitem__(self, k: slice) -> list[Any]: ...
    def __getitem__(self, k: int | slice) -> Any:
        if isinstance(k, slice):
            return [self.cell(place) for place in range(*k.indices(len(self)))]
        if not -len(self) <= k < len(self):
            raise IndexError(f"row {k} of {len(self)}")
        return self.cell(int(k) % len(self))

    def __iter__(self) -> Iterator[Any]:
        return (self.cell(k) for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) or not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"[{shown}{', ...' if len(self) > 3 else ''}] ({len(self)})"


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Column):
    """Numbers of an array; with ``text`` as the text that they were read from, the odd spellings kept."""

    array: np.ndarray[Any, Any]
    text: bool = False
    odd: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.array)

    def cell(self, k: int) -> Any:  # noqa: ANN401
        """The number, or its text."""
        value = self.array[k].item()
        return self.odd.get(k) or repr(value) if self.text else value

    def numbers(self) -> FloatArray | None:
        """The array itself where it is one of floats."""
        return np.asarray(self.array, dtype=np.float64)

    def plain(self) -> Any:  # noqa: ANN401
        """Type and bytes."""
        odd = [[k, text] for k, text in self.odd.items()]
        return {"numbers": pack(self.array), "text": self.text, "odd": odd}


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Column):
    """A few different values, and which of them each row has."""

    levels: Sequence[Any]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.codes)

    def cell(self, k: int) -> Any:  # noqa: ANN401
        """The value of the row's code."""
        return self.levels[self.codes[k]]

    def numbers(self) -> FloatArray | None:
        """The levels as numbers, spread over the rows."""
        found = floats(self.levels)
        return None if found is None else found[self.codes]

    def plain(self) -> Any:  # noqa: ANN401
        """Levels and packed codes."""
        return {"levels": list(self.levels), "codes": pack(np.asarray(self.codes))}


@dataclass(frozen=True, eq=False, repr=False)
class Cycle(Column):
    """One factor of a product: its levels, each held for so many rows, over and over."""

    levels: Sequence[Any]
    each: int
    rows: int

    def __len__(self) -> int:
        return self.rows

    @property
    def codes(self) -> IntArray:
        """Which level each row has."""
        turn = np.repeat(np.arange(len(self.levels)), self.each)
        return np.tile(turn, self.rows // len(turn))

    def cell(self, k: int) -> Any:  # noqa: ANN401
        """The level of a row."""
        return self.levels[k // self.each % len(self.levels)]

    def numbers(self) -> FloatArray | None:
        """The levels as numbers, spread over the rows."""
        found = floats(self.levels)
        return None if found is None else found[self.codes]

    def plain(self) -> Any:  # noqa: ANN401
        """The levels, and how they alternate."""
        return {"levels": list(self.levels), "each": self.each, "rows": self.rows}


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Column):
    """Blocks of rows, each in the form that suits it; all but the last of `BLOCK` rows."""

    parts: Sequence[Sequence[Any]]

    def __len__(self) -> int:
        return BLOCK * (len(self.parts) - 1) + len(self.parts[-1])

    def cell(self, k: int) -> Any:  # noqa: ANN401
        """The cell of its block."""
        return self.parts[k // BLOCK][k % BLOCK]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)

    def numbers(self) -> FloatArray | None:
        """Blocks side by side."""
        found = []
        for part in self.parts:
            block = floats(part)
            if block is None:
                return None
            found.append(block)
        return np.concatenate(found)

    def plain(self) -> Any:  # noqa: ANN401
        """The blocks."""
        return {"parts": [to_plain(part) for part in self.parts]}


# ---------------------------------------------------------------- names


class Names(Column):
    """Names that are made of the row's number, and found again without a table."""

    def numbers(self) -> FloatArray | None:
        """Names are no numbers."""
        return None

    @abstractmethod
    def place(self, name: str) -> int | None:
        """The row of a name; None if it is none."""

    @cached_property
    def places(self) -> Places:
        """The row of each name."""
        return Places(self)


class Places(Mapping[str, int]):
    """Rows by name, worked out."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def __getitem__(self, name: str) -> int:
        found = self.names.place(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False, repr=False)
class RowNumbers(Names):
    """The number of the row: 0, 1, ... as text."""

    rows: int

    def __len__(self) -> int:
        return self.rows

    def cell(self, k: int) -> str:
        """The number as text."""
        return str(k)

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self.rows))

    def place(self, name: str) -> int | None:
        """The number."""
        known = name.isascii() and name.isdigit() and str(int(name)) == name
        return int(name) if known and int(name) < self.rows else None

    def plain(self) -> Any:  # noqa: ANN401
        """How many."""
        return {"rows": self.rows}


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Names):
    """The values of a product with commas between them, the last one changing fastest."""

    factors: tuple[Cycle, ...]

    def __len__(self) -> int:
        return len(self.factors[0])

    def cell(self, k: int) -> str:
        """The row's values."""
        return ",".join(str(factor.cell(k)) for factor in self.factors)

    def place(self, name: str) -> int | None:
        """Each value's part of the row."""
        values = name.split(",")
        if len(values) != len(self.factors):
            return None
        found = [row.get(value) for row, value in zip(self._rows, values, strict=True)]
        return None if None in found else sum(place for place in found if place is not None)

    @cached_property
    def _rows(self) -> list[dict[str, int]]:
        """What each value adds to the number of the row."""
        return [{str(v): k * f.each for k, v in enumerate(f.levels)} for f in self.factors]

    def plain(self) -> Any:  # noqa: ANN401
        """Nothing that the columns do not say."""
        return {"joined": True}


# ---------------------------------------------------------------- what a list can be kept as


def floats(values: Sequence[Any]) -> FloatArray | None:
    """The cells as numbers, or None if some cell is none."""
    if isinstance(values, Column):
        return values.numbers()
    try:
        return np.array([float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def codes_of(values: Sequence[Any]) -> tuple[list[str], IntArray]:
    """The different texts of a column in order, and which of them each row has."""
    if isinstance(values, (Coded, Cycle)):
        levels, codes = values.levels, values.codes
    else:
        levels, codes = _coded([str(value) for value in values])
    text = [str(level) for level in levels]
    some = sorted({text[k] for k in np.unique(codes).tolist()})
    place = {level: k for k, level in enumerate(some)}
    return some, np.array([place.get(level, -1) for level in text], dtype=np.int64)[codes]


def _coded(values: list[Any]) -> tuple[list[Any], IntArray]:
    """Different values in order of appearance, and the number of each row's."""
    place: dict[Any, int] = {}
    codes = [place.setdefault(value, len(place)) for value in values]
    return list(place), np.array(codes, dtype=np.int64)


def of_text(cells: Sequence[str]) -> Sequence[Any]:
    """Texts of a file as numbers where they come back letter by letter, as codes where they are few."""
    for kind, stored in ((int, np.int64), (float, np.float64)):
        with suppress(ValueError, OverflowError):
            made = [kind(cell) for cell in cells]
            pairs = enumerate(zip(made, cells, strict=True))
            odd = {k: cell for k, (number, cell) in pairs if repr(number) != cell}
            if len(odd) <= _ODD * len(cells):
                return Numbers(np.array(made, dtype=stored), text=True, odd=odd)
    levels, codes = _coded(list(cells))
    return Coded(levels, codes) if len(levels) <= _FEW else list(cells)


def from_blocks(blocks: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Blocks of one column as one."""
    return blocks[0] if len(blocks) == 1 else Parts(blocks)


def product_columns(lists: Mapping[str, Sequence[Any]]) -> dict[str, Cycle]:
    """The columns of all combinations, the last one changing fastest."""
    rows = each = math.prod(len(levels) for levels in lists.values())
    made = {}
    for name, levels in lists.items():
        each //= len(levels)
        made[name] = Cycle(tuple(levels), each, rows)
    return made


# ---------------------------------------------------------------- on paper


def to_plain(values: Sequence[Any]) -> Any:  # noqa: ANN401
    """A column as JSON values: a list of its cells, or less where it is kept as less."""
    return values.plain() if isinstance(values, Column) else list(values)


def from_plain(plain: Any) -> Sequence[Any]:  # noqa: ANN401
    """The column written by `to_plain`.

    Raises
    ------
    DataError
        If it is of no known form.
    """
    if isinstance(plain, list):
        return plain
    if "parts" in plain:
        return Parts([from_plain(part) for part in plain["parts"]])
    if "numbers" in plain:
        odd = dict(plain["odd"])
        return Numbers(unpack(plain["numbers"]), bool(plain["text"]), odd)
    if "codes" in plain:
        return Coded(plain["levels"], unpack(plain["codes"]))
    if "each" in plain:
        return Cycle(tuple(plain["levels"]), plain["each"], plain["rows"])
    raise DataError(f"a column of the unknown form {sorted(plain)}")


def names_from_plain(plain: Any, columns: Mapping[str, Sequence[Any]]) -> Sequence[str]:  # noqa: ANN401
    """Names as they were stored."""
    if isinstance(plain, list):
        return tuple(plain)
    if "joined" in plain:
        return Joined(tuple(c for c in columns.values() if isinstance(c, Cycle)))
    return RowNumbers(plain["rows"]) if set(plain) == {"rows"} else tuple(from_plain(plain))
