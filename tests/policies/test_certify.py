"""What a record certifies: right labels, kept for ever, or a refusal with its reason."""

from __future__ import annotations

import doctest
import sys

import numpy as np
import pytest

import paretoscope as ps
from paretoscope import sim
from paretoscope.errors import DataError, UsageError
from paretoscope.policies import GEGE, PSIPS, Noise, Tally, certify
from tests.policies.drive import study
from tests.statistics import at_most

record = sys.modules["paretoscope.policies.certify"]  # its function has its name
PLANE = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.2, 0.2], [0.5, 0.1]])
FRONT = [True, True, True, False, False]


def batch(rng, counts, mu=PLANE, sigma=0.1):
    arms = np.repeat(np.arange(len(mu)), counts)
    return arms, mu[arms] + sigma * rng.standard_normal((len(arms), mu.shape[1]))


def batches(rng, number=4, counts=(10, 10, 3, 0, 2), **more):
    return [batch(rng, counts, **more) for _ in range(number)]


def test_it_is_public_and_its_example_is_true():
    assert ps.certify is certify
    assert doctest.testmod(record).failed == 0


def test_a_record_is_certified_with_its_assumptions():
    verdict = certify(PLANE, batches(np.random.default_rng(0)), 0.1, 0.05)
    assert verdict.accepted.tolist() == FRONT
    found = verdict.certificate
    assert found.certified
    assert found.pulls == 100
    assert found.delta == 0.05
    assert "ellipsoid" in found.bound
    assert "each batch was chosen before its values were seen" in found.assumptions
    assert "means are linear in the features" in found.assumptions


def test_the_form_of_the_batches_does_not_matter():
    given = batches(np.random.default_rng(1), 2)
    tallies = [Tally.of(5, *part) for part in given]
    singles = [([a], [y]) for part in given for a, y in zip(*part, strict=True)]
    one, two, three = (certify(PLANE, form, 0.1, 0.05) for form in (given, tallies, singles))
    assert (one.accepted == two.accepted).all()
    assert one.certificate.achieved_epsilon == pytest.approx(two.certificate.achieved_epsilon)
    assert (three.accepted >= one.accepted).all()  # more looks, and what is certain stays


def test_without_features_and_with_equal_ones():
    rng = np.random.default_rng(2)
    free = certify(None, batches(rng, counts=(20, 20, 20, 20, 20)), 0.1, 0.05, K=5)
    assert free.accepted.tolist() == FRONT
    twins = np.vstack([PLANE, PLANE[0]])
    both = certify(
        twins, batches(rng, counts=(5, 10, 3, 0, 2, 5), mu=twins), 0.1, 0.05
    )  # the sixth is the first again
    assert both.accepted.tolist() == [*FRONT, True]
    assert both.certificate.pulls == 100


def test_a_tolerance_settles_ties():
    mu = PLANE * [1.0, 0.0]
    few = batches(np.random.default_rng(3), 8, mu=mu)
    assert not certify(PLANE, few, 0.1, 0.05).certificate.certified
    near = certify(PLANE, few, 0.1, 0.05, epsilon=[0.2, 0.2])
    assert near.certificate.certified
    assert near.answer[0]


def test_too_little_decides_nothing_and_says_so():
    verdict = certify(PLANE, [([0], [[1.0, 0.0]])], 0.1, 0.05)
    assert verdict.undecided.all()
    assert "5 candidates are undecided" in verdict.certificate.reason


def test_an_unknown_noise_is_learnt_from_the_first_batch():
    rng = np.random.default_rng(4)
    given = [batch(rng, (20, 20, 10, 0, 0)), *batches(rng, 3)]
    verdict = certify(PLANE, given, None, 0.05)
    assert verdict.accepted.tolist() == FRONT
    tied = PLANE * [1.0, 0.0]
    given = [batch(rng, (20, 20, 10, 0, 0), tied), *batches(rng, 3, mu=tied)]
    learnt, known = (certify(PLANE, given, sigma, 0.05).certificate for sigma in (None, 0.1))
    assert (learnt.achieved_epsilon > known.achieved_epsilon).all()
    assert "estimated from the data" in " ".join(learnt.assumptions)


BEND = PLANE + np.array([0.0, 0.0, 0.0, 0.4, -0.4])[:, None]
SOME = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: certify(PLANE, [], 0.1, 0.05), UsageError, "at least one batch"),
        (lambda: certify(None, batches(SOME), 0.1, 0.05), UsageError, "K or X"),
        (lambda: certify(PLANE, batches(SOME), 0.1, 1.5), UsageError, "delta = 1.5"),
        (lambda: certify(PLANE, batches(SOME), 0.0, 0.05), UsageError, "sigma must be positive"),
        (lambda: certify(PLANE, [([9], [[0.0, 0.0]])], 1, 0.05), DataError, "batch 1: .*between 0"),
        (
            lambda: certify(PLANE, [Tally.of(4, [0], [[0.0, 0.0]])], 1, 0.05),
            UsageError,
            "batches of 5 candidates",
        ),
        (
            lambda: certify(PLANE, [*batches(SOME), ([0], [[np.nan, 0.0]])], 0.1, 0.05),
            DataError,
            "batch 5: .*(finite|number)",
        ),
        (
            lambda: certify(PLANE, batches(SOME, sigma=0.3), 0.1, 0.05),
            DataError,
            "batch 1: repeats scatter (2.[5-9]|3)",
        ),
        (
            lambda: certify(PLANE, batches(SOME, counts=(5,) * 5, mu=BEND), 0.1, 0.05),
            DataError,
            "batch 1: the means are not linear",
        ),
        (
            lambda: certify(PLANE, batches(SOME, counts=(3, 3, 0, 0, 0)), None, 0.05),
            UsageError,
            "spare",
        ),
        (
            lambda: certify(PLANE, batches(SOME, sigma=0.0), None, 0.05),
            DataError,
            "repeated itself exactly",
        ),
    ],
)
def test_a_condition_that_does_not_hold_is_refused_with_the_reason(call, error, says):
    with pytest.raises(error, match=says):
        call()


def recorded(policy, setting, mu, rng):
    """The batches that a policy asks for, and nothing of what it concludes."""
    state, given = policy.init(setting), []
    while policy.stopped(state) is None:
        given.append(Tally.of(len(mu), *batch(rng, policy.allocate(state), mu, 1.0)))
        state = policy.observe(state, given[-1])
    return given


def said_falsely(policy, runs):
    """Runs whose record certifies something false, and those whose record settles everything."""
    world = sim.random_instance(10, 2, 2, 0.3, seed=1)
    truth, false, settled = world.pareto, 0, 0
    for k in range(runs):
        setting = study(world.X, noise=Noise(np.ones(2)), seed=k)
        given = recorded(policy, setting, world.mu, np.random.default_rng([1, k]))
        verdict = certify(world.X, given, 1.0, 0.1)
        false += bool((verdict.accepted & ~truth).any() or (verdict.rejected & truth).any())
        settled += verdict.certificate.certified
    return false, settled


@pytest.mark.parametrize(
    "policy", [PSIPS(0.1, growth=0.1, max_samples=3_000), GEGE(0.1, max_samples=3_000)]
)
def test_the_records_of_other_policies_are_certified_rightly(policy):
    """20 runs each; their own stops are not this certificate's."""
    false, _ = said_falsely(policy, 20)
    at_most(false, 20, 0.1)
