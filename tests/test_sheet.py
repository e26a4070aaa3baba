"""Sheets to the lab and back: what comes back is what was meant, or is refused by its place."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from paretoscope import cells
from paretoscope.errors import DataError, UsageError
from paretoscope.ledger.memory import MemoryLedger
from paretoscope.policies.fixed import FixedDesign
from paretoscope.sheet import read_sheet, sheet_frame, sheet_header, sheet_rows, write_sheet
from paretoscope.study.definition import define
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study

CANDIDATES = {
    "id": ["08", "=b", "c,d"],
    "w": ["1.10", "@x", "3,5"],
    "wet": [True, False, True],
    "mm2": [1.5, 1 / 3, 3.0],
}
METRICS = [
    Metric("-y", sigma=0.1),  # a name that a spreadsheet would run
    Metric("t", "min", sigma=0.1, scale="log"),
    Metric("share", bounds=(0, 1)),
    Metric("area", "min", exact=True, known="mm2"),
]
HEADER = ["uid", "candidate", "replicate", "w", "wet", "mm2", "-y", "t", "share", "note"]


def made(**changes):
    whole = {
        "candidates": CANDIDATES,
        "metrics": METRICS,
        "method": FixedDesign(delta=0.1, budget=120),
    }
    definition = define(**(whole | changes))
    return Study.on(MemoryLedger(), definition)


@pytest.fixture
def study():
    return made()


@pytest.fixture
def asked(study):
    return study.ask(4)


def records(text, delimiter=","):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def sent_back(lines, delimiter=","):
    """Lines of cells as a spreadsheet saves them."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(lines)
    return io.StringIO(out.getvalue())


def filled(study, asked, change=dict):
    """The sheet with every metric filled in, after a change to its first row, by column."""
    first, *lines = records(write_sheet(None, study.problem, asked))
    rows = [
        dict(zip(first, line, strict=True)) | {"'-y": "1", "t": "2", "share": "0.5"}
        for line in lines
    ]
    rows[0] = change(rows[0])
    return sent_back([list(rows[0]), *(list(row.values()) for row in rows)])


# ---------------------------------------------------------------- out


def test_a_sheet_has_the_columns_of_the_study_and_blank_metrics(study, asked):
    rows = sheet_rows(study.problem, asked)
    assert sorted(sheet_header(study.problem)) == sorted(HEADER)
    assert list(rows[0]) == sheet_header(study.problem)
    for row, request in zip(rows, asked, strict=True):
        k = CANDIDATES["id"].index(request.candidate)
        assert row["uid"] == request.uid
        assert (row["candidate"], row["replicate"]) == (request.candidate, request.replicate)
        assert (row["w"], row["mm2"]) == (CANDIDATES["w"][k], CANDIDATES["mm2"][k])
        assert (row["-y"], row["t"], row["share"], row["note"]) == (None, None, None, "")


def test_no_cell_of_a_sheet_runs_in_a_spreadsheet(study):
    lines = records(write_sheet(None, study.problem, study.ask()))
    assert {line[1] for line in lines[1:]} == {"08", "'=b", "c,d"}
    assert "'-y" in lines[0]
    assert "'@x" in {cell for line in lines for cell in line}
    assert not [cell for line in lines for cell in line if cell[:1] in {*"=+-@\t\r"} - {""}]


def test_a_sheet_goes_to_a_path_a_stream_or_nowhere(tmp_path, study, asked):
    stream, path = io.StringIO(), tmp_path / "batch.csv"
    text = write_sheet(None, study.problem, asked)
    assert text == write_sheet(stream, study.problem, asked) == stream.getvalue()
    assert write_sheet(path, study.problem, asked) == path.read_bytes().decode()
    assert [row["where"] for row in read_sheet(path, study.problem)[:2]] == [
        "batch.csv, row 2",
        "batch.csv, row 3",
    ]
    with pytest.raises(UsageError, match="both ','"):
        write_sheet(None, study.problem, asked, decimal=",")


