"""How far apart two estimates may drift: the ``s_ij`` of a design, and the unions taken over them.

A `Spread` holds the standard deviations of all differences ``mu_hat_j - mu_hat_i`` (in units of the
noise) without the n x n matrix: whitened coordinates W with ``s_ij = |W_i - W_j|`` for a linear
model, variances v with ``s_ij = sqrt(v_i + v_j)`` for independent arms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from paretoscope.core import confidence
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.confidence import GAUSSIAN, Tail
from paretoscope.core.least_squares import BLOCK
from paretoscope.errors import UsageError

Bound = Literal["pairs", "arms", "scheffe", "sup"]
BOUNDS: tuple[Bound, ...] = ("pairs", "arms", "scheffe")
# Up to here every pair gets its own width; beyond, all are charged the widest.
PAIRS_EXACT = 160
# Up to here the widest pair is looked for; beyond, it is bounded by twice the largest radius.
DIAMETER_EXACT = 1_000
# Relative accuracy of a width.
_TOLERANCE = 1e-6
# What a quantile may be wrong by, and more.
_JUST_BELOW = 1.0 - 1e-10
# Draws of a Gaussian supremum.
_DRAWS = 20_000


@dataclass(frozen=True)
class Spread:
    """Standard deviations of all differences of n estimates, in units of the noise.

    Attributes
    ----------
    rank : int
        Rank of the differences.
    W : (n, h) array or None
        Whitened coordinates (linear model).
    v : (n,) array or None
        Variances (independent arms).
    """

    rank: int
    W: FloatArray | None = None
    v: FloatArray | None = None

    @cached_property
    def n(self) -> int:
        """Number of arms."""
        return len(self.v) if self.v is not None else len(self._W)

    @property
    def _W(self) -> FloatArray:
        assert self.W is not None
        return self.W

    def pair(self, rows: IntArray) -> FloatArray:
        """``s_ij`` of some rows against all arms, shape (len(rows), n)."""
        if self.v is not None:
            s: FloatArray = np.sqrt(self.v[rows][:, None] + self.v)
            s[np.arange(len(rows)), rows] = 0.0
            return s
        squares = np.zeros((len(rows), self.n))
        for column in self._W.T:  # differences first: close pairs keep their digits
            squares += np.square(column[rows][:, None] - column)
        return np.sqrt(squares)

    @cached_property
    def matrix(self) -> FloatArray:
        """All ``s_ij``."""
        return self.pair(np.arange(self.n))

    @cached_property
    def radii(self) -> FloatArray:
        """Standard deviations of ``x_i - x_0``: 0 for independent arms, the centre for linear ones."""
        if self.v is not None:
            return np.asarray(np.sqrt(self.v))
        centre = self._W.mean(axis=0)
        lengths = np.empty(self.n)
        for k in range(0, self.n, BLOCK):
            lengths[k : k + BLOCK] = _lengths(self._W[k : k + BLOCK] - centre)
        return lengths

    @cached_property
    def widest(self) -> float:
        """The largest ``s_ij``, or a number above it when there are very many arms."""
        if self.n < 2:
            return 0.0
        if self.v is not None:
            return float(np.sqrt(np.partition(self.v, self.n - 2)[-2:].sum()))
        if self.n > DIAMETER_EXACT:
            return float(2.0 * self.radii.max())
        W = self._W - self._W.mean(axis=0)
        # arms so near the centre that not even the farthest one makes a wider pair are left out
        known = max(_farthest(W, int(self.radii.argmax())))
        W = W[self.radii + self.radii.max() >= known * (1.0 - 1e-9)]
        squares = np.einsum("nh,nh->n", W, W)
        pairs = squares[:, None] + squares - 2.0 * (W @ W.T)
        return float(np.sqrt(pairs.max()) * (1.0 + 1e-12))  # the expansion may round down

    def failure(self, eta: float, d: int, tail: Tail, bounds: tuple[Bound, ...]) -> float:
        """The smallest of the chosen bounds on P(some error that matters reaches eta)."""
        return min(self._ways(eta, d, tail, bounds), key=lambda way: way[1])[1]

    def best_bound(self, eta: float, d: int, tail: Tail, bounds: tuple[Bound, ...]) -> str:
        """Name of the bound that gives `failure`."""
        return min(self._ways(eta, d, tail, bounds), key=lambda way: way[1])[0]

    def _ways(
        self, eta: float, d: int, tail: Tail, bounds: tuple[Bound, ...]
    ) -> list[tuple[str, float]]:
        """Each chosen bound (the supremum is not a function of eta alone: see `supremum`)."""
        ways: dict[Bound, Callable[[], float]] = {
            "pairs": lambda: self._pairs(eta, d, tail),
            "arms": lambda: confidence.arms_failure(self.radii, eta, d, tail),
            "scheffe": lambda: confidence.scheffe_failure(self.widest, eta, d, self.rank, tail),
        }
        return [(name, ways[name]()) for name in bounds if name in ways]

    @property
    def _pairs_apart(self) -> Bound | None:
        """The bound by pairs where each has its own width."""
        return "pairs" if self.n <= PAIRS_EXACT else None

    def _closed(self, risk: float, d: int, tail: Tail, bounds: tuple[Bound, ...]) -> list[Width]:
        """The widths of the bounds that know only the widest pair: a quantile each."""
        found, unit = [], self.widest * (2.0 - _JUST_BELOW)
        if "pairs" in bounds and self._pairs_apart is None:
            z = confidence.pairs_width(risk, self.n, d, tail)
            found.append(Width(unit * z, "pairs"))
        if "scheffe" in bounds:
            z = confidence.scheffe_width(risk, d, self.rank, tail)
            found.append(Width(unit * z, "scheffe"))
        return found

    def _pairs(self, eta: float, d: int, tail: Tail) -> float:
        """Bound by the pairs: each its own width, or all the widest when there are too many."""
        if self.n <= PAIRS_EXACT:
            return confidence.pairs_failure(self.matrix, eta, d, tail)
        if self.widest == 0.0:
            return 0.0
        Q = float(tail.upper(np.array([eta / self.widest]))[0])
        return confidence.event_count(self.n, d) * Q

    def certain_width(
        self,
        risk: float,
        d: int,
        tail: Tail,
        bounds: tuple[Bound, ...],
        *,
        seed: tuple[int, ...] = (0,),
        limits: int = 1,
    ) -> Width:
        """The smallest eta (to 1e-6) that one of the chosen bounds certifies at that risk.

        The supremum is simulated from ``seed``; ``limits`` such widths will be compared, and the
        smallest taken.
        """
        if self.n < 2 or self.widest == 0.0:
            return Width(0.0, "one arm")
        found = self._closed(risk, d, tail, bounds)
        several = tuple(name for name in bounds if name in {"arms", self._pairs_apart})
        if several:
            start = self.widest * confidence.simultaneous_width(risk, self.n, d, self.rank, tail)
            best = min(found).eta if found else np.inf
            if best == np.inf or self.failure(best * _JUST_BELOW, d, tail, several) <= risk:
                eta = _solve(lambda x: self.failure(x, d, tail, several), min(start, best), risk)
                found.append(Width(eta, self.best_bound(eta, d, tail, several)))
        if "sup" in bounds and tail is GAUSSIAN and self.W is not None:
            rng = np.random.default_rng([*seed, self.n])
            eta, _ = confidence.supremum_width(self.W, risk, d, _DRAWS, rng, limits)
            found.append(Width(eta, "sup"))
        if not found:
            raise UsageError(
                f"bounds {bounds} do not cover {tail.name} here: the supremum is for linear models"
                f" and known Gaussian noise, {BOUNDS} are for all"
            )
        return min(found)


def _farthest(W: FloatArray, start: int) -> tuple[float, float]:
    """Distance from an arm to the farthest one, and from that to its farthest."""
    one = _lengths(W - W[start])
    two = _lengths(W - W[int(one.argmax())])
    return float(one.max()), float(two.max())


def _lengths(W: FloatArray) -> FloatArray:
    """Euclidean lengths of rows."""
    return np.asarray(np.sqrt(np.einsum("nh,nh->n", W, W)))


class Width(NamedTuple):
    """An error that is not reached, and the bound that says so."""

    eta: float
    bound: str


def _solve(failure: Callable[[float], float], start: float, risk: float) -> float:
    """Smallest eta with failure(eta) <= risk, to a relative 1e-6, never on the unsafe side.

    ln failure is nearly linear in eta^2: false position on that scale needs few steps, and halving
    the weight of an end that stays (the Illinois rule, Dowell and Jarratt 1971) keeps it from sticking.
    """
    high = start
    while (f := failure(high)) > risk:  # the start came from one of several bounds
        high *= 1.05
    below = _logs_apart(risk, f)
    low = 0.5 * high
    while (f := failure(low)) <= risk:
        high, below, low = low, _logs_apart(risk, f), 0.5 * low
    above, last = _logs_apart(f, risk), 0
    while high - low > _TOLERANCE * high:
        x = _between(low, high, above, below)
        f = failure(x)
        side = 1 if f <= risk else -1
        if side > 0:
            high, below, above = x, _logs_apart(risk, f), above * (0.5 if last == side else 1.0)
        else:
            low, above, below = x, _logs_apart(f, risk), below * (0.5 if last == side else 1.0)
        last = side
    return high


def _logs_apart(more: float, less: float) -> float:
    """ln(more / less), infinite where the smaller has underflowed."""
    return float(np.log(more / less)) if less > 0.0 else np.inf


def _between(low: float, high: float, above: float, below: float) -> float:
    """Where between low^2 and high^2 the line through the log failures meets the risk.

    Not closer to an end than 0.4 tolerances: when an end is as good as the root, the next step
    crosses it and the bracket closes.
    """
    share = above / (above + below) if np.isfinite(below) else 0.5
    x = float(np.sqrt(low * low + share * (high * high - low * low)))
    step = 0.4 * _TOLERANCE * high
    return min(max(x, low + step), high - step)
