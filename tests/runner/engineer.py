"""An engineer's bench: 48 configurations of a store, two knobs in numbers and three in words.

    engineer.py FOLDER ENGINE COMPRESSION ALLOCATOR THREADS CACHE

Latency is log-normal with 8 % noise, and the machine warms up: the first runs are slower. Throughput has
4 % noise. Memory is exact, and many configurations share it. Nothing is imported that takes long.
"""

from __future__ import annotations

import itertools
import math
import os
import sys

KNOBS = {
    "engine": ("btree", "lsm"),
    "compression": ("none", "zstd"),
    "allocator": ("glibc", "jemalloc"),
    "threads": ("1", "2", "4"),
    "cache": ("64", "256"),
}
ROWS = list(itertools.product(*KNOBS.values()))
# What a knob multiplies latency (ms) and throughput (thousands a second) by, and adds to memory (MB).
FACTORS = {
    "btree": (1.0, 1.0, 0),
    "lsm": (1.5, 1.4, 16),
    "none": (1.0, 1.0, 0),
    "zstd": (1.3, 0.8, -20),
    "glibc": (1.0, 1.0, 0),
    "jemalloc": (0.8, 1.15, 0),
    "1": (1.0, 1.0, 12),
    "2": (1.3, 1.8, 24),
    "4": (2.0, 2.9, 48),
    "64": (1.0, 1.0, 64),
    "256": (0.7, 1.2, 256),
}
NOISE = (0.08, 0.04)
# The first run takes so much longer, and e times less so after so many runs.
WARMING, OVER = 0.2, 25.0


def truth(row: tuple[str, ...]) -> tuple[float, float, float]:
    """Latency, throughput and memory of a configuration on a warm machine."""
    parts = [FACTORS[word] for word in row]
    latency, throughput = (math.prod(part[k] for part in parts) for k in (0, 1))
    return 2.0 * latency, 10.0 * throughput, 30.0 + sum(part[2] for part in parts)


def cold(n: float) -> float:
    """How much longer run n takes than on a warm machine, as a factor."""
    return 1.0 + WARMING * math.exp(-n / OVER)


def noise(n: int, stream: int) -> float:
    """Gaussian noise of run n, of unit variance (splitmix64, then Box and Muller)."""
    pair = []
    for k in (1, 2):
        z = ((4 * n + 2 * stream + k) * 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        pair.append(((z ^ (z >> 31)) + 1) / 2**64)
    return math.sqrt(-2.0 * math.log(pair[0])) * math.cos(2.0 * math.pi * pair[1])


def main() -> None:
    """One run, as a program."""
    folder, *row = sys.argv[1:]
    descriptor = os.open(os.path.join(folder, "runs"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)  # noqa: PTH118
    os.write(descriptor, b".")
    n = os.fstat(descriptor).st_size
    latency, throughput, memory = truth(tuple(row))
    latency *= cold(n) * math.exp(NOISE[0] * noise(n, 0))
    throughput *= math.exp(NOISE[1] * noise(n, 1))
    print(f'{{"latency": {latency!r}, "throughput": {throughput!r}, "memory": {memory}}}')


if __name__ == "__main__":
    main()
