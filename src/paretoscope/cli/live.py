"""The line that shows how a run goes: redrawn on a terminal, written now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import click

from paretoscope.cli import show
from paretoscope.runner.contract import Progress
from paretoscope.study import Study
from paretoscope.study.speech import SHORT

# Seconds between two lines where nothing can be redrawn, and redrawings in a second where it can.
_EVERY, _FRAMES = 30.0, 4
# Part of the time that may go into guesses that nobody has asked the study for.
_GUESSING = 0.02


class Live:
    """A callback of `Study.run` that shows every progress; used as a context.

    Parameters
    ----------
    width : int
        Measurements at the same time.
    limit : float, optional
        Seconds after which the run ends.
    """

    def __init__(self, study: Study, width: int, limit: float | None, *, quiet: bool) -> None:
        self.study, self.width, self.limit, self.quiet = study, width, limit, quiet
        self.last: Progress | None = None
        self.written, self.round = 0.0, 0
        self.guess: list[str] = []
        self.guessed, self.cost = 0.0, 0.0
        self.begun = time.perf_counter()
        self.screen: Any = None  # rich's, which is imported only where there is a terminal

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415  (slow to import)
            from rich.live import Live as Screen  # noqa: PLC0415

            console = Console(file=sys.stderr, highlight=False)
            get = self._drawn
            self.screen = Screen(
                console=console, transient=True, refresh_per_second=_FRAMES, get_renderable=get
            )
            self.screen.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.screen is not None:
            with suppress(KeyboardInterrupt):
                self.screen.stop()

    def __call__(self, progress: Progress) -> None:
        """Take a progress in; a line of text for those who read a log."""
        self.last = progress
        standing = self.study.standing()
        if standing.front:
            self.guess = []
        elif standing.done and self.cost <= _GUESSING * (time.perf_counter() - self.guessed):
            begun = time.perf_counter()
            self.guess = self.study.best_guess()
            self.guessed = time.perf_counter()
            self.cost = self.guessed - begun
        if self.screen is not None or self.quiet:
            return
        now = time.perf_counter()
        if standing.round > self.round or now - self.written >= _EVERY:
            self.round, self.written = standing.round, now
            click.echo("; ".join(filter(None, self._parts())) + ".", err=True)

    # ------------------------------------------------------------ what it says

    def _parts(self) -> list[str]:
        """Round, measurements, candidates, front, time."""
        progress, standing = self.last, self.study.standing()
        if progress is None:
            return ["starting"]
        if progress.warming:
            return [f"warming up, {show.count(progress.warming, 'run')} to go"]
        if progress.waiting:
            held = self.study.held()
            return [f"waiting for {show.count(len(held), 'measurement')} of {min(held.values())}"]
        words = (f"{n} {SHORT[word]}" for word, n in standing.counts.items() if n)
        return [
            f"round {standing.round}",
            f"{standing.done:,}/{self._total():,} measured",
            ", ".join(words),
            self._left(),
            self._front(),
        ]

    def _total(self) -> int:
        """Measurements that are told and due, or the budget."""
        standing, budget = self.study.standing(), self.study.wishes.budget
        return max(budget or 0, standing.done + standing.due)

    def _front(self) -> str:
        """What is certainly in, or else what looks best."""
        standing = self.study.standing()
        if standing.front:
            return f"front so far {show.listed(standing.front)}"
        return f"best guess {show.listed(self.guess)}" if self.guess else ""

    def _left(self) -> str:
        """The time that is left: of the budget or the limit, else of this round."""
        progress, standing = self.last, self.study.standing()
        if progress is None or not progress.measured or standing.stopped:
            return ""
        each = (time.perf_counter() - self.begun) / progress.measured
        bounded = self.study.wishes.budget is not None
        rest = each * ((self._total() if bounded else standing.done + standing.due) - standing.done)
        if self.limit is not None and (self.limit - progress.seconds < rest or not bounded):
            return f"{duration(max(0.0, self.limit - progress.seconds))} left"
        return f"{duration(rest)} left" + ("" if bounded else " of the round")

    def _drawn(self) -> Any:  # noqa: ANN401  (what rich draws)
        """Two lines of the terminal."""
        from rich.text import Text  # noqa: PLC0415

        parts = [show.printable(part) for part in self._parts()]
        styles = ["bold", "bold cyan", "", "dim", "green"]
        styled = list(zip(parts, styles, strict=False))
        lines = Text(overflow="ellipsis", no_wrap=True)
        for part, style in styled[:4]:
            lines.append(f"{part}   " if part else "", style)
        if len(styled) > 4 and styled[4][0]:
            lines.append("\n" + styled[4][0], styled[4][1])
        return lines


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(7.4), duration(200), duration(9000)
    ('7 s', '3 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
