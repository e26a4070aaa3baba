"""Studies as lines and back, and what the doctor finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope import Study
from paretoscope.errors import DataError
from paretoscope.ledger import open_ledger
from paretoscope.study.book import KINDS
from paretoscope.study.exchange import (
    SHAPES,
    check_event,
    examine,
    export_lines,
    import_study,
    read_lines,
    schema_text,
)
from tests.cli.lab import asked, call, create, data, one_round
from tests.study.lab import copy, finish, fresh, shape

pytestmark = pytest.mark.usefixtures("folder")


def test_a_study_travels_as_lines():
    create()
    one_round()
    call("export", "w.study", "w.jsonl")
    assert "--force" in call("export", "w.study", "w.jsonl", code=2)
    assert "3 events" in call("import", "w.jsonl", "v.study")
    assert call("export", "v.study") == call("export", "w.study")
    assert asked("v.study") == asked("w.study")
    assert "holds a study already" in call("import", "w.jsonl", "v.study", code=2)


def test_any_damaged_line_is_refused_by_number():
    create()
    one_round()
    lines = call("export", "w.study").splitlines()
    swaps = {
        "damaged": lambda n: lines[n][:-5],
        "is none of": lambda n: lines[n].replace('"kind":"', '"kind":"x'),
        "missing, doubled": lambda n: lines[n].replace('"number":', '"number":1'),
        "schemas up to": lambda n: lines[n].replace('"schema":1', '"schema":9'),
        "does not belong": lambda n: lines[n].replace('"kind"', '"blind":1,"kind"'),
        "must be a finite number": lambda n: re.sub(r'"at":[\d.]+', '"at":"x"', lines[n]),
        "stands twice": lambda n: lines[n].replace('"number"', '"number":1,"number"'),
        "NaN is no number": lambda n: re.sub(r'"number":\d+', '"number":NaN', lines[n]),
        "keys schema": lambda _: "[]",
    }
    for n in range(3):
        for said, swap in swaps.items():
            Path("d.jsonl").write_text("\n".join([*lines[:n], swap(n), *lines[n + 1 :]]))
            output = call("import", "d.jsonl", "d.study", code=4)
            assert f"d.jsonl, line {n + 1}: " in output
            assert said in output
    assert not Path("d.study").exists()


def test_lines_that_make_no_study_are_refused():
    create()
    one_round()
    one, two, three = call("export", "w.study").splitlines()
    moved = three.replace('"number":3', '"number":2')
    cases = {
        "out of order": [one, moved],
        "begins with 'created'": [one, one.replace('"number":1', '"number":2')],
        "no candidate": [one, re.sub(r"c\d+n0", "c99n0", two, count=1)],
        "definition": [one.replace('"metrics":[', '"metrics":[{"name":"y1"},'), two],
        "0 values": [one, two, json.dumps(_emptied(json.loads(three)))],
        "there is no line": [],
    }
    for said, lines in cases.items():
        Path("d.jsonl").write_text("\n".join(lines))
        assert said in call("import", "d.jsonl", "d.study", code=4)
    Path("d.jsonl").write_bytes(b"\xff\xfe")
    assert "UTF-8" in call("import", "d.jsonl", "d.study", code=4)


def _emptied(line):
    """A delivery without values."""
    line["event"]["rows"][0][1] = []
    return line


def test_doctor_finds_what_is_wrong():
    create()
    one_round()
    assert "The study is whole." in call("doctor", "w.study")
    with open_ledger("w.study", create=False) as ledger:
        ledger.append([{"kind": "returned", "uids": ["r0c99n0"], "reason": "?"}], expect=None)
    findings = data("doctor", "w.study", code=5)["findings"]
    assert [f["check"] for f in findings if not f["fine"]] == ["requests"]
    assert "event 4" in call("doctor", "w.study", code=5)
    assert "does not exist" in call("doctor", "none.study", code=5)


def test_the_published_schema_says_what_is_checked():
    schema = json.loads(call("export", "--schema"))
    assert call("export", "--schema") == schema_text()
    kinds = {e["properties"]["kind"]["const"]: e for e in schema["properties"]["event"]["oneOf"]}
    assert set(kinds) == set(SHAPES) == KINDS
    for kind, keys in SHAPES.items():
        assert set(kinds[kind]["properties"]) == set(kinds[kind]["required"]) == {"kind", *keys}


# ---------------------------------------------------------------- any study, any line


@pytest.fixture(scope="module")
def told():
    """The lines of a study with every kind of event that a person causes, and the study."""
    study = fresh(epsilon=0.3)
    first, second, *_ = study.ask()
    study.tell_failed(first.uid, "spilt")
    study.release()
    study.ask(1)
    study.withdraw([study.pending()[0].uid], "out of stock")
    study.add_history([{"candidate": "2", "y1": 1.0, "y2": 2.0}])
    finish(study)
    study.correct(second.uid, {"y1": 0.1, "y2": 0.2}, "typo")
    return list(export_lines(study.ledger)), study


def test_a_whole_study_is_sound_and_comes_back(told):
    lines, study = told
    assert {json.loads(line)["event"]["kind"] for line in lines} >= KINDS - {
        "surplus",
        "summed",
        "reframed",
    }
    assert all(finding.fine for finding in examine(study.ledger))
    import_study(lines, "back.study")
    with Study.open("back.study") as back:
        assert shape(back) == shape(study)
        assert list(export_lines(back.ledger)) == lines


def test_any_first_lines_are_the_study_of_that_time(told):
    lines, study = told
    for n in range(1, len(lines)):
        import_study(lines[:n], f"{n}.study")
        with Study.open(f"{n}.study") as back:
            assert shape(back) == shape(copy(study, n))


@given(where=st.floats(0, 1, exclude_max=True), data=st.data())
def test_a_line_cut_short_or_left_out_is_refused_by_number(told, where, data):
    lines, _ = told
    n = int(where * (len(lines) - 1))
    line = lines[n].rstrip()
    short = line[: data.draw(st.integers(0, len(line) - 1))]
    with pytest.raises(DataError, match=rf"line {n + 1}: "):
        read_lines([*lines[:n], short, *lines[n + 1 :]])
    with pytest.raises(DataError, match=rf"line {n + 1}: "):
        read_lines([*lines[:n], *lines[n + 1 :]])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(kind=st.sampled_from(sorted(SHAPES)), value=VALUES)
def test_values_of_any_type_are_taken_or_refused_never_more(kind, value):
    for key in SHAPES[kind]:
        event = {"kind": kind, "at": 1.0, "by": "", "lease": None, "reason": "", "uids": []}
        event |= {"rows": [], "definition": {}, "turn": 0, key: value}
        event = {k: v for k, v in event.items() if k in {"kind", *SHAPES[kind]}}
        if SHAPES[kind][key](value):
            assert check_event(event) is event
        else:
            with pytest.raises(DataError, match=f"{key} of '{kind}' must be"):
                check_event(event)
    with pytest.raises(DataError):
        check_event(value)