def test_columns_that_clash_with_the_sheets_own_stay_at_home():
    columns = {"id": ["a", "b"], "note": ["x", "y"], "t": [1, 2], "uid": [3, 4], "w": [5, 6]}
    study = made(candidates=columns, metrics=[Metric("t", sigma=1.0)])
    assert sheet_header(study.problem) == ["uid", "candidate", "replicate", "w", "t", "note"]
    (row,) = sheet_rows(study.problem, study.ask(1))
    assert (row["t"], row["note"]) == (None, "")
    assert read_sheet([row | {"t": 7, "note": "fine"}], study.problem)[0]["t"] == 7.0


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(",", "."), (";", ","), ("\t", ","), (";", ".")]
)
def test_a_sheet_that_was_filled_in_is_told(study, delimiter, decimal):
    asked = study.ask()
    first, *lines = records(
        write_sheet(None, study.problem, asked, delimiter=delimiter, decimal=decimal), delimiter
    )
    rng = np.random.default_rng(4)
    values = {r.uid: (*rng.normal(size=1), *rng.uniform(0, 1, 2)) for r in asked}
    for line in lines:
        cells = [repr(float(v)).replace(".", decimal) for v in values[line[0]]]
        for name, cell in zip(("'-y", "t", "share"), cells, strict=True):
            line[first.index(name)] = cell
    rows = read_sheet(sent_back([first, *lines], delimiter), study.problem)
    assert study.tell(rows).accepted == len(asked)
    told = [row for _, e in study.ledger.read() if e["kind"] == "told" for row in e["rows"]]
    assert {uid: tuple(row[:3]) for uid, row in told} == values
    assert study.tell(rows).repeated == len(asked)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_sheet_goes_out_and_comes_back_as_a_frame(study, asked, backend):
    frame = sheet_frame(study.problem, asked, backend)
    assert type(frame).__module__.startswith(backend)
    rows = read_sheet(frame, study.problem)
    assert study.tell(rows).pending == 4
    data = frame if backend == "pandas" else frame.to_pandas()
    assert data["mm2"].tolist() == [r["mm2"] for r in sheet_rows(study.problem, asked)]
    full = data.assign(**{"-y": 1.5, "t": 2, "share": [0.5, math.nan, 0.25, 1]})
    back = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pl.from_pandas}[backend](
        full
    )
    rows = read_sheet(back, study.problem)
    assert [row["share"] for row in rows] == [0.5, None, 0.25, 1.0]
    assert rows[1]["where"] == "the frame, row 2"
    assert study.tell(rows)[:3] == (3, 0, 1)


def test_frames_are_of_the_backend_at_hand(study, asked, monkeypatch):
    assert isinstance(sheet_frame(study.problem, asked), pd.DataFrame)
    assert list(sheet_frame(study.problem, []).columns) == sheet_header(study.problem)
    with pytest.raises(UsageError, match="a frame of excel: install pandas or polars or pyarrow"):
        sheet_frame(study.problem, asked, "excel")
    monkeypatch.setattr(cells, "find_spec", lambda name: name == "polars" or None)
    assert isinstance(sheet_frame(study.problem, asked), pl.DataFrame)
    monkeypatch.setattr(cells, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="a frame of any kind: install"):
        sheet_frame(study.problem, asked)


def test_columns_of_a_frame_have_the_narrowest_type_that_holds_them():
    columns = {"id": ["a", "b"], "i": [1, 2], "f": [1, 0.5], "big": [1, 2**70], "s": [1, "x"]}
    study = made(candidates=columns, metrics=[Metric("t", sigma=1.0)])
    types = sheet_frame(study.problem, study.ask(2), "polars").schema
    assert [types[name] for name in ("i", "f", "big", "s", "t")] == [
        pl.Int64,
        pl.Float64,
        pl.String,
        pl.String,
        pl.Float64,
    ]


def test_a_sheet_read_by_pandas_on_the_way_is_understood(tmp_path, study):
    asked = study.ask()
    path = tmp_path / "batch.csv"
    write_sheet(path, study.problem, asked)
    frame = pd.read_csv(path)  # 08 becomes 8, apostrophes stay, blanks are NaN
    frame["'-y"], frame["t"], frame["share"] = 1.0, 2.0, 0.5
    assert study.tell(read_sheet(frame, study.problem)).accepted == len(asked)


def test_nothing_filled_in_is_nothing_told(study, asked):
    text = write_sheet(None, study.problem, asked)
    assert study.tell(read_sheet(io.StringIO(text), study.problem)).pending == 4
    header = text.splitlines()[0]
    assert read_sheet(io.StringIO(header), study.problem) == []
    assert read_sheet([], study.problem) == []
    assert read_sheet(io.StringIO(text + ",,,,,,,,,\n\n"), study.problem)[4:] == []


# ---------------------------------------------------------------- failures

