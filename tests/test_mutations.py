"""Errors planted in a copy of the package: the tests named for each must go red, and only then.

The tests run in a fresh interpreter that imports the copy; what was imported is checked, because
the package itself is installed as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import MUTANTS as CORE
from tests.mutants import Mutant
from tests.mutants_rooms import ROOMS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "paretoscope"
GREEN, RED = int(pytest.ExitCode.OK), int(pytest.ExitCode.TESTS_FAILED)
# The package first: whatever the tests import is what has been imported here. A failure that
# hypothesis finds is not made smaller: nobody reads it.
RUN = """
import sys, paretoscope
print(paretoscope.__file__)
import pytest

class Quick:
    def pytest_configure(self):
        from hypothesis import Phase, settings
        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("quick", settings.get_profile("house"), phases=phases)
        settings.load_profile("quick")

args = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[1:]]
sys.exit(pytest.main(args, plugins=[Quick()]))
"""
MUTANTS = [*CORE, *ROOMS]
FILES = sorted({mutant.tests.partition("::")[0] for mutant in MUTANTS})


def copy_package(tmp_path):
    """The package alone in a folder, without compiled files that could outlive an edit."""
    copy = tmp_path / "paretoscope"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def plant(copy, mutant):
    """Write the error into the copy; its place must be unique."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.file} no longer holds it once: {mutant.old}"
    assert mutant.old != mutant.new
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def run_tests(copy, nodes):
    """Exit code and output of the tests, run against the copy."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *nodes],
        cwd=ROOT,
        env=kept | threads | {"PYTHONPATH": str(copy.parent)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.startswith(f"{copy / '__init__.py'}\n"), done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mutant", MUTANTS, ids=Mutant.label)
def test_a_planted_error_turns_its_test_red(mutant, tmp_path):
    copy = copy_package(tmp_path)
    plant(copy, mutant)
    code, output = run_tests(copy, [mutant.tests])
    # a broken start ends with the same code: a test must have run and failed
    noticed = code == RED and re.search(r"^1 failed", output, re.MULTILINE)
    assert noticed, f"nothing noticed: {mutant.breaks}\n{output}"


@pytest.mark.parametrize("file", FILES)
def test_without_an_error_the_same_tests_are_green(file, tmp_path):
    nodes = {mutant.tests for mutant in MUTANTS if mutant.tests.partition("::")[0] == file}
    code, output = run_tests(copy_package(tmp_path), sorted(nodes))
    assert code == GREEN, output


def test_every_module_of_the_core_has_planted_errors():
    modules = {f"core/{path.name}" for path in (SOURCE / "core").glob("*.py")}
    spared = {"core/__init__.py"}
    counts = {m: sum(mutant.file == m for mutant in MUTANTS) for m in sorted(modules - spared)}
    assert min(counts.values()) >= 2, counts
