from __future__ import annotations

import sys
import time
from threading import Thread

import numpy as np
import pytest

from paretoscope.errors import DataError, LedgerError, UsageError
from paretoscope.ledger import MemoryLedger
from paretoscope.policies.uniform import Uniform
from paretoscope.study.definition import define
from paretoscope.study.study import Study
from tests.study.lab import Clock, copy, finish, fresh, linear_world, measured, metrics, shape


def leased(policy=None):
    clock = Clock()
    definition = define(
        candidates={"a": [1, 2, 3]}, metrics=metrics(), method=policy or Uniform(9), seed=1
    )
    return Study.on(MemoryLedger(), definition, clock), clock


def test_a_request_is_given_to_one_only():
    study = fresh(method=Uniform(12))
    other = Study(study.ledger)
    asked = study.ask(5) + other.ask(4) + study.ask()
    assert len({request.uid for request in asked}) == 12
    assert study.ask() == other.ask() == []
    assert len(other.pending()) == 12
    with pytest.raises(UsageError, match="at least one measurement, not 0"):
        study.ask(0)


def test_a_lease_runs_out_and_the_late_value_is_surplus():
    study, clock = leased()
    first = study.ask(2, by="slow", lease=60.0)
    clock.now += 60.0
    assert first[0] not in study.ask(by="sheet")
    clock.now += 0.5
    assert study.ask(by="quick", lease=60.0) == first
    row = measured(first[0])
    assert study.tell([row], by="quick").accepted == 1
    late = [row | {"y1": 9.0}]
    assert study.tell(late, by="slow").surplus == 1
    assert study.tell(late, by="slow") == (0, 1, 0, 0, 0)  # told again: once is enough
    assert study._book.values[first[0].uid] == (row["y1"], row["y2"])
    assert study._book.surplus == [(first[0].uid, (9.0, row["y2"]))]
    assert shape(study) == shape(copy(study))
    clock.now += 1e9  # requests on sheets never run out
    assert study.ask() == first[1:]
    assert len(study.pending()) == 8


def test_a_late_value_of_a_lease_nobody_took_up_is_used():
    study, clock = leased()
    (request,) = study.ask(1, by="slow", lease=1.0)
    clock.now += 100.0
    assert study.tell([measured(request)], by="slow").accepted == 1
    assert request not in study.ask()


def test_lost_on_the_way_is_asked_again_and_is_no_failure():
    study = fresh(method=Uniform(12))
    (request,) = study.ask(1)
    for _ in range(5):
        study.tell_failed(request.uid, "worker died", lost=True)
        assert study.ask(1) == [request]
    study.tell([measured(request)])
    finish(study)
    assert study.result().infeasible == []
    with pytest.raises(UsageError, match="give the reason"):
        study.tell_failed(request.uid, " ")


def test_release_gives_everything_or_some_back():
    study = fresh(method=Uniform(12))
    asked = study.ask(6)
    assert study.release([asked[0].uid]) == 1
    assert study.ask(1) == [asked[0]]
    assert study.release(asked[1].uid) == 1  # one uid is as good as a list of one
    assert study.ask(1) == [asked[1]]
    assert study.release() == 6
    assert (study.release(), study.pending()) == (0, [])
    assert study.ask(6) == asked
    with pytest.raises(DataError, match="'r0c0n99' is not outstanding"):
        study.release(["r0c0n99"])


def test_what_is_written_off_is_not_waited_for():
    study = fresh(epsilon=0.3)
    batch = study.ask()
    study.tell([measured(request) for request in batch[1:]])
    assert study.ask() == []
    study.withdraw([batch[0].uid], "spilt")
    finish(study)
    result = study.result()
    assert result.certified
    assert result.certificate.pulls == len(study._book.values)
    assert batch[0].uid not in study._book.values


def test_a_candidate_that_fails_twice_leaves_and_the_certificate_says_so():
    study = fresh(epsilon=0.3)
    batch = study.ask()
    mine = [request for request in batch if request.candidate == "1"]
    study.tell_failed(mine[0].uid, "crash")
    (again,) = study.ask()
    assert again == mine[0]._replace(uid=f"{mine[0].uid}.2")
    study.tell_failed(again.uid, "crash")
    assert not [r for r in study.pending() if r.candidate == "1"]
    study.tell([measured(request) for request in batch if request.candidate != "1"])
    finish(study)
    result = study.result()
    assert result.infeasible == ["1"]
    assert "1" not in result.pareto_set
    assert result.certified
    assert "the guarantee is among the candidates that ran" in result.certificate.assumptions
    assert fresh(epsilon=0.3).result().infeasible == []


def test_values_after_the_certificate_change_nothing():
    study = fresh(epsilon=0.3)
    batch = study.ask()
    mine = [request for request in batch if request.candidate == "3"]
    study.tell([{"uid": r.uid, "failed": "crash"} for r in mine[:2]])
    study.tell([measured(request) for request in batch if request.candidate != "3"])
    finish(study)
    before, told = study.result(), len(study._book.values)
    assert before.certified
    assert study.tell([measured(request) for request in mine[2:]]).accepted == len(mine) - 2
    after = study.result()
    assert len(study._book.values) == told + len(mine) - 2
    assert repr(after.certificate) == repr(before.certificate)
    assert after.table() == before.table()
    assert shape(copy(study)) == shape(study)


