"""Errors by blame: whose fault it is, with the offending value and the remedy.

::

    ParetoscopeError
    ├── UsageError       your call: an argument or a combination of arguments makes no sense
    ├── DataError        your data: a value, row or column cannot be used; says which
    ├── LedgerError      the store: it cannot be read or written, or holds something else
    │   └── Conflict     somebody else has appended in the meantime: read on and try again
    ├── WorkersLost      the machines: measurements were lost with their workers, more often than allowed
    └── NumericalError   ours: a computation failed its own check

``UsageError`` and ``DataError`` are also ``ValueError``, so that callers who know only the standard library catch them.
"""

from __future__ import annotations


class ParetoscopeError(Exception):
    """Root of every exception this package raises on purpose."""


class UsageError(ParetoscopeError, ValueError):
    """A call that makes no sense: the message names the value and the remedy."""


class DataError(ParetoscopeError, ValueError):
    """Data that cannot be used: the message names the file, row or column."""


class LedgerError(ParetoscopeError):
    """A store that cannot be read or written."""


class Conflict(LedgerError):  # noqa: N818  (nobody erred: somebody was faster)
    """Others have appended since the caller last read: nothing was stored, read on and try again."""


class WorkersLost(ParetoscopeError):  # noqa: N818  (nobody's error, but a loss)
    """Workers died with their measurements more often than allowed; the study can go on later."""


class NumericalError(ParetoscopeError, ArithmeticError):
    """A computation that failed its own check: please report it with its input."""
