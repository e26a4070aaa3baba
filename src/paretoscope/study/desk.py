"""The desk of a study: what is asked, what is told, and the ledger under both.

Write first, then believe: every call that changes anything appends an event to the ledger, and the
live state moves only by folding the ledger's events (`Book.apply`). When others have appended in
the meantime, their events are folded first and the call is decided again. Threads take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from paretoscope import history, summary
from paretoscope.errors import Conflict, DataError, LedgerError, UsageError
from paretoscope.ledger.base import Ledger
from paretoscope.policies.base import Policy, Verdict
from paretoscope.study import methods
from paretoscope.study.batch import Batch, Request
from paretoscope.study.book import Book, Uid, with_try, without_try
from paretoscope.study.course import Course
from paretoscope.study.intake import Intake, Told, correction
from paretoscope.study.methods import Wishes
from paretoscope.study.problem import Problem
from paretoscope.study.sharing import in_turn
from paretoscope.study.standing import Standing

T = TypeVar("T")
Record = dict[str, Any]


class Desk:
    """What a study is asked and told; see `Study`, which makes, opens and reads it as well."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self.ledger, self.clock = ledger, clock
        self._lock = RLock()
        self._book = Book()
        self._judged: tuple[Any, Verdict] | None = None  # of which state
        self._read_on()
        if not self._book.definition:
            raise LedgerError("the store is empty: create the study first")
        self._adopt()
        self._course.advance(self._book)

    def _adopt(self) -> None:
        """Take the present definition for the live one."""
        book, definition = self._book, self._book.definition
        self.problem = Problem.from_plain(definition["problem"])
        self.policy: Policy[Any] = methods.method_from_plain(definition["method"])
        self.wishes = Wishes(**definition["wishes"])
        self.reason: str = definition["reason"]
        self.command: Record | None = definition.get("command")
        self._frames = book.frames
        self._course = Course(self.problem, self.policy, book.base, book.carried(self.problem.K))

    def _read_on(self) -> None:
        """Fold what the ledger has and the book has not."""
        for number, event in self.ledger.read(after=self._book.number):
            self._book.apply(number, event)

    @in_turn
    def refresh(self) -> None:
        """Take in what others have told."""
        self._read_on()
        if self._book.frames != self._frames:
            self._adopt()
        self._course.advance(self._book)

    @in_turn
    def _commit(self, decide: Callable[[], tuple[list[Record], T]]) -> T:
        """Append what is decided, having seen everything; decide again if others were faster."""
        self.refresh()
        while True:
            seen = self._book.number
            records, answer = decide()
            if not records:
                return answer
            try:
                self.ledger.append(records, expect=seen)
            except Conflict as conflict:
                self.refresh()
                if self._book.number == seen:  # it holds fewer events than were read from it
                    raise LedgerError(
                        f"the store was replaced: open it again ({conflict})"
                    ) from None
            else:
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
            Seconds after which others may have the requests; by default never.
        """

        def decide() -> tuple[list[Record], list[Request]]:
            now = self.clock()
            chosen = self._free(n, now)
            if not chosen:
                return [], []
            event = {"kind": "asked", "uids": chosen, "lease": lease, "by": by, "at": now}
            return [event], [self._request(uid) for uid in chosen]

        return Batch(self.problem, self._commit(decide))

    @in_turn
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
        free = (u for u in self._course.turn.waiting if not self._book.out(u, now))
        return list(islice(free, n))

    def _request(self, text: str) -> Request:
        """A request by its text."""
        uid = self._course.turn.waiting.get(text) or Uid.known(text)
        name = self.problem.candidates.ids[uid.candidate]
        shown = with_try(text, 1 + self._book.failed.get(text, 0))
        return Request(shown, name, self._course.replicate(uid), uid.turn + 1)

    @in_turn
    def pending(self) -> list[Request]:
        """Requests that somebody has, and nothing has come of yet."""
        self.refresh()
        now = self.clock()
        waiting = self._course.turn.waiting
        return [self._request(uid) for uid in waiting if self._book.out(uid, now)]

    @in_turn
    def held(self) -> dict[str, str]:
        """Requests that are out, with who has them."""
        self.refresh()
        book, now = self._book, self.clock()
        return {u: book.asked[u].by for u in self._course.turn.waiting if book.out(u, now)}

    @in_turn
    def wants(self, uid: str) -> bool:
        """Whether a request is still to be measured, by what was folded so far."""
        return without_try(uid)[0] in self._course.turn.waiting

    def described(self, name: str) -> dict[str, Any]:
        """What a measurement is told of a candidate: its columns, and its ``id``."""
        candidates = self.problem.candidates
        return {**candidates.row(candidates.index[name]), "id": name}

    def check_values(self, values: Mapping[str, Any]) -> dict[str, float | None]:
        """The values of the metrics, each checked; whatever else was measured is left out.

        Raises
        ------
        DataError
            If a metric is missing, or cannot have its value.
        """
        names = [metric.name for metric in self.problem.metrics]
        row = self.problem.check_row({name: values[name] for name in names if name in values})
        return dict(zip(names, row, strict=True))

    @in_turn
    def reasons(self) -> dict[str, str]:
        """Why candidates failed: the last reason of each that did."""
        ids, book = self.problem.candidates.ids, self._book
        said = {}
        for text in book.failed:
            uid = Uid.known(text)
            said[ids[uid.candidate]] = book.reasons[text]
        return said

    @in_turn
    def standing(self) -> Standing:
        """How far the study has come, by what it has folded so far: cheap, for a live display."""
        book, turn, stop = self._book, self._course.turn, self._course.stop
        seen = (turn.number, book.frames, len(book.failed), book.corrections)
        if self._judged is None or self._judged[0] != seen:
            self._judged = seen, self.policy.verdict(self._course.state)
        due = len(turn.waiting) if stop is None else 0
        return Standing(self.problem, turn.number + 1, len(book.values), due, self._judged[1], stop)

    def release(self, uids: Iterable[str] | None = None, reason: str = "given back") -> int:
        """Give requests back (all outstanding ones by default): they will be asked again."""
        return self._give("returned", uids, reason)

    def withdraw(self, uids: Iterable[str], reason: str) -> int:
        """Write requests off: their measurements will never come."""
        return self._give("withdrawn", uids, reason)

    def _give(self, kind: str, uids: Iterable[str] | None, reason: str) -> int:
        """Requests that somebody has, returned or written off."""
        given = [uids] if isinstance(uids, str) else uids
        named = None if given is None else [without_try(uid)[0] for uid in given]

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

        A row that summed up several measurements is corrected by its group, with ``deviations``.
        """
        row = {**values, "uid": uid, "deviations": deviations}

        def decide() -> tuple[list[Record], None]:
            return [correction(self.problem, self._book, row, reason, self.clock())], None

        self._commit(decide)

    def add_history(self, rows: Any, **marks: Any) -> int:  # noqa: ANN401  (mappings, a frame, a file)
        """Earlier measurements, for estimates and pictures; they never enter a certificate.

        Parameters
        ----------
        rows : list of mappings, frame or path
            With ``candidate`` and every metric. The same rows given again are not added again: 0.
        **marks
            ``delimiter`` and ``decimal`` of a file, where its rows do not tell.

        Raises
        ------
        DataError
            If any row cannot be used; nothing is stored then.
        """
        lines = history.read_history(rows, self.problem, **marks)
        event = {"kind": "history", "rows": lines}

        def decide() -> tuple[list[Record], int]:
            known = not lines or lines in self._book.deliveries
            return ([], 0) if known else ([event], len(lines))

        return self._commit(decide)
