"""A real cluster: worker processes, a scheduler with an address, and workers that are killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import paretoscope as ps
from paretoscope.errors import UsageError, WorkersLost
from paretoscope.runner import executors
from paretoscope.runner.executors import connect, width_of
from tests.cli.lab import call

distributed = pytest.importorskip("distributed")

BENCH = str(Path(__file__).with_name("bench.py"))
# Slow enough that a worker which is killed has something in hand.
SLOW = f"import runpy,sys,time; time.sleep(.04); sys.argv[:1] = []; runpy.run_path({BENCH!r}, run_name='__main__')"
FRONT = {"1,0", "2,0", "4,0", "1,2", "2,2", "4,2"}


@pytest.fixture(scope="module")
def local():
    """Two workers of one thread."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        yield made


@pytest.fixture(params=[3, 0], ids=["the scheduler repeats", "we repeat"])
def cluster(request, local):
    """As Dask comes, and so that the first death of a worker is reported at once."""
    local.scheduler.allowed_failures = request.param
    return local


def pids(cluster):
    return [worker.pid for worker in cluster.workers.values()]


def told(study):
    """How often each request was told."""
    events = [event for _, event in study.ledger.read() if event["kind"] == "told"]
    return Counter(uid for event in events for uid, _ in event["rows"])


def kill_one(cluster, folder, after, killed):
    """Kill a worker as soon as so many measurements have begun."""
    until = time.monotonic() + 60
    while sum(p.stat().st_size for p in folder.iterdir()) < after and time.monotonic() < until:
        time.sleep(0.01)
    killed.append(pids(cluster)[0])
    os.kill(killed[0], signal.SIGKILL)


def test_the_command_line_on_a_cluster_of_which_a_worker_is_killed(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts = tmp_path / "counts"
    counts.mkdir()
    killed = []
    before = pids(cluster)
    killer = threading.Thread(target=kill_one, args=(cluster, counts, 12, killed))
    killer.start()
    address = cluster.scheduler_address.replace("tcp://", "dask://")
    options = [
        "-L",
        "a",
        "1,2,4,8",
        "-L",
        "b",
        "0,2",
        "-m",
        "time:min:ms",
        "-m",
        "size:min:MB:exact",
    ]
    program = [sys.executable, "-I", "-S", "-c", SLOW, str(Path(BENCH)), str(counts), "{a}", "{b}"]
    said = json.loads(
        call(
            "run",
            *options,
            "--epsilon",
            "time=0.5",
            "--executor",
            address,
            "--json",
            "--",
            *program,
        )
    )
    killer.join()
    assert killed[0] in before
    assert killed[0] not in pids(cluster), "the worker was replaced"
    assert set(said["pareto_set"]) == FRONT
    assert said["certified"]
    with ps.Study.open("run.study") as study:
        n = told(study)
        assert set(n.values()) == {1}, "nothing is told twice"
        assert (
            len(n)
            == study.status().done
            == said["run"]["measured"]
            == said["certificate"]["measurements"]
        )
        assert said["run"]["failed"] == 0
        assert not study.held()
        assert not study.reasons(), "the candidate is not to blame"
        assert bool(said["run"]["lost"]) == (cluster.scheduler.allowed_failures == 0)
        assert sum(p.stat().st_size for p in counts.iterdir()) >= len(n)
    assert "ok        numbers" in call("doctor", "run.study")


def noisy(candidate):
    """Where it runs, and how it went."""
    x = float(candidate["x"])
    return {"y": x + 1e-3 * (time.time_ns() % 1000), "pid": os.getpid()}


def fatal(candidate):
    """Kills its worker, whichever that is."""
    if candidate["id"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return noisy(candidate)


def line():
    return ps.Study.create(None, candidates={"x": [0, 2, 4, 6]}, metrics=["y:max"], epsilon=1.0)


def test_executors_of_a_client_are_executors(cluster):
    with distributed.Client(cluster) as client, line() as study, line() as other:
        assert study.run(noisy, client.get_executor(), max_measurements=6).measured == 6
        assert width_of(client.get_executor()) == 2
        # remembered results would be repeated values, refused as a noise of nothing
        assert other.run(noisy, lambda: client.get_executor(pure=True)).why == "stopped"
        assert other.result().pareto_set == ["3"]
        assert other.result().certified


def test_a_measurement_that_kills_every_worker_ends_the_run(cluster):
    if cluster.scheduler.allowed_failures:
        return  # four workers die for one loss: the same, and slow
    with distributed.Client(cluster) as client, line() as study:
        with pytest.raises(WorkersLost, match="was lost 2 times"):
            study.run(fatal, client.get_executor(pure=False), retries=1)
        assert not study.held()
        assert not study.reasons()


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(executors, "PATIENCE", 0.3)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9"):
        connect("dask://127.0.0.1:9")
