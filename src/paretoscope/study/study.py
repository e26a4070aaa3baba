"""The one mutable object: ask what to measure next, tell what came, read what is known.

Write first, then believe: every call that changes anything appends an event to the ledger, and the
live state moves only by folding the ledger's events (`Book.apply`). When others have appended in
the meantime, their events are folded first and the call is decided again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from paretoscope import summary
from paretoscope.errors import Conflict, DataError, LedgerError, UsageError
from paretoscope.ledger import open_ledger
from paretoscope.ledger.base import Ledger
from paretoscope.policies.base import Policy
from paretoscope.policies.fixed import FixedDesign
from paretoscope.study import forecast, methods, result
from paretoscope.study.batch import Batch, Request
from paretoscope.study.book import Book, Uid
from paretoscope.study.course import Course
from paretoscope.study.definition import define
from paretoscope.study.intake import Intake, Told, corrected, regrouped
from paretoscope.study.methods import Wishes
from paretoscope.study.problem import Problem
from paretoscope.study.result import Result
from paretoscope.study.status import Status

T = TypeVar("T")
Record = dict[str, Any]


class Study:
    """A study on a ledger; make one with `create`, come back to it with `open`.

    Parameters
    ----------
    ledger : Ledger
        Holds at least the event 'created'.
    clock : callable
        Seconds since the epoch; leases are counted by it.
    """

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self.ledger, self.clock = ledger, clock
        self._book = Book()
        self._read_on()
        if not self._book.definition:
            raise LedgerError("the store is empty: create the study first")
        definition = self._book.definition
        self.problem = Problem.from_plain(definition["problem"])
        self.policy: Policy[Any] = methods.method_from_plain(definition["method"])
        self.wishes = Wishes(**definition["wishes"])
        self.reason: str = definition["reason"]
        self._course = Course(self.problem, self.policy)
        self._course.advance(self._book)

    # ------------------------------------------------------------ making and opening

    @classmethod
    def create(cls, where: str | Path | None, **definition: Any) -> Self:  # noqa: ANN401
        """A study at an address; one that is there already is opened if it is the same.

        Parameters
        ----------
        where : str, Path or None
            A file, ``postgresql://...``, or None for memory.
        candidates : frame, path, dict or array
            One row each: a pandas, polars or pyarrow frame, a CSV file, columns by name, numbers.
        id : str, optional
            Column that names the candidates; by default "id", or else the row numbers.
        metrics : list of Metric or str
        features : formula, list of column names, array, transformer or None
            None = no structure is assumed.
        intercept : bool
        method : policy or "auto"
        delta, epsilon, budget, batches, time : optional
            What "auto" and `plan` are asked for.
        seed : int

        Raises
        ------
        UsageError
            If the settings make no sense, or the store holds another study.
        DataError
            If a candidate or a cell cannot be used.
        """
        made = define(**definition)  # before the store is touched
        return cls.on(open_ledger(where, create=True), made)

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """The study at an address."""
        return cls(open_ledger(where, create=False))

    def close(self) -> None:
        """Let go of the store."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @classmethod
    def on(cls, ledger: Ledger, definition: Record, clock: Callable[[], float] = time.time) -> Self:
        """A study on a ledger: a fresh one with this definition, or the one that has it already.

        Raises
        ------
        UsageError
            If the ledger holds a study with another definition; the message shows what differs.
        """
        event = {"kind": "created", "definition": definition, "at": clock()}
        with suppress(Conflict):  # somebody made it before, perhaps a moment ago: compared below
            ledger.append([event], expect=0)
        study = cls(ledger, clock)
        difference = differences(study._book.definition, definition)
        if difference:
            raise UsageError("the store holds another study: " + "; ".join(difference[:5]))
        return study

    def _read_on(self) -> None:
        """Fold what the ledger has and the book has not."""
        for number, event in self.ledger.read(after=self._book.number):
            self._book.apply(number, event)

    def refresh(self) -> None:
        """Take in what others have told."""
        self._read_on()
        self._course.advance(self._book)

    def _commit(self, decide: Callable[[], tuple[list[Record], T]]) -> T:
        """Append what is decided, having seen everything; decide again if others were faster."""
        while True:
            self.refresh()
            records, answer = decide()
            if not records:
                return answer
            try:
                self.ledger.append(records, expect=self._book.number)
            except Conflict:
                continue
            self.refresh()
            return answer

    # ------------------------------------------------------------ asking

    def ask(self, n: int | None = None, *, by: str = "", lease: float | None = None) -> Batch:
        """The next requests, at most n (all of the present round by default); none when stopped.

        Parameters
        ----------
        by : str
            Who will measure.
        lease : float, optional
            Seconds after which the requests may be given to somebody else; by default never.
        """

        def decide() -> tuple[list[Record], list[Request]]:
            now = self.clock()
            chosen = self._free(n, now)
            if not chosen:
                return [], []
            event = {"kind": "asked", "uids": chosen, "lease": lease, "by": by, "at": now}
            return [event], [self._request(uid) for uid in chosen]

        return Batch(self.problem, self._commit(decide))

    def peek(self, n: int | None = None) -> list[Request]:
        """What `ask` would give now; nobody has it, and nothing is stored."""
        self.refresh()
        return [self._request(uid) for uid in self._free(n, self.clock())]

    def _free(self, n: int | None, now: float) -> list[str]:
        """At most n requests that nobody has (all by default); none when stopped."""
        if n is not None and n < 1:
            raise UsageError(f"ask for at least one measurement, not {n}")
        if self._course.stop is not None:
            return []
        free = [u for u in self._course.turn.waiting if not self._book.out(u, now)]
        return free if n is None else free[:n]

    def _request(self, text: str) -> Request:
        """A request by its text."""
        uid = Uid.parse(text)
        assert uid is not None
        name = self.problem.candidates.ids[uid.candidate]
        return Request(text, name, self._course.replicate(uid), uid.turn + 1)

    def pending(self) -> list[Request]:
        """Requests that somebody has, and nothing has come of yet."""
        now = self.clock()
        waiting = self._course.turn.waiting
        return [self._request(uid) for uid in waiting if self._book.out(uid, now)]

    def release(self, uids: Iterable[str] | None = None, reason: str = "given back") -> int:
        """Give requests back (all outstanding ones by default): they will be asked again."""
        return self._give("returned", uids, reason)

    def withdraw(self, uids: Iterable[str], reason: str) -> int:
        """Write requests off: their measurements will never come."""
        return self._give("withdrawn", uids, reason)

    def _give(self, kind: str, uids: Iterable[str] | None, reason: str) -> int:
        """Requests that somebody has, returned or written off."""
        named = [uids] if isinstance(uids, str) else None if uids is None else list(uids)

        def decide() -> tuple[list[Record], int]:
            now = self.clock()
            waiting = self._course.turn.waiting
            outstanding = {uid for uid in waiting if self._book.out(uid, now)}
            chosen = sorted(outstanding) if named is None else named
            for uid in chosen:
                if uid not in waiting:
                    raise DataError(f"{uid!r} is not outstanding: it was told, or never asked for")
            event = {"kind": kind, "uids": chosen, "reason": reason}
            return [event] if chosen else [], len(chosen)

        return self._commit(decide)

    # ------------------------------------------------------------ telling

    def tell(
        self,
        rows: Any,  # noqa: ANN401  (mappings, a frame, or a filled sheet)
        *,
        by: str = "",
        dry_run: bool = False,
    ) -> Told:
        """Measurements, all of them or none: one mapping each, with ``uid`` and the metrics.

        A frame, or the path of a filled sheet, does as well.

        A row whose metrics are blank (None or missing) stays pending; one with ``failed`` set to a reason
        is the candidate's own failure; ``candidate``, if given, must be the one that was asked for.
        The same row told twice is counted once.

        Raises
        ------
        DataError
            If any row cannot be used; nothing is stored then.
        """
        by_name = isinstance(rows, Iterable) and not hasattr(rows, "columns")
        by_name = by_name and not isinstance(rows, (str, Path))
        given = list(rows) if by_name else summary.read_either(rows, self.problem)

        def decide() -> tuple[list[Record], Told]:
            intake = Intake(self.problem, self._book, by)
            intake.take(given)
            return [] if dry_run else intake.records(self.clock()), intake.told()

        return self._commit(decide)

    def tell_failed(self, uid: str, reason: str, *, lost: bool = False, by: str = "") -> None:
        """A measurement that came to nothing.

        Parameters
        ----------
        lost : bool
            Whether it was lost on the way (a worker died): then the same request is asked again. Else it
            is the candidate's own failure; at the second one the candidate is infeasible.
        """
        if not reason.strip():
            raise UsageError(f"{uid} failed: give the reason in a word or two")
        if lost:
            self.release([uid], reason)
        else:
            self.tell([{"uid": uid, "failed": reason}], by=by)

    def correct(
        self,
        uid: str,
        values: Mapping[str, Any],
        reason: str,
        deviations: Mapping[str, float] | None = None,
    ) -> None:
        """Replace a value told before; everything that followed from it is worked out again.

        A row that summed up several measurements is corrected by its group, with their
        ``deviations``.
        """

        def decide() -> tuple[list[Record], None]:
            book, now = self._book, self.clock()
            if uid in book.sums:
                row = {**values, "n": book.sums[uid][0], "deviations": deviations}
                return [regrouped(self.problem, book, uid, row, reason, now)], None
            rows = corrected(self.problem, book, uid, self.problem.check_row(values))
            return [{"kind": "corrected", "rows": rows, "reason": reason}], None

        self._commit(decide)

    def add_history(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Earlier measurements, for estimates and pictures; they never enter a certificate."""
        index = self.problem.candidates.index
        lines: list[list[Any]] = []
        for position, row in enumerate(rows):
            name = str(row.get("candidate", ""))
            if name not in index:
                raise DataError(f"row {position + 1}: there is no candidate {name!r}")
            values = {k: v for k, v in row.items() if k != "candidate"}
            lines.append([index[name], list(self.problem.check_row(values))])
        event = {"kind": "history", "rows": lines}
        return self._commit(lambda: ([event] if lines else [], len(lines)))

    # ------------------------------------------------------------ reading

    def result(self) -> Result:
        """What is known at present."""
        self.refresh()
        course, book = self._course, self._book
        verdict = self.policy.verdict(course.state)
        tally = course.everything(book)
        looks = isinstance(self.policy, FixedDesign)  # its design is fixed: all data test the fit
        certificate = verdict.certificate
        if course.setting.model.linear:
            pulls = tally if looks else course.first_turn(book)
            certificate = result.tested(self.problem, certificate, pulls)
        certificate = replace(certificate, pulls=int(tally.counts.sum()))  # check points as well
        found = result.estimate(self.problem, tally, course.known_exact(book))
        return Result(self.problem, verdict, certificate, found, tally.counts)

    def status(self) -> Status:
        """Where the study stands, for a person."""
        now = self.result()
        turn, clock = self._course.turn, self.clock()
        tally = self._course.everything(self._book)
        return Status(
            round=turn.number + 1,
            done=int(tally.counts.sum()),
            due=len(turn.waiting) if self._course.stop is None else 0,
            outstanding=sum(self._book.out(uid, clock) for uid in turn.waiting),
            counts={word: now.status.count(word) for word in sorted(set(now.status))},
            stop=self._course.stop,
            result=now,
            chances=partial(
                result.probabilities, self.problem, now.found, tally, self.problem.seed
            ),
            method=self._book.definition["method"]["policy"],
            reason=self.reason,
        )

    def plan(self) -> list[methods.Option]:
        """Predicted measurements of every method that could run this study."""
        return methods.options(self.problem.setting, self.wishes)

    def outlook(self, runs: int = forecast.RUNS) -> forecast.Outlook | forecast.NoOutlook:
        """What the budget will buy, counted from the first measurement: simulated, not promised.

        The study's own method runs in worlds as its measurements so far say they are; see `forecast`.
        """
        policy = forecast.certified_method(self.policy, self.wishes)
        if isinstance(policy, forecast.NoOutlook):
            return policy
        tally, exact = self._course.everything(self._book), self._course.known_exact(self._book)
        belief = forecast.believe(self.problem, tally, exact)
        return forecast.outlook(self.problem, policy, belief, runs, self.problem.seed)


def differences(old: Any, new: Any, where: str = "") -> list[str]:  # noqa: ANN401  (JSON values)
    """What differs between two definitions, as sentences; versions are not compared."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for key in sorted({*old, *new} - {"version"}):
            inner = f"{where}.{key}" if where else key
            found += differences(old.get(key), new.get(key), inner)
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [text for k, (a, b) in pairs for text in differences(a, b, f"{where}[{k}]")]
    return [] if old == new else [f"{where} is {old!r} there and {new!r} here"[:200]]
