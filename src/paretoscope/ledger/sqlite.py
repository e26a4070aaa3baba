"""A ledger in one SQLite file: for one machine, and as many processes on it as wanted.

The write-ahead log is flushed at every commit, so that what was acknowledged survives a kill and a
power cut. Then `append` copies the log into the file and empties it, so that a file which is copied or
moved while it is open holds everything: SQLite leaves the log of a moved file where the file was.
SQLite's own checkpoints also leave the copied pages behind in the log, and a log that is later cut short
would then shadow newer pages by older.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from paretoscope.errors import LedgerError
from paretoscope.ledger.base import (
    SCHEMA,
    Connected,
    Event,
    check_after,
    check_expected,
    check_schema,
    decode,
    encode,
)

APPLICATION_ID = int.from_bytes(b"Pare", "big")  # bytes 68 to 71 of every study file
PATIENCE = 30.0  # seconds to wait for other writers
READERS = 1.0  # seconds to wait for readers before the log is left for the next append to empty

_REMEDIES = {
    sqlite3.SQLITE_FULL: "nothing of this was stored; free some space and try again",
    sqlite3.SQLITE_IOERR: "check the disk, its cable and its limits, then open it again",
    sqlite3.SQLITE_BUSY: f"another program has held it for {PATIENCE:g} s; close that one",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable, or copy it elsewhere",
    sqlite3.SQLITE_CANTOPEN: "check that the folder exists and is writable",
    sqlite3.SQLITE_CORRUPT: "restore it from a copy",
    sqlite3.SQLITE_NOTADB: "it is no study; choose another name",
}


class SqliteLedger(Connected):
    """Events in the table `events` of one SQLite file; may be used from several threads.

    Parameters
    ----------
    path
        The file; its folder must be writable, since SQLite keeps its log beside the file.
    create
        Whether a missing or empty file becomes a fresh ledger, or is refused.

    Raises
    ------
    LedgerError
        The file is missing, no study, of a newer schema (it is then left as it was), or cannot be
        written.
    """

    def __init__(self, path: str | Path, *, create: bool) -> None:
        super().__init__(str(path))
        self._path = Path(path).absolute()  # a later change of the working directory is harmless
        self._connection: sqlite3.Connection | None = None
        with self._lock, self._blamed():
            self._check_file(create)
            self._connection = self._connect(create)
            self._place = _place(self._path)

    def read(self, after: int = 0) -> list[Event]:
        """Events whose number is larger than ``after``, in order."""
        check_after(after)
        select = "SELECT number, body FROM events WHERE number > ? ORDER BY number"
        with self._session() as connection:
            rows = connection.execute(select, (after,)).fetchall()
        return decode(rows, after)

    def append(self, records: Sequence[dict[str, Any]], expect: int | None) -> int:
        """Store all records or none, durably; the number of the last event."""
        bodies = [encode(record) for record in records]
        with self._session() as connection:
            with _transaction(connection):
                self._check_place()  # once more: we may have waited for others
                (last,) = connection.execute(
                    "SELECT coalesce(max(number), 0) FROM events"
                ).fetchone()
                check_expected(last, expect)
                connection.executemany(
                    "INSERT INTO events (number, body) VALUES (?, ?)", enumerate(bodies, last + 1)
                )
            self._empty_log(connection)
        return int(last) + len(bodies)

    def _disconnect(self) -> None:
        """Close the connection if there is one; the last one to leave empties the log."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time, with its errors explained."""
        with self._lock, self._blamed():
            self._check_open()
            self._check_place()
            if self._connection is None:
                self._check_file(create=False)
                self._connection = self._connect(create=False)
            yield self._connection

    def _check_place(self) -> None:
        """Refuse to go on when the name stands for another file than the one that was opened.

        A file that was moved or deleted while it is open can still be written to, and what is written
        could not be found again.
        """
        if _place(self._path) != self._place:
            self._disconnect()
            raise LedgerError(
                f"{self._where} was moved, deleted or replaced while it was open: nothing of this was"
                " stored; bring it back, or open it where it is now"
            )

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Errors of SQLite and of the system become LedgerErrors that name the file and the remedy."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary result code
            remedy = _REMEDIES.get(code, "see the message of SQLite")
            raise LedgerError(f"{self._where}: {error}: {remedy}") from error
        except OSError as error:
            raise LedgerError(f"{self._where}: {error}: check the folder's permissions") from error

    def _check_file(self, create: bool) -> None:
        """Refuse what is not a study, without a lock, a recovery or any other change to it."""
        if not self._path.exists():
            if not create:
                raise LedgerError(f"{self._where} does not exist: create the study first")
            return
        if not self._path.is_file():
            raise LedgerError(f"{self._where} is not a file: choose another name")
        if self._path.stat().st_size == 0:
            return  # fresh, or being created at this moment: decided under the lock
        with closing(sqlite3.connect(self._uri("mode=ro&immutable=1"), uri=True)) as connection:
            # a log being copied back may have written page 1 alone, which is no damage
            connection.execute("PRAGMA writable_schema = ON")
            self._check_header(connection)

    def _check_header(self, connection: sqlite3.Connection) -> None:
        """Refuse another program's database and a newer schema."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise LedgerError(
                f"{self._where} is the database of another program, not a study: "
                "choose another name; the file was left as it is"
            )
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        check_schema(schema, self._where)

    def _uri(self, options: str) -> str:
        """The file as an address, so that no letter of its name has a meaning for SQLite."""
        return f"{self._path.as_uri()}?{options}"

    def _connect(self, create: bool) -> sqlite3.Connection:
        """A new connection to a store that is complete."""
        connection = sqlite3.connect(
            self._uri("mode=rwc" if create else "mode=rw"),
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,  # our own lock lets one thread in at a time
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone stops at the disk
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._prepare(connection, create)
            self._use_log(connection)
        except BaseException:
            connection.close()
            raise
        # whoever forgets to close a study is not warned (as from Python 3.13 on); never at exit, where
        # the copy of a forked process would close the log of its parent
        finalize(self, connection.close).atexit = False
        return connection

    def _prepare(self, connection: sqlite3.Connection, create: bool) -> None:
        """Create the table in an empty store, or check whose store it is; one process at a time."""
        with _transaction(connection):
            if self._path.stat().st_size > 0:
                self._check_header(connection)
                return
            if not create:
                raise LedgerError(f"{self._where} is empty: create the study first")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute(
                "CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT NOT NULL)"
            )

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log; SQLite does not itself wait for others doing the same."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if (
                    error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                    or time.monotonic() > deadline
                ):
                    raise
                time.sleep(0.005)
        if mode != "wal":
            raise LedgerError(
                f"{self._where}: the folder cannot hold a write-ahead log (a network drive?): "
                "choose a local folder, or a postgresql:// address"
            )

    def _empty_log(self, connection: sqlite3.Connection) -> None:
        """Copy the log into the file and empty it; the events are safe either way."""
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {READERS * 1000:.0f}").fetchall()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}").fetchall()


def _place(path: Path) -> tuple[int, int] | None:
    """Which file a name stands for at present; None if for none."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the right to write taken at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has already rolled it back
            connection.execute("ROLLBACK")
        raise
