"""The slow twin: the published procedure in its plainest shape, in our own words.

Designs by SLSQP on -det with one bound per arm, gaps from n x n matrices filled by Python loops, one
ceiling per arm, the round sizes of the published code (Kone, Kaufmann, Richert, AISTATS 2025). Kept as
a yardstick of speed and of answers on low noise; it guarantees nothing.
"""

from __future__ import annotations

from math import ceil, log, log2, pi

import numpy as np
from scipy import optimize

from paretoscope.core.arrays import FloatArray, IntArray

# The budget of iterations of one design.
SLSQP_STEPS = 100


def design(Z: FloatArray) -> FloatArray:
    """Weights by SLSQP on -det V(w), as slow as its numerical gradient."""
    n = len(Z)

    def objective(w: FloatArray) -> float:
        return -float(np.linalg.det(Z.T @ (w[:, None] * Z)))

    total = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    start, bounds = np.full(n, 1.0 / n), [(0.0, 1.0)] * n
    options = {"maxiter": SLSQP_STEPS}
    found = optimize.minimize(
        objective, start, method="SLSQP", bounds=bounds, constraints=[total], options=options
    )
    w = np.clip(found.x, 0.0, None)
    return np.asarray(w / w.sum())


def gap_matrices(mu: FloatArray) -> tuple[list[list[float]], list[list[float]]]:
    """m(i,j) and M(i,j), entry by entry."""
    n = len(mu)
    m = [[float(np.min(mu[j] - mu[i])) for j in range(n)] for i in range(n)]
    M = [[float(np.max(mu[i] - mu[j])) for j in range(n)] for i in range(n)]
    return m, M


def gaps(mu: FloatArray) -> tuple[list[float], list[bool]]:
    """Empirical gaps and membership of the empirical Pareto set."""
    n, (m, M) = len(mu), gap_matrices(mu)
    star = [max(m[i][j] for j in range(n) if j != i) for i in range(n)]
    front, found = [value <= 0 for value in star], list(star)
    for i in range(n):
        if front[i]:
            others = (j for j in range(n) if j != i)
            found[i] = min(min(M[i][j], max(M[j][i], 0) + max(star[j], 0)) for j in others)
    return found, front


def in_span(X: FloatArray) -> FloatArray:
    """Coordinates of the arms in a basis of their span."""
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    return np.asarray(X @ Vt[s > 1e-10 * s[0]].T)


def estimate(
    Z: FloatArray, mu: FloatArray, counts: IntArray, sigma: float, rng: np.random.Generator
) -> FloatArray:
    """Pull one by one, least squares, means of all rows of Z."""
    V, total = np.zeros((Z.shape[1],) * 2), np.zeros((Z.shape[1], mu.shape[1]))
    for z, mean, n in zip(Z, mu, counts.tolist(), strict=True):
        if n:
            y = mean * n + sigma * rng.standard_normal((n, len(mean))).sum(axis=0)
            V += n * np.outer(z, z)
            total += np.outer(z, y)
    return np.asarray(Z @ np.linalg.solve(V, total))


def fixed_confidence(
    X: FloatArray, mu: FloatArray, sigma: float, delta: float, rng: np.random.Generator
) -> set[int]:
    """Rounds of t_r = h ln(1/delta_r) / eps_r^2 pulls until at most one arm is active."""
    active, accepted, r = list(range(len(X))), set(), 0
    while len(active) > 1:
        r += 1
        eps, risk = 2.0 ** -(r + 1), 6.0 * delta / (pi * r) ** 2
        Z = in_span(X[active])
        pulls = Z.shape[1] * log(1.0 / risk) / eps**2
        counts = np.ceil(pulls * np.round(design(Z), 6)).astype(np.int64)
        gap, front = gaps(estimate(Z, mu[active], counts, sigma, rng))
        limit = [eps if inside else eps / 2 for inside in front]
        done = [k for k in range(len(active)) if gap[k] >= limit[k]]
        accepted |= {active[k] for k in done if front[k]}
        active = [arm for k, arm in enumerate(active) if k not in done]
    return accepted | set(active)


def fixed_budget(
    X: FloatArray, mu: FloatArray, sigma: float, T: int, rng: np.random.Generator
) -> set[int]:
    """ceil(log2 h) rounds of about T / log2(h) pulls; ceil(h / 2^r) arms kept after round r."""
    h = in_span(X).shape[1]
    active, accepted = list(range(len(X))), set()
    for r in range(1, ceil(log2(h)) + 1):
        Z = in_span(X[active])
        counts = np.ceil(T / log2(h) * np.round(design(Z), 6)).astype(np.int64)
        gap, front = gaps(estimate(Z, mu[active], counts, sigma, rng))
        order = sorted(range(len(active)), key=lambda k: (gap[k], not front[k], k))
        keep = sorted(order[: ceil(h / 2**r)])
        accepted |= {active[k] for k in order[len(keep) :] if front[k]}
        active = [active[k] for k in keep]
    return accepted | set(active)
