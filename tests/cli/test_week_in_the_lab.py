"""A week in the lab by the command line alone, each command a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.cli.lab import CREATE, fill, measure, truth, write_candidates


def run(folder, *args, code=0):
    """What a command printed, after it ended with this exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "paretoscope", *map(str, args)],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout if code in {0, 3, 6} else done.stderr


def test_five_sheets_a_failed_row_and_a_correction_lead_to_the_truth(tmp_path):
    write_candidates(tmp_path / "c.csv")
    said = run(tmp_path, "create", "w.study", "--candidates", "c.csv", *CREATE)
    assert "24 candidates, 2 metrics" in said
    for day in range(1, 6):
        path = tmp_path / f"day{day}.csv"
        most = ("-n", 15) if day == 1 else ()
        run(tmp_path, "ask", "w.study", *most, "--csv", path.name, "--who", "ann")
        wrong = {1: {"y1": "7.5"}} if day == 2 else None
        rows = fill(path, failed={0} if day == 1 else (), wrong=wrong)
        said = run(tmp_path, "tell", "w.study", path.name, "--who", "ann")
        assert ("1 failed" in said) == (day == 1)
        if day == 1:
            broken = rows[0]["uid"]
        if day == 2:
            # a first failure is measured again, and the sheet that told it may be handed in again
            assert f"{broken}.2" in {row["uid"] for row in rows}
            assert run(tmp_path, "tell", "w.study", "day1.csv", "--who", "ann").startswith("0 mea")
            slip = rows[1]
            y1 = measure(slip["uid"], slip["candidate"])["y1"]
            reason = ("--reason", "a slipped digit")
            said = run(tmp_path, "correct", "w.study", slip["uid"], f"y1={y1}", *reason)
            assert said.startswith(f"Corrected {slip['uid']}: y1 7.5 -> ")
    result = json.loads(run(tmp_path, "result", "w.study", "--json"))
    assert result["certified"]
    assert set(result["pareto_set"]) == truth()
    assert len(result["rejected"]) == 24 - len(truth())
    assert json.loads(run(tmp_path, "doctor", "w.study", "--json"))["sound"]
    run(tmp_path, "ask", "w.study", code=0)


def test_exit_codes_reach_the_shell(tmp_path):
    write_candidates(tmp_path / "c.csv")
    create = ("create", "w.study", "--candidates", "c.csv")
    assert run(tmp_path, *create, "-m", "y1:max", code=2).startswith("paretoscope: give an epsilon")
    run(tmp_path, "status", "none.study", code=5)
    run(tmp_path, *create, *CREATE)
    run(tmp_path, "ask", "w.study", "--csv", "b.csv")
    run(tmp_path, "ask", "w.study", code=6)
    fill(tmp_path / "b.csv", wrong={2: {"y2": "plenty"}})
    said = run(tmp_path, "tell", "w.study", "b.csv", code=4)
    assert "b.csv, row 4" in said
    assert "plenty" in said
    assert len(said.splitlines()) == 1
