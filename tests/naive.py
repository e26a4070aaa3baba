"""Slow twins: every fast function again, written straight from its definition.

Nothing here is clever. Loops stand where the package has algebra, and the only imports are numpy and
the standard library (scipy where a distribution function is part of the definition).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from operator import gt

import numpy as np

# ---------------------------------------------------------------- confidence


def upper(x: float, law: str, nu: float = 0.0) -> float:
    """P(error >= x) by numerical integration of the density, or Chernoff's bound."""
    from scipy import integrate, stats  # noqa: PLC0415

    if law == "subgaussian":
        return float(np.exp(-x * x / 2))
    density = stats.norm.pdf if law == "gaussian" else stats.t(nu).pdf
    value, _ = integrate.quad(density, x, np.inf, epsabs=0.0, epsrel=1e-10)
    return float(value)


def pairs_failure(s, eta, d, Q):
    """The largest cost of any set of optimal arms (at least one) and any choice of who dominates the others.

    A row costs one event per arm that does not dominate it, and d - 1 for the one that dominates it most.
    """
    n = len(s)
    best = 0.0
    for members in range(1, 2**n):
        cost = 0.0
        for i in range(n):
            row = [Q(eta / s[i][j]) for j in range(n) if j != i]
            dominated = max(sum(row) - q + (d - 1) * q for q in row)
            cost += sum(row) if members >> i & 1 else dominated
        best = max(best, cost)
    return best


def misspecification_factor(Z, counts):
    """beta_ij by expanding every pull into a row and pushing each arm's misfit by +-1."""
    n = len(Z)
    rows = np.repeat(np.arange(n), counts)
    P = np.linalg.pinv(Z[rows])
    beta = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for a in range(n):
                misfit = (rows == a).astype(float)
                fit = Z @ (P @ misfit)
                truth = np.eye(n)[a]
                beta[i, j] += abs((fit - truth)[i] - (fit - truth)[j])
    return beta


def efficient_rounding(w, n):
    """Pukelsheim and Rieder's efficient rounding, one pull at a time, in fractions."""
    v = {a: Fraction(x) for a, x in enumerate(w) if x > 0}
    total, m = sum(v.values()), len(v)
    pulls = {a: ceil((n - Fraction(m, 2)) * x / total) for a, x in v.items()}
    while sum(pulls.values()) < n:
        pulls[min(v, key=lambda a: (pulls[a] / v[a], a))] += 1
    while sum(pulls.values()) > n:
        pulls[min(v, key=lambda a: ((1 - pulls[a]) / v[a], a))] -= 1
    return [pulls.get(a, 0) for a in range(len(w))]


def hamilton(w, n):
    """Largest remainder in fractions."""
    total = sum(map(Fraction, w))
    quota = [Fraction(x) * n / total for x in w]
    pulls = [floor(q) for q in quota]
    last = sorted(range(len(w)), key=lambda a: (pulls[a] - quota[a], a))
    for a in last[: n - sum(pulls)]:
        pulls[a] += 1
    return pulls


def pull_order(w, n, rank=None):
    """Next pull at the least n_a / w_a, ties by rank (index if None)."""
    pulls = [0] * len(w)
    order = []
    for _ in range(n):
        arms = [a for a in range(len(w)) if w[a] > 0]
        a = min(arms, key=lambda a: (pulls[a] / Fraction(w[a]), rank[a] if rank else a))
        pulls[a] += 1
        order.append(a)
    return order


def pinv_norms2(X, counts):
    """|x_i - x_j|^2 for all pairs and |x_i|^2 in the norm of the pseudo-inverse of V."""
    P = np.linalg.pinv(sum(n * np.outer(x, x) for n, x in zip(counts, X, strict=True)))
    pairs = np.array([[(x - y) @ P @ (x - y) for y in X] for x in X])
    return pairs, np.array([x @ P @ x for x in X])


def pulls_of(X, samples):
    """One row of X and one row of responses for every single pull."""
    rows = [x for x, ys in zip(X, samples, strict=True) for _ in ys]
    return np.array(rows), np.concatenate([ys for ys in samples if len(ys)])


