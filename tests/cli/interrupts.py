"""A process that runs `paretoscope` again and again, each time in a fork that gets a Ctrl-C.

    PYTHONPATH=... python -m tests.cli.interrupts TIMES LONGEST SEED ARGUMENTS...

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
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        main(arguments)
    except KeyboardInterrupt:  # before it began
        code = 130
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def called(arguments: list[str], patience: float | None) -> int:
    """The exit code of a call that is interrupted after a while, unless it ends before."""
    # one that comes before the child is ready waits for it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid == 0:
        child(arguments)
    if patience is not None:
        time.sleep(patience)
        os.kill(pid, signal.SIGINT)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # while click itself begins or ends, it has the say for a millisecond
    aborted = code == 1 and Path("said").read_text(encoding="utf-8").strip() == "Aborted!"
    return 130 if aborted else code


def interrupted(times: int, longest: float, luck: random.Random, arguments: list[str]) -> list[int]:
    """Exit codes until so many calls were interrupted; then one more, which is left alone."""
    codes: list[int] = []
    while codes.count(130) < times and 0 not in codes:
        codes.append(called(arguments, luck.uniform(0.0, longest)))
    return [*codes, called(arguments, None)]


if __name__ == "__main__":
    count, longest, seed = sys.argv[1:4]
    made = interrupted(int(count), float(longest), random.Random(int(seed)), sys.argv[4:])  # noqa: S311
    print(json.dumps(made))
