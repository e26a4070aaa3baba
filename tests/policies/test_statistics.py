"""Error rates and costs in worlds with a known truth.

Every rate is held to its level by an exact binomial test at 1e-3 (`tests.statistics`), with the runs
and the seed stated. Negative controls break one ingredient of a guarantee and must be seen to fail.
"""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from paretoscope import sim
from paretoscope.core import confidence
from paretoscope.core.confidence import GAUSSIAN
from paretoscope.core.spread import Spread, Width
from paretoscope.policies import (
    GEGE,
    FixedDesign,
    Noise,
    OneShot,
    Policy,
    Setting,
    Tally,
    Uniform,
    reading,
    sizing,
)
from paretoscope.sim import Instance, Run, monte_carlo, setting_of
from tests.statistics import above, at_least, at_most

# The schedule of these tests, whatever the defaults are: one G-optimal design a round, halving.
PLAIN: dict[str, Any] = {"first_accuracy": 0.2, "ratio": 2.0, "designs": ("g",)}
FRUGAL: dict[str, Any] = {"first_accuracy": 0.2, "ratio": exp(0.5)}


def wrong(runs: list[Run]) -> int:
    return sum(not run.correct for run in runs)


def pulls(runs: list[Run]) -> float:
    return float(np.mean([run.pulls for run in runs]))


def rounds(runs: list[Run]) -> float:
    return float(np.mean([run.rounds for run in runs]))


def errors(policy: Policy[Any], world: Instance, runs: int, seed: int = 0, **more: object) -> int:
    return wrong(monte_carlo(policy, world, runs, seed, **more))  # type: ignore[arg-type]


def staircase(K: int, step: float = 1e-7, other: float = 5.0) -> Instance:
    """K arms all but tied in one metric and far apart in the other: K (K-1) / 2 ways to be wrong."""
    k = np.arange(K)
    return Instance(None, np.column_stack([-step * k, other * k]))


# ---------------------------------------------------------------- fixed confidence


POLICIES = {
    "proven": {"schedule": "proven", "rule": "refined", **PLAIN},
    "proven, paper's rule": {"schedule": "proven", "rule": "paper", **PLAIN},
    "corrected": {"schedule": "corrected", "rule": "paper"},
    "corrected, refined": {"schedule": "corrected", "rule": "refined"},
}


def check_confidence(name: str, sigma: float, delta: float, runs: int) -> None:
    """No more than a share delta of the runs errs; without a cap every right run is exact."""
    found = monte_carlo(GEGE(delta, **POLICIES[name]), sim.synthetic(50, sigma=sigma), runs, seed=2)
    at_most(wrong(found), runs, delta)
    assert all(run.exact == run.correct and run.certificate.certified for run in found)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("sigma", [1.0, 0.5])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_fixed_confidence(name: str, sigma: float, delta: float) -> None:
    check_confidence(name, sigma, delta, runs=100)


@pytest.mark.long
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("sigma", [1.0, 0.5])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_fixed_confidence_long(name: str, sigma: float, delta: float) -> None:
    check_confidence(name, sigma, delta, runs=500)


def test_cost_of_fixed_confidence() -> None:
    """150 runs, seed 1: a third of what the paper's schedule spends, less with all designs."""
    world, quarter = sim.synthetic(50), {"first_accuracy": 0.25}
    plain = pulls(monte_carlo(GEGE(0.1, **{**PLAIN, **quarter}), world, 150, 1))
    frugal = pulls(monte_carlo(GEGE(0.1, **{**FRUGAL, **quarter}), world, 150, 1))
    published = pulls(monte_carlo(GEGE(0.1, schedule="paper", rule="paper"), world, 150, 1))
    assert plain <= 3.6e5
    assert frugal < 0.95 * plain
    assert published == pytest.approx(1.16e6, rel=0.1)


