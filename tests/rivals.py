"""Slow twins of the policies without structure: single values in, labels out, written by loops.

Each twin is handed every value that could ever be measured, ``Y`` (K, N, d), and reads as many as its
rules ask for. Statuses: 'in', 'near', 'out', and '' for no label.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import ceil, inf, log, log2, sqrt

import numpy as np
from scipy import stats

from paretoscope.core.design import g_optimal
from paretoscope.policies import Tally
from tests import naive


def feed(policy, setting, Y, most=10**6):
    """Run the policy on these values, each candidate's in their order; the last state."""
    state, used = policy.init(setting), np.zeros(len(Y), dtype=int)
    while policy.stopped(state) is None:
        want = policy.allocate(state)
        assert want.any()
        arms = np.repeat(np.arange(len(Y)), want)
        values = [Y[k, used[k] : used[k] + n] for k, n in enumerate(want)]
        state = policy.observe(state, Tally.of(len(Y), arms, np.concatenate(values)))
        used += want
        assert used.sum() <= most
    return state


def labels(verdict):
    """The twin's words for a verdict."""
    words = [(verdict.accepted, "in"), (verdict.near, "near"), (verdict.rejected, "out")]
    return [next((word for mask, word in words if mask[k]), "") for k in range(len(words[0][0]))]


# ---------------------------------------------------------------- race


def leave_together(members, within, undominated):
    """The largest set, among all subsets, of which nobody outside needs a member."""
    able = [i for i in members if all(within(i, j) for j in members if j != i)]
    for size in range(len(able), 0, -1):
        for chosen in combinations(able, size):
            outside = [i for i in members if i not in chosen]
            if all(undominated(i, j) for i in outside for j in chosen):
                return list(chosen)
    return []


def race_widths(mode, d, sigma, risk, counts, K):
    """eta(i, j, c, spread_i, spread_j, n) of a look; spreads are standard deviations of single values."""
    events = (K - 1) * (K + max(d - 2, 0))

    @cache
    def z(nu):
        if nu == 0:
            return min(stats.norm.isf(risk / events), sqrt(stats.chi2(K - 1).isf(risk / d)))
        by_ball = sqrt((K - 1) * stats.f(K - 1, nu).isf(risk / d))
        return min(stats.t(nu).isf(risk / events), by_ball)

    if mode == "candidates":
        t = cache(lambda n: float(stats.t.isf(risk / events, n - 1)))
        return lambda i, j, c, sd, n: t(n) * sqrt((sd[i][c] ** 2 + sd[j][c] ** 2) / n)
    return lambda _i, _j, c, _sd, n: z(counts) * sigma[c] * sqrt(2 / n)


def race(Y, mode, delta, epsilon, first, cap, sigma=None):
    """Labels and pulls of a race; ``mode`` 'known' (with sigma), 'pooled' or 'candidates'."""
    K, _, d = Y.shape
    shares = [1.15**k for k in range(20)]
    shares = [0.98 * s / sum(shares) for s in shares]
    bounded = mode != "candidates" and all(e > 0 for e in epsilon)
    alive, found, look, n, left, nu = list(range(K)), [""] * K, 0, first, delta, 0
    pulls = np.zeros(K, dtype=int)
    while True:
        look += 1
        risk = delta * shares[look - 1] if bounded and look <= 20 else left / 7
        left -= risk
        if pulls.sum() + sum(n - pulls[i] for i in alive) > cap:
            return found, pulls
        for i in alive:
            pulls[i] = n
        if mode == "pooled" and look == 1:
            nu = K * (n - 1)
            sigma = [sqrt(sum(Y[i, :n, c].var() * n for i in range(K)) / nu) for c in range(d)]
        mu = [Y[i, :n].mean(axis=0) for i in range(K)]
        sd = [Y[i, :n].std(axis=0, ddof=1) if n > 1 else None for i in range(K)]
        eta = race_widths(mode, d, sigma, risk, nu, K)
        found, alive = race_look(mu, lambda i, j, c: eta(i, j, c, sd, n), epsilon, alive, found)  # noqa: B023
        if not alive:
            return found, pulls
        if bounded and look < 20:
            z = race_widths(mode, d, [1.0] * d, delta * shares[-1], nu, K)(0, 1, 0, None, 2)
            last = max(8 * (z * sigma[c] / epsilon[c]) ** 2 for c in range(d))
            n = max(n + 1, ceil(first * max(last / first, 1.0) ** (look / 19)))
        else:
            n = max(n + 1, ceil(1.35 * n))