FAILURES = [
    ({"t": "FAILED"}, "marked FAILED on the sheet"),
    ({"t": "failed: too hot"}, "too hot"),
    ({"t": "FAILED", "note": "smoke"}, "smoke"),
    ({"share": "", "note": "FAILED: no power\non Monday"}, "no power\non Monday"),
    ({"note": " Failed "}, "marked FAILED on the sheet"),
    ({"note": "FAILED :  twice"}, "twice"),
]


@pytest.mark.parametrize(("change", "reason"), FAILURES)
def test_a_failure_is_told_with_its_reason(study, asked, change, reason):
    rows = read_sheet(filled(study, asked, lambda row: row | change), study.problem)
    assert rows[0]["failed"] == reason
    assert not [row for row in rows[1:] if "failed" in row]
    assert study.tell(rows)[:4] == (3, 0, 0, 1)


@pytest.mark.parametrize("note", ["failed once, then worked", "unfailed", "", "it FAILED: no"])
def test_a_remark_is_no_failure(study, asked, note):
    rows = read_sheet(filled(study, asked, lambda row: row | {"note": note}), study.problem)
    assert study.tell(rows).accepted == 4


def test_a_failed_row_with_a_wrong_cell_is_refused_all_the_same(study, asked):
    source = filled(study, asked, lambda row: row | {"t": "FAILED", "share": "7"})
    with pytest.raises(
        DataError, match=r"row 2, column 'share': '7' cannot be: share = 7.0 lies out"
    ):
        read_sheet(source, study.problem)


# ---------------------------------------------------------------- refusals

SAID = {
    "abc": "is no number: write a number, FAILED, or nothing",
    "1.2.3": "is no number",
    "TRUE": "is no number",
    "NaN": "is no number",
    "inf": "is no number",
    "1e999": "is not finite",
    "1,234.5": "separator of thousands",
    "1 234": "separator of thousands",
    "1'234": "separator of thousands",
    "1,234": "separator of thousands",
    "1,5": "has not the decimal point of the sheet",
    "-1": "cannot be: t = -1.0: the log scale needs positive values; correct it or write FAILED",
    "=SUM(A1)": "is no number",
}


@pytest.mark.parametrize("cell", SAID)
def test_a_cell_that_is_no_measurement_is_refused_by_its_place(study, asked, cell):
    source = filled(study, asked, lambda row: row | {"t": cell})
    with pytest.raises(DataError) as caught:
        read_sheet(source, study.problem)
    assert f"the table, row 2, column 't': {cell!r}" in str(caught.value)
    assert SAID[cell] in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, [1.0], 10**400, 1j])
def test_a_value_that_is_no_measurement_is_refused(study, asked, value):
    row = sheet_rows(study.problem, asked)[0] | {"-y": 1.0, "t": value, "share": 0.5}
    with pytest.raises(DataError, match="the rows, row 1, column 't'"):
        read_sheet([row], study.problem)
    if isinstance(value, float):
        frame = pl.DataFrame([row])
        with pytest.raises(DataError, match=r"the frame, row 1, column 't': .* is not finite"):
            read_sheet(frame, study.problem)


MARKS = [
    ("1,5", "2,5", {}, 1.5),
    ("1,234", "7", {}, 1.234),
    ("1.5", "2.5", {}, 1.5),
    ("1.5", "2.5", {"decimal": "."}, 1.5),
    ("1,5", "2.5", {}, None),
    ("1,5", "2.5", {"decimal": ","}, None),
    ("1.234,5", "1", {}, None),
    ("1.234", "1", {"decimal": ","}, None),
    ("1,5", "1", {"decimal": "."}, None),
]


@pytest.mark.parametrize(("one", "two", "options", "value"), MARKS)
def test_decimal_marks_are_told_by_the_whole_sheet(study, asked, one, two, options, value):
    first, *lines = records(write_sheet(None, study.problem, asked[:2], delimiter=";"), ";")
    for line, cell in zip(lines, (one, two), strict=True):
        line[first.index("t")] = cell
    source = sent_back([first, *lines], ";")
    if value is None:
        with pytest.raises(DataError, match=r"row [23], column 't': .*(decimal|thousands)"):
            read_sheet(source, study.problem, **options)
    else:
        assert read_sheet(source, study.problem, **options)[0]["t"] == value


