"""What each row of a delivery is: a measurement, a failure, a repeat, a late duplicate, or a mistake.

All rows are judged before anything is written: one that cannot be used refuses them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from paretoscope.errors import DataError
from paretoscope.study.book import Book, Uid, Values, group_members, without_try
from paretoscope.study.problem import Problem

Row = Mapping[str, Any]
# Keys of a row that are not metrics.
_FRAME = {"uid", "candidate", "failed", "where", "n", "deviations"}


class Told(NamedTuple):
    """What became of the rows of one delivery."""

    accepted: int
    repeated: int
    pending: int
    failed: int
    surplus: int


@dataclass
class Intake:
    """Rows sorted against what the book knows; ``by`` is who tells them."""

    problem: Problem
    book: Book
    by: str
    values: dict[str, Values] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    surplus: list[tuple[str, Values]] = field(default_factory=list)
    seen: dict[int, Values] = field(default_factory=dict)  # first row of each candidate
    sums: dict[str, tuple[int, Values, Values]] = field(
        default_factory=dict
    )  # n, means, deviations
    unmeasured: list[str] = field(default_factory=list)  # of groups told in part: due again
    repeated: int = 0
    pending: int = 0

    def take(self, rows: Sequence[Row]) -> None:
        """Sort the rows; the first that cannot be used is refused by its place."""
        for position, row in enumerate(rows):
            try:
                self._take(row)
            except DataError as error:
                where = row.get("where", f"row {position + 1}")
                raise DataError(f"{where}: {error}") from None

    def _take(self, row: Row) -> None:
        """Sort one row."""
        members = group_members(str(row.get("uid", "")))
        if members:
            self._take_group(row, members)
            return
        uid, tries = self._request(row)
        if uid in self.values or uid in self.failed:
            raise DataError(f"uid {uid} stands in two rows")
        if self.book.superseded(uid):
            self._take_late(uid, row)
            return
        if row.get("failed"):
            self._fail(uid, tries, str(row["failed"]))
            return
        values = self._values(row)
        if values is None:
            self.pending += 1
        elif uid in self.book.values:
            self._again(uid, values)
        else:
            self._open(uid)
            self._check_exact(uid, values)
            self.values[uid] = values

    def _take_late(self, uid: str, row: Row) -> None:
        """A row for a request from before the study was reframed: kept, and used for nothing."""
        values = None if row.get("failed") else self._values(row)
        before = self.book.retired.get(uid, values)
        if values is None:
            self.pending += 1
        elif before != values:
            raise DataError(f"uid {uid} was told before with other values, and is history now")
        elif uid in self.book.retired or (uid, values) in self.book.surplus:
            self.repeated += 1
        else:
            self.surplus.append((uid, values))

    def _take_group(self, row: Row, members: list[str]) -> None:
        """Sort a row that sums up several measurements of one candidate."""
        group, tries = without_try(str(row["uid"]))
        self._request({**row, "uid": members[0]})
        values = None if row.get("failed") else self._values(row)
        if row.get("failed"):
            if self._fail(members[0], tries, str(row["failed"])):
                self._give_back(members[1:])
            return
        if values is None:
            self.pending += 1
            return
        n, deviations = self.spread_of(row, len(members))
        if group in self.book.sums:
            if self.book.sums[group] != (n, deviations) or self.book.values[members[0]] != values:
                raise DataError(f"the group {group} was told before with other values")
            self.repeated += 1
            return
        for uid in members[:n]:
            if uid in self.values:
                raise DataError(f"uid {uid} stands in two rows")
            self._open(uid)
        self._check_exact(members[0], values)
        self.sums[group] = (n, values, deviations)
        self._give_back(members[n:])

    def _give_back(self, uids: Sequence[str]) -> None:
        """What a row was to sum up and was not measured: nobody else can tell it any more."""
        told = self.book.values
        self.unmeasured += [uid for uid in uids if uid in self.book.asked and uid not in told]

    def spread_of(self, row: Row, size: int) -> tuple[int, Values]:
        """How many measurements a summary is of, and their standard deviations."""
        n = row.get("n", size)
        if not isinstance(n, int) or not 1 <= n <= size:
            raise DataError(f"n = {n!r}: between 1 and {size} measurements were asked for")
        given = row.get("deviations") or {}
        spread: list[float | None] = []
        for metric in self.problem.metrics:
            sd = given.get(metric.name)
            if metric.exact:
                sd = 0.0
            elif metric.scale == "log":
                raise DataError(f"{metric.name} is judged on logarithms: tell single values")
            elif sd is None and n == 1:
                sd = 0.0
            elif sd is None or not 0.0 <= sd < math.inf:
                raise DataError(f"{metric.name}: the standard deviation of {n} values is missing")
            spread.append(float(sd))
        return n, tuple(spread)

    def _fail(self, uid: str, tries: int, reason: str) -> bool:
        """One failure more, unless this try is known to have failed, or another has been told."""
        known = tries <= self.book.failed.get(uid, 0)
        if known or (uid in self.book.values and self._by_another(uid)):
            self.repeated += 1
            return False
        self._open(uid)
        if uid not in self.book.asked:
            raise DataError(f"uid {uid} was given back: ask for it again")
        self.failed[uid] = reason
        return True

    def _by_another(self, uid: str) -> bool:
        """Whether a request that was told may have been measured twice, by two of them."""
        return self.by != self.book.writer[uid] or uid in self.book.shared

    def _check_exact(self, uid: str, values: Values) -> None:
        """An exact metric has one value per candidate: another one is a mistake, or noise."""
        if not self.problem.exact.any():
            return
        k = candidate_of(uid)
        before = self.seen.setdefault(k, self.book.values.get(self.book.first.get(k, ""), values))
        check_known(self.problem, k, values)
        for metric, old, new in zip(self.problem.metrics, before, values, strict=True):
            if metric.exact and metric.known is None and old != new:
                name = self.problem.candidates.ids[k]
                raise DataError(
                    f"{metric.name} = {new}: the exact metric was {old} for candidate {name} before:"
                    " declare it noisy, or correct it"
                )

    def _request(self, row: Row) -> tuple[str, int]:
        """The request a row answers, which must be one of this study's, and which try of it."""
        text = str(row.get("uid", ""))
        uid = Uid.parse(text)
        if uid is None or uid.candidate >= self.problem.K:
            raise DataError(f"uid {text!r} is none of this study's")
        name = self.problem.candidates.ids[uid.candidate]
        if row.get("candidate") is not None and str(row["candidate"]) != name:
            raise DataError(f"uid {text} was asked for candidate {name}, not {row['candidate']}")
        return without_try(text)

    def _values(self, row: Row) -> Values | None:
        """The checked values of a row; None while some metric is blank."""
        given = {k: v for k, v in row.items() if k not in _FRAME and v is not None}
        missing = [m for m in self.problem.metrics if m.known is None and m.name not in given]
        if missing:  # what is there must make sense all the same
            self.problem.check_row({**{m.name: _harmless(m.bounds) for m in missing}, **given})
            return None
        return self.problem.check_row(given)

    def _open(self, uid: str) -> None:
        """A request must have been asked for, and not be settled otherwise."""
        if uid in self.book.withdrawn:
            raise DataError(f"uid {uid} was written off: {self.book.reasons[uid]}")
        if uid in self.book.values:
            raise DataError(f"uid {uid} was told before: it cannot fail any more")
        if uid not in self.book.asked and uid not in self.book.reasons:
            raise DataError(f"uid {uid} was never asked for, or was given back")

    def _again(self, uid: str, values: Values) -> None:
        """The same values again, a late duplicate of a lost lease, or a contradiction."""
        before = self.book.values[uid]
        if before == values or (uid, values) in self.book.surplus:
            self.repeated += 1
        elif self._by_another(uid):
            self.surplus.append((uid, values))
        else:
            pairs = zip(self.problem.metrics, before, strict=True)
            shown = ", ".join(f"{m.name} = {v}" for m, v in pairs)
            raise DataError(f"uid {uid} was told before as {shown}: correct it if that was wrong")

    def records(self, now: float) -> list[dict[str, Any]]:
        """The events that write the rows down."""
        made: list[dict[str, Any]] = []
        if self.values:
            rows = [[uid, list(values)] for uid, values in self.values.items()]
            made.append({"kind": "told", "rows": rows, "by": self.by, "at": now})
        if self.sums:
            groups = [[g, n, list(m), list(s)] for g, (n, m, s) in self.sums.items()]
            event = {"kind": "summed", "rows": groups, "reason": "", "by": self.by, "at": now}
            made.append(event)
        if self.unmeasured:
            reason = "asked for in a row that sums up fewer"
            made.append({"kind": "returned", "uids": self.unmeasured, "reason": reason})
        for reason in dict.fromkeys(self.failed.values()):
            uids = [uid for uid, said in self.failed.items() if said == reason]
            made.append(
                {"kind": "failed", "uids": uids, "reason": reason, "by": self.by, "at": now}
            )
        if self.surplus:
            late = [[uid, list(values)] for uid, values in self.surplus]
            made.append({"kind": "surplus", "rows": late})
        return made

    def told(self) -> Told:
        """How many rows of each kind there were."""
        return Told(
            accepted=len(self.values) + sum(n for n, _, _ in self.sums.values()),
            repeated=self.repeated,
            pending=self.pending,
            failed=len(self.failed),
            surplus=len(self.surplus),
        )