def residual_sums(X, samples):
    """Lack of fit and pure error per objective, straight from the single pulls."""
    theta = np.linalg.lstsq(*pulls_of(X, samples), rcond=None)[0]
    lack = sum(
        len(ys) * (ys.mean(axis=0) - x @ theta) ** 2
        for x, ys in zip(X, samples, strict=True)
        if len(ys)
    )
    pure = sum(((ys - ys.mean(axis=0)) ** 2).sum(axis=0) for ys in samples if len(ys))
    return lack, pure


def d_optimal(Z, sweeps=2000):
    """D-optimal weights by Titterington's multiplicative steps w_i <- w_i leverage_i / h."""
    w = np.full(len(Z), 1 / len(Z))
    for _ in range(sweeps):
        w = w * pinv_leverages(Z, w) / Z.shape[1]
    w[w < 1e-6] = 0.0
    return w / w.sum()


def pinv_leverages(Z, w):
    """Leverages z_i' V^+ z_i, V = sum w z z'."""
    return np.einsum("ij,jk,ik->i", Z, np.linalg.pinv((Z.T * w) @ Z), Z)


# ---------------------------------------------------------------- fronts and gaps


def dominates(a: np.ndarray, b: np.ndarray) -> bool:
    """a weakly dominates b: at least as large everywhere, larger somewhere."""
    pairs = list(zip(a, b, strict=True))
    return all(x >= y for x, y in pairs) and any(x > y for x, y in pairs)


def non_dominated(mu: np.ndarray) -> list[bool]:
    return [not any(dominates(other, arm) for other in mu) for arm in mu]


def strictly_non_dominated(mu: np.ndarray) -> list[bool]:
    return [not any(all(map(gt, other, arm)) for other in mu) for arm in mu]


def margin(mu: np.ndarray, i: int, j: int) -> float:
    """m(i,j): by how much j exceeds i in the objective where it exceeds it least."""
    return min(float(y) - float(x) for x, y in zip(mu[i], mu[j], strict=True))


def psi_stars(mu: np.ndarray) -> list[float]:
    """D*_i, -inf for an arm alone."""
    n = len(mu)
    return [max([margin(mu, i, j) for j in range(n) if j != i], default=-np.inf) for i in range(n)]


def psi_gaps(mu: np.ndarray) -> list[float]:
    """The definition with S the *weak* front (GEGE, section 2)."""
    n, star, front = len(mu), psi_stars(mu), non_dominated(mu)
    gaps = list(star)
    for i in range(n):
        if not front[i]:
            continue
        gaps[i] = np.inf
        for j in range(n):
            if j != i:
                away = -margin(mu, i, j)
                near = max(-margin(mu, j, i), 0.0) + max(star[j], 0.0)
                gaps[i] = min(gaps[i], away, near)
    return gaps


def h1_h2(gaps: list[float]) -> tuple[float, float]:
    """H1 and H2 of a list of gaps, one term at a time."""
    costs = [1.0 / gap**2 if gap > 0 else np.inf for gap in sorted(gaps)]
    return sum(costs), max((k + 1) * cost for k, cost in enumerate(costs))


