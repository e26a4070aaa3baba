"""`paretoscope run` with real commands."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import paretoscope as ps
from tests.cli.lab import call

BENCH = str(Path(__file__).parents[1] / "runner" / "bench.py")
PROGRAM = [sys.executable, "-I", "-S", BENCH, "counts", "{a}", "{b}"]
LISTS = ["-L", "a", "1,2,4,8", "-L", "b", "0,2"]
METRICS = ["-m", "time:min:ms", "-m", "size:min:MB:exact", "--epsilon", "time=0.5"]
DEFINED = [*LISTS, *METRICS, "--seed", "1"]
# time = (a - 4)^2 + b, size = 10 a - b: a = 8 is worse than a = 4 in both; a = 1, 2, 4 with each b
FRONT = {"1,0", "2,0", "4,0", "1,2", "2,2", "4,2"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "counts").mkdir()


def found(*args, code=0):
    """The result as data."""
    return json.loads(call("run", "--json", *args, code=code))


def test_a_command_is_measured_to_a_certificate():
    said = call("run", "-q", *DEFINED, "--", *PROGRAM)
    assert "Certified" in said
    assert "With probability at least 0.95 every verdict is right" in said
    assert "rejected by" in said
    assert "8,0" in said.split("rejected by")[1].split("size over time")[0]
    assert "paretoscope result run.study" in said
    assert max(map(len, said.splitlines())) <= 80
    with ps.Study.open("run.study") as study:
        assert set(study.result().pareto_set) == FRONT
        assert study.status().done == sum(len(p.read_text()) for p in Path("counts").iterdir())
    again = call("run", "-q", "--study", "run.study")
    assert "0 in this run" in again
    assert again.splitlines()[2:] == said.splitlines()[2:]
    same = call("run", "-q", *DEFINED, "--", *PROGRAM)
    assert same.splitlines()[2:] == said.splitlines()[2:]


def test_it_goes_on_where_it_stopped_and_ends_the_same():
    whole = found("--study", "whole.study", *DEFINED, "--", *PROGRAM)
    for path in Path("counts").iterdir():
        path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paretoscope.study.study.Limits", _few)
        for _ in range(3):
            said = call("run", *DEFINED, "--", *PROGRAM, code=3)
            assert "to go on:\n  paretoscope run --study run.study" in said
    rest = found("--study", "run.study")
    assert rest.pop("run")["measured"] == whole.pop("run")["measured"] - 15
    assert rest == whole


def _few(*given):
    from paretoscope.runner.contract import Limits  # noqa: PLC0415

    return Limits(5, *given[1:])


def test_the_result_is_exported():
    targets = ["--export-json", "r.json", "--export-csv", "r.csv", "--export-markdown", "r.md"]
    call("run", *DEFINED, *targets, "-q", "--", *PROGRAM)
    made = json.loads(Path("r.json").read_text())
    assert set(made["pareto_set"]) == FRONT
    assert made["certified"] is True
    with Path("r.csv").open(newline="") as file:
        rows = {row["candidate"]: row for row in csv.DictReader(file)}
    assert rows["8,0"]["verdict"] == "rejected"
    assert rows["4,0"]["size"] == "40.0"
    assert Path("r.md").read_text().startswith("| candidate |")


def test_candidates_come_from_a_file_verbatim():
    Path("c.csv").write_text("id,level,text\nx,08,a b\ny,1.10,c;d\n")
    program = (
        'import sys,json; open("seen","a").write(repr(sys.argv[1:])); print(json.dumps({"y":1}))'
    )
    call(
        "run", "-C", "c.csv", "-m", "y:max::exact", "--", sys.executable, "-c", program, "{level}", "t={text}"
    )  # fmt: skip
    assert sorted(Path("seen").read_text().replace("][", "]\n[").splitlines()) == [
        "['08', 't=a b']",
        "['1.10', 't=c;d']",
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([*DEFINED, "--", "./bench"], "'./bench' is not there"),
        ([*DEFINED], "give the command to measure"),
        ([*DEFINED, "--", "echo", "{c}"], "{c} in the command is no column: there are a, b"),
        (["--", "true"], "give candidates (-C or -L) and metrics (-m)"),
        ([*DEFINED, "-C", "c.csv", "--", "true"], "not by both"),
        ([*DEFINED, "-L", "a", "1", "--", "true"], "-L a"),
        ([*LISTS, "-L", "c", "1,1", *METRICS, "--", "true"], "-L c: a value is given twice"),
        ([*DEFINED, "--regex", "x=(.)", "--", "true"], "that is no metric"),
        ([*DEFINED, "--regex", "time=a", "--", "true"], "has no group"),
        ([*DEFINED, "--regex", "time=(", "--", "true"], "pattern of time"),
        ([*DEFINED, "--regex", "time", "--", "true"], "write METRIC=PATTERN"),
        ([*DEFINED, "--stat", "best", "--inner", "3", "--", "true"], "statistic 'best'"),
        ([*DEFINED, "--timeout-value", "time=9", "--", "true"], "needs a --timeout"),
        (
            [*DEFINED, "--timeout-value", "time=9", "--timeout", "1s", "--", "true"],
            "--timeout-value is missing for size",
        ),
        ([*DEFINED, "--timeout", "soon", "--", "true"], "'soon'"),
        ([*LISTS, "-m", "wall:min:furlong", "--epsilon", "1", "--", "true"], "unit 'furlong'"),
        ([*DEFINED, "--executor", "here", "--", "true"], "give dask://host:port"),
        (["-L", "a b", "1", "-L", "a_b", "2", *METRICS, "--", "true"], "PARETOSCOPE_A_B"),
        ([*DEFINED, "--shell", "--", "echo '{a}'"], "stands inside quotes"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_made(args, said):
    assert said in call("run", *args, code=2)
    assert not Path("run.study").exists() or "executor" in " ".join(args)


def test_another_command_for_the_same_study_is_refused():
    call("run", *DEFINED, "--", *PROGRAM)
    other = [*PROGRAM, "0.2"]
    assert "in its own way" in call("run", "--study", "run.study", "--", *other, code=2)
    assert "holds another study" in call("run", *DEFINED, "--", *other, code=2)
    assert "stands in the study" in call("run", "--study", "run.study", "--inner", "2", code=2)


def test_a_study_made_without_a_command_is_measured_by_one():
    Path("c.csv").write_text("id,a,b\nP,1,0\nQ,4,0\nR,8,2\n")
    call("create", "w.study", "-C", "c.csv", *METRICS)
    assert "made without a command" in call("run", "--study", "w.study", code=2)
    call("run", "--study", "w.study", "--", *PROGRAM)
    with ps.Study.open("w.study") as study:
        assert study.result().pareto_set == ["P", "Q"]


def test_when_nothing_works_no_candidate_is_blamed():
    said = call("run", *DEFINED, "--", "false", code=4)
    assert "measurements all failed, which looks like the measurement's own fault" in said
    assert "exit code 1" in said
    with ps.Study.open("run.study") as study:
        assert not study.reasons()
        assert not study.held()


def test_it_runs_as_a_program_and_a_log_gets_plain_lines():
    line = shlex.join([sys.executable, "-m", "paretoscope", "run", *DEFINED, "--", *PROGRAM])
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("run.study: 8 candidates, 2 metrics.\nround 1; ")
    assert "\x1b" not in done.stdout + done.stderr
    assert "front so far" in done.stderr


@pytest.fixture
def hung_up():
    """A terminal that closes ends what runs in it, even where these tests were started by nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hung_up")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_in_the_background_of_a_script_can_be_ended(number):
    """A shell lets its background jobs ignore Ctrl-C; a polite request to end is heard all the same."""
    Path("began").touch()
    program = "echo . >> began; sleep 20; : {a} {b}"
    line = [sys.executable, "-m", "paretoscope", "run", "-q", *DEFINED, "--shell", "--", program]
    with subprocess.Popen(
        ["/bin/sh", "-c", f"trap '' INT; exec {shlex.join(line)}"],
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        until = time.monotonic() + 60
        while not Path("began").stat().st_size and time.monotonic() < until:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)  # ignored
        run.send_signal(number)
        said, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Interrupted; nothing is lost" in said
    with ps.Study.open("run.study") as study:
        assert not study.held()
