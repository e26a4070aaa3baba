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

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, as_matrix
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.setting import Setting

S = TypeVar("S")


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
    FOUND = "as many optimal candidates as were asked for are found"
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

    def forgo(self, state: S, counts: Counts, gone: BoolArray | None = None) -> S:
        """State when these pulls will never come; candidates in ``gone`` can never be measured."""
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
