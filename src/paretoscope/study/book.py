"""The fold of the events: what was asked, what was told, what will never come.

Nothing here knows a policy. The book is rebuilt from the ledger event by event, by the same
`Book.apply` that takes a new event in; what the policy makes of it (`course`) is a function of the
book alone, so the order in which measurements arrive cannot matter.

Events
------
created    definition, at
asked      uids, lease (seconds or none), by, at
told       rows [uid, values in the order of the metrics], by, at
failed     uids, reason, by, at: the candidate's own fault; twice and it is infeasible
returned   uids, reason: lost on the way, or given back; will be asked for again
withdrawn  uids, reason: written off, will never come
corrected  rows, reason: replaces values told before
summed     rows [group, n, means, deviations], by, at: n measurements of one candidate at once
surplus    rows: measured again after a lease ran out; kept, never used
history    rows [candidate number, values]: earlier data, for estimates and pictures only
reframed   definition, turn, reason, at: other features, metrics or method from this turn on; what was told
           so far is history
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paretoscope.core.arrays import IntArray
from paretoscope.errors import LedgerError

Values = tuple[float | None, ...]
# Failures of its own after which a candidate is infeasible.
FAILURES = 2
KINDS = {
    "created",
    "asked",
    "told",
    "failed",
    "returned",
    "withdrawn",
    "corrected",
    "summed",
    "surplus",
    "history",
    "reframed",
}
_UID = re.compile(r"([rq])(\d+)c(\d+)n(\d+)(?:\.\d+)?")
_GROUP = re.compile(r"([rq]\d+c\d+n)(\d+)to(\d+)(?:\.\d+)?")
_TRY = re.compile(r"\.(\d+)$")


@dataclass(frozen=True, slots=True)
class Uid:
    """A request: which round, candidate and running number; 'q' marks check points of the fit."""

    check: bool
    turn: int
    candidate: int
    number: int

    def __str__(self) -> str:
        return f"{'q' if self.check else 'r'}{self.turn}c{self.candidate}n{self.number}"

    @staticmethod
    def parse(text: str) -> Uid | None:
        """The request of a text, whichever try of it is meant; None if it is none."""
        found = _UID.fullmatch(text)
        if found is None:
            return None
        return Uid(found[1] == "q", int(found[2]), int(found[3]), int(found[4]))

    @staticmethod
    def known(text: str) -> Uid:
        """The request of a text that is one."""
        uid = Uid.parse(text)
        assert uid is not None, "a request was not checked before it was written down"
        return uid


def with_try(text: str, tries: int) -> str:
    """A request as people see it: asked again after its failure, r0c1n2 is r0c1n2.2."""
    return text if tries == 1 else f"{text}.{tries}"


def without_try(text: str) -> tuple[str, int]:
    """The request that the ledger knows, and which try of it this is.

    >>> without_try("r0c1n2.2"), without_try("r0c1n2")
    (('r0c1n2', 2), ('r0c1n2', 1))
    """
    found = _TRY.search(text)
    return (text, 1) if found is None else (text[: found.start()], int(found[1]))


def group_text(first: Uid, last: Uid) -> str:
    """Requests of one candidate with consecutive numbers, as one row of a sheet."""
    return f"{first}to{last.number}"


def group_members(text: str) -> list[str]:
    """The requests of a group; none if the text is no group."""
    found = _GROUP.fullmatch(text)
    if found is None:
        return []
    return [f"{found[1]}{k}" for k in range(int(found[2]), int(found[3]) + 1)]


@dataclass(slots=True)
class Asked:
    """Who has a request, and until when."""

    by: str
    at: float
    lease: float | None

    def expired(self, now: float) -> bool:
        """Whether the lease ran out."""
        return self.lease is not None and now > self.at + self.lease


class Held(dict[str, Asked]):
    """Who has which request; a second try is found under the request that it tries again."""

    def __missing__(self, uid: str) -> Asked:
        name, tries = without_try(uid)
        if tries == 1:
            raise KeyError(uid)
        return self[name]


@dataclass
class Book:
    """Everything the ledger says, in the shape that questions are asked of it."""

    number: int = 0
    definition: dict[str, Any] = field(default_factory=dict)
    created: float = 0.0
    asked: Held = field(default_factory=Held)
    shared: set[str] = field(default_factory=set)  # asked anew while somebody may still answer
    values: dict[str, Values] = field(default_factory=dict)
    requests: dict[str, Uid] = field(default_factory=dict)  # those of `values`, in the same order
    writer: dict[str, str] = field(default_factory=dict)
    first: dict[int, str] = field(default_factory=dict)  # a request of each candidate told so far
    failures: dict[int, list[int]] = field(default_factory=dict)  # turns in which each one failed
    failed: dict[str, int] = field(default_factory=dict)  # how often a request itself failed
    reasons: dict[str, str] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    surplus: list[tuple[str, Values]] = field(default_factory=list)
    history: list[tuple[int, Values]] = field(default_factory=list)
    deliveries: list[list[Any]] = field(default_factory=list)  # of history, each as it came
    sums: dict[str, tuple[int, Values]] = field(default_factory=dict)  # n and deviations of a group
    corrections: int = 0
    touched: list[str] = field(default_factory=list)  # requests whose fate changed since last read
    base: int = 0  # first turn of the present frame
    frames: int = 0  # how often the study was reframed
    retired: dict[str, Values] = field(default_factory=dict)  # values of earlier frames
    left: set[str] = field(default_factory=set)  # requests of earlier frames that were out
    rewritten: bool = False  # an earlier value changed: what was derived must be derived again

    def apply(self, number: int, event: dict[str, Any]) -> None:
        """Take one event in."""
        if number != self.number + 1:
            raise LedgerError(f"event {number} came after event {self.number}: one was missed")
        kind = event.get("kind")
        if kind not in KINDS:
            raise LedgerError(f"event {number} is of the unknown kind {kind!r}")
        if (kind == "created") != (number == 1):
            raise LedgerError(f"event {number} is {kind!r}: a study begins with one 'created'")
        getattr(self, f"_{kind}")(event)
        self.number = number

    def barred(self, request: Uid) -> bool:
        """Whether its candidate had failed too often by the turn of a request.

        Failures of later turns do not reach back: a study opened again must see what it saw then.
        """
        turns = self.failures.get(request.candidate, ())
        return len(turns) >= FAILURES and sum(turn <= request.turn for turn in turns) >= FAILURES

    def resolved(self, uid: str, request: Uid) -> bool:
        """Whether a request needs nothing more: told, written off, or its candidate cannot run."""
        return uid in self.values or uid in self.withdrawn or self.barred(request)

    def out(self, uid: str, now: float) -> bool:
        """Whether somebody is working on a request."""
        asked = self.asked.get(uid)
        return asked is not None and not asked.expired(now)

    # ------------------------------------------------------------ one method per kind of event

    def _created(self, event: dict[str, Any]) -> None:
        self.definition, self.created = event["definition"], event["at"]

    def _asked(self, event: dict[str, Any]) -> None:
        for uid in event["uids"]:
            if uid in self.asked:  # its lease ran out: two may answer now
                self.shared.add(uid)
            self.asked[uid] = Asked(event["by"], event["at"], event["lease"])

    def _told(self, event: dict[str, Any]) -> None:
        for uid, values in event["rows"]:
            request = self.requests[uid] = Uid.known(uid)
            self.values[uid] = tuple(values)
            self.writer[uid] = event["by"]
            self.first.setdefault(request.candidate, uid)
            self.touched.append(uid)

    def _summed(self, event: dict[str, Any]) -> None:
        for group, n, means, deviations in event["rows"]:
            uids = group_members(group)[:n]
            self.rewritten = self.rewritten or uids[0] in self.values
            self._told({"rows": [[uid, means] for uid in uids], "by": event["by"]})
            self.sums[group] = (n, tuple(deviations))

    def _failed(self, event: dict[str, Any]) -> None:
        for uid in event["uids"]:
            request = Uid.known(uid)
            self.failures.setdefault(request.candidate, []).append(request.turn)
            self.failed[uid] = self.failed.get(uid, 0) + 1
            self.reasons[uid] = event["reason"]
            self.asked.pop(uid, None)
            self.touched.append(uid)

    def _returned(self, event: dict[str, Any]) -> None:
        for uid in event["uids"]:
            self.asked.pop(uid, None)

    def _withdrawn(self, event: dict[str, Any]) -> None:
        for uid in event["uids"]:
            self.withdrawn.add(uid)
            self.reasons[uid] = event["reason"]
            self.asked.pop(uid, None)
            self.touched.append(uid)

    def _corrected(self, event: dict[str, Any]) -> None:
        for uid, values in event["rows"]:
            self.values[uid] = tuple(values)
            self.corrections += 1
        self.rewritten = True

    def _surplus(self, event: dict[str, Any]) -> None:
        self.surplus += [(uid, tuple(values)) for uid, values in event["rows"]]

    def _history(self, event: dict[str, Any]) -> None:
        self.deliveries.append(event["rows"])
        self.history += [(k, tuple(values)) for k, values in event["rows"]]

    def _reframed(self, event: dict[str, Any]) -> None:
        """Another frame: what was told is history from here on; failures and surplus stay."""
        for uid, values in self.values.items():
            self.history.append((self.requests[uid].candidate, values))
        self.retired |= self.values
        self.left |= set(self.asked) - set(self.values)
        for kept in (
            self.values,
            self.requests,
            self.writer,
            self.first,
            self.sums,
            self.asked,
            self.touched,
        ):
            kept.clear()
        self.definition, self.base, self.rewritten = event["definition"], event["turn"], False
        self.frames += 1

    def superseded(self, uid: str) -> bool:
        """Whether a request is one from before the last reframe that was told, or could be."""
        return uid in self.retired or uid in self.left

    def carried(self, K: int) -> IntArray:
        """Measurements of each candidate in earlier frames."""
        told = [uid for uid in map(Uid.parse, self.retired) if uid is not None]
        return np.bincount([uid.candidate for uid in told], minlength=K).astype(np.int64)
