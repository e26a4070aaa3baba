"""The tables of docs/scale.md are those of the measurements beside the script, and nobody's handwriting."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
KEPT = json.loads((ROOT / "benchmarks" / "scale.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page():
    pytest.importorskip("matplotlib")
    path = ROOT / "benchmarks" / "scale_page.py"
    spec = importlib.util.spec_from_file_location("scale_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_those_of_the_measurements(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.partition(page.MARK)[2].strip() == page.tables(KEPT).strip()
    assert page.PICTURE.exists()


def test_everything_that_was_wanted_was_measured(page):
    for part, size, key, _ in page.TARGETS:
        assert KEPT[part][size][key] > 0
    assert set(KEPT) == set(page.COLUMNS)


def test_the_slope_is_that_of_a_power(page):
    rows = {str(K): {"cpu": 3e-6 * K**1.5} for K in (10, 200, 5000)}
    assert page.slope(rows, "cpu") == pytest.approx(1.5)


def test_time_grows_no_faster_than_k_log_k(page):
    """Measured: from 10^3 to 10^6 candidates, for a run and for a study."""
    for part in ("simulate", "study"):
        rows = page.ordered(KEPT[part])
        sizes = np.array([int(size) for size in rows], dtype=float)
        spent = np.array([row["cpu"] for row in rows.values()])
        assert (np.diff(np.log(spent)) <= np.diff(np.log(sizes * np.log(sizes)))).all()