def race_look(mu, eta, epsilon, alive, found):
    """Labels after one look, and who goes on."""
    found, d = list(found), len(epsilon)

    def undominated(i, j):
        return any(mu[i][c] - mu[j][c] >= eta(i, j, c) for c in range(d))

    def within(i, j):
        return undominated(i, j) or any(
            epsilon[c] > 0 and mu[j][c] - mu[i][c] + eta(i, j, c) <= epsilon[c] for c in range(d)
        )

    out = [
        i
        for i in alive
        if any(all(mu[j][c] - mu[i][c] >= eta(i, j, c) for c in range(d)) for j in alive if j != i)
    ]
    rest = [i for i in alive if i not in out]
    going = leave_together(rest, within, undominated)
    for i in out:
        found[i] = "out"
    for i in going:
        sure = all(undominated(i, j) for j in rest if j != i)
        found[i] = "in" if sure else "near"
    rest = [i for i in rest if i not in going]
    if len(rest) == 1:
        found[rest[0]] = "in"
        rest = []
    return found, rest


# ---------------------------------------------------------------- empirical gap elimination


def ege_sh(Y, T):
    """Labels and pulls of EGE-SH."""
    K, R = len(Y), max(1, ceil(log2(len(Y))))
    alive, found, n, pulls = list(range(K)), [""] * K, 0, np.zeros(K, dtype=int)
    size = K
    for _ in range(R):
        n += T // (size * R)
        pulls[alive] = n
        mu = np.array([Y[i, :n].mean(axis=0) for i in alive])
        gaps, front = naive.psi_gaps(mu), naive.non_dominated(mu)
        order = sorted(range(len(alive)), key=lambda k: (gaps[k], not front[k], k))
        size = ceil(size / 2)
        for k in order[size:]:
            found[alive[k]] = "in" if front[k] else "out"
        alive = sorted(alive[k] for k in order[:size])
    for i in alive:
        found[i] = "in"
    return found, pulls


def ege_sr(Y, T, most=None):
    """Labels and pulls of EGE-SR, or EGE-SR-k."""
    K = len(Y)
    logbar = 0.5 + sum(1 / i for i in range(2, K + 1))
    alive, found, pulls = list(range(K)), [""] * K, np.zeros(K, dtype=int)
    for r in range(1, K):
        n = ceil((T - K) / (logbar * (K + 1 - r)))
        pulls[alive] = n
        mu = np.array([Y[i, :n].mean(axis=0) for i in alive])
        gaps, front, star = naive.psi_gaps(mu), naive.non_dominated(mu), naive.psi_stars(mu)
        inside = [gaps[k] for k in range(len(alive)) if front[k]]
        worst = max(range(len(alive)), key=lambda k: star[k])
        if not front[worst] and star[worst] >= max(inside):
            k, word = worst, "out"
        else:
            k, word = next(k for k, g in enumerate(gaps) if front[k] and g == max(inside)), "in"
        found[alive.pop(k)] = word
        if most is not None and found.count("in") >= most:
            return found, pulls
    found[alive[0]] = "in"
    return found, pulls


# ---------------------------------------------------------------- racing


def pair_bonus(name, n_i, n_j, K, d, delta):
    """b_ij in units of sigma, minimised on a grid where there is something to minimise."""
    if name == "auer":
        return sum(sqrt(2 * log(4 * K * d * n * n / delta) / n) for n in (n_i, n_j))
    if name == "reference":
        cg = log(1 / delta) / 2 + max(log(log(1 / delta) / 2), 0)
        inner = 2 * cg + log(1 + log(n_i)) + log(1 + log(n_j))
    else:
        inner = 2 * threshold(log(K * (K - 1) * d / (2 * delta)) / 2)
        inner += 2 * log(4 + log(n_i)) + 2 * log(4 + log(n_j))
    return sqrt(2 * inner * (1 / n_i + 1 / n_j))


