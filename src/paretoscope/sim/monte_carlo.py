"""Many runs of one policy, on one core or on any executor, with the same numbers either way."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

from paretoscope.errors import UsageError
from paretoscope.policies.base import Policy
from paretoscope.policies.setting import Setting
from paretoscope.sim.instances import Instance
from paretoscope.sim.noise import World
from paretoscope.sim.simulate import Run, setting_of, simulate

# Runs handed to a worker at once: designs are cached inside a batch.
_BATCH = 50


def monte_carlo(
    policy: Policy[Any],
    instance: Instance,
    runs: int,
    seed: int = 0,
    executor: Executor | None = None,
    *,
    world: World | None = None,
    setting: Setting | None = None,
    max_pulls: int | None = None,
) -> list[Run]:
    """Independent runs, the k-th with the k-th child of the seed, whatever the executor.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Threads, processes, a Dask client's ``get_executor()``, ...; this process by default.
    world, setting, max_pulls : optional
        As in `simulate`.
    """
    if executor is not None:
        waiting = batches(
            policy,
            instance,
            runs,
            seed,
            executor,
            world=world,
            setting=setting,
            max_pulls=max_pulls,
        )
        return gather(waiting)
    setting = setting_of(instance, seed=seed) if setting is None else setting
    return _batch(policy, instance, seeds_of(seed, runs), world, setting, max_pulls)


def seeds_of(seed: int, runs: int) -> list[np.random.SeedSequence]:
    """The children of a seed, one per run.

    Raises
    ------
    UsageError
        If there is no run.
    """
    if runs < 1:
        raise UsageError(f"runs = {runs}: at least 1")
    return np.random.SeedSequence(seed).spawn(runs)


def batches(
    policy: Policy[Any],
    instance: Instance,
    runs: int,
    seed: int,
    executor: Executor,
    *,
    world: World | None = None,
    setting: Setting | None = None,
    max_pulls: int | None = None,
) -> list[Future[list[Run]]]:
    """The same runs handed to an executor, some at a time; `gather` waits for them."""
    seeds = seeds_of(seed, runs)
    setting = setting_of(instance, seed=seed) if setting is None else setting
    return [
        executor.submit(
            _batch, policy, instance, seeds[k : k + _BATCH], world, setting.bare(), max_pulls
        )
        for k in range(0, runs, _BATCH)
    ]


def gather(futures: list[Future[list[Run]]]) -> list[Run]:
    """All runs of the batches, in their order."""
    return [run for future in futures for run in future.result()]


def _batch(
    policy: Policy[Any],
    instance: Instance,
    seeds: list[np.random.SeedSequence],
    world: World | None,
    setting: Setting,
    max_pulls: int | None,
) -> list[Run]:
    """Some runs in one process; they share the setting's cache of designs."""
    return [
        simulate(policy, instance, seed, world=world, setting=setting, max_pulls=max_pulls)
        for seed in seeds
    ]
