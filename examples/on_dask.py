"""A study on a Dask cluster: a function goes to its workers, and a lost worker costs no measurement.

Which counters should an office have? Few fast clerks or many slow ones: the wait of its customers is
simulated (noisy), the wages are known (exact). The cluster is a local one of two processes; with a real
one, give its scheduler's address to `Client`. For a command instead of a function:
`paretoscope run --executor dask://HOST:PORT ...`. Needs the extra: pip install 'paretoscope[dask]'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from distributed import Client, LocalCluster

import paretoscope as ps

CLERKS, SPEEDS = (1, 2, 3, 4), (0.8, 1.2, 1.6)
CUSTOMERS = 500


def measure(candidate: Mapping[str, Any]) -> dict[str, float]:
    """A day at the office; one customer comes a minute, a clerk of speed 1 serves one a minute."""
    import heapq  # noqa: PLC0415  (where it runs)
    import random  # noqa: PLC0415

    rng = random.Random(os.urandom(16))  # noqa: S311  (customers, no secret)
    free_at = [0.0] * int(candidate["clerks"])
    now = waited = 0.0
    for _ in range(CUSTOMERS):
        now += rng.expovariate(1.0)
        begin = max(now, heapq.heappop(free_at))
        end = begin + rng.gammavariate(4.0, 0.25) / float(candidate["speed"])
        heapq.heappush(free_at, end)
        waited += end - now
    return {"time": waited / CUSTOMERS, "wages": wages(candidate)}


def wages(candidate: Mapping[str, Any]) -> float:
    """Fast clerks cost more than they are faster."""
    return round(int(candidate["clerks"]) * float(candidate["speed"]) ** 1.5, 3)


def main(*, quick: bool) -> None:
    """Run on two workers until all is settled."""
    offices = [(n, speed) for n in CLERKS for speed in SPEEDS if n * speed > 1.1]
    study = ps.Study.create(
        None,
        candidates={
            "id": [f"{n} of speed {speed}" for n, speed in offices],
            "clerks": [n for n, _ in offices],
            "speed": [speed for _, speed in offices],
        },
        metrics=[
            ps.Metric("time", "min", unit="min", scale="log", epsilon="30%" if quick else "10%"),
            ps.Metric("wages", "min", exact=True),
        ],
        seed=2,
    )
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        ran = study.run(measure, client.get_executor(pure=False), max_measurements=5_000)
    result = study.result()
    print(f"{ran.measured} measurements on two workers, {ran.lost} lost with their worker")
    for row in result.table():
        if row["verdict"] != "rejected":
            print(
                f"  {row['candidate']:14s} {row['verdict']:9s} {row['time']:5.2f} minutes,"
                f" wages {row['wages']:.2f}"
            )
    word = "Certified" if result.certified else "Not certified"
    print(f"{word}: {result.certificate.reason}.")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
