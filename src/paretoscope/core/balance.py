"""The shares of measurements that let all open questions end at the same time.

Question q is the sign of a difference along u_q; ``a_q = gap_q^2 / need_q`` says how fast evidence comes.
The shares w wanted are those of

    max over w of  min over q of  a_q / |u_q|^2_{V(w)^-1}

and 2 divided by the optimum is the number of pulls (for noise of scale 1) after which every question
has gained its need. The quotient is a matrix-fractional form, so the maximum is of a concave function;
steps of Frank and Wolfe towards the best arm for the worst question come close enough for a plan:
no guarantee rests on it.
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray

STEPS = 150
_RIDGE = 1e-10


def balanced(
    Z: FloatArray, U: FloatArray, a: FloatArray, start: FloatArray, steps: int = STEPS
) -> FloatArray:
    """Weights of the arms Z (n, h) for directions U (m, h), from start weights that span them."""
    w: FloatArray = start / start.sum()
    V = (Z * w[:, None]).T @ Z
    V[np.diag_indices_from(V)] += _RIDGE * np.trace(V)  # arms that are left may not span all
    inverse = np.linalg.inv(V)
    A = inverse @ U.T  # V(w)^-1 u, kept up to date by the formula of Sherman and Morrison
    for k in range(steps):
        worst = int(np.argmin(a / np.einsum("mh,hm->m", U, A)))
        best = int(np.argmax(np.abs(Z @ A[:, worst])))
        step = 1.5 / (k + 2.0) if k else 0.5
        x = Z[best]
        turned = inverse @ x
        turned *= step / (1.0 - step + step * float(x @ turned))
        A = (A - np.outer(turned, x @ A)) / (1.0 - step)
        inverse = (inverse - np.outer(turned, x @ inverse)) / (1.0 - step)
        w *= 1.0 - step
        w[best] += step
    return w


def balanced_free(
    i: IntArray, j: IntArray, a: FloatArray, start: FloatArray, steps: int = STEPS
) -> FloatArray:
    """The same for arms that share no features, ``|u|^2 = 1 / w_i + 1 / w_j``; none to arms that start with none."""
    w: FloatArray = np.maximum(start / start.sum(), _RIDGE)
    open_ = start > 0.0
    for k in range(steps):
        best = _thinner_of_worst(i, j, a, w, open_)
        if best is None:
            break
        step = 1.5 / (k + 4.0)
        w *= 1.0 - step
        w[best] += step
        w = np.maximum(w, _RIDGE)
    return np.where(open_, w, 0.0)


def completed(
    Z: FloatArray, U: FloatArray, a: FloatArray, past: FloatArray, start: FloatArray
) -> FloatArray:
    """`balanced` for the end of a budget: with ``past + V(w)`` in place of V(w).

    Parameters
    ----------
    past : (h, h) array
        Gram matrix of what was measured, divided by the number of pulls to come.
    """
    w: FloatArray = start / start.sum()
    past = past + _RIDGE * np.eye(len(past))  # arms that are left may not span all
    V = past + (Z * w[:, None]).T @ Z
    for k in range(STEPS):
        A = np.linalg.solve(V, U.T)
        squares = np.einsum("mh,hm->m", U, A)
        worst = int(np.argmin(a / squares))
        best = int(np.argmax(np.abs(Z @ A[:, worst])))
        step = 1.5 / (k + 2.0) if k else 0.5
        V = (1.0 - step) * V + step * (past + np.outer(Z[best], Z[best]))
        w *= 1.0 - step
        w[best] += step
    return w


def completed_free(
    i: IntArray, j: IntArray, a: FloatArray, past: FloatArray, start: FloatArray
) -> FloatArray:
    """`completed` for arms that share no features, ``past`` their pulls over the pulls to come."""
    w: FloatArray = start / start.sum()
    open_ = start > 0.0
    for k in range(STEPS):
        n = past + np.maximum(w, _RIDGE)
        best = _thinner_of_worst(i, j, a, n, open_)
        if best is None:
            break
        step = 1.5 / (k + 4.0)
        w *= 1.0 - step
        w[best] += step
    return w


def _thinner_of_worst(
    i: IntArray, j: IntArray, a: FloatArray, n: FloatArray, open_: BoolArray
) -> int | None:
    """Of the two arms of the worst question the one with fewer pulls n; None where neither can be pulled."""
    worst = int(np.argmin(a / (1.0 / n[i] + 1.0 / n[j])))
    pair = np.array([i[worst], j[worst]])
    pair = pair[open_[pair]]
    return int(pair[np.argmin(n[pair])]) if len(pair) else None


def pulls_left(U_squares: FloatArray, a: FloatArray) -> float:
    """2 max |u_q|^2 / a_q: pulls until every question has its need."""
    return float(2.0 * (U_squares / a).max())
