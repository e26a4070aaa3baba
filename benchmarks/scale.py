"""A million candidates: how time, memory and the file grow; every row is checked against a truth or a twin.

    python benchmarks/scale.py measure [PART ...]    each row in a process of its own; into scale.json
    python benchmarks/scale.py show                  what scale.json holds, as the tables of docs/scale.md
    python benchmarks/scale.py page                  docs/scale.md and its picture, made from scale.json

Seconds are the best of a few runs; beside them stand the processor seconds of the same run, and the
load of the machine, for other work on it makes the first longer and the second hardly.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import paretoscope as ps
import scale_page
from paretoscope import GEGE, Race
from paretoscope.bench import published as twin
from paretoscope.core.design import g_optimal
from paretoscope.core.dominance import non_dominated
from paretoscope.core.gaps import psi_gaps
from paretoscope.sim import Instance, monte_carlo, simulate

HERE = Path(__file__).resolve().parent
KEPT = HERE / "scale.json"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
TERMS = {"delta": 0.05, "epsilon": 0.1}  # of every run with fixed confidence here
FEATURES, METRICS = 16, 3


class Clock:
    """Seconds and processor seconds of some work, the best run of several."""

    def __init__(self) -> None:
        self.seconds = self.cpu = float("inf")

    @contextmanager
    def run(self) -> Iterator[None]:
        begun, spent = perf_counter(), process_time()
        yield
        self.seconds = min(self.seconds, perf_counter() - begun)
        self.cpu = min(self.cpu, process_time() - spent)

    def told(self) -> dict[str, float]:
        return {"seconds": self.seconds, "cpu": self.cpu}


def gaussian(K: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian features and parameters; noise 1 in every metric."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((K, FEATURES))
    return X, X @ rng.standard_normal((FEATURES, METRICS)) / np.sqrt(FEATURES)


# ---------------------------------------------------------------- the parts


def simulated(K: int) -> dict[str, Any]:
    """One run with fixed confidence, from features in memory to the certified set."""

    instance, clock = Instance(*gaussian(K), 1.0), Clock()
    for _ in range(1 if K > 10**5 else 3):
        with clock.run():
            run = simulate(GEGE(**TERMS), instance)
    assert run.correct
    assert run.certificate.certified
    return clock.told() | {"pulls": run.pulls, "rounds": run.rounds, "front": int(run.answer.sum())}


def studied(K: int) -> dict[str, Any]:
    """The same with a study in an SQLite file: every measurement asked for and told by its name."""

    X, mu = gaussian(K)
    names = ("a", "b", "c")
    metrics = [ps.Metric(name, "max", sigma=1.0) for name in names]
    clock, rng, outside = Clock(), np.random.default_rng(1), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.study"
        with clock.run():
            more = {"features": X, "intercept": False, "method": ps.GEGE(**TERMS)}
            with ps.Study.create(path, candidates=X, metrics=metrics, **more) as study:
                while batch := study.ask():
                    begun = process_time()
                    arms = np.array([int(request.candidate) for request in batch])
                    Y = mu[arms] + rng.standard_normal((len(arms), METRICS))
                    rows = [
                        {"uid": request.uid, **dict(zip(names, y, strict=True))}
                        for request, y in zip(batch, Y.tolist(), strict=True)
                    ]
                    outside += process_time() - begun
                    study.tell(rows)
                result = study.result()
        size = path.stat().st_size / 1e6
    check_result(result, mu, 0.1)
    told = {"pulls": int(result.counts.sum()), "front": len(result.pareto_set), "file": size}
    return clock.told() | told | {"world": outside}


def check_result(result: Any, mu: np.ndarray, epsilon: float) -> None:
    """Every verdict of a study is right."""

    assert result.certified, result.certificate.reason
    front, verdict = non_dominated(mu), result.verdict
    near = Instance(None, mu, 1.0).epsilon_front(np.full(mu.shape[1], epsilon))
    assert not (verdict.accepted & ~front).any()
    assert not (verdict.near & ~near).any()
    assert not (verdict.rejected & front).any()


def product(levels: int) -> dict[str, Any]:
    """All combinations of six factors; the features are two products beside the factors."""

    factors = {f"k{j}": list(range(levels)) for j in range(6)}
    metrics = [ps.Metric(name, "max", sigma=1.0) for name in ("a", "b", "c")]
    clock, rng = Clock(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "product.study"
        with clock.run():
            study = ps.Study.create(
                path,
                candidates=ps.product(**factors),
                features=[*factors, "k0:k1", "k2^2"],
                metrics=metrics,
                method=ps.GEGE(0.05, epsilon=0.3),
            )
            X = study.problem.features.X
            mu = X @ rng.standard_normal((X.shape[1], METRICS)) / 2
            while batch := study.ask():
                places = study.problem.candidates.index
                arms = np.array([places[request.candidate] for request in batch])
                Y = mu[arms] + rng.standard_normal((len(arms), METRICS))
                study.tell(
                    [
                        {"uid": request.uid, "a": y[0], "b": y[1], "c": y[2]}
                        for request, y in zip(batch, Y.tolist(), strict=True)
                    ]
                )
            result = study.result()
        check_result(result, mu, 0.3)
        paged = Clock()
        with paged.run():
            study.report(Path(folder) / "page.html")
        page = (Path(folder) / "page.html").stat().st_size / 1e6
        study.close()
        size = path.stat().st_size / 1e6
    told = {"pulls": int(result.counts.sum()), "front": len(result.pareto_set), "file": size}
    return clock.told() | told | {"page": page, "page_seconds": paged.seconds}


def unstructured(K: int) -> dict[str, Any]:
    """No features: every candidate has means of its own; a race from first to last."""

    mu = np.random.default_rng(0).standard_normal((K, METRICS))
    instance, clock = Instance(None, mu, 0.05), Clock()
    with clock.run():
        run = simulate(Race(0.05, epsilon=0.5), instance)
    assert run.correct
    assert run.certificate.certified
    return clock.told() | {"pulls": run.pulls, "rounds": run.rounds, "front": int(run.answer.sum())}


def narrow(K: int) -> np.ndarray:
    """Eight base arms, each best in one objective, and mixtures of them that they dominate."""
    rng = np.random.default_rng(0)
    base = 0.3 + 0.5 * np.eye(8) + rng.uniform(0.0, 0.05, (8, 8))
    mixed = rng.uniform(0.0, 1.0, (200 * K, 8)) ** 3
    mixed *= rng.uniform(0.1, 0.7, (200 * K, 1)) / mixed.sum(axis=1, keepdims=True)
    margin = (base[None] - (mixed @ base)[:, None]).min(axis=2).max(axis=1)
    X = np.vstack([np.eye(8), mixed[margin > 0.1][: K - 8]])
    return np.hstack([X, X @ base])


def published(K: int) -> dict[str, Any]:
    """A whole run beside one in the published shape, on noise so small that both must find the truth."""

    X, mu = np.hsplit(narrow(K), 2)
    instance, clock, slow = Instance(X, mu, 1e-6), Clock(), Clock()
    policy = GEGE(0.1, first_accuracy=0.15, designs=("g",))
    for seed in range(20):
        with clock.run():
            run = simulate(policy, instance, seed)
    with slow.run():
        found = twin.fixed_confidence(X, mu, 1e-6, 0.1, np.random.default_rng(0))
    assert found == set(np.flatnonzero(run.answer)) == set(np.flatnonzero(instance.pareto))
    told = {"published": slow.seconds, "published_cpu": slow.cpu}
    return clock.told() | told | {"times": slow.cpu / clock.cpu, "front": len(found)}


def designed(K: int) -> dict[str, Any]:
    """A G-optimal design of Gaussian features beside one by SLSQP on the determinant."""
    X = np.random.default_rng(0).standard_normal((K, 8))
    clock, slow = Clock(), Clock()
    for _ in range(5):
        with clock.run():
            found = g_optimal(X)
    with slow.run():
        weights = twin.design(X)
    lever, other = (largest_leverage(X, w) / 8 for w in (found.weights, weights))
    assert lever <= min(other, 1.0 + 1e-5)
    told = {"published": slow.seconds, "published_cpu": slow.cpu, "lever": other}
    return clock.told() | told | {"times": slow.cpu / clock.cpu}


def largest_leverage(X: np.ndarray, weights: np.ndarray) -> float:
    """What a design minimises; at least the number of features."""
    V = X.T @ (weights[:, None] * X)
    return float(np.einsum("ij,ij->i", X @ np.linalg.inv(V), X).max())


def front(n: int) -> dict[str, Any]:
    """Gaps of a fifth of all arms on the front, five objectives; 50 arms again by the definition."""

    mu, clock = wide(n), Clock()
    with clock.run():
        found = psi_gaps(mu)
    some = sample(n)
    star = np.array([np.delete((mu - mu[i]).min(axis=1), i).max() for i in some])
    assert np.array_equal(found.star[some], star)
    best = [i for i in some if found.strict[i]]
    for i in best:
        reach = np.maximum((mu - mu[i]).max(axis=1), 0) + np.maximum(found.star, 0)
        gap = np.delete(np.minimum((mu[i] - mu).max(axis=1), reach), i).min()
        assert np.isclose(found.gap[i], gap, rtol=1e-12, atol=0)
    return clock.told() | {"front": int(found.strict.sum()), "checked": len(some)}


def wide(n: int) -> np.ndarray:
    """A fifth of the arms on a sphere, the others behind it."""
    rng = np.random.default_rng(0)
    mu = np.abs(rng.standard_normal((n, 5)))
    mu /= np.linalg.norm(mu, axis=1, keepdims=True)
    mu[n // 5 :] *= rng.uniform(0.1, 0.6, (n - n // 5, 1))
    return mu


def sample(n: int) -> np.ndarray:
    """Fifty arms, half of them from the fifth that is optimal."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.choice(n // 5, 25, replace=False), rng.choice(n, 25, replace=False)])


