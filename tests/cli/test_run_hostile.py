"""`paretoscope run` against values, programs and people that mean it no good."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import paretoscope as ps
from paretoscope.cli import main
from tests.cli.lab import call
from tests.runner.test_process import gone
from tests.runner.test_template import hostile

SH = ["sh", "-c"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def told(*args, code=0):
    """The result as data."""
    return json.loads(call("run", "--json", *args, code=code))


@pytest.mark.parametrize("shell", [False, True])
def test_500_hostile_values_from_a_table_to_the_command(shell, tmp_path):
    """Each arrives as one argument and in the environment, byte for byte, and nothing else is done."""
    values = hostile(500)
    with Path("c.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "value"), *((f"c{k}", v) for k, v in enumerate(values))])
    log = tmp_path / "log"
    log.mkdir()
    script = f'printf %s "$2" > {log}/$1.arg; printf %s "$PARETOSCOPE_VALUE" > {log}/$1.env; echo \'{{"y": 1}}\''
    Path("program").write_text(f"{script}\n", encoding="ascii")
    command = (
        ["--shell", "--", "sh program {id} {value}"]
        if shell
        else ["--", "sh", "program", "{id}", "{value}"]
    )
    before = {path.name for path in tmp_path.iterdir()}
    said = told("-C", "c.csv", "-m", "y:max::exact", "-j", "2", *command)
    assert said["run"]["measured"] == 500
    assert said["run"]["failed"] == 0
    for ending in ("arg", "env"):
        got = [(log / f"c{k}.{ending}").read_bytes().decode() for k in range(500)]
        assert got == values
    assert {path.name for path in tmp_path.iterdir()} - before == {"run.study"}
    assert len(list(log.iterdir())) == 1000


MISBEHAVE = """
import json, os, subprocess, sys, time
kind = sys.argv[1]
open("calls", "a").write(kind + "\\n")
if kind == "hangs":
    subprocess.Popen(["sleep", "77"]); open("children", "a").write(f"{os.getpid()}\\n"); time.sleep(77)
if kind == "floods":
    for k in range(60): print("x" * 99_999)
if kind == "silent":
    print("no numbers today"); sys.exit()
if kind == "nan":
    print('{"y": NaN}'); sys.exit()
if kind == "fails":
    sys.exit("no space left\\x1b[31m on device")
if kind == "forks":
    made = [subprocess.Popen(["sleep", "78"]) for _ in range(3)]
    open("children", "a").writelines(f"{p.pid}\\n" for p in made)
