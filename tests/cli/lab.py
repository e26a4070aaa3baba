"""A laboratory that fills sheets in: linear truth, noise that depends on the request alone."""

from __future__ import annotations

import csv
import json
import shlex
import zlib
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from paretoscope.cli import main

SIGMA = {"y1": 0.1, "y2": 0.8}
OPTIONS = """
    --id id --features a+b -m y1:max -m y2:min:ms --sigma y1=0.1 --sigma y2=unknown
    --epsilon 0.01 --epsilon y2=0.08 --delta 0.01 --seed 1
"""
CREATE = shlex.split(OPTIONS)


def world(K=24, seed=1):
    """Parameters and true means of the candidates."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (K, 2)).round(3)
    return x, np.column_stack([x @ [1.0, 0.3], 10.0 + x @ [6.0, -8.0]])


def write_candidates(path: Path, K=24, seed=1) -> Path:
    x, _ = world(K, seed)
    rows = "".join(f"c{k:02d},{a},{b}\n" for k, (a, b) in enumerate(x.tolist()))
    path.write_text("id,a,b\n" + rows)
    return path


def truth(K=24, seed=1):
    """Ids of the true Pareto set, by the definition."""
    _, mu = world(K, seed)
    up = mu * [1.0, -1.0]
    kept = [
        k
        for k in range(K)
        if not any((up[j] >= up[k]).all() and (up[j] > up[k]).any() for j in range(K))
    ]
    return {f"c{k:02d}" for k in kept}


def measure(uid: str, candidate: str, K=24, seed=1):
    _, mu = world(K, seed)
    luck = np.random.default_rng(zlib.crc32(uid.encode())).standard_normal(2)
    y = mu[int(candidate[1:])] + luck * [SIGMA["y1"], SIGMA["y2"]]
    return {"y1": repr(float(y[0])), "y2": repr(float(y[1]))}


def fill(path: Path, failed=(), wrong=None, blank=()):
    """Fill a sheet in; rows by number may fail, stay blank, or be wrong. Its rows are returned."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        if number in failed:
            row.update(y1="FAILED", note="sample broke")
        elif number not in blank:
            row.update(measure(row["uid"], row["candidate"]))
        if wrong and number in wrong:
            row.update(wrong[number])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


# ---------------------------------------------------------------- commands in this process


def call(*args, code=0, text=None):
    """A command in this process; what it printed."""
    done = CliRunner().invoke(main, [str(a) for a in args], input=text, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def data(*args, code=0):
    return json.loads(call(*args, "--json", code=code))


def create(where="w.study", *more, options=CREATE, code=0):
    return call("create", where, "--candidates", "c.csv", *options, *more, code=code)


def asked(where="w.study", *more):
    return data("ask", where, *more)["requests"]


def one_round(where="w.study", name="b.csv", **how):
    call("ask", where, "--csv", name, "--force")
    rows = fill(Path(name), **how)
    call("tell", where, name)
    return rows
