"""Everything measured so far, as the anytime claims read it: estimates, and variances of differences.

All means are in units of the noise of their metric, so that every noise has scale 1. A field is
derived from a tally and the model; it is never part of a state. Arms that share no features have
their own counts in place of Gram matrices: an identity matrix is never built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.policies.base import Tally
from paretoscope.policies.model import Model

# Directions held at once: 2^21 doubles are 16 MB.
_BLOCK = 1 << 21
# Eigenvalues of a Gram matrix below the largest over this are zero; so is a squared length this small.
_SINGULAR, _OUTSIDE = 1e12, 1e-14


class Field(Protocol):
    """What claims need to know of the data."""

    @property
    def mu(self) -> FloatArray:
        """Estimates (n, d) in units of the noise."""
        ...

    @property
    def ratios(self) -> FloatArray:
        """Eigenvalues of W_0^-1 V."""
        ...

    def squares(self, i: IntArray, j: IntArray) -> FloatArray:
        """|x_j - x_i|^2 in the norm of V^-1; infinite where the data cannot tell."""
        ...

    def shares(self, i: IntArray, j: IntArray) -> FloatArray:
        """[u'V^-1 W_0 V^-1 u] / [u'V^-1 u], u = x_j - x_i."""
        ...

    def draws(self, rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        """Means (n, d) drawn from N(mu, V^-1)."""
        ...


@dataclass(frozen=True)
class LinearField:
    """Means linear in coordinates Z; W_0 is the Gram matrix of the G-optimal design on all arms."""

    Z: FloatArray
    V: FloatArray
    W0: FloatArray
    mu: FloatArray

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """V^+ = root root', and a basis of the directions that nothing was measured of."""
        return pseudo_root(self.V)

    @cached_property
    def _inverse(self) -> FloatArray:
        root = self._parts[0]
        return np.asarray(root @ root.T)

    @cached_property
    def ratios(self) -> FloatArray:
        """Eigenvalues of W_0^-1 V."""
        L = np.linalg.inv(np.linalg.cholesky(self.W0))
        return np.asarray(np.maximum(np.linalg.eigvalsh(L @ self.V @ L.T), 0.0))

    def squares(self, i: IntArray, j: IntArray) -> FloatArray:
        """|x_j - x_i|^2 in the norm of V^-1; infinite where x_j - x_i is outside the measured span."""
        found, unseen = self._forms(i, j, self._inverse), self._parts[1]
        if unseen.shape[1]:
            found[self._forms(i, j, unseen @ unseen.T) > _OUTSIDE] = np.inf
        return found

    def shares(self, i: IntArray, j: IntArray) -> FloatArray:
        """[u'V^-1 W_0 V^-1 u] / [u'V^-1 u]."""
        squares = self._forms(i, j, self._inverse)
        turned = self._forms(i, j, self._inverse @ self.W0 @ self._inverse)
        return turned / np.where(squares > 0, squares, 1.0)

    def _forms(self, i: IntArray, j: IntArray, M: FloatArray) -> FloatArray:
        """Quadratic forms u'Mu of u = x_j - x_i, a block at a time."""
        out = np.empty(len(i))
        step = max(1, _BLOCK // self.Z.shape[1])
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            U = self.Z[j[part]] - self.Z[i[part]]
            out[part] = np.einsum("mh,mh->m", U @ M, U)
        return out

    def draws(self, rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        """Means drawn from the law of the estimates."""
        root = self.Z @ self._parts[0]
        for _ in range(count):
            yield self.mu + root @ rng.standard_normal((root.shape[1], self.mu.shape[1]))


@dataclass(frozen=True)
class FreeField:
    """One free mean per arm: V = diag(n), W_0 = diag(w)."""

    n: FloatArray
    w: FloatArray
    mu: FloatArray

    @property
    def ratios(self) -> FloatArray:
        """n_a / w_a."""
        return self.n / self.w

    def squares(self, i: IntArray, j: IntArray) -> FloatArray:
        """1 / n_i + 1 / n_j."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.n[i] + 1.0 / self.n[j])

    def shares(self, i: IntArray, j: IntArray) -> FloatArray:
        """(w_i / n_i^2 + w_j / n_j^2) / (1 / n_i + 1 / n_j)."""
        a, b = np.maximum(self.n[i], 1e-300), np.maximum(self.n[j], 1e-300)
        return np.asarray((self.w[i] / a**2 + self.w[j] / b**2) / (1.0 / a + 1.0 / b))

    def draws(self, rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        """Means drawn from the law of the estimates; an arm without data is drawn very widely."""
        root = 1.0 / np.sqrt(np.maximum(self.n, 1e-12))[:, None]
        for _ in range(count):
            yield self.mu + root * rng.standard_normal(self.mu.shape)


def base_weights(model: Model, barred: BoolArray) -> FloatArray:
    """The G-optimal design on the arms that can be measured; uniform without features."""
    plan = model.designs(np.arange(len(model.first)), ("g",), barred)
    return plan[0].weights if plan else np.zeros(len(model.first))


def build_field(model: Model, tally: Tally, sigma: FloatArray) -> Field | None:
    """The field of a tally by arm; None where nothing was measured."""
    counts, Y = tally.counts.astype(np.float64), tally.means / sigma
    if not counts.any():
        return None
    nothing = np.zeros(len(counts), dtype=bool)
    w = base_weights(model, nothing)  # fixed before any data: whoever is lost later does not count
    Z = model.coordinates()
    if Z is None:
        return FreeField(counts, w, Y)
    pulled = np.flatnonzero(counts)
    X, n = Z[pulled], counts[pulled][:, None]
    V = (X * n).T @ X
    root, _ = pseudo_root(V)
    theta = root @ (root.T @ (X.T @ (n * Y[pulled])))
    return LinearField(Z, V, (Z * w[:, None]).T @ Z, Z @ theta)


def pseudo_root(V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A root of V^+ (h, rank), and a basis of the null space (h, h - rank)."""
    values, vectors = np.linalg.eigh(V)
    seen = values > max(float(values[-1]), 0.0) / _SINGULAR
    return vectors[:, seen] / np.sqrt(values[seen]), vectors[:, ~seen]
