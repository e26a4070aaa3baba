"""Broken off, taken up, spread over processes or a cluster: always the same numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from paretoscope.bench import conduct, store
from paretoscope.bench.grid import cells_of
from paretoscope.bench.measure import parts_of
from paretoscope.bench.work import executor_of
from paretoscope.errors import DataError, UsageError
from paretoscope.policies import GEGE, Uniform
from paretoscope.sim import clopper_pearson, monte_carlo, synthetic
from tests.bench.tiny import text_of, tiny, wish


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Results of one sitting in this process."""
    out = tmp_path_factory.mktemp("whole")
    conduct(tiny(), wish(out))
    return out


def test_rows_are_what_a_monte_carlo_says(whole):
    rows = store.read_results(whole, "tiny").rows
    assert [(r["K"], r["policy"], r["runs"]) for r in rows] == [
        ("8", "GEGE", "45"),
        ("8", "Uniform", "45"),
        ("10", "GEGE", "45"),
        ("10", "Uniform", "7"),
    ]
    instance = synthetic(10, sigma=0.5)
    for row, policy in ((rows[2], GEGE(budget=5000)), (rows[3], Uniform(5000))):
        runs = monte_carlo(policy, instance, int(row["runs"]), seed=3)
        wrong = sum(not run.correct for run in runs)
        found = clopper_pearson(wrong, len(runs))
        assert int(row["errors"]) == wrong
        assert [float(row[k]) for k in ("error", "error_low", "error_high")] == pytest.approx(found)
        assert float(row["pulls_mean"]) == np.mean([run.pulls for run in runs])
        assert row["goal"] == "budget=5000"
        assert row["certified"] == "false"


def test_the_runs_are_kept_one_by_one(whole):
    lines = (whole / "tiny.runs.csv").read_text().splitlines()
    assert lines[0] == "world,K,policy,run,correct,exact,pulls,rounds"
    assert len(lines) == 1 + 45 + 45 + 45 + 7


def test_what_depends_on_the_machine_is_not_in_the_table(whole):
    about = json.loads((whole / "tiny.json").read_text())
    assert about["seed"] == 3
    assert about["wall_seconds"] > 0
    assert {"paretoscope", "numpy", "processor", "cores"} <= set(about["made_with"])
    spent = about["cells"][0]["seconds"]["run"]
    assert spent["of"] == 45
    assert 0 < spent["least"] <= spent["mean"]
    assert "seconds" not in text_of(whole)


def test_the_same_seed_is_the_same_table_and_another_is_another(whole, tmp_path):
    conduct(tiny(), wish(tmp_path / "again"))
    assert text_of(tmp_path / "again") == text_of(whole)
    conduct(tiny(), wish(tmp_path / "other", seed=4))
    assert text_of(tmp_path / "other") != text_of(whole)


def test_broken_off_and_taken_up_nothing_is_run_twice(whole, tmp_path):
    def until_two(step):
        if step.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(tiny(), wish(tmp_path), until_two)
    assert not (tmp_path / "tiny.csv").exists()
    before = float((tmp_path / "tiny.cells" / store.CLOCK).read_text())
    seen = []
    results = conduct(tiny(), wish(tmp_path), lambda step: seen.append(step.fresh))
    assert before > 0
    assert results.about["wall_seconds"] >= round(before, 1)
    assert seen == [False, False, True, True]
    assert text_of(tmp_path) == text_of(whole)


def test_a_changed_cell_is_run_again(tmp_path):
    conduct(tiny(), wish(tmp_path))
    seen = []
    changed = tiny(**{"most = [45, 7]": "most = [45, 8]"})
    conduct(changed, wish(tmp_path), lambda step: seen.append((step.fresh, step.cell.runs)))
    assert sorted(seen) == [(False, 45), (False, 45), (False, 45), (True, 8)]
    store.forget(tmp_path, "tiny")
    seen.clear()
    conduct(tiny(), wish(tmp_path), lambda step: seen.append((step.fresh, step.cell.runs)))
    assert all(fresh for fresh, _ in seen)


def test_a_damaged_cell_is_named(tmp_path):
    conduct(tiny(), wish(tmp_path))
    path = next((tmp_path / "tiny.cells").glob("*uniform*.json"))
    path.write_text("{")
    with pytest.raises(DataError, match=f"{path.name} is damaged: delete it"):
        conduct(tiny(), wish(tmp_path))


def test_a_policy_that_refuses_says_why_in_the_table(tmp_path):
    results = conduct(tiny(**{'budget = "H2_lin"': "budget = 7"}), wish(tmp_path))
    row = results.rows[0]
    assert row["runs"] == "0"
    assert "budget 7 is too small" in row["note"]
    assert row["error"] == ""


def test_a_run_without_end_is_broken_off_and_counted(tmp_path):
    endless = tiny(
        **{
            'goal = { budget = "H2_lin" }': "goal = { delta = 0.1 }",
            'policy = "Uniform"\nmost = [45, 7]': 'policy = "Race"\nmost = 3\nmax_pulls = 500',
        }
    )
    rows = conduct(endless, wish(tmp_path, only=("Uniform",))).rows
    assert [row["capped"] for row in rows] == ["3", "3"]
    assert all(float(row["pulls_max"]) < 5000 for row in rows)


def test_the_same_numbers_from_other_processes(whole, tmp_path):
    conduct(tiny(), wish(tmp_path, executor="processes", jobs=2))
    assert text_of(tmp_path) == text_of(whole)


def test_the_same_bits_from_a_dask_cluster(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        conduct(tiny(), wish(tmp_path, executor=f"dask://{address}"))
    assert text_of(tmp_path) == text_of(whole)
    assert (tmp_path / "tiny.runs.csv").read_bytes() == (whole / "tiny.runs.csv").read_bytes()


def test_executors_that_are_none():
    with pytest.raises(UsageError, match="executor 'moon'"), executor_of("moon", 1):
        pass
    with pytest.raises(UsageError, match="jobs = 0"), executor_of("processes", 0):
        pass


def test_the_parts_of_a_cell_are_its_runs():
    for cell in cells_of(tiny(), runs=41):
        numbers = [k for part in parts_of(cell) for k in part.runs]
        assert numbers == list(range(cell.runs))
