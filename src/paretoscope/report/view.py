"""What a page shows of a snapshot: which candidates are drawn, their rows, their marks.

Numbers are those of `Result.table`; nothing is estimated or judged here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.policies.base import Decision, DecisionBatch
from paretoscope.report.palette import VERDICTS
from paretoscope.study.metric import Metric
from paretoscope.study.result import Result
from paretoscope.study.speech import SHORT, estimates
from paretoscope.study.trace import Snapshot

# Candidates with a row and a mark: a browser stays quick with some thousand marks in all its panels.
MOST, MARKS = 3000, 9000
# Candidates drawn with their intervals: more would hide each other.
BOXES = 250
# Metrics in a matrix of pairs, of which a screen has room for so many.
PAIRED = 6


class Row(NamedTuple):
    """One line of the table."""

    k: int
    name: str
    verdict: str
    n: int
    estimates: list[str]
    values: list[float | None]
    columns: list[Any]
    round: int | None
    by: str | None
    margin: float | None
    needed: float | None


@dataclass(frozen=True)
class View:
    """A snapshot with its title, seen as rows and marks."""

    title: str
    snapshot: Snapshot

    @property
    def result(self) -> Result:
        """Verdicts and estimates."""
        return self.snapshot.status.result

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics in their order."""
        return self.result.problem.metrics

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Metrics drawn against each other, those on the x axis first."""
        d = min(len(self.metrics), PAIRED)
        return [(a, b) for b in range(d) for a in range(b)]

    @property
    def most(self) -> int:
        """Candidates that have room."""
        return min(MOST, MARKS // max(1, len(self.pairs)))

    @cached_property
    def shown(self) -> IntArray:
        """Candidates with a row and a mark: all, or all of the front and a regular part of the others."""
        most = self.most
        if self.result.problem.K <= most:
            return np.arange(self.result.problem.K)
        kept: list[IntArray] = []
        left = most
        for verdict in VERDICTS:
            some = thinned(self.of(verdict), left if verdict not in {"accepted", "near"} else MOST)
            kept.append(some)
            left = max(0, left - len(some))
        return np.sort(np.concatenate(kept))

    def of(self, verdict: str) -> IntArray:
        """Candidates with a verdict."""
        return np.flatnonzero(getattr(self.result.verdict, verdict))

    @cached_property
    def thinned(self) -> dict[str, tuple[int, int]]:
        """Verdicts of which only a part is shown: how many, of how many."""
        mask = np.zeros(self.result.problem.K, dtype=bool)
        mask[self.shown] = True
        parts = {v: (int(mask[self.of(v)].sum()), len(self.of(v))) for v in VERDICTS}
        return {verdict: part for verdict, part in parts.items() if part[0] < part[1]}

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """Rows of `Result.table` of the candidates shown."""
        return self.result.table(self.shown.tolist())

    @cached_property
    def rows(self) -> list[Row]:
        """Lines of the table, those of the front first."""
        rank = {verdict: r for r, verdict in enumerate(VERDICTS)}
        made = map(self._row, self.shown.tolist(), self.table)
        return sorted(made, key=lambda row: (rank[row.verdict], row.k))

    def _row(self, k: int, row: dict[str, Any]) -> Row:
        """One line of the table."""
        left = self.last.get(k)
        by = None if left is None or left.by < 0 else self.result.problem.candidates.ids[left.by]
        return Row(
            k=k,
            name=row["candidate"],
            verdict=row["verdict"],
            n=row["n"],
            estimates=estimates(self.result, k),
            values=[row[metric.name] for metric in self.metrics],
            columns=list(self.result.problem.candidates.row(k).values()),
            round=None if left is None else left.round,
            by=by,
            margin=None if left is None else finite(left.gap),
            needed=None if left is None else finite(left.threshold),
        )

    @cached_property
    def last(self) -> dict[int, Decision]:
        """The decision that holds, of each candidate that has one."""
        held = {d.arm: d for _, d in self.decided}
        return {arm: d for arm, d in held.items() if d.status == self.result.status[arm]}

    @cached_property
    def decided(self) -> list[tuple[int, Decision]]:
        """Decisions on the candidates shown, each with its place in `Result.margins`."""
        mask, made, begin = np.zeros(self.result.problem.K, dtype=bool), [], 0
        mask[self.shown] = True
        for batch in self.result.verdict.batches:
            at = np.flatnonzero(mask[batch.arm])
            columns = (batch.arm[at], batch.gap[at], batch.threshold[at], batch.by[at])
            some = DecisionBatch(batch.status, batch.round, *columns).expand()
            made += list(zip((begin + at).tolist(), some, strict=True))
            begin += len(batch.arm)
        return made

    @property
    def columns(self) -> list[str]:
        """Columns of the candidates."""
        return list(self.result.problem.candidates.columns)

    @cached_property
    def spent(self) -> IntArray:
        """Measurements of the present frame by the end of each round."""
        return np.cumsum(self.snapshot.rounds.sum(axis=1))

    def round_of(self, position: int) -> int:
        """The round, counted from 0, in which a decision was made, by its place in `Result.margins`."""
        at = int(np.searchsorted(self.snapshot.decided, position, side="right"))
        return min(at, len(self.spent) - 1)

    @cached_property
    def marks(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of the candidates shown, by verdict."""
        made: dict[str, list[dict[str, Any]]] = {verdict: [] for verdict in VERDICTS}
        for row in self.table:
            made[row["verdict"]].append(row)
        return made

    @cached_property
    def guess(self) -> list[dict[str, Any]]:
        """Rows on the front of the estimates."""
        index = self.result.problem.candidates.index
        return self.result.table([index[name] for name in self.result.best_guess])

    def boxed(self, verdict: str) -> bool:
        """Whether intervals of a verdict are drawn: always in the front, elsewhere while there is room."""
        return verdict in {"accepted", "near"} or len(self.marks[verdict]) <= BOXES

    def numbers(self) -> Iterator[tuple[str, str]]:
        """Candidates by verdict: the short word and how many."""
        for verdict in VERDICTS:
            yield SHORT[verdict], f"{len(self.of(verdict)):,}"


def thinned(some: IntArray, most: int) -> IntArray:
    """A regular part of some candidates, at most so many: which ones depends on nothing measured."""
    if len(some) <= most:
        return some
    places = np.linspace(0, len(some) - 1, max(most, 0)).round().astype(np.int64)
    return some[places]


def finite(value: float) -> float | None:
    """A number for a page: None where there is none."""
    return float(value) if np.isfinite(value) else None


def plain(values: FloatArray) -> list[float | None]:
    """Numbers for a page."""
    return [finite(value) for value in values.tolist()]
