"""A Python function as the measurement: which ridge models of random features are worth having.

The error on a random split is noisy, the number of parameters is exact. `Study.run` asks, calls the
function in two threads, and stops when the Pareto set is known. A run that is interrupted goes on from
the file; here the study lives in memory.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

import paretoscope as ps

WIDTHS, PENALTIES = (4, 8, 16, 32, 64), (1e-4, 1e-1)
CALLS = itertools.count()  # each call has a random split of its own; counting is safe in threads


def data(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points in the plane, and a wavy function of them with noise."""
    x = rng.uniform(-1.0, 1.0, (n, 2))
    return x, np.sin(4 * x[:, 0]) * x[:, 1] + 0.1 * rng.standard_normal(n)


def features(x: np.ndarray, width: int) -> np.ndarray:
    """Random cosines: the same for every call of one width."""
    rng = np.random.default_rng(width)
    waves, phases = 3 * rng.standard_normal((2, width)), rng.uniform(0, 2 * np.pi, width)
    return np.cos(x @ waves + phases)


def measure(candidate: Mapping[str, Any]) -> dict[str, float]:
    """Train on 200 new points, test on 200 others."""
    rng = np.random.default_rng([7, next(CALLS)])
    width, penalty = int(candidate["width"]), float(candidate["penalty"])
    (x, y), (u, v) = data(200, rng), data(200, rng)
    F = features(x, width)
    weights = np.linalg.solve(F.T @ F + penalty * np.eye(width), F.T @ y)
    return {
        "error": float(np.sqrt(np.mean((features(u, width) @ weights - v) ** 2))),
        "parameters": float(width),
    }


def main(*, quick: bool) -> None:
    """One study from nothing to a certificate."""
    grid = list(itertools.product(WIDTHS, PENALTIES))
    study = ps.Study.create(
        None,  # or a file, to go on after an interrupt
        candidates={
            "id": [f"{width} waves, {penalty:g}" for width, penalty in grid],
            "width": [width for width, _ in grid],
            "penalty": [penalty for _, penalty in grid],
        },
        metrics=[
            ps.Metric("error", "min", scale="log", epsilon="10%" if quick else "5%"),
            ps.Metric("parameters", "min", exact=True),
        ],
        seed=1,
    )
    ran = study.run(measure, parallelism=2, max_measurements=20_000)
    result = study.result()
    print(f"{ran.measured} measurements, {ran.failed} failed; the run ended: {ran.why}")
    for row in result.table():
        if row["verdict"] != "rejected":
            print(f"  {row['candidate']:16s} {row['verdict']:9s} error {row['error']:.4f}")
    word = "Certified" if result.certified else "Not certified"
    print(f"{word}: {result.certificate.reason}.")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
