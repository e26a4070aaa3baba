"""Whether measurements are what they say they are: copied, stuck, exchanged, or never varying.

Each notice names its requests. None of them withholds a certificate: values that come in steps repeat
by themselves, and only the one who made the measurements knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paretoscope.core import diagnostics
from paretoscope.core.arrays import FloatArray
from paretoscope.core.diagnostics import Replicates
from paretoscope.study.evidence import Span
from paretoscope.study.problem import Problem

# Notices of one kind that are given one by one; more are given together.
_ONE_BY_ONE = 3


class Notice(NamedTuple):
    """Something to look at, the requests it is about, and what to do."""

    name: str
    said: str
    remedy: str
    p: float | None = None
    rows: tuple[str, ...] = ()


def notices(
    problem: Problem, seen: Sequence[tuple[Span, Replicates]], level: float
) -> list[Notice]:
    """Everything that looks odd about the measurements themselves."""
    names = [metric.name for metric in problem.metrics if not metric.exact]
    made = [*_copied(seen), *_stuck(names, seen, level)]
    for span, rep in seen:
        found = diagnostics.swaps(rep, level * span.share)[:_ONE_BY_ONE]
        made.extend(_swapped(problem, span, swap) for swap in found)
    still = np.array([diagnostics.constant(rep) for _, rep in seen]).reshape(-1, len(names))
    for c in np.flatnonzero(still.any(axis=0)).tolist():
        said = f"{names[c]} never varies between replicates"
        made.append(Notice("variation", said, "declare it exact, or a resolution"))
    return list(dict.fromkeys(made))  # looks at one design see the same rows again


def _union(seen: Sequence[tuple[Span, Replicates]]) -> tuple[list[str], FloatArray]:
    """Every measurement of the rounds once; of rounds in which values repeat by themselves, none."""
    values: dict[str, FloatArray] = {}
    for span, _ in seen:
        if len(span.Y) and diagnostics.repeats(span.Y) <= diagnostics.STEPS:
            values |= dict(zip(span.uids, span.Y, strict=True))
    return list(values), np.array([*values.values()])


def _copied(seen: Sequence[tuple[Span, Replicates]]) -> Iterator[Notice]:
    """Requests with the very same values, of one round or of several."""
    uids, Y = _union(seen)
    found = [tuple(uids[k] for k in rows.tolist()) for rows in diagnostics.equal_rows(Y)]
    for rows in found[:_ONE_BY_ONE] if len(found) <= _ONE_BY_ONE else []:
        said = f"{', '.join(rows)} have the very same values"
        yield Notice("copies", said, "correct the copied row", None, rows)
    if len(found) > _ONE_BY_ONE:
        every = tuple(uid for rows in found for uid in rows)
        said = f"{len(found)} measurements were told more than once: {', '.join(every[:6])}, ..."
        yield Notice("copies", said, "correct the copied rows", None, every)


def _stuck(
    names: Sequence[str], seen: Sequence[tuple[Span, Replicates]], level: float
) -> Iterator[Notice]:
    """One value again and again, at one candidate after the other."""
    for span, rep in seen:
        for c, name in enumerate(names):
            run = diagnostics.longest_run(rep.arms, rep.Y[:, c])
            if run.p <= level * span.share / len(names):
                rows = tuple(span.uids[k] for k in range(run.start, run.start + run.length))
                said = (
                    f"{name} is the same {run.length} times in a row, from {rows[0]} to {rows[-1]}"
                    f" (p = {run.p:.2g})"
                )
                yield Notice("stuck", said, "did the instrument hang? Correct them", run.p, rows)


def _swapped(problem: Problem, span: Span, swap: diagnostics.Swap) -> Notice:
    """Two results that look exchanged."""
    ids = problem.candidates.ids
    a, b = (span.uids[k] for k in (swap.first, swap.second))
    who = " and ".join(ids[int(problem.setting.model.first[span.arms[k]])] for k in swap[:2])
    said = f"{a} and {b} (candidates {who}) look exchanged (p = {swap.p:.2g})"
    return Notice("exchange", said, "compare with the notes; correct both", swap.p, (a, b))