def many(runs: int) -> dict[str, Any]:
    """Monte Carlo on two processes: 500 arms, 8 features, 8 objectives."""

    X, mu = np.hsplit(narrow(500), 2)
    instance, policy, clock = Instance(X, mu, 0.5), GEGE(0.1, first_accuracy=0.15), Clock()
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(warm, range(8)))
        for _ in range(3):
            with clock.run():
                there = monte_carlo(policy, instance, runs, 1, pool)
    alone = Clock()
    with alone.run():
        here = monte_carlo(policy, instance, runs, 1)
    assert told_of(here) == told_of(there)
    return clock.told() | {"alone": alone.seconds, "cpu": alone.cpu}


def warm(k: int) -> int:
    """Load what a worker needs."""

    return k  # this module has been imported for it, and all that it imports


def told_of(runs: list[Any]) -> list[tuple[Any, ...]]:
    """The numbers of runs, as far as they do not depend on the machine."""
    return [(run.answer.tobytes(), run.pulls, run.rounds, run.correct) for run in runs]


def cluster(runs: int) -> dict[str, Any]:
    """The same runs on a cluster of Dask (two worker processes) and in this process."""
    import distributed  # noqa: PLC0415  (an extra, and slow to import)

    X, mu = np.hsplit(narrow(100), 2)
    instance, policy = Instance(X, mu, 0.5), GEGE(0.1, first_accuracy=0.15)
    alone, clock = Clock(), Clock()
    with alone.run():
        here = monte_carlo(policy, instance, runs, 2)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
        distributed.Client(made) as client,
        clock.run(),
    ):
        there = monte_carlo(policy, instance, runs, 2, client.get_executor(pure=False))
    assert told_of(here) == told_of(there)
    errors = sum(not run.correct for run in here)
    return clock.told() | {"alone": alone.seconds, "cpu": alone.cpu, "errors": errors}