@pytest.mark.parametrize(("epsilon", "most"), [(0.05, 1.5e5), (0.1, 8e4), (0.2, 2.8e4)])
def test_cost_of_a_tolerance(epsilon: float, most: float) -> None:
    """60 runs, seed 1: two rounds, the second at exactly epsilon."""
    policy = GEGE(0.1, epsilon, **{**PLAIN, "first_accuracy": 2 * epsilon})
    found = monte_carlo(policy, sim.synthetic(50), 60, 1)
    at_most(wrong(found), 60, 0.1)
    assert pulls(found) <= most
    assert any(run.near.any() for run in found)


# ---------------------------------------------------------------- a nearly tied pair


@pytest.mark.parametrize(("delta", "runs"), [(0.3, 800), (0.1, 1200)])
def test_near_tie_is_tight(delta: float, runs: int) -> None:
    """In 5 rounds the risk that may be spent is spent: between 0.25 and 0.45 delta."""
    found = errors(GEGE(delta, max_rounds=5, **PLAIN), sim.near_tie(), runs)
    at_most(found, runs, 0.45 * delta)
    at_least(found, runs, 0.25 * delta)
    above(found, runs, 0.1 * delta)


@pytest.mark.long
@pytest.mark.parametrize("dominated", [False, True])
@pytest.mark.parametrize("delta", [0.3, 0.1])
def test_near_tie_long(delta: float, dominated: bool) -> None:
    """5,000 runs."""
    world = sim.near_tie(dominated=dominated)
    found = errors(GEGE(delta, max_rounds=5, **PLAIN), world, 5000)
    at_most(found, 5000, 0.45 * delta)
    at_least(found, 5000, 0.25 * delta)


@pytest.mark.parametrize("rule", ["paper", "refined"])
def test_near_tie_as_published(rule: str) -> None:
    """The round sizes of the published code: wrong in almost half of 200 runs at delta = .1."""
    policy = GEGE(0.1, schedule="authors", rule=rule, max_rounds=5)
    assert not policy.guarantee.certified
    above(errors(policy, sim.near_tie(), 200), 200, 0.3)


# ---------------------------------------------------------------- network on chip


def check_noc(path: Path, runs: int) -> None:
    found = monte_carlo(GEGE(0.1, first_accuracy=0.25, ratio=2.0), sim.noc(path), runs, seed=0)
    assert wrong(found) == 0
    assert pulls(found) <= 22_000
    assert rounds(found) <= 4.0


def test_noc(noc_csv: Path) -> None:
    """40 runs; the paper's schedule needs ten times as much (10 runs)."""
    check_noc(noc_csv, 40)
    published = monte_carlo(GEGE(0.1, schedule="paper", rule="paper"), sim.noc(noc_csv), 10)
    assert pulls(published) == pytest.approx(2.1e5, rel=0.05)


@pytest.mark.long
def test_noc_long(noc_csv: Path) -> None:
    check_noc(noc_csv, 200)


# ---------------------------------------------------------------- fixed budget


def test_fixed_budget() -> None:
    """T = H2_lin, 250 runs: the error of GEGE does not depend on K, that of Uniform tends to 1."""
    shares = {}
    for K in (8, 50, 500):
        world = sim.synthetic(K, sigma=0.5)
        T = round(world.complexity().H2_lin)
        assert T == 5000
        for policy in (GEGE(budget=T), OneShot(T), Uniform(T)):
            found = monte_carlo(policy, world, 250, seed=3)
            assert all(run.pulls == T and not run.certificate.certified for run in found)
            shares[type(policy).__name__, K] = wrong(found) / 250
    for K in (8, 50, 500):
        assert 0.22 <= shares["GEGEBudget", K] <= 0.36
        assert 0.22 <= shares["OneShot", K] <= 0.42
    assert shares["Uniform", 8] < 0.5
    assert 0.65 < shares["Uniform", 50] < 0.97
    assert shares["Uniform", 500] > 0.98


# ---------------------------------------------------------------- fixed looks


