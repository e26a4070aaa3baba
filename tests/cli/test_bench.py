"""paretoscope bench: list, run, compare, from the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from paretoscope.bench import figures
from tests.cli.lab import call, data

HERE = ["--executor", "here"]
TWO = ["--only", "OneShot", "--only", "Uniform"]
FIGURE1 = ["bench", "run", "figure1", "--runs", "3", *TWO, *HERE]
OWN = '''
"""A policy of my own: everything is asked of somebody else."""

from paretoscope import OneShot


class Mine(OneShot):
    """OneShot under my name."""

    def __init__(self, budget, share=1.0):
        super().__init__(int(budget * share))
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_list_says_what_there_is():
    text = call("bench", "list")
    assert "figure1" in text
    assert "illustration" in text
    assert max(map(len, text.splitlines())) <= 80
    listed = data("bench", "list")
    assert {
        "name": "table1",
        "title": "Sample complexity bounds on each instance",
        "cells": 20,
    } in (listed)


def test_help_at_eighty_columns():
    for command in ([], ["list"], ["run"], ["compare"], ["page"]):
        assert max(map(len, call("bench", *command, "--help").splitlines())) <= 80


def test_run_writes_tables_and_figures_and_goes_on(folder):
    text = call(*FIGURE1)
    assert "figure1 36/36" in text
    for name in ("figure1.csv", "figure1.json", "figure1.png", "figure1.svg", "figure1.runs.csv"):
        assert (folder / "bench" / name).exists()
        assert name.startswith("figure1.runs") or name in text
    first = (folder / "bench" / "figure1.csv").read_bytes()
    again = call(*FIGURE1)
    assert "36 cells were finished before." in again
    assert "figure1 36/36" not in again
    assert (folder / "bench" / "figure1.csv").read_bytes() == first
    assert "36/36" in call(*FIGURE1, "--fresh")
    assert (folder / "bench" / "figure1.csv").read_bytes() == first


def test_my_own_policy_takes_part(folder):
    (folder / "my_policies.py").write_text(OWN)
    own = ["--policy", "my_policies:Mine share=0.5", "--only", "Mine", "--only", "OneShot"]
    told = data("bench", "run", "figure1", "--runs", "3", *own, *HERE)
    assert told[0]["rows"] == 36
    rows = (folder / "bench" / "figure1.csv").read_text()
    assert ",Mine,false,false,budget=5000,3," in rows
    assert ",2500,0,2500," in rows


def test_compare_two_folders(folder, monkeypatch):
    monkeypatch.setattr(figures, "possible", lambda: False)  # tables are enough
    call(*FIGURE1, "--out", "a")
    call(*FIGURE1, "--out", "b", "--seed", "7")
    assert "Nothing differs by more than chance." in call("bench", "compare", "a", "b")
    (found,) = data("bench", "compare", "a", "a")
    assert (found["shared"], found["same"], found["differences"]) == (36, 36, [])
    path = folder / "b" / "figure1.csv"
    path.write_text(path.read_text().replace(",5000,0,", ",4000,0,"))
    text = call("bench", "compare", "a", "b", code=3)
    assert "pulls 5000, 4000" in text


def test_the_page_is_written_with_its_figures(folder):
    made = data("bench", "page", "--out", "docs")["files"]
    assert made[0] == "docs/reproduction.md"
    assert (folder / made[0]).read_text().startswith("# The paper, reproduced")
    assert "docs/reproduction/figure1.svg" in made
    for name in made[1:]:
        assert f"]({name.removeprefix('docs/')})" in (folder / made[0]).read_text()
        assert "</svg>" in (folder / name).read_text()
    assert "has no results of 'figure1'" in call("bench", "page", str(folder), code=2)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run"], "name one or more of figure1"),
        (["run", "figure9"], "'figure9' is unknown"),
        (["run", "figure1", "--only", "APEX"], "figure1 has no 'APEX'"),
        (["run", "figure1", "--policy", "nobody"], "'nobody' is not in the package"),
        (["run", "figure1", "--executor", "moon"], "executor 'moon'"),
        (["compare", "x", "y"], "no results of the same experiment"),
    ],
)
def test_mistakes_are_one_line(args, said):
    assert said in call("bench", *args, code=2)


def test_a_data_set_that_is_missing_is_named(folder):
    text = call("bench", "run", "figure4", "--data", str(folder), *HERE, code=4)
    assert "noc.csv does not exist. Save it as noc.csv" in text


def bench(folder, *args):
    command = [sys.executable, "-m", "paretoscope", "bench", "run", "figure1", "--jobs", "1", *args]
    return subprocess.Popen(
        [*command, "--runs", "100", "--only", "Uniform"],
        cwd=folder,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_interrupted_by_a_signal_it_goes_on_to_the_same_numbers(folder):
    first = bench(folder)
    assert "figure1 1/18" in first.stderr.readline()
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130, said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    kept = len(list((folder / "bench" / "figure1.cells").glob("*.json")))
    assert 1 <= kept < 18
    second = bench(folder)
    _, said = second.communicate(timeout=60)
    assert second.returncode == 0, said
    assert f"{kept} cells were finished before." in said
    call("bench", "run", "figure1", "--out", "whole", "--runs", "100", "--only", "Uniform", *HERE)
    for name in ("figure1.csv", "figure1.runs.csv"):
        assert (folder / "bench" / name).read_bytes() == (folder / "whole" / name).read_bytes()
