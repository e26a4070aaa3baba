"""Other processes that use a ledger: forked, so that a hundred of them start within a second."""

from __future__ import annotations

import os
import signal
import traceback
import warnings

from paretoscope.errors import Conflict
from paretoscope.ledger import open_ledger


def fork(work, *arguments):
    """Process id of a child that does the work and ends, with exit code 0 if nothing went wrong."""
    with warnings.catch_warnings():
        # the threads of a parallel test runner, which the child never meets
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:  # noqa: BLE001  (the parent reads the exit code)
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def all_succeed(children):
    assert [exit_code(child) for child in children] == [0] * len(children)


def kill(child):
    """As the kernel or an impatient person ends a process: nothing of it runs any more."""
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) == -signal.SIGKILL


def report(ledger, name, count):
    """Append ``count`` single records, each only after having read everything before it."""
    for index in range(count):
        seen = len(ledger.read())
        while True:
            try:
                ledger.append([{"by": name, "index": index}], expect=seen)
                break
            except Conflict:
                seen += len(ledger.read(after=seen))


def create_and_report(where, name, count):
    with open_ledger(where, create=True) as ledger:
        report(ledger, name, count)


def check_reports(events, names, count):
    """Every report is there once, in its writer's order, and the numbers have no holes."""
    assert [number for number, _ in events] == list(range(1, len(names) * count + 1))
    for name in names:
        assert [e["index"] for _, e in events if e["by"] == name] == list(range(count))


def append_batches(where, acknowledge, sizes):
    """Append one batch of each size, and tell the last number of each as soon as it is stored."""
    with open_ledger(where, create=True) as ledger:
        last = len(ledger.read())
        for size in sizes:
            last = append_batch(ledger, last, size)
            os.write(acknowledge, last.to_bytes(8, "big"))


def append_batch(ledger, last, size):
    """A batch that knows its numbers; a server may finish a killed writer's batch before it."""
    while True:
        batch = [{"first": last + 1, "size": size, "place": place} for place in range(size)]
        try:
            return ledger.append(batch, expect=last)
        except Conflict:
            last = len(ledger.read())


def check_whole(events, after=0):
    """The last number of events in which every batch is complete and numbered without holes."""
    last = after
    while events:
        size = events[0][1]["size"]
        batch = [(last + 1 + p, {"first": last + 1, "size": size, "place": p}) for p in range(size)]
        assert events[:size] == batch
        last, events = last + size, events[size:]
    return last