def formulations(seed: int) -> Instance:
    """60 mixtures of 3 factors, a quadratic response in 4 metrics, noise of 5 % of each range."""
    rng = np.random.default_rng([11, seed])
    a, b, c = rng.uniform(-1.0, 1.0, (3, 60))
    X = np.column_stack([np.ones(60), a, b, c, a * a, b * b, c * c, a * b, a * c, b * c])
    mu = X @ rng.standard_normal((10, 4))
    return Instance(X, mu, 0.05 * np.ptp(mu, axis=0))


def unknown(world: Instance) -> Setting:
    return setting_of(world, noise=Noise.unknown(world.d))


def understated(world: Instance, run: Run) -> bool:
    """Whether some arm that was not rejected is worse than the tolerance that was certified."""
    return bool((~run.rejected & ~world.epsilon_front(run.certificate.achieved_epsilon)).any())


def test_formulations() -> None:
    """120 pulls, 10 looks, unknown noise: half the candidates settled, few runs wrong.

    300 worlds: they differ so much that the mean of 40 has a standard error of 2 rejections.
    """
    policy, runs = FixedDesign(budget=120, looks=10, delta=0.1), []
    worlds = [formulations(k) for k in range(300)]
    for k, world in enumerate(worlds):
        runs += monte_carlo(policy, world, 1, k, setting=unknown(world))
    assert np.mean([run.accepted.sum() for run in runs]) >= 4
    assert np.mean([run.rejected.sum() for run in runs]) >= 22
    assert all(run.pulls == 120 for run in runs if not run.exact)
    at_most(wrong(runs), 300, 0.1)
    at_most(sum(map(understated, worlds, runs)), 300, 0.1)


def test_fresh_rounds_settle_less() -> None:
    """40 worlds of the same kind: fresh rounds waste what they have, and accept next to nothing."""
    worlds = [formulations(k) for k in range(40)]
    accepted, rejected = {}, {}
    for policy in (FixedDesign(budget=120, delta=0.1), GEGE(0.1, max_samples=120, designs=("g",))):
        runs = [monte_carlo(policy, w, 1, k, setting=unknown(w))[0] for k, w in enumerate(worlds)]
        assert max(run.pulls for run in runs) <= 120
        name = type(policy).__name__
        accepted[name] = np.mean([run.accepted.sum() for run in runs])
        rejected[name] = np.mean([run.rejected.sum() for run in runs])
    assert accepted["FixedDesign"] > 4 * accepted["GEGEConfidence"]
    assert rejected["FixedDesign"] > rejected["GEGEConfidence"]


def check_looks(runs: int) -> None:
    """Any wrong label at any of 10 looks; the staircase can go wrong in 15 ways at each."""
    world = staircase(6)
    found = monte_carlo(FixedDesign(budget=60, delta=0.1), world, runs, 5, setting=unknown(world))
    at_most(wrong(found), runs, 0.1)
    above(wrong(found), runs, 0.005)
    at_most(sum(understated(world, run) for run in found), runs, 0.1)


def test_looks() -> None:
    check_looks(500)


@pytest.mark.long
def test_looks_long() -> None:
    check_looks(2000)


# ---------------------------------------------------------------- noise


