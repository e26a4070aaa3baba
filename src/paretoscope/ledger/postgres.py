"""A ledger in PostgreSQL: for teams, whose machines share no disk.

Writers of one study queue for its row in `paretoscope_studies`. Every append carries a random mark;
when the connection is lost on the way, the same append runs again on a new one: it queues behind what
is left of the first attempt, looks for the mark, and stores nothing when it is there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg import sql

from paretoscope.errors import LedgerError, UsageError
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

PATIENCE = 30.0  # seconds to wait for other writers, and for a server that restarts
LOCK_KEY = int.from_bytes(b"paretosc", "big")  # of the advisory lock around the creation of tables

_Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

_TABLES = """
CREATE TABLE IF NOT EXISTS paretoscope_studies (
    study text PRIMARY KEY,
    schema integer NOT NULL
);
CREATE TABLE IF NOT EXISTS paretoscope_events (
    study text NOT NULL REFERENCES paretoscope_studies,
    number bigint NOT NULL,
    batch uuid NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (study, number)
)
"""
_INSERT = """
INSERT INTO paretoscope_events (study, number, batch, body)
SELECT %s, %s + place, %s, body FROM unnest(%s::text[]) WITH ORDINALITY AS new (body, place)
"""


class PostgresLedger(Connected):
    """Events of one study in the table `paretoscope_events`; may be used from several threads.

    Parameters
    ----------
    address
        ``postgresql://user@host/database?study=NAME``, with any further parameter of libpq.
    create
        Whether the tables and the study are created when they are missing, or refused.

    Raises
    ------
    UsageError
        The address names no study.
    LedgerError
        The server cannot be reached, the study is missing or of a newer schema.
    """

    def __init__(self, address: str, *, create: bool) -> None:
        self._address, self._study = _split(address)
        super().__init__(f"study {self._study!r} at {_without_password(self._address)}")
        self._connection: _Connection | None = None
        if create:
            self._run(lambda connection, _: self._create(connection))
        self._run(lambda connection, _: self._check_study(connection))

    def read(self, after: int = 0) -> list[Event]:
        """Events whose number is larger than ``after``, in order."""
        check_after(after)
        select = (
            "SELECT number, body FROM paretoscope_events "
            "WHERE study = %s AND number > %s ORDER BY number"
        )
        rows: list[tuple[int, str]] = self._run(
            lambda connection, _: connection.execute(select, (self._study, after)).fetchall()
        )
        return decode(rows, after)

    def append(self, records: Sequence[dict[str, Any]], expect: int | None) -> int:
        """Store all records or none, durably; the number of the last event."""
        bodies = [encode(record) for record in records]
        mark = uuid.uuid4()

        def attempt(connection: _Connection, again: bool) -> int:
            with connection.transaction():
                self._queue(connection)
                stored = self._stored(connection, mark) if again else None
                if stored is not None:
                    return stored
                last = self._last(connection)
                check_expected(last, expect)
                connection.execute(_INSERT, (self._study, last, mark, bodies))
            return last + len(bodies)

        return self._run(attempt)

    def _queue(self, connection: _Connection) -> None:
        """Wait until no other writer of this study is left; the end of the transaction lets go."""
        select = "SELECT schema FROM paretoscope_studies WHERE study = %s FOR UPDATE"
        self._check_row(connection.execute(select, (self._study,)).fetchone())

    def _last(self, connection: _Connection) -> int:
        """Number of the last event; a query of its own, to see what was stored while queueing."""
        select = "SELECT coalesce(max(number), 0) FROM paretoscope_events WHERE study = %s"
        return int(connection.execute(select, (self._study,)).fetchall()[0][0])

    def _stored(self, connection: _Connection, mark: uuid.UUID) -> int | None:
        """Number of the last event of an append that was stored after all, or None."""
        select = "SELECT max(number) FROM paretoscope_events WHERE study = %s AND batch = %s"
        found: int | None = connection.execute(select, (self._study, mark)).fetchall()[0][0]
        return found

    def _create(self, connection: _Connection) -> None:
        """Tables and the row of the study, where missing; one process at a time."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK_KEY,))
            # asked first: CREATE TABLE IF NOT EXISTS needs the right to create even when it exists
            if not _has_tables(connection):
                connection.execute(_TABLES)
            connection.execute(
                "INSERT INTO paretoscope_studies VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (self._study, SCHEMA),
            )

    def _check_study(self, connection: _Connection) -> None:
        """Refuse a study that is missing or of a newer schema."""
        if not _has_tables(connection):
            self._check_row(None)
        select = "SELECT schema FROM paretoscope_studies WHERE study = %s"
        self._check_row(connection.execute(select, (self._study,)).fetchone())

    def _check_row(self, row: tuple[Any, ...] | None) -> None:
        """Refuse the row of a study that is missing or of a newer schema."""
        if row is None:
            raise LedgerError(f"{self._where} does not exist: create the study first")
        check_schema(row[0], self._where)

    def _run(self, work: Callable[[_Connection, bool], T]) -> T:
        """Do the work on the connection, and again on a new one when the connection is lost."""
        with self._lock:
            self._check_open()
            try:
                try:
                    return work(self._connected(), False)
                except psycopg.OperationalError:
                    if self._connection is None or not self._connection.closed:
                        raise  # never connected, or refused by a server that is still there
                self._reconnect()
                return work(self._connected(), True)
            except psycopg.Error as error:
                raise LedgerError(
                    f"{self._where}: {str(error).strip()}: make sure the server can be reached and "
                    "written to, then read what is stored before you try again"
                ) from error

    def _connected(self) -> _Connection:
        """The connection, made when there is none."""
        if self._connection is None:
            self._connection = _connect(self._address)
        return self._connection

    def _reconnect(self) -> None:
        """A new connection, waiting for a server that is starting again."""
        self._disconnect()
        deadline = time.monotonic() + PATIENCE
        while self._connection is None:
            try:
                self._connection = _connect(self._address)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _disconnect(self) -> None:
        """Close the connection if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(address: str) -> _Connection:
    """A connection whose commits are flushed before they are acknowledged."""
    connection = psycopg.connect(
        address,
        autocommit=True,
        prepare_threshold=None,  # poolers hand a prepared statement to the wrong server
        application_name="paretoscope",
    )
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(
        sql.SQL("SET lock_timeout = {}").format(sql.Literal(f"{PATIENCE * 1000:.0f}ms"))
    )
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )
    return connection


def _has_tables(connection: _Connection) -> bool:
    """Whether both tables exist where this connection looks for them."""
    select = "SELECT to_regclass('paretoscope_studies') IS NOT NULL"
    return bool(connection.execute(select).fetchall()[0][0])


def _split(address: str) -> tuple[str, str]:
    """Address for libpq, which refuses parameters it does not know, and the name of the study."""
    parts = urlsplit(address)
    parameters = dict(parse_qsl(parts.query))
    study = parameters.pop("study", "")
    if not study:
        raise UsageError(f"{_without_password(address)} names no study: add ?study=NAME at its end")
    query = urlencode(parameters, quote_via=quote)
    # urlunsplit would drop the slashes of an address without a host, which is a local socket
    return f"{parts.scheme}://{parts.netloc}{parts.path}{'?' if query else ''}{query}", study


def _without_password(address: str) -> str:
    """The address as it may be shown."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.split(':')[0]}{at}{host}{parts.path}"
