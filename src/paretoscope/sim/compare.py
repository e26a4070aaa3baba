"""Policies side by side in the same worlds with the same seeds: one frame, one row per pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from paretoscope.cells import frame_of
from paretoscope.errors import UsageError
from paretoscope.policies.base import Policy
from paretoscope.sim.instances import Instance
from paretoscope.sim.metrics import summary
from paretoscope.sim.monte_carlo import batches, gather, monte_carlo
from paretoscope.sim.simulate import Run

T = TypeVar("T")
# Columns of the frame, and their types.
COLUMNS: dict[str, Any] = {
    "policy": nw.String,
    "instance": nw.String,
    "K": nw.Int64,
    "certified": nw.Boolean,
    "runs": nw.Int64,
    "errors": nw.Int64,
    "error": nw.Float64,
    "error_low": nw.Float64,
    "error_high": nw.Float64,
    "inexact": nw.Int64,
    "pulls": nw.Float64,
    "pulls_se": nw.Float64,
    "rounds": nw.Float64,
    "seconds": nw.Float64,
}
_FROM_SUMMARY = {"pulls": "pulls_mean", "rounds": "rounds_mean"}


def compare(
    policies: Mapping[str, Policy[Any]] | Iterable[Policy[Any]],
    instances: Mapping[str, Instance] | Iterable[Instance],
    runs: int,
    seed: int = 0,
    executor: Executor | None = None,
    *,
    max_pulls: int | None = None,
    backend: str | None = None,
) -> Any:  # noqa: ANN401  (a frame of the backend)
    """Run every policy in every instance with common seeds; one row of a frame per pair.

    Parameters
    ----------
    policies : mapping of names, or any number of policies
        Unnamed ones are called by their class and what distinguishes them.
    instances : mapping of names, or any number of instances
    runs : int
        Of each pair; the k-th has the k-th child of the seed, whatever the policy.
    executor : concurrent.futures.Executor, optional
        All pairs at once; this process by default.
    max_pulls : int, optional
        As in `simulate`.
    backend : 'pandas', 'polars' or 'pyarrow', optional
        Of the frame; the first that is installed by default.

    Returns
    -------
    frame
        ``policy, instance, K, certified, runs``; ``errors``, their share ``error`` and its exact
        95 % interval; ``inexact`` answers; means of ``pulls`` (with standard error), ``rounds`` and
        ``seconds`` per run.

    Raises
    ------
    UsageError
        If there is no policy, no instance or no run, or two have one name.

    >>> import paretoscope as ps
    >>> found = ps.sim.compare([ps.Uniform(40)], [ps.sim.Instance(None, [[1], [0]], 0.1)], 5)
    >>> int(found["errors"][0]), float(found["pulls"][0])
    (0, 40.0)
    """
    named, worlds = _named(policies, "policies"), _named(instances, "instances")
    pairs = [(p, i) for i in worlds for p in named]
    if executor is None:
        found = [
            monte_carlo(named[p], worlds[i], runs, seed, max_pulls=max_pulls) for p, i in pairs
        ]
    else:  # all are handed in before the first is waited for
        waiting = [
            batches(named[p], worlds[i], runs, seed, executor, max_pulls=max_pulls)
            for p, i in pairs
        ]
        found = [gather(futures) for futures in waiting]
    rows = [
        _row(p, i, named[p], worlds[i], done) for (p, i), done in zip(pairs, found, strict=True)
    ]
    return frame_of({name: [row[name] for row in rows] for name in COLUMNS}, COLUMNS, backend)


def _row(
    policy: str, instance: str, what: Policy[Any], where: Instance, runs: Sequence[Run]
) -> dict[str, Any]:
    """One row of the frame."""
    found: dict[str, Any] = dict(summary(runs))
    found |= {name: found[old] for name, old in _FROM_SUMMARY.items()}
    found["seconds"] = float(np.mean([run.seconds for run in runs]))
    named = {"policy": policy, "instance": instance, "K": where.K}
    return found | named | {"certified": what.guarantee.certified}


def _named(given: Mapping[str, T] | Iterable[T], what: str) -> dict[str, T]:
    """Things by name; those without one are called by what they are."""
    if isinstance(given, Mapping):
        named = {str(name): thing for name, thing in given.items()}
    else:
        things = list(given)
        named = dict(zip(_called(things), things, strict=True))
    if not named:
        raise UsageError(f"no {what}: give at least one")
    return named


def _called(things: Sequence[Any]) -> list[str]:
    """A name for each: instances by K, policies by their settings; numbered where these agree."""
    names = [_name(thing) for thing in things]
    often, seen = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        seen[name] += 1
        names[k] = f"{name} ({seen[name]})" if often[name] > 1 else name
    return names


def _name(thing: Any) -> str:  # noqa: ANN401  (a policy or an instance)
    """K of an instance; the class of a policy with the settings that are not defaults."""
    if isinstance(thing, Instance):
        return f"K={thing.K}"
    kind = type(thing).__name__.removesuffix("Confidence").removesuffix("Budget")
    if not is_dataclass(thing):
        return kind
    told = ((f.name, getattr(thing, f.name)) for f in fields(thing) if f.init)
    plain = {f.name: f.default for f in fields(thing)}
    changed = [f"{name}={value!r}" for name, value in told if value != plain[name]]
    return f"{kind}({', '.join(changed)})"
