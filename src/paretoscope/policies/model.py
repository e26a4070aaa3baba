"""The two models of the means: linear in features, or one free mean per candidate.

Both answer the same questions about a set A of arms (indices into ``first``): which designs suit
it, how many pulls each arm gets, how far apart two estimates may drift, what the estimates are.
Rows of features that are equal are one arm; only the first candidate of each is ever pulled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from paretoscope.core import design, least_squares, rounding
from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.confidence import misspecification_factor
from paretoscope.core.least_squares import ResidualSums
from paretoscope.core.spread import Spread
from paretoscope.core.xy_design import xy_optimal_arms
from paretoscope.policies.memo import Memo, key_of

T = TypeVar("T")
DesignKind = Literal["g", "xy", "xy-all"]
# XY designs look at pairs: they pay when few arms are left, and cost too much before.
XY_ARMS = 80
# Relative size of what a difference may have outside the span of the pulls.
_OUTSIDE = 1e-7


class Plan(NamedTuple):
    """Weights over all arms (sum 1), and the kind of design they are."""

    kind: str
    weights: FloatArray


class Estimates(NamedTuple):
    """Estimated means (n, d) of some arms, and the residual sums of the fit."""

    mu: FloatArray
    residual: ResidualSums


class Model(Protocol):
    """What a policy needs to know about the structure of the candidates."""

    first: IntArray  # candidate that stands for each arm
    inverse: IntArray  # arm of each candidate
    twin: IntArray  # arms of equal features have the same number
    twins: bool  # whether there are any
    rank: int
    linear: bool

    @property
    def difference_rank(self) -> int:
        """Rank of all differences x_i - x_j."""
        ...

    def designs(
        self, A: IntArray, kinds: tuple[DesignKind, ...], barred: BoolArray
    ) -> tuple[Plan, ...]:
        """Designs over all arms that suit comparisons within A."""
        ...

    def integers(self, plan: Plan, A: IntArray, N: int) -> IntArray | None:
        """Pulls per arm, N in all; None if N is too small for the design."""
        ...

    def least(self, A: IntArray) -> int:
        """The fewest pulls that compare all of A."""
        ...

    def compares(self, A: IntArray, counts: IntArray) -> bool:
        """Whether these pulls can compare all of A."""
        ...

    def spread(self, A: IntArray, counts: FloatArray | IntArray) -> Spread | None:
        """Standard deviations of the differences within A; None if the pulls cannot compare them."""
        ...

    def estimate(
        self, A: IntArray, counts: IntArray, means: FloatArray, m2: FloatArray
    ) -> Estimates:
        """Estimates of the arms A from pulls of any arms."""
        ...

    def deviations(self, A: IntArray, counts: IntArray) -> FloatArray:
        """Standard deviations of the estimated means of A, in units of the noise."""
        ...

    def coordinates(self) -> FloatArray | None:
        """All arms in coordinates of full rank; None without features."""
        ...

    def misfit_factors(self, A: IntArray, counts: IntArray) -> FloatArray:
        """beta_ij within A: what a misfit of 1 per arm can add to the error of a difference."""
        ...

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value kept under a key, made if it is not there; a cache that can always be rebuilt."""
        ...