MISTAKES = {
    "another's uid": ({"uid": "r0c99n0"}, "column 'uid': 'r0c99n0' is no request of this study"),
    "no uid": ({"uid": ""}, "column 'uid': '' is no request"),
    "a uid spelt otherwise": ({"uid": "r00c0n0"}, "column 'uid': 'r00c0n0' is no request"),
    "another candidate": ({"candidate": "nobody"}, "column 'candidate': 'nobody' where "),
    "another parameter": ({"mm2": "99"}, "column 'mm2': '99' where candidate "),
    "another text": ({"w": "other"}, "column 'w': 'other' where candidate "),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_row_of_another_request_is_refused(study, asked, kind):
    change, said = MISTAKES[kind]
    with pytest.raises(DataError) as caught:
        read_sheet(filled(study, asked, lambda row: row | change), study.problem)
    assert f"the table, row 2, {said}" in str(caught.value)


def test_a_column_sorted_by_itself_is_refused(study):
    first, *lines = records(write_sheet(None, study.problem, study.ask()))
    for name in ("candidate", "mm2", "w"):
        place = first.index(name)
        column = sorted((line[place] for line in lines), reverse=True)
        wrong = [[*a[:place], b, *a[place + 1 :]] for a, b in zip(lines, column, strict=True)]
        with pytest.raises(DataError, match=rf"row \d+, column '{name}': .* undo the"):
            read_sheet(sent_back([first, *wrong]), study.problem)


def test_what_spreadsheets_do_to_names_and_parameters_is_understood(study):
    rows = {row["candidate"]: row for row in sheet_rows(study.problem, study.ask())}
    kept = rows["08"] | {"candidate": "8", "w": "1.1", "wet": "TRUE", "mm2": "1,50"}
    assert read_sheet([kept], study.problem)[0]["candidate"] == "08"
    kept = rows["=b"] | {"mm2": "0.3333333", "wet": "", "w": None}
    assert read_sheet([kept], study.problem)[0]["candidate"] == "=b"
    with pytest.raises(DataError, match="column 'mm2'"):
        read_sheet([kept | {"mm2": "0.3334"}], study.problem)


def test_a_shorter_name_that_is_another_candidates_is_refused():
    study = made(candidates={"id": ["1.10", "1.1"]}, metrics=[Metric("t", sigma=1.0)])
    for row in sheet_rows(study.problem, study.ask(2)):
        other = {"1.10": "1.1", "1.1": "1.10"}[row["candidate"]]
        with pytest.raises(DataError, match=f"row 1, column 'candidate': '{other}' where"):
            read_sheet([row | {"candidate": other}], study.problem)


def test_a_request_in_two_rows_is_refused_with_both(study, asked):
    first, *lines = records(filled(study, asked).getvalue())
    with pytest.raises(DataError, match=r"row 6, column 'uid': '.*' stands in row 3 too: keep one"):
        read_sheet(sent_back([first, *lines, lines[1]]), study.problem)


def test_columns_are_those_of_the_study(study, asked):
    first, *lines = records(filled(study, asked).getvalue())
    for name in ("uid", "'-y", "t", "share"):
        place = first.index(name)
        cut = [line[:place] + line[place + 1 :] for line in [first, *lines]]
        with pytest.raises(DataError, match=f"row 1: column '{name.lstrip(chr(39))}' is missing"):
            read_sheet(sent_back(cut), study.problem)
    wide = [[*line, "x"] for line in [first, *lines]]
    wide[0][-1] = "delta"
    with pytest.raises(
        DataError, match=r"row 1: column 'delta' is none of uid, candidate, .*: rename"
    ):
        read_sheet(sent_back(wide), study.problem)


def test_cells_may_be_cut_off_at_the_note_and_nowhere_else(study, asked):
    first, *lines = records(filled(study, asked).getvalue())
    assert first[-1] == "note"
    rows = read_sheet(sent_back([first, *(line[:-1] for line in lines)]), study.problem)
    assert study.tell(rows, dry_run=True).accepted == 4
    with pytest.raises(DataError, match="row 3: 8 cells for 10 columns"):
        read_sheet(sent_back([first, lines[0], lines[1][:-2]]), study.problem)


def test_a_known_metric_may_stand_there_but_not_change(study, asked):
    (row, *_) = sheet_rows(study.problem, asked)
    assert "area" not in read_sheet([row | {"area": row["mm2"]}], study.problem)[0]
    with pytest.raises(DataError, match="row 1, column 'area': 42 where candidate"):
        read_sheet([row | {"area": 42}], study.problem)
