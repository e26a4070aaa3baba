"""A writer is killed at random instants: what it was told is stored, is stored, and in whole batches."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from itertools import cycle

import numpy as np
import pytest

from paretoscope.ledger import open_ledger
from tests.ledger import workers

SIZES = [1, 2, 3, 5, 8, 40]
REOPEN = 1.0  # seconds
LONG = pytest.param(1000, marks=pytest.mark.long, id="1000")


def writer(where):
    """A process that appends for ever, and the pipe through which it acknowledges."""
    reader, acknowledge = os.pipe()
    child = workers.fork(write, where, acknowledge, reader)
    os.close(acknowledge)
    return child, reader


def write(where, acknowledge, reader):
    """What a writer does until it is killed, or until nobody listens any more."""
    os.close(reader)
    workers.append_batches(where, acknowledge, cycle(SIZES))


def kill(child, reader):
    """End a writer; the last number it has acknowledged."""
    workers.kill(child)
    with os.fdopen(reader, "rb") as pipe:
        heard = pipe.read()
    return int.from_bytes(heard[-8:], "big")


def reopened(where, after):
    """The last number of a store after a kill: whole batches only, and open in no time."""
    start = time.perf_counter()
    with open_ledger(where, create=True) as ledger:
        events = ledger.read(after)
    assert time.perf_counter() - start < REOPEN
    return workers.check_whole(events, after)


def kill_often(where, times, longest):
    """Kill one writer after another; how often something was acknowledged before."""
    luck = np.random.default_rng(times)
    stored, told = 0, 0
    for turn in range(times):
        child, reader = writer(where)
        if turn % 2:  # a busy machine may not come so far in time
            select.select([reader], [], [], 10.0)
        time.sleep(luck.uniform(0.0, longest))
        acknowledged = kill(child, reader)
        told += acknowledged > 0
        stored = reopened(where, stored)
        assert stored >= acknowledged
    return told


@pytest.mark.parametrize("times", [70, LONG])
def test_sqlite_loses_nothing_to_kills(tmp_path, times):
    assert kill_often(tmp_path / "a.study", times, longest=0.05) >= times // 2


@pytest.mark.parametrize("times", [30, LONG])
def test_a_kill_while_a_file_is_created(tmp_path, times):
    for index in range(times):
        kill_often(tmp_path / f"{index}.study", 1, longest=0.04 * index / times)


@pytest.mark.parametrize("times", [30, LONG])
def test_postgres_loses_nothing_to_kills(postgres, times):
    where = postgres.address(f"killed {times} times".replace(" ", "-"))
    assert kill_often(where, times, longest=0.05) >= times // 2


@pytest.mark.parametrize("times", [2, pytest.param(30, marks=pytest.mark.long)])
def test_a_writer_survives_crashes_of_the_server(postgres, times):
    where = postgres.address(f"crashed-{times}")
    child, reader = writer(where)
    try:
        for _ in range(times):
            heard = next_number(reader)  # it is at work
            postgres.stop("immediate")
            heard = drain(reader) or heard
            postgres.start()
            assert reopened(where, 0) >= heard
            assert next_number(reader) > heard  # and goes on by itself
    finally:
        acknowledged = kill(child, reader)
    assert reopened(where, 0) >= acknowledged


def next_number(reader):
    """The next number from the pipe; a writer that has ended says nothing."""
    heard = os.read(reader, 8)
    assert len(heard) == 8, "the writer has ended"
    return int.from_bytes(heard, "big")


def drain(reader):
    """The last number that the pipe has brought by now, or 0."""
    os.set_blocking(reader, False)
    heard = b""
    with suppress(BlockingIOError):
        while more := os.read(reader, 1 << 16):
            heard = more
    os.set_blocking(reader, True)
    return int.from_bytes(heard[-8:], "big")
