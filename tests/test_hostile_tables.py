"""Ten thousand spoilt sheets: used as a whole or refused as a whole, by row and column.

A sheet is filled in properly, then some of the things happen to it that happen to sheets. Each of
them is known to change nothing, to change what the row says, or to be fatal; so every sheet comes with
what must become of it.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.errors import DataError
from paretoscope.ledger import open_ledger
from paretoscope.ledger.memory import MemoryLedger
from paretoscope.policies.fixed import FixedDesign
from paretoscope.sheet import read_sheet, sheet_header, sheet_rows
from paretoscope.study.definition import define
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem
from paretoscope.study.study import Study
from paretoscope.table import csv_text, read_candidates

CANDIDATES = {
    "id": ["08", "b", "=c", "d,e", "@f"],
    "w": ["1.10", "0.25", "-3", "7", "+x"],
    "size": [1, 2, 3, 4, 5],
    "wet": [True, False, True, False, True],
    "area": [1.5, 2.5, 3.5, 4.5, 5.5],
}
METRICS = [
    Metric("y1", sigma=0.5),
    Metric("y2", "min", sigma=0.5),
    Metric("share", bounds=(0, 10)),
    Metric("area", "min", exact=True, known="area"),
]
NOISY = ("y1", "y2", "share")
DEFINITION = define(
    candidates=CANDIDATES, metrics=METRICS, method=FixedDesign(delta=0.1, budget=400)
)
PROBLEM = Problem.from_plain(DEFINITION["problem"])
TOLD = (0.5, 1.5, 2.5)  # of the first request, told before any sheet comes


def fresh(ledger):
    """A study with eight requests out, the first of them told."""
    study = Study.on(ledger, DEFINITION, clock=lambda: 0.0)
    requests = study.ask(8)
    study.tell([{"uid": requests[0].uid} | dict(zip(NOISY, TOLD, strict=True))])
    return study, requests


@dataclass
class Row:
    cells: dict
    means: str = "measured"  # measured, pending, failed, repeated, or gone when it is blank
    values: tuple = ()


@dataclass
class Case:
    """A sheet on its way, what each row means, and where it was spoilt beyond use."""

    rng: np.random.Generator
    kind: str
    header: list
    rows: list
    blame: list = field(default_factory=list)  # (row or None, column or None)
    twice: str | None = None  # a column that stands there twice
    data: tuple = ()  # replacements in the finished text

    def pick(self, things):
        return things[int(self.rng.integers(len(things)))]

    @property
    def text(self):
        return self.kind == "csv"

    def row(self):
        """Some row that still means a measurement."""
        rows = [row for row in self.rows if row.means == "measured"]
        return self.pick(rows) if rows else None

    def filled(self):
        """Some row that says anything."""
        return self.pick([row for row in self.rows if row.means != "gone"])


def proper(rng, kind, problem, requests):
    """The sheet of the requests, measured."""
    rows = []
    for cells in sheet_rows(problem, requests):
        values = (*np.round(rng.normal(5, 3, 2), 3).tolist(), round(float(rng.uniform(0, 10)), 3))
        rows.append(Row({**cells, **dict(zip(NOISY, values, strict=True))}, values=values))
    rows[0].values, rows[0].means = TOLD, "repeated"
    rows[0].cells |= dict(zip(NOISY, TOLD, strict=True))
    return Case(rng, kind, sheet_header(problem), rows)


# ---------------------------------------------------------------- what changes nothing


def shuffled(case):
    order = case.rng.permutation(len(case.rows))
    case.rows = [case.rows[k] for k in order]


def columns_shuffled(case):
    order = case.rng.permutation(len(case.header))
    case.header = [case.header[k] for k in order]


def column_dropped(case):
    name = case.pick(["candidate", "replicate", "note", "w", "size", "wet", "area"])
    if name == "note" and any(row.means == "failed" for row in case.rows):
        return
    case.header = [column for column in case.header if column != name]


def row_left_out(case):
    case.rows.remove(case.pick(case.rows))


def blank_row(case):
    blank = Row(dict.fromkeys(case.header, "" if case.text else None), "gone")
    case.rows.insert(int(case.rng.integers(len(case.rows) + 1)), blank)


def renumbered(case):
    case.filled().cells["replicate"] = case.pick(["", 99, "first"])


def remark(case):
    notes = [
        "=cmd|' /C calc'!A0",
        "two\nlines",
        'a "quote", and more',
        "µ ✓ 試",
        "' x",
        "failed once",
    ]
    row = case.filled()
    if row.means != "failed":  # its note may be what says so
        row.cells["note"] = case.pick(notes)


def as_spreadsheets_do(case):
    """Zeros are lost, truth is shouted, a parameter is cleared."""
    column, change = case.pick(
        [
            ("candidate", lambda v: {"08": "8"}.get(v, v)),
            ("w", lambda v: {"1.10": "1.1", "0.25": ".25"}.get(v, v)),
            ("wet", lambda v: str(v).upper()),
            ("area", lambda v: f"{float(v):.3f}" if v not in {None, ""} else v),
            ("size", lambda _: ""),
        ]
    )
    for row in case.rows:
        row.cells[column] = change(row.cells[column]) if row.means != "gone" else ""


def written_otherwise(case):
    row, column = case.row(), case.pick(NOISY)
    if row is not None:
        value = row.values[NOISY.index(column)]
        ways = [f" {value}", f"{value:+}", f"{value:.6e}", value]
        row.cells[column] = case.pick(ways if case.text else [*ways, f"'{value:+}"])


HARMLESS = [
    shuffled,
    columns_shuffled,
    column_dropped,
    row_left_out,
    blank_row,
    renumbered,
    remark,
    as_spreadsheets_do,
    written_otherwise,
]


# ---------------------------------------------------------------- what changes the meaning


def not_measured(case):
    row = case.row()
    if row is not None:
        row.means = "pending"
        row.cells[case.pick(NOISY)] = case.pick(["", "  ", None])


def broke(case):
    row = case.row()
    if row is not None:
        row.means = "failed"
        word = case.pick(["FAILED", "failed", " Failed ", "FAILED: it broke"])
        row.cells[case.pick([*NOISY, *({"note"} & {*case.header})])] = word


MEANINGFUL = [not_measured, broke]


# ---------------------------------------------------------------- what cannot be used

NO_NUMBERS = ["NaN", "nan", "inf", "-Infinity", "1e999", "abc", "1,234,567", "0x10", "1_000", "5%"]
NO_NUMBERS += ["--1", "1..2", "1.2.3", "TRUE", "=1+1", "٣", "1 234,5", "1.234.567", "failed twice"]


def no_number(case):
    row, column = case.row(), case.pick(NOISY)
    if row is not None:
        row.cells[column] = case.pick(NO_NUMBERS)
        case.blame.append((row, column))


def impossible(case):
    row = case.row()
    if row is not None:
        row.cells["share"] = case.pick(["10.5", "-1", 1e9, -0.001])
        case.blame.append((row, "share"))


def no_request(case):
    row = case.row()
    if row is not None:
        bad = [
            "",
            "r9",
            "r0c99n0",
            "x'; DROP TABLE",
            "R0C0N0",
            "r00c1n0",
            row.cells["uid"] + "0000",
        ]
        row.cells["uid"] = case.pick(bad)
        case.blame.append((row, "uid"))


def told_otherwise(case):
    for row in case.rows:
        if row.means == "repeated":
            row.cells["y1"] = 7.25
            case.blame.append((row, "uid"))


def row_twice(case):
    row = case.row()
    if row is not None:
        again = Row({**row.cells}, row.means, row.values)
        case.rows.append(again)
        case.blame += [(row, "uid"), (again, "uid")]


def candidate_changed(case):
    row = case.row()
    if row is not None and "candidate" in case.header:
        others = [
            name for name in CANDIDATES["id"] if name.lstrip("0") not in row.cells["candidate"]
        ]
        row.cells["candidate"] = case.pick([*others, "nobody", "9"])
        case.blame.append((row, "candidate"))


def parameter_changed(case):
    row, column = case.row(), case.pick(["w", "size", "area"])
    if row is not None and column in case.header:
        row.cells[column] = case.pick(["99", "-1.5", "other"])
        case.blame.append((row, column))


def column_missing(case):
    name = case.pick(["uid", *NOISY])
    case.header = [column for column in case.header if column != name]
    case.blame.append((None, name))


def column_unknown(case):
    name = case.pick(["y9", "Y1", "delta", "y1 (ms)", "=y1"])
    case.header.insert(int(case.rng.integers(len(case.header) + 1)), name)
    case.blame.append((None, name))


def column_unnamed(case):
    case.header.insert(int(case.rng.integers(len(case.header) + 1)), "")
    case.blame.append((None, None))


def column_twice(case):
    if case.kind in {"csv", "pandas", "pyarrow"}:
        case.twice = case.pick(case.header)
        case.blame.append((None, case.twice))


def not_finite(case):
    """Pandas has the same mark for not a number and for nothing there."""
    row, column = case.row(), case.pick(NOISY)
    if row is not None:
        row.cells[column] = case.pick([math.inf, -math.inf] + [math.nan] * (case.kind != "pandas"))
        case.blame.append((row, column))


def damaged(case):
    """Not UTF-8, a stray quotation mark, a NUL, a cell too many, each in the first row."""
    if case.text:
        put = case.pick([b"\xff", b'"', b"\x00", b",;\t"])
        case.data = (b"\n", b"\n" + put, 1)
        case.blame.append((case.rows[0], None))


FATAL = [
    no_number,
    not_finite,
    impossible,
    no_request,
    told_otherwise,
    row_twice,
    candidate_changed,
    parameter_changed,
    column_missing,
    column_unknown,
    column_unnamed,
    column_twice,
    damaged,
]


# ---------------------------------------------------------------- how it comes back


def as_csv(case):
    delimiter, comma = case.pick([(",", False), (";", False), ("\t", False), (";", True)])
    header = [*case.header, case.twice] if case.twice is not None else case.header
    rows = [[row.cells.get(name) for name in header] for row in case.rows]
    if comma:
        rows = [[str(c).replace(".", ",") if number(c) else c for c in row] for row in rows]
    text = csv_text(header, rows, delimiter)
    text = text if case.rng.random() < 0.5 else text.replace("\r\n", "\n")
    data = (b"\xef\xbb\xbf" if case.rng.random() < 0.3 else b"") + text.encode()
    return io.BytesIO(data.replace(*case.data) if case.data else data)


def number(cell):
    return isinstance(cell, float) or re.fullmatch(r"\s*[+-]?\d*\.\d+(e[+-]\d+)?\s*", str(cell))


def column_of(case, name):
    """Cells for a frame: floats where all are, text otherwise."""
    cells = [row.cells.get(name) for row in case.rows]
    if all(cell is None or isinstance(cell, float) for cell in cells):
        return cells
    return [None if cell is None else str(cell) for cell in cells]


def as_frame(case):
    names = [*case.header, *([] if case.twice is None else [case.twice])]
    columns = [column_of(case, name) for name in names]
    if case.kind == "pandas":
        made = pd.DataFrame(dict(enumerate(columns)))
        made.columns = names
        return made
    if case.kind == "pyarrow":
        return pa.table([pa.array(column) for column in columns], names=names)
    if case.kind == "polars":
        return pl.DataFrame(dict(zip(names, columns, strict=True)))
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


def number_of(case, row):
    """The number under which the reader of a sheet knows a row."""
    (position,) = [k for k, other in enumerate(case.rows) if other is row]
    return position + (2 if case.text else 1)


KINDS = ["csv", "csv", "csv", "pandas", "polars", "pyarrow", "rows"]


def spoilt(rng, problem, requests):
    """A sheet after up to three harmless mishaps, and half of the time a fatal one."""
    case = proper(rng, KINDS[int(rng.integers(len(KINDS)))], problem, requests)
    harmless = [*HARMLESS, *MEANINGFUL]
    for k in rng.integers(len(harmless), size=int(rng.integers(4))):
        harmless[k](case)
    if rng.random() < 0.6:
        case.pick(FATAL)(case)
    return case


def check_refusal(case, said):
    """The message names the place that was spoilt: row and column."""
    for row, column in case.blame:
        at = number_of(case, row) if row is not None else 1 if case.text else None
        placed = at is None or re.search(rf"row {at}\b", said)
        if placed and (column is None or repr(column) in said or f"{column} " in said):
            return
    pytest.fail(f"{said!r} names none of {case.blame} ({case.kind})")


def expected(case):
    """Values by uid of what must be stored, and the failed, pending and repeated rows."""
    told = {row.cells["uid"]: row.values for row in case.rows if row.means == "measured"}
    count = dict.fromkeys(("failed", "pending", "repeated"), 0)
    for row in case.rows:
        if row.means in count:
            count[row.means] += 1
    return told, count


def deliver(study, case):
    """Read and tell; what was told, or the refusal."""
    source = as_csv(case) if case.text else as_frame(case)
    return study.tell(read_sheet(source, study.problem))


def check(study, case):
    """One sheet; whether it was accepted."""
    before = study.ledger.read()
    if case.blame:
        with pytest.raises(DataError) as caught:
            deliver(study, case)
        check_refusal(case, str(caught.value))
        assert study.ledger.read() == before
        return False
    told, count = expected(case)
    got = deliver(study, case)
    assert (got.accepted, got.failed, got.pending) == (len(told), count["failed"], count["pending"])
    assert got.repeated == count["repeated"]
    assert got.surplus == 0
    events = [event for _, event in study.ledger.read()[len(before) :]]
    stored = {uid: tuple(v) for e in events if e["kind"] == "told" for uid, v in e["rows"]}
    assert {uid: v[:3] for uid, v in stored.items()} == told
    return True


@pytest.mark.parametrize("block", range(10))
def test_ten_thousand_sheets_are_used_or_refused_as_a_whole(block):
    rng = np.random.default_rng([20261118, block])
    study, requests = fresh(MemoryLedger())
    accepted = 0
    for _ in range(1000):
        if check(study, spoilt(rng, study.problem, requests)):
            accepted += 1
            study, _ = fresh(MemoryLedger())
    assert 200 < accepted < 800, "both fates must be common"


def files_of(path):
    """Every byte of a store but the index of its log, which holds no data."""
    found = path.parent.glob(path.name + "*")
    return {f.name: f.read_bytes() for f in found if not f.name.endswith("-shm")}


def test_a_refusal_leaves_every_byte_of_the_file(tmp_path):
    rng = np.random.default_rng(20261119)
    path = tmp_path / "w.study"
    study, requests = fresh(open_ledger(path, create=True))
    refused = 0
    while refused < 300:
        case = spoilt(rng, study.problem, requests)
        if case.blame:
            before = files_of(path)
            check(study, case)
            assert files_of(path) == before
            refused += 1


def attempt(text):
    """The candidates of a text, or why there are none."""
    try:
        return read_candidates(io.StringIO(text))
    except DataError as error:
        return str(error)


RUBBISH = st.lists(
    st.sampled_from(
        ["id", "a", "uid", "y1", "r0c0n0", "1", ",", ";", "\t", "\n", '"', "'", "=", "\x00"]
    )
)


@settings(max_examples=1000)
@given(RUBBISH.map("".join))
def test_any_text_is_read_or_refused_by_row(text):
    if isinstance(found := attempt(text), str):
        assert re.search(r"row \d+|no row", found)
    else:
        assert all(len(cells) == len(found.ids) for cells in found.columns.values())
    with pytest.raises(DataError, match=r"row \d+"):
        read_sheet(io.StringIO(text), PROBLEM)


@settings(max_examples=300)
@given(
    st.lists(
        st.dictionaries(st.sampled_from([*NOISY, "uid", "w"]), st.from_type(object)), min_size=1
    )
)
def test_any_rows_are_refused_by_row_or_column(rows):
    with pytest.raises(DataError, match=r"row \d+|column"):
        read_sheet(rows, PROBLEM)
