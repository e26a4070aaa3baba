"""The other end of `tests.nursery`: whatever is slow to import, but not the package; one fork per job.

A line of JSON in (the folder of a copy of the package, the tests, a file for their output), one exit
code out.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import traceback

import hypothesis.extra.numpy  # noqa: F401
import moocore  # noqa: F401
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats  # noqa: F401
from hypothesis import Phase, settings

# No planted error makes its test run longer than this many seconds.
LIMIT = 240
# What is imported already cannot be rewritten to explain its assertions; nobody reads them here.
OPTIONS = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]


class Quick:
    """A failure that hypothesis finds is not made smaller: nobody reads it."""

    def pytest_configure(self) -> None:
        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("quick", settings.get_profile("house"), phases=phases)
        settings.load_profile("quick")


def serve() -> None:
    """Fork, wait, say how it ended; until there are no more jobs."""
    assert "paretoscope" not in sys.modules
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def child(path: str, nodes: list[str], output: str) -> None:
    """Run the tests with the package of that path; never returns."""
    signal.alarm(LIMIT)
    told = os.open(output, os.O_WRONLY)
    for stream, fd in ((os.open(os.devnull, os.O_RDONLY), 0), (told, 1), (told, 2)):
        os.dup2(stream, fd)
    sys.path.insert(0, path)
    os.environ["PYTHONPATH"] = path  # for processes that the tests start
    code = -1
    try:
        code = outcome(nodes)
    except BaseException:  # noqa: BLE001  (a child must not return into the loop of its parent)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def outcome(nodes: list[str]) -> int:
    """The package first: whatever the tests import is what has been imported here."""
    print(importlib.import_module("paretoscope").__file__, flush=True)
    return int(pytest.main([*OPTIONS, *nodes], plugins=[Quick()]))


if __name__ == "__main__":
    serve()
