"""What the desk does to a study, without a browser: sheets checked row by row, receipts, new studies."""

from __future__ import annotations

import csv
import io
import json

import pytest

import paretoscope as ps
from paretoscope.errors import DataError, UsageError
from paretoscope.web.desk import Receipts, check_sheet, next_sheet, settle, store_sheet, tell_values
from paretoscope.web.new import create
from tests.web.lab import candidates, filled, measure, study


@pytest.fixture
def lab():
    return study(None)


def sheet(lab, n=4, edit=None):
    """A filled sheet of n requests, edited row by row."""
    rows = list(csv.DictReader(io.StringIO(filled(next_sheet(lab, {"n": n})[1]))))
    for k, row in enumerate(rows):
        row.update((edit or {}).get(k, {}))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def test_every_row_that_is_wrong_is_named(lab):
    wrong = {
        0: {"cost": "about 5"},
        2: {"uid": "r9c99n9"},
        3: {"candidate": "nobody"},
    }
    found = check_sheet(lab, sheet(lab, 6, wrong), "")
    assert [error["row"] for error in found["errors"]] == [2, 4, 5]
    said = [error["said"] for error in found["errors"]]
    assert said[0].startswith("column 'cost': 'about 5' is no number")
    assert "is no request of this study" in said[1]
    assert "was asked for" in said[2]
    assert lab.status().done == 0


def test_a_row_the_study_refuses_is_named_as_well(lab):
    first = sheet(lab, 3)
    store_sheet(lab, first, "Ann")
    lines = first.decode().splitlines()
    row = lines[2].split(",")
    row[5] = "99"
    changed = "\r\n".join([*lines[:2], ",".join(row), *lines[3:]]).encode()
    (error,) = check_sheet(lab, changed, "Ann")["errors"]
    assert error["row"] == 3
    assert "told before" in error["said"]


def test_mistakes_that_rows_make_together_are_said(lab):
    lines = sheet(lab, 2).decode().splitlines()
    (error,) = check_sheet(lab, "\r\n".join([*lines, lines[1]]).encode(), "")["errors"]
    assert error["row"] is None
    assert "stands in row 2 too" in error["said"]
    for broken in (b"", b"\xff\xfe", b"uid,cost\n", b'uid,"cost\n', b"a;b\n1;2\n"):
        (error,) = check_sheet(lab, broken, "")["errors"]
        assert error["said"]


def test_a_check_stores_nothing_and_says_what_storing_will(lab):
    given = sheet(lab, 4, {1: {"cost": "", "gain": ""}, 2: {"cost": "FAILED", "note": "broke"}})
    before = lab.ledger.read()
    assert check_sheet(lab, given, "")["said"] == "2 measurements, 1 failed, 1 still blank"
    assert lab.ledger.read() == before
    assert store_sheet(lab, given, "") == "2 measurements, 1 failed, 1 still blank"


def test_a_receipt_holds_for_one_sheet_of_one_study_once():
    receipts = Receipts()
    assert not receipts.take("", "a", b"x")
    for study_, sheet_ in (("b", b"x"), ("a", b"y")):
        assert not receipts.take(receipts.give("a", b"x"), study_, sheet_)
    good = receipts.give("a", b"x")
    assert receipts.take(good, "a", b"x")
    assert not receipts.take(good, "a", b"x")


def test_old_receipts_make_room():
    receipts = Receipts()
    first = receipts.give("a", b"x")
    last = [receipts.give("a", b"x") for _ in range(1000)][-1]
    assert not receipts.take(first, "a", b"x")
    assert receipts.take(last, "a", b"x")


def test_sheets_for_other_spreadsheets(lab):
    n, text = next_sheet(lab, {"n": "2", "marks": ";", "who": " Ann  B "})
    assert n == 2
    assert text.splitlines()[0].count(";") == 7
    assert {held.by for held in lab.snapshot().out} == {"Ann B"}
    assert (
        next_sheet(lab, {"n": "2", "rows": "candidate"})[1]
        .splitlines()[0]
        .startswith("uid,candidate,n")
    )


def test_a_sheet_that_cannot_be_written_takes_no_requests():
    made = ps.Study.create(
        None, candidates={"a": [1, 2]}, metrics=[ps.Metric("y", "min", scale="log")], epsilon=0.1
    )
    with pytest.raises(UsageError, match="judged on logarithms"):
        next_sheet(made, {"rows": "candidate"})
    assert made.pending() == []


