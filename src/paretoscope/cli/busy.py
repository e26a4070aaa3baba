"""A line on the terminal for commands that take longer than a second: what they do, and since when."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

from paretoscope.cli import show
from paretoscope.stages import listening

# Seconds before the line appears, and between two of its changes.
PATIENCE, _EVERY = 1.0, 0.25
_CLEAR = "\r\x1b[K"


@contextmanager
def busy(stream: TextIO | None = None, patience: float = PATIENCE) -> Iterator[None]:
    """Show what the work inside does, once it has taken a while; only where the line can be rewritten."""
    screen = stream or sys.stderr
    if not screen.isatty():
        yield
        return
    line = _Line(screen, patience)
    line.thread.start()
    try:
        with listening(line.hear):
            yield
    finally:
        line.over.set()
        line.thread.join()


class _Line:
    """The line, and the thread that rewrites it."""

    def __init__(self, stream: TextIO, patience: float) -> None:
        self.stream, self.patience = stream, patience
        self.said, self.begun = "working", time.perf_counter()
        self.over = Event()
        self.thread = Thread(target=self._rewrite, daemon=True)

    def hear(self, said: str) -> None:
        """Take the stage in."""
        self.said, self.begun = said, time.perf_counter()

    def _rewrite(self) -> None:
        """Wait, then write until the work is over; nothing stays behind."""
        shown = False
        while not self.over.wait(_EVERY if shown else self.patience):
            shown = True
            seconds = time.perf_counter() - self.begun
            self.stream.write(f"{_CLEAR}{show.printable(self.said)} ... {seconds:.0f} s")
            self.stream.flush()
        if shown:
            self.stream.write(_CLEAR)
            self.stream.flush()
