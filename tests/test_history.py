"""Earlier measurements from files and frames: all of their rows, or none."""

from __future__ import annotations

import io

import polars as pl
import pytest

from paretoscope.errors import DataError
from paretoscope.history import read_history
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Candidates, Problem

METRICS = (
    Metric("y1", sigma=0.5),
    Metric("rate", "min", scale="log"),
    Metric("size", exact=True, known="size"),
)
COLUMNS = {"w": ["1.10", "0.25"], "size": [1.0, 2.0]}
PROBLEM = Problem(Candidates(("A", "08"), COLUMNS), METRICS)


def read(text, **marks):
    return read_history(io.StringIO(text), PROBLEM, **marks)


def test_files_frames_and_mappings_say_the_same():
    lines = [[1, [0.5, 2.0, None]], [0, [-1.0, 3.5, None]]]
    rows = [{"candidate": "08", "y1": 0.5, "rate": 2}, {"candidate": "A", "y1": -1, "rate": 3.5}]
    assert read_history(rows, PROBLEM) == lines
    assert read_history(pl.DataFrame(rows, strict=False), PROBLEM) == lines
    assert read("candidate,y1,rate,note,w\n08,0.5,2,,0.25\n\nA,-1,3.5,old,\n") == lines
    assert read("rate;candidate;y1\n2,0;08;0,5\n3,5;A;-1\n") == lines
    assert read("candidate;y1;rate\n08;0.5;2\nA;-1;3.5", decimal=".") == lines
    assert read("candidate,y1,rate\n") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y1,rate\n1,2", "row 1: column 'candidate' is missing: add it"),
        ("candidate,y1\nA,1", "row 1: column 'rate' is missing: add it"),
        ("candidate,y1,rate,size,x\nA,1,2,1,3", "column 'x' is none of"),
        ("candidate,y1,rate,w\nA,1,2,1.2", "row 2, column 'w': '1.2' where candidate 'A' has"),
        ("candidate,y1,rate,size\nA,1,2,7", "row 2, column 'size': '7' where candidate 'A' has"),
        ("candidate,y1,rate\nA,1,2\nB,1,2", "row 3: there is no candidate 'B'"),
        ("candidate,y1,rate\nA,1,-2", "row 2, column 'rate': '-2' cannot be"),
        ("candidate,y1,rate\nA,,2", "row 2, column 'y1': '' is no value: leave out rows"),
        ("candidate,y1,rate\nA,FAILED,2", "'FAILED' is no value: leave out rows"),
        ("candidate,y1,rate\nA,1e400,2", "'1e400' is not finite"),
    ],
)
def test_a_row_that_cannot_be_used_refuses_all(text, said):
    with pytest.raises(DataError) as caught:
        read(text)
    assert said in str(caught.value)