def test_small_noise_on_a_large_mean() -> None:
    """1e9 +- 1e-2, told value by value in two parts: the variance keeps its digits."""
    rng, mu = np.random.default_rng(8), 1e9 + np.array([[0.0, 0.5], [0.5, 0.0], [-0.5, -0.5]])
    policy = GEGE(0.1, max_rounds=1, designs=("g",))
    state = policy.init(Setting(K=3, d=2, noise=Noise.unknown(2)))
    want = policy.allocate(state)
    for part in (want // 2, want - want // 2):
        arms = np.repeat(np.arange(3), part)
        values = mu[arms] + 0.01 * rng.standard_normal((len(arms), 2))
        state = policy.observe(state, Tally.of(3, arms, values))
    nu = int(want.sum()) - 3
    low, high = stats.chi2.ppf([5e-5, 1 - 5e-5], nu)
    squares = nu * np.square(state.sigma_hat / 0.01)
    assert ((low < squares) & (squares < high)).all()


def check_student(policy: Policy[Any], world: Instance, runs: int, delta: float) -> int:
    found = errors(policy, world, runs, 6, setting=unknown(world))
    at_most(found, runs, delta)
    return found


@pytest.mark.parametrize("world", [sim.near_tie(), staircase(2)], ids=["linear", "unstructured"])
def test_unknown_noise(world: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two degrees of freedom, 600 runs at .02: Student's quantile holds, the normal one does not."""
    policy = FixedDesign(budget=4, looks=1, delta=0.02)
    check_student(policy, world, 600, 0.02)
    monkeypatch.setattr(reading, "student", lambda _: GAUSSIAN)
    above(errors(policy, world, 600, 6, setting=unknown(world)), 600, 0.02)


def test_unknown_noise_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """GEGE with a pilot of two spare pulls, 600 runs at .02; the plug-in is wrong again."""
    monkeypatch.setattr(sizing, "FIRST_SPARE", 2)
    world, policy = sim.near_tie(), GEGE(0.02, max_rounds=2, designs=("g",))
    check_student(policy, world, 600, 0.02)
    monkeypatch.setattr(reading, "student", lambda _: GAUSSIAN)
    above(errors(policy, world, 600, 6, setting=unknown(world)), 600, 0.02)


@pytest.mark.parametrize("law", ["rademacher", "bernoulli"])
def test_bounded_noise(law: str) -> None:
    """Two-point noise on near ties, 400 runs at .3, few pulls a round."""
    if law == "rademacher":
        world, draws = sim.near_tie(), sim.Rademacher(np.ones(2))
    else:
        world, draws = Instance(np.eye(2), [[0.5, 0.2], [0.5 - 1e-7, 0.8]], 0.5), sim.Bernoulli()
    setting = setting_of(world, noise=Noise(world.sigma, "subgaussian"))
    policy = GEGE(0.3, max_rounds=4, **{**PLAIN, "first_accuracy": 1.0})
    found = monte_carlo(policy, world, 400, 7, world=draws, setting=setting)
    at_most(wrong(found), 400, 0.3)
    assert all("sub-Gaussian" in " ".join(run.certificate.assumptions) for run in found)


# ---------------------------------------------------------------- what each ingredient is for

CAPPED: dict[str, Any] = {**PLAIN, "max_rounds": 4, "bounds": ("pairs",)}


def test_without_sigma() -> None:
    """Noise of scale 3 taken for 1: 200 runs err far above delta, and not when it is known."""
    world = sim.near_tie(other=20.0, sigma=3.0)
    at_most(errors(GEGE(0.1, **CAPPED), world, 200), 200, 0.1)
    above(errors(GEGE(0.1, sigma=1.0, **CAPPED), world, 200), 200, 0.1)


def test_without_the_union(monkeypatch: pytest.MonkeyPatch) -> None:
    """One event in place of all pairs: 200 runs on a staircase of 10 err above delta."""
    world, policy = staircase(10), GEGE(0.1, **CAPPED)
    at_most(errors(policy, world, 200), 200, 0.1)
    single = lambda s, eta, _, tail: float(tail.upper(eta / s.max()))  # noqa: E731
    monkeypatch.setattr(confidence, "pairs_failure", single)
    above(errors(policy, world, 200), 200, 0.1)


def test_without_the_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds sized for eps_r and judged at eps_r / 2: 200 runs err above delta."""
    world, policy = sim.near_tie(), GEGE(0.1, **CAPPED)
    at_most(errors(policy, world, 200), 200, 0.1)
    failure, width = Spread.failure, Spread.certain_width

    def doubled(self: Spread, eta: float, *rest: object) -> float:
        return failure(self, 2 * eta, *rest)

    def halved(self: Spread, *rest: object, **more: object) -> Width:
        found = width(self, *rest, **more)
        return found._replace(eta=found.eta / 2)

    monkeypatch.setattr(Spread, "failure", doubled)
    monkeypatch.setattr(Spread, "certain_width", halved)
    above(errors(policy, world, 200), 200, 0.1)
