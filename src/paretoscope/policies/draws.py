"""Draws of all means from a posterior, and the first whose Pareto front is another one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import front_of
from paretoscope.errors import UsageError
from paretoscope.policies.model import like
from paretoscope.policies.posterior import posterior
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import ACTIVE, RoundState

# A nearly flat prior.
RIDGE = 1e-6
# Draws of the first block, and comparisons of one block: 16 MB of booleans.
_FIRST, _CELLS = 16, 1 << 24


@dataclass(frozen=True)
class Draws:
    """The posterior of n arms in d noisy metrics, in units of sigma.

    Attributes
    ----------
    mu : (n, d) array
    P : (n, h) or (n,) array
        ``P P'`` is the covariance of the means in one metric; (n,): without features, deviations.
    L : (d, d) array
        ``L L'`` is the correlation of the metrics.
    exact : (n, e) array
        Metrics without noise, the same in every draw.
    like : (n,) int array
        For each arm, the first of equal features: they share every draw.
    open : (n,) bool array
        Arms in question: a front that differs only in others is the same.
    """

    mu: FloatArray
    P: FloatArray
    L: FloatArray
    exact: FloatArray
    like: IntArray
    open: BoolArray

    def front(self, arms: IntArray) -> BoolArray:
        """Which arms are the Pareto set of the estimates of some arms."""
        values = np.concatenate([self.mu[arms], self.exact[arms]], axis=1)
        found = np.zeros(len(self.mu), dtype=bool)
        found[arms] = front_of(values)
        return found

    def other_fronts(
        self, scale: float, most: int, rng: np.random.Generator, front: BoolArray
    ) -> FloatArray:
        """Means (m, n, d) of the first draws of another front, covariance times ``scale``.

        Those of the first block of draws that has any; none if none of ``most`` draws is one.
        """
        n, d = self.mu.shape
        block = max(1, _CELLS // (max(1, int(front.sum())) * n * d))
        done, size = 0, min(_FIRST, block)
        while done < most:
            size = min(size, most - done)
            means = self.mu + np.sqrt(scale) * self._shifts(size, rng)
            changed = self._differs(means, front)
            if changed.any():
                return np.asarray(means[changed])
            done, size = done + size, min(block, 4 * size)
        return np.empty((0, n, d))

    def _shifts(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draws (size, n, d) of what the means are off."""
        d = len(self.L)
        G = rng.standard_normal((size, self.P.shape[-1], d)) @ self.L.T
        shifts = self.P[:, None] * G if self.P.ndim == 1 else np.matmul(self.P, G)
        return np.asarray(shifts[:, self.like])

    def _differs(self, means: FloatArray, front: BoolArray) -> BoolArray:
        """Which draws have another front: one inside is beaten from inside, or one outside is not."""
        exact = np.broadcast_to(self.exact, (len(means), *self.exact.shape))
        means = np.concatenate([means, exact], axis=2)
        inside = means[:, front]
        beaten = _beaten(inside, means[:, self.open]).any(axis=1)
        return np.asarray((beaten == front[self.open]).any(axis=1))

    def gains(self, others: FloatArray) -> FloatArray:
        """|mu_a - other_a|^2 in the norm of the inverse correlation, for every arm a, on average."""
        off = (self.mu - others) @ np.linalg.inv(self.L).T
        return np.asarray(np.square(off).sum(axis=2).mean(axis=0))


def _beaten(by: FloatArray, arms: FloatArray) -> BoolArray:
    """(m, b, a): whether arm a is dominated by b in draw m."""
    shape = (len(by), by.shape[1], arms.shape[1])
    least, more = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for c in range(by.shape[2]):
        x, y = by[:, :, None, c], arms[:, None, :, c]
        least &= x >= y
        more |= x > y
    return least & more


def build_draws(state: RoundState, correlation: tuple[tuple[float, ...], ...] | None) -> Draws:
    """The posterior of all arms after the pulls of a state whose unit is sigma."""
    model, unit = state.setting.model, np.asarray(state.unit)
    tally, Z = noisy_part(state.setting, state.got), model.coordinates()
    found = posterior(model, tally._replace(means=tally.means / unit), RIDGE)
    P = found.s if Z is None or found.root is None else Z @ found.root
    R = np.eye(len(unit)) if correlation is None else np.array(correlation)
    exact, open_ = state.exact[model.first], state.status == ACTIVE
    return Draws(found.mu, P, np.linalg.cholesky(R), exact, like(model.twin), open_)


def check_correlation(R: FloatArray) -> None:
    """Refuse what is no correlation of noise."""
    square = R.ndim == 2 and R.shape[0] == R.shape[1]
    if not (square and (np.diag(R) == 1.0).all() and (R == R.T).all()):
        raise UsageError("correlation: a symmetric matrix with ones on its diagonal")
    if np.linalg.eigvalsh(R).min() <= 0.0:
        raise UsageError(
            "correlation: not positive definite, so metrics would determine each other"
        )
