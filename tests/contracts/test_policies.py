from __future__ import annotations

import doctest

import numpy as np
import pytest

from paretoscope import testing
from paretoscope.errors import UsageError
from paretoscope.policies import OneShot
from paretoscope.testing import CHECKS, World, check_policy
from tests.contracts.policy import BROKEN, KNOWN_NOISE_ONLY, POLICIES, WORLDS


@pytest.fixture(params=POLICIES)
def named_policy(request):
    return request.param, POLICIES[request.param]


@pytest.fixture(params=WORLDS)
def world(request):
    return World(**WORLDS[request.param])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_policy_keeps_the_contract(named_policy, world, check):
    name, policy = named_policy
    if name in KNOWN_NOISE_ONLY and world.unknown:
        with pytest.raises(UsageError, match="needs a known sigma"):
            policy.init(world.setting())
    else:
        check(policy, world)


@pytest.mark.parametrize("flaw", BROKEN)
@pytest.mark.parametrize("linear", [True, False])
def test_every_flaw_is_caught_by_its_check(flaw, linear):
    policy, check, message = BROKEN[flaw]
    with pytest.raises(AssertionError, match=message):
        check(policy, World(linear=linear))


@pytest.mark.parametrize("flaw", BROKEN)
def test_the_whole_suite_refuses_every_flaw(flaw):
    with pytest.raises(AssertionError):
        check_policy(BROKEN[flaw][0])


def test_every_check_catches_some_flaw():
    assert {check for _, check, _ in BROKEN.values()} == set(CHECKS)


def test_a_failing_check_leaves_the_world_as_it_was():
    policy, check, _ = BROKEN["mixes units"]
    world = World()
    with pytest.raises(AssertionError):
        check(policy, world)
    assert not world.epsilon.any()


def test_luck_belongs_to_the_candidate_not_to_its_place():
    world = World()
    order = np.random.default_rng(0).permutation(world.K)
    counts = np.arange(1, world.K + 1)
    here, there = world.tally(counts, 2), world.permuted(order).tally(counts[order], 2)
    assert (there.means == here.means[order]).all()
    assert (there.m2 == here.m2[order]).all()


def test_a_rescaled_world_is_the_same_world_in_other_units():
    world, factor = World(), np.array([0.125, 1.0])
    counts = np.full(world.K, 3)
    here, there = world.tally(counts, 1), world.rescaled(factor).tally(counts, 1)
    assert (there.means == here.means * factor).all()
    assert (there.m2 == here.m2 * factor**2).all()
    assert (world.rescaled(factor).setting().noise.sigma == [0.0375, 0.3]).all()


def test_check_policy_takes_other_worlds():
    check_policy(OneShot(12), (World(linear=False, K=4, seed=5),))


def test_the_example_of_the_module_runs():
    done = doctest.testmod(testing)
    assert done.failed == 0
    assert done.attempted == 2
