"""Unknown noise in the policies whose widths hold at all times: an upper limit, paid from the risk."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paretoscope import sim
from paretoscope.core.confidence import sigma_upper
from paretoscope.errors import UsageError
from paretoscope.policies import APE, PSIPS, Noise, Racing, StopReason, Tally, Tracking, scales
from paretoscope.policies.scales import scale_limits
from paretoscope.sim import monte_carlo, setting_of
from tests.policies.drive import drive, quiet, study
from tests.statistics import above, at_most

PLANE = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.2, 0.2], [0.5, 0.1]])
UNKNOWN = Noise.unknown(2)
POLICIES = {
    "tracking": Tracking(0.1, max_samples=20_000),
    "ape": APE(0.1, growth=0.3, max_samples=20_000),
    "racing": Racing(0.1, growth=0.2, max_samples=20_000),
    "psips": PSIPS(0.1, stop="certificate", growth=0.2, max_samples=20_000),
}


@pytest.mark.parametrize("X", [PLANE, None], ids=["plane", "no features"])
@pytest.mark.parametrize("name", POLICIES)
def test_the_first_round_learns_the_scales_and_they_stay(name, X):
    policy, mu = POLICIES[name], 4.0 * PLANE
    states = drive(policy, study(X, K=5, noise=UNKNOWN), mu, np.array([0.5, 2.0]), most=2_000)
    first = states[1]
    least = 2 if X is not None and name in {"tracking", "psips"} else 5
    assert first.spent >= (48 if name == "tracking" else least + scales.FREEDOM)
    nu = first.spent - least  # the fit is perfect: what is spare in the design is spare in the data
    spare = (first.spent - np.count_nonzero(first.told)) / nu
    want = sigma_upper(np.array([0.5, 2.0]) * np.sqrt(spare), nu, 0.01)
    assert first.unit == pytest.approx(want)
    assert all((state.unit == first.unit).all() for state in states[1:])
    verdict = policy.verdict(states[-1])
    assert verdict.accepted.tolist() == [True, True, True, False, False]
    assert verdict.certificate.certified
    assert "estimated from the data" in " ".join(verdict.certificate.assumptions)


@pytest.mark.parametrize("name", POLICIES)
def test_it_costs_what_a_larger_sigma_and_a_smaller_risk_cost(name):
    """The same run, given the limit as sigma and nine tenths of delta, ends with the same pulls."""
    policy, mu = POLICIES[name], 4.0 * PLANE
    states = drive(policy, study(PLANE, noise=UNKNOWN), mu, 1.0, most=2_000)
    known = drive(policy, study(PLANE, noise=Noise(np.ones(2))), mu, 1.0, most=2_000)
    assert states[-1].spent > known[-1].spent
    setting = study(PLANE, noise=UNKNOWN)
    assert policy.risk_of(setting) == pytest.approx(0.09)
    assert policy.risk_of(study(PLANE)) == 0.1


def test_a_metric_of_known_scale_keeps_it():
    setting = study(PLANE, noise=Noise(np.array([0.5, np.nan])))
    state = drive(Tracking(0.1), setting, 4.0 * PLANE, 1.0)[-1]
    assert state.unit[0] == 0.5
    assert 1.0 < state.unit[1] < 1.6


@pytest.mark.parametrize("name", POLICIES)
def test_noise_that_never_varies_is_no_noise(name):
    policy = POLICIES[name]
    state = drive(policy, study(PLANE, noise=UNKNOWN), PLANE, 0.0)[-1]
    assert state.stop is StopReason.SILENT
    assert not policy.verdict(state).certificate.certified


@pytest.mark.parametrize("name", POLICIES)
def test_a_first_round_that_was_mostly_lost_is_followed_by_another(name):
    policy = POLICIES[name]
    state = policy.init(study(PLANE, noise=UNKNOWN))
    want = policy.allocate(state)
    some = np.minimum(want, 1)
    state = policy.forgo(state, want - some)
    state = policy.observe(state, quiet(4.0 * PLANE, some))
    assert np.isnan(state.unit).all()
    assert policy.verdict(state).undecided.all()
    while policy.stopped(state) is None:
        state = policy.observe(state, quiet(4.0 * PLANE, policy.allocate(state), 1.0))
    assert policy.verdict(state).certificate.certified


def test_guesses_take_no_limit():
    with pytest.raises(UsageError, match="needs a known sigma"):
        Racing(0.1, bonus="reference").init(study(PLANE, noise=UNKNOWN))


def limits_too_low(runs, share_of=1.0):
    """Studies whose limits lie below the truth (scales 1 and 3) in some metric."""
    rng, setting = np.random.default_rng(3), study(PLANE, noise=UNKNOWN)
    counts, low = np.array([20, 20, 0, 0, 20]), 0
    for _ in range(runs):
        m2 = np.where(counts[:, None] > 0, [1.0, 9.0] * rng.chisquare(19, (5, 2)), 0.0)
        means = rng.standard_normal((5, 2)) * [1.0, 3.0] / np.sqrt(20) * (counts > 0)[:, None]
        found = scale_limits(setting.model, UNKNOWN, Tally(counts, means, m2), 0.5)
        low += bool((found.sigma * share_of < [1.0, 3.0]).any())
    return low


def test_the_limits_hold_with_their_risk():
    """2,000 studies, delta' = 0.05: the limit fails no more often; a tenth less of it does."""
    at_most(limits_too_low(2_000), 2_000, 0.05)
    above(limits_too_low(2_000, 0.9), 2_000, 0.05)
    # both sides: the rate is that of two independent chi-square laws
    expected = 1 - stats.chi2.sf(stats.chi2.ppf(0.025, 58), 58) ** 2
    assert expected < 0.05


@pytest.mark.parametrize("name", ["tracking", "psips"])
def test_nothing_wrong_is_said_of_unknown_noise(name):
    """30 studies each at delta = 0.1."""
    world = sim.random_instance(12, 3, 2, 0.3, seed=2, sigma=1.0)
    setting = setting_of(world, noise=UNKNOWN)
    found = monte_carlo(POLICIES[name], world, 30, seed=4, setting=setting)
    at_most(sum(not run.correct for run in found), 30, 0.1)
    assert np.mean([run.exact for run in found]) > 0.5
