from __future__ import annotations

import numpy as np
import pytest

from paretoscope.core import schedule
from paretoscope.core.confidence import GAUSSIAN
from paretoscope.core.spread import BOUNDS, Spread
from paretoscope.policies import GEGE, FixedDesign, Noise
from paretoscope.policies.sizing import FIRST_SPARE
from paretoscope.sim import Instance, random_instance, setting_of, synthetic
from tests.policies.drive import drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])


@pytest.mark.parametrize("X", [None, TRADE, np.eye(4)], ids=["unstructured", "rank 2", "basis"])
@pytest.mark.parametrize("sigma", [0.25, 1.0, 3.0])
def test_every_round_is_certified_and_one_pull_less_would_not_be(X, sigma):
    policy = GEGE(0.1, designs=("g",), first_accuracy=2.0, max_rounds=5)
    setting = study(X, K=4, sigma=sigma)
    for state in drive(policy, setting, 0.01 * TRADE, sigma)[:-1]:
        counts, A, model = policy.allocate(state), state.active, setting.model
        eta = state.accuracy / 2 / sigma
        spread = model.spread(A, counts[model.first])
        assert spread.failure(eta, 2, GAUSSIAN, BOUNDS) <= state.risk
        plan = model.designs(A, ("g",), state.barred)[0]
        if counts.sum() > model.least(A):
            fewer = model.spread(A, model.integers(plan, A, int(counts.sum()) - 1))
            assert fewer.failure(eta, 2, GAUSSIAN, BOUNDS) > state.risk


def test_pulls_grow_with_the_square_of_sigma():
    sizes = [
        GEGE(0.1, first_accuracy=0.2).init(study(K=4, sigma=sigma)).want.sum()
        for sigma in (1.0, 2.0, 4.0)
    ]
    np.testing.assert_allclose(np.diff(np.log2(sizes)), 2.0, atol=0.01)


def test_automatic_accuracy_has_no_unit():
    small, large = (drive(GEGE(0.1), study(K=4, sigma=s), s * TRADE, s) for s in (1e-3, 1e3))
    assert (small[-1].told == large[-1].told).all()
    assert small[0].accuracy * 1e6 == pytest.approx(large[0].accuracy)


def test_accuracy_falls_by_the_ratio_and_ends_at_epsilon():
    close = [[0.0, 0.0], [-0.01, -0.01], [0.01, -0.02]]
    policy = GEGE(0.1, epsilon=0.3, ratio=3.0, first_accuracy=2.0)
    states = drive(policy, study(K=3), close, 1.0)
    told = [record.accuracy for record in states[-1].history]
    np.testing.assert_allclose(told, [2.0, 2 / 3, 0.3][: len(told)])


def test_more_designs_never_cost_more_in_a_round():
    instance = random_instance(8, 4, 2, 0.1, seed=2)
    sizes = [
        GEGE(0.1, designs=designs, first_accuracy=1.0).init(setting_of(instance)).want.sum()
        for designs in (("g",), ("g", "xy"), ("g", "xy", "xy-all"))
    ]
    assert sizes[0] >= sizes[1] >= sizes[2]


@pytest.mark.parametrize("name", ["paper", "corrected"])
def test_printed_rounds_have_their_printed_size(name):
    policy = GEGE(0.1, schedule=name)
    state = policy.init(study(np.eye(4), sigma=2.0))
    t = schedule.round_pulls(name, 0.25, 6 * 0.1 / np.pi**2, 4, 4, 2, 2.0)
    assert state.want.sum() == t
    assert (state.accuracy, state.risk) == (0.25, pytest.approx(0.6 / np.pi**2))


def test_authors_round_up_per_arm_and_forget_sigma():
    loud, quiet_ = (
        GEGE(0.1, schedule="authors").init(study(np.eye(3), sigma=s)).want for s in (1.0, 50.0)
    )
    t = schedule.round_pulls("authors", 0.25, 6 * 0.1 / np.pi**2, 3, 3, 2, 1.0)
    assert (loud == quiet_).all()
    assert loud.tolist() == [np.ceil(t / 3)] * 3


@pytest.mark.parametrize("scale_from", ["residuals", "replicates"])
def test_the_first_round_of_unknown_noise_leaves_enough_to_estimate_it(scale_from):
    policy = GEGE(0.1, scale_from=scale_from)
    state = policy.init(study(np.vstack([np.eye(3), np.ones((1, 3))]), noise=Noise.unknown(2)))
    spare = state.want.sum() - (np.count_nonzero(state.want) if scale_from == "replicates" else 3)
    assert spare >= FIRST_SPARE


