"""How long until a newcomer holds the first suggestion: from the built wheel, in an empty folder.

Usage: python newcomer.py FOLDER, which holds one wheel. Everything is done as a person would do it,
by the programs a person has; nothing is installed or compiled beforehand. 100 candidates, 2 metrics.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

from fresh import Fresh, fresh, the_wheel

LONGEST = 60.0  # seconds of wall time, from an empty folder to the first suggestion
FIRST = 1.0  # seconds for the suggestion itself

CANDIDATES = """
echo 'id,threads,cache,batch' > c.csv
for k in $(seq 1 100); do echo "c$k,$((k % 5)),$((k / 5 % 5)),$((k / 25))" >> c.csv; done
"""

# name, what is typed, and whether it is the suggestion itself
STEPS = (
    ("make an environment", "python3 -m venv own", False),
    ("install the wheel", "own/bin/pip install --quiet --no-cache-dir {wheel}", False),
    ("write 100 candidates", CANDIDATES, False),
    (
        "create the study",
        (
            "own/bin/paretoscope create w.study --candidates c.csv"
            " -m latency:min:ms -m quality:max --epsilon 0.5"
        ),
        False,
    ),
    ("the first suggestion", "own/bin/paretoscope ask w.study -n 12 --csv batch.csv", True),
)

# the same within one process, a linear model as well
IN_PYTHON = """
import time
begin = time.perf_counter()
import paretoscope as ps
columns = {"a": [k % 5 for k in range(100)], "b": [k // 5 % 5 for k in range(100)], "c": [k // 25 for k in range(100)]}
for features in (None, ["a", "b", "c"]):
    start = time.perf_counter()
    study = ps.Study.create(None, candidates=columns, features=features,
                            metrics=["latency:min", "quality:max"], epsilon=0.5)
    made = time.perf_counter()
    batch = study.ask(12)
    print(f"{made - start:.3f} {time.perf_counter() - made:.3f}")
"""


def spent() -> float:
    """Processor seconds of all programs that were started so far and have ended."""
    seen = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seen.ru_utime + seen.ru_stime


def timed(place: Fresh, script: str) -> tuple[float, float]:
    """Wall and processor seconds of a few lines; the first that fails ends everything."""
    begin, before = time.perf_counter(), spent()
    done = place.bash(script)
    if done.returncode:
        sys.exit(f"{script}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - begin, spent() - before


def walk(place: Fresh, wheel: Path) -> tuple[float, float]:
    """Every step with its seconds; wall time of all of them, and of the suggestion alone."""
    whole = first = 0.0
    print(f"  {'step':24}{'wall':>9}{'processor':>12}")
    for said, script, suggests in STEPS:
        wall, processor = timed(place, script.format(wheel=wheel))
        print(f"  {said:24}{wall:7.2f} s{processor:10.2f} s")
        whole, first = whole + wall, first + wall * suggests
    return whole, first


def main() -> None:
    """Walk the path once, time it, and say whether it is short enough."""
    wheel = the_wheel(Path(sys.argv[1]))
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as text:
        place = fresh(Path(text))
        whole, first = walk(place, wheel)
        print(f"  {'altogether':24}{whole:7.2f} s  (at most {LONGEST:g})")
        done = place.run("own/bin/python", "-c", IN_PYTHON)
        for name, line in zip(("no model", "linear"), done.stdout.splitlines(), strict=True):
            made, asked = line.split()
            print(f"  in Python, {name}: create {made} s, first ask {asked} s")
    if whole <= LONGEST and first <= FIRST:
        print("Short enough.")
    elif os.getloadavg()[0] > (os.cpu_count() or 1):
        print("Others keep this machine busy: wall time says little, try again when they are done.")
    else:
        sys.exit(f"too slow: {whole:.1f} s altogether, {first:.2f} s for the suggestion")


if __name__ == "__main__":
    main()
