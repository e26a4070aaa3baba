from __future__ import annotations

import pytest

from paretoscope.errors import DataError
from paretoscope.ledger import MemoryLedger
from paretoscope.policies.uniform import Uniform
from paretoscope.study.definition import define
from paretoscope.study.intake import Told
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study
from tests.study.lab import Clock, fresh, metrics

Y = {"y1": 1.0, "y2": 2.0}


@pytest.fixture
def study():
    return fresh(method=Uniform(12))


def events(study):
    return [event for _, event in study.ledger.read()]


REFUSED = [
    ({"uid": "r0c0n1", "candidate": "1"} | Y, "asked for candidate 0, not 1"),
    ({"uid": "r0c9n0"} | Y, "none of this study's"),
    ({"uid": "r0c0n0"} | Y | {"y1": "x"}, "y1 = 'x' is not a number"),
    ({"uid": "r0c0n0"} | Y | {"y1": float("inf")}, "not finite"),
    ({"uid": "r0c0n0", "y1": 1.0, "y3": 2.0}, "'y3' is no metric"),
    ({"uid": "r0c0n0", "y2": float("nan")}, "y2 = nan is not finite"),
    ({"uid": "r0c0n7"} | Y, "never asked for"),
    ({"uid": "r0c00n0"} | Y, "never asked for"),
    ({"uid": "r1c0n0"} | Y, "never asked for"),
    ({"uid": "mine"} | Y, "none of this study's"),
    (Y, "none of this study's"),
    ({"uid": "r0c2n0"} | Y, "stands in two rows"),
    ({"uid": "r0c2n0", "failed": "burnt"}, "stands in two rows"),
]


@pytest.mark.parametrize(("row", "said"), REFUSED)
def test_one_bad_row_refuses_all_of_them_by_place(study, row, said):
    study.ask()
    before = events(study)
    good = [{"uid": "r0c2n0"} | Y, {"uid": "r0c3n0"} | Y]
    with pytest.raises(DataError, match=r"^row 3: ") as caught:
        study.tell([*good, row])
    assert said in str(caught.value)
    with pytest.raises(DataError, match=r"^batch.csv, row 7: "):
        study.tell([*good, row | {"where": "batch.csv, row 7"}])
    assert events(study) == before
    assert study.tell(good).accepted == 2


def test_repeats_contradictions_and_pending_rows(study):
    study.ask()
    assert study.tell([{"uid": "r0c0n0"} | Y], by="a") == Told(1, 0, 0, 0, 0)
    before = events(study)
    assert study.tell([{"uid": "r0c0n0"} | Y], by="b") == Told(0, 1, 0, 0, 0)
    assert study.tell([{"uid": "r0c1n0", "y1": 1.0, "y2": None}]) == Told(0, 0, 1, 0, 0)
    with pytest.raises(DataError, match=r"told before as y1 = 1.0, y2 = 2.0: correct it"):
        study.tell([{"uid": "r0c0n0", "y1": 1.0, "y2": 2.5}], by="a")
    with pytest.raises(DataError, match="cannot fail any more"):
        study.tell_failed("r0c0n0", "burnt", by="a")
    assert events(study) == before
    assert "r0c1n0" in {request.uid for request in study.pending()}


def test_a_dry_run_judges_and_stores_nothing(study):
    study.ask()
    before = events(study)
    rows = [{"uid": "r0c0n0"} | Y, {"uid": "r0c1n0", "failed": "dry"}, {"uid": "r0c2n0"}]
    assert study.tell(rows, dry_run=True) == Told(1, 0, 1, 1, 0)
    with pytest.raises(DataError):
        study.tell([{"uid": "nothing"}], dry_run=True)
    assert events(study) == before
    assert study.tell(rows) == Told(1, 0, 1, 1, 0)


def test_rows_not_asked_for_or_written_off_are_refused(study):
    with pytest.raises(DataError, match="never asked for"):
        study.tell([{"uid": "r0c0n0"} | Y])
    study.ask()
    assert study.withdraw(["r0c0n0"], "spilt") == 1
    with pytest.raises(DataError, match="written off: spilt"):
        study.tell([{"uid": "r0c0n0"} | Y])
    assert study.release(["r0c1n0"]) == 1
    with pytest.raises(DataError, match="given back"):
        study.tell([{"uid": "r0c1n0"} | Y])
    with pytest.raises(DataError, match="not outstanding"):
        study.withdraw(["r0c0n0"], "again")