PARTS: dict[str, tuple[Callable[[int], dict[str, Any]], tuple[int, ...]]] = {
    "simulate": (simulated, (10**3, 10**4, 10**5, 10**6)),
    "study": (studied, (10**3, 10**4, 10**5, 10**6)),
    "product": (product, (4, 6, 10)),
    "unstructured": (unstructured, (10**3, 10**4, 10**5)),
    "published": (published, (200, 500, 1000, 2000)),
    "design": (designed, (100, 200, 400)),
    "front": (front, (10**4, 10**5)),
    "monte-carlo": (many, (500,)),
    "dask": (cluster, (10_000,)),
}


# ---------------------------------------------------------------- in processes of their own


def measure(parts: list[str]) -> None:
    """Measure some parts, or all; every row replaces the one that was kept."""
    for part in parts or PARTS:
        for size in PARTS[part][1]:
            kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
            command = [sys.executable, __file__, "one", part, str(size)]
            done = subprocess.run(
                command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(done.stderr)
            row = json.loads(done.stdout.splitlines()[-1])
            kept.setdefault(part, {})[str(size)] = row
            KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
            print(part, size, {k: round(v, 4) for k, v in row.items()}, flush=True)


def one(part: str, size: int) -> None:
    """One row, and the memory that it took beyond the empty interpreter."""
    found = PARTS[part][0](size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes, on Linux
    print(json.dumps(found | {"peak": peak, "load": os.getloadavg()[0]}))


def main() -> None:
    """See the docstring of this file."""
    what, *rest = sys.argv[1:] or ["show"]
    if what == "measure":
        measure(rest)
    elif what == "one":
        one(rest[0], int(rest[1]))
    elif what == "page":
        scale_page.page(json.loads(KEPT.read_text()))
    else:
        print(scale_page.tables(json.loads(KEPT.read_text())))


if __name__ == "__main__":
    main()