@cache
def threshold(x):
    """Cg(x) on a grid of 2,000 points, zeta by its sum with the integral of the tail."""
    best, k = inf, np.arange(1, 400)
    for share in np.linspace(0.55, 0.999, 2_000):
        s = 2 * share
        tail = 400.0 ** (1 - s) / (s - 1) + 0.5 * 400.0**-s + s / 12 * 400.0 ** (-s - 1)
        g = s - s * log(2 * s) + log((k**-s).sum() + tail) - log(1 - share) / 2
        best = min(best, (g + x) / share)
    return best


def racing(Y, sigma, delta, epsilon, bonus="auer", growth=0.0, cap=10**9):
    """Labels and pulls of Racing."""
    K, _, d = Y.shape

    def look(pulls, n):
        mu = [Y[i, : max(pulls[i], 1)].mean(axis=0) / sigma for i in range(K)]
        return mu, lambda _i, _j: pair_bonus(bonus, n, n, K, d, delta)

    return equal_rounds(K, look, [e / s for e, s in zip(epsilon, sigma, strict=True)], growth, cap)


def pal(Y, X, sigma, delta, epsilon, bonus="theory", growth=0.0, cap=10**9):
    """Labels and pulls of PAL; the ridge is put on the features as they are."""
    K, _, d = Y.shape
    unit = np.asarray(sigma) / max(sigma)

    def look(pulls, n):
        mu, s = ridge(Y, X, pulls)
        w = [kernel_width(bonus, n, K, d, delta, max(sigma)) * si for si in s]
        return [m / unit for m in mu], lambda i, j: w[i] + w[j]

    return equal_rounds(K, look, [e / u for e, u in zip(epsilon, unit, strict=True)], growth, cap)


def kernel_width(bonus, t, K, d, delta, sigma):
    """sqrt(b_t)."""
    level = log(K * d * np.pi**2 * t**2 / (6 * delta))
    return sqrt(level / 5 if bonus == "reference" else 2 * sigma**2 * level)


def ridge(Y, X, pulls):
    """Estimates and deviations of every arm, sums over single measurements."""
    V, S = 1e-6 * np.eye(X.shape[1]), np.zeros((X.shape[1], Y.shape[2]))
    for x, y, n in zip(X, Y, pulls, strict=True):
        for value in y[:n]:
            V, S = V + np.outer(x, x), S + np.outer(x, value)
    inverse = np.linalg.inv(V)
    return [x @ inverse @ S for x in X], [sqrt(x @ inverse @ x) for x in X]


def equal_rounds(K, look, eps, growth, cap):
    """Auer's three sets on equal counts; with a tolerance, all that is kept is near.

    ``look(pulls, n)`` gives means and b(i, j).
    """
    alive, found, pulls, n = list(range(K)), [""] * K, np.zeros(K, dtype=int), 0
    while len(alive) > 1 or (alive and "near" in found):
        n += max(1, int(growth * n))
        if pulls.sum() + sum(n - pulls[i] for i in alive) > cap:
            return found, pulls
        pulls[alive] = n
        alive = auer_sets(*look(pulls, n), eps, alive, found)
    for i in alive:
        found[i] = "in"
    return found, pulls


def auer_sets(mu, b, eps, alive, found):
    """A1, P1, P2 of the arms left: labels written into ``found``, and who goes on."""
    d = len(eps)

    def m(i, j):
        return min(mu[j][c] - mu[i][c] for c in range(d))

    def M_eps(i, j):
        return max(0.0, *(mu[i][c] + eps[c] - mu[j][c] for c in range(d)))

    A1 = [i for i in alive if all(m(i, j) < b(i, j) for j in alive if j != i)]
    P1 = [i for i in A1 if all(M_eps(i, j) >= b(i, j) for j in A1 if j != i)]
    rest = [i for i in A1 if i not in P1]
    P2 = [j for j in P1 if all(M_eps(i, j) >= b(i, j) for i in rest)]
    for i in alive:
        found[i] = "out" if i not in A1 else found[i]
    for i in P2:
        found[i] = "near" if any(eps) else "in"
    return [i for i in A1 if i not in P2]


