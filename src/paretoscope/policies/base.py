"""The contract of a policy: state in, state out; nothing here measures, waits or draws at random.

A policy is asked which pulls it wants (`allocate`), is handed any part of them in any order
(`observe`), is told which will never come (`forgo`), and says what it knows at any time (`verdict`).
Settings (the policy object), state (a frozen dataclass of read-only arrays) and outcome (an enum
with a sentence) are three different things.

Three rules that every policy keeps, checked by `paretoscope.testing`: the state alone decides what
is asked next; a state written to JSON and read back continues bit for bit; never more pulls than
asked for are accepted, and never more than the budget are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, as_matrix, freeze
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.model import Model, build_model

S = TypeVar("S")
NoiseKind = Literal["gaussian", "subgaussian"]


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of the noise of each metric.

    Attributes
    ----------
    sigma : (d,) array
        Scale of each metric's noise; NaN where it is unknown and has to be estimated.
    kind : 'gaussian' or 'subgaussian'
        The law. Unknown scales need Gaussian noise.
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
        if self.kind == "subgaussian" and np.isnan(sigma).any():
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
        return build_model(self.X, self.K, keep_twins=twins_differ)

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


class Tally(NamedTuple):
    """Sufficient statistics of pulls: how many, their means, their sums of squared deviations.

    Raw squares would cancel (values of 1e9 +- 1e-2 have squares that agree to 22 digits), so
    deviations are kept and merged by the formula of Chan, Golub and LeVeque (1979).
    """

    counts: IntArray  # (K,)
    means: FloatArray  # (K, d)
    m2: FloatArray  # (K, d)

    @staticmethod
    def empty(K: int, d: int) -> Tally:
        """No pulls at all."""
        return Tally(np.zeros(K, dtype=np.int64), np.zeros((K, d)), np.zeros((K, d)))

    @staticmethod
    def of(K: int, arms: npt.ArrayLike, values: npt.ArrayLike) -> Tally:
        """The tally of single measurements: ``values`` (n, d) of ``arms`` (n,).

        >>> Tally.of(2, [1, 1], [[1.0], [3.0]]).m2.tolist()
        [[0.0], [2.0]]
        """
        index, Y = np.asarray(arms, dtype=np.int64), as_matrix(values, "measured values")
        if index.shape != (len(Y),) or (index < 0).any() or (index >= K).any():
            raise UsageError(f"{len(Y)} rows of values need {len(Y)} arms between 0 and {K - 1}")
        counts = np.bincount(index, minlength=K)
        means, m2 = np.zeros((K, Y.shape[1])), np.zeros((K, Y.shape[1]))
        shift = np.zeros_like(means)
        shift[index] = Y  # any value of the arm: differences of neighbours lose no digits
        np.add.at(means, index, Y - shift[index])
        means = shift + means / np.maximum(counts, 1)[:, None]
        np.add.at(m2, index, np.square(Y - means[index]))
        return Tally(counts, means, m2)

    @property
    def total(self) -> int:
        """Number of pulls."""
        return int(self.counts.sum())

    def merge(self, other: Tally) -> Tally:
        """Both together, in this order."""
        if not self.counts.any():
            return other
        counts = self.counts + other.counts
        share = (other.counts / np.maximum(counts, 1))[:, None]
        gap = other.means - self.means
        gap[self.counts == 0] = 0.0
        base = np.where((self.counts == 0)[:, None], other.means, self.means)
        gap[other.counts == 0] = 0.0
        means = base + gap * share
        m2 = self.m2 + other.m2 + np.square(gap) * share * self.counts[:, None]
        return Tally(counts, means, m2)


Counts = IntArray


class StopReason(Enum):
    """Why a policy asks for nothing more, as a sentence."""

    DECIDED = "every candidate is decided"
    EPSILON = "every candidate left is within epsilon of optimal"
    BUDGET = "the budget is spent"
    ROUNDS = "the cap on rounds is reached"
    SAMPLES = "the cap on measurements is reached"
    MISFIT = "the stated misfit of the model hides what is left"
    SILENT = "a metric of unknown noise repeated itself exactly"
    NOTHING = "no candidate could be measured"


class Decision(NamedTuple):
    """Why an arm left: the margin that was seen, what it had to reach, and which arm rejected it."""

    arm: int
    status: str
    round: int
    gap: float
    threshold: float
    by: int


class DecisionBatch(NamedTuple):
    """Decisions of one judgement, kept as arrays: there may be a million of them."""

    status: str
    round: int
    arm: IntArray
    gap: FloatArray
    threshold: FloatArray
    by: IntArray

    def expand(self) -> list[Decision]:
        """One `Decision` per arm."""
        columns = zip(
            self.arm.tolist(),
            self.gap.tolist(),
            self.threshold.tolist(),
            self.by.tolist(),
            strict=True,
        )
        return [Decision(a, self.status, self.round, g, t, b) for a, g, t, b in columns]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is guaranteed, by what, from how many pulls; or that nothing is, and why.

    Attributes
    ----------
    certified : bool
    reason : str
        Why it is not certified, or why it is.
    delta, epsilon : float, (d,) array
        Risk, and tolerance per metric.
    bound : str
        The inequality used.
    assumptions : tuple of str
        What must hold for the guarantee.
    pulls : int
        Measurements really made.
    achieved_epsilon : (d,) array
        Smallest tolerance the data certify for the present answer; infinite before the first round.
    """

    certified: bool
    reason: str
    delta: float
    epsilon: FloatArray
    bound: str
    assumptions: tuple[str, ...]
    pulls: int
    achieved_epsilon: FloatArray


