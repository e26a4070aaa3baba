"""A ledger in a PostgreSQL database: for teams, and for workers on many machines.

An append is one transaction under a lock of its study; every batch carries a random token. When the
connection is lost while the answer to COMMIT is due, nobody knows whether the batch was stored. Then
the lock is taken anew, which waits until the server has finished with the old transaction, and the
token is looked for: a batch is never lost after it was acknowledged, and never stored twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, LiteralString, TypeAlias, TypeVar
from urllib.parse import unquote
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

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

PATIENCE = 30.0  # seconds to wait for other writers, and for a server that is being restarted
# An unplugged cable is noticed within PATIENCE; the address may say otherwise.
DEFAULTS = {"connect_timeout": 10, "keepalives_idle": 10, "tcp_user_timeout": int(PATIENCE * 1000)}

# Numbers are exact and names are long-lived: whoever reads the tables by hand understands them.
_TABLES = """
CREATE TABLE paretoscope_studies (study text PRIMARY KEY, schema integer NOT NULL);
CREATE TABLE paretoscope_events (
    study text REFERENCES paretoscope_studies,
    number bigint,
    batch text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (study, number)
)"""
_TABLES_FOUND = "SELECT to_regclass('paretoscope_events') IS NOT NULL"
# Another name space than that of a study's lock: creating tables concerns the whole database.
_LOCK_TABLES = "SELECT pg_advisory_xact_lock(hashtextextended('paretoscope_events', 0))"
_LOCK_STUDY = "SELECT pg_advisory_xact_lock(hashtextextended('paretoscope_events.' || %s, 0))"
# Within the transaction, since a pool between us and the server may hand out another session.
_CAREFUL = (
    "SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', %s, true)"
)
_LAST = "SELECT coalesce(max(number), 0) FROM paretoscope_events WHERE study = %s"
_READ = (
    "SELECT number, body FROM paretoscope_events WHERE study = %s AND number > %s ORDER BY number"
)
_INSERT = """
INSERT INTO paretoscope_events (study, number, batch, body)
SELECT %s, %s + place, %s, body
FROM unnest(%s::text[]) WITH ORDINALITY AS given (body, place)"""
_FOUND = "SELECT true FROM paretoscope_events WHERE study = %s AND number = %s AND batch = %s"

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


class PostgresLedger(Connected):
    """Events of one study in the table `paretoscope_events` of a database.

    Parameters
    ----------
    address
        ``postgresql://user@host/database?study=NAME``, with any other parameter of libpq.
    create
        Whether a study that does not exist is created (tables included), or refused.

    Raises
    ------
    UsageError
        The address names no study, or cannot be understood.
    LedgerError
        The server cannot be reached, or the study is missing or of a newer schema.
    """

    def __init__(self, address: str, *, create: bool) -> None:
        shown, self._study, self._options = parse_address(address)
        super().__init__(shown)
        self._connection: Connection | None = None
        with self._lock, self._blamed():
            self._connection = self._connect(create)

    def read(self, after: int = 0) -> list[Event]:
        """Events whose number is larger than ``after``, in order."""
        check_after(after)
        with self._session():
            rows = self._insist(
                lambda connection: connection.execute(_READ, (self._study, after)).fetchall()
            )
        return decode(rows, after)

    def append(self, records: Sequence[dict[str, Any]], expect: int | None) -> int:
        """Store all records or none, durably; the number of the last event."""
        bodies = [encode(record) for record in records]
        token = uuid4().hex
        with self._session():
            for _ in range(2):
                first = self._insist(
                    lambda connection: self._insert(connection, bodies, expect, token)
                )
                if self._commit(first, token):
                    return first - 1 + len(bodies)
        raise LedgerError(
            f"{self._where}: the connection was lost twice; nothing of this was stored, try again"
        )

    def _insert(
        self, connection: Connection, bodies: list[str], expect: int | None, token: str
    ) -> int:
        """Everything but the COMMIT; the number that the first record has got."""
        self._begin(connection)
        (last,) = _one(connection, _LAST, (self._study,))
        check_expected(last, expect)
        connection.execute(_INSERT, (self._study, last, token, bodies))
        return int(last) + 1

    def _begin(self, connection: Connection) -> None:
        """A transaction that holds the study's lock and sees everything stored before."""
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        connection.execute(_CAREFUL, (f"{PATIENCE:g}s",))
        connection.execute(_LOCK_STUDY, (self._study,))

    def _commit(self, first: int, token: str) -> bool:
        """Whether the batch is stored; found out by looking when the answer did not arrive."""
        assert self._connection is not None
        try:
            self._connection.execute("COMMIT")
        except psycopg.OperationalError:
            if not self._connection.closed:
                raise  # the server has answered: it did not commit
        else:
            return True
        try:
            return self._insist(lambda connection: self._stored(connection, first, token))
        except (psycopg.Error, LedgerError) as error:
            raise LedgerError(
                f"{self._where}: the connection was lost while {token} was being stored: it is not "
                f"known whether event {first} and those after it are kept; read before trying again"
            ) from error

    def _stored(self, connection: Connection, first: int, token: str) -> bool:
        """Whether a batch is there, asked only after its transaction has ended."""
        self._begin(connection)
        found = connection.execute(_FOUND, (self._study, first, token)).fetchone()
        connection.execute("ROLLBACK")
        return found is not None

    def _insist(self, work: Callable[[Connection], T]) -> T:
        """Work before any COMMIT, once more on a new connection where the old one was lost."""
        assert self._connection is not None
        if not self._connection.closed:
            try:
                return work(self._connection)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
        return work(self._reconnect())

    def _reconnect(self) -> Connection:
        """A new connection in place of a lost one, waiting for a server that is restarting."""
        deadline = time.monotonic() + PATIENCE
        self._disconnect()
        while True:
            try:
                self._connection = self._connect(create=False)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return self._connection

    def _connect(self, create: bool) -> Connection:
        """A new connection to a study that exists."""
        # Nothing is prepared: a pool between us and the server may not remember it.
        connection = psycopg.connect(
            **self._options, autocommit=True, prepare_threshold=None, client_encoding="utf8"
        )
        try:
            if create:
                self._create(connection)
            self._check_study(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: Connection) -> None:
        """Tables and study, unless they exist; one process at a time."""
        with connection.transaction():
            connection.execute(_LOCK_TABLES)
            if not _one(connection, _TABLES_FOUND)[0]:
                connection.execute(_TABLES)
            connection.execute(
                "INSERT INTO paretoscope_studies (study, schema) VALUES (%s, %s) "
                "ON CONFLICT DO NOTHING",
                (self._study, SCHEMA),
            )

    def _check_study(self, connection: Connection) -> None:
        """Refuse a missing study and a newer schema."""
        schema = None
        if _one(connection, _TABLES_FOUND)[0]:
            select = "SELECT schema FROM paretoscope_studies WHERE study = %s"
            schema = connection.execute(select, (self._study,)).fetchone()
        if schema is None:
            raise LedgerError(f"{self._where} does not exist: create the study first")
        check_schema(schema[0], self._where)

    def _disconnect(self) -> None:
        """Close the connection if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _session(self) -> Iterator[None]:
        """A connection that is ready for one thread at a time, and left without a transaction."""
        with self._lock, self._blamed():
            self._check_open()
            if self._connection is None:
                self._connection = self._connect(create=False)
            try:
                yield
            finally:
                self._leave_transaction()

    def _leave_transaction(self) -> None:
        """Undo what a Conflict or an error has left unfinished."""
        if self._connection is None or _idle(self._connection):
            return
        with suppress(psycopg.Error):
            self._connection.rollback()
        if not _idle(self._connection):
            self._disconnect()

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Errors of the server become LedgerErrors that name the study and the remedy."""
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise LedgerError(
                f"{self._where}: another writer has held the study for {PATIENCE:g} s; "
                "nothing of this was stored, end that one or try again"
            ) from error
        except psycopg.Error as error:
            raise LedgerError(
                f"{self._where}: {str(error).strip()}: check that the server runs, that it can be "
                "reached and that you may write to this database"
            ) from error