def epsilon_pal(Y, X, first, sigma, delta, epsilon, bonus="theory", growth=0.0, cap=10**9):
    """Labels and pulls of epsilon-PAL from the first pulls on, one metric of one arm at a time."""
    K, _, d = Y.shape
    unit = np.asarray(sigma) / max(sigma)
    eps = [e / u for e, u in zip(epsilon, unit, strict=True)]
    pulls, word = np.array(first), [""] * K
    low, high = [[-inf] * d for _ in range(K)], [[inf] * d for _ in range(K)]
    while True:
        mu, s = ridge(Y, X, pulls)
        for i in range(K):
            w = kernel_width(bonus, int(pulls.sum()), K, d, delta, max(sigma)) * s[i]
            for c in range(d):
                low[i][c] = max(low[i][c], mu[i][c] / unit[c] - w)
                high[i][c] = max(low[i][c], min(high[i][c], mu[i][c] / unit[c] + w))
        alive = [i for i in range(K) if word[i] != "out"]
        front = [i for i in alive if not any(naive_dominates(low[j], low[i]) for j in alive)]
        for i in alive:
            covered = any(all(high[i][c] <= low[j][c] + eps[c] for c in range(d)) for j in front)
            if word[i] == "" and i not in front and covered:
                word[i] = "out"
        alive = [i for i in range(K) if word[i] != "out"]
        for i in [i for i in alive if word[i] == ""]:
            least = [low[i][c] + eps[c] for c in range(d)]
            if not any(naive_dominates(high[j], least) for j in alive if j != i):
                word[i] = "near" if any(eps) else "in"
        if "" not in word:
            return word, pulls
        at = max(alive, key=lambda i: sum((high[i][c] - low[i][c]) ** 2 for c in range(d)))
        more = max(1, int(growth * pulls[at]))
        if pulls.sum() + more > cap:
            return word, pulls
        pulls[at] += more


def naive_dominates(a, b):
    """Whether a is at least b everywhere and above it somewhere."""
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(
        x > y for x, y in zip(a, b, strict=True)
    )


# ---------------------------------------------------------------- adaptive Pareto exploration


def ape(Y, sigma, delta, epsilon, bonus="union", growth=0.0, cap=10**9):
    """Labels and pulls; everything is computed anew after every step, by loops over all pairs."""
    K, _, d = Y.shape
    pulls = [1] * K
    eps = [e / s for e, s in zip(epsilon, sigma, strict=True)]
    width = cache(lambda a, b: pair_bonus(bonus, a, b, K, d, delta))
    while True:
        mu = [Y[i, : pulls[i]].mean(axis=0) / sigma for i in range(K)]
        others = {i: [j for j in range(K) if j != i] for i in range(K)}

        def M(i, j, slack, mu=mu):
            return max(mu[i][c] + slack[c] - mu[j][c] for c in range(d))

        def b(i, j):
            return width(min(pulls[i], pulls[j]), max(pulls[i], pulls[j]))

        low = {i: {j: M(i, j, eps) - b(i, j) for j in others[i]} for i in range(K)}
        high = {i: min(M(i, j, [0] * d) + b(i, j) for j in others[i]) for i in range(K)}
        h = [min(low[i].values()) for i in range(K)]
        at = None
        if not all(max(h[i], -high[i]) >= 0 for i in range(K)):
            b_t = max((i for i in range(K) if h[i] <= 0), key=lambda i: high[i])
            c_t = min(others[b_t], key=lambda j: low[b_t][j])
            at = b_t if pulls[b_t] <= pulls[c_t] else c_t
            more = max(1, int(growth * pulls[at]))
        if at is None or sum(pulls) + more > cap:
            words = [""] * K
            for i in range(K):
                sure = min(M(i, j, [0] * d) - b(i, j) for j in others[i]) >= 0
                near = "near" if any(epsilon) and h[i] >= 0 else ""
                words[i] = "out" if high[i] <= 0 else "in" if sure else near
            return words, np.array(pulls)
        pulls[at] += more


# ---------------------------------------------------------------- posterior samples


