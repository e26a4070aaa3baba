"""Errors planted in a copy of the package: the tests named for each must go red, and only then.

The tests run in a process of their own that imports the copy; what was imported is checked, because
the package itself is installed as well.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import MUTANTS as CORE
from tests.mutants import Mutant
from tests.mutants_rooms import ROOMS
from tests.nursery import Nursery

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "paretoscope"
GREEN, RED = int(pytest.ExitCode.OK), int(pytest.ExitCode.TESTS_FAILED)
MUTANTS = [*CORE, *ROOMS]
FILES = sorted({mutant.tests.partition("::")[0] for mutant in MUTANTS})


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """One for all planted errors of a worker."""
    nursery = Nursery(ROOT)
    yield nursery
    nursery.close()


def copy_package(tmp_path):
    """The package alone in a folder; unchanged files keep their compiled twins."""
    copy = tmp_path / "paretoscope"
    shutil.copytree(SOURCE, copy)
    return copy


def plant(copy, mutant):
    """Write the error into the copy; its place must be unique, and no compiled twin outlives it."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.file} no longer holds it once: {mutant.old}"
    assert mutant.old != mutant.new
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


@pytest.mark.parametrize("mutant", MUTANTS, ids=Mutant.label)
def test_a_planted_error_turns_its_test_red(mutant, tmp_path, nursery):
    copy = copy_package(tmp_path)
    plant(copy, mutant)
    code, output = nursery.run(copy, [mutant.tests])
    # a broken start ends with the same code: a test must have run and failed
    noticed = code == RED and re.search(r"^1 failed", output, re.MULTILINE)
    assert noticed, f"nothing noticed: {mutant.breaks}\n{output}"


@pytest.mark.parametrize("file", FILES)
def test_without_an_error_the_same_tests_are_green(file, tmp_path, nursery):
    nodes = {mutant.tests for mutant in MUTANTS if mutant.tests.partition("::")[0] == file}
    code, output = nursery.run(copy_package(tmp_path), sorted(nodes))
    assert code == GREEN, output


def test_every_module_of_the_core_has_planted_errors():
    modules = {f"core/{path.name}" for path in (SOURCE / "core").glob("*.py")}
    spared = {"core/__init__.py"}
    counts = {m: sum(mutant.file == m for mutant in MUTANTS) for m in sorted(modules - spared)}
    assert min(counts.values()) >= 2, counts
