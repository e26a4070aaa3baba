"""What is being worked on, for whoever waits: named as it begins, heard by those who listen.

    with listening(print):
        study = Study.create("w.study", candidates="a-million.csv", ...)

Work says what it does with `stage`; nothing is paid where nobody listens. A listener must be quick, and
hears the work of its own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]
_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("stages", default=())


def stage(said: str) -> None:
    """Say what begins now.

    >>> with listening(print):
    ...     stage("judging round 2")
    judging round 2
    """
    for listener in _LISTENERS.get():
        listener(said)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear every stage of the work inside."""
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        _LISTENERS.reset(token)
