"""Many candidates are read to the same cells as few, from every source, and refused with the same words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paretoscope as ps
from paretoscope import bulk
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.packing import LONG
from paretoscope.study.columns import Column, RowNumbers
from paretoscope.table import read_candidates

K = LONG + 1001
RNG = np.random.default_rng(0)
DATA = {
    "width": RNG.integers(0, 99, K),
    "scale": RNG.standard_normal(K),
    "kind": np.array(["fast", "slow", "08"])[RNG.integers(0, 3, K)],
}


def frames(tmp_path):
    arrow = pa.table({name: pa.array(values.tolist()) for name, values in DATA.items()})
    pq.write_table(arrow, tmp_path / "c.parquet")
    return {
        "pandas": pd.DataFrame(DATA),
        "polars": pl.DataFrame({name: values.tolist() for name, values in DATA.items()}),
        "pyarrow": arrow,
        "parquet": tmp_path / "c.parquet",
        "arrays": DATA,
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "parquet", "arrays"])
def test_a_long_frame_gives_the_cells_of_its_rows(kind, tmp_path):
    found = read_candidates(frames(tmp_path)[kind])
    assert isinstance(found.ids, RowNumbers)
    assert found.columns == {name: values.tolist() for name, values in DATA.items()}
    assert isinstance(found.columns["scale"], Column)


@pytest.mark.parametrize("ids", [None, "id"])
def test_a_long_csv_file_gives_the_cells_of_a_short_one(ids, tmp_path, monkeypatch):
    names = {"id": [f"c{k}" for k in range(K)]} if ids else {}
    frame = pd.DataFrame(names | DATA | {"code": [f"{k:06d}" for k in range(K)]})
    frame.to_csv(tmp_path / "c.csv", index=False)
    fast = read_candidates(tmp_path / "c.csv")
    monkeypatch.setattr(bulk, "_is_long", lambda _: False)
    slow = read_candidates(tmp_path / "c.csv")
    assert fast.ids == slow.ids
    assert fast.columns == slow.columns
    assert isinstance(fast.columns["scale"], Column)
    assert not isinstance(slow.columns["scale"], Column)


@pytest.mark.parametrize("bad", ["a,b\n" + "1,2\n" * K + "1\n", "a,b\n" + "1,2\n" * K + '1,"\n'])
def test_a_fault_of_a_long_file_is_named_by_its_row(bad, tmp_path):
    (tmp_path / "c.csv").write_text(bad)
    with pytest.raises(DataError, match=rf"row {K + 2}"):
        read_candidates(tmp_path / "c.csv")


def test_a_name_that_stands_twice_in_a_long_file_is_named(tmp_path):
    rows = "".join(f"{k},1\n" for k in range(K))
    (tmp_path / "c.csv").write_text(f"id,a\n{rows}77,1\n")
    with pytest.raises(DataError, match=rf"row {K + 2}, column 'id': '77' stands in row 79 too"):
        read_candidates(tmp_path / "c.csv")


def test_a_hole_in_a_long_frame_is_named():
    frame = pd.DataFrame(DATA)
    frame.loc[5, "scale"] = np.nan
    with pytest.raises(DataError, match="row 6, column 'scale'"):
        read_candidates(frame)


def test_a_long_array_is_not_copied_and_may_lie_in_a_file(tmp_path):
    X = RNG.standard_normal((K, 2))
    found = read_candidates(X)
    assert np.shares_memory(found.columns["x1"].array, X)
    np.save(tmp_path / "x.npy", X)
    mapped = read_candidates(tmp_path / "x.npy")
    assert isinstance(mapped.columns["x0"].array.base, np.memmap)
    assert mapped == found
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="row 4 of the array is not finite"):
        read_candidates(X)


def test_files_that_are_none_are_refused(tmp_path):
    for name in ("none.parquet", "none.npy", "text.npy", "text.parquet"):
        if name.startswith("text"):
            (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(UsageError, match=r"cannot be read .* give the path of a table"):
            read_candidates(tmp_path / name)


def test_rows_of_blanks_are_no_candidates(tmp_path):
    (tmp_path / "c.csv").write_text("a,b\n , \n" + "1,x\n" * K + ",\n\n")
    found = read_candidates(tmp_path / "c.csv")
    assert isinstance(found.ids, RowNumbers)
    assert found.columns == {"a": ["1"] * K, "b": ["x"] * K}


def test_columns_of_unlike_length_are_refused():
    with pytest.raises(DataError, match=rf"row {K}"):
        read_candidates({"a": np.zeros(K), "b": np.zeros(K - 1)})


def test_a_sheet_of_many_candidates_has_the_types_of_its_columns():
    columns = {"candidates": DATA, "features": ["width", "scale"], "epsilon": 1.0}
    study = ps.Study.create(None, metrics=[ps.Metric("y", sigma=1.0)], **columns)
    frame = study.ask(3).to_frame("polars")
    assert frame.schema["width"] == pl.Int64
    assert frame.schema["scale"] == pl.Float64
    assert frame.schema["kind"] == pl.String
    places = [int(name) for name in frame["candidate"]]
    assert frame["scale"].to_list() == DATA["scale"][places].tolist()
