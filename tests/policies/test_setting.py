from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import GEGE, FixedDesign, Noise, Setting
from paretoscope.policies.setting import resolve_epsilon
from tests.policies.drive import study


def test_noise_in_words_and_numbers():
    assert Noise.known(0.5, 3).sigma.tolist() == [0.5, 0.5, 0.5]
    assert Noise.known([1, 2], 2).sigma.tolist() == [1.0, 2.0]
    assert Noise.unknown(2).unknowns.all()
    assert Noise.unknown(2, resolution=0.1).resolution.tolist() == [0.1, 0.1]


def test_bounded_values_are_subgaussian_of_half_their_range():
    noise = Noise.bounded([0.0, -1.0], [1.0, 3.0])
    assert noise.kind == "subgaussian"
    assert noise.sigma.tolist() == [0.5, 2.0]


def test_a_proportion_of_n_trials_has_scale_half_over_root_n():
    noise = Noise.proportion([100, 400])
    assert noise.kind == "subgaussian"
    np.testing.assert_allclose(noise.sigma, [0.05, 0.025])


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf])
def test_a_scale_that_is_none_is_refused_with_the_remedy(sigma):
    with pytest.raises(UsageError, match="exact one, an unknown noise is NaN"):
        Noise.known(sigma, 2)


def test_an_unknown_scale_needs_gaussian_noise():
    with pytest.raises(UsageError, match="bounds of the metric"):
        Noise(np.array([np.nan]), "subgaussian")
    with pytest.raises(UsageError, match="'gaussian' or 'subgaussian'"):
        Noise(np.ones(1), "cauchy")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"K": 0}, "both at least 1"),
        ({"d": 0, "noise": Noise.known(1.0, 1)}, "both at least 1"),
        ({"X": np.ones((3, 2))}, "3 rows of features for 4"),
        ({"X": np.full((4, 1), np.nan)}, "finite"),
        ({"noise": Noise.known(1.0, 3)}, "need 2 entries"),
        ({"exact": np.array([True])}, "need 2 entries"),
        ({"known": np.zeros((4, 1))}, r"shape \(4, 2\)"),
        ({"epsilon": [-1.0, 0.0]}, "epsilon must be finite and not negative"),
        ({"epsilon": np.inf}, "epsilon must be finite"),
        ({"zeta": [0.1, np.nan]}, "zeta must be finite"),
    ],
)
def test_settings_that_make_no_sense(more, message):
    with pytest.raises(UsageError, match=message):
        Setting(**({"K": 4, "d": 2, "noise": Noise.known(1.0, 2)} | more))


def test_one_tolerance_is_for_every_metric():
    assert study(K=3, epsilon=0.5).epsilon.tolist() == [0.5, 0.5]
    assert study(K=3, zeta=0.25).zeta.tolist() == [0.25, 0.25]


def test_epsilon_is_given_in_one_place():
    setting = study(K=3, epsilon=[0.1, 0.2])
    assert resolve_epsilon(setting, 0.0).tolist() == [0.1, 0.2]
    assert resolve_epsilon(study(K=3), 0.3).tolist() == [0.3, 0.3]
    assert resolve_epsilon(study(K=3, epsilon=0.3), 0.3).tolist() == [0.3, 0.3]
    for policy in (GEGE(0.1, 0.3), FixedDesign(delta=0.1, epsilon=0.3, budget=60)):
        with pytest.raises(UsageError, match="give it in one place"):
            policy.init(setting)


def test_what_is_exact_and_what_must_be_measured():
    exact = np.array([False, True])
    known = np.array([[np.nan, 1.0], [np.nan, np.nan], [np.nan, 3.0]])
    assert study(K=3).to_measure.tolist() == [False] * 3
    assert study(K=3, exact=exact).to_measure.tolist() == [True] * 3
    assert study(K=3, exact=exact, known=known).to_measure.tolist() == [False, True, False]
    assert study(K=3, exact=exact).noisy.tolist() == [True, False]


def test_seeds_share_the_cache_and_bare_settings_leave_it_behind():
    setting = study(np.eye(3))
    assert setting.reseeded(9).seed == 9
    assert setting.seed == 0
    model = setting.model
    assert setting.reseeded(5).model is model
    assert setting.bare().model is not model
    fresh = study(np.eye(3))
    assert fresh.reseeded(5).model is fresh.reseeded(6).model  # before anybody has asked for it


def test_a_seed_reaches_the_setting_without_features():
    setting = study(np.eye(3), seed=1)
    assert setting.unstructured.seed == 1
    assert setting.reseeded(2).unstructured.seed == 2


def test_a_setting_without_its_features():
    setting = study(np.eye(3), zeta=0.1)
    free = setting.unstructured
    assert free.free
    assert free.zeta is None
    assert not free.model.linear
    assert free.unstructured is free
    assert study(K=3).unstructured.model.rank == 3


def test_the_callers_arrays_are_not_written_to():
    X, sigma, epsilon = np.eye(3), np.ones(2), np.full(2, 0.5)
    Setting(K=3, d=2, noise=Noise(sigma), X=X, epsilon=epsilon)
    assert X.flags.writeable
    assert sigma.flags.writeable
    assert epsilon.flags.writeable
    sigma[:] = 2.0
    assert (X == np.eye(3)).all()
    assert (epsilon == 0.5).all()


def test_all_zero_features_are_refused():
    with pytest.raises(UsageError, match="zero"):
        _ = study(np.zeros((3, 2))).model
