"""Instances whose truth is known: the ones of the literature, and random ones of a chosen gap.

Every mean is stated so that larger is better; objectives that are minimised enter negated.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import BoolArray, FloatArray, as_matrix, freeze
from paretoscope.core.dominance import non_dominated
from paretoscope.core.gaps import Complexity, complexity, psi_gaps
from paretoscope.core.least_squares import row_basis
from paretoscope.errors import DataError, UsageError

Draw: TypeAlias = Callable[[np.random.Generator], FloatArray]

# Means of the eight base arms: three optimal, five dominated. H1_lin = 6133.163, H2_lin = 5000.
BASE_MEANS = (
    (0.90, 0.30),
    (0.60, 0.62),
    (0.25, 0.90),
    (0.58, 0.57),
    (0.80, 0.24),
    (0.18, 0.78),
    (0.45, 0.52),
    (0.70, 0.18),
)
# Candidates per draw: fixed, so that more arms continue the same stream.
BLOCK = 4096
# An added arm has a gap this many times the largest gap of the base, hence never one of the h smallest.
ADDED_GAP = (1.05, 2.0)
# Noise of both data sets in GEGE, section 6.
DATA_SIGMA = 0.5

NOC_COLUMNS = ("width", "complexity", "fifo", "multiplier", "energy", "inv_runtime")
ENERGY_COLUMNS = (*(f"X{k}" for k in range(1, 9)), "target_1", "target_2")


@dataclass(frozen=True, eq=False)
class Instance:
    """Features X (K, p) or None (unstructured), means mu (K, d), noise scale sigma (d,) or one number.

    The arrays are read-only copies, used as they are: no intercept is added.

    Raises
    ------
    UsageError
        If shapes disagree, a number is not finite, a sigma is negative, or all features are 0.

    Examples
    --------
    >>> Instance(None, [[1, 0], [0, 1]], 0.5).sigma.tolist()
    [0.5, 0.5]
    """

    X: FloatArray | None
    mu: FloatArray
    sigma: FloatArray

    def __init__(
        self, X: npt.ArrayLike | None, mu: npt.ArrayLike, sigma: npt.ArrayLike = 1.0
    ) -> None:
        means = np.array(as_matrix(mu, "mu"))
        object.__setattr__(self, "X", None if X is None else _features(X, len(means)))
        object.__setattr__(self, "mu", freeze(means))
        object.__setattr__(self, "sigma", _scales(sigma, means.shape[1], "sigma"))

    @property
    def K(self) -> int:
        """Number of arms."""
        return len(self.mu)

    @property
    def d(self) -> int:
        """Number of objectives."""
        return int(self.mu.shape[1])

    @property
    def h(self) -> int:
        """Rank of the features; K when there are none."""
        return self.K if self.X is None else row_basis(self.X)[1]

    @cached_property
    def pareto(self) -> BoolArray:
        """The true Pareto set as a mask (K,)."""
        return freeze(non_dominated(self.mu))

    def complexity(self) -> Complexity:
        """Sample complexities of this instance, over all arms and over the h smallest gaps."""
        return complexity(self.mu, self.h)

    def epsilon_front(self, eps: npt.ArrayLike) -> BoolArray:
        """Arms that no arm exceeds by more than eps (one number, or one per objective) everywhere.

        Raises
        ------
        UsageError
            If ``eps`` is negative, not finite, or not of d numbers.

        Examples
        --------
        >>> Instance(None, [[1, 1], [0.5, 0.75], [0, 0]]).epsilon_front(0.25).tolist()
        [True, True, False]
        """
        slack = _scales(eps, self.d, "eps")
        keep = self.pareto.copy()
        rest = np.flatnonzero(~keep)
        for best in self.mu[keep]:
            rest = rest[~(best - self.mu[rest] > slack).all(axis=1)]
        keep[rest] = True
        return keep


def synthetic(K: int, mode: str = "inside", seed: int = 0, sigma: npt.ArrayLike = 1.0) -> Instance:
    """Build nu_K: eight base arms and K - 8 clearly worse ones; h = 8, d = 2, same complexity for all K.

    Parameters
    ----------
    K : number of arms, at least 8; the first arms of a larger K are the same
    mode : where added features lie, 'inside' the simplex of the base or on a thick 'sphere'
    seed : of the added arms
    sigma : noise scale

    Raises
    ------
    UsageError
        If ``K`` is below 8 or ``mode`` is unknown.

    Examples
    --------
    >>> round(synthetic(20).complexity().H1_lin, 3)
    6133.163
    """
    base = np.array(BASE_MEANS)
    draws: dict[str, Draw] = {"inside": _inside, "sphere": _on_sphere}
    if K < len(base):
        raise UsageError(f"K = {K}: the instance has {len(base)} base arms, ask for at least those")
    if mode not in draws:
        raise UsageError(f"mode {mode!r} is unknown: one of {sorted(draws)}")
    added = _added(base, K - len(base), draws[mode], np.random.default_rng(seed))
    X = np.vstack([np.eye(len(base)), added])
    return Instance(X, X @ base, sigma)


def near_tie(
    delta_gap: float = 1e-7,
    other: float = 5.0,
    sigma: npt.ArrayLike = 1.0,
    *,
    dominated: bool = False,
) -> Instance:
    """Build two arms, K = h = d = 2: the second worse by ``delta_gap`` in one objective.

    In the other objective it is better by ``other`` (both are optimal), or, if ``dominated``, worse
    by it. Both gaps are ``delta_gap`` as long as it is the smaller number.

    Raises
    ------
    UsageError
        If a number is negative or not finite.

    Examples
    --------
    >>> near_tie(0.25).pareto.tolist(), near_tie(0.25, dominated=True).pareto.tolist()
    ([True, True], [True, False])
    """
    worse, gain = _scales([delta_gap, other], 2, "delta_gap and other")
    return Instance(np.eye(2), [[0.0, 0.0], [-worse, -gain if dominated else gain]], sigma)


def random_instance(
    K: int,
    h: int | None,
    d: int,
    smallest_gap: float,
    seed: int,
    sigma: npt.ArrayLike = 1.0,
) -> Instance:
    """Draw Gaussian features and parameters, scaled to a chosen smallest gap.

    Parameters
    ----------
    K, d : numbers of arms (at least 2) and objectives
    h : rank of the features, at most K; None for an unstructured instance
    smallest_gap : positive
    seed, sigma : of the draw; noise scale

    Raises
    ------
    UsageError
        If a size or the gap makes no sense.

    Examples
    --------
    >>> round(float(random_instance(20, 4, 3, 0.125, seed=1).complexity().gaps[0]), 12)
    0.125
    """
    if K < 2 or d < 1 or (h is not None and not 1 <= h <= K):
        raise UsageError(f"K = {K}, h = {h}, d = {d}: needs K >= 2, d >= 1, h None or in 1..K")
    if not 0.0 < smallest_gap < np.inf:
        raise UsageError(f"smallest_gap = {smallest_gap}: must be positive and finite")
    rng = np.random.default_rng(seed)
    X = None if h is None else rng.standard_normal((K, h))
    mu = rng.standard_normal((K, d)) if X is None else X @ rng.standard_normal((X.shape[1], d))
    return Instance(X, mu * (smallest_gap / psi_gaps(mu).gap.min()), sigma)


def noc(
    path: str | Path, variant: str = "as-published", sigma: npt.ArrayLike = DATA_SIGMA
) -> Instance:
    """Read the network-on-chip designs (Almer et al. 2011), the means being a linear fit.

    Parameters
    ----------
    path : the file, ``;`` separated with header
    variant : 'as-published' (rows of norm 1, no intercept, both objectives minimised, as in GEGE)
        or 'sound' (intercept and standardised features; energy minimised, inv_runtime maximised)
    sigma : noise scale

    Raises
    ------
    DataError
        If the file is missing or is not this table.
    UsageError
        If ``variant`` is unknown.
    """
    _check_variant(variant)
    table = _read_table(Path(path), ";", NOC_COLUMNS)
    raw, targets = table[:, :-2], table[:, -2:]
    if variant == "sound":
        X = _with_intercept(_over(raw - raw.mean(axis=0), raw.std(axis=0)))
        return Instance(X, _fit(X, targets * (-1.0, 1.0)), sigma)
    X = _of_norm_one(raw)
    return Instance(X, _fit(X, -targets), sigma)


def energy(path: str | Path, variant: str = "sound", sigma: npt.ArrayLike = DATA_SIGMA) -> Instance:
    """Read the buildings of Tsanas and Xifara (2012): heating and cooling load, both minimised.

    The means are a least-squares fit of the features, which are rank-deficient.

    Parameters
    ----------
    path : the file, ``,`` separated with header
    variant : 'sound' (features as they are, with an intercept) or 'as-published' (rows of norm 1, no
        intercept, as in GEGE)
    sigma : noise scale

    Raises
    ------
    DataError
        If the file is missing or is not this table.
    UsageError
        If ``variant`` is unknown.
    """
    _check_variant(variant)
    table = _read_table(Path(path), ",", ENERGY_COLUMNS)
    raw = table[:, :-2]
    X = _with_intercept(raw) if variant == "sound" else _of_norm_one(raw)
    return Instance(X, _fit(X, -table[:, -2:]), sigma)


def _features(X: npt.ArrayLike, K: int) -> FloatArray:
    """Check features (K, p) and copy them."""
    matrix = np.array(as_matrix(X, "X"))
    if len(matrix) != K:
        raise UsageError(f"X has {len(matrix)} rows and mu {K}: one row per arm in both")
    if not matrix.any():
        raise UsageError("X is all zero: give features that differ from 0, or None for no features")
    return freeze(matrix)


def _scales(values: npt.ArrayLike, d: int, name: str) -> FloatArray:
    """Check d numbers >= 0, from one number or d of them, and copy them."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in {(), (d,)}:
        raise UsageError(f"{name} has shape {given.shape}: give one number or {d}")
    if not (np.isfinite(given) & (given >= 0.0)).all():
        raise UsageError(f"{name} = {given.tolist()}: must be finite and not negative")
    return freeze(np.array(np.broadcast_to(given, (d,))))