def candidate_of(uid: str) -> int:
    """The candidate of a request that is known to be one."""
    return Uid.known(uid).candidate


def check_known(problem: Problem, k: int, values: Values) -> None:
    """A metric that stands in a column may be left blank, or repeated, but not contradicted."""
    known = problem.setting.known
    for c, (metric, value) in enumerate(zip(problem.metrics, values, strict=True)):
        if metric.known is None or value is None or known is None:
            continue
        if metric.inward(value) != known[k, c]:
            raise DataError(f"{metric.name} = {value}: column {metric.known!r} says otherwise")


def correction(problem: Problem, book: Book, row: Row, reason: str, now: float) -> dict[str, Any]:
    """The event that replaces what was told of a request, or of a group.

    Parameters
    ----------
    row : mapping
        With ``uid``, every metric, and the ``deviations`` of a group.
    """
    uid, _ = without_try(str(row["uid"]))
    values = problem.check_row({k: v for k, v in row.items() if k not in _FRAME})
    if uid not in book.sums:
        return {
            "kind": "corrected",
            "rows": corrected(problem, book, uid, values),
            "reason": reason,
        }
    n = book.sums[uid][0]
    _check_alike(problem, book, group_members(uid)[:n], values)
    _, deviations = Intake(problem, book, "").spread_of({**row, "n": n}, n)
    line = [uid, n, list(values), list(deviations)]
    by = book.writer[group_members(uid)[0]]
    return {"kind": "summed", "rows": [line], "reason": reason, "by": by, "at": now}