@pytest.mark.parametrize("judged", [False, True])
def test_a_corrected_study_is_one_told_the_right_value(judged):
    definition = {"epsilon": 0.1}
    right, wrong = fresh(**definition), fresh(**definition)
    batch = wrong.ask()
    rows = [measured(request) for request in batch]
    slip = rows[0] | {"y1": rows[0]["y1"] + 30.0}
    wrong.tell([slip, *(rows[1:] if judged else rows[1:3])])
    later = wrong.ask() if judged else []
    values = {name: rows[0][name] for name in ("y1", "y2")}
    wrong.correct(slip["uid"], values, "decimal point")
    assert right.ask() == batch
    right.tell(rows if judged else rows[:3])
    assert shape(wrong)[:2] == shape(right)[:2]
    assert wrong._book.corrections == 1
    if judged:
        assert later
        assert set(wrong._course.turn.waiting) == set(right._course.turn.waiting)
        wrong.release([u for u in wrong._course.turn.waiting if wrong._book.out(u, 0.0)])
    for study in (wrong, right):
        study.tell([measured(request) for request in study.pending()])
        finish(study)
    assert shape(wrong) == shape(right) == shape(copy(wrong))
    assert wrong.result().status == right.result().status
    with pytest.raises(DataError, match="nothing to correct"):
        wrong.correct("r0c0n999", values, "no")


def test_history_enters_estimates_and_never_a_certificate():
    plain, told = fresh(epsilon=0.3), fresh(epsilon=0.3)
    rows = [{"candidate": "4", "y1": 99.0 + k, "y2": 99.0} for k in range(50)]
    assert told.add_history(rows) == 50
    assert told.add_history(rows) == told.add_history([]) == 0  # told again, after a lost answer
    assert told.ask() == plain.ask()
    assert told.result().table()[4]["y1"] == pytest.approx(123.5)
    assert dict(told.status().front) == {"4": 1.0}
    for study in (plain, told):
        study.release()
        finish(study)
    one, two = plain.result(), told.result()
    assert two.status == one.status
    assert repr(two.certificate) == repr(one.certificate)
    assert (two.counts == one.counts).all()
    assert told.status().done == plain.status().done == two.certificate.pulls
    n, mean = int(one.counts[4]), one.table()[4]["y1"]
    assert two.table()[4]["y1"] == pytest.approx((50 * 123.5 + n * mean) / (50 + n))
    assert repr(copy(told).result().table()) == repr(two.table())
    assert len(told._book.history) == 50
    with pytest.raises(DataError, match="row 1: there is no candidate 'x'"):
        told.add_history([{"candidate": "x", "y1": 1.0, "y2": 1.0}])
    with pytest.raises(DataError, match="row 2: y2 is missing"):
        told.add_history([rows[0], {"candidate": "4", "y1": 1.0}])


@pytest.fixture
def hasty_threads():
    """Threads change places all the time: whoever does not wait is interrupted, on any machine."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_take_turns():
    """Four threads ask and tell through one study: everything once, and the state is the ledger's."""
    study = fresh(method=Uniform(240))

    def work():
        while batch := study.ask(3):
            study.tell([measured(request) for request in batch])
            study.status()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = [uid for _, e in study.ledger.read() if e["kind"] == "asked" for uid in e["uids"]]
    assert len(asked) == len(set(asked)) == len(study._book.values) == 240
    assert shape(study) == shape(copy(study))


def test_a_store_that_lost_events_is_not_written_to_for_ever():
    study = fresh(method=Uniform(12))
    study.ask(3)
    study.ledger._bodies.pop()  # an older copy was put in its place
    with pytest.raises(LedgerError, match="was replaced: open it again"):
        study.ask(3)


def test_status_and_plan():
    study = fresh(epsilon=0.3, budget=100_000)
    before = study.status()
    assert (before.round, before.done, before.outstanding, before.front) == (1, 0, 0, [])
    assert before.due == len(study.ask())
    assert study.status().outstanding == before.due
    assert before.counts == {"undecided": 6}
    study.tell([measured(request) for request in study.pending()])
    finish(study)
    after = study.status()
    assert (after.due, after.outstanding, after.method) == (0, 0, "Race")
    assert after.stop is not None
    assert after.done == after.result.certificate.pulls == len(study._book.values)
    chance = dict(after.front)
    assert all(0.0 < p <= 1.0 for p in chance.values())
    assert min(chance["1"], chance["2"]) > 0.95  # optimal by far; 0 is so by a tenth
    assert chance["0"] > 0.5
    assert max(chance.get(k, 0.0) for k in "34") < 0.05
    race, one_by_one, rounds, *others = study.plan()
    assert (race.name, one_by_one.name, rounds.name) == ("Race", "APE", "GEGE")
    assert [option.name for option in others] == ["FixedDesign", "OneShot (no certificate)"]
    assert min(race.high, rounds.high) >= len(study._book.values)


def test_asking_is_quick_with_many_candidates():
    for K, limit in ((1000, 0.05), (10_000, 1.0)):
        columns, mu = linear_world(K)
        rng = np.random.default_rng(1)
        X = np.column_stack([*columns.values(), rng.standard_normal((K, 17))])
        named = metrics(names=("y1", "y2", "y3"))
        study = fresh(candidates=X, features=X, metrics=named, epsilon=0.5)
        means = np.column_stack([mu, X[:, 2]])
        study.tell([measured(request, means=means) for request in study.ask()])
        seconds = []
        for _ in range(5):
            begin = time.perf_counter()
            assert study.ask(12)
            seconds.append(time.perf_counter() - begin)
            study.release()
        assert min(seconds) < limit
