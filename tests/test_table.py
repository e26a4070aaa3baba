"""Candidates from every kind of table, refusals by place, results in three formats."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import doctest
import io
import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope import cells, table
from paretoscope.cells import escape, read_table, unescape
from paretoscope.errors import DataError, UsageError
from paretoscope.study.problem import Candidates
from paretoscope.table import csv_text, read_candidates, write_table


def text(data, **options):
    return read_candidates(io.StringIO(data), **options)


@pytest.mark.parametrize("module", [table, cells])
def test_the_examples_hold(module):
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted > 0


# ---------------------------------------------------------------- files

TEXTS = {
    "comma": "id,w,v\na,08,1.10\nb,-3,x\n",
    "semicolon": "id;w;v\na;08;1.10\nb;-3;x\n",
    "tab": "id\tw\tv\na\t08\t1.10\nb\t-3\tx\n",
    "mark and returns": "\ufeffid,w,v\r\na,08,1.10\r\nb,-3,x\r\n",
    "old returns": "id,w,v\ra,08,1.10\rb,-3,x",
    "blank lines": "\n\nid,w,v\n\na,08,1.10\n,,\nb,-3,x\n\n\n",
    "padded header": " id , w,v \na,08,1.10\nb,-3,x\n",
    "quoted": '"id","w","v"\n"a","08","1.10"\nb,-3,x\n',
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_is_read_verbatim_whatever_wrote_it(tmp_path, kind):
    path = tmp_path / "c.csv"
    path.write_bytes(TEXTS[kind].encode())
    found = Candidates(("a", "b"), {"w": ["08", "-3"], "v": ["1.10", "x"]})
    assert read_candidates(path) == found
    assert read_candidates(str(path), "id") == found
    with path.open("rb") as file:
        assert read_candidates(file) == found


def test_quoted_cells_keep_delimiters_quotes_and_new_lines():
    found = text('id,w\n"a,b","say ""x""\nand y"\nc,d\n')
    assert found == Candidates(("a,b", "c"), {"w": ['say "x"\nand y', "d"]})


def test_ids_are_a_column_or_the_row_numbers():
    assert text("w,v\n1,2\n3,4\n").ids == ("0", "1")
    assert text("w,v\n1,2\n3,4\n", id="v") == Candidates(("2", "4"), {"w": ["1", "3"]})
    assert text("id\nx\n") == Candidates(("x",), {})
    with pytest.raises(UsageError, match=r"no column 'name': there are \['w', 'v'\]"):
        text("w,v\n1,2\n", id="name")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas_are_told_by_column(mark):
    data = "id;a;b;c;d\n1,5;1,5;08;x,y;1\n2,5;-2,25e3;1.10;1,5;,5\n".replace(";", mark)
    found = text(data)
    assert found.ids == ("1,5", "2,5")  # names are left alone
    assert found.columns == {
        "a": ["1.5", "-2.25e3"],
        "b": ["08", "1.10"],
        "c": ["x,y", "1,5"],
        "d": ["1", ".5"],
    }
    assert text(data, decimal=".").columns["a"] == ["1,5", "-2,25e3"]


def test_the_delimiter_is_the_one_that_fits_the_rows():
    assert text("id,a; b; c\nx,1\ny,2\n").columns == {"a; b; c": ["1", "2"]}
    assert text("id;a, b\nx;1,5\n").columns == {"a, b": ["1.5"]}
    assert text('id,"a;b",c\nx,1,2\n').columns == {"a;b": ["1"], "c": ["2"]}


def test_delimiter_and_decimal_mark_can_be_declared():
    assert text('id,a\nx,"1,5"\n').columns == {"a": ["1,5"]}
    assert text('id,a\nx,"1,5"\n', decimal=",").columns == {"a": ["1.5"]}
    assert text("id|a\nx|1,5\n", delimiter="|", id="id").columns == {"a": ["1,5"]}
    assert text("id;a,b\nx;1,2\n", delimiter=",").columns == {"id;a": ["x;1"], "b": ["2"]}
    with pytest.raises(UsageError, match="give one character"):
        text("id\nx\n", delimiter="ab")


REFUSED = {
    "nothing": ("", "is empty: row 1"),
    "header only": ("id,w\n", "no row"),
    "column twice": ("id,w,w\na,1,2\n", "row 1: column 'w' stands there twice"),
    "no name": ("id,,w\na,1,2\n", "row 1: column 2 has no name"),
    "short row": ("id,w\na,1\nb\n", "row 3: 1 cells for 2 columns"),
    "long row": ("id,w\n\na,1,2\n", "row 3: 3 cells for 2 columns"),
    "id twice": ("id,w\na,1\n\nb,2\na,3\n", "row 5, column 'id': 'a' stands in row 2 too"),
    "no id": ("id,w\na,1\n ,2\n", "row 3, column 'id': ' ' is blank or padded"),
    "padded id": ("id,w\na ,1\n", "row 2, column 'id': 'a ' is blank or padded"),
    "open quote": ('id,w\na,1\n"b,2\nc,3\n', "row 3: no CSV .*quotation mark"),
    "text after a quote": ('id,w\n"a"b,1\n', "row 2: no CSV"),
    "nul": ("id,w\na,1\nb,\x00\n", "row 3: a NUL"),
    "half a character": ("id,w\na,\ud800\n", "row 2, column 'w': .*half a character"),
    "two marks": ("id;w\na;1,5\nb;1.5\n", "row 3, column 'w': '1.5' has a point"),
    "thousands": ("id;w\na;1.234,5\nb;1,5\n", "row 2, column 'w': '1.234,5' has a point"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_names_the_place(kind):
    data, said = REFUSED[kind]
    with pytest.raises(DataError, match=said):
        text(data)


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes("id,w\na,1\nb,é\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"^c\.csv, row 3: byte 0xe9 is not UTF-8: save"):
        read_candidates(path)
    path.write_bytes("id,w\na,1\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"c\.csv, row 1: byte 0xff"):
        read_candidates(path)
    for wrong in (tmp_path, tmp_path / "no.csv", "no\x00.csv"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_candidates(wrong)
    path.write_text("id\n" + "x" * 200_000)
    with pytest.raises(DataError, match=r"row 2: no CSV .*field"):
        read_candidates(path)


# ---------------------------------------------------------------- frames, columns, arrays

DATA = {"id": ["a", "08"], "n": [1, 2], "x": [0.5, 1e-9], "s": ["08", "é"], "b": [True, False]}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dict": dict,
    "rows": lambda data: [
        dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)
    ],
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def test_every_frame_gives_the_same_plain_values(make):
    found = read_candidates(make(DATA))
    assert found == Candidates(("a", "08"), {k: v for k, v in DATA.items() if k != "id"})
    kinds = {k: [type(v) for v in values] for k, values in found.columns.items()}
    assert kinds == {"n": [int] * 2, "x": [float] * 2, "s": [str] * 2, "b": [bool] * 2}
    json.dumps(found.columns, allow_nan=False)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_missing_and_infinite_cells_of_frames_are_refused(make, bad):
    with pytest.raises(DataError, match=r"row 2, column 'x': .*(missing|not finite)"):
        read_candidates(make({"id": ["a", "b"], "x": [1.0, bad]}))
    with pytest.raises(DataError, match=r"row 1, column 'id'"):
        read_candidates(make({"id": [bad, 1.0], "x": [1.0, 2.0]}))


def test_ids_of_frames_become_text(make):
    assert read_candidates(make({"k": [3, 1], "x": [1.0, 2.0]}), "k").ids == ("3", "1")
    with pytest.raises(DataError, match="row 3, column 'k': 3 stands in row 1 too"):
        read_candidates(make({"k": [3, 1, 3]}), "k")


def test_dates_and_decimals_are_text_and_containers_are_refused():
    day = dt.date(2026, 11, 18)
    data = {"day": [day], "price": [decimal.Decimal("1.50")], "t": [np.datetime64("2026-11-18")]}
    columns = {"day": ["2026-11-18"], "price": ["1.50"], "t": ["2026-11-18"]}
    assert read_candidates(data) == Candidates(("0",), columns)
    for bad in ([1], b"x", 1j):
        with pytest.raises(DataError, match=r"row 1, column 'x': .* is neither a number nor text"):
            read_candidates({"x": [bad]})
    with pytest.raises(DataError, match="row 1, column 'x'"):
        read_candidates({"x": [decimal.Decimal("Infinity")]})
    for bad in (pd.NaT, pd.NA):
        with pytest.raises(DataError, match="row 2, column 'x': None is missing"):
            read_candidates(pd.DataFrame({"x": pd.Series([1, bad], dtype=object)}))


def test_frames_of_the_wrong_shape_are_refused():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match=r"column .* 'a' 2 times"):
        read_candidates(frame)
    with pytest.raises(DataError, match="column '1' stands there twice"):
        read_candidates(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(DataError, match="no row"):
        read_candidates(pd.DataFrame({"id": []}))
    with pytest.raises(UsageError, match=r"lazy: give what its collect\(\)"):
        read_candidates(pl.DataFrame(DATA).lazy())
    with pytest.raises(UsageError, match="object is no table"):
        read_candidates(object())
    with pytest.raises(DataError, match=r"row 2 .*column 'b' has 1 values, the first 2"):
        read_candidates({"a": [1, 2], "b": [1]})
    for bad in ("text", 3.0):
        with pytest.raises(UsageError, match=r"column 'a' is .*give a list"):
            read_candidates({"a": bad})
    with pytest.raises(DataError, match="row 2, column 'b': None is missing"):
        read_candidates([{"a": 1, "b": 2}, {"a": 2}])


def test_arrays_have_numbered_rows_and_columns():
    array = np.arange(6).reshape(3, 2)
    found = read_candidates(array)
    assert found == Candidates(("0", "1", "2"), {"x0": [0.0, 2.0, 4.0], "x1": [1.0, 3.0, 5.0]})
    assert read_candidates(found) is found
    with pytest.raises(DataError, match="row 2, column 'x1': nan is not finite"):
        read_candidates([[1, 2], [3, math.nan]])
    for bad in (np.zeros(3), np.zeros((0, 2)), [], np.zeros((2, 2, 2))):
        with pytest.raises(DataError, match="shape"):
            read_candidates(bad)
    for bad in ([[1, 2], [3]], [["a"]], np.array([[None, 1j]])):
        with pytest.raises(DataError, match="no array of numbers"), warnings.catch_warnings():
            read_candidates(bad)


# ---------------------------------------------------------------- out


@given(st.text(st.sampled_from("'=+-@\t\r\n a1.,\"é"), max_size=6))
def test_escaping_is_undone_and_leaves_nothing_to_run(cell):
    out = escape(cell)
    assert unescape(out) == cell
    assert out[:1] not in {"=", "@", "\t", "\r"}
    if out[:1] in {"+", "-"}:
        float(out)


@given(st.lists(st.lists(st.text(max_size=5), min_size=2, max_size=2), min_size=1, max_size=4))
def test_what_is_written_is_read_back(rows):
    rows = [[f"k{k}", *(cell.replace("\x00", "") for cell in row)] for k, row in enumerate(rows)]
    data = csv_text(["id", "a", "b"], rows)
    found = read_table(io.BytesIO(data.encode()), delimiter=",")
    assert [[unescape(cell) for cell in cells] for _, cells in found.rows] == rows


ROWS = [
    {"candidate": "=a", "y": 0.1 + 0.2, "low": None},
    {"candidate": "µ|b\nc", "y": -1.0, "n": 3},
]


def test_results_in_three_formats(tmp_path):
    data = list(csv.reader(io.StringIO(write_table(ROWS), newline="")))
    assert data[0] == ["candidate", "y", "low", "n"]
    assert data[1] == ["'=a", "0.30000000000000004", "", ""]
    assert data[2] == ["µ|b\nc", "-1.0", "", "3"]
    assert json.loads(write_table(ROWS, format="json")) == ROWS
    assert write_table(ROWS, format="markdown").splitlines() == [
        "| candidate | y | low | n |",
        "| --- | --- | --- | --- |",
        "| =a | 0.3 |  |  |",
        "| µ\\|b c | -1 |  | 3 |",
    ]
    assert [write_table([], format=kind) for kind in ("csv", "json", "markdown")] == [
        "",
        "[]\n",
        "",
    ]
    with pytest.raises(UsageError, match="'xls': give csv, markdown or json"):
        write_table(ROWS, format="xls")
    stream, path = io.StringIO(), tmp_path / "r.csv"
    assert write_table(ROWS, stream) == stream.getvalue() == write_table(ROWS, path)
    assert path.read_bytes() == b"\xef\xbb\xbf" + write_table(ROWS).encode()
    write_table(ROWS[:1], path)
    assert path.read_bytes().startswith(b"candidate,")
    write_table(ROWS, path, "json")
    assert json.loads(path.read_bytes()) == ROWS
    with pytest.raises(UsageError, match=r"cannot be written .*: choose another place"):
        write_table(ROWS, tmp_path)
