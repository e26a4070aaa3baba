"""Which compressor settings are worth having? A real experiment, from nothing to a certificate.

Sixteen settings of three compressors from the standard library, two metrics: the time to compress a
generated text (noisy, compared by ratios: 15 % more or less does not matter) and the size of the
result (exact). The study asks what to measure next and stops by itself.
"""

from __future__ import annotations

import bz2
import lzma
import random
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
    """Milliseconds of CPU time (the median of five) and kilobytes of one compression."""
    times = []
    packed = b""
    for _ in range(5):
        start = time.perf_counter()
        packed = SETTINGS[name](data)
        times.append(1e3 * (time.perf_counter() - start))
    return {"time": sorted(times)[2], "size": len(packed) / 1e3}


def main() -> None:
    """Ask, measure, tell, until the study has seen enough."""
    data = generated_text()
    study = ps.Study.create(
        None,
        candidates={"id": list(SETTINGS)},
        metrics=[
            ps.Metric("time", "min", unit="ms", scale="log", epsilon="15%"),
            ps.Metric("size", "min", unit="kB", exact=True),
        ],
        delta=0.05,
        budget=1200,
        seed=1,
    )
    print(f"{len(SETTINGS)} settings, text of {len(data) / 1e3:.0f} kB. {study.reason}.")
    for name in SETTINGS:  # warm up: the first call of a library is slower
        measure(name, data)
    done = 0
    while batch := study.ask(48):
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
    print(f"{word}: {certificate.reason}; {certificate.pulls} measurements, delta = 0.05.")
    print(f"Bound: {certificate.bound}. It holds if " + "; ".join(certificate.assumptions) + ".")
    print("Timings on a shared machine drift: independence is an assumption, not a fact.")


def picture(rows: list[dict[str, float]], width: int = 62, height: int = 14) -> str:
    """Size against time (log scale): # kept, o undecided, . out."""
    from math import log  # noqa: PLC0415  (only the picture needs it)

    xs = [log(row["time"]) for row in rows]
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
    main()
