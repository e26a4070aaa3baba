"""What every ledger promises: numbered records are appended, all or none, and never change."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from threading import RLock
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable
from weakref import WeakSet

from paretoscope.errors import Conflict, LedgerError, UsageError

SCHEMA = 1  # of the records and of their store; raised whenever an older reader would be misled

Event: TypeAlias = tuple[int, dict[str, Any]]


@runtime_checkable
class Ledger(Protocol):
    """An append-only list of JSON-able dicts, numbered 1, 2, 3, ... without holes."""

    def read(self, after: int = 0) -> list[Event]:
        """Events whose number is larger than ``after``, in order."""

    def append(self, records: Sequence[dict[str, Any]], expect: int | None) -> int:
        """Store all records or none, durably; the number of the last event of the ledger.

        ``expect`` is the number of the last event the caller has seen (0: none yet); None appends
        wherever the end is.

        Raises
        ------
        Conflict
            The last event is not number ``expect``: nothing was stored.
        UsageError
            A record is not a dict of JSON values (finite numbers, text, lists, dicts, None).
        LedgerError
            The store cannot be written.
        """

    def close(self) -> None:
        """Let go of the store; a closed ledger can no longer be used."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def encode(record: dict[str, Any]) -> str:
    """One canonical line of JSON: equal records give equal text, and floats return bit for bit."""
    if not isinstance(record, dict):
        raise UsageError(f"a record must be a dict, not {type(record).__name__}: {record!r}")
    try:
        body = json.dumps(
            record, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False
        )
        body.encode("utf-8")  # half a surrogate pair is text to Python and to no store
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a record must hold JSON values only ({error}): {record!r}") from error
    return body


def decode(rows: Sequence[tuple[int, str]], after: int) -> list[Event]:
    """Events of stored rows, which must be numbered ``after + 1``, ``after + 2``, ..."""
    if rows and (rows[0][0] != after + 1 or rows[-1][0] != after + len(rows)):
        raise LedgerError(
            f"events are missing between number {after + 1} and {rows[-1][0]}: the store was "
            "changed by something else; restore it from a copy"
        )
    try:  # one long text is parsed in half the time of many short ones
        alone = len(rows) == 1  # a definition of a million candidates is not copied once more
        records = (
            [json.loads(rows[0][1])]
            if alone
            else json.loads("[" + ",".join(body for _, body in rows) + "]")
        )
        return [(row[0], record) for row, record in zip(rows, records, strict=True)]
    except ValueError as error:
        raise LedgerError(f"an event after number {after} is damaged ({error})") from error


def check_after(after: int) -> None:
    """Numbers are counted from 1, and 0 stands for the beginning."""
    if after < 0:
        raise UsageError(f"after = {after} is not the number of an event: give 0 or more")


def check_expected(last: int, expect: int | None) -> None:
    """A Conflict unless the caller has seen every event up to the last."""
    if expect is not None and expect != last:
        raise Conflict(
            f"the last event is number {last}, not {expect}: others have appended since; "
            f"nothing was stored, read the events after {expect} and try again"
        )


def check_schema(found: int, where: str) -> None:
    """A LedgerError when the store was written by a later version of this package."""
    if found > SCHEMA:
        raise LedgerError(
            f"{where} has schema {found}, and this version reads schemas up to {SCHEMA}: "
            f"install a paretoscope that reads schema {found}"
        )


class Connected:
    """What the stores behind a connection share: one user at a time, and safe forks.

    A connection must not cross a fork: database locks belong to a process, and sockets would be
    shared. So every connection is let go just before a fork, and both sides connect again when they
    next need it.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._lock = RLock()
        self._closed = False
        _ALIVE.add(self)

    def _disconnect(self) -> None:
        """Let go of the connection if there is one."""
        raise NotImplementedError

    def _check_open(self) -> None:
        """A LedgerError once the ledger is closed."""
        if self._closed:
            raise LedgerError(f"{self._where} is closed: open it again")

    def close(self) -> None:
        """Let go of the store; a closed ledger can no longer be used."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._where!r})"


_ALIVE: WeakSet[Connected] = WeakSet()
_HELD: list[Connected] = []  # between the two hooks of one fork


def _before_fork() -> None:
    """Wait for running transactions, then disconnect every ledger."""
    for ledger in sorted(_ALIVE, key=id):  # one order, or two forking threads wait for each other
        ledger._lock.acquire()  # noqa: SLF001  (released by _after_fork)
        _HELD.append(ledger)
        ledger._disconnect()  # noqa: SLF001  (the hook is a part of the class)


def _after_fork() -> None:
    """Let parent and child go on, each with a connection of its own."""
    while _HELD:
        _HELD.pop()._lock.release()  # noqa: SLF001


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
