"""XY-optimal weights of a few rows for a few targets, by a primal-dual interior point.

minimise sum w  over w >= 0  with  q_j(w) = u_j' V(w)^-1 u_j <= 1 for every target u_j.
Scaled to sum one, the solution minimises max_j q_j; sum w is that minimum. With multipliers lam of
the targets, Z = sum lam_j u_j u_j' and M = V^-1 Z V^-1, Cauchy-Schwarz gives for every design
max_j q_j >= (tr V^-1 Z)^2 / (sum lam  max_a x_a' M x_a)  (the c-optimal bound of Pukelsheim 1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from paretoscope.core.arrays import FloatArray
from paretoscope.core.interior_point import BOUNDARY, CENTRING, factor, reach, triangle_root

MAX_STEPS = 60
# The optimum may leave directions without a target unmeasured: V(w) is then singular. This share of
# the identity (the second moment of all rows) keeps it invertible and moves no variance by 1e-7.
RIDGE = 1e-10


@dataclass(frozen=True, slots=True)
class Saddle:
    """Weights w (m,) and multipliers lam (n,), both of sum one, and C with V(w)^-1 = C C'."""

    w: FloatArray
    lam: FloatArray
    C: FloatArray


@dataclass(frozen=True, slots=True)
class _Point:
    """An iterate: weights, multipliers, their slacks, and every product the step needs."""

    w: FloatArray
    z: FloatArray
    lam: FloatArray
    s: FloatArray

    @property
    def mu(self) -> float:
        """Mean complementarity."""
        return float(self.w @ self.z + self.lam @ self.s) / (self.w.size + self.lam.size)

    def toward(self, step: _Point, fraction: float) -> _Point:
        """The point `fraction` of the way to the boundary along `step`, at most the whole step."""
        primal = min(1.0, fraction * min(reach(self.w, step.w), reach(self.s, step.s)))
        dual = min(1.0, fraction * min(reach(self.lam, step.lam), reach(self.z, step.z)))
        return _Point(
            self.w + primal * step.w,
            self.z + dual * step.z,
            self.lam + dual * step.lam,
            self.s + primal * step.s,
        )


def saddle(Y: FloatArray, U: FloatArray, start: FloatArray, tol: float) -> Saddle:
    """Weights on the rows of Y (m, h) for the targets U (n, h), within 1 + tol of the optimum."""
    C = triangle_root(Y, start, RIDGE)
    A, B = Y @ C, U @ C
    q = np.einsum("ij,ij->i", B, B)
    J = (B @ A.T) ** 2
    # All targets strictly inside (q <= 1/1.1), and multipliers small enough for positive slacks.
    grow = 1.1 * float(q.max())
    lam = np.full(q.size, 0.5 * grow * grow / float(J.sum(axis=0).max()))
    ridge = RIDGE * grow
    point = _Point(start * grow, 1.0 - (lam @ J) / (grow * grow), lam, 1.0 - q / grow)
    for _ in range(MAX_STEPS):
        C = triangle_root(Y, point.w, ridge)
        A, B = Y @ C, U @ C
        q = np.einsum("ij,ij->i", B, B)
        G = B @ A.T
        J = G * G
        gain = point.lam @ J
        bound = float(point.lam @ q) ** 2 / (float(point.lam.sum()) * float(gain.max()))
        total = float(point.w.sum())
        if total * float(q.max()) <= bound * (1.0 + tol):
            break
        H = 2.0 * (A @ A.T) * ((G.T * point.lam) @ G)
        point = _advance(point, H, J, q)
    total = float(point.w.sum())
    return Saddle(point.w / total, point.lam / point.lam.sum(), C * np.sqrt(total))


def _advance(point: _Point, H: FloatArray, J: FloatArray, q: FloatArray) -> _Point:
    """One predictor-corrector step."""
    pull = point.lam / point.s
    R = factor(H + (J.T * pull) @ J, point.z / point.w)
    off = 1.0 - q - point.s
    ahead = _direction(point, R, J, off, np.zeros_like(point.w), np.zeros_like(point.s))
    mu = point.mu
    centring = (point.toward(ahead, 1.0).mu / mu) ** CENTRING
    # V may be nearly singular, and then the multipliers lag behind: let them catch up first.
    lag = float(np.abs(1.0 - point.lam @ J - point.z).max())
    gap = mu * (point.w.size + point.s.size) / float(point.w.sum())
    if lag > gap:
        centring = max(centring, 0.5)
    aim = mu * centring
    rows, targets = aim - ahead.w * ahead.z, aim - ahead.lam * ahead.s
    return point.toward(_direction(point, R, J, off, rows, targets), BOUNDARY)


def _direction(
    point: _Point,
    R: FloatArray,
    J: FloatArray,
    off: FloatArray,
    rows: FloatArray,
    targets: FloatArray,
) -> _Point:
    """Newton direction to complementarities `rows` (w z) and `targets` (lam s)."""
    pull = point.lam / point.s
    lean = targets / point.s - pull * off
    dw = lapack.dpotrs(R, rows / point.w - 1.0 + lean @ J, lower=1)[0]
    ds = off + J @ dw
    dz = rows / point.w - point.z - point.z / point.w * dw
    return _Point(dw, dz, targets / point.s - point.lam - pull * ds, ds)
