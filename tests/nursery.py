"""Tests against copies of the package, each in a process of its own that starts in no time.

A planted error needs a fresh import of the whole package, but most of the time of a fresh interpreter
goes into numpy, scipy, hypothesis and pytest. `tests.forks` imports those once; every job is a fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class Nursery:
    """Start it once, hand it jobs, close it."""

    def __init__(self, root: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            cwd=root,
            env=kept | threads,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, package: Path, nodes: list[str]) -> tuple[int, str]:
        """Exit code and output of the tests, run against a copy of the package."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            job = {"path": str(package.parent), "nodes": nodes, "output": output.name}
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            told = output.read()
        assert told.startswith(f"{package / '__init__.py'}\n"), told
        return code, told

    def close(self) -> None:
        """No more jobs: the process ends."""
        self.process.communicate()