print(json.dumps({"y": len(kind)}))
"""


def test_a_command_for_every_vice():
    Path("p.py").write_text(MISBEHAVE, encoding="ascii")
    kinds = ["works", "hangs", "floods", "silent", "nan", "fails", "forks"]
    begun = time.monotonic()
    said = call(
        "run", "-L", "kind", ",".join(kinds), "-m", "y:max::exact", "--timeout", "1.5s",
        "--export-json", "r.json", "-q", "--", sys.executable, "-I", "-S", "p.py", "{kind}",
    )  # fmt: skip
    assert time.monotonic() - begun < 40
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert found["infeasible"] == ["hangs", "silent", "nan", "fails"]
    assert found["accepted"] == ["floods"]
    assert set(found["rejected"]) == {"works", "forks"}
    calls = Path("calls").read_text(encoding="ascii").split()
    assert {kind: calls.count(kind) for kind in kinds} == {
        kind: 2 if kind in found["infeasible"] else 1 for kind in kinds
    }
    for reason in (
        "out of time after 1.5 s",
        "printed no JSON line with 'y'; its last line was 'no numbers today'",
        "y = nan is not finite",
        "exit code 1: no space left",
    ):
        assert reason in " ".join(said.split())
    assert "\x1b" not in said
    assert "the guarantee is among the candidates that ran" in " ".join(said.split())
    assert all(gone(int(pid)) for pid in Path("children").read_text(encoding="ascii").split())


def test_a_time_out_can_count_as_a_value_and_the_certificate_says_so():
    program = """test {n} = 3 && exec sleep 60; printf '{{"y": %s}}\\n' {n}"""
    said = call(
        "run", "-L", "n", "1,2,3", "-m", "y:min::exact", "--timeout", "0.7s", "--timeout-value", "y=9",
        "-q", "--shell", "--", program,
    )  # fmt: skip
    assert "- y: a run that is out of time counts as 9" in said
    assert "every verdict is right, from 3 measurements." in said
    with ps.Study.open("run.study") as study:
        rows = {row["candidate"]: row for row in study.result().table()}
        assert rows["3"]["y"] == 9.0
        assert rows["3"]["verdict"] == "rejected"
        assert not study.reasons()


def test_metrics_from_everywhere_in_one_run():
    """JSON, a file, a pattern and the run itself; preparation, clean-up and warm-up around it."""
    program = (
        "echo run >> log; echo took $((10 + PARETOSCOPE_N)) ms;"
        """ printf '{{"file": %s, "acc": 0.5}}' {n} > {metrics_file};"""
        """ printf '{{"listed": [1, %s, 30], "file": 0}}\\n' {n}"""
    )
    said = told(
        "-L", "n", "1,2,4", "-m", "took:min:ms:exact", "-m", "file:max::exact",
        "-m", "listed:min::median", "-m", "exit:min::exact", "-m", "acc:max::proportion=2000",
        "--sigma", "listed=0.1", "--epsilon", "acc=0.2", "--epsilon", "listed=0.5",
        "--regex", r"took=took (\d+) ms", "--warmup", "1", "--shell", "--inner", "2",
        "--prepare", "echo before {n} >> log", "--cleanup", "echo after $PARETOSCOPE_N >> log",
        "--", program,
    )  # fmt: skip
    rows = {row["candidate"]: row for row in said["table"]}
    for n in ("1", "2", "4"):
        found = [rows[n][name] for name in ("took", "file", "exit", "listed", "acc")]
        assert found == [10 + int(n), int(n), 0, int(n), 0.5]
    lines = Path("log").read_text(encoding="ascii").split("\n")[:-1]
    runs = 3 + 2 * said["run"]["measured"]  # a warm-up of each, and two for each measurement
    assert len(lines) == 3 * runs
    for start in range(0, len(lines), 3):
        before, run, after = lines[start : start + 3]
        assert run == "run"
        assert before.split() == ["before", after.split()[1]]
        assert after.split()[0] == "after"


def test_a_list_without_a_statistic_is_refused_by_its_name():
    text = "seq -s , 1000 | sed 's/.*/{{\"latency\": [&]}}/'; : {n}"
    shell = ["--shell", "--", text]
    said = call("run", "-L", "n", "1,2", "-m", "latency:min", "--epsilon", "1", *shell, code=2)
    assert "latency: 1000 values; add :p99 or :median" in said
    with ps.Study.open("run.study") as study:
        assert not study.held()
        assert not study.reasons()


def test_nothing_of_this_process_leaks_into_the_command(monkeypatch):
    monkeypatch.setenv("PARETOSCOPE_STALE", "1")
    program = [*SH, 'env > seen; echo "{\\"y\\": 1}"']
    call("run", "-L", "n", "1,2", "-m", "y:max::exact", "-q", "--", *program)
    names = [
        line.partition("=")[0] for line in Path("seen").read_text(encoding="utf-8").splitlines()
    ]
    assert sorted(name for name in names if name.startswith("PARETOSCOPE_")) == [
        "PARETOSCOPE_ID",
        "PARETOSCOPE_N",
    ]
    assert os.environ["PARETOSCOPE_STALE"] == "1"


def test_times_are_the_median_of_five_runs_and_side_by_side_is_warned_of():
    words = [
        "run", "-L", "n", "1,2", "-m", "wall:min:ms:log", "-m", "calls:min::exact", "--budget", "8",
        "--shell", "-j", "2", "--", "echo . >> {n}.runs; printf '{{\"calls\": 0}}'",
    ]  # fmt: skip
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code in {0, 3}, "these are real times: they may drift"
    said = done.output
    assert "run.study: 2 candidates, 2 metrics, each the median of 5 runs." in said
    assert "2 runs at the same time disturb each other's times: -j 1 is safer." in said
    assert "wall: what is certified is the expectation of the median of one measurement" in said
    with ps.Study.open("run.study") as study:
        runs = sum(len(Path(f"{n}.runs").read_text(encoding="ascii").split()) for n in (1, 2))
        assert runs == 5 * study.status().done == 40
