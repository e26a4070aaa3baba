"""The study in sentences: the certificate, the facts beside it, the definition. Plain text, escaped later."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import scipy

from paretoscope.report.view import View
from paretoscope.study.result import Result
from paretoscope.study.speech import SHORT, count, noise, number, tolerance
from paretoscope.study.trace import Snapshot
from paretoscope.version import __version__


class Headline(NamedTuple):
    """The certificate at the top: 'certified', 'open' or 'refused', a title, and sentences."""

    state: str
    title: str
    said: tuple[str, ...]


def headline(snapshot: Snapshot) -> Headline:
    """What is known, in plain words, before anything else."""
    status, result = snapshot.status, snapshot.status.result
    risk = f"{100 * (1 - result.certificate.delta):.4g} %"
    if status.stop is None:
        return Headline("open", "Measuring goes on", _open(snapshot))
    if result.certified:
        made = count(result.certificate.pulls, "measurement")
        said = f"With probability at least {risk}, every verdict on this page is right: {_verdicts(result)}."
        by = f", by {result.certificate.bound}" if result.certificate.bound else ""
        why = f"From {made}{by}; {status.stop.value}."
        return Headline("certified", f"Certified at {risk}", (said, why))
    said = f"It stopped: {status.stop.value}. The verdicts are a best guess: {_verdicts(result)}."
    return Headline("refused", "Not certified", (said, f"Why not: {result.certificate.reason}."))


def _open(snapshot: Snapshot) -> tuple[str, ...]:
    """Where an unfinished study stands."""
    status = snapshot.status
    free = status.due - status.outstanding
    said = (
        f"Round {status.round}, after {count(status.done, 'measurement')}:"
        f" {_verdicts(status.result)}."
    )
    due = (
        f"{count(status.due, 'measurement is', 'measurements are')} due in this round:"
        f" {status.outstanding:,} out, {free:,} to ask for."
    )
    broken = [a for a in status.result.assumptions if a.verdict == "broken"]
    if broken:
        return said, f"Nothing can be certified: {status.result.certificate.reason}.", due
    return said, f"Not certified yet: {status.result.certificate.reason}.", due


def _verdicts(result: Result) -> str:
    """How many candidates have each verdict, in words."""
    said = {
        "accepted": "Pareto optimal",
        "near": "within epsilon of optimal",
        "rejected": "not optimal",
        "undecided": "undecided",
        "infeasible": "not measurable",
    }
    parts = [f"{n:,} {said[v]}" for v in said if (n := result.status.count(v))]
    return ", ".join(parts)


def facts(view: View) -> Iterator[tuple[str, str]]:
    """Name and number of the facts beside the certificate."""
    result = view.result
    yield "measurements", f"{view.snapshot.status.done:,}"
    yield "candidates", f"{result.problem.K:,}"
    yield "in the front", f"{int(result.verdict.answer.sum()):,}"
    yield "undecided", f"{int(result.verdict.undecided.sum()):,}"
    yield "risk", f"{result.certificate.delta:g}"


def tolerances(view: View) -> list[tuple[str, str, str]]:
    """Per metric: the tolerance that is certified by now, and the one that is wanted."""
    result, default = view.result, view.snapshot.definition["wishes"]["epsilon"]
    made = []
    for metric in view.metrics:
        wanted = metric.tolerance if metric.tolerance is not None else default
        wanted = math.expm1(wanted or 0.0) if metric.scale == "log" else wanted or 0.0
        got = tolerance(metric, result.achieved_epsilon[metric.name])
        made.append((metric.name, got, tolerance(metric, wanted) if wanted else "exactly"))
    return made


def assumed(result: Result) -> tuple[str, ...]:
    """What must hold for the guarantee, a sentence each."""
    return tuple(f"{said[0].upper()}{said[1:]}." for said in result.certificate.assumptions if said)


def thinning(view: View) -> str:
    """What is not shown; empty where everything is."""
    parts = [f"{n:,} of {of:,} {SHORT[v]}" for v, (n, of) in view.thinned.items()]
    if not parts:
        return ""
    return (
        f"Shown here: {' and '.join(parts)}, at regular places of the list; all others in full."
        " Counts and verdicts are of all candidates."
    )


def definition(view: View) -> Iterator[tuple[str, str]]:
    """What the study was asked, and by which versions it is answered."""
    snapshot = view.snapshot
    problem = view.result.problem
    features = problem.features
    yield "study", view.title
    yield "created", _time(snapshot.created)
    yield "candidates", f"{problem.K:,}, with {count(len(problem.candidates.columns), 'column')}"
    yield (
        "features",
        _features(features.names, features.said) if features else "none: nothing assumed",
    )
    yield "method", f"{snapshot.status.method}: {snapshot.status.reason}"
    yield "settings", _settings(snapshot.definition["method"])
    yield "seed", str(problem.seed)
    yield "ledger", count(snapshot.events, "event")
    yield "made by", f"paretoscope {snapshot.definition.get('version', '?')}"
    yield "drawn by", f"paretoscope {__version__}, {_machine()}"


def _features(names: tuple[str, ...], said: str) -> str:
    """The columns of the linear model, as many as fit."""
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"{shown} ({said})"


def _settings(method: dict[str, Any]) -> str:
    """The settings of the method as they are stored."""
    said = (f"{key} {json.dumps(value)}" for key, value in method["settings"].items())
    return ", ".join(said) or "its defaults"


def _machine() -> str:
    """Versions that a number may depend on."""
    return f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"


def _time(seconds: float) -> str:
    """A time of the ledger, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def metric_rows(view: View) -> list[tuple[str, str, str, str, str]]:
    """Name, goal, unit, scale and noise of each metric."""
    return [(m.name, m.goal, m.unit or "-", m.scale, noise(m)) for m in view.metrics]


def margin(value: float | None, needed: float | None) -> str:
    """A margin beside what it had to reach."""
    if value is None:
        return ""
    return f"{number(value, 3)} / {number(needed, 3)}" if needed else number(value, 3)
