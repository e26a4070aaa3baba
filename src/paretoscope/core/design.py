"""Optimal designs: which rows to measure, and in which shares, to learn a linear model evenly."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from paretoscope.core.arrays import FloatArray, IntArray, as_matrix
from paretoscope.core.certificate import Design, dense_design, largest_leverage
from paretoscope.core.leverage import Whitening, whiten
from paretoscope.core.mirror_descent import MAX_ITERATIONS, descend
from paretoscope.core.working_set import MAX_ROUNDS, solve
from paretoscope.core.xy_design import pair_differences, xy_optimal, xy_optimal_arms
from paretoscope.errors import NumericalError, UsageError

__all__ = ["Design", "g_optimal", "pair_differences", "xy_optimal", "xy_optimal_arms"]

# A design this far from optimal still serves every guarantee of GEGE; a worse one is an error.
ACCEPTABLE = 1e-3


def g_optimal(
    X: npt.ArrayLike,
    tol: float = 1e-6,
    solver: Literal["interior-point", "mirror-descent"] = "interior-point",
    max_iterations: int | None = None,
) -> Design:
    """Weights which minimise the largest leverage x' V(w)^+ x over the rows of X.

    By Kiefer and Wolfowitz (1960) the optimum is rank(X), reached by the D-optimal design. The
    certificate, recomputed on all rows, is the largest leverage over rank(X).

    Parameters
    ----------
    X : (K, p) array
        One row per candidate. Rank-deficient, duplicated and zero rows or columns are fine, and so
        are columns in any units.
    tol : float
        Relative: the largest leverage is at most rank(X) (1 + tol).
    solver : {"interior-point", "mirror-descent"}
        Mirror descent is Algorithm 3 of the GEGE paper, for reproduction. It rarely passes 1e-4:
        it may stop at its cap, and then only its certificate says so.
    max_iterations : int, optional
        Rounds of the working set (default 100) or steps of mirror descent (default 2000).

    Raises
    ------
    UsageError
        X is empty, not finite or zero everywhere, or an argument makes no sense.
    NumericalError
        The interior point ended more than 1e-3 (or tol, if larger) above the optimum.

    Examples
    --------
    >>> g_optimal([[1.0, 0.0], [0.0, 2.0], [0.1, 0.1]]).weights.round(3)
    array([0.5, 0.5, 0. ])
    """
    X = as_matrix(X, "X")
    if not 0.0 < tol < np.inf:
        raise UsageError(f"tol must be positive and finite, not {tol}")
    if max_iterations is not None and max_iterations < 1:
        raise UsageError(f"max_iterations must be at least 1, not {max_iterations}")
    if solver == "mirror-descent":
        return _by_mirror_descent(X, tol, max_iterations or MAX_ITERATIONS)
    if solver != "interior-point":
        raise UsageError(f'solver must be "interior-point" or "mirror-descent", not {solver!r}')
    white = whiten(X)
    support, w, value = _closed_form(X, white) or solve(X, white, tol, max_iterations or MAX_ROUNDS)
    design = dense_design(X.shape[0], support, w, white.rank, value, white.rank)
    if not design.certificate <= 1.0 + max(tol, ACCEPTABLE):
        raise NumericalError(
            f"the design only reached {design.certificate:.6g} times the optimum after "
            f"{max_iterations or MAX_ROUNDS} rounds: raise tol or max_iterations"
        )
    return design


def _closed_form(X: FloatArray, white: Whitening) -> tuple[IntArray, FloatArray, float] | None:
    """The design where it needs no solver: rank one, or as many nonzero rows as dimensions."""
    if white.rank == 1:
        support = np.abs(X @ white.T).argmax(axis=0)
    elif X.shape[0] > 4 * white.rank + 100:
        return None
    else:
        support = np.flatnonzero(X.any(axis=1))
        if support.size != white.rank:
            return None
    w = np.full(support.size, 1.0 / support.size)
    return support, w, largest_leverage(X, white.T, support, w)


def _by_mirror_descent(X: FloatArray, tol: float, max_iterations: int) -> Design:
    """The paper's Algorithm 3, with the same certificate as any other design."""
    white = whiten(X)
    w = descend(X @ white.T, tol, max_iterations)
    support = np.flatnonzero(w)
    w = w[support] / w[support].sum()
    value = largest_leverage(X, white.T, support, w)
    return dense_design(X.shape[0], support, w, white.rank, value, white.rank)
