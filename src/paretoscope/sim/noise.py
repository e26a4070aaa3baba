"""Noise with a known law, drawn as tallies: a round of a million pulls costs microseconds.

Gaussian noise needs no single pulls at all: the mean of n values is N(mu, Sigma/n), and the sum of
squared deviations is an independent Wishart whose diagonal is all a tally keeps. Noise that is not
Gaussian is drawn pull by pull.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.errors import UsageError
from paretoscope.policies.base import Tally


class World(Protocol):
    """Draws the measurements of a round."""

    def draw(self, mu: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
        """The tally of ``counts`` (K,) pulls of arms of means ``mu`` (K, d)."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Independent Gaussian noise per metric.

    Attributes
    ----------
    sigma : (d,) or (K, d) array
        One scale per metric, or per candidate and metric (heteroscedastic). 0 = exact.
    """

    sigma: FloatArray

    def draw(self, mu: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
        """Means and squared deviations of independent Gaussian values, drawn directly."""
        K, d = mu.shape
        pulled = np.flatnonzero(counts)
        n = counts[pulled].astype(np.float64)[:, None]
        sigma = np.broadcast_to(self.sigma, (K, d))[pulled]
        means, m2 = np.zeros((K, d)), np.zeros((K, d))
        noise = rng.standard_normal((len(pulled), d))
        means[pulled] = mu[pulled] + noise * sigma / np.sqrt(n)
        if n.max(initial=0) > 1:
            spare = np.broadcast_to(n - 1, (len(pulled), d))
            m2[pulled] = sigma**2 * 2.0 * rng.standard_gamma(spare / 2.0)
        return Tally(counts, means, m2)


@dataclass(frozen=True)
class Correlated:
    """Gaussian noise with a covariance (d, d) between the metrics of one measurement."""

    covariance: FloatArray

    def draw(self, mu: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
        """Correlated means; squared deviations from the diagonal of a Wishart by its factors."""
        L: FloatArray = np.linalg.cholesky(np.asarray(self.covariance, dtype=np.float64))
        K, d = mu.shape
        means, m2 = np.zeros((K, d)), np.zeros((K, d))
        for k in np.flatnonzero(counts):
            n = int(counts[k])
            means[k] = mu[k] + L @ rng.standard_normal(d) / np.sqrt(n)
            if n > 1:
                m2[k] = _wishart_diagonal(L, n - 1, rng)
        return Tally(counts, means, m2)


def _wishart_diagonal(L: FloatArray, nu: int, rng: np.random.Generator) -> FloatArray:
    """Diagonal of L A A' L', A A' standard Wishart with nu degrees of freedom (Bartlett 1933)."""
    d = len(L)
    if nu < d:
        G = L @ rng.standard_normal((d, nu))
        return np.asarray(np.square(G).sum(axis=1))
    A = np.tril(rng.standard_normal((d, d)), -1)
    A[np.arange(d), np.arange(d)] = np.sqrt(2.0 * rng.standard_gamma((nu - np.arange(d)) / 2.0))
    return np.asarray(np.square(L @ A).sum(axis=1))


@dataclass(frozen=True)
class Rademacher:
    """Values mu +- sigma with equal chances: bounded, as far from Gaussian as its scale allows."""

    sigma: FloatArray

    def draw(self, mu: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
        """Heads and tails counted by the binomial law."""
        K, d = mu.shape
        n = counts[:, None].astype(np.float64)
        heads = rng.binomial(counts[:, None], 0.5, (K, d))
        mean = np.divide(2.0 * heads - n, n, out=np.zeros((K, d)), where=n > 0)
        m2 = np.square(self.sigma) * n * (1.0 - np.square(mean))
        return Tally(counts, np.where(n > 0, mu + self.sigma * mean, 0.0), m2)


@dataclass(frozen=True)
class Bernoulli:
    """Values 0 or 1 with mean mu in [0, 1]; sub-Gaussian of scale 1/2."""

    def draw(self, mu: FloatArray, counts: IntArray, rng: np.random.Generator) -> Tally:
        """Successes counted by the binomial law."""
        if (mu < 0).any() or (mu > 1).any():
            raise UsageError("Bernoulli noise needs means between 0 and 1")
        n = counts[:, None].astype(np.float64)
        hits = rng.binomial(counts[:, None], mu)
        mean = np.divide(hits, n, out=np.zeros_like(mu), where=n > 0)
        return Tally(counts, mean, n * mean * (1.0 - mean))