def _inside(rng: np.random.Generator) -> FloatArray:
    """Draw weights of the base arms: a point of the simplex, shrunk."""
    u = rng.random((BLOCK, len(BASE_MEANS)))
    scaled: FloatArray = u / u.sum(axis=1, keepdims=True) * rng.uniform(0.2, 1.0, (BLOCK, 1))
    return scaled


def _on_sphere(rng: np.random.Generator) -> FloatArray:
    """Draw random directions of norm .6 to 1.2."""
    u = rng.standard_normal((BLOCK, len(BASE_MEANS)))
    radius = rng.uniform(0.6, 1.2, (BLOCK, 1))
    scaled: FloatArray = u / np.linalg.norm(u, axis=1, keepdims=True) * radius
    return scaled


def _added(base: FloatArray, count: int, draw: Draw, rng: np.random.Generator) -> FloatArray:
    """First ``count`` candidates whose distance below the front of the base is acceptable."""
    low, high = psi_gaps(base).gap.max() * np.array(ADDED_GAP)
    front = base[non_dominated(base)]
    blocks = [np.empty((0, len(base)))]
    while sum(map(len, blocks)) < count:
        u = draw(rng)
        margin = (front[:, None, :] - u @ base).min(axis=2).max(axis=0)
        blocks.append(u[(margin >= low) & (margin <= high)])
    return np.concatenate(blocks)[:count]


