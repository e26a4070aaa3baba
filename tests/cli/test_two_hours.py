"""An engineer has two hours: 48 configurations, 720 runs, no model, a machine that warms up."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import paretoscope as ps
from paretoscope.policies import FixedDesign, Noise, Setting, Tally
from paretoscope.study import methods
from tests.cli.lab import call
from tests.runner import engineer
from tests.statistics import above, at_most

PROGRAM = [sys.executable, "-I", "-S", engineer.__file__, "."]
LISTS = [word for name, values in engineer.KNOBS.items() for word in ("-L", name, ",".join(values))]
METRICS = [
    "-m", "latency:min:ms:log", "-m", "throughput:max:k/s:log", "-m", "memory:min:MB:exact",
]  # fmt: skip
BUDGET, DELTA, USEFUL = 720, 0.05, 25
K = len(engineer.ROWS)
TRUTH = np.array([engineer.truth(row) for row in engineer.ROWS])
MU = np.column_stack([-np.log(TRUTH[:, 0]), np.log(TRUTH[:, 1]), -TRUTH[:, 2]])
OPTIMAL = np.array([not ((MU >= m).all(1) & (MU > m).any(1)).any() for m in MU])


def settled(verdict):
    """Labels given, and whether one of them is wrong; near does not occur without an epsilon."""
    wrong = (verdict.accepted & ~OPTIMAL).any() or (verdict.rejected & OPTIMAL).any()
    assert not verdict.near.any()
    return int((verdict.accepted | verdict.rejected).sum()), bool(wrong)


def test_the_world_is_one_worth_measuring():
    assert K == 48
    assert len(set(TRUTH[:, 2])) < K // 2, "memory has ties"
    assert 10 <= OPTIMAL.sum() <= 30


def test_two_hours_by_a_command(tmp_path, monkeypatch):
    """As an engineer sees it; the warm-up is noticed, so nothing is certified, and all is shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    places = [f"{{{name}}}" for name in engineer.KNOBS]
    command = [*LISTS, *METRICS, "--budget", str(BUDGET), "-j", "2", "--", *PROGRAM, *places]
    said = call("run", "-q", *command, code=3)
    assert (tmp_path / "runs").stat().st_size == BUDGET
    assert "48 candidates, 720 measurements; 720 in this run" in said
    assert "Not certified: latency: the values drift" in said
    assert "(run --warmup)" in " ".join(said.split())
    assert "Achieved epsilon, at which nobody would be undecided: latency " in said
    assert "throughput (log) over latency (log)" in said
    assert max(map(len, said.splitlines())) <= 80
    with ps.Study.open("run.study") as study:
        result = study.result()
        assert type(study.policy) is FixedDesign
        n, wrong = settled(result.verdict)
        assert n >= USEFUL
        assert not wrong
        assert all(0.0 < e < 1.0 for name, e in result.achieved_epsilon.items() if name != "memory")


def setting(noise):
    exact = np.array([False, False, True])
    return Setting(K=K, d=3, noise=noise, exact=exact, scale=("log", "log", "linear"))


def measured(arms, began, rng):
    """Runs in this order on a machine that has made so many before."""
    Y = MU[arms] + rng.standard_normal((len(arms), 3)) * [*engineer.NOISE, 0.0]
    Y[:, 0] -= [math.log(engineer.cold(began + k)) for k in range(1, len(arms) + 1)]
    return Tally.of(K, arms, Y)


def blocks(want, rng):
    """Whoever is wanted once a block, in random order, as a study asks."""
    order = []
    for left in range(int(want.max())):
        order += rng.permutation(np.flatnonzero(want > left)).tolist()
    return np.array(order)


def chosen():
    """The method of such a study when nobody names one."""
    return methods.choose(setting(Noise.unknown(3)), methods.Wishes(DELTA, 0.0, BUDGET)).policy


def two_hours(policy, noise, seed):
    """One study at the level of its policy: settled candidates, and whether a label is wrong."""
    rng = np.random.default_rng([720, seed])
    state, n = policy.init(setting(noise)), 0
    while policy.stopped(state) is None:
        arms = blocks(policy.allocate(state), rng)
        state, n = policy.observe(state, measured(arms, n, rng)), n + len(arms)
    assert n <= BUDGET
    return settled(policy.verdict(state))


@pytest.mark.parametrize("runs", [100, pytest.param(2000, marks=pytest.mark.long)])
def test_studies_of_two_hours_are_useful_and_right(runs):
    """Any wrong label in at most a share delta of studies (exact binomial test at 1e-3)."""
    found = np.array([two_hours(chosen(), Noise.unknown(3), seed) for seed in range(runs)])
    print(f"{runs} studies: {found[:, 0].mean():.1f} of {K} settled, {found[:, 1].sum()} wrong")
    assert found[:, 0].mean() >= USEFUL
    at_most(int(found[:, 1].sum()), runs, DELTA)


def test_these_studies_would_show_a_wrong_bound():
    """Noise declared at an eighth of what it is: labels are wrong far more often than delta."""
    understated = Noise(np.array([*engineer.NOISE, 1.0]) / 8)
    wrong = sum(two_hours(chosen(), understated, seed)[1] for seed in range(40))
    print(f"noise understated: {wrong} of 40 wrong")
    above(wrong, 40, DELTA)
