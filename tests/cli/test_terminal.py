"""What a person sees on a terminal of 80 columns, and Ctrl-C from its keyboard."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
import warnings

import pytest

import paretoscope as ps
from tests.runner.test_dask import BENCH

COLUMNS = 80
LISTS = ["-L", "a", "1,2,4,8", "-L", "a_long_name", "0,2"]
METRICS = ["-m", "time:min:ms", "-m", "size:min:MB:exact", "--epsilon", "time=0.5"]
PROGRAM = [sys.executable, "-I", "-S", BENCH, "counts", "{a}", "{a_long_name}"]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(arguments, until=None, patience=100.0):
    """Exit code, and all that came; Ctrl-C is typed when the pattern ``until`` was seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child is another program at once
        pid, terminal = pty.fork()
    if pid == 0:
        size = struct.pack("HHHH", 24, COLUMNS, 0, 0)
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        env = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "NO_COLOR"}}
        command = [sys.executable, "-m", "paretoscope", *arguments]
        os.execve(sys.executable, command, env | {"TERM": "xterm-256color"})  # noqa: S606
    seen, ends = "", time.monotonic() + patience
    while time.monotonic() < ends:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            seen += os.read(terminal, 1 << 16).decode("utf-8", "replace")
        except OSError:  # nobody has the other end any more
            break
        if until and re.search(until, CONTROL.sub("", seen)):
            os.write(terminal, b"\x03")
            until = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts").mkdir()


def test_a_live_line_then_ctrl_c_then_the_rest(tmp_path):
    # the line is drawn now and then: on a quick machine it may go from 4 to 9; a breath before each
    # measurement leaves the time to type
    slowly = ["--prepare", "sleep 0.05"]
    line = ["run", *LISTS, *METRICS, *slowly, "--", *PROGRAM]
    code, seen = on_a_terminal(line, until=r"\b([5-9]|\d\d)/\d+ measured")
    assert code == 130
    plain = CONTROL.sub("", seen)
    assert re.search(
        r"round 1 +\d+/\d+ measured +8 undecided +\d+ (s|min) left of the round", plain
    )
    assert "best guess " in plain
    assert "\x1b[2K" in seen, "the line is drawn again in place"
    assert "Interrupted; nothing is lost. What stands above holds; to go on:" in plain
    assert "  paretoscope run --study run.study" in plain
    lines = re.split(r"[\r\n]+", plain.split("Interrupted")[1])
    assert max(map(len, lines)) <= COLUMNS
    with ps.Study.open("run.study") as study:
        before = study.status().done
        assert before >= 4
        assert not study.held()
    code, seen = on_a_terminal(["run", "--study", "run.study", "-j", "2"])
    plain = CONTROL.sub("", seen)
    assert code == 0, plain
    assert re.search(r"round \d+ +\d+/\d+ measured +\d+ in, ", plain)
    assert "front so far " in plain
    assert "Certified: every candidate " in plain
    assert "●" in plain
    assert (
        max(len(line) for line in re.split(r"[\r\n]+", plain.split(" in this run")[1])) <= COLUMNS
    )
    assert (tmp_path / "run.study").exists()


def test_no_line_is_drawn_where_none_is_wanted():
    code, seen = on_a_terminal(
        ["run", "-q", "-L", "n", "1,2", "-m", "y:min::exact", "--", "echo", '{{"y": {n}}}']
    )
    assert code == 0
    assert "round 1" not in seen
    assert "\x1b[2K" not in seen