def _over(values: FloatArray, scale: FloatArray) -> FloatArray:
    """Divide by a scale, where there is one: constant columns and zero rows stay."""
    divided: FloatArray = values / np.where(scale > 0.0, scale, 1.0)
    return divided


def _of_norm_one(X: FloatArray) -> FloatArray:
    """Rows scaled to Euclidean norm 1."""
    return _over(X, np.linalg.norm(X, axis=1, keepdims=True))


def _check_variant(variant: str) -> None:
    """Refuse what is no reading of a data set."""
    if variant not in {"as-published", "sound"}:
        raise UsageError(f"variant {variant!r} is unknown: 'as-published' or 'sound'")


def _with_intercept(X: FloatArray) -> FloatArray:
    """Prepend a column of ones."""
    return np.column_stack([np.ones(len(X)), X])


def _fit(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Least-squares means X Theta of the targets Y (K, d)."""
    fitted: FloatArray = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    return fitted


def _read_table(path: Path, delimiter: str, columns: tuple[str, ...]) -> FloatArray:
    """Read numbers under exactly this header, or say which file, line and column is wrong."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror}): give the path of the table"
        ) from error
    if not lines or tuple(lines[0]) != columns:
        found = delimiter.join(lines[0]) if lines else ""
        raise DataError(f"{path}: header must be {delimiter.join(columns)!r}, found {found!r}")
    if len(lines) < 2:
        raise DataError(f"{path}: no row under the header")
    return np.array([_numbers(path, k, line, columns) for k, line in enumerate(lines[1:], 1)])


def _numbers(path: Path, row: int, line: list[str], columns: tuple[str, ...]) -> list[float]:
    """One row of numbers; rows count from 1 under the header."""
    if len(line) != len(columns):
        raise DataError(f"{path}, row {row}: {len(line)} values for {len(columns)} columns")
    values = []
    for name, text in zip(columns, line, strict=True):
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise DataError(f"{path}, row {row}, column {name}: {text!r} is not a finite number")
        values.append(value)
    return values
