"""The picture of the README: a real study of 36 compressor settings, drawn by the package itself.

Usage: python docs/picture.py [--quick] [FILE]. Without --quick it takes some minutes; another run
gives another picture, as another experiment does: times are measured, not made up.
"""

from __future__ import annotations

import random
import sys
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import paretoscope as ps

LEVELS, MEMORIES = range(1, 10), (1, 3, 6, 9)


def text(size: int, seed: int = 1) -> bytes:
    """Lines like those of a log: few words often, many words seldom, numbers in between."""
    rng = random.Random(seed)  # noqa: S311  (not a secret)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(2000)]
    often = [1 / (k + 1) for k in range(len(words))]
    lines = [
        " ".join(rng.choices(words, often, k=9)) + f" {rng.random():.6f}\n" for _ in range(size)
    ]
    return "".join(lines).encode()


def measure(row: Mapping[str, Any], data: bytes) -> dict[str, float]:
    """Milliseconds of processor time and kilobytes of one compression."""
    start = time.process_time()
    packer = zlib.compressobj(int(row["level"]), zlib.DEFLATED, 15, int(row["memory"]))
    packed = packer.compress(data) + packer.flush()
    return {"time": 1e3 * (time.process_time() - start), "size": len(packed) / 1e3}


def study_of(data: bytes, budget: int | None) -> ps.Study:
    """All settings, measured until the front is known or the budget is spent."""
    pairs = [(level, memory) for level in LEVELS for memory in MEMORIES]
    study = ps.Study.create(
        None,
        candidates={
            "id": [f"level {level}, memory {memory}" for level, memory in pairs],
            "level": [level for level, _ in pairs],
            "memory": [memory for _, memory in pairs],
        },
        metrics=[
            ps.Metric("time", "min", unit="ms", scale="log", epsilon="5%"),
            ps.Metric("size", "min", unit="kB", exact=True),
        ],
        budget=budget,
        delta=0.05,
        seed=1,
    )
    study.run(lambda row: measure(row, data), warmup=1)
    return study


def main(path: Path, *, quick: bool) -> None:
    """Measure, draw, say what came out."""
    study = study_of(text(200 if quick else 4000), 360 if quick else None)
    study.report(path)
    result = study.result()
    word = "Certified" if result.certified else "Not certified"
    counts = (len(result.pareto_set), len(result.rejected), result.certificate.pulls)
    print("{}: {} kept, {} out, {:,} measurements.".format(word, *counts))


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word != "--quick"]
    target = Path(names[0]) if names else Path(__file__).parent / "_static" / "front.svg"
    main(target, quick="--quick" in sys.argv)
