"""The doctor and the ways on: from a refused model to a certificate, at a terminal."""

from __future__ import annotations

import csv
import json
import shlex
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.cli.lab import call, data

OPTIONS = """
    --candidates c.csv --features threads,cache -m time:min:ms -m energy:min:J
    --epsilon time=5 --epsilon energy=0.5
"""
CREATE = ["create", "w.study", *shlex.split(OPTIONS)]


@pytest.fixture(autouse=True)
def programs(folder):
    """Thirty settings of a program whose time falls by a factor with every thread."""
    luck = np.random.default_rng(0)
    rows = (f"P{k:02d},{luck.uniform(1, 8):.2f},{luck.uniform(0, 4):.2f}\n" for k in range(30))
    (folder / "c.csv").write_text("id,threads,cache\n" + "".join(rows))


def sheet(name):
    """Ask for a sheet, fill it in, and tell it; what was said."""
    call("ask", "w.study", "--csv", name)
    with Path(name).open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        luck = np.random.default_rng(zlib.crc32(row["uid"].encode())).standard_normal(2)
        threads, cache = float(row["threads"]), float(row["cache"])
        row["time"] = f"{np.exp(5 - 0.35 * threads - 0.2 * cache + 0.05 * luck[0]):.2f}"
        row["energy"] = f"{10 + 1.5 * threads + cache + 0.3 * luck[1]:.2f}"
    with Path(name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return " ".join(call("tell", "w.study", name).split())


def test_a_way_of_the_doctor_leads_to_a_certificate():
    call(*CREATE)
    said = sheet("one.csv")
    assert "Warning: the linear model does not fit time" in said
    assert said.endswith("Nothing is certified while that stands: paretoscope doctor w.study")
    said = call("doctor", "w.study", code=3)
    assert max(map(len, said.splitlines())) <= 80
    assert "compare ratios of time (epsilon " in said
    ways = data("doctor", "w.study", code=3)["proposals"]
    assert [way["way"] for way in ways][-2:] == ["quadratic", "no-features"]
    (log,) = [way["metrics"][0] for way in ways if way["way"] == "logarithms"]
    assert (log["name"], log["scale"]) == ("time", "log")
    call("reframe", "w.study", "--way", "logarithms", "--reason", "times multiply")
    for day in "23456":
        if sheet(f"{day}.csv").startswith("Nothing more") or data("status", "w.study")["stopped"]:
            break
    result = data("result", "w.study")
    assert result["certified"]
    doctor = data("doctor", "w.study")["assumptions"]
    assert result["checks"] == doctor
    said = " ".join(call("result", "w.study").split())
    assert all(f"{a['name']} {a['said'][:20]}" in said for a in doctor)
    assert "Ways on" not in call("doctor", "w.study")


def test_reframed_by_hand():
    call(*CREATE)
    sheet("one.csv")
    reframe = ("reframe", "w.study", "--reason", "by hand")
    said = call(*reframe, "--log", "time", "--epsilon", "time=10%", "--sigma", "energy=0.3")
    assert "threads, cache" in said
    said = call(*reframe, "--no-features", "--method", "race")
    assert "none: every candidate on its own" in " ".join(said.split())
    assert data("status", "w.study")["method"] == "Race"
    metrics = [line["event"]["definition"]["problem"]["metrics"] for line in events()]
    assert metrics[-1][0] == {"name": "time", "goal": "min", "unit": "ms"} | {
        "scale": "log",
        "epsilon": "10%",
    }
    assert metrics[-1][1]["sigma"] == 0.3


def events():
    """The reframes of the study, as they were written down."""
    lines = (json.loads(line) for line in call("export", "w.study").splitlines())
    return [line for line in lines if line["event"]["kind"] == "reframed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--way", "up"], "propose no way 'up': there are "),
        (["--way", "quadratic", "--no-features"], "give one of --way"),
        (["--log", "tyme"], "write one of the metrics time, energy"),
        (["--method", "magic"], "method 'magic': give auto, "),
        ([], "at least one"),
    ],
)
def test_a_reframe_that_makes_no_sense_changes_nothing(options, said):
    call(*CREATE)
    sheet("one.csv")
    before = call("export", "w.study")
    assert said in call("reframe", "w.study", "--reason", "no", *options, code=2)
    assert call("export", "w.study") == before


def test_ratios_need_a_tolerance_of_their_own():
    call(*CREATE[:-4], "--epsilon", "0.5")
    said = call("reframe", "w.study", "--reason", "times", "--log", "time", code=2)
    assert "--log time: give its tolerance, too: --epsilon time=2%" in said
