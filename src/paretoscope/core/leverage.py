"""Leverage x' V(w)^+ x of every row, block by block, in coordinates where it is well scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray
from paretoscope.errors import UsageError

# A block of rows and its product stay in the second-level cache (measured: flat from 2^14 to 2^16).
BLOCK_NUMBERS = 1 << 15
# Below this ratio of Gram eigenvalues the Gram matrix has lost half its digits: QR instead.
GRAM_RATIO = 1e-9
# Sums of squares outside this range may have lost digits to under- or overflow.
SAFE_SQUARES = (1e-200, 1e200)
# Columns outside this range cannot be brought to unit size in double precision.
SAFE_SCALE = (1e-290, 1e290)
# Singular values below 100 eps max(shape) of the largest are noise; the ceiling keeps a million
# rows from raising that to where real directions lie.
RANK_FACTOR = 100.0
RANK_CEILING = 1e-10
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Whitening:
    """Map T (p, rank): the rows of X T have second moment I; `scale` (p,) are the column norms."""

    T: FloatArray
    rank: int
    scale: FloatArray


def row_blocks(K: int, width: int) -> list[slice]:
    """Consecutive slices of range(K), each about BLOCK_NUMBERS numbers of `width` columns."""
    step = max(64, BLOCK_NUMBERS // max(width, 1))
    return [slice(start, min(start + step, K)) for start in range(0, K, step)]


def leverages(X: FloatArray, M: FloatArray) -> FloatArray:
    """Squared norm of every row of X M, (K,), without storing X M."""
    K = X.shape[0]
    if X.size <= 2 * BLOCK_NUMBERS:
        Y = X @ M
        return np.asarray(np.einsum("ij,ij->i", Y, Y))
    g = np.empty(K)
    for rows in row_blocks(K, X.shape[1]):
        Y = X[rows] @ M
        np.einsum("ij,ij->i", Y, Y, out=g[rows])
    return g


def whiten(X: FloatArray) -> Whitening:
    """Rank of X and a whitening of its rows; columns of very different units do no harm."""
    G, scale = _scaled_gram(X)
    keep = scale > 0.0
    if not keep.any():
        raise UsageError("X is zero everywhere: no design can learn anything from its rows")
    if not (scale[keep].min() > SAFE_SCALE[0] and scale.max() < SAFE_SCALE[1]):
        j = int(np.where(keep, np.abs(np.log(np.where(keep, scale, 1.0))), -1.0).argmax())
        raise UsageError(f"column {j} of X has size {scale[j]:g}: change its unit")
    if not keep.all():
        G = G[np.ix_(keep, keep)]
    lam, U = np.linalg.eigh(G)
    sound = lam[0] > GRAM_RATIO * lam[-1]
    half = U * np.sqrt(X.shape[0] / lam) if sound else _half_by_qr(X, scale, keep)
    T = np.zeros((X.shape[1], half.shape[1]))
    T[keep] = half / scale[keep, None]
    return Whitening(T, half.shape[1], scale)


def _scaled_gram(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """X'X scaled to a unit diagonal, and the column norms it was scaled by (0: a zero column)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        G = X.T @ X
    squares = G.diagonal()
    if squares.min() > SAFE_SQUARES[0] and squares.max() < SAFE_SQUARES[1]:
        norm = np.sqrt(squares)
        return G / norm / norm[:, None], norm
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    unit = np.where(largest > 0.0, largest, 1.0)
    G = np.zeros_like(G)
    for rows in row_blocks(*X.shape):
        block = X[rows] / unit
        G += block.T @ block
    norm = np.sqrt(np.maximum(G.diagonal(), 1.0))
    return G / norm / norm[:, None], largest * norm


def _half_by_qr(X: FloatArray, scale: FloatArray, keep: BoolArray) -> FloatArray:
    """The whitening (p, rank) of the column-scaled rows, from R of a blocked QR and its SVD."""
    tops = [np.linalg.qr(X[rows][:, keep] / scale[keep], mode="r") for rows in row_blocks(*X.shape)]
    R = tops[0] if len(tops) == 1 else np.linalg.qr(np.vstack(tops), mode="r")
    s, Wt = np.linalg.svd(R, full_matrices=False)[1:]
    tol = s[0] * min(RANK_FACTOR * max(X.shape) * EPS, RANK_CEILING)
    rank = int((s > tol).sum())
    return np.asarray(Wt[:rank].T * (np.sqrt(X.shape[0]) / s[:rank]))
