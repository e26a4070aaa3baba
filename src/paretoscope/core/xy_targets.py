"""The directions an XY-optimal design must learn: a list of targets, or all pairs of some arms."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.leverage import BLOCK_NUMBERS, leverages


class Targets(Protocol):
    """What the solver asks of its targets, all in whitened coordinates."""

    def worst(self, C: FloatArray, above: float, limit: int) -> tuple[float, FloatArray]:
        """Largest |u C|^2, and at most `limit` of the worst targets (n, h) above `above`."""
        ...

    def extent(self, N: FloatArray) -> float:
        """How far any target reaches along the columns of N, as a share of the longest target."""
        ...


class ListedTargets:
    """The rows of U (n, h)."""

    def __init__(self, U: FloatArray) -> None:
        self.U = U

    def worst(self, C: FloatArray, above: float, limit: int) -> tuple[float, FloatArray]:
        """Largest |u C|^2, and the worst targets above `above`."""
        q = leverages(self.U, C)
        return float(q.max()), self.U[_largest(q, above, limit)]

    def extent(self, N: FloatArray) -> float:
        """Largest component along N over the largest entry."""
        return float(np.abs(self.U @ N).max()) / float(np.abs(self.U).max())


class PairTargets:
    """All differences of the rows of Z (n, h), a block of rows against all at a time."""

    def __init__(self, Z: FloatArray) -> None:
        # Differences do not see the centre, and without it they cancel less.
        self.Z = Z - Z.mean(axis=0)

    def worst(self, C: FloatArray, above: float, limit: int) -> tuple[float, FloatArray]:
        """Largest |(z_i - z_j) C|^2, and the worst differences above `above`."""
        R = self.Z @ C
        square = np.einsum("ij,ij->i", R, R)
        n = square.size
        step = max(1, BLOCK_NUMBERS // n)
        found = [
            _pairs_of_block(R, square, slice(i, min(i + step, n)), above, limit)
            for i in range(0, n - 1, step)
        ]
        q = np.concatenate([f[0] for f in found])
        pairs = np.concatenate([f[1] for f in found])
        chosen = pairs[_largest(q, above, limit)]
        largest = max(f[2] for f in found)
        return largest, self.Z[chosen[:, 0]] - self.Z[chosen[:, 1]]

    def extent(self, N: FloatArray) -> float:
        """Largest range along N over the largest entry."""
        return float(np.ptp(self.Z @ N, axis=0).max()) / float(np.abs(self.Z).max())


def _pairs_of_block(
    R: FloatArray, square: FloatArray, rows: slice, above: float, limit: int
) -> tuple[FloatArray, IntArray, float]:
    """Largest squared distances (k,) from a block of rows to later ones, their pairs, the maximum."""
    first = rows.start
    distance = square[rows, None] + square[first:] - 2.0 * (R[rows] @ R[first:].T)
    flat = np.triu(distance, 1).ravel()
    best = _largest(flat, above, limit)
    i, j = np.divmod(best, distance.shape[1])
    return flat[best], np.stack([i + first, j + first], axis=1), float(flat.max())


def _largest(q: FloatArray, above: float, limit: int) -> IntArray:
    """Indices of at most `limit` of the largest values above `above`, in order of index."""
    index = np.flatnonzero(q > above)
    if index.size > limit:
        index = np.sort(index[np.argsort(-q[index], kind="stable")[:limit]])
    return index
