"""One process in a group of its own: its output capped, its time limited, nothing of it left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Self

# Kept of what a process prints: the end, where results stand.
MOST_OUT, MOST_ERR = 1 << 20, 1 << 16
_CHUNK = 1 << 16
_LAUNCHER = str(Path(__file__).with_name("launcher.py"))

_running: set[int] = set()  # leaders of the groups that run now
_guard = threading.Lock()


@dataclass(frozen=True)
class Ended:
    """What became of a process.

    Attributes
    ----------
    code : int
        Its exit code; minus the signal that ended it.
    out, err : str
        The end of what it printed.
    wall, cpu : float
        Seconds from its start to its end, and of processor time with its children.
    rss : float
        Bytes of memory of the largest process of it at most; NaN if nobody asked.
    late : bool
        Whether it was ended because its time was over.
    """

    code: int
    out: str
    err: str
    wall: float
    cpu: float
    rss: float
    late: bool


@dataclass
class _Tail:
    """The last bytes of a stream."""

    most: int
    kept: bytearray = field(default_factory=bytearray)

    def read(self, stream: IO[bytes]) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            chunk = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self.kept += chunk
        if len(self.kept) > 2 * self.most:
            del self.kept[: -self.most]
        return bool(chunk)

    def text(self) -> str:
        """What was kept, as text."""
        return bytes(self.kept[-self.most :]).decode("utf-8", "replace")


def run_process(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    *,
    memory: bool = False,
    keep_children: bool = False,
) -> Ended:
    """Run a process to its end, or to the end of its time; then its whole group is ended.

    Parameters
    ----------
    memory : bool
        Whether to measure memory. The system counts the memory of the process that starts another one,
        so a small one starts it then.
    keep_children : bool
        Whether what it leaves running may go on: a server started by a preparation.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    if not memory:
        return _run(argv, env, timeout, keep_children=keep_children)
    report, written = os.pipe()
    with open(report, "rb") as reader:  # noqa: PTH123  (a descriptor, not a path)
        try:
            own = [sys.executable, "-I", "-S", _LAUNCHER, str(written), *argv]
            ended = _run(own, env, timeout, (written,), keep_children=keep_children)
        finally:
            os.close(written)
        os.set_blocking(report, False)  # a child left behind may hold the other end
        words = (reader.read(200) or b"").split()
    if len(words) != 3:
        return ended
    wall, cpu, rss = map(float, words)  # of the command, without the launcher
    return replace(ended, wall=wall, cpu=cpu, rss=rss)


def _run(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    timeout: float | None,
    passed: tuple[int, ...] = (),
    *,
    keep_children: bool,
) -> Ended:
    """Start a process in a group of its own, and follow it to its end."""
    with _guard:  # whoever ends all groups sees this one, or sees it never start
        begun = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  (no shell: every value is one argument)
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
            pass_fds=passed,
        )
        _running.add(process.pid)
    try:
        return _follow(process, begun, timeout, keep_children=keep_children)
    finally:
        with _guard:
            _running.discard(process.pid)


def _follow(
    process: subprocess.Popen[bytes], begun: float, timeout: float | None, *, keep_children: bool
) -> Ended:
    """Listen until the leader ends, end the rest of its group, and count up."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Tail(MOST_OUT), _Tail(MOST_ERR)
    tails = {process.stdout: out, process.stderr: err}
    late, gone = False, False
    try:
        with _Exit(process.pid) as leader:
            for stream in tails:
                os.set_blocking(stream.fileno(), False)
            late = _listen(process.pid, leader, tails, begun, timeout)
            wall = time.perf_counter() - begun
            if not keep_children:
                end_group(process.pid)
            for stream, tail in tails.items():  # what was printed before the end
                _drain(stream, tail)
            code, cpu = leader.reap()
            process.returncode = code
            gone = True
    finally:
        if not gone:  # interrupted: nothing may be left running
            end_group(process.pid)
            process.wait()
        for stream in tails:
            stream.close()
    return Ended(code, out.text(), err.text(), wall, cpu, float("nan"), late)


def _drain(stream: IO[bytes], tail: _Tail) -> None:
    """Read what a pipe still holds; somebody who goes on writing is not waited for."""
    for _ in range(MOST_OUT // _CHUNK):
        before = len(tail.kept)
        if not tail.read(stream) or len(tail.kept) == before:
            return


def _listen(
    pid: int,
    leader: _Exit,
    tails: dict[IO[bytes], _Tail],
    begun: float,
    timeout: float | None,
) -> bool:
    """Read until the leader has ended; whether it had to be ended because its time was over."""
    left, late = timeout, False
    with selectors.DefaultSelector() as selector:
        selector.register(leader, selectors.EVENT_READ)
        for stream in tails:
            selector.register(stream, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select(left)}
            if leader in ready:
                return late
            ended = [
                stream for stream in tails if stream in ready and not tails[stream].read(stream)
            ]
            for stream in ended:
                selector.unregister(stream)
            if timeout is not None and not late:
                left = max(0.0, begun + timeout - time.perf_counter())
                late = left == 0.0
            if late:
                end_group(pid)
                left = None


class _Exit:
    """Something to wait on that becomes readable when a child has ended, which is then reaped."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.usage: tuple[int, float] | None = None

    def __enter__(self) -> Self:
        if hasattr(os, "pidfd_open"):
            self.read = os.pidfd_open(self.pid)
        else:  # systems without: a thread waits, and closes a pipe
            self.read, write = os.pipe()
            threading.Thread(target=self._wait, args=(write,), daemon=True).start()
        return self

    def __exit__(self, *problem: object) -> None:
        os.close(self.read)

    def fileno(self) -> int:
        """What is waited on."""
        return self.read

    def _wait(self, write: int) -> None:
        """Reap the child, then tell."""
        with suppress(ChildProcessError):
            self.usage = self._reap()
        os.close(write)

    def _reap(self) -> tuple[int, float]:
        """Exit code and processor seconds."""
        _, status, usage = os.wait4(self.pid, 0)
        return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime

    def reap(self) -> tuple[int, float]:
        """Exit code and processor seconds of the child, which has ended."""
        return self._reap() if self.usage is None else self.usage


def end_group(pid: int) -> None:
    """End every process of a group at once."""
    with suppress(ProcessLookupError, PermissionError):  # all of it has ended
        os.killpg(pid, signal.SIGKILL)


def end_all() -> None:
    """End every group that runs now."""
    with _guard:
        for pid in _running:
            end_group(pid)
