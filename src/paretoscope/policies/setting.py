"""What a policy is told of the candidates, the metrics and their noise. All metrics are maximised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, as_matrix, freeze
from paretoscope.errors import UsageError
from paretoscope.policies.model import Model, build_model

NoiseKind = Literal["gaussian", "subgaussian"]


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of the noise of each metric.

    Attributes
    ----------
    sigma : (d,) array
        Scale of each metric's noise; NaN where it is unknown and has to be estimated.
    kind : 'gaussian' or 'subgaussian'
        The law of the known scales; metrics of unknown scale need Gaussian noise.
    resolution : (d,) array
        Step of the recorded values (0: none): an estimated scale is never below step / sqrt(12).
    """

    sigma: FloatArray
    kind: NoiseKind = "gaussian"
    resolution: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        sigma = np.array(self.sigma, dtype=np.float64, ndmin=1)
        resolution = np.array(self.resolution, dtype=np.float64, ndmin=1)
        resolution = np.zeros_like(sigma) if resolution.size == 0 else resolution
        if (sigma <= 0).any() or np.isinf(sigma).any():
            raise UsageError(
                f"sigma must be positive and finite, not {sigma.tolist()}: a metric without noise is"
                " an exact one, an unknown noise is NaN"
            )
        if self.kind not in {"gaussian", "subgaussian"}:
            raise UsageError(f"noise kind {self.kind!r}: it is 'gaussian' or 'subgaussian'")
        if self.kind == "subgaussian" and sigma.size and np.isnan(sigma).all():
            raise UsageError(
                "an unknown noise scale can only be estimated for Gaussian noise:"
                " give sigma, or bounds of the metric"
            )
        object.__setattr__(self, "sigma", freeze(sigma))
        object.__setattr__(self, "resolution", freeze(resolution))

    @staticmethod
    def known(sigma: npt.ArrayLike, d: int, kind: NoiseKind = "gaussian") -> Noise:
        """The same scale for d metrics, or one for each."""
        return Noise(np.broadcast_to(np.asarray(sigma, dtype=np.float64), (d,)), kind)

    @staticmethod
    def unknown(d: int, resolution: npt.ArrayLike = 0.0) -> Noise:
        """Gaussian noise of unknown scale in d metrics."""
        steps = np.broadcast_to(np.asarray(resolution, dtype=np.float64), (d,))
        return Noise(np.full(d, np.nan), resolution=steps)

    @staticmethod
    def bounded(low: npt.ArrayLike, high: npt.ArrayLike) -> Noise:
        """Values in [low, high]: sub-Gaussian of scale (high - low) / 2 (Hoeffding's lemma)."""
        width = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
        return Noise(np.atleast_1d(width / 2.0), "subgaussian")

    @staticmethod
    def proportion(of: npt.ArrayLike) -> Noise:
        """Shares of `of` independent trials: the mean of `of` values in [0, 1], scale 0.5 / sqrt(of)."""
        trials = np.atleast_1d(np.asarray(of, dtype=np.float64))
        return Noise(0.5 / np.sqrt(trials), "subgaussian")

    @property
    def unknowns(self) -> BoolArray:
        """Which scales have to be estimated."""
        return np.isnan(self.sigma)

    def only(self, columns: BoolArray) -> Noise:
        """The noise of some of the metrics."""
        return Noise(self.sigma[columns], self.kind, self.resolution[columns])


