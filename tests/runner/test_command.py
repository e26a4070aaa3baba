"""Commands as measurements."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import paretoscope as ps
from paretoscope.errors import UsageError
from paretoscope.runner.command import Command
from paretoscope.runner.readout import Failed, Misuse, Wanted
from paretoscope.runner.template import Template

PYTHON = [sys.executable, "-I", "-S", "-c"]
Y = (Wanted.of("y"),)


def command(*words, wanted=Y, **more):
    templates = {k: Template.of([more.pop(k)]) for k in ("prepare", "cleanup") if k in more}
    return Command(Template.of(words), wanted, **templates, **more)


def python(code, *words, **more):
    return command(*PYTHON, code, *words, **more)


def test_metrics_of_a_command():
    code = "import sys,json; print('noise'); print(json.dumps({'y': float(sys.argv[1]), 'z': 1}))"
    assert python(code, "{x}")({"id": "a", "x": "2.5"}) == {"y": 2.5}


def test_metrics_from_a_file_win_over_those_printed():
    code = "import sys,os; open(sys.argv[1],'w').write('{\"y\": 7}'); print('{\"y\": 1, \"z\": 2}')"
    wanted = (Wanted.of("y"), Wanted.of("z"))
    assert python(code, "{metrics_file}", wanted=wanted)({"id": "a"}) == {"y": 7.0, "z": 2.0}


@pytest.mark.parametrize(
    "made", ["os.mkfifo(p)", "os.symlink('/etc/hostname', p)", "os.mkdir(p)", "None"]
)
def test_a_metrics_file_that_is_none_holds_nothing_up(made):
    code = f"import os,sys; p = sys.argv[1]; {made}"
    with pytest.raises(Failed, match="printed no JSON line"):
        python(code, "{metrics_file}")({"id": "a"})


def test_the_environment_names_the_candidate(monkeypatch):
    monkeypatch.setenv("PARETOSCOPE_STALE", "from elsewhere")
    code = (
        "import os,json; print(json.dumps({k: v for k, v in os.environ.items() if 'PARETO' in k}))"
    )
    made = python("import os;print('{\"y\":1}', file=open(os.environ['OUT'],'w'));" + code)
    monkeypatch.setenv("OUT", os.devnull)
    ended, _ = made._once({"id": "a,b", "thread count": "08"})
    assert json.loads(ended.out) == {"PARETOSCOPE_ID": "a,b", "PARETOSCOPE_THREAD_COUNT": "08"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(9)", "exit code 9"),
        ("import sys; sys.exit('out of disk\\n')", "exit code 1: out of disk"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("print('hello')", "printed no JSON line with 'y'; its last line was 'hello'"),
        ("print('{\"y\": NaN}')", "y = nan is not finite"),
        ("import time; time.sleep(60)", "out of time after 0.5 s"),
        ("while True: print('x' * 10000)", "out of time after 0.5 s"),
        ("x = [0]\nwhile True: x += x", "exit code 1: MemoryError"),
    ],
)
def test_failures_are_told_with_their_reason(code, said):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))\n"
    with pytest.raises(Failed) as caught:
        python(limit + code, timeout=0.5 if "0.5" in said else 30)({"id": "a"})
    assert str(caught.value) == said


def test_a_run_out_of_time_can_count_as_a_value():
    made = python("import time; time.sleep(60)", timeout=0.3, caps={"y": 9.0})
    assert made({"id": "a"}) == {"y": 9.0}


def test_several_runs_make_one_measurement(tmp_path):
    count = tmp_path / "count"
    code = (
        f"import os; open({str(count)!r},'a').write('.'); n = os.path.getsize({str(count)!r})\n"
        'print(\'{"y": %d, "l": [%d, 0], "e": 5}\' % (n * n, n))'
    )
    wanted = (Wanted.of("y"), Wanted.of("l", statistic="mean"), Wanted.of("e", exact=True))
    assert python(code, wanted=wanted, inner=5)({"id": "a"}) == {"y": 9.0, "l": 1.5, "e": 5.0}
    assert python(code, inner=2, statistic="mean")({"id": "a"}) == {"y": (36 + 49) / 2}
    with pytest.raises(
        Misuse, match="y was declared exact and is 64 in one run and 81 in the next"
    ):
        python(code, wanted=(Wanted.of("y", exact=True),), inner=2)({"id": "a"})


def test_built_in_metrics_are_measured():
    wanted = tuple(map(Wanted.of, ("wall", "cpu", "rss", "exit")))
    code = (
        "import time\nx = bytearray(60_000_000); x[::4096] = x[::4096]\n"
        "while time.process_time() < .1: pass\nraise SystemExit(3)"
    )
    found = python(code, wanted=wanted)({"id": "a"})
    assert found["exit"] == 3
    assert 60 < found["rss"] < 110
    assert 0.1 <= found["cpu"] <= found["wall"] + 0.05


def test_preparation_and_clean_up_surround_every_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = command(
        "sh", "-c", "echo run $1 >> log; echo '{\"y\": 1}'", "sh", "{x}",
        prepare="sh -c 'echo before $PARETOSCOPE_X >> log'",
        cleanup="sh -c 'echo after $1 >> log' sh {x}",
        inner=2,
    )  # fmt: skip
    assert made({"id": "a", "x": "v"}) == {"y": 1.0}
    assert Path("log").read_text().split("\n") == ["before v", "run v", "after v"] * 2 + [""]


def test_a_preparation_may_leave_a_server_and_its_failure_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = command(
        "sh", "-c", "kill -0 $(cat pid) && echo '{\"y\": 1}'",
        prepare="sh -c 'sleep 30 & echo $! > pid'",
        cleanup="sh -c 'kill $(cat pid)'",
    )  # fmt: skip
    assert made({"id": "a"}) == {"y": 1.0}
    with pytest.raises(Failed, match="prepare: exit code 4"):
        command("true", prepare="sh -c 'exit 4'")({"id": "a"})
    with pytest.raises(Failed, match="cleanup: exit code 1"):
        command("echo", '{"y": 1}', cleanup="false")({"id": "a"})


def test_warm_up_runs_are_not_read():
    assert command("false").warm({"id": "a"}) == {}


def test_a_program_that_is_not_there():
    with pytest.raises(UsageError, match=r"'\./nothing' is not there"):
        command("./nothing").check([])
    with pytest.raises(Misuse, match="cannot be started"):
        command("./nothing")({"id": "a"})
    with pytest.raises(Failed, match="cannot be started"):
        command("{x}")({"id": "a", "x": "./nothing"})
    with pytest.raises(Failed, match="cannot be started"):
        command("echo", "{x}")({"id": "a", "x": "y" * 3_000_000})


def test_a_command_goes_on_paper_and_through_a_pipe():
    made = command(
        "a", "{x}", prepare="b", timeout=2.0, caps={"y": 3.0}, inner=3, wanted=(Wanted.of("wall"),)
    )
    assert Command.from_plain(json.loads(json.dumps(made.to_plain()))) == made
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  (our own)
    assert Command.from_plain(command("a").to_plain()) == command("a")


def test_a_study_is_interrupted_between_the_runs_of_a_measurement():
    """Ctrl-C ends the command of each thread, and no run of a measurement follows the one cut off."""
    code = "import time; time.sleep(5); print('{\"y\": 1}')"
    study = ps.Study.create(None, candidates={"id": ["a", "b", "c"]}, metrics=["y:max"], epsilon=1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        study.run(python(code, inner=5), parallelism=2)
    assert time.monotonic() - begun < 3
    assert not study.held()
    assert not study.reasons()
