"""A ledger that lasts as long as the process: for simulations, tests and trying things out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paretoscope.ledger.base import (
    Connected,
    Event,
    check_after,
    check_expected,
    decode,
    encode,
)


class MemoryLedger(Connected):
    """Events kept as the same text that the stores write, so that nothing differs between them.

    Examples
    --------
    >>> ledger = MemoryLedger()
    >>> ledger.append([{"y": 0.1}, {"y": 0.2}], expect=0)
    2
    >>> ledger.read(after=1)
    [(2, {'y': 0.2})]
    """

    def __init__(self) -> None:
        super().__init__("a ledger in memory")
        self._bodies: list[str] = []

    def read(self, after: int = 0) -> list[Event]:
        """Events whose number is larger than ``after``, in order."""
        check_after(after)
        with self._lock:
            self._check_open()
            rows = list(enumerate(self._bodies[after:], after + 1))
        return decode(rows, after)

    def append(self, records: Sequence[dict[str, Any]], expect: int | None) -> int:
        """Store all records or none; the number of the last event."""
        bodies = [encode(record) for record in records]
        with self._lock:
            self._check_open()
            check_expected(len(self._bodies), expect)
            self._bodies += bodies
            return len(self._bodies)

    def _disconnect(self) -> None:
        """Nothing to let go of: a fork gets its own copy of the events."""
