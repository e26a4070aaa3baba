from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import GEGE, Noise, OneShot, StopReason, Uniform
from paretoscope.sim import Bernoulli, Gaussian, Instance, setting_of, simulate

INSTANCE = Instance(None, [[1.0, 0.0], [0.0, 1.0], [0.2, -0.3]], 0.3)


def numbers(run):
    """Everything of a run but the time it took."""
    certificate = run.certificate
    return (
        run.answer.tolist(),
        run.accepted.tolist(),
        run.near.tolist(),
        run.rejected.tolist(),
        (run.correct, run.exact, run.pulls, run.rounds, run.stop),
        (certificate.certified, certificate.pulls, certificate.achieved_epsilon.tolist()),
    )


def test_a_seed_is_a_run():
    first, again, other = (simulate(GEGE(0.1), INSTANCE, seed) for seed in (1, 1, 2))
    assert numbers(first) == numbers(again)
    assert numbers(first) != numbers(other)
    child = np.random.SeedSequence(1)
    assert numbers(simulate(GEGE(0.1), INSTANCE, child)) == numbers(first)


def test_a_run_counts_its_pulls_and_rounds():
    run = simulate(OneShot(45), INSTANCE, 0)
    assert (run.pulls, run.rounds, run.stop) == (45, 1, StopReason.BUDGET)
    assert run.certificate.pulls == 45
    assert run.seconds > 0


def test_a_cap_on_pulls_ends_a_run_that_would_go_on():
    tied = Instance(None, [[0.0, 0.0], [0.0, 0.0]], 1.0)
    run = simulate(GEGE(0.1), tied, 0, max_pulls=1000)
    assert run.pulls >= 1000
    assert run.stop is None
    assert not run.exact
    assert not run.certificate.certified


def test_the_policys_own_seed_comes_from_the_runs():
    asked = []

    class Watched(Uniform):
        def allocate(self, state):
            asked.append(super().allocate(state).tolist())
            return super().allocate(state)

    for seed in range(8):
        simulate(Watched(4), INSTANCE, seed)
    assert len({tuple(counts) for counts in asked}) > 1


def test_correct_is_judged_by_the_labels_or_by_the_set():
    class Liar(OneShot):
        def verdict(self, state):
            found = super().verdict(state)
            flipped = replace(found, accepted=found.rejected, rejected=found.accepted)
            return found if state.stop is None else flipped

    assert simulate(OneShot(3000), INSTANCE, 0).correct
    lie = simulate(Liar(3000), INSTANCE, 0)
    assert not lie.correct
    assert not lie.exact


def test_an_undecided_run_is_correct_but_not_exact():
    tied = Instance(None, [[0.0, 0.0], [0.0, 0.0], [-9.0, -9.0]], 1.0)
    run = simulate(GEGE(0.1, max_rounds=2), tied, 0)
    assert run.correct
    assert not run.exact
    assert run.stop is StopReason.ROUNDS


def test_near_is_right_within_epsilon():
    close = Instance(None, [[0.0, 0.0], [-0.05, -0.05]], 0.5)
    run = simulate(GEGE(0.1, epsilon=0.2), close, 0)
    assert run.near.all()
    assert run.correct
    assert not run.exact


def test_a_setting_of_an_instance():
    setting = setting_of(Instance(None, [[1.0, 2.0]], [0.5, 0.0]), zeta=0.25, seed=3)
    assert setting.exact.tolist() == [False, True]
    assert setting.noise.sigma.tolist() == [0.5, 1.0]
    assert setting.zeta.tolist() == [0.25, 0.25]
    assert setting.seed == 3
    unknown = setting_of(INSTANCE, noise=Noise.unknown(2))
    assert unknown.noise.unknowns.all()


def test_another_world_and_another_setting():
    chances = Instance(None, [[0.9, 0.1], [0.1, 0.9], [0.05, 0.05]], 0.5)
    setting = setting_of(chances, noise=Noise.bounded([0, 0], [1, 1]))
    run = simulate(GEGE(0.1), chances, 0, world=Bernoulli(), setting=setting)
    assert run.correct
    assert "sub-Gaussian" in " ".join(run.certificate.assumptions)
    loud = simulate(OneShot(9), INSTANCE, 0, world=Gaussian(np.full(2, 100.0)))
    assert loud.pulls == 9


@pytest.mark.parametrize("other", [np.zeros((4, 2)), np.zeros((3, 1))])
def test_a_setting_of_something_else_is_refused(other):
    with pytest.raises(UsageError, match="differ in candidates or metrics"):
        simulate(OneShot(9), INSTANCE, 0, setting=setting_of(Instance(None, other, 1.0)))