@dataclass(frozen=True)
class Setting:
    """What a policy works on: candidates, metrics, noise, tolerance. All metrics are maximised.

    Attributes
    ----------
    K, d : int
        Candidates and metrics.
    noise : Noise
        Of all d metrics (entries of exact metrics are not read).
    X : (K, p) array or None
        Features, used as they are; None = no structure.
    exact : (d,) bool array
        Metrics without noise.
    known : (K, d) array or None
        Values of exact metrics known beforehand; NaN = must be measured.
    epsilon : (d,) array or None
        Tolerance per metric; None = the policy's own.
    zeta : (d,) array or None
        Largest distance of a true mean from the linear model, per metric; None = the model holds.
    scale : tuple of 'linear' or 'log'
        How each metric was transformed before it came here; certificates say so.
    seed : int
        Of the policy's own randomness.
    free : bool
        Whether the policy ignores the features.
    """

    K: int
    d: int
    noise: Noise
    X: FloatArray | None = None
    exact: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    known: FloatArray | None = None
    epsilon: FloatArray | None = None
    zeta: FloatArray | None = None
    scale: tuple[str, ...] = ()
    seed: int = 0
    free: bool = False

    def __post_init__(self) -> None:
        if self.K < 1 or self.d < 1:
            raise UsageError(f"K = {self.K} candidates and d = {self.d} metrics: both at least 1")
        exact = np.asarray(self.exact, dtype=bool)
        exact = np.zeros(self.d, dtype=bool) if exact.size == 0 else exact
        if exact.shape != (self.d,) or self.noise.sigma.shape != (self.d,):
            raise UsageError(
                f"{self.d} metrics need {self.d} entries in exact and noise, not"
                f" {exact.size} and {self.noise.sigma.size}"
            )
        object.__setattr__(self, "exact", exact)
        if self.X is not None:
            X = as_matrix(self.X, "features X")
            if len(X) != self.K:
                raise UsageError(f"{len(X)} rows of features for {self.K} candidates")
            object.__setattr__(self, "X", X)
        if self.known is not None and np.shape(self.known) != (self.K, self.d):
            raise UsageError(f"known values must have the shape ({self.K}, {self.d})")
        for name in ("epsilon", "zeta"):
            if getattr(self, name) is not None:
                self._check_tolerance(name)
        object.__setattr__(self, "scale", self.scale or ("linear",) * self.d)

    def _check_tolerance(self, name: str) -> None:
        given = np.asarray(getattr(self, name), dtype=np.float64)
        value = np.broadcast_to(given, (self.d,)).copy()
        if not (np.isfinite(value).all() and (value >= 0).all()):
            raise UsageError(f"{name} must be finite and not negative, not {value.tolist()}")
        object.__setattr__(self, name, freeze(value))

    @cached_property
    def model(self) -> Model:
        """The linear or unstructured model of the candidates, with its cache of designs."""
        twins_differ = bool(self.exact.any()) or self.zeta is not None
        X = None if self.free else self.X
        return build_model(X, self.K, keep_twins=twins_differ)

    @cached_property
    def unstructured(self) -> Setting:
        """The same setting for a policy that ignores features."""
        if self.free or self.X is None:
            return self
        return replace(self, free=True, zeta=None)

    def reseeded(self, seed: int) -> Setting:
        """The same setting with another seed; the cache of designs is shared."""
        other = object.__new__(Setting)
        other.__dict__.update(self.__dict__ | {"seed": seed, "model": self.model})
        other.__dict__.pop("unstructured", None)  # it has a seed of its own
        return other

    def bare(self) -> Setting:
        """The same setting without its cache, to be sent to another process."""
        return replace(self)

    @cached_property
    def noisy(self) -> BoolArray:
        """Metrics with noise."""
        return ~self.exact

    @cached_property
    def to_measure(self) -> BoolArray:
        """Candidates with an exact metric that is not known yet."""
        if not self.exact.any():
            return np.zeros(self.K, dtype=bool)
        if self.known is None:
            return np.ones(self.K, dtype=bool)
        return np.asarray(np.isnan(self.known[:, self.exact]).any(axis=1))


def resolve_epsilon(setting: Setting, own: float) -> FloatArray:
    """A metric's epsilon wins over the policy's default; both given and different is refused."""
    if setting.epsilon is None:
        return np.full(setting.d, float(own))
    if own and not np.allclose(setting.epsilon, own):
        raise UsageError(
            f"epsilon is {own} in the policy and {setting.epsilon.tolist()} in the metrics:"
            " give it in one place"
        )
    return setting.epsilon
