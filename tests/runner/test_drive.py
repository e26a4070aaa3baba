"""The loop over rounds, with real executors."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import paretoscope as ps
from paretoscope.errors import DataError, UsageError, WorkersLost
from paretoscope.runner import owner
from paretoscope.runner.drive import SUSPECT
from paretoscope.runner.executors import Threads, width_of
from paretoscope.study.book import Uid
from tests.runner.bench import noise

K = 12
X = np.linspace(-1.0, 1.0, K).round(3)


def study(where=None, **more):
    """Two metrics in conflict up to a point: the front is the first two thirds."""
    return ps.Study.create(
        where,
        candidates={"id": [f"c{k}" for k in range(K)], "x": X.tolist()},
        metrics=["fast:max", "small:min"],
        epsilon=0.2,
        **more,
    )


def measured(candidate, counts=None):
    """Deterministic up to the candidate: the same value each time, plus a little noise by its call."""
    x, name = float(candidate["x"]), candidate["id"]
    n = 0 if counts is None else next(counts[name])
    return {"fast": x - x * x + 0.05 * noise(name, n), "small": x + 0.05 * noise(name, n, 1)}


class Counted:
    """A measurement whose noise is a function of candidate and replicate; safe among threads."""

    def __init__(self):
        self.calls, self.lock, self.order = Counter(), threading.Lock(), []

    def __call__(self, candidate):
        with self.lock:
            self.calls[candidate["id"]] += 1
            n = self.calls[candidate["id"]]
            self.order.append(candidate["id"])
        x = float(candidate["x"])
        luck = noise(candidate["id"], n), noise(candidate["id"], n, "b")
        return {"fast": x - x * x + 0.05 * luck[0], "small": x + 0.05 * luck[1], "more": n}


def plain(candidate):
    """Picklable, and the same each time."""
    x = float(candidate["x"])
    return {"fast": x - x * x + 0.01 * noise(x, time.time_ns()), "small": x}


@pytest.mark.parametrize(
    ("executor", "width"),
    [(None, 1), (None, 4), (lambda: ThreadPoolExecutor(3), None), (lambda: Threads(2), 5)],
)
def test_a_study_is_measured_to_its_end(executor, width):
    measure = Counted()
    with study() as made:
        ran = made.run(measure, executor, width)
        assert ran.why == "stopped"
        assert ran.measured == sum(measure.calls.values()) == made.status().done
        assert made.result().certified
        assert "c6" in made.result().pareto_set


def test_processes_measure_as_well():
    with ProcessPoolExecutor(2) as pool, study() as made:
        assert width_of(pool) == 2
        assert made.run(plain, pool, max_measurements=40).measured == 40


def test_the_blocks_of_the_study_are_kept_in_parallel():
    """With n at a time nobody begins more than n places from the order that was asked for."""
    asked = [r.candidate for r in study(seed=5).peek()]
    begun, lock, n = [], threading.Lock(), 4

    def measure(candidate):
        with lock:
            begun.append(candidate["id"])
        time.sleep(0.002 * (1 + int(candidate["id"][1:]) % 3))
        return measured(candidate)

    with study(seed=5) as made:
        made.run(measure, parallelism=n, max_measurements=len(asked))
    assert len(begun) == len(asked) >= 2 * K
    for block in range(0, len(asked), K):
        assert len(set(asked[block : block + K])) == K, "a block holds every candidate once"
    places = {}
    for place, name in enumerate(asked):
        places.setdefault(name, []).append(place)
    for place, name in enumerate(begun):
        assert abs(places[name].pop(0) - place) <= n


def test_all_that_was_asked_is_resolved_and_nothing_twice(tmp_path):
    with study(tmp_path / "s.study") as made:
        made.run(Counted(), parallelism=3)
        told = [
            uid
            for _, event in made.ledger.read()
            if event["kind"] == "told"
            for uid, _ in event["rows"]
        ]
        assert len(told) == len(set(told))
        assert not made.held()


def test_it_can_be_limited_and_goes_on():
    with study() as made, study() as other:
        measure = Counted()
        first = made.run(measure, max_measurements=7)
        assert (first.measured, first.why) == (7, "measurements")
        assert not made.held()
        assert made.run(measure).why == "stopped"
        other.run(Counted())
        assert made.result().pareto_set == other.result().pareto_set
        assert made.status().done == other.status().done


def test_time_is_a_limit_too():
    with study() as made:
        ran = made.run(lambda c: time.sleep(0.02) or measured(c), time=0.1)
        assert ran.why == "time"
        assert 1 <= ran.measured <= 10


def test_a_failure_is_the_candidates_own_and_the_second_one_ends_it():
    calls = Counter()

    def measure(candidate):
        calls[candidate["id"]] += 1
        time.sleep(0.005)
        if candidate["id"] == "c3":
            raise MemoryError("too much")
        if candidate["id"] == "c4":
            return {"fast": float("nan"), "small": 1.0}
        return measured(candidate)

    with study() as made:
        ran = made.run(measure)
        result = made.result()
        assert result.infeasible == ["c3", "c4"]
        assert calls["c3"] == calls["c4"] == 2
        assert ran.failed == 4
        assert "MemoryError: too much" in made.reasons()["c3"]
        assert "nan" in made.reasons()["c4"]


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda _: {"fast": 1.0}, "small is missing"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (lambda _: {"fast": "quick", "small": 1.0}, "'quick' is not a number"),
    ],
)
def test_where_nothing_ever_succeeds_no_candidate_is_blamed(measure, said):
    with study() as made:
        with pytest.raises(DataError, match=said):
            made.run(measure)
        assert not made.held()
        assert not made.reasons()
        kinds = {event["kind"] for _, event in made.ledger.read()}
        assert kinds == {"created", "asked", "returned"}
        assert SUSPECT == 3


def test_what_is_no_mapping_is_a_mistake_at_once():
    with study() as made, pytest.raises(UsageError, match=r"return \{metric: value\}"):
        made.run(lambda _: 3.0)


def test_a_metric_that_is_not_exact_stops_the_run_with_everything_else_told():
    calls = Counter()

    def measure(candidate):
        calls[candidate["id"]] += 1
        return {"fast": 1.0 + noise(candidate["id"], calls), "size": float(sum(calls.values()))}

    with ps.Study.create(
        None,
        candidates={"id": ["a", "b", "c"]},
        metrics=["fast:max", "size:min::exact"],
        epsilon=0.1,
    ) as made:
        with pytest.raises(DataError, match="exact"):
            made.run(measure, parallelism=2)
        assert made.status().done >= 3
        assert not made.held()


def test_a_hung_callable_is_given_up():
    counted = Counted()

    def measure(candidate):
        if candidate["id"] == "c2":
            time.sleep(30)
        return counted(candidate)

    with study() as made:
        begun = time.monotonic()
        made.run(measure, parallelism=2, timeout=0.2)
        assert time.monotonic() - begun < 10
        assert made.result().infeasible == ["c2"]
        assert made.reasons()["c2"] == "out of time after 0.2 s"


def test_callbacks_see_the_progress():
    seen = []
    with study() as made:
        ran = made.run(Counted(), callbacks=[seen.append, lambda p: p.study.standing().front])
        assert seen[-1].measured == ran.measured
        assert [p.measured for p in seen] == sorted(p.measured for p in seen)
        assert made.standing().counts["accepted"] == len(made.result().accepted)
        assert made.standing().front == made.result().pareto_set


def test_nonsense_is_refused():
    with study() as made:
        with pytest.raises(UsageError, match="parallelism 0"):
            made.run(plain, parallelism=0)
        with pytest.raises(UsageError, match="max_measurements 0"):
            made.run(plain, max_measurements=0)


# ---------------------------------------------------------------- losses


def dies_once(candidate):
    """Kills its worker the first time anybody measures c5."""
    time.sleep(0.02)
    flag = os.environ["PARETOSCOPE_TEST_FLAG"]
    if candidate["id"] == "c5":
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return plain(candidate)
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(candidate)


def dies(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_lost_worker_gives_its_request_back(tmp_path, monkeypatch):
    monkeypatch.setenv("PARETOSCOPE_TEST_FLAG", str(tmp_path / "flag"))
    with study() as made:
        ran = made.run(dies_once, lambda: ProcessPoolExecutor(2), max_measurements=3 * K)
        assert ran.measured == 3 * K
        assert ran.lost >= 1
        assert not made.reasons(), "a loss is no failure"
        returned = [e for _, e in made.ledger.read() if e["kind"] == "returned"]
        assert not made.held()
        assert all(Uid.parse(uid) for e in returned for uid in e["uids"])


def test_too_many_losses_end_the_run_and_the_study_goes_on():
    with study() as made:
        with pytest.raises(WorkersLost, match="lost 3 times"):
            made.run(dies, lambda: ProcessPoolExecutor(1), retries=2)
        assert not made.held()
        assert made.run(plain, max_measurements=5).measured == 5


def test_a_broken_pool_of_the_caller_cannot_be_mended():
    with ProcessPoolExecutor(1) as pool, study() as made:
        with pytest.raises(WorkersLost, match="give a function that makes one"):
            made.run(dies, pool)
        assert not made.held()


class Shuffled(Executor):
    """Answers in any order, cancels at will: as a cluster may."""

    def __init__(self, seed):
        self.rng, self.waiting, self.over = np.random.default_rng(seed), [], False
        threading.Thread(target=self._serve, daemon=True).start()

    def submit(self, fn, /, *args):
        future = Future()
        self.waiting.append((future, fn, args))
        return future

    def _serve(self):
        while not self.over:
            time.sleep(0.002)
            if self.waiting:
                self._one(*self.waiting.pop(int(self.rng.integers(len(self.waiting)))))

    def _one(self, future, fn, args):
        if self.rng.random() < 0.1:
            future.set_exception(ConnectionError("lost"))
        else:
            future.set_result(fn(*args))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_arrival_and_losses_change_no_result(seed):
    def measure(candidate):
        return {"fast": float(candidate["x"]) - float(candidate["x"]) ** 2, "small": X[0]}

    with study() as one, study() as two:
        one.run(measure, max_measurements=48)
        pool = Shuffled(seed)
        assert two.run(measure, pool, 4, max_measurements=48, retries=20).lost
        pool.over = True
        assert one.result().table() == two.result().table()


# ---------------------------------------------------------------- who holds a request


def test_what_a_dead_run_holds_is_taken_over():
    with study() as made:
        dead = owner.enter()
        owner.leave(dead)
        made.ask(5, by=dead)
        assert made.run(Counted()).why == "stopped"


def test_what_a_living_run_holds_is_waited_for():
    with study() as made:
        alive = owner.enter()
        kept = made.ask(5, by=alive)
        threading.Timer(
            0.3, lambda: made.tell([{"uid": r.uid, "fast": 0.0, "small": 9.0} for r in kept])
        ).start()
        ran = made.run(Counted())
        owner.leave(alive)
        assert ran.why == "stopped"
        assert made.status().done == ran.measured + 5


def test_what_a_person_holds_ends_the_run():
    with study() as made:
        made.ask(5, by="Ada")
        ran = made.run(Counted())
        assert ran.why == "held"
        assert set(made.held().values()) == {"Ada"}


def test_two_runs_share_a_study(tmp_path):
    with study(tmp_path / "s.study") as one, ps.Study.open(tmp_path / "s.study") as two:
        counted = Counted()

        def slow(candidate):
            time.sleep(0.002)
            return counted(candidate)

        ran = []
        thread = threading.Thread(target=lambda: ran.append(two.run(slow, parallelism=2)))
        thread.start()
        ran.append(one.run(slow, parallelism=2))
        thread.join()
        assert [r.why for r in ran] == ["stopped", "stopped"]
        assert sum(r.measured for r in ran) == one.status().done


def test_the_name_of_a_run_says_whether_it_lives():
    name = owner.enter()
    assert owner.is_run(name)
    assert not owner.is_dead(name)
    assert not owner.is_run("Ada")
    assert not owner.is_dead("Ada")
    run, host, process = name.split(" ")
    pid, begun, number = process.split(".")
    assert owner.is_dead(f"{run} {host} {pid}.{int(begun) + 1}.{number}"), (
        "its number was used again"
    )
    assert not owner.is_dead(f"{run} {host}x {pid}.0.1"), "another machine"
    owner.leave(name)
    assert owner.is_dead(name)


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("width", [1, 3])
def test_ctrl_c_leaves_a_study_that_goes_on(width, tmp_path):
    with study(tmp_path / "s.study") as made:
        measure = Counted()

        def slow(candidate):
            time.sleep(0.01)
            return measure(candidate)

        threading.Timer(0.25, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            made.run(slow, parallelism=width)
        assert not made.held()
        assert made.status().done >= 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with ps.Study.open(tmp_path / "s.study") as again:
        assert again.run(measure).why == "stopped"
        assert again.result().certified


def test_an_interrupt_wakes_a_run_that_waits():
    with study() as made:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            made.run(lambda _: time.sleep(20), parallelism=2)
        assert time.monotonic() - begun < 5
        assert not made.held()


def test_a_run_beside_the_main_thread_touches_no_signal():
    handlers = []
    with study() as made:

        def measure(candidate):
            handlers.append(signal.getsignal(signal.SIGINT))
            return measured(candidate)

        thread = threading.Thread(target=lambda: made.run(measure, max_measurements=3))
        thread.start()
        thread.join()
    assert handlers == [signal.default_int_handler] * 3
