"""One frame for many policies in many worlds: common seeds, exact intervals, any executor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import paretoscope as ps
from paretoscope.errors import UsageError
from paretoscope.sim import Instance, clopper_pearson, compare, monte_carlo, summary, synthetic
from paretoscope.sim.compare import COLUMNS

WORLDS = {"eight": synthetic(8, sigma=0.5), "twelve": synthetic(12, sigma=0.5)}
POLICIES = {"halving": ps.EGESH(400), "uniform": ps.Uniform(300)}
SURE = Instance(None, [[1.0], [0.0]], 0.1)


def test_a_row_per_pair_is_what_monte_carlo_says():
    frame = compare(POLICIES, WORLDS, 30, seed=2)
    assert list(frame.columns) == list(COLUMNS)
    assert list(zip(frame["instance"], frame["policy"], strict=True)) == [
        (world, policy) for world in WORLDS for policy in POLICIES
    ]
    for row in frame.to_dict("records"):
        runs = monte_carlo(POLICIES[row["policy"]], WORLDS[row["instance"]], 30, 2)
        wrong = sum(not run.correct for run in runs)
        pulls = np.array([run.pulls for run in runs])
        low, high = stats.binomtest(wrong, 30).proportion_ci(method="exact")
        assert row["errors"] == wrong
        assert (row["error_low"], row["error_high"]) == pytest.approx((low, high))
        assert row["pulls"] == pulls.mean()
        assert row["pulls_se"] == pytest.approx(pulls.std(ddof=1) / np.sqrt(30))
        assert row["rounds"] == np.mean([run.rounds for run in runs])
        assert row["seconds"] > 0
        assert not row["certified"]


def test_the_same_frame_from_an_executor():
    here = compare(POLICIES, WORLDS, 60, seed=2).drop(columns="seconds")
    with ThreadPoolExecutor(2) as pool:
        there = compare(POLICIES, WORLDS, 60, 2, pool).drop(columns="seconds")
    assert here.equals(there)


def test_unnamed_ones_are_called_by_what_they_are():
    given = [ps.GEGE(0.1, epsilon=0.5), ps.GEGE(budget=4), ps.Uniform(4), ps.Uniform(4)]
    frame = compare(given, [SURE], 2)
    names = ["GEGE(delta=0.1, epsilon=0.5)", "GEGE(budget=4)"]
    assert list(frame["policy"]) == [*names, "Uniform(budget=4) (1)", "Uniform(budget=4) (2)"]
    assert list(frame["instance"]) == ["K=2"] * 4
    assert list(frame["certified"]) == [True, False, False, False]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library(backend):
    frame = compare([ps.Uniform(4)], [SURE], 2, backend=backend)
    assert type(frame).__module__.startswith(backend)


def test_calls_that_make_no_sense():
    with pytest.raises(UsageError, match="no policies: give at least one"):
        compare([], [SURE], 2)
    with pytest.raises(UsageError, match="no instances"):
        compare([ps.Uniform(4)], {}, 2)
    with pytest.raises(UsageError, match="runs = 0"):
        compare([ps.Uniform(4)], [SURE], 0)
    with pytest.raises(UsageError, match="a frame of spark: install pandas"):
        compare([ps.Uniform(4)], [SURE], 1, backend="spark")
    with pytest.raises(UsageError, match="no run at all"):
        summary([])


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("errors", "runs"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (3, 500)])
def test_the_interval_is_that_of_the_binomial_test(errors, runs, level):
    found = clopper_pearson(errors, runs, level)
    twin = stats.binomtest(errors, runs).proportion_ci(level, method="exact")
    assert found == pytest.approx((errors / runs, twin.low, twin.high), abs=1e-12)


@pytest.mark.parametrize(
    ("errors", "runs", "level"), [(2, 1, 0.95), (-1, 3, 0.9), (0, 0, 0.9), (0, 1, 1)]
)
def test_intervals_of_nothing(errors, runs, level):
    with pytest.raises(UsageError, match="makes no sense"):
        clopper_pearson(errors, runs, level)