@dataclass(frozen=True)
class Verdict:
    """What is known of each of the K candidates.

    ``accepted``: certainly optimal. ``near``: kept by an epsilon stop, certainly within epsilon.
    ``rejected``: certainly sub-optimal. ``undecided``: none of these. ``infeasible``: could not be
    measured. A policy without a certificate uses the same words for its guess.
    """

    accepted: BoolArray
    near: BoolArray
    rejected: BoolArray
    undecided: BoolArray
    infeasible: BoolArray
    batches: tuple[DecisionBatch, ...]
    certificate: Certificate

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """Why each arm left, in the order of leaving."""
        return tuple(decision for batch in self.batches for decision in batch.expand())

    @property
    def answer(self) -> BoolArray:
        """The Pareto set as far as it is known: accepted and near."""
        return self.accepted | self.near


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Whether a policy's results may say certified, and why (not)."""

    certified: bool
    reason: str


class RoundForecast(NamedTuple):
    """Pulls of one round before any is made: between low and high; equal where they are exact."""

    round: int
    low: int
    high: int
    accuracy: float


class Policy(Protocol[S]):
    """One adaptive procedure; every method is pure."""

    @property
    def guarantee(self) -> Guarantee:
        """Whether results may say certified."""
        ...

    def init(self, setting: Setting) -> S:
        """State before any measurement."""
        ...

    def allocate(self, state: S) -> Counts:
        """Pulls (K,) wanted now; all zero once stopped."""
        ...

    def observe(self, state: S, tally: Tally) -> S:
        """State after any part of the pulls asked for."""
        ...

    def forgo(self, state: S, counts: Counts) -> S:
        """State when these pulls will never come."""
        ...

    def stopped(self, state: S) -> StopReason | None:
        """Why nothing more is wanted, or None."""
        ...

    def verdict(self, state: S) -> Verdict:
        """What is known of every candidate."""
        ...

    def plan(self, setting: Setting) -> tuple[RoundForecast, ...]:
        """Pulls of the rounds to come, before any is made."""
        ...


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


def check_delivery(want: Counts, tally: Tally) -> None:
    """Refuse pulls that were not asked for, by name."""
    surplus = np.flatnonzero(tally.counts > want)
    if len(surplus):
        k = int(surplus[0])
        raise UsageError(
            f"candidate {k}: {int(tally.counts[k])} measurements told, {int(want[k])} asked for"
        )
    if not np.isfinite(tally.means[tally.counts > 0]).all():
        raise DataError("a measured value is not finite: tell it as failed instead")
