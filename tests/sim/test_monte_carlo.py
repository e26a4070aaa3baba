from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import GEGE, Uniform
from paretoscope.sim import Rademacher, monte_carlo, setting_of, simulate, synthetic
from tests.sim.test_simulate import INSTANCE, numbers

POLICY = GEGE(0.1, epsilon=0.2)


def told(runs):
    return [numbers(run) for run in runs]


@pytest.mark.parametrize("policy", [POLICY, GEGE(budget=24), Uniform(10)])
def test_the_same_numbers_here_and_in_threads(policy):
    here = monte_carlo(policy, INSTANCE, 60, seed=4)
    with ThreadPoolExecutor(2) as pool:
        there = monte_carlo(policy, INSTANCE, 60, 4, pool)
    assert told(here) == told(there)


def test_the_same_numbers_in_other_processes():
    instance = synthetic(12, seed=2, sigma=0.3)
    setting = setting_of(instance, seed=1)
    assert setting.model.rank == 8  # a cache that must not have to travel
    here = monte_carlo(GEGE(budget=200), instance, 53, 4, setting=setting)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        there = monte_carlo(GEGE(budget=200), instance, 53, 4, pool, setting=setting)
    assert told(here) == told(there)


def test_a_run_has_its_own_seed_whatever_the_number_of_runs():
    few, many = (monte_carlo(POLICY, INSTANCE, runs, seed=9) for runs in (3, 7))
    assert told(few) == told(many[:3])
    drawn = [told(monte_carlo(GEGE(budget=6), INSTANCE, 20, seed=seed)) for seed in (9, 10)]
    assert drawn[0] != drawn[1]
    alone = simulate(POLICY, INSTANCE, np.random.SeedSequence(9).spawn(3)[2])
    assert numbers(alone) == numbers(few[2])


def test_designs_are_shared_between_runs_and_results_are_not():
    instance = synthetic(20, sigma=0.5)
    setting = setting_of(instance)
    runs = monte_carlo(GEGE(budget=400), instance, 20, setting=setting)
    assert len(setting.model.store) > 0
    assert len({tuple(run.answer) for run in runs}) > 1
    fresh = monte_carlo(GEGE(budget=400), instance, 20, setting=setting_of(instance))
    assert told(runs) == told(fresh)


def test_world_and_cap_reach_every_run():
    runs = monte_carlo(POLICY, INSTANCE, 5, world=Rademacher(INSTANCE.sigma), max_pulls=1)
    assert all(run.rounds == 1 for run in runs)


def test_no_runs_make_no_sense():
    with pytest.raises(UsageError, match="runs = 0: at least 1"):
        monte_carlo(POLICY, INSTANCE, 0)


@pytest.mark.long
def test_ten_thousand_runs_on_a_cluster_are_those_of_this_process():
    distributed = pytest.importorskip("distributed")
    instance = synthetic(50, seed=1, sigma=0.5)
    here = monte_carlo(GEGE(budget=400), instance, 10_000, 6)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        there = monte_carlo(GEGE(budget=400), instance, 10_000, 6, client.get_executor(pure=False))
    assert told(here) == told(there)
