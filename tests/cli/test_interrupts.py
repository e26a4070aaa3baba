"""Ctrl-C at random moments, fifty times: what is found is what an undisturbed run finds."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import paretoscope as ps
from tests.cli.lab import call

ROOT = Path(__file__).parents[2]
# Deterministic: the shell computes; 1 to 3 ms each.
PROGRAM = (
    """sh -c 'echo "{{\\"time\\": $((($1-4)*($1-4)+$2)), \\"size\\": $((10*$1-$2))}}"' sh {a} {b}"""
)
DEFINED = shlex.split(
    "-L a 1,2,3,4,5,8 -L b 0,2,3,5 -m time:min:ms -m size:min:MB:exact --sigma time=1.2 --epsilon time=0.5"
    " --seed 3 -j 2 --quiet"
)


@pytest.mark.parametrize(
    ("times", "longest"),
    [pytest.param(50, 0.06, id="50"), pytest.param(500, 0.05, id="500", marks=pytest.mark.long)],
)
def test_fifty_interrupts_change_nothing(times, longest, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [*DEFINED, "--", *shlex.split(PROGRAM)]
    whole = json.loads(call("run", "--study", "whole.study", "--json", *command))
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.interrupts", str(times), str(longest), "1",
         "run", "--study", "cut.study", *command],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes = Counter(json.loads(done.stdout))
    assert codes == {130: times, 0: 1}, "each was interrupted, and the last went to the end"
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
    assert len(told) == whole.pop("run")["measured"]
    assert rest == whole
    assert rest["certified"]
