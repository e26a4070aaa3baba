"""Nothing false is ever said, by more than the risk: hard cases, every sign and label at every look.

Ordinary run: 40 studies of two cases at delta = 0.1, refused above the binomial limit that `at_most`
states. Long run: 2,000 studies of each of ten cases. The directed tests of test_windows.py and
test_anytime.py are what catches a wrong constant; here the whole is seen to be right.
"""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.policies import Noise, Setting, Tracking
from tests.policies.hunt import coins, follow, gaussian, hunter
from tests.statistics import at_most

DELTA = 0.1


def tie(*, dominated):
    mu = np.array([[0.0, 0.0], [-1e-7, -5.0 if dominated else 5.0]])
    return np.eye(2), mu


def square():
    """Four arms, four directions, all equal in one objective."""
    mu = np.array([[0.0, 0.3], [0.0, 0.1], [0.0, -0.1], [0.0, -0.3]])
    return np.eye(4), mu


def null_objective():
    """Nothing differs in the second objective."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    return X, np.column_stack([X @ [0.3, -0.2], np.zeros(6)])


def fifteen():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((15, 3))
    return X, 0.3 * X @ rng.standard_normal((3, 2))


def free():
    return None, np.array([[0.0, 0.0], [0.0, 0.0], [0.2, -0.2], [-0.2, -0.1]])


CASES = {
    "tie, both optimal": (tie(dominated=False), 20, False, gaussian),
    "tie, one dominated": (tie(dominated=True), 20, False, gaussian),
    "four arms tied in one objective": (square(), 30, False, gaussian),
    "one objective null": (null_objective(), 30, False, gaussian),
    "fifteen arms": (fifteen(), 20, False, gaussian),
    "no features": (free(), 20, False, gaussian),
    "tie, hunted": (tie(dominated=True), 40, True, gaussian),
    "four arms, hunted": (square(), 40, True, gaussian),
    "four arms, bounded noise": (square(), 30, False, coins),
    "no features, hunted, bounded noise": (free(), 30, True, coins),
}


def count_false(name, runs, seed=0):
    (X, mu), looks, hunted, draw = CASES[name]
    kind = "subgaussian" if draw is coins else "gaussian"
    setting = Setting(K=len(mu), d=2, noise=Noise.known(1.0, 2, kind), X=X)
    policy = Tracking(DELTA, batch=0.3)
    choose = hunter(mu) if hunted else None
    return sum(
        follow(
            policy, setting.reseeded(k), mu, np.random.default_rng([seed, k]), looks, choose, draw
        )
        for k in range(runs)
    )


@pytest.mark.parametrize("name", ["tie, hunted", "four arms, bounded noise"])
def test_nothing_false_is_said_more_often_than_the_risk(name):
    at_most(count_false(name, 40), 40, DELTA)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_nothing_false_is_said_more_often_than_the_risk_in_2000_studies(name):
    at_most(count_false(name, 2_000), 2_000, DELTA)
