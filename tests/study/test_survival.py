"""What survives: kills at any instant, many writers, many askers, a long history."""

from __future__ import annotations

import os
import select
import time
from uuid import uuid4

import numpy as np
import pytest

from paretoscope.policies.uniform import Uniform
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study
from tests.ledger import workers
from tests.postgres import postgres  # noqa: F401  (a fixture)
from tests.study.lab import copy, fresh, measured, metrics

DEFINITION = {
    "candidates": {"a": list(range(6))},
    "metrics": metrics(None),
    "epsilon": 0.05,
    "seed": 3,
}
SHARED = {"candidates": {"a": list(range(8))}, "metrics": [Metric("y1")], "method": Uniform(2000)}


@pytest.fixture
def sqlite_place(tmp_path):
    return lambda: tmp_path / f"{uuid4().hex}.study"


@pytest.fixture
def postgres_place(postgres):  # noqa: F811
    return lambda: postgres.address(uuid4().hex)


def work_until_killed(place, pipe):
    """Ask for three, tell them in one or two deliveries, acknowledge each; start anew when stopped."""
    study = Study.open(place)
    while True:
        batch = study.ask(3) or study.pending()
        for part in (batch[:1], batch[1:]):
            rows = [measured(request, sigma=0.4) for request in part]
            study.tell(rows)
            os.write(pipe, "".join(f"{row['uid']}\n" for row in rows).encode())
        if not batch:
            time.sleep(60)  # stopped: be killed idle


def killed_once(place, rng, wait):
    """The uids acknowledged by a child that was killed at a random instant, at once or at work."""
    reading, writing = os.pipe()
    child = workers.fork(work_until_killed, place, writing)
    os.close(writing)
    if wait:  # a busy machine may not come so far in time
        select.select([reading], [], [], 10.0)
    time.sleep(0.003 + rng.random() * 0.12)
    workers.kill(child)
    with os.fdopen(reading) as stream:
        return [line.strip() for line in stream if line.endswith("\n")]


class Twin:
    """A study in memory that is told the same values and never killed."""

    def __init__(self):
        self.study = fresh(**DEFINITION)

    def catch_up(self, values):
        """Whole rounds by its own questions, as far as the other one was told."""
        while batch := self.study.ask():
            known = [request for request in batch if request.uid in values]
            self.study.tell([measured(request, sigma=0.4) for request in known])
            if len(known) < len(batch):
                break
        self.study.release()


def survive(place_of, cycles, seed):
    """Measurements acknowledged and rounds seen over the cycles, each checked after the kill."""
    rng, total, rounds, seconds = np.random.default_rng(seed), 0, set(), []
    place, twin = None, Twin()
    for cycle in range(cycles):
        if place is None:
            place, twin, acknowledged = place_of(), Twin(), set()
            Study.create(place, **DEFINITION).close()
        acknowledged |= set(killed_once(place, rng, wait=cycle % 2))
        begin, work = time.perf_counter(), time.process_time()
        study = Study.open(place)
        seconds.append(time.perf_counter() - begin)
        assert time.process_time() - work < 1.0  # each, on however busy a machine
        # a server may finish the COMMIT of a killed writer a moment later: under the lock it has
        study.ledger.append([], expect=None)
        study.refresh()
        values = study._book.values
        assert acknowledged <= set(values)
        assert all(len(row) == 2 and None not in row for row in values.values())
        twin.catch_up(values)
        assert dict(values) == twin.study._book.values
        study.release()
        batch = study.ask(4)
        assert batch == twin.study.ask(4)
        rounds |= {request.round for request in batch}
        study.release()
        twin.study.release()
        if study._course.stop is not None:
            total, place = total + len(acknowledged), None
        study.close()
    assert np.median(seconds) < 1.0
    return total + (len(acknowledged) if place else 0), rounds


def test_killed_at_random_instants_on_a_file(sqlite_place):
    acknowledged, rounds = survive(sqlite_place, 100, seed=1)
    assert acknowledged > 200
    assert len(rounds) > 1