def psips(Y, X, sigma, R, delta, seed, first, growth=0.0, cap=10**9):
    """Labels and pulls of PSIPS with its own stop; draws by the same generators, fronts by loops."""
    K, _, d = Y.shape
    L, pulls, number = np.linalg.cholesky(R), np.array(first), 1
    G, gap, w_G = np.zeros(K), 0.0, None
    while True:
        t = int(pulls.sum())
        mu = [m / sigma for m in ridge(Y, X, pulls)[0]]
        V = 1e-6 * np.eye(X.shape[1]) + sum(
            n * np.outer(x, x) for x, n in zip(X, pulls, strict=True)
        )
        root = np.linalg.inv(np.linalg.cholesky(V)).T
        front = naive.non_dominated(np.array(mu))

        def others(scale, root=root, mu=mu, front=front, t=t, rng=None):
            most, done, size = ceil(log(t / delta) / delta), 0, 16
            while done < most:
                size = min(size, most - done)
                g = rng.standard_normal((size, X.shape[1], d))
                means = [np.array(mu) + sqrt(scale) * X @ root @ z @ L.T for z in g]
                found = [m for m in means if list(naive.non_dominated(m)) != list(front)]
                if found:
                    return found
                done, size = done + size, 4 * size
            return []

        c = 1 + log(max(log(t), 1)) / log(1 / delta)
        if not others(c, rng=np.random.default_rng([seed, 2, number])):
            return ["in" if f else "out" for f in front], pulls
        rng, scale, found = np.random.default_rng([seed, 3, number]), 2.0, []
        while not found:
            found, scale = others(scale, rng=rng), 2 * scale
        more = max(1, int(growth * t))
        inverse = np.linalg.inv(R)
        gains = [
            more * np.mean([(mu[a] - m[a]) @ inverse @ (mu[a] - m[a]) for m in found[:more]])
            for a in range(K)
        ]
        G, gap = hedge(G, gap, np.array(gains))
        w = hedge_weights(G, gap)
        if w_G is None:
            w_G = np.array(g_optimal(X).weights)
        w = (1 - 1 / t) * w + w_G / t
        if t + more > cap:
            return [""] * K, pulls
        pulls = pulls + np.random.default_rng([seed, 1, number]).multinomial(more, w / w.sum())
        number += 1


def hedge_weights(G, gap):
    """Softmax of the gains at rate ln(n) / gap."""
    if gap == 0:
        return (max(G) == G) / (max(G) == G).sum()
    w = [np.exp(log(len(G)) / gap * (g - max(G))) for g in G]
    return np.array(w) / sum(w)


def hedge(G, gap, gains):
    """AdaHedge for losses -gains, as de Rooij et al. state it."""
    w, losses = hedge_weights(G, gap), -gains
    if gap == 0:
        mix = min(-(G + gains)) - min(-G)
    else:
        rate = log(len(G)) / gap
        mix = -log(
            sum(wi * np.exp(-rate * (x - min(losses))) for wi, x in zip(w, losses, strict=True))
        )
        mix = mix / rate + min(losses)
    return G + gains, gap + max(0.0, w @ losses - mix)


def ellipsoid_width(X, pulls, weights, i, j, d, delta):
    """eta_ij / sigma of section 'all data at any time', from the matrices themselves."""
    h = X.shape[1]
    V = sum(n * np.outer(x, x) for x, n in zip(X, pulls, strict=True))
    W = sum(w * np.outer(x, x) for x, w in zip(X, weights, strict=True))
    u, inverse, sizes = X[i] - X[j], np.linalg.inv(V), [10 * h * 4**k for k in range(1, 6)]
    best = inf
    for n in sizes:
        ratio = np.linalg.det(V + n * W) / np.linalg.det(n * W)
        beta = log(d * len(sizes) / delta) + 0.5 * log(ratio)
        best = min(best, beta * (u @ inverse @ (V + n * W) @ inverse @ u))
    return sqrt(2 * best)


# ---------------------------------------------------------------- explorations used many times


