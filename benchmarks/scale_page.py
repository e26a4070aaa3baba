"""docs/scale.md and its picture, made from what `scale.py` has measured; nothing is written by hand there."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scale.md"
PICTURE = ROOT / "docs" / "_static" / "scale.svg"
MARK = "<!-- made by benchmarks/scale.py page: do not edit below -->"
Rows = dict[str, dict[str, float]]
# Heading of each part, and its columns: title, key, how it is written.
COLUMNS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "simulate": (
        "A run with fixed confidence: features in memory, 16 features, 3 metrics, delta 0.05, epsilon 0.1",
        [
            ("measurements", "pulls", ",.0f"),
            ("rounds", "rounds", ".0f"),
            ("in the front", "front", ",.0f"),
        ],
    ),
    "study": (
        "The same as a study in an SQLite file, every measurement asked for and told by its name",
        [
            ("measurements", "pulls", ",.0f"),
            ("in the front", "front", ",.0f"),
            ("file, MB", "file", ",.1f"),
        ],
    ),
    "product": (
        "All combinations of six factors (4, 6 and 10 levels), 9 features, epsilon 0.3, with its page",
        [
            ("measurements", "pulls", ",.0f"),
            ("file, MB", "file", ",.1f"),
            ("page, MB", "page", ",.1f"),
            ("page, s", "page_seconds", ".2f"),
        ],
    ),
    "unstructured": (
        "No features: a race of 3 metrics, sigma 0.05, epsilon 0.5",
        [("measurements", "pulls", ",.0f"), ("in the front", "front", ",.0f")],
    ),
    "published": (
        "A whole run beside the published shape (gaps from n x n matrices, a design by SLSQP): 8 features, 8 metrics",
        [
            ("published, s", "published", ",.2f"),
            ("published, processor s", "published_cpu", ",.2f"),
            ("times faster", "times", ",.0f"),
        ],
    ),
    "design": (
        "The design alone, Gaussian features, 8 of them; SLSQP stops where its absolute tolerance says",
        [
            ("SLSQP, s", "published", ",.2f"),
            ("SLSQP, processor s", "published_cpu", ",.2f"),
            ("its largest leverage over the optimum", "lever", ".3f"),
            ("times faster", "times", ",.0f"),
        ],
    ),
    "front": (
        "Gaps of wide fronts in 5 objectives, a fifth of all arms optimal",
        [("in the front", "front", ",.0f"), ("arms checked by definition", "checked", ".0f")],
    ),
    "monte-carlo": (
        "Runs on 2 processes: 500 arms, 8 features, 8 metrics (the size is the number of runs)",
        [("in one process, s", "alone", ".2f")],
    ),
    "dask": (
        "Runs on a cluster of Dask with 2 workers, the same numbers as here (the size is the number of runs)",
        [("in one process, s", "alone", ".2f"), ("wrong answers", "errors", ",.0f")],
    ),
}
# What is promised on two idle cores: part, size, key, at most (or at least, for ratios).
TARGETS = [
    ("simulate", "1000000", "seconds", 30.0),
    ("simulate", "1000000", "peak", 2000.0),
    ("study", "1000000", "seconds", 60.0),
    ("study", "1000000", "file", 300.0),
    ("front", "100000", "seconds", 20.0),
    ("monte-carlo", "500", "seconds", 1.0),
    ("published", "1000", "times", -1000.0),
]


def slope(rows: Rows, key: str) -> float:
    """Exponent of the growth with the size, by least squares on logarithms."""
    sizes = np.log([float(size) for size in rows])
    values = np.log([row[key] for row in rows.values()])
    return float(np.polyfit(sizes, values, 1)[0])


def ordered(rows: Rows) -> Rows:
    """Rows by size."""
    return dict(sorted(rows.items(), key=lambda pair: int(pair[0])))


def table(part: str, rows: Rows) -> str:
    """One part as a Markdown table."""
    heading, more = COLUMNS[part]
    head = [
        "size",
        "seconds",
        "processor s",
        *(title for title, _, _ in more),
        "memory, MB",
        "load",
    ]
    lines = [f"## {heading}", "", f"| {' | '.join(head)} |", "|" + "---:|" * len(head)]
    for size, row in ordered(rows).items():
        own = [f"{row[key]:{form}}" for _, key, form in more]
        front = [f"{int(size):,}", spoken(row["seconds"]), spoken(row["cpu"])]
        cells = [*front, *own, f"{row['peak']:,.0f}", f"{row['load']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spoken(seconds: float) -> str:
    """Seconds with three digits, or so."""
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:.0f}"


def growth(found: dict[str, Rows]) -> str:
    """The exponents, in sentences."""
    said = []
    for part, key, name in (
        ("simulate", "cpu", "a run with fixed confidence"),
        ("study", "cpu", "a study"),
        ("published", "published_cpu", "the published shape"),
        ("published", "cpu", "ours on the same instances"),
    ):
        if len(found.get(part, {})) > 1:
            said.append(f"{name} K^{slope(ordered(found[part]), key):.2f}")
    return f"Processor time grows as: {'; '.join(said)}."


def targets(found: dict[str, Rows]) -> str:
    """What was wanted, what was measured, and whether that is enough."""
    lines = ["| what | size | wanted | measured | processor s | |", "|---|---:|---:|---:|---:|---|"]
    for part, size, key, limit in TARGETS:
        row = found.get(part, {}).get(size)
        if row is None:
            continue
        slow = key == "seconds" and row["load"] > 2.0 and row[key] > limit >= row["cpu"]
        met = row[key] >= -limit if limit < 0 else row[key] <= limit
        sign = ">=" if limit < 0 else "<="
        word = "met" if met else f"missed at load {row['load']:.0f}" if slow else "missed"
        cells = [f"{part}, {key}", f"{int(size):,}", f"{sign} {abs(limit):g}", f"{row[key]:.3g}"]
        lines.append(f"| {' | '.join([*cells, spoken(row['cpu']), word])} |")
    return "\n".join(lines)


def tables(found: dict[str, Rows]) -> str:
    """Everything that was measured."""
    parts = [table(part, found[part]) for part in COLUMNS if part in found]
    return "\n\n".join(["## What was wanted", targets(found), growth(found), *parts]) + "\n"


def page(found: dict[str, Rows]) -> None:
    """Write the tables under the text of docs/scale.md, and the picture."""
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.index(MARK) + len(MARK)]
    PAGE.write_text(f"{head}\n\n{tables(found)}", encoding="utf-8")
    picture(found)


def picture(found: dict[str, Rows]) -> None:
    """Processor seconds against the size, both logarithmic, with a line of slope 1."""
    with mpl.rc_context({"svg.hashsalt": "scale", "font.size": 8}):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        ax = figure.subplots()
        for part, key, name, look in (
            ("simulate", "cpu", "a run, fixed confidence", "o-"),
            ("study", "cpu", "a study in a file", "s-"),
            ("unstructured", "cpu", "unstructured", "v-"),
            ("published", "published_cpu", "published shape", "^--"),
            ("published", "cpu", "ours, the same instances", "D--"),
        ):
            rows = ordered(found.get(part, {}))
            if rows:
                ax.plot(
                    [*map(int, rows)], [row[key] for row in rows.values()], look, label=name, ms=4
                )
        K = np.array([1e3, 1e6])
        ax.plot(K, 4e-5 * K, ":", color="grey", label="proportional to K")
        ax.set(xscale="log", yscale="log", xlabel="candidates", ylabel="processor seconds")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
        figure.savefig(PICTURE, metadata={"Date": None})