def test_killed_at_random_instants_on_postgresql(postgres_place):
    assert survive(postgres_place, 100, seed=2)[0] > 100


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite_place", "postgres_place"])
def test_killed_a_thousand_times(request, store):
    assert survive(request.getfixturevalue(store), 1000, seed=3)[0] > 2000


def create_and_tell(place, gate, writer, pipe):
    """Create the study with everyone else, then 250 measurements in parts."""
    os.read(gate, 1)
    rng, told = np.random.default_rng(writer), 0
    with Study.create(place, **SHARED) as study:
        while told < 250:
            batch = study.ask(min(int(rng.integers(10, 60)), 250 - told), by=f"w{writer}")
            rows = [{"uid": request.uid, "y1": float(writer)} for request in batch]
            assert study.tell(rows, by=f"w{writer}").accepted == len(rows) > 0
            told += len(rows)
            os.write(pipe, "".join(f"{writer} {row['uid']}\n" for row in rows).encode())


def together(work, place, count):
    """What ``count`` children write down, started at one instant; none may fail."""
    gate, opened = os.pipe()
    reading, writing = os.pipe()
    children = [workers.fork(work, place, gate, k, writing) for k in range(count)]
    os.close(writing)
    os.write(opened, b"x" * count)
    with os.fdopen(reading) as stream:
        lines = stream.read().split("\n")[:-1]
    workers.all_succeed(children)
    os.close(gate)
    os.close(opened)
    return [line.split() for line in lines]


@pytest.mark.parametrize("store", ["sqlite_place", "postgres_place"])
def test_eight_processes_create_the_same_study_and_tell_250_each(request, store):
    place = request.getfixturevalue(store)()
    told = together(create_and_tell, place, 8)
    with Study.open(place) as study:
        values = study._book.values
        assert study.result().certificate.pulls == 2000
        told_events = [event for _, event in study.ledger.read() if event["kind"] == "told"]
    assert len(told) == len({uid for _, uid in told}) == len(values) == 2000
    assert all(values[uid] == (float(writer),) for writer, uid in told)
    assert sum(len(event["rows"]) for event in told_events) == 2000


def ask_only(place, gate, asker, pipe):
    """Small requests for ever more, until nothing is left."""
    os.read(gate, 1)
    with Study.open(place) as study:
        while batch := study.ask(20, by=f"a{asker}"):
            os.write(pipe, "".join(f"{asker} {request.uid}\n" for request in batch).encode())


@pytest.mark.parametrize("store", ["sqlite_place", "postgres_place"])
def test_four_askers_never_receive_the_same_request(request, store):
    place = request.getfixturevalue(store)()
    Study.create(place, **SHARED).close()
    asked = together(ask_only, place, 4)
    assert len(asked) == len({uid for _, uid in asked}) == 2000
    assert {asker for asker, _ in asked} <= set("0123")


def test_a_hundred_thousand_measurements_open_within_two_seconds(sqlite_place):
    place = sqlite_place()
    named = metrics(0.3, names=("y1", "y2", "y3"))
    with Study.create(
        place, candidates={"a": list(range(100))}, metrics=named, method=Uniform(100_100)
    ) as study:
        batch = study.ask()
        luck = np.random.default_rng(0).standard_normal((100_000, 3)).tolist()
        rows = [
            {"uid": request.uid, "y1": a, "y2": b, "y3": c}
            for request, (a, b, c) in zip(batch[:100_000], luck, strict=True)
        ]
        for first in range(0, 100_000, 5000):
            study.tell(rows[first : first + 5000])
    seconds = []
    for _ in range(3):  # processor time: the machine may be busy with other tests
        begin = time.process_time()
        with Study.open(place) as study:
            seconds.append(time.process_time() - begin)
            assert len(study._book.values) == 100_000
    assert min(seconds) < 2.0


def test_a_copy_of_the_events_is_the_study():
    study = fresh(**DEFINITION)
    study.tell([measured(request, sigma=0.4) for request in study.ask()])
    assert copy(study).ask(4) == study.ask(4)
