"""What a cell measures, by the kind of its experiment, and how that is told in rows.

A cell is cut into parts that any process can do: numbers in, plain numbers out. Rows hold nothing that
depends on the machine; seconds are kept beside them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from paretoscope.bench import bounds, published
from paretoscope.bench.entrants import goal_of, policy_of
from paretoscope.bench.grid import Cell
from paretoscope.bench.worlds import Folder, instance_of, name_of
from paretoscope.errors import UsageError
from paretoscope.policies.base import Policy
from paretoscope.policies.setting import Setting
from paretoscope.sim.instances import Instance
from paretoscope.sim.metrics import summary
from paretoscope.sim.simulate import setting_of, simulate

# Parts of a cell, and runs of a part at most: whoever breaks off waits for the parts in hand.
PARTS, PART = 20, 25
# Processor seconds after which the plain transcription is not timed again, and runs of it at most.
ENOUGH, REPEATS = 2.0, 20
# Worlds whose designs a process keeps.
KEPT = 4
# Noise at which two programs must find the true set before their times are compared.
QUIET = 1e-6


class Part(NamedTuple):
    """Some runs of a cell: everything a worker needs to know.

    What is ``published`` is timed beside the plain transcription of the published procedure.
    """

    kind: str
    world: str
    instance: Instance
    policy: Policy[Any] | None
    seed: int
    runs: range
    max_pulls: int | None
    goal: dict[str, Any]
    published: bool


@dataclass(frozen=True)
class Counted:
    """One run as it is stored."""

    correct: bool
    exact: bool
    pulls: int
    rounds: int


Found = dict[str, Any]


def parts_of(cell: Cell, folder: Folder = None) -> list[Part]:
    """The work of a cell."""
    experiment = cell.experiment
    instance = instance_of(cell.world, experiment.axis, cell.value, folder)
    kind = experiment.kind
    at_once = max(1, min(PART, cell.runs // PARTS)) if kind == "runs" else cell.runs
    policy, goal = None, dict(experiment.goal)
    if cell.entrant.name:
        size = instance.complexity()
        policy = policy_of(cell.entrant, experiment, cell.value, size)
        goal = goal_of(experiment, cell.value, size) | cell.entrant.settings
    world = name_of(cell.world, experiment.axis, cell.value)
    return [
        Part(
            kind,
            world,
            instance,
            policy,
            cell.seed,
            range(first, min(first + at_once, cell.runs)),
            cell.entrant.max_pulls,
            goal,
            cell.entrant.published,
        )
        for first in range(0, cell.runs, at_once)
    ]


def do(part: Part) -> Found:
    """The work of a part; a policy that refuses its settings says why."""
    return _WORK[part.kind](part)


def rows_of(cell: Cell, found: Sequence[Found]) -> list[dict[str, Any]]:
    """Tidy rows of a finished cell."""
    named = {
        "experiment": cell.experiment.name,
        "world": cell.world.name,
        cell.experiment.axis: cell.value,
    }
    if cell.experiment.kind in {"bounds", "gaps"}:
        return [named | row for part in found for row in part["rows"]]
    named |= {"policy": cell.entrant.name, "published": cell.entrant.published}
    named |= {"certified": bool(found[0]["certified"]), "goal": _told(found[0]["goal"])}
    refused = next((part["refused"] for part in found if "refused" in part), "")
    if refused:
        blank = dict.fromkeys([*summary([Counted(True, True, 0, 0)]), "capped"], "")
        return [named | blank | {"runs": 0, "note": refused}]
    runs = runs_of(found)
    counts: dict[str, Any] = dict(summary(runs))
    more = {"capped": sum(part["capped"] for part in found), "note": ""}
    same = {"agrees": found[0]["agrees"]} if "agrees" in found[0] else {}
    return [named | counts | same | more]


def runs_of(found: Sequence[Found]) -> list[Counted]:
    """The runs of a cell, in order."""
    return [
        Counted(bool(c), bool(e), int(p), int(r))
        for part in found
        for c, e, p, r in zip(
            part["correct"], part["exact"], part["pulls"], part["rounds"], strict=True
        )
    ]


def seconds_of(found: Sequence[Found]) -> dict[str, list[float]]:
    """Seconds by what they were spent on, in order."""
    kinds = {name: None for part in found for name in part.get("seconds", {})}
    return {name: [s for part in found for s in part["seconds"].get(name, [])] for name in kinds}


def _told(goal: dict[str, Any]) -> str:
    """The goal in the words of a policy: delta=0.01 or budget=5000."""
    return " ".join(f"{k}={goal[k]:g}" for k in ("delta", "budget", "epsilon") if k in goal)


class _Desk(threading.local):
    """Settings of a thread by the names of their worlds: parts share a cache of designs."""

    def __init__(self) -> None:
        self.settings: dict[str, Setting] = {}


_DESK = _Desk()


def _setting(part: Part) -> Setting:
    """The setting of the world of a part."""
    kept = _DESK.settings
    if part.world not in kept:
        if len(kept) >= KEPT:
            kept.clear()
        kept[part.world] = setting_of(part.instance)
    return kept[part.world]


def _do_runs(part: Part) -> Found:
    """Runs of a policy, as columns."""
    policy, found = part.policy, _empty(part)
    assert policy is not None
    setting = _setting(part)
    for k in part.runs:
        seed = np.random.SeedSequence(part.seed, spawn_key=(k,))
        try:
            run = simulate(policy, part.instance, seed, setting=setting, max_pulls=part.max_pulls)
        except UsageError as error:
            return found | {"refused": " ".join(str(error).split())}
        found["correct"].append(run.correct)
        found["exact"].append(run.exact)
        found["pulls"].append(run.pulls)
        found["rounds"].append(run.rounds)
        found["capped"] += run.stop is None
        found["seconds"]["run"].append(run.seconds)
    return found


def _empty(part: Part) -> Found:
    """Columns without runs yet."""
    assert part.policy is not None
    columns: Found = {name: [] for name in ("correct", "exact", "pulls", "rounds")}
    about = {"certified": part.policy.guarantee.certified, "goal": part.goal}
    return columns | about | {"capped": 0, "seconds": {"run": []}}


def _do_times(part: Part) -> Found:
    """Processor seconds of runs alone, of runs that share designs, and of the plain transcription."""
    policy, instance = part.policy, part.instance
    assert policy is not None
    found, shared = _do_runs(part), setting_of(instance)
    quiet = Instance(instance.X, instance.mu, QUIET)
    answer = simulate(policy, quiet).answer
    truth = set(np.flatnonzero(instance.pareto).tolist())
    theirs = _transcribed(part, quiet) if part.published else truth
    found["agrees"] = set(np.flatnonzero(answer).tolist()) == truth == theirs
    seeds = [np.random.SeedSequence(part.seed, spawn_key=(k,)) for k in part.runs]
    simulate(policy, instance, 0, setting=shared)  # whatever is imported late, is imported
    found["seconds"] = {
        "alone": [_clocked(partial(simulate, policy, instance, s)) for s in seeds],
        "shared": [_clocked(partial(simulate, policy, instance, s, setting=shared)) for s in seeds],
        "transcription": _transcription_times(part) if part.published else [],
    }
    return found


def _transcription_times(part: Part) -> list[float]:
    """The plain transcription in the same world, again and again until it has taken long enough."""
    spent: list[float] = []
    while len(spent) < REPEATS and sum(spent) < ENOUGH:
        spent.append(_clocked(partial(_transcribed, part, part.instance, len(spent))))
    return spent


def _transcribed(part: Part, instance: Instance, seed: int = 0) -> set[int]:
    """The answer of the plain transcription."""
    X, sigma, rng = instance.X, float(instance.sigma.max()), np.random.default_rng(seed)
    assert X is not None
    if "budget" in part.goal:
        return published.fixed_budget(X, instance.mu, sigma, int(part.goal["budget"]), rng)
    return published.fixed_confidence(X, instance.mu, sigma, float(part.goal["delta"]), rng)


def _clocked(work: Callable[[], Any]) -> float:
    """Processor seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _do_bounds(part: Part) -> Found:
    """Bounds of the theorems on an instance."""
    return {"rows": bounds.bound_rows(part.instance, float(part.goal["delta"]))}


def _do_gaps(part: Part) -> Found:
    """Gaps of an instance, and the distances they are made of."""
    return {"rows": bounds.gap_rows(part.instance)}


_WORK: dict[str, Callable[[Part], Found]] = {
    "runs": _do_runs,
    "times": _do_times,
    "bounds": _do_bounds,
    "gaps": _do_gaps,
}
