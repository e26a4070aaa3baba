"""Who is dominated: the weak and the strict Pareto front, every objective maximised."""

from __future__ import annotations

import moocore
import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, as_matrix

# Below this many arms one call of the compiled filter costs less than choosing strong arms.
PREFILTER_FROM = 2_000
# Strong arms of a prefilter pass: few catch most dominated arms, each costs one comparison of all.
STRONG = 4
# The prefilter is tried on about this many arms, and goes on while at most this share survives.
SAMPLE = 4_000
PAYS = 0.5
# Comparisons held at once: 2^18 booleans stay in a core's cache.
CELLS = 1 << 18


def non_dominated(mu: npt.ArrayLike) -> BoolArray:
    """Arms that no arm equals or beats everywhere while beating it somewhere (copies all stay).

    Parameters
    ----------
    mu : (n, d) means, every objective maximised

    Returns
    -------
    (n,) mask of the Pareto set

    Raises
    ------
    UsageError
        If ``mu`` is empty, not finite, or not a matrix.

    Examples
    --------
    >>> non_dominated([[1, 3], [2, 2], [1, 2], [2, 2]]).tolist()
    [True, True, False, True]
    """
    return front_of(as_matrix(mu, "mu"))


def strictly_non_dominated(mu: npt.ArrayLike) -> BoolArray:
    """Arms that no arm beats in every objective at once: the Pareto set and the ties around it.

    Parameters
    ----------
    mu : (n, d) means, every objective maximised

    Returns
    -------
    (n,) mask; it contains the mask of `non_dominated`

    Raises
    ------
    UsageError
        If ``mu`` is empty, not finite, or not a matrix.

    Examples
    --------
    >>> strictly_non_dominated([[1, 3], [2, 2], [1, 2], [1, 1]]).tolist()
    [True, True, True, False]
    """
    matrix = as_matrix(mu, "mu")
    keep = front_of(matrix)
    rest = np.flatnonzero(~keep)
    beaten = _beaten_in_plane if matrix.shape[1] == 2 else _beaten
    keep[rest] = ~beaten(matrix[rest], matrix[keep])
    return keep


def front_of(matrix: FloatArray) -> BoolArray:
    """`non_dominated` for a matrix already checked."""
    n, d = matrix.shape
    if d == 1:
        return np.asarray(matrix[:, 0] == matrix.max())
    if n < PREFILTER_FROM:
        return _filter(matrix)
    alive = _survivors(matrix)
    front = np.zeros(n, dtype=np.bool_)
    front[alive] = _filter(matrix[alive])
    return front


def _filter(matrix: FloatArray) -> BoolArray:
    """Kung, Luccio and Preparata's divide and conquer, as compiled by moocore."""
    mask: BoolArray = moocore.is_nondominated(matrix, maximise=True, keep_weakly=True)
    return mask


def _survivors(matrix: FloatArray) -> IntArray:
    """Drop what a few strong arms dominate, by transitivity nothing of the front; give the rest.

    A thinned sample tells first whether this pays: on a wide front it drops little.
    """
    alive = np.arange(len(matrix))
    while len(alive) >= PREFILTER_FROM:
        here = matrix[alive]
        strong = here[_strong(here)]
        thin = here[:: -(-len(here) // SAMPLE)]
        if len(_outside(thin, strong)) > PAYS * len(thin):
            break
        alive = alive[_outside(here, strong)]
    return alive


def _strong(matrix: FloatArray) -> IntArray:
    """Arms of largest sum and of largest worst coordinate, both of which dominate a large box."""
    low, high = matrix.T.min(axis=1), matrix.T.max(axis=1)
    scale = 1.0 / np.where(high > low, high - low, 1.0)
    half = STRONG // 2
    worst = (matrix[:, 0] - low[0]) * scale[0]
    for c in range(1, matrix.shape[1]):
        np.minimum(worst, (matrix[:, c] - low[c]) * scale[c], out=worst)
    scores = (matrix @ scale, worst)
    return np.concatenate([np.argpartition(score, -half)[-half:] for score in scores])


def _outside(matrix: FloatArray, strong: FloatArray) -> IntArray:
    """Select the rows that no strong arm dominates (its copies stay)."""
    alive = np.arange(len(matrix))
    here = matrix
    for arm in strong:
        below = here[:, 0] <= arm[0]
        for c in range(1, matrix.shape[1]):
            below &= here[:, c] <= arm[c]
        below[below] = (here[below] != arm).any(axis=1)
        alive, here = alive[~below], here[~below]
    return alive


def _beaten(arms: FloatArray, front: FloatArray) -> BoolArray:
    """Whether some front arm is strictly larger in every objective; strongest front arms first."""
    out = np.zeros(len(arms), dtype=np.bool_)
    order = front[np.argsort(-front.sum(axis=1))]
    open_ = np.arange(len(arms))
    start, height = 0, 8
    while start < len(order) and len(open_):
        block = order[start : start + height]
        hit = _any_above(arms[open_], block)
        out[open_[hit]] = True
        open_ = open_[~hit]
        start, height = start + height, min(2 * height, 256)
    return out


def _any_above(arms: FloatArray, block: FloatArray) -> BoolArray:
    """Say for every arm whether one row of the block is larger everywhere."""
    width = max(1, CELLS // len(block))
    hit = np.empty(len(arms), dtype=np.bool_)
    for start in range(0, len(arms), width):
        part = arms[start : start + width]
        above = block[:, None, 0] > part[:, 0]
        for c in range(1, arms.shape[1]):
            above &= block[:, None, c] > part[:, c]
        hit[start : start + width] = above.any(axis=0)
    return hit


def _beaten_in_plane(arms: FloatArray, front: FloatArray) -> BoolArray:
    """`_beaten` for two objectives: on the sorted front the arms above are one range of indices."""
    rising = np.sort(front[:, 0])
    falling = np.sort(-front[:, 1])
    begin = np.searchsorted(rising, arms[:, 0], side="right")
    end = np.searchsorted(falling, -arms[:, 1], side="left")
    return np.asarray(end > begin)
