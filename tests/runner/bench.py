"""A program to measure: means from its arguments, noise from the number of the call.

    bench.py COUNT A B [SIGMA]

Replicate n of a candidate has the same noise in every study: COUNT is a folder in which each candidate
counts its calls. A call that is cut off after it counted, and made again, is another replicate.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path


def noise(*key: object) -> float:
    """About Gaussian, of unit variance, the same for the same key: twelve uniform numbers added up."""
    z, total = zlib.crc32("/".join(map(str, key)).encode()), -6.0
    for _ in range(12):  # Knuth's MMIX generator; checksums of like texts are too alike themselves
        z = (z * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        total += (z >> 11) / 2**53
    return total


def counted(folder: str, name: str) -> int:
    """How often a candidate was measured, this time included."""
    path = Path(folder) / name
    with path.open("a") as file:
        file.write(".")
    return path.stat().st_size


def main() -> None:
    folder, a, b, *more = sys.argv[1:]
    sigma = float(more[0]) if more else 0.1
    n = counted(folder, f"{a},{b}")
    time = (float(a) - 4.0) ** 2 + float(b) + sigma * noise(a, b, n)
    print("some lines before")
    print(json.dumps({"time": time, "size": 10 * float(a) - float(b), "calls": n}))


if __name__ == "__main__":
    main()
