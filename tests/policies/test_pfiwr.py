"""PFIwR: the instances it settles, those it refuses, and why nothing it says is certified."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope import sim
from paretoscope.core.doubly_robust import first_label, published_widths
from paretoscope.errors import UsageError
from paretoscope.policies import PFIwR, StopReason, from_plain, to_plain
from paretoscope.policies.mixing import axes_without
from paretoscope.sim import Instance, monte_carlo, setting_of, simulate
from paretoscope.testing import check_partition
from tests import naive
from tests.policies.drive import quiet, study
from tests.statistics import above

FAN = np.array([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0], [0.2, 0.2], [0.4, 0.1], [0.1, 0.4]])


def easy(d: int = 2) -> Instance:
    """Two features, three optimal candidates of six (one of six, for one metric), sigma = 0.3."""
    return Instance(FAN, FAN @ np.array([[1.0, 0.2], [0.0, 1.0]])[:, :d], 0.3)


@pytest.mark.parametrize("d", [1, 2])
def test_easy_instances_of_two_features_are_settled(d: int) -> None:
    """20 runs at delta = 0.1 with a thousandth of the explorations: all of them exact."""
    found = monte_carlo(PFIwR(0.1, gamma_scale=1e-3, growth=0.2), easy(d), 20, 1)
    for run in found:
        assert run.stop is StopReason.DECIDED
        assert run.answer.tolist() == naive.non_dominated(easy(d).mu)
        assert run.pulls >= first_label(2, 0.1, 1e-3)
        assert not run.certificate.certified
        assert "0.001 of the explorations" in run.certificate.reason


def test_noc_is_refused_up_front_with_what_it_would_need(noc_csv) -> None:
    setting = setting_of(sim.noc(noc_csv))
    with pytest.raises(UsageError, match=r"no label before 3\.1e\+08 measurements \(h = 4, gamma"):
        PFIwR(0.1).init(setting)
    with pytest.raises(UsageError, match=r"3\.1e\+08"):
        PFIwR(0.1).plan(setting)
    assert PFIwR(0.1, gamma_scale=1e-3).init(setting).stop is None
    assert PFIwR(0.1, max_samples=10**9).init(setting).stop is None
    assert PFIwR(0.1).init(study(K=1)).stop is StopReason.DECIDED


def test_the_first_label_is_where_half_of_the_pulls_may_exploit() -> None:
    """From that step on t >= 2 gamma_t for good; a tenth of it is too early."""
    for h, delta, scale in ((1, 0.1, 1.0), (4, 0.01, 1.0), (3, 0.2, 1e-3)):
        need = first_label(h, delta, scale)
        gamma = lambda t: scale * 33750 * h**3 * np.log(2 * h * t**2 / delta)  # noqa: E731, B023
        assert all(t >= 2 * gamma(t) for t in need * np.array([1, 1.5, 2, 10, 1e4]))
        assert need / 10 < 2 * gamma(need / 10)


def crowd(K: int) -> Instance:
    """Two features, half of the candidates on each axis, the two best ones all but equal."""
    length = np.linspace(0.9, 1.0, K // 2)
    X = np.vstack([np.outer(length, [1.0, 0.0]), np.outer(length, [0.0, 1.0])])
    return Instance(X, X @ np.array([[1.0], [1.0 + 1e-7]]), 1.0)


def test_the_published_widths_promise_more_than_any_estimate_can_keep() -> None:
    """K = 5,000, h = 2: the width of the two best is below one deviation of the best design."""
    world, t = crowd(5000), 10**8
    axes = axes_without(setting_of(world), np.zeros(5000, dtype=bool))
    w = published_widths(axes, t, 1, 0.1, 1.5, 5000)
    best = [2499, 4999]
    deviation = np.sqrt((world.X[best] ** 2 @ [2 / t, 2 / t]).sum())  # half of all pulls on each
    assert w[best].sum() < deviation


@pytest.mark.long
def test_a_crowd_is_mislabelled() -> None:
    """30 runs at delta = 0.1 with a thousandth of the constant: errors beyond the risk.

    Widths and deviations both fall as 1/sqrt(t), and every pull explores until the first label at
    half of them: with the whole constant the same happens a thousand times later.
    """
    policy = PFIwR(0.1, gamma_scale=1e-3, theta_max=1.5, growth=0.1, max_samples=60_000)
    found = monte_carlo(policy, crowd(3000), 30, 1)
    errors = sum(not run.correct for run in found)
    assert min(run.pulls for run in found) >= first_label(2, 0.1, 1e-3)
    print(errors, "of 30 wrong")
    above(errors, 30, 0.1)


def test_candidates_that_are_lost_leave_and_the_axes_turn() -> None:
    policy, setting = PFIwR(0.1, gamma_scale=1e-5, growth=0.5), study(FAN, sigma=0.1)
    state, mu = policy.init(setting), FAN
    while state.mix.sums.t < 40:
        state = policy.observe(state, quiet(mu, policy.allocate(state), 0.1))
    while not policy.allocate(state)[0]:
        state = policy.observe(state, quiet(mu, policy.allocate(state), 0.1))
    want, gone = policy.allocate(state), np.arange(6) == 0
    state = policy.forgo(state, np.where(gone, want, 0), gone)
    if state.mix.lost[0] == 0:  # other pulls of the round were still to come
        state = policy.observe(state, quiet(mu, policy.allocate(state), 0.1))
    assert (state.mix.sums.t, state.mix.lost.tolist()) == (0, gone.tolist())
    assert state.mix.counts[0] > 0
    state = from_plain(to_plain(state), setting)
    while policy.stopped(state) is None:
        want = policy.allocate(state)
        assert want[0] == 0
        state = policy.observe(state, quiet(mu, want, 0.1))
    verdict = policy.verdict(state)
    check_partition(verdict, 6)
    assert verdict.infeasible.tolist() == gone.tolist()
    assert verdict.accepted.tolist() == [False, True, True, False, False, False]


def test_settings_that_make_no_sense() -> None:
    for wrong in ({"gamma_scale": 0.0}, {"theta_max": np.inf}, {"growth": 2.0}, {"epsilon": -1.0}):
        with pytest.raises(UsageError):
            PFIwR(0.1, **wrong)
    with pytest.raises(UsageError, match="takes the linear model as exact"):
        PFIwR(0.1).init(study(FAN, zeta=0.1))
    with pytest.raises(UsageError, match="501 candidates are too many"):
        PFIwR(0.1).init(study(K=501))
    assert "below what any estimate" in PFIwR(0.1).guarantee.reason


def test_quiet_worlds_ties_and_copies() -> None:
    """Zero noise in the data, equal features, a row of zeros: the right answer, copies alike."""
    X = np.vstack([FAN, FAN[:2], np.zeros(2)])
    run = simulate(
        PFIwR(0.1, 0.1, gamma_scale=1e-4, growth=0.3), Instance(X, X @ np.eye(2), 0.01), 0
    )
    assert run.near.tolist() == [True, True, True, False, False, False, True, True, False]
    assert run.rejected.sum() == 4
