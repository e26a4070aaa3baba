"""Studies small enough to know the answer, and ways to push a policy through them."""

from __future__ import annotations

import numpy as np

from paretoscope.policies import Noise, Setting, Tally


def study(X=None, *, K=None, d=2, sigma=1.0, noise=None, **more):
    """A setting; the noise is known unless given."""
    X = None if X is None else np.asarray(X, dtype=float)
    K = len(X) if X is not None else K
    return Setting(K=K, d=d, noise=Noise.known(sigma, d) if noise is None else noise, X=X, **more)


def quiet(mu, counts, sigma=0.0):
    """Pulls whose means are the truth and whose spread is what is typical of sigma."""
    mu = np.asarray(mu, dtype=float)
    pulled = (counts > 0)[:, None]
    spare = np.maximum(counts - 1, 0)[:, None] * np.square(np.broadcast_to(sigma, mu.shape))
    return Tally(counts, np.where(pulled, mu, 0.0), np.where(pulled, spare, 0.0))


def drive(policy, setting, mu, sigma=0.0, most=60):
    """All states of a run without bad luck, the first one included."""
    states = [policy.init(setting)]
    while policy.stopped(states[-1]) is None and len(states) <= most:
        counts = policy.allocate(states[-1])
        states.append(policy.observe(states[-1], quiet(mu, counts, sigma)))
    assert len(states) <= most, "the run did not end"
    return states


def answer(policy, setting, mu, sigma=0.0, most=60):
    """The verdict at the end of such a run."""
    return policy.verdict(drive(policy, setting, mu, sigma, most)[-1])
