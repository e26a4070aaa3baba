"""Real processes that hang, flood, fork and die."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from paretoscope.runner import process
from paretoscope.runner.process import MOST_OUT, end_all, run_process

SHELL = ["/bin/sh", "-c"]
PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture(params=["pidfd", "thread"], autouse=True)
def way(request, monkeypatch):
    """Both ways to learn of an end; systems differ."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open")
    return request.param


def gone(pid, patience=5.0):
    """Whether a process has ended, or ends soon; one that nobody reaps counts as ended."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            state = (
                Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            )
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in {"Z", "X"}:
            return True
        time.sleep(0.01)
    return False


def children():
    """Processes that this one has started and not reaped, whoever started them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = stat.read_text(encoding="utf-8", errors="replace")
            if int(text.rpartition(")")[2].split()[1]) == os.getpid():
                found.add(stat.parent.name)
    return found


def test_output_code_and_times_are_those_of_the_process():
    ended = run_process(
        [*PYTHON, "import sys,time; print('out'); sys.stderr.write('err'); sys.exit(3)"]
    )
    assert (ended.code, ended.out, ended.err, ended.late) == (3, "out\n", "err", False)
    assert 0.0 < ended.cpu <= ended.wall + 0.05
    assert ended.rss != ended.rss, "nobody asked"
    busy = run_process([*PYTHON, "import time\nwhile time.process_time() < 0.2: pass"])
    assert 0.2 <= busy.cpu <= 0.6
    idle = run_process(["sleep", "0.2"])
    assert idle.cpu < 0.1
    assert 0.2 <= idle.wall < 2.0


def test_a_signal_is_a_negative_code():
    assert run_process([*SHELL, "kill -TERM $$"]).code == -signal.SIGTERM


def test_what_cannot_be_started_is_an_os_error():
    with pytest.raises(FileNotFoundError):
        run_process(["./there-is-no-such-program"])


def test_it_gets_no_input():
    assert run_process(["cat"], timeout=20).out == ""


def test_what_hangs_is_ended_with_all_its_children(tmp_path):
    script = f"echo before; (sleep 60 & echo $! > {tmp_path}/one; wait) & sleep 61 & wait"
    begun = time.monotonic()
    ended = run_process([*SHELL, script], timeout=0.4)
    assert time.monotonic() - begun < 3.0
    assert ended.late
    assert ended.code == -signal.SIGKILL
    assert ended.out == "before\n"
    assert 0.4 <= ended.wall < 2.0
    assert gone(int((tmp_path / "one").read_text()))


def test_who_ignores_a_polite_signal_is_ended_all_the_same():
    script = (
        "import signal,time; signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN)"
    )
    assert run_process([*PYTHON, script + "; time.sleep(60)"], timeout=0.3).late


@pytest.mark.parametrize("keep", [False, True])
def test_children_left_behind_hold_nothing_up(keep, tmp_path):
    """The child keeps the pipe open and goes on; the measurement is over when its leader ends."""
    script = f"sleep 30 & echo $! > {tmp_path}/child; echo done"
    begun = time.monotonic()
    ended = run_process([*SHELL, script], timeout=20, keep_children=keep)
    assert time.monotonic() - begun < 3.0
    assert (ended.out, ended.late, ended.code) == ("done\n", False, 0)
    child = int((tmp_path / "child").read_text())
    if keep:
        assert not gone(child, 0.05)
        os.kill(child, signal.SIGKILL)
    else:
        assert gone(child)


def test_a_flood_is_read_and_only_its_end_is_kept():
    script = (
        "import sys\nfor k in range(400): sys.stdout.write('x' * 99999 + '\\n')\nprint('the end')"
    )
    ended = run_process([*PYTHON, script], timeout=60)
    assert ended.code == 0
    assert len(ended.out) == MOST_OUT
    assert ended.out.endswith("\nthe end\n")


def test_an_endless_flood_ends_with_its_time():
    before = memory()
    ended = run_process(["yes"], timeout=0.5)
    assert ended.late
    assert len(ended.out) == MOST_OUT
    assert memory() - before < 30e6


def memory():
    """Resident bytes of this process."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_child_that_floods_after_the_end_is_not_read_for_ever():
    ended = run_process([*SHELL, "yes & echo mine"], timeout=20)
    assert not ended.late
    assert ended.wall < 5.0


def test_bytes_that_are_no_text_are_shown_as_such():
    assert run_process([*PYTHON, "import os; os.write(1, b'a\\xff')"]).out == "a\ufffd"


def test_memory_is_that_of_the_command_and_not_of_this_process():
    ballast = bytearray(150_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])  # this process is large: a naive measure shows it
    small = run_process(["true"], memory=True)
    large = run_process([*PYTHON, "x = bytearray(90_000_000); x[::4096] = x[::4096]"], memory=True)
    assert small.rss < 40e6
    assert 90e6 < large.rss < 130e6
    assert small.code == large.code == 0
    assert small.wall < large.wall
    failed = run_process([*SHELL, "exit 7"], memory=True)
    killed = run_process([*SHELL, "kill -KILL $$"], memory=True)
    assert (failed.code, killed.code) == (7, -signal.SIGKILL)
    missing = run_process(["./there-is-no-such-program"], memory=True)
    assert missing.code == 127
    assert "No such file" in missing.err
    late = run_process(["sleep", "60"], memory=True, timeout=0.5)
    assert late.late


def test_an_interrupt_leaves_nothing_running(tmp_path):
    marker = tmp_path / "pid"
    threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run_process([*SHELL, f"echo $$ > {marker}; exec sleep 60"])
    assert gone(int(marker.read_text()))


def test_all_that_runs_can_be_ended():
    ended = []
    threads = [
        threading.Thread(target=lambda: ended.append(run_process(["sleep", "60"])))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 10
    while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
        end_all()
        time.sleep(0.02)
    assert [e.code for e in ended] == [-signal.SIGKILL] * 3
    assert not process._running


def test_no_descriptor_and_no_process_is_left(way):
    before, others = set(Path("/proc/self/fd").iterdir()), children()
    for k in range(20):
        run_process(["true"], memory=k % 5 == 0)
        run_process(["sleep", "9"], timeout=0.01)
    if way == "thread":  # the thread closes its end a moment later
        time.sleep(0.1)
    assert len(set(Path("/proc/self/fd").iterdir())) <= len(before)
    assert children() <= others


def start_over_subprocess(times):
    """Milliseconds that a start takes beyond subprocess.run: difference of medians, in turns."""
    ours, theirs = [], []
    for _ in range(times):
        begun = time.perf_counter()
        subprocess.run(["/bin/true"], capture_output=True, check=True, stdin=subprocess.DEVNULL)
        middle = time.perf_counter()
        run_process(["/bin/true"])
        theirs.append(middle - begun)
        ours.append(time.perf_counter() - middle)
    return 1e3 * (statistics.median(ours) - statistics.median(theirs))


def test_a_start_costs_no_more_than_2_ms_over_subprocess_run(way):
    """Taken in turns, so that a busy machine is busy for both; the calmest of five times 40."""
    if way == "thread":
        return
    over = [start_over_subprocess(40) for _ in range(5)]
    print("start over subprocess.run:", *(f"{each:+.3f}" for each in over), "ms")
    assert min(over) <= 2.0