def test_one_measurement_as_it_is_typed(lab):
    request = lab.ask(1)[0]
    row = lab.described(request.candidate)
    true = measure(request.uid, row["a"], row["b"])
    typed = {name: str(value).replace(".", ",") for name, value in true.items()}
    given = {"uid": request.uid, "values": typed, "who": "Ann"}
    assert tell_values(lab, given) == "1 measurement"
    assert tell_values(lab, given) == "0 measurements, 1 told before"
    (rows,) = [event["rows"] for _, event in lab.ledger.read() if event["kind"] == "told"]
    assert rows == [[request.uid, list(true.values())]]
    for values in (
        {},
        {"cost": "1"},
        {"cost": "1", "gain": ""},
        {"cost": "x", "gain": "1"},
        [1],
        {"cost": "1", "gain": "2", "x": "3"},
    ):
        with pytest.raises((UsageError, DataError)):
            tell_values(lab, {"uid": request.uid, "values": values})


def test_what_has_no_values_is_settled(lab):
    one, two, three = lab.ask(3)
    assert "failed: broke" in settle(lab, {"uid": one.uid, "how": "failed", "reason": "broke"})
    assert "given back" in settle(lab, {"uid": two.uid, "how": "release"})
    assert "written off" in settle(lab, {"uid": three.uid, "how": "withdraw", "reason": "lost"})
    assert lab.pending() == []
    kinds = [event["kind"] for _, event in lab.ledger.read()]
    assert kinds == ["created", "asked", "failed", "returned", "withdrawn"]
    for given in ({"how": "eat"}, {"how": "withdraw"}, {"how": "failed", "reason": " "}):
        with pytest.raises(UsageError):
            settle(lab, {"uid": two.uid, **given})
    with pytest.raises(DataError):
        settle(lab, {"uid": "r9c9n9", "how": "release"})


# ---------------------------------------------------------------- new studies

METRICS = [
    {
        "name": "cost",
        "goal": "min",
        "unit": "EUR",
        "epsilon": "0,3",
        "sigma": "0.3",
        "kind": "plain",
    },
    {"name": "gain", "goal": "max", "epsilon": "2%", "kind": "log"},
    {"name": "size", "goal": "min", "kind": "exact", "epsilon": ""},
    {"name": "", "goal": "min"},
]


def new(folder, **terms):
    given = {"name": "trial 1", "features": "a, b", "delta": "0.1", "seed": "3", "metrics": METRICS}
    return create(folder, json.dumps(given | terms), candidates().encode())


def test_a_study_is_made_from_a_form(tmp_path):
    assert new(tmp_path) == "trial 1"
    with ps.Study.open(tmp_path / "trial 1.study") as made:
        cost, gain, size = made.problem.metrics
        assert (cost.unit, cost.epsilon, cost.sigma) == ("EUR", 0.3, 0.3)
        assert (gain.scale, gain.epsilon, gain.sigma) == ("log", "2%", None)
        assert size.exact
        assert made.problem.features.names[1:] == ("a", "b")
        assert (made.wishes.delta, made.problem.seed, made.problem.K) == (0.1, 3, 12)
    with pytest.raises(UsageError, match="already"):
        new(tmp_path)


@pytest.mark.parametrize(
    "terms",
    [
        {"name": "../x"},
        {"name": ".hidden"},
        {"name": "a/b"},
        {"name": ""},
        {"name": "x" * 99},
        {"name": "x\ny"},
        {"name": "x\x00"},
        {"features": "a + b"},
        {"features": "__import__('os')"},
        {"metrics": []},
        {"metrics": None},
        {"metrics": [{"name": "y", "goal": "sideways", "epsilon": "1"}]},
        {"metrics": [{"name": "y", "goal": "min"}]},
        {"delta": "nan"},
        {"delta": "2"},
        {"budget": "-1"},
        {"seed": "0x1"},
        {"id": "nobody"},
    ],
    ids=str,
)
def test_terms_that_make_no_sense_make_no_file(tmp_path, terms):
    with pytest.raises((UsageError, DataError)):
        new(tmp_path, **terms)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{", "1"])
def test_a_form_that_is_no_form(tmp_path, text):
    with pytest.raises(UsageError):
        create(tmp_path, text, b"id\nA\nB\n")