def leverages(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x' V(w)^+ x of every row: the squared length of the shortest c with sum c_i sqrt(w_i) x_i = x."""
    unit = np.abs(X).max(axis=0)
    scaled = X / np.where(unit > 0.0, unit, 1.0)
    weighted = scaled * np.sqrt(w)[:, None]
    found = []
    for x in scaled:
        c = np.linalg.lstsq(weighted.T, x, rcond=1e-12)[0]
        missed = np.abs(weighted.T @ c - x).max()
        found.append(float(c @ c) if missed < 1e-6 else np.inf)
    return np.array(found)


def multiplicative_design(X: np.ndarray, steps: int) -> np.ndarray:
    """Weights of the D-optimal design by Titterington's w_i <- w_i g_i / h, for ever slower progress."""
    h = np.linalg.matrix_rank(X)
    w = np.full(len(X), 1.0 / len(X))
    for _ in range(steps):
        V = sum(w[i] * np.outer(X[i], X[i]) for i in range(len(X)))
        inverse = np.linalg.pinv(V)
        w = w * np.array([x @ inverse @ x for x in X]) / h
    return w


def variance_of_targets(X: np.ndarray, w: np.ndarray, U: np.ndarray) -> float:
    """Largest u' V(w)^+ u over the rows of U; inf where a row is not in the range of V(w)."""
    V = sum(w[i] * np.outer(X[i], X[i]) for i in range(len(X)))
    inverse = np.linalg.pinv(V, rcond=1e-9, hermitian=True)
    seen = [np.abs(V @ inverse @ u - u).max() < 1e-6 for u in U]
    return max(float(u @ inverse @ u) if ok else np.inf for u, ok in zip(U, seen, strict=True))


def xy_by_enumeration(X: np.ndarray, U: np.ndarray, steps: int) -> float:
    """Smallest largest variance over all weights k / steps on three rows."""
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    return min(variance_of_targets(X, np.array(k) / steps, U) for k in grid)


# ---------------------------------------------------------------- elimination


def certainly_undominated(mu, eta, exact, i, j):
    """Whether j certainly does not dominate i; eta(i, j, c) bounds the error of a difference."""
    d, better = len(mu[i]), [x > y for x, y in zip(exact[i], exact[j], strict=True)]
    above = [mu[i][c] > mu[j][c] and mu[i][c] - mu[j][c] >= eta(i, j, c) for c in range(d)]
    known = all(eta(i, j, c) == 0 and mu[i][c] == mu[j][c] for c in range(d))
    return any(better) or any(above) or (known and list(exact[i]) == list(exact[j]))


def certainly_dominated(mu, eta, exact, i, j):
    """Whether j certainly dominates i."""
    d = len(mu[i])
    reaches = all(mu[j][c] - mu[i][c] >= eta(i, j, c) for c in range(d))
    no_worse = all(y >= x for x, y in zip(exact[i], exact[j], strict=True))
    strictly = any(y > x for x, y in zip([*mu[i], *exact[i]], [*mu[j], *exact[j]], strict=True))
    return reaches and no_worse and strictly


def refined(mu, eta, exact):
    """Rejected and accepted arms by the refined rule."""
    n = len(mu)
    out = [any(certainly_dominated(mu, eta, exact, i, j) for j in range(n)) for i in range(n)]
    rest = [i for i in range(n) if not out[i]]
    first = [
        i for i in rest if all(certainly_undominated(mu, eta, exact, i, j) for j in rest if j != i)
    ]
    others = [o for o in rest if o not in first]
    accepted = [
        i in first and all(certainly_undominated(mu, eta, exact, o, i) for o in others)
        for i in range(n)
    ]
    return out, accepted


def achieved_epsilon(mu, eta, exact, unit):
    """The largest over pairs of the smallest t with mu_j <= mu_i + t unit somewhere, at the widths."""
    worst = 0.0
    for i in range(len(mu)):
        for j in range(len(mu)):
            if i == j or any(y < x for x, y in zip(exact[i], exact[j], strict=True)):
                continue
            needs = []
            for c, u in enumerate(unit):
                upper = mu[j][c] - mu[i][c] + eta(i, j, c)
                needs.append(0.0 if upper <= 0 else upper / u if u > 0 else np.inf)
            worst = max(worst, min(needs))
    return worst


# ---------------------------------------------------------------- tallies


def tally(K, rows):
    """Counts, means and sums of squared deviations of (arm, value, value, ...), in fractions."""
    d = len(rows[0]) - 1
    counts, means, m2 = np.zeros(K, dtype=np.int64), np.zeros((K, d)), np.zeros((K, d))
    for k in range(K):
        for c in range(d):
            values = [Fraction(row[1 + c]) for row in rows if row[0] == k]
            if values:
                mean = sum(values) / len(values)
                counts[k], means[k, c] = len(values), float(mean)
                m2[k, c] = float(sum((value - mean) ** 2 for value in values))
    return counts, means, m2
