"""A policy of another package, really installed: found by its name, stored by it, missed kindly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.study import plugins
from paretoscope.study.methods import method_to_plain
from tests.study.lab import fresh

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"
CREATE = [
    "create",
    "w.study",
    "--candidates",
    "c.csv",
    "-m",
    "y:max",
    "-m",
    "z:min",
    "--method",
    "two-halves",
    "--budget",
    "24",
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example, installed into a folder of its own by the ordinary installer."""
    target = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--target", target]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, PLUGIN], check=True)
    return target


def paretoscope(*arguments, path, cwd):
    """The command in a process that sees the folder, or does not."""
    return subprocess.run(
        [sys.executable, "-m", "paretoscope", *arguments],
        env=os.environ | ({"PYTHONPATH": str(path)} if path else {}),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def filled(sheet):
    """A sheet with values in its blank cells: the means 0, 1, 2 and noise."""
    rng = np.random.default_rng(1)
    head, *rows = sheet.read_text(encoding="utf-8").splitlines()
    at = [head.split(",").index(name) for name in ("candidate", "y", "z")]
    lines = [head]
    for row in rows:
        cells = row.split(",")
        for k in at[1:]:
            cells[k] = str("ABC".index(cells[at[0]]) + 0.1 * rng.standard_normal())
        lines.append(",".join(cells))
    sheet.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_an_installed_policy_runs_a_study_by_its_name(installed, tmp_path):
    (tmp_path / "c.csv").write_text("id,a\nA,1\nB,2\nC,3\n", encoding="utf-8")
    made = paretoscope(*CREATE, path=installed, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    asked = []
    for k in range(3):
        sheet = tmp_path / f"{k}.csv"
        done = paretoscope("ask", "w.study", "--csv", sheet, path=installed, cwd=tmp_path)
        if done.returncode != 0:
            break
        filled(sheet)
        asked.append(len(sheet.read_text(encoding="utf-8").splitlines()) - 1)
        paretoscope("tell", "w.study", sheet, path=installed, cwd=tmp_path)
    assert sum(asked) == 24
    said = paretoscope("result", "w.study", "--json", path=installed, cwd=tmp_path)
    assert said.returncode == 3, said.stderr  # a budget certifies nothing
    assert json.loads(said.stdout)["certified"] is False


def test_without_its_package_the_study_says_what_is_missing(installed, tmp_path):
    (tmp_path / "c.csv").write_text("id,a\nA,1\nB,2\nC,3\n", encoding="utf-8")
    assert paretoscope(*CREATE, path=installed, cwd=tmp_path).returncode == 0
    missed = paretoscope("status", "w.study", path=None, cwd=tmp_path)
    assert missed.returncode == 4
    assert "'two-halves' is not known" in missed.stderr
    assert "no installed package brings it" in " ".join(missed.stderr.split())
    unknown = paretoscope(*CREATE, path=None, cwd=tmp_path)
    assert unknown.returncode == 2
    assert "give auto, " in unknown.stderr


def test_the_example_keeps_the_contract(installed):
    check = (
        "from two_halves import TwoHalves; from paretoscope.testing import check_policy;"
        "check_policy(TwoHalves(60)); print('kept')"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "kept\n", done.stderr
    assert len((PLUGIN / "two_halves.py").read_text(encoding="utf-8").splitlines()) <= 60


def test_what_is_not_installed_is_refused():
    class Mine:
        """Any class at all."""

    assert plugins.name_of(Mine) is None
    assert plugins.load("no such policy") is None
    with pytest.raises(UsageError, match="or install yours"):
        method_to_plain(Mine())
    with pytest.raises(UsageError, match="cannot be written into a study"):
        fresh(method=Mine())
