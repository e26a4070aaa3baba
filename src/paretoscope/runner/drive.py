"""The only loop over rounds: ask, measure on an executor, tell, until the study has seen enough.

Requests are handed to the executor in the order in which they were asked, which is randomised in
blocks: with n measurements at a time the order of measuring differs from it by less than n places.
What is known is told at once. A request whose worker was lost is given back and asked again, so no
measurement counts twice; a measurement that fails is its candidate's own, told as such and never
repeated until it succeeds.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from paretoscope.errors import DataError, UsageError, WorkersLost
from paretoscope.runner import owner
from paretoscope.runner.callable import Measure, Outcome, attempt
from paretoscope.runner.contract import Asked, Desk, Limits, Progress, Ran
from paretoscope.runner.executors import Inline, let_go, width_of

# A store that flushes to the disk takes milliseconds: measurements are told together so that this is
# one part in so many of the time, where at most so many seconds of work, and so many of them, wait.
_PARTS, _WORK, _MOST = 20, 0.5, 1024
# Candidates that fail before anything has succeeded until the measurement itself is to blame.
SUSPECT = 3
# Signals that end a run in good order, where they would raise KeyboardInterrupt.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
# Seconds between two looks whether others have told what they hold, and for measurements to end.
_LOOK, _PATIENCE = 0.5, 5.0


@dataclass
class Drive:
    """One run of a study on an executor; `go` is the loop.

    Parameters
    ----------
    executor : Executor or callable
        A callable makes a new one when a pool is broken.
    parallelism : int, optional
        Measurements at the same time; by default as many as the executor has workers.
    """

    desk: Desk
    measure: Measure
    executor: Executor | Callable[[], Executor]
    parallelism: int | None = None
    limits: Limits = field(default_factory=Limits)
    callbacks: Sequence[Callable[[Progress], object]] = ()

    def __post_init__(self) -> None:
        self.pool = self.executor if isinstance(self.executor, Executor) else self.executor()
        self.by = owner.enter()
        self.ready: deque[Asked] = deque()  # asked, not handed to the executor yet
        self.flying: dict[Future[Outcome], Asked] = {}
        self.landed: SimpleQueue[Future[Outcome] | None] = SimpleQueue()
        self.suspects: dict[str, tuple[str, str]] = {}  # failures while nothing has succeeded
        self.losses: dict[str, int] = {}
        self.width = self.parallelism or width_of(self.pool)
        self.window, self.attempts = self.width, 0
        self.measured = self.failed = self.lost = 0
        self.busy = self.writing = 0.0
        self.warming = self.grieved = 0
        self.begun = self.mark = time.perf_counter()
        self.interrupted = self.measuring = False

    # ------------------------------------------------------------ the loop

    def go(self) -> Ran:
        """Measure until the study, or a limit, says enough."""
        try:
            with self._interrupts():
                self._take_over()
                self._warm()
                while (why := self._fill()) is None:
                    self._settle(self._landed())
                    self._say()
            return Ran(self.measured, self.failed, self.lost, self._seconds(), why)
        finally:
            owner.leave(self.by)

    def _warm(self) -> None:
        """Run every candidate that is due, and forget what came."""
        call: Measure = getattr(self.measure, "warm", self.measure)
        times = self.limits.warmup
        names = dict.fromkeys(request.candidate for request in self.desk.peek()) if times else {}
        todo, pending = deque([*names] * times), 0
        while (todo or pending) and not self.interrupted:
            if todo and pending < self.width:
                candidate = self.desk.described(todo.popleft())
                self.warming, pending = len(todo) + 1, pending + 1
                future = self._hand(call, candidate, f"warm-up {self.by} {len(todo)}")
                future.add_done_callback(self.landed.put)
            else:
                self._say()
                self.landed.get()
                pending -= 1
        self.warming, self.mark = 0, time.perf_counter()

    def _hand(self, call: Measure, candidate: Mapping[str, Any], token: str) -> Future[Outcome]:
        """Give a call to the executor."""
        self.measuring = isinstance(self.pool, Inline)  # an interrupt may cut into it
        try:
            return self.pool.submit(attempt, call, candidate, token)
        finally:
            self.measuring = False

    def _seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self.begun

    def _fill(self) -> str | None:
        """Hand requests to the executor; why there is nothing left to wait for, if so."""
        if self.interrupted:
            raise KeyboardInterrupt
        while len(self.flying) < self.window and not self._over():
            if not self.ready:
                with self._at_the_desk():
                    self.ready += self.desk.ask(self._wanted(), by=self.by)
            if not self.ready:
                break
            request = self.ready.popleft()
            if self.desk.wants(request.uid):
                self._submit(request)
        return None if self.flying else self._why()

    def _wanted(self) -> int:
        """How many requests to ask for: two windows, within what may be measured."""
        most = self.limits.measurements
        left = _MOST if most is None else most - self._begun_so_far()
        return max(1, min(2 * self.window, left))

    def _begun_so_far(self) -> int:
        """Measurements of this run that count, or will."""
        return self.measured + self.failed + len(self.suspects) + len(self.flying)

    def _over(self) -> str:
        """Which limit was reached; empty while there is none."""
        most, seconds = self.limits.measurements, self.limits.seconds
        if most is not None and self._begun_so_far() >= most:
            return "measurements"
        return "time" if seconds is not None and self._seconds() >= seconds else ""

    def _why(self) -> str | None:
        """Why nothing is under way; None if others hold what is due, and may tell it soon."""
        over = self._over()
        if over or self.desk.standing().stopped:
            self._give_back("not begun")
            return over or "stopped"
        if self.suspects:
            self._blame()
        held = self.desk.held().values()
        if held and not all(map(owner.is_run, held)):
            return "held"
        self._say(waiting=True)
        time.sleep(_LOOK)
        self._take_over()
        return None

    def _submit(self, request: Asked) -> None:
        """Hand one request to the executor."""
        self.attempts += 1
        candidate = self.desk.described(request.candidate)
        token = f"{request.uid}@{self.by}@{self.attempts}"
        try:
            future = self._hand(self.measure, candidate, token)
        except KeyboardInterrupt:
            self.ready.appendleft(request)
            raise
        except (BrokenExecutor, RuntimeError, OSError) as error:
            self.ready.appendleft(request)
            self._lose(request, error)
            return
        self.flying[future] = request
        future.add_done_callback(self.landed.put)

    def _landed(self) -> list[Future[Outcome]]:
        """The measurements that have ended, at least one unless interrupted."""
        if not self.flying:
            return []
        found = [self.landed.get()]
        while True:
            try:
                found.append(self.landed.get_nowait())
            except Empty:
                return [future for future in found if future is not None and future in self.flying]

    # ------------------------------------------------------------ what came

    def _settle(self, futures: Sequence[Future[Outcome]]) -> None:
        """Tell what came; give back what was lost."""
        rows: list[dict[str, Any]] = []
        for future in futures:
            request = self.flying.pop(future)
            outcome = _outcome(future)
            if isinstance(outcome, BaseException):
                self.ready.appendleft(request)
                self._lose(request, outcome)
                continue
            if outcome.misuse:
                self.ready.appendleft(request)
                self._tell(rows)
                raise UsageError(outcome.misuse)
            rows.append(self._row(request, outcome))
            self.busy += outcome.seconds
        with self._at_the_desk():
            self._tell(rows)
        self._adapt(len(futures))

    def _row(self, request: Asked, outcome: Outcome) -> dict[str, Any]:
        """What to tell of a measurement."""
        row = {"uid": request.uid, "candidate": request.candidate}
        if outcome.failed:
            return row | {"failed": outcome.failed}
        try:
            return row | dict(self.desk.check_values(outcome.values or {}))
        except DataError as error:
            return row | {"failed": str(error)}

    def _tell(self, rows: list[dict[str, Any]]) -> None:
        """Hand rows in; failures wait until something has succeeded."""
        good = [row for row in rows if "failed" not in row]
        bad = [row for row in rows if "failed" in row]
        if good:
            self._deliver(good)
            self.measured += len(good)
        self.suspects |= {row["uid"]: (row["candidate"], row["failed"]) for row in bad}
        standing = self.desk.standing() if self.suspects else None
        if standing and standing.done:
            failures = [{"uid": uid, "failed": said} for uid, (_, said) in self.suspects.items()]
            self.failed += len(failures)
            self.suspects.clear()
            self._deliver(failures)
        elif standing and len({k for k, _ in self.suspects.values()}) >= min(SUSPECT, standing.K):
            self._blame()

    def _deliver(self, rows: list[dict[str, Any]]) -> None:
        """Tell rows; if one is refused, the others are told all the same."""
        try:
            self.desk.tell(rows, by=self.by)
        except DataError:
            if len(rows) == 1:
                raise
            refused = None
            for row in rows:
                try:
                    self.desk.tell([row], by=self.by)
                except DataError as error:
                    refused = error
            if refused is not None:
                raise refused from None

    def _blame(self) -> None:
        """Nothing has ever succeeded: no candidate is to blame, and nothing is told."""
        name, said = next(iter(self.suspects.values()))
        raise DataError(
            f"the first {len(self.suspects)} measurements all failed, which looks like the"
            f" measurement's own fault; candidate {name}: {said}"
        )

    def _lose(self, request: Asked, error: BaseException) -> None:
        """A worker was lost with its request, which will be handed out again."""
        self.lost += 1
        count = self.losses[request.uid] = self.losses.get(request.uid, 0) + 1
        if count > self.limits.retries:
            raise WorkersLost(
                f"the worker of {request.uid} (candidate {request.candidate}) was lost {count} times:"
                f" {type(error).__name__}: {error}"
            )
        if isinstance(error, BrokenExecutor) or not _alive(self.pool):
            self._mend(error)
        if count > self.grieved:  # longer each time: machines come back slowly
            self.grieved = count
            time.sleep(min(0.05 * 2**count, 1.0))

    def _mend(self, error: BaseException) -> None:
        """A new pool in place of a broken one, if the caller said how to make it."""
        if isinstance(self.executor, Executor):
            raise WorkersLost(
                f"the executor is broken ({type(error).__name__}: {error}): give a function that"
                " makes one, and it will be made anew"
            ) from None
        if _alive(self.pool):
            return
        let_go(self.pool)
        self.pool = self.executor()

    @contextmanager
    def _at_the_desk(self) -> Iterator[None]:
        """Count the seconds that asking and telling take."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.writing += time.perf_counter() - begun

    def _adapt(self, count: int) -> None:
        """Widen the window where measurements end faster than they can be told one by one."""
        now = time.perf_counter()
        each = max(now - self.mark - self.writing, 1e-9) / max(count, 1)
        together = min(_PARTS * self.writing, _WORK)
        self.window = max(self.width, min(_MOST, int(together / each)))
        self.mark, self.writing = now, 0.0

    def _say(self, *, waiting: bool = False) -> None:
        """Let the callbacks look."""
        if self.callbacks:
            made = (self.measured, self.failed, self.lost, len(self.flying))
            progress = Progress(self.desk, *made, self._seconds(), self.busy, self.warming, waiting)
            for callback in self.callbacks:
                callback(progress)

    # ------------------------------------------------------------ the end

    def _take_over(self) -> None:
        """Give back what a run that died still holds."""
        dead = [uid for uid, by in self.desk.held().items() if owner.is_dead(by)]
        if dead:
            self.desk.release(dead, "its run died")

    def _give_back(self, reason: str) -> None:
        """Everything that this run holds will be asked again."""
        own = [uid for uid, by in self.desk.held().items() if by == self.by]
        self.ready.clear()
        self.flying.clear()
        self.suspects.clear()
        if own:
            self.desk.release(own, reason)

    def _abandon(self) -> None:
        """Tell what has ended, end the rest, give back the requests."""
        done = [future for future in self.flying if future.done() and not future.cancelled()]
        rows = []
        for future in done:
            outcome = _outcome(future)
            if isinstance(outcome, Outcome) and not outcome.failed and not outcome.misuse:
                rows.append(self._row(self.flying.pop(future), outcome))
        good = [row for row in rows if "failed" not in row]
        if good:
            self._deliver(good)
            self.measured += len(good)
        for future in self.flying:
            future.cancel()
        end, patience = getattr(self.measure, "end", None), time.perf_counter() + _PATIENCE
        while end and not all(f.done() for f in self.flying) and time.perf_counter() < patience:
            end()  # again: a measurement may be between two of its runs
            time.sleep(0.02)
        self._give_back("interrupted")

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Let Ctrl-C wait for a moment at which nothing is half done; give requests back."""
        main = threading.current_thread() is threading.main_thread()
        usual = [n for n in ENDING if main and signal.getsignal(n) is signal.default_int_handler]

        def note(*_: object) -> None:
            if self.measuring:
                raise KeyboardInterrupt
            self.interrupted = True
            self.landed.put(None)

        for number in usual:
            signal.signal(number, note)
        try:
            yield
        except BaseException:
            self.measuring = False
            self._abandon()
            raise
        finally:
            for number in usual:
                signal.signal(number, signal.default_int_handler)


def _outcome(future: Future[Outcome]) -> Outcome | BaseException:
    """What a future holds; an exception means that its worker was lost."""
    try:
        return future.result()
    except BaseException as error:  # noqa: BLE001  (of any executor, whatever it calls its losses)
        return error


def _alive(pool: Executor) -> bool:
    """Whether a pool still takes work."""
    return not (getattr(pool, "_broken", False) or getattr(pool, "_shutdown", False))
