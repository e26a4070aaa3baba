"""The network-on-chip designs, simulated by a command and certified by `paretoscope run`."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paretoscope.core.dominance import non_dominated
from paretoscope.sim import noc

# Means from a file with one line per design, noise from the design and how often it was measured.
PROGRAM = """
import math, os, sys, zlib
k, sigma = int(sys.argv[1]), float(sys.argv[2])
with open("means") as file:
    energy, inv_runtime = map(float, file.readlines()[k].split())
calls = os.open(f"counts/{k}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(calls, b".")
n = os.fstat(calls).st_size
def noise(metric):
    z, total = zlib.crc32(f"{metric}/{k}/{n}".encode()), -6.0
    for _ in range(12):
        z = (z * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        total += (z >> 11) / 2**53
    return sigma * total
print("simulated", 1e6 + k, "cycles")
print(f'{{"energy": {energy + noise("e")!r}, "inv_runtime": {inv_runtime + noise("r")!r}}}')
"""


def write_world(folder, path):
    """The designs as candidates and the fitted means for the program; ids of the Pareto set."""
    with path.open(newline="", encoding="utf-8") as file:
        table = list(csv.reader(file, delimiter=";"))
    with (folder / "designs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(row[:4] for row in table)
    mu = noc(path, "sound").mu  # both maximised: energy is the other way round outside
    means = "".join(f"{-energy!r} {speed!r}\n" for energy, speed in mu.tolist())
    (folder / "means").write_text(means, encoding="ascii")
    (folder / "program.py").write_text(PROGRAM, encoding="ascii")
    (folder / "counts").mkdir()
    return {str(k) for k in np.flatnonzero(non_dominated(mu))}


@pytest.mark.parametrize("sigma", [0.015, pytest.param(0.03, marks=pytest.mark.long)])
def test_noc_from_the_command_line_to_a_certificate(sigma, noc_csv, tmp_path):
    front = write_world(tmp_path, Path(noc_csv))
    program = [sys.executable, "-I", "-S", "program.py", "{id}", str(sigma)]
    done = subprocess.run(
        [sys.executable, "-m", "paretoscope", "run", "-C", "designs.csv",
         "-m", "energy:min", "-m", "inv_runtime:max",
         "--features", "width + complexity + fifo + multiplier",
         "--delta", "0.05", "--time", "30min", "-j", "2", "--json", "--", *program],
        cwd=tmp_path, capture_output=True, text=True, timeout=1000, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["certified"]
    assert len(said["table"]) == 259
    assert len(front) == 7
    assert set(said["pareto_set"]) == front
    made = sum(path.stat().st_size for path in (tmp_path / "counts").iterdir())
    print(f"sigma {sigma}: {made} runs of the command")
    assert said["run"]["measured"] == made == said["certificate"]["measurements"]
    assert made < 259 * 15, "fewer than fifteen of each"