def corrected(problem: Problem, book: Book, uid: str, row: Values) -> list[list[Any]]:
    """The rows of a correction: an exact metric changes in every row of the candidate."""
    if uid not in book.values:
        raise DataError(f"uid {uid!r} has not been told: there is nothing to correct")
    for group in book.sums:
        if uid in group_members(group)[: book.sums[group][0]]:
            raise DataError(f"uid {uid} was told as part of {group}: correct the group")
    k = candidate_of(uid)
    check_known(problem, k, row)
    rows: list[list[Any]] = [[uid, list(row)]]
    if not problem.exact.any():
        return rows
    for other, values in book.values.items():
        if other != uid and candidate_of(other) == k:
            mixed = [
                new if e else old for e, new, old in zip(problem.exact, row, values, strict=True)
            ]
            rows += [[other, mixed]] if tuple(mixed) != values else []
    return rows


def _check_alike(problem: Problem, book: Book, group: list[str], values: Values) -> None:
    """An exact metric corrected in a group must be what the candidate's other rows say."""
    k = candidate_of(group[0])
    check_known(problem, k, values)
    for uid, others in book.values.items():
        if uid in group or candidate_of(uid) != k:
            continue
        for metric, new, old in zip(problem.metrics, values, others, strict=True):
            if metric.exact and metric.known is None and new != old:
                raise DataError(
                    f"{metric.name} = {new}: the exact metric is {old} in {uid}, too: correct that"
                    " one, and all rows of the candidate follow"
                )


def _harmless(bounds: tuple[float, float] | None) -> float:
    """A value that passes for a blank cell while the others are checked."""
    return 0.5 if bounds is None else sum(bounds) / 2.0