def test_the_simulated_bound_is_a_bound_too():
    setting = study(TRADE, seed=3)
    policy = GEGE(0.1, bounds=("sup",), first_accuracy=1.0)
    state = policy.init(setting)
    assert state.label[0] == "sup"
    assert (policy.init(setting).want == state.want).all()
    pairs = GEGE(0.1, bounds=("pairs",), first_accuracy=1.0).init(setting)
    assert 0.5 < state.want.sum() / pairs.want.sum() < 1.5


def test_the_best_of_several_simulated_designs_pays_for_the_choice(monkeypatch):
    seen = []
    width = Spread.certain_width

    def noted(self, *rest, limits=1, **more):
        seen.append(limits)
        return width(self, *rest, limits=limits, **more)

    monkeypatch.setattr(Spread, "certain_width", noted)
    GEGE(0.1, bounds=("sup",), first_accuracy=1.0).init(study(TRADE, seed=3))
    assert seen == [3, 3, 3]  # 'g', 'xy', 'xy-all'


def test_a_simulated_bound_is_that_of_its_own_seed():
    """Studies that share a cache of designs are sized as they would be alone."""
    policy, setting = GEGE(0.1, bounds=("sup",), first_accuracy=0.5), study(TRADE, seed=3)
    alone = [policy.init(study(TRADE, seed=seed)).want.sum() for seed in range(5)]
    together = [policy.init(setting.reseeded(seed)).want.sum() for seed in range(5)]
    assert together == alone
    assert len(set(alone)) > 1


def test_the_simulated_bound_rounds_so_that_no_direction_loses():
    """Its integers are at least N - m + 1 times the weights: the smallest leverage alone promises less."""
    setting = study(np.random.default_rng(5).standard_normal((40, 10)))
    model, everything = setting.model, np.arange(40)
    plan = model.designs(everything, ("g",), np.zeros(40, dtype=bool))[0]
    w, m = plan.weights, int(np.count_nonzero(plan.weights))
    others = []
    for accuracy in np.geomspace(2.0, 12.0, 12):
        policy = GEGE(0.1, bounds=("sup",), designs=("g",), first_accuracy=float(accuracy))
        want = policy.init(setting).want
        N = int(want.sum())
        assert (want >= (N - m + 1) * w - 1e-9).all()
        by_leverage = model.integers(plan, everything, N)
        others.append(bool((by_leverage >= (N - m + 1) * w - 1e-9).all()))
    assert not all(others)


INSTANCES = {
    "linear": synthetic(15, sigma=0.2),
    "unstructured": Instance(None, synthetic(10).mu, 0.2),
    "exact": Instance(None, [[1.0, 0.0], [0.5, 1.0], [0.2, 1.0]], [0.2, 0.0]),
}


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("more", [{}, {"epsilon": 0.05}, {"ratio": 1.6, "max_rounds": 7}])
def test_the_plan_is_exact_at_first_and_an_upper_end_later(name, more):
    instance = INSTANCES[name]
    policy, setting = GEGE(0.1, **more), setting_of(instance)
    plan = policy.plan(setting)
    first = int(policy.allocate(policy.init(setting)).sum())
    assert plan[0].low == plan[0].high == first
    rng = np.random.default_rng(1)
    for _ in range(30):
        state = policy.init(setting)
        while policy.stopped(state) is None:
            counts = policy.allocate(state)
            if state.number <= len(plan):
                assert counts.sum() <= plan[state.number - 1].high
            luck = rng.standard_normal(instance.mu.shape) / np.sqrt(np.maximum(counts, 1))[:, None]
            state = policy.observe(
                state, quiet(instance.mu + instance.sigma * luck, counts, instance.sigma)
            )


@pytest.mark.parametrize("policy", [GEGE(budget=61), FixedDesign(delta=0.1, budget=61)])
def test_plans_of_a_budget_sum_to_it(policy):
    for setting in (study(TRADE), study(K=4)):
        plan = policy.plan(setting)
        assert sum(step.high for step in plan) == 61
        assert plan[0].low == plan[0].high == policy.allocate(policy.init(setting)).sum()


def test_a_plan_of_nothing():
    for policy in (GEGE(0.1), GEGE(budget=9), FixedDesign(delta=0.1, budget=9)):
        assert policy.plan(study(K=1)) == ()
    unknown = GEGE(0.1).plan(study(K=4, noise=Noise.unknown(2)))
    assert len(unknown) == 1
    assert unknown[0].high == 24
