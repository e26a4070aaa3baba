"""Where a study is written down: append-only events in memory, in one file or in PostgreSQL."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from paretoscope.errors import LedgerError
from paretoscope.ledger.base import SCHEMA, Event, Ledger
from paretoscope.ledger.memory import MemoryLedger
from paretoscope.ledger.sqlite import SqliteLedger

__all__ = ["SCHEMA", "Event", "Ledger", "MemoryLedger", "SqliteLedger", "open_ledger"]


def open_ledger(where: str | Path | None, *, create: bool) -> Ledger:
    """The ledger at an address, whatever it is kept in.

    Parameters
    ----------
    where
        None: in memory. ``postgresql://user@host/database?study=NAME``: the study of that name in a
        PostgreSQL database. Anything else: a file.
    create
        Whether a store that does not exist is created, or refused.

    Raises
    ------
    LedgerError
        The store is missing, cannot be reached or written, or holds something else.

    Examples
    --------
    >>> with open_ledger(None, create=True) as ledger:
    ...     ledger.append([{"kind": "created"}], expect=0)
    1
    """
    if where is None:
        return MemoryLedger()
    if isinstance(where, str) and is_address(where):
        return _open_postgres(where, create)
    return SqliteLedger(where, create=create)


def is_address(where: str) -> bool:
    """Whether a store is one behind an address, and not a file."""
    return where.startswith(("postgresql://", "postgres://"))


def _open_postgres(address: str, create: bool) -> Ledger:
    """A ledger in PostgreSQL, whose driver is loaded only here."""
    try:
        import_module("psycopg")
    except ImportError as error:
        raise LedgerError(
            "a postgresql:// address needs psycopg: pip install 'paretoscope[postgres]'"
        ) from error
    ledger: Ledger = import_module("paretoscope.ledger.postgres").PostgresLedger(
        address, create=create
    )
    return ledger