def pfiwr(Y, X, sigma, delta, epsilon, scale, seed, theta_max=1.0, growth=0.0, cap=10**9):
    """Labels and pulls of PFIwR: one step after the other, pseudo-values summed one by one."""
    K, _, d = Y.shape
    values, eps = Y / sigma, [e / s for e, s in zip(epsilon, sigma, strict=True)]
    squares, U = np.linalg.eigh(X.T @ X)
    order = [i for i in np.argsort(-squares) if squares[i] > 1e-9 * squares.max()]
    h, x = len(order), X @ U[:, order]
    z = np.diag(np.sqrt(squares[order]))
    v = np.linalg.lstsq(x.T, z.T, rcond=None)[0].T  # z_i = sum_k v_ik x_k, shortest
    alive, found, number, steps = list(range(K)), [""] * K, 0, []
    pulls, drawn, explored = [0] * K, [0] * K, [[] for _ in range(K)]
    theta, need = np.zeros((h, d)), pfiwr_start(h, delta, scale)
    while len(alive) > 1 or (alive and "near" in found):
        t, number = len(steps), number + 1
        size = max(1, int(growth * t)) if t else max(2, h)
        gamma = scale * 33750 * h**3 * log(2 * h * (t + 1) ** 2 / delta)
        kept = [k for k in range(K) if found[k] != "out"]
        front = [k for k, f in zip(kept, naive.non_dominated(x[kept] @ theta), strict=True) if f]
        rng = np.random.default_rng([seed, 1, number])
        axes, luck = rng.integers(h, size=size), rng.random(size)
        direct, other = rng.random(size) < 0.5, rng.integers(len(front), size=size)
        batch = []
        for i, u, own, f in zip(axes, luck, direct, other, strict=True):
            chances = abs(v[i]) / abs(v[i]).sum()
            check = next(k for k in range(K) if u < chances[: k + 1].sum() or k == K - 1)
            drawn[check] += 1
            explores = len(explored[check]) <= gamma / (t + 1) * drawn[check]
            arm = check if explores else front[f]
            if explores:
                explored[check].append(None)  # measured with the rest of the round
            batch.append((i, check, explores, arm, own))
        if sum(pulls) + size > cap:
            return found, np.array(pulls)
        fresh = [values[k, pulls[k] : pulls[k] + [b[3] for b in batch].count(k)] for k in range(K)]
        pulls = [n + len(f) for n, f in zip(pulls, fresh, strict=True)]
        for k in range(K):
            explored[k] = [fresh[k].mean(axis=0) if y is None else y for y in explored[k]]
        for i, check, _, arm, own in batch:
            reward = fresh[arm].mean(axis=0) if own else np.mean(explored[check], axis=0)
            steps.append((i, check, arm, own, reward))
        means = [values[k, : max(pulls[k], 1)].mean(axis=0) for k in range(K)]
        theta = pseudo_values(x, z, v, steps, pulls, means)
        if len(steps) >= need:
            w = pfiwr_widths(x, len(steps), delta, d, theta_max, len(alive))
            alive = auer_sets(x @ theta, lambda i, j: w[i] + w[j], eps, alive, found)  # noqa: B023
    for i in alive:
        found[i] = "in"
    return found, np.array(pulls)


def pfiwr_start(h, delta, scale):
    """First step at which labels are given: 2 a ln(a sqrt(2h/delta)), a = 4 x 33750 h^3 scale."""
    a = 4 * scale * 33750 * h**3
    return 2 * a * max(1, log(a * sqrt(2 * h / delta)))


def pseudo_values(x, z, v, steps, pulls, means):
    """Theta: h + 1 vectors a step, each with a guess, and the one that was picked put right."""
    h = len(z)
    A = np.eye(h) + sum(n * np.outer(a, a) for n, a in zip(pulls, x, strict=True))
    guess = np.linalg.inv(A) @ sum(
        n * np.outer(a, y) for n, a, y in zip(pulls, x, means, strict=True)
    )
    F, S = np.eye(h), np.zeros_like(guess)
    for i, check, arm, own, reward in steps:
        for j in range(h):
            value = z[j] @ guess
            if j == i and not own:
                sign = abs(v[i]).sum() * np.sign(v[i][check])
                value = value + 2 * h * sign * (reward - x[check] @ guess)
            F, S = F + np.outer(z[j], z[j]), S + np.outer(z[j], value)
        value = x[arm] @ guess + 2 * own * (reward - x[arm] @ guess)
        F, S = F + np.outer(x[arm], x[arm]), S + np.outer(x[arm], value)
    return np.linalg.inv(F) @ S


def pfiwr_widths(x, t, delta, d, theta_max, left):
    """3 |x_k| in the norm of (t sum x x' + I)^-1, times the published level."""
    h = x.shape[1]
    inverse = np.linalg.inv(t * x.T @ x + np.eye(h))
    many = sqrt(h * log(7 * d * t / delta))
    few = 3 * sqrt(log(56 * d * h * t**2 / delta))
    return [3 * sqrt(a @ inverse @ a) * (theta_max + (many if left > h else few)) for a in x]
