"""One policy in one world with a known truth, from the first round to the stop."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretoscope.core.arrays import BoolArray
from paretoscope.errors import UsageError
from paretoscope.policies.base import Certificate, Policy, StopReason
from paretoscope.policies.setting import Noise, Setting
from paretoscope.sim.instances import Instance
from paretoscope.sim.noise import Gaussian, World

# A policy that neither asks nor stops is wrong: no study has this many rounds.
_MOST_ROUNDS = 10_000_000


@dataclass(frozen=True)
class Run:
    """What one run answered, whether that was right, and what it cost.

    ``correct``: every label is right (accepted within S*, near within S*_epsilon, rejected outside
    S*); for a policy without certificate, the answer equals S*. ``exact``: the answer equals S*, and
    nothing is undecided.
    """

    answer: BoolArray
    accepted: BoolArray
    near: BoolArray
    rejected: BoolArray
    correct: bool
    exact: bool
    pulls: int
    rounds: int
    stop: StopReason | None
    certificate: Certificate
    seconds: float


def setting_of(
    instance: Instance,
    *,
    noise: Noise | None = None,
    seed: int = 0,
    **more: Any,  # noqa: ANN401  (fields of Setting)
) -> Setting:
    """The setting a policy sees of an instance: its noise is known unless ``noise`` says otherwise."""
    exact = instance.sigma == 0
    sigma = np.where(exact, 1.0, instance.sigma)
    return Setting(
        K=instance.K,
        d=instance.d,
        noise=Noise(sigma) if noise is None else noise,
        X=instance.X,
        exact=exact,
        seed=seed,
        **more,
    )


def simulate(
    policy: Policy[Any],
    instance: Instance,
    seed: int | np.random.SeedSequence = 0,
    *,
    world: World | None = None,
    setting: Setting | None = None,
    max_pulls: int | None = None,
) -> Run:
    """Run a policy on an instance until it stops.

    Parameters
    ----------
    seed : int or SeedSequence
        Of the measurements, and of the policy's own randomness.
    world : World, optional
        How measurements are drawn; Gaussian noise of the instance's scale by default.
    setting : Setting, optional
        What the policy is told; `setting_of` the instance by default. Runs that share one share its
        cache of designs.
    max_pulls : int, optional
        Give up after this many pulls, stopped or not.
    """
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    setting = setting_of(instance) if setting is None else setting
    setting = setting.reseeded(int(seeds.generate_state(1)[0]))
    if setting.K != instance.K or setting.d != instance.d:
        raise UsageError("the setting and the instance differ in candidates or metrics")
    world = Gaussian(instance.sigma) if world is None else world
    rng = np.random.default_rng(seeds)
    start = time.perf_counter()
    state = policy.init(setting)
    pulls = rounds = 0
    while policy.stopped(state) is None and rounds < _MOST_ROUNDS:
        counts = policy.allocate(state)
        state = policy.observe(state, world.draw(instance.mu, counts, rng))
        pulls, rounds = pulls + int(counts.sum()), rounds + 1
        if max_pulls is not None and pulls >= max_pulls:
            break
    seconds = time.perf_counter() - start
    return _run(policy, state, instance, pulls, rounds, seconds)


def _run(
    policy: Policy[Any],
    state: Any,  # noqa: ANN401  (whatever the policy's state is)
    instance: Instance,
    pulls: int,
    rounds: int,
    seconds: float,
) -> Run:
    """Compare the verdict with the truth."""
    verdict = policy.verdict(state)
    truth, certificate = instance.pareto, verdict.certificate
    exact = bool((verdict.answer == truth).all()) and not verdict.undecided.any()
    near_truth = instance.epsilon_front(certificate.epsilon) if verdict.near.any() else truth
    right = not (
        (verdict.accepted & ~truth).any()
        or (verdict.near & ~near_truth).any()
        or (verdict.rejected & truth).any()
    )
    promises = policy.guarantee.certified or not np.isnan(certificate.delta)
    return Run(
        answer=verdict.answer,
        accepted=verdict.accepted,
        near=verdict.near,
        rejected=verdict.rejected,
        correct=right if promises else exact,
        exact=exact,
        pulls=pulls,
        rounds=rounds,
        stop=policy.stopped(state),
        certificate=certificate,
        seconds=seconds,
    )
