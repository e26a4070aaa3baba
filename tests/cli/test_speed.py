"""The help must come at once, and load nothing that it does not need."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from paretoscope.cli import COMMANDS

HELP = [sys.executable, "-m", "paretoscope", "--help"]


def cpu_seconds(command):
    """User time of a process, from the clock of the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_help_within_150_ms():
    assert min(cpu_seconds(HELP) for _ in range(5)) <= 0.15


@pytest.mark.parametrize("args", ["['--help']", "['--version']"])
def test_help_loads_no_numbers_and_no_tables(args):
    code = (
        "import sys; from paretoscope.cli import main\n"
        f"main({args}, standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'rich', 'narwhals', 'sqlite3', 'moocore'}\n"
        "print('loaded', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded []"
    if "help" in args:
        assert all(f"\n  {name} " in done.stdout for name in COMMANDS)