def test_a_failure_told_twice_is_one_failure(study):
    study.ask()
    row = {"uid": "r0c0n0", "failed": "crash"}
    assert study.tell([row]).failed == 1
    assert study.tell([row]) == Told(0, 1, 0, 0, 0)
    assert [request.uid for request in study.ask()] == ["r0c0n0.2"]
    assert study.tell([row]) == Told(0, 1, 0, 0, 0)  # the first sheet, handed in once more
    assert [r.uid for r in study.pending() if r.candidate == "0"] == ["r0c0n0.2", "r0c0n1"]
    assert study.tell([row | {"uid": "r0c0n0.2"}]).failed == 1
    assert not [r for r in study.pending() if r.candidate == "0"]
    assert study.ask() == []


def test_a_second_try_is_told_given_back_or_corrected_by_its_own_name(study):
    study.ask()
    study.tell_failed("r0c0n0", "crash")
    with pytest.raises(DataError, match="was given back: ask for it again"):
        study.tell_failed("r0c0n0.2", "crash")
    (again,) = study.ask()
    assert study.release([again.uid]) == 1
    assert study.ask() == [again]
    assert study.tell([{"uid": again.uid, "candidate": "0"} | Y]).accepted == 1
    assert study.tell([{"uid": again.uid} | Y, {"uid": "r0c0n0"} | Y]).repeated == 2
    study.correct(again.uid, {"y1": 3.0, "y2": 4.0}, "typo")
    assert study._book.values["r0c0n0"] == (3.0, 4.0)
    assert not [event for event in events(study) if "r0c0n0.2" in repr(event)]


def test_the_first_try_may_be_told_after_all(study):
    study.ask()
    study.tell_failed("r0c0n0", "crash")
    (again,) = study.ask()
    assert study.tell([{"uid": "r0c0n0"} | Y]).accepted == 1
    assert again not in study.pending()


def test_a_failure_that_another_has_overtaken_changes_nothing():
    clock = Clock()
    definition = define(candidates={"a": [1, 2]}, metrics=metrics(), method=Uniform(4))
    study = Study.on(MemoryLedger(), definition, clock)
    for _ in range(2):  # the same name twice: workers of one machine
        study.ask(1, by="box", lease=60.0)
        clock.now += 100.0
    (request,) = [r for r in study.ask() if r.uid in study._book.shared]
    assert study.tell([{"uid": request.uid} | Y], by="box").accepted == 1
    before = events(study)
    study.tell_failed(request.uid, "timed out", by="box")
    assert events(study) == before
    assert study.tell([{"uid": request.uid} | Y | {"y1": 7.0}], by="box").surplus == 1
    assert study._book.values[request.uid] == (1.0, 2.0)


def test_a_repaired_failure_is_a_measurement(study):
    study.ask()
    study.tell_failed("r0c0n0", "crash")
    assert study.tell([{"uid": "r0c0n0"} | Y]).accepted == 1


@pytest.fixture
def exact():
    columns = {"a": [1, 2, 3], "size": [5.0, 6.0, 7.0]}
    known = [Metric("area", "min", exact=True), Metric("size", exact=True, known="size")]
    metrics = [Metric("y", sigma=0.1), *known]
    made = fresh(candidates=columns, metrics=metrics, method=Uniform(12))
    made.ask()
    return made


def test_an_exact_metric_has_one_value_per_candidate(exact):
    exact.tell([{"uid": "r0c0n0", "y": 1.0, "area": 4.0}, {"uid": "r0c1n0", "y": 1.0, "area": 3.0}])
    again = {"uid": "r0c0n1", "y": 2.0, "area": 4.5}
    with pytest.raises(DataError, match=r"area = 4.5.* was 4.0 for candidate 0 .*declare it noisy"):
        exact.tell([again])
    fresh_pair = [{"uid": f"r0c2n{n}", "y": 0.0, "area": float(n)} for n in range(2)]
    with pytest.raises(DataError, match=r"row 2: area = 1\.0"):
        exact.tell(fresh_pair)
    assert exact.tell([again | {"area": 4.0}]).accepted == 1
    exact.correct("r0c0n1", {"y": 2.5, "area": 4.25}, "scale read wrongly")
    assert exact._book.values["r0c0n0"] == (1.0, 4.25, None)
    assert exact._book.values["r0c0n1"] == (2.5, 4.25, None)
    assert exact._book.values["r0c1n0"] == (1.0, 3.0, None)


def test_a_known_column_may_be_repeated_and_not_contradicted(exact):
    row = {"uid": "r0c0n0", "y": 1.0, "area": 4.0}
    with pytest.raises(DataError, match="column 'size' says otherwise"):
        exact.tell([row | {"size": 5.5}])
    assert exact.tell([row | {"size": 5.0}]).accepted == 1
    with pytest.raises(DataError, match="column 'size' says otherwise"):
        exact.correct("r0c0n0", {"y": 1.0, "area": 4.0, "size": 1.0}, "no")
