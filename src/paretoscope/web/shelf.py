"""The studies that are served: which there are, and what each shows now.

A study is opened when somebody looks at it. Others tell it, in other processes too, so whoever looks
first reads the ledger on from where this process left it: one short query, at most five a second for a
study, however many pages are open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from paretoscope.errors import LedgerError, UsageError
from paretoscope.report.view import View
from paretoscope.study import Study
from paretoscope.study.trace import Snapshot

T = TypeVar("T")
# Seconds for which the end of a ledger is taken to be where it was.
_FRESH = 0.2
# Studies of a folder that are kept open.
_OPEN = 32


@dataclass(frozen=True)
class Moment:
    """A study as of one moment: its version changes whenever anything shown of it does."""

    version: str
    view: View
    until: float  # when the next lease runs out
    made: dict[str, Any] = field(default_factory=dict)

    def once(self, what: str, make: Callable[[Moment], T]) -> T:
        """Something made of this moment, once; for the thread that holds the study's lock."""
        if what not in self.made:
            self.made[what] = make(self)
        found: T = self.made[what]
        return found

    @property
    def snapshot(self) -> Snapshot:
        """Everything that is shown."""
        return self.view.snapshot


class Shown:
    """One study of the shelf, for any number of threads."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where
        self.used = 0.0
        self._lock = RLock()
        self._study: Study | None = None
        self._moment: Moment | None = None
        self._events, self._turn, self._read = 0, 0, 0.0

    def use(self, act: Callable[[Study], T]) -> T:
        """Whatever is done with the open study; a store that fails is opened anew the next time."""
        with self._lock:
            self.used = time.monotonic()
            try:
                if self._study is None:
                    self._study = Study.open(self.where)
                return act(self._study)
            except LedgerError:
                self.close()
                raise

    def close(self) -> None:
        """Let go of the store; a version that was shown is never shown again."""
        with self._lock:
            study, self._study, self._moment = self._study, None, None
            self._events, self._turn = 0, self._turn + 1
            if study is not None:
                study.close()

    def version(self) -> str:
        """Which version is there now."""
        with self._lock:
            if self._moment is None or time.monotonic() >= self._read + _FRESH:
                self.use(self._look)
                self._read = time.monotonic()
            return f"{self._turn}.{self._events}"

    def glance(self) -> str | None:
        """The version, or nothing while somebody works with the study: who follows need not wait."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self.version()
        finally:
            self._lock.release()

    def _look(self, study: Study) -> None:
        """Count what others have written, and notice when a lease has run out."""
        self._events += len(study.ledger.read(after=self._events))
        if self._moment is not None and time.time() > self._moment.until:
            self._moment, self._turn = None, self._turn + 1

    def moment(self) -> Moment:
        """What there is to show now."""
        with self._lock:
            if self._moment is None or self._moment.version != self.version():
                self._moment = self.use(self._taken)
            return self._moment

    def _taken(self, study: Study) -> Moment:
        """A fresh snapshot."""
        snapshot = study.snapshot()
        ends = [held.at + held.lease for held in snapshot.out if held.lease is not None]
        self._events, self._read = snapshot.events, time.monotonic()
        return Moment(
            f"{self._turn}.{self._events}", View(self.name, snapshot), min(ends, default=1e300)
        )

    def made(self, what: str, make: Callable[[Moment], T]) -> T:
        """Something made of the present moment, once for everybody who asks."""
        with self._lock:
            return self.moment().once(what, make)


class Shelf:
    """The studies at some addresses: files, folders of ``*.study`` files, databases."""

    def __init__(self, places: Iterable[str]) -> None:
        self.folder: Path | None = None
        self._lock = RLock()
        self._named: dict[str, Shown] = {}
        self._found: dict[str, Shown] = {}
        for place in places:
            self._add(place)

    def _add(self, place: str) -> None:
        """One address."""
        if "://" in place:
            name = parse_qs(urlsplit(place).query).get("study", ["study"])[0]
        elif Path(place).is_dir():
            if self.folder is not None:
                raise UsageError(f"{place}: give one folder, and any number of studies")
            self.folder = Path(place).resolve()
            return
        elif Path(place).is_file():
            name = Path(place).stem
        else:
            raise UsageError(f"{place} does not exist: create the study first")
        if name in self._named:
            raise UsageError(f"{place}: another study here is called {name!r} too")
        self._named[name] = Shown(name, place)

    def check(self) -> None:
        """Open the studies that were named, so that one which cannot be is refused at once."""
        for shown in self._named.values():
            shown.moment()

    @property
    def single(self) -> Shown | None:
        """The study, where there is one and no folder."""
        if self.folder is None and len(self._named) == 1:
            return next(iter(self._named.values()))
        return None

    def all(self) -> list[Shown]:
        """All studies by name; files that came or went in the folder are noticed."""
        with self._lock:
            files = self._files()
            for name in [*self._found]:
                if name not in files:
                    self._found.pop(name).close()
            for name, path in files.items():
                if name not in self._found:
                    self._found[name] = Shown(name, str(path))
            both = self._found | self._named
            return [both[name] for name in sorted(both, key=str.casefold)]

    def _files(self) -> dict[str, Path]:
        """Studies of the folder by name; a link that leads out of it is none of them."""
        if self.folder is None:
            return {}
        paths = (path for path in self.folder.glob("*.study") if not path.name.startswith("."))
        inside = (path for path in paths if path.is_file() and self._within(path))
        return {path.stem: path for path in inside}

    def _within(self, path: Path) -> bool:
        """Whether a file really lies in the folder."""
        return path.resolve().parent == self.folder

    def find(self, name: str) -> Shown | None:
        """The study of a name, looked up in the list and nowhere else."""
        found = self._named.get(name) or self._found.get(name)
        if found is None or found.name in self._found:
            found = next((shown for shown in self.all() if shown.name == name), None)
        self._close_idle(found)
        return found

    def _close_idle(self, but: Shown | None) -> None:
        """Let go of the studies that were looked at longest ago."""
        with self._lock:
            used = sorted(self._found.values(), key=lambda shown: -shown.used)
            for shown in used[_OPEN:]:
                if shown is not but and shown.used:
                    shown.close()
                    shown.used = 0.0

    def close(self) -> None:
        """Let go of everything."""
        for shown in [*self._named.values(), *self._found.values()]:
            shown.close()
