"""The same noisy task for Optuna and for paretoscope: which of 100 configurations are optimal.

Two metrics, each measured with noise. Optuna gets as many measurements as paretoscope took, and its
answer is read in two ways: its own `best_trials`, and the front of the means per configuration that
a careful user would make of its trials. Optuna looks for good points in spaces that nobody can
list, and does that well; it was not made to say which of a list are optimal, nor when to stop. It
gets the list as one whole number, since the configurations are no grid.

Run it with `make bench-peers`, or with --quick for one world and the model alone.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import optuna

import paretoscope as ps

K, SIGMA, EPSILON, DELTA = 100, 0.3, 0.4, 0.05


class World(NamedTuple):
    """Configurations with four knobs; both metrics are maximised and linear in the knobs."""

    knobs: np.ndarray
    mu: np.ndarray
    rng: np.random.Generator

    def measure(self, k: int) -> np.ndarray:
        """One noisy measurement of both metrics."""
        return self.mu[k] + SIGMA * self.rng.standard_normal(2)


class Answer(NamedTuple):
    """What a tool returned, and at what cost."""

    tool: str
    chosen: set[int]
    measurements: int
    promise: str


def world(seed: int) -> World:
    """A world of its own for every seed."""
    rng = np.random.default_rng(seed)
    knobs = rng.uniform(-1, 1, (K, 4))
    return World(knobs, knobs @ rng.standard_normal((4, 2)), rng)


def ours(seed: int, features: list[str] | None, tool: str) -> Answer:
    """Ask and tell until it stops by itself."""
    here = world(seed)
    columns = {name: here.knobs[:, c] for c, name in enumerate("abcd")}
    metrics = [ps.Metric("speed", "max"), ps.Metric("quality", "max")]
    study = ps.Study.create(
        None,
        candidates=columns,
        features=features,
        metrics=metrics,
        delta=DELTA,
        epsilon=EPSILON,
        seed=seed,
    )
    while batch := study.ask():
        rows = [(r, here.measure(int(r.candidate))) for r in batch]
        study.tell([{"uid": r.uid, "speed": y[0], "quality": y[1]} for r, y in rows])
    result = study.result()
    promise = f"certified, risk {DELTA}" if result.certified else "not certified"
    return Answer(tool, {int(k) for k in result.pareto_set}, result.certificate.pulls, promise)


def samplers(seed: int) -> dict[str, optuna.samplers.BaseSampler]:
    """Optuna's two for several objectives; which one is its default depends on its version."""
    return {
        "TPE": optuna.samplers.TPESampler(seed=seed),
        "NSGA-II": optuna.samplers.NSGAIISampler(seed=seed),
    }


def optunas(seed: int, measurements: int) -> list[Answer]:
    """Each sampler on the same list, with the same number of measurements, its answer read twice."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    answers = []
    for name, sampler in samplers(seed).items():
        here = world(seed)
        study = optuna.create_study(directions=["maximize", "maximize"], sampler=sampler)

        def objective(trial: optuna.Trial, here: World = here) -> tuple[float, ...]:
            k = trial.suggest_int("configuration", 0, K - 1)
            return tuple(map(float, here.measure(k)))

        study.optimize(objective, n_trials=measurements)
        best = {trial.params["configuration"] for trial in study.best_trials}
        answers += [
            Answer(f"Optuna {name}, best", best, measurements, "none"),
            Answer(f"Optuna {name}, means", averaged(study), measurements, "none"),
        ]
    return answers


def averaged(study: optuna.Study) -> set[int]:
    """The front of the mean of each configuration over its trials."""
    seen: dict[int, list[list[float]]] = {}
    for trial in study.trials:
        seen.setdefault(trial.params["configuration"], []).append(trial.values)
    arms = sorted(seen)
    means = np.array([np.mean(seen[k], axis=0) for k in arms])
    return {arms[i] for i in np.flatnonzero(ps.core.dominance.non_dominated(means))}


def verdict(answer: Answer, mu: np.ndarray) -> tuple[int, int, bool]:
    """Optimal ones missed, chosen ones worse than epsilon, and whether the answer is right.

    Right means what the certificate promises: every optimal configuration is in the answer, and
    nobody in it is beaten by more than epsilon in both metrics.
    """
    front = set(np.flatnonzero(ps.core.dominance.non_dominated(mu)).tolist())
    missed = len(front - answer.chosen)
    beaten = sum(bool((mu > mu[k] + EPSILON).all(axis=1).any()) for k in answer.chosen)
    return missed, beaten, missed == 0 and beaten == 0


def show(answers: list[Answer], mu: np.ndarray) -> None:
    """One line a tool, within 80 columns."""
    print(f"{'tool':22}{'measured':>9}{'answer':>7}{'missed':>7}{'beaten':>7}  {'right':6}promise")
    for answer in answers:
        missed, beaten, right = verdict(answer, mu)
        counts = f"{answer.measurements:9,}{len(answer.chosen):7}{missed:7}{beaten:7}"
        print(f"{answer.tool:22}{counts}  {'yes' if right else 'NO':6}{answer.promise}")
    print()


def rivals(seed: int, *, model: bool) -> list[Answer]:
    """Ours, and Optuna with as many measurements as ours took."""
    title = "paretoscope, 4 knobs" if model else "paretoscope, no model"
    own = ours(seed, ["a", "b", "c", "d"] if model else None, title)
    return [own, *optunas(seed, own.measurements)]


def main(seeds: range, models: tuple[bool, ...]) -> None:
    """Every tool in every world, then how often each was right."""
    print(f"{K} configurations, noise {SIGMA}, epsilon {EPSILON}, Optuna {optuna.__version__}.")
    print("missed: optimal ones that are not in the answer")
    print("beaten: chosen ones that another beats by more than epsilon in both metrics\n")
    right: dict[tuple[bool, str], list[bool]] = {}
    for seed in seeds:
        mu = world(seed).mu
        front = int(ps.core.dominance.non_dominated(mu).sum())
        print(f"World {seed}: {front} of {K} are optimal.")
        answers = [(model, answer) for model in models for answer in rivals(seed, model=model)]
        show([answer for _, answer in answers], mu)
        for model, answer in answers:
            right.setdefault((model, answer.tool), []).append(verdict(answer, mu)[2])
    for model in models:
        said = "with" if model else "without"
        print(f"Measurements of paretoscope {said} a model, for everybody:")
        for (of, tool), found in right.items():
            if of == model:
                print(f"  {tool:24} right in {sum(found):2} of {len(found)}")


if __name__ == "__main__":
    QUICK = "--quick" in sys.argv
    main(range(1 if QUICK else 10), (True,) if QUICK else (True, False))
