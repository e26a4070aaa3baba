"""A laboratory that measures in batches: a sheet goes out, comes back filled in, until all is settled.

A sheet is a CSV file with one row per measurement. Whoever fills it in needs no Python; here a function
stands in for the bench. The same by commands: docs/tutorials/scientist.md.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

import paretoscope as ps

# What nobody knows: yield and impurity of each recipe.
TRUTH = {
    "A": (62.0, 1.1),
    "B": (70.0, 1.9),
    "C": (71.0, 3.4),
    "D": (64.0, 2.6),
    "E": (78.0, 2.8),
    "F": (55.0, 0.6),
}


def bench(path: Path) -> int:
    """Fill the blank cells of a sheet in; how many rows it has."""
    rng = np.random.default_rng(sum(map(ord, path.name)))
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        titre, impurity = TRUTH[row["candidate"]]
        row["yield"] = f"{titre + rng.normal(0, 1.5):.2f}"
        row["impurity"] = f"{impurity + rng.normal(0, 0.2):.3f}"
    rows[0]["note"] = "first of the day"  # people write notes
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def main(*, quick: bool) -> None:
    """Sheets until nothing is left to ask."""
    folder = Path(tempfile.mkdtemp(prefix="sheets-"))
    study = ps.Study.create(
        folder / "recipes.study",
        candidates={"id": list(TRUTH)},
        metrics=[
            ps.Metric("yield", "max", unit="%", epsilon=3.0),
            ps.Metric("impurity", "min", unit="%", epsilon=0.5),
        ],
        seed=4,
    )
    number = 0
    while batch := study.ask(36 if quick else 18):
        number += 1
        path = folder / f"sheet{number}.csv"
        batch.to_csv(path)
        rows = bench(path)
        study.tell(path)  # all rows, or none with the row and the column that are wrong
        now = study.standing().counts
        print(
            f"sheet {number}: {rows} rows;",
            ", ".join(f"{n} {word}" for word, n in now.items() if n),
        )
    result = study.result()
    print("Pareto set:", ", ".join(result.pareto_set))
    word = "Certified" if result.certified else "Not certified"
    print(f"{word}: {result.certificate.reason} ({result.certificate.pulls} measurements).")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
