"""Which compressor settings are worth having? A real experiment, from nothing to a certificate.

Sixteen settings of three compressors from the standard library, two metrics: the time to compress a
generated text (noisy, compared by ratios: 15 % more or less does not matter) and the size of the
result (exact). The study asks what to measure next and stops by itself.
"""

from __future__ import annotations

import bz2
import lzma
import math
import random
import sys
import textwrap
import time
import zlib
from collections.abc import Callable

import paretoscope as ps

SETTINGS: dict[str, Callable[[bytes], bytes]] = {
    **{f"zlib-{level}": lambda data, k=level: zlib.compress(data, k) for level in range(1, 10)},
    **{f"bz2-{level}": lambda data, k=level: bz2.compress(data, k) for level in (1, 5, 9)},
    **{f"lzma-{level}": lambda data, k=level: lzma.compress(data, preset=k) for level in range(4)},
}


def generated_text(size: int = 150_000, seed: int = 1) -> bytes:
    """Text with the statistics of a log file: many repeated words, some numbers."""
    rng = random.Random(seed)  # noqa: S311  (not a secret)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(900)
    ]
    weights = [1 / (k + 1) for k in range(len(words))]
    parts: list[str] = []
    length = 0
    while length < size:
        line = " ".join(rng.choices(words, weights, k=9)) + f" {rng.randint(0, 10**6)}\n"
        parts.append(line)
        length += len(line)
    return "".join(parts).encode()


def measure(name: str, data: bytes) -> dict[str, float]:
    """Milliseconds of CPU time (the median of three) and kilobytes of one compression."""
    times = []
    packed = b""
    for _ in range(3):
        start = time.process_time()
        packed = SETTINGS[name](data)
        times.append(1e3 * (time.process_time() - start))
    return {"time": sorted(times)[1], "size": len(packed) / 1e3}


def main(*, quick: bool = False) -> None:
    """Ask, measure, tell, until the study has seen enough."""
    data = generated_text(40_000 if quick else 150_000)
    study = ps.Study.create(
        None,
        candidates={"id": list(SETTINGS)},
        metrics=[
            ps.Metric("time", "min", unit="ms", scale="log", epsilon="15%"),
            ps.Metric("size", "min", unit="kB", exact=True),
        ],
        method=ps.FixedDesign(delta=0.05, budget=320 if quick else 960, looks=6),
        seed=1,
    )
    print(f"{len(SETTINGS)} settings, {len(data) / 1e3:.0f} kB of text, six looks at the data.")
    for name in SETTINGS:  # warm up: the first call of a library is slower
        measure(name, data)
    done = 0
    while batch := study.ask():
        study.tell([{"uid": r.uid, **measure(r.candidate, data)} for r in batch])
        done += len(batch)
        now = study.result()
        print(
            f"  {done:5d} measured: {len(now.accepted)} in, {len(now.near)} near,"
            f" {len(now.rejected)} out, {len(now.undecided)} undecided"
        )
    show(study.result())


def show(result: ps.study.Result) -> None:
    """The front as a table and as a picture, and what is guaranteed."""
    rows = [row for row in result.table() if row["verdict"] != "rejected"]
    print("\n  setting    verdict    n    time ms  (95 % interval)     size kB")
    for row in sorted(rows, key=lambda row: row["size"]):
        print(
            f"  {row['candidate']:10s} {row['verdict']:9s} {row['n']:3d} {row['time']:9.2f}"
            f"  ({row['time low']:.2f} .. {row['time high']:.2f}){row['size']:14.2f}"
        )
    print(picture(result.table()))
    certificate = result.certificate
    word = "Certified" if certificate.certified else "Not certified"
    told = (
        f"{word}: {certificate.reason}; {certificate.pulls} measurements, delta = 0.05.",
        f"Bound: {certificate.bound}. It holds if " + "; ".join(certificate.assumptions) + ".",
        "Timings on a shared machine drift: independence is an assumption, not a fact.",
    )
    for sentence in told:
        print(textwrap.fill(sentence, 78))


def picture(rows: list[dict[str, float]], width: int = 62, height: int = 14) -> str:
    """Size against time (log scale): # kept, o undecided, . out."""
    xs = [math.log(row["time"]) for row in rows]
    ys = [row["size"] for row in rows]
    grid = [[" "] * width for _ in range(height)]
    order = {"rejected": ".", "undecided": "o"}
    for row, x, y in sorted(
        zip(rows, xs, ys, strict=True), key=lambda t: t[0]["verdict"] != "rejected"
    ):
        column = round((x - min(xs)) / (max(xs) - min(xs)) * (width - 1))
        line = round((max(ys) - y) / (max(ys) - min(ys)) * (height - 1))
        grid[line][column] = order.get(str(row["verdict"]), "#")
    body = "\n".join("  |" + "".join(line) for line in grid)
    ends = (
        f"{min(row['time'] for row in rows):.1f} ms",
        f"{max(row['time'] for row in rows):.1f} ms",
    )
    axis = "  +" + "-" * width + "\n   " + ends[0].ljust(width - len(ends[1])) + ends[1]
    return f"\n  size {max(ys):.0f} kB (top) to {min(ys):.0f} kB (bottom); # kept, o undecided, . out\n{body}\n{axis}\n"


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
