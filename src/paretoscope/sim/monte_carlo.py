"""Many runs of one policy, on one core or on any executor, with the same numbers either way."""

from __future__ import annotations

from concurrent.futures import Executor
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
    if runs < 1:
        raise UsageError(f"runs = {runs}: at least 1")
    setting = setting_of(instance, seed=seed) if setting is None else setting
    seeds = np.random.SeedSequence(seed).spawn(runs)
    if executor is None:
        return _batch(policy, instance, seeds, world, setting, max_pulls)
    futures = [
        executor.submit(
            _batch, policy, instance, seeds[k : k + _BATCH], world, setting.bare(), max_pulls
        )
        for k in range(0, runs, _BATCH)
    ]
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
