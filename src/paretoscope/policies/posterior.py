"""Ridge regression on all pulls: estimates and their deviations, whatever was pulled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.policies.base import Tally
from paretoscope.policies.model import Model, like
from paretoscope.policies.rounds import RoundState


class Posterior(NamedTuple):
    """What all pulls say of all arms, in units in which the noise of a pull is 1.

    Attributes
    ----------
    mu : (n, d) array
        Estimates: the means of a Gaussian posterior with prior variance 1 / ridge of the parameters.
    s : (n,) array
        Their standard deviations sqrt(x' V^-1 x), V = sum x x' + ridge I.
    Theta : (h, d) array
        The parameters; without features, the estimates themselves.
    root : (h, h) array or None
        R with V^-1 = R R'; None without features (V is diagonal then, with entries 1 / s^2).
    """

    mu: FloatArray
    s: FloatArray
    Theta: FloatArray
    root: FloatArray | None


def posterior(model: Model, tally: Tally, ridge: float) -> Posterior:
    """The posterior after the pulls of a tally by arm."""
    Z, n = model.coordinates(), tally.counts.astype(np.float64)
    if Z is None:
        v = n + ridge
        mu = tally.means * (n / v)[:, None]
        return Posterior(mu, 1.0 / np.sqrt(v), mu, None)
    V = (Z * n[:, None]).T @ Z + ridge * np.eye(Z.shape[1])
    root = np.linalg.inv(np.linalg.cholesky(V)).T
    Theta = root @ (root.T @ ((Z * n[:, None]).T @ tally.means))
    mu, s = Z @ Theta, np.linalg.norm(Z @ root, axis=1)
    if model.twins:  # arms of equal features have the very same estimate
        mu, s = mu[like(model.twin)], s[like(model.twin)]
    return Posterior(mu, s, Theta, root)


def spanning_pulls(state: RoundState, arms: IntArray, N: int | None = None) -> IntArray:
    """First N pulls: by default h of a G-optimal design; every arm once without features."""
    model = state.setting.model
    plans = model.designs(arms, ("g",), state.barred)
    found = model.integers(plans[0], arms, N or model.least(arms)) if plans else None
    return np.ones(len(state.status), dtype=np.int64) if found is None else found
