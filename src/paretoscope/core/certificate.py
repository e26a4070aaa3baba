"""A design and its certificate: recomputed from the weights on all rows, never the solver's word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.core.leverage import leverages

# A triangle this flat no longer tells a direction that is learned from one that is not.
FLAT = 1e-13


@dataclass(frozen=True, slots=True)
class Design:
    """Shares of the measurements, weights (K,) summing to one, and the proof of how good they are.

    `certificate` is `value` over a proven lower bound of the best possible value: 1 is optimal.
    `value` is the largest leverage (G-optimal) or the largest variance of a target (XY-optimal).
    `support` (m,) lists the rows of positive weight; `rank` is that of the features.
    """

    weights: FloatArray
    certificate: float
    rank: int
    support: IntArray
    value: float


def precision_root(Y: FloatArray, w: FloatArray) -> FloatArray | None:
    """C (h, h) with V(w)^-1 = C C' from a QR of the weighted rows; None if they do not span."""
    if Y.shape[0] < Y.shape[1]:
        return None
    R: FloatArray = np.asarray(np.linalg.qr(Y * np.sqrt(w)[:, None], mode="r"))
    diagonal = np.abs(R.diagonal())
    if diagonal.min() <= FLAT * diagonal.max():
        return None
    return np.asarray(np.linalg.inv(R))


def dense_design(
    size: int, support: IntArray, w: FloatArray, rank: int, value: float, bound: float
) -> Design:
    """The design with weights w (m,) on `support`; nothing to learn (bound 0) is learned at once."""
    order = np.argsort(support)
    weights = np.zeros(size)
    weights[support] = w
    ratio = value / bound if bound > 0.0 else 1.0
    return Design(freeze(weights), ratio, rank, freeze(support[order]), value)


def largest_leverage(X: FloatArray, T: FloatArray, support: IntArray, w: FloatArray) -> float:
    """Largest leverage over all rows of X, whitened by T; inf if the support does not span."""
    C = precision_root(X[support] @ T, w)
    return float("inf") if C is None else float(leverages(X, T @ C).max())
