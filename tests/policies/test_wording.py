from __future__ import annotations

import numpy as np
import pytest

from paretoscope.policies import GEGE, FixedDesign, Noise, OneShot
from tests.policies.drive import answer, drive, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])


def told(setting, policy=None, sigma=1.0):
    return answer(policy or GEGE(0.1), setting, TRADE, sigma).certificate


@pytest.mark.parametrize(
    "policy", [GEGE(0.05, 0.01), FixedDesign(delta=0.05, epsilon=0.01, budget=90)]
)
def test_a_certificate_names_its_terms(policy):
    certificate = told(study(TRADE, sigma=0.1), policy, 0.1)
    assert certificate.certified
    assert certificate.reason == "every candidate is decided"
    assert certificate.delta == 0.05
    assert certificate.epsilon.tolist() == [0.01, 0.01]
    assert certificate.bound
    assert certificate.pulls > 0
    assert certificate.assumptions == (
        "measurements are independent",
        "noise is Gaussian of scale 0.1, 0.1",
        "means are linear in the features",
    )


@pytest.mark.parametrize(
    ("noise", "sentence"),
    [
        (Noise.unknown(2), "noise is Gaussian with one scale per metric, estimated from the data"),
        (Noise(np.array([0.5, np.nan])), "noise is Gaussian of scale 0.5, estimated"),
        (Noise.bounded([0, 0], [1, 3]), "noise is sub-Gaussian of scale 0.5, 1.5"),
        (Noise.proportion([100, 100]), "noise is sub-Gaussian of scale 0.05, 0.05"),
    ],
)
def test_what_is_assumed_of_the_noise(noise, sentence):
    assert sentence in told(study(K=4, noise=noise), sigma=0.1).assumptions


def test_what_else_is_assumed():
    log = told(study(K=4, scale=("log", "linear"), exact=np.array([False, True])), sigma=[1.0, 0])
    assert "a metric on the log scale is judged by its geometric mean" in log.assumptions
    assert "exact metrics repeat exactly" in log.assumptions
    misfit = told(study(np.eye(4), sigma=0.1, zeta=[0.01, 0.02]), GEGE(0.1, max_rounds=9), 0.1)
    assert "means are linear in the features up to 0.01, 0.02" in misfit.assumptions
    exact = told(study(K=4, exact=np.array([True, True])))
    assert exact.assumptions == ("exact metrics repeat exactly",)


@pytest.mark.parametrize(
    ("schedule", "why"),
    [("authors", "neither sigma nor a union bound"), ("paper", "4 delta, not delta")],
)
def test_a_schedule_without_proof_certifies_nothing_and_says_why(schedule, why):
    certificate = told(study(K=4), GEGE(0.1, schedule=schedule))
    assert not certificate.certified
    assert why in certificate.reason


def test_a_budget_says_that_it_certifies_nothing():
    certificate = told(study(K=4), OneShot(40))
    assert not certificate.certified
    assert np.isnan(certificate.delta)
    assert "certifies nothing" in certificate.reason


def test_while_measuring_goes_on_nothing_is_certified():
    state = drive(GEGE(0.1), study(K=4), TRADE, 1.0)[0]
    certificate = GEGE(0.1).verdict(state).certificate
    assert not certificate.certified
    assert certificate.reason == "4 candidates are undecided: measuring goes on"
    assert np.isinf(certificate.achieved_epsilon).all()


def test_copies_count_as_candidates():
    X = TRADE[[0, 0, 0, 1]]
    state = GEGE(0.1).init(study(X))
    assert "4 candidates are undecided" in GEGE(0.1).verdict(state).certificate.reason
