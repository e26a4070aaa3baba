"""D-optimal weights of a few rows by a primal-dual interior point (Wright, Primal-Dual Methods, 1997).

minimise  -log det V(w) + h sum w   over w >= 0,   V(w) = sum w_i y_i y_i'.
At the optimum sum w = 1 and, by Kiefer-Wolfowitz, no leverage is above h.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.errors import NumericalError

# Mehrotra's centring exponent, and the usual fraction of the way to the boundary.
CENTRING = 3
BOUNDARY = 0.9
# Never onto it: where the optimum is a whole face (factorial grids), rounding would cross to w < 0.
NEAREST = 1.0 - 1e-10
MAX_STEPS = 60
MAX_RIDGES = 5
TINY = float(np.finfo(np.float64).tiny)
# Keeps the first multipliers positive when the start is optimal already.
EPS_START = 1e-9


def optimal_weights(Y: FloatArray, start: FloatArray, tol: float) -> tuple[IntArray, FloatArray]:
    """Rows of Y (m, h) kept and their weights (sum 1), no leverage of a row above h (1 + tol).

    Rows which cannot support the optimum are left out on the way. `start` (m,) is positive.
    """
    h = Y.shape[1]
    rows = np.arange(Y.shape[0])
    w = start / start.sum()
    P = _products(Y, w)
    # Weights scaled up until no leverage is above h are feasible, with multipliers z = h - g > 0.
    excess = max(float(P.diagonal().max()) / h - 1.0, TINY)
    grow = (1.0 + excess) * (1.0 + 0.1 * min(1.0, excess) + EPS_START)
    w, P = w * grow, P / grow
    z = h - P.diagonal()
    for _ in range(MAX_STEPS):
        w, z = _step(P, w, z, h)
        P = _products(Y, w)
        scaled = P.diagonal() * w.sum()
        excess = float(scaled.max()) / h - 1.0
        keep = scaled >= h * harman_pronzato(excess, h)
        if excess <= tol:
            # Idle rows hold what the barrier left them: let go of it where the tolerance allows.
            if float(w[~keep].sum()) <= tol * float(w.sum()):
                rows, w = rows[keep], w[keep]
            break
        if np.count_nonzero(keep) < 0.9 * keep.size:
            rows, Y, w, z, P = rows[keep], Y[keep], w[keep], z[keep], P[keep][:, keep]
    return rows, w / w.sum()


def harman_pronzato(excess: float, h: int) -> float:
    """Leverage / h under which a row cannot support the optimum (Harman and Pronzato 2007, eq. 9)."""
    e = max(excess, 0.0)
    root = np.sqrt(max(e * (4.0 + e - 4.0 / h), 0.0))
    return float((1.0 + 0.5 * e - 0.5 * root) * (1.0 - 1e-7))


def triangle_root(Y: FloatArray, w: FloatArray, ridge: float = 0.0) -> FloatArray:
    """Upper triangle C (h, h) with (V(w) + ridge I)^-1 = C C'."""
    B = Y * np.sqrt(w)[:, None]
    V = B.T @ B
    if ridge:
        V.flat[:: V.shape[0] + 1] += ridge
    L, info = lapack.dpotrf(V, lower=1)
    inverse, bad = lapack.dtrtri(L, lower=1)
    if info or bad:
        raise NumericalError("the weighted rows of a design stopped spanning: please report X")
    return np.asarray(inverse.T)


def _products(Y: FloatArray, w: FloatArray) -> FloatArray:
    """All products y_i' V(w)^-1 y_j, (m, m); the leverages are on its diagonal."""
    R = Y @ triangle_root(Y, w)
    return np.asarray(R @ R.T)


def _step(P: FloatArray, w: FloatArray, z: FloatArray, h: int) -> tuple[FloatArray, FloatArray]:
    """One predictor-corrector step of the weights w and their multipliers z."""
    ratio = z / w
    grad = h - P.diagonal()
    R = factor(P * P, ratio)
    mu = float(w @ z) / w.size
    dw = lapack.dpotrs(R, -grad, lower=1)[0]
    dz = -z - ratio * dw
    w_ahead, z_ahead = w + min(1.0, reach(w, dw)) * dw, z + min(1.0, reach(z, dz)) * dz
    ahead = float(w_ahead @ z_ahead) / w.size
    target = (mu * (ahead / mu) ** CENTRING - dw * dz) / w
    dw = lapack.dpotrs(R, target - grad, lower=1)[0]
    dz = target - z - ratio * dw
    # Near the end the step may go closer to the boundary (superlinear convergence).
    fraction = min(max(BOUNDARY, 1.0 - mu / h), NEAREST)
    return (
        w + min(1.0, fraction * reach(w, dw)) * dw,
        z + min(1.0, fraction * reach(z, dz)) * dz,
    )


def factor(H: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Cholesky factor of the symmetric H + diag(diagonal), with a ridge if rounding asks for one."""
    ridge = 0.0
    for _ in range(MAX_RIDGES):
        A = H.copy()
        A.flat[:: A.shape[0] + 1] += diagonal + ridge
        # A is symmetric: its transpose is the same matrix in the order LAPACK wants, uncopied.
        R, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1)
        if not info:
            return np.asarray(R)
        ridge = max(1e3 * ridge, 1e-14 * float(H.diagonal().max()))
    raise NumericalError("the Hessian of a design could not be factored: please report X")


def reach(v: FloatArray, dv: FloatArray) -> float:
    """How far along dv the positive vector v stays non-negative."""
    return 1.0 / max(float((-dv / v).max()), TINY)
