from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import UsageError
from paretoscope.policies import Uniform
from tests.policies.drive import answer, drive, study

MU = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5], [0.3, 0.1]])


def counts(T, seed, X=None):
    return Uniform(T).allocate(Uniform(T).init(study(X, K=5, seed=seed)))


def test_every_candidate_gets_its_share_and_the_rest_is_drawn():
    assert counts(20, 0).tolist() == [4] * 5
    drawn = np.array([counts(22, seed) for seed in range(40)])
    assert (drawn.sum(axis=1) == 22).all()
    assert set(drawn.ravel()) == {4, 5}
    assert (drawn.max(axis=0) == 5).all()  # everybody is drawn sometime
    assert (counts(22, 7) == counts(22, 7)).all()


def test_features_and_their_copies_are_ignored():
    X = np.ones((5, 1))
    assert (counts(23, 3, X) == counts(23, 3)).all()
    states = drive(Uniform(25), study(X), MU, 1.0)
    assert states[-1].told.tolist() == [5] * 5
    verdict = Uniform(25).verdict(states[-1])
    assert verdict.accepted.tolist() == [True, True, True, False, True]
    assert "linear" not in " ".join(verdict.certificate.assumptions)


def test_it_certifies_nothing():
    certificate = answer(Uniform(10), study(K=5), MU, 1.0).certificate
    assert not certificate.certified
    assert certificate.pulls == 10
    assert "it certifies nothing" in certificate.reason
    assert np.isnan(certificate.delta)


def test_a_budget_below_one_each_is_refused():
    with pytest.raises(UsageError, match="budget 4 is below one measurement for each of 5"):
        counts(4, 0)
    assert answer(Uniform(1), study(K=1), MU[:1]).accepted.all()
