"""A process that runs `paretoscope` again and again, each time in a fork that gets a signal.

    python -m tests.cli.interrupts SIGNAL TIMES LONGEST SEED ARGUMENTS...

Everything is imported once, so that fifty calls take seconds. Prints the exit codes as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import moocore  # noqa: F401
import scipy.special
import scipy.stats  # noqa: F401

import paretoscope.cli.run
import paretoscope.policies.race  # noqa: F401
from paretoscope.cli import main


def child(arguments: list[str]) -> None:
    """One call of the command; never returns."""
    code = 99
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        # ignored if we were started in the background; children of a terminal do not ignore it
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        main(arguments)
    except KeyboardInterrupt:  # before it began
        code = 130
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def over(pid: int) -> bool:
    """Whether a call has ended."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def at_work(pid: int, before: int) -> None:
    """Wait until the command was started once more, or the call has ended."""
    while began() == before and not over(pid):
        time.sleep(0.001)


def signalled(pid: int, number: int) -> None:
    """Send a signal, and again to who has not ended two seconds later, as a person would.

    Python drops an interrupt that comes while it runs the callback of a weak reference.
    """
    while not over(pid):
        os.kill(pid, number)
        until = time.monotonic() + 2.0
        while not over(pid) and time.monotonic() < until:
            time.sleep(0.001)


def began() -> int:
    """How often the command was started: it adds a line to a file."""
    return Path("began").stat().st_size if Path("began").exists() else 0


def called(
    arguments: list[str], patience: float | None, number: int = signal.SIGINT, *, late: bool = False
) -> int:
    """The exit code of a call that gets a signal after a while, unless it ends before.

    ``late``: a while after the command was started for the first time, however busy the machine is.
    """
    before = began()
    # one that comes before the child is ready waits for it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid == 0:
        child(arguments)
    if late:
        at_work(pid, before)
    if patience is not None:
        time.sleep(patience)
        signalled(pid, number)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # while click itself begins or ends, it has the say for a millisecond
    aborted = code == 1 and Path("said").read_text(encoding="utf-8").strip() == "Aborted!"
    return 130 if aborted else code


def interrupted(
    number: int, times: int, longest: float, seed: int, arguments: list[str]
) -> list[int]:
    """Exit codes until so many calls were broken off; then one more, which is left alone."""
    luck = random.Random(seed)  # noqa: S311  (moments, no secret)
    codes: list[int] = []
    while len(codes) < times and 0 not in codes:
        codes.append(called(arguments, luck.uniform(0.0, longest), number, late=len(codes) % 2 > 0))
    return [*codes, called(arguments, None)]


if __name__ == "__main__":
    name, count, longest, seed = sys.argv[1:5]
    number = int(signal.Signals[name])
    print(json.dumps(interrupted(number, int(count), float(longest), int(seed), sys.argv[5:])))
