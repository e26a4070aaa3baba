"""Ctrl-C, or kill -9, at random moments: what is found is what an undisturbed run finds."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import paretoscope as ps
from tests.cli.lab import call

ROOT = Path(__file__).parents[2]
# Deterministic: the shell computes; 1 to 3 ms each.
SCRIPT = (
    """echo >> began; echo "{{\\"time\\": $((($1-4)*($1-4)+$2)), \\"size\\": $((10*$1-$2))}}\""""
)
PROGRAM = ["sh", "-c", SCRIPT, "sh", "{a}", "{b}"]
DEFINED = shlex.split(
    "-L a 1,2,3,4,5,8 -L b 0,2,3,5 -m time:min:ms -m size:min:MB:exact --sigma time=1 --epsilon time=0.5"
    " --seed 3 -j 2 --quiet"
)


COMMAND = [*DEFINED, "--", *PROGRAM]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an undisturbed run finds."""
    where = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        return json.loads(call("run", "--json", *COMMAND))


@pytest.mark.parametrize(
    ("name", "times", "longest"),
    [
        pytest.param("SIGINT", 50, 0.04, id="interrupted 50 times"),
        pytest.param("SIGKILL", 12, 0.12, id="killed 12 times"),
        pytest.param("SIGINT", 500, 0.004, id="interrupted 500 times", marks=pytest.mark.long),
        pytest.param("SIGKILL", 200, 0.01, id="killed 200 times", marks=pytest.mark.long),
    ],
)
def test_a_run_broken_off_again_and_again_finds_the_same(
    name, times, longest, whole, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.interrupts", name, str(times), str(longest), "1",
         "run", "--study", "cut.study", *COMMAND],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes = Counter(json.loads(done.stdout))
    broken = 130 if name == "SIGINT" else -signal.SIGKILL
    assert codes == {broken: times, 0: 1}, "each was broken off, and the last went to the end"
    rest = json.loads(call("run", "--study", "cut.study", "--json", "-q"))
    with ps.Study.open("cut.study") as study:
        events = [event for _, event in study.ledger.read()]
        told = Counter(uid for e in events if e["kind"] == "told" for uid, _ in e["rows"])
        asked = sum(len(e["uids"]) for e in events if e["kind"] == "asked")
        back = sum(len(e["uids"]) for e in events if e["kind"] == "returned")
        assert set(told.values()) == {1}
        assert asked == len(told) + back
        assert back > 0, "some were under way"
        assert not study.held()
        assert not study.reasons()
    assert rest.pop("run")["measured"] == 0
    assert len(told) == whole["run"]["measured"]
    assert rest == {key: value for key, value in whole.items() if key != "run"}
    assert rest["certified"]
