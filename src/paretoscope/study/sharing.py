"""What keeps a study shared by threads in order, and a study that does not open from leaving its store open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from paretoscope.ledger import Ledger


class Locked(Protocol):
    """Something that threads take turns at."""

    @property
    def _lock(self) -> AbstractContextManager[object]:
        """Held by the thread whose turn it is."""


S = TypeVar("S", bound=Locked)
T = TypeVar("T")
P = ParamSpec("P")


def in_turn(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method for one thread at a time: whoever looks moves the live state."""

    @wraps(method)
    def locked(owner: S, /, *args: P.args, **more: P.kwargs) -> T:
        with owner._lock:  # noqa: SLF001  (a part of its methods, written once)
            return method(owner, *args, **more)

    return locked


def or_close(ledger: Ledger, use: Callable[[Ledger], T]) -> T:
    """What is made of a ledger, which is closed again if nothing could be made of it."""
    try:
        return use(ledger)
    except BaseException:
        ledger.close()
        raise