def parse_address(address: str) -> tuple[str, str, dict[str, Any]]:
    """What to call a study (without passwords), its name, and what libpq needs to connect.

    Examples
    --------
    >>> parse_address("postgresql://ann:secret@lab/data?study=week%2012")[:2]
    ('postgresql://lab/data?study=week%2012', 'week 12')
    """
    url, _, query = address.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    named = [pair for pair in pairs if pair.startswith("study=")]
    shown = f"postgresql://{url.partition('://')[2].rpartition('@')[2]}"
    if len(named) != 1 or named[0] == "study=":
        raise UsageError(f"{shown} names no study: end the address with one ?study=NAME")
    rest = "&".join(pair for pair in pairs if pair not in named)
    shown = f"{shown}?{named[0]}"
    try:
        options = conninfo_to_dict(f"{url}?{rest}" if rest else url)
    except psycopg.Error:  # its text may hold the password
        raise UsageError(
            f"{shown} is no address of PostgreSQL, or has a parameter that libpq does not know: "
            "postgresql://user@host:port/database?study=NAME"
        ) from None
    return shown, unquote(named[0].removeprefix("study=")), DEFAULTS | options


def _one(
    connection: Connection, query: LiteralString, values: tuple[Any, ...] = ()
) -> tuple[Any, ...]:
    """The only row of an answer."""
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return row


def _idle(connection: Connection) -> bool:
    """Whether no transaction is open, nor the connection lost."""
    return connection.info.transaction_status == TransactionStatus.IDLE