class LinearModel(Memo):
    """Means linear in features: V^+ and least squares in coordinates of full rank."""

    linear = True

    def __init__(self, X: FloatArray, *, keep_twins: bool) -> None:
        super().__init__()
        T, self.rank = least_squares.scaled_basis(X)
        self.Z = X @ T
        self.twin_first, self.twin = least_squares.collapse(self.Z)
        if keep_twins:
            self.first = self.inverse = np.arange(len(X))
        else:
            self.first, self.inverse = self.twin_first, self.twin
            if len(self.first) < len(X):
                self.Z = self.Z[self.first]
            self.twin = np.arange(len(self.first))
        self.twins = keep_twins and len(self.twin_first) < len(X)

    @cached_property
    def difference_rank(self) -> int:
        """Rank of all differences x_i - x_j."""
        return least_squares.difference_rank(self.Z)

    def _rows(self, A: IntArray) -> FloatArray:
        """Features of some arms; of all of them without a copy."""
        return self.Z if len(A) == len(self.Z) else self.Z[A]

    def designs(
        self, A: IntArray, kinds: tuple[DesignKind, ...], barred: BoolArray
    ) -> tuple[Plan, ...]:
        """G-optimal on A; XY-optimal on its pairs, pulling A or any arm."""
        key = ("designs", key_of(A), kinds, key_of(barred) if barred.any() else b"")
        return self.memo(key, lambda: self._designs(A, kinds, barred))

    def _designs(
        self, A: IntArray, kinds: tuple[DesignKind, ...], barred: BoolArray
    ) -> tuple[Plan, ...]:
        plans = []
        own = A[~barred[A]]
        if "g" in kinds and len(own) and self._rows(own).any():
            weights = np.zeros(len(self.Z))
            weights[own] = design.g_optimal(self._rows(own)).weights
            plans.append(Plan("g", weights))
        if len(A) <= XY_ARMS:
            pools = {"xy": own, "xy-all": np.flatnonzero(~barred)}
            for kind, pool in pools.items():
                if kind in kinds and self._differ(A, pool):
                    found = xy_optimal_arms(self.Z, A, pull=pool)
                    plans.append(Plan(kind, np.asarray(found.weights)))
        if not plans and kinds != ("g",):  # XY designs are too dear for so many arms
            return self._designs(A, ("g",), barred)
        return tuple(plans)

    def compares(self, A: IntArray, counts: IntArray) -> bool:
        """Whether the pulls miss no difference of A."""
        if self._free(A) and counts[A].all():
            return True
        pool = np.flatnonzero(counts)
        return len(pool) > 0 and self._coordinates(A, pool) is not None

    def _differ(self, A: IntArray, pool: IntArray) -> bool:
        """Whether pulls of the pool can compare all arms of A, and there is something to compare."""
        if len(pool) == 0 or not self.Z[pool].any() or len(np.unique(self.twin[A])) < 2:
            return False
        return self._coordinates(A, pool) is not None

    def _coordinates(self, A: IntArray, pool: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """A and the pool in full-rank coordinates of the pool; None if they miss a difference of A."""
        key = ("coordinates", key_of(A), key_of(pool))
        B = self.memo(key, lambda: self._basis(A, pool))
        if B is None:
            return None
        ZA, ZP = self._rows(A), self.Z[pool]
        return (ZA, ZP) if B.shape[0] == B.shape[1] else (ZA @ B, ZP @ B)

    def _basis(self, A: IntArray, pool: IntArray) -> FloatArray | None:
        """A basis of the span of the pool; None if it misses a difference of A.

        A square one spans everything and is made of unit vectors: nothing changes, nothing is missed.
        """
        if not self.Z[pool].any():
            return None
        B, h = least_squares.row_basis(self.Z[pool])
        if h == B.shape[0]:
            return B
        ZA = self.Z[A]
        outside = ZA - (ZA @ B) @ B.T
        drift = outside - outside[0]
        if np.abs(drift).max() > _OUTSIDE * max(1e-300, float(np.abs(ZA - ZA[0]).max())):
            return None
        return B

    def _free(self, A: IntArray) -> bool:
        """Whether the features of A are independent, so that the model says nothing about its means."""
        return len(A) <= self.rank and not self.twins and self.least(A) == len(A)

    def integers(self, plan: Plan, A: IntArray, N: int) -> IntArray | None:
        """Rounded by the chain of `rounding`; XY designs need one pull per point."""
        if plan.kind == "g" and self._free(A) and plan.weights[A].all():
            return evenly(A, N, len(self.Z))
        if plan.kind != "g":
            m = int(np.count_nonzero(plan.weights))
            return rounding.apportion(plan.weights, N) if N >= m else None
        found = self._coordinates(A, np.flatnonzero(plan.weights))
        if found is None or found[0].shape[1] > N:
            return None
        own = np.flatnonzero(plan.weights)
        counts = np.zeros(len(self.Z), dtype=np.int64)
        counts[own] = rounding.round_design(found[1], plan.weights[own], N).counts
        return counts

    def least(self, A: IntArray) -> int:
        """The rank of A."""
        if len(A) == len(self.Z):
            return self.rank
        return self.memo(("least", key_of(A)), lambda: self._rank(A))

    def _rank(self, A: IntArray) -> int:
        """The rank of A, computed; 1 where all features are zero."""
        rows = self._rows(A)
        return least_squares.row_basis(rows)[1] if rows.any() else 1

    def spread(self, A: IntArray, counts: FloatArray | IntArray) -> Spread | None:
        """Whitened coordinates of A under V(counts)."""
        key = ("spread", key_of(A), key_of(counts))
        return self.memo(key, lambda: self._spread(A, counts), size=len(A) * self.rank)

    def _spread(self, A: IntArray, counts: FloatArray | IntArray) -> Spread | None:
        """The spread, computed."""
        pool = np.flatnonzero(counts)
        found = self._coordinates(A, pool) if len(pool) else None
        if found is None:
            return None
        ZA, ZP = found
        W = least_squares.whiten(ZA, least_squares.gram_factor(ZP, counts[pool]))
        rank = self.memo(("differences", key_of(A)), lambda: least_squares.difference_rank(ZA))
        return Spread(rank, W=W[like(self.twin[A])] if self.twins else W)

    def estimate(
        self, A: IntArray, counts: IntArray, means: FloatArray, m2: FloatArray
    ) -> Estimates:
        """Least squares on the pulls, read at A; equal rows get the very same estimate."""
        if self._free(A) and counts[A].all() and np.count_nonzero(counts) == len(A):
            return own_means(A, counts, means, m2)
        pool = np.flatnonzero(counts)
        found = self._coordinates(A, pool)
        assert found is not None, "a round whose pulls cannot compare its arms was not refused"
        ZA, ZP = found
        fit = least_squares.estimate(ZP, counts[pool], means[pool])
        residual = least_squares.residual_ss(ZP, counts[pool], means[pool], m2[pool], fit)
        mu = fit.means(ZA)
        return Estimates(mu[like(self.twin[A])] if self.twins else mu, residual)

    def deviations(self, A: IntArray, counts: IntArray) -> FloatArray:
        """Square roots of the leverages."""
        spread = self.spread(A, counts)
        assert spread is not None
        assert spread.W is not None
        return np.asarray(np.linalg.norm(spread.W, axis=1))

    def coordinates(self) -> FloatArray | None:
        """The arms as they are used here."""
        return self.Z

    def misfit_factors(self, A: IntArray, counts: IntArray) -> FloatArray:
        """See `confidence.misspecification_factor`; pulled arms outside A push as well."""
        pool = np.flatnonzero(counts)
        found = self._coordinates(A, pool)
        assert found is not None
        ZA, ZP = found
        both, n = np.union1d(A, pool), counts[pool]
        Z = np.empty((len(both), ZP.shape[1]))
        Z[np.searchsorted(both, pool)] = ZP
        at = np.searchsorted(both, A)
        Z[at] = ZA
        beta = misspecification_factor(Z, (ZP * n[:, None]).T @ ZP, counts[both])
        return np.asarray(beta[np.ix_(at, at)])


def evenly(arms: IntArray, N: int, K: int) -> IntArray | None:
    """N // n pulls each, the rest one each to the first arms; None if there are not enough."""
    if len(arms) > N:
        return None
    counts = np.zeros(K, dtype=np.int64)
    counts[arms] = N // len(arms)
    counts[arms[: N % len(arms)]] += 1
    return counts


def own_means(A: IntArray, counts: IntArray, means: FloatArray, m2: FloatArray) -> Estimates:
    """Each arm's own mean; all of the residual is pure error."""
    pulled = np.flatnonzero(counts)
    pure = m2[pulled].sum(axis=0)
    df = int(counts[pulled].sum()) - len(pulled)
    return Estimates(means[A], ResidualSums(np.zeros_like(pure), pure, 0, df))


def like(group: IntArray) -> IntArray:
    """For each arm, the position of the first arm of its group."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


class FreeModel(Memo):
    """One free mean per candidate: the design is uniform, the estimate is the mean."""

    linear = False

    def __init__(self, K: int) -> None:
        super().__init__()
        self.rank = K
        self.first = self.inverse = self.twin = np.arange(K)
        self.twins = False

    @property
    def difference_rank(self) -> int:
        """All but one direction."""
        return self.rank - 1

    def designs(
        self, A: IntArray, kinds: tuple[DesignKind, ...], barred: BoolArray
    ) -> tuple[Plan, ...]:
        """Equal weights on A, whatever was asked for."""
        del kinds
        weights = np.zeros(self.rank)
        weights[A[~barred[A]]] = 1.0
        total = weights.sum()
        return (Plan("uniform", weights / total),) if total else ()

    def integers(self, plan: Plan, A: IntArray, N: int) -> IntArray | None:
        """N // n each, the rest one each to the first arms."""
        del A
        return evenly(np.flatnonzero(plan.weights), N, self.rank)

    def least(self, A: IntArray) -> int:
        """One pull each."""
        return len(A)

    def compares(self, A: IntArray, counts: IntArray) -> bool:
        """Every arm has been pulled."""
        return bool(counts[A].all())

    def spread(self, A: IntArray, counts: FloatArray | IntArray) -> Spread | None:
        """Variances 1 / n_i."""
        own = counts[A]
        if not own.all():
            return None
        return Spread(max(len(A) - 1, 0), v=1.0 / own)

    def estimate(
        self, A: IntArray, counts: IntArray, means: FloatArray, m2: FloatArray
    ) -> Estimates:
        """The means; all of the residual is pure error."""
        return own_means(A, counts, means, m2)

    def deviations(self, A: IntArray, counts: IntArray) -> FloatArray:
        """1 / sqrt(n_i)."""
        return np.asarray(1.0 / np.sqrt(counts[A]))

    def coordinates(self) -> FloatArray | None:
        """None: an identity matrix is never built."""
        return None

    def misfit_factors(self, A: IntArray, counts: IntArray) -> FloatArray:
        """Zero: a free mean cannot be misfitted."""
        del counts
        return np.zeros((len(A), len(A)))


def build_model(X: FloatArray | None, K: int, *, keep_twins: bool) -> Model:
    """The model for some features; `keep_twins` where equal features do not mean equal candidates."""
    return FreeModel(K) if X is None else LinearModel(X, keep_twins=keep_twins)
