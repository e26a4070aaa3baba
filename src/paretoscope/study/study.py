"""The one mutable object: ask what to measure next, tell what came, read what is known.

Asking and telling stand in `desk`; here a study is made, opened, reframed and read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from paretoscope.errors import Conflict, UsageError
from paretoscope.ledger import open_ledger
from paretoscope.ledger.base import Ledger
from paretoscope.runner.callable import Measure, limited
from paretoscope.runner.contract import Limits, Progress, Ran
from paretoscope.runner.drive import Drive
from paretoscope.runner.executors import Inline, Threads, let_go
from paretoscope.stages import stage
from paretoscope.study import assumptions, evidence, forecast, methods, remedy, result, trace
from paretoscope.study.definition import check_kept, define, differences, reframed
from paretoscope.study.desk import Desk, Record
from paretoscope.study.result import Result
from paretoscope.study.sharing import in_turn, or_close
from paretoscope.study.status import Status
from paretoscope.study.windows import Windows


class Study(Desk, Windows):
    """A study on a ledger; make one with `create`, come back to it with `open`.

    Parameters
    ----------
    ledger : Ledger
        Holds at least the event 'created'.
    clock : callable
        Seconds since the epoch; leases are counted by it.
    """

    _known: tuple[int, Result] | None = None  # as of which event
    _tested: tuple[tuple[int, ...], tuple[assumptions.Assumption, ...]] | None = None

    # ------------------------------------------------------------ making and opening

    @classmethod
    def create(cls, where: str | Path | None, **definition: Any) -> Self:  # noqa: ANN401
        """A study at an address; one that is there already is opened if it is the same.

        Parameters
        ----------
        where : str, Path or None
            A file, ``postgresql://...``, or None for memory.
        candidates : frame, path, dict or array
            One row each: a pandas, polars or pyarrow frame, a CSV file, columns by name, numbers.
        id : str, optional
            Column that names the candidates; by default "id", or else the row numbers.
        metrics : list of Metric or str
        features : formula, list of column names, array, transformer or None
            None = no structure is assumed.
        intercept : bool
        method : policy or "auto"
        delta, epsilon, budget, batches, time : optional
            What "auto" and `plan` are asked for.
        seed : int
        command : dict, optional
            How `paretoscope run` measures; kept with the study.

        Raises
        ------
        UsageError
            If the settings make no sense, or the store holds another study.
        DataError
            If a candidate or a cell cannot be used.
        """
        made = define(**definition)  # before the store is touched
        return or_close(open_ledger(where, create=True), lambda ledger: cls.on(ledger, made))

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """The study at an address."""
        stage("opening the study")
        return or_close(open_ledger(where, create=False), cls)

    def close(self) -> None:
        """Let go of the store."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @classmethod
    def on(cls, ledger: Ledger, definition: Record, clock: Callable[[], float] = time.time) -> Self:
        """A study on a ledger: a fresh one with this definition, or the one that has it already.

        Raises
        ------
        UsageError
            If the ledger holds a study with another definition; the message shows what differs.
        """
        event = {"kind": "created", "definition": definition, "at": clock()}
        with suppress(Conflict):  # somebody made it before, perhaps a moment ago: compared below
            ledger.append([event], expect=0)
        study = cls(ledger, clock)
        difference = differences(study._book.definition, definition)
        if difference:
            raise UsageError("the store holds another study: " + "; ".join(difference))
        return study

    def reframe(self, reason: str, **changed: Any) -> None:  # noqa: ANN401  (as in `create`)
        """Go on with other features, metrics or method; what was measured so far becomes history.

        A certificate then comes from new measurements alone, at the full risk.

        Parameters
        ----------
        reason : str
            Why; kept with the study.
        features, intercept, metrics, method : optional
            As in `create`; what is not given stays, but for a method that "auto" had chosen.

        Raises
        ------
        UsageError
            If nothing is changed, or the new terms make no sense.
        """

        def decide() -> tuple[list[Record], None]:
            made = reframed(self._book.definition, self.problem, changed)
            check_kept(made, [*self._book.values.values(), *(row for _, row in self._book.history)])
            turn, now = self._course.turn.number + 1, self.clock()
            event = {"definition": made, "turn": turn, "reason": reason, "at": now}
            return [{"kind": "reframed", **event}], None

        self._commit(decide)

    def proposals(self) -> list[remedy.Proposal]:
        """Ways to go on where the linear model does not fit, or the noise differs between candidates.

        Each with what it would cost; ``study.reframe(reason, **proposal.changes)`` takes it.
        """
        broken = {a.name for a in self.result().assumptions if a.verdict == "broken"}
        uneven = assumptions.EQUAL in broken and assumptions.LINEAR not in broken
        ways = remedy.noise_proposals if uneven else remedy.proposals
        course, book = self._course, self._book
        return ways(self.problem, self.wishes, course.everything(book), course.singles(book))

    def pilot(self) -> list[evidence.Scale]:
        """The noise of each metric as replicates show it so far."""
        self.refresh()
        return evidence.pilot(self.problem, self._course.everything(self._book))

    # ------------------------------------------------------------ measuring

    def run(
        self,
        measure: Measure,
        executor: Executor | Callable[[], Executor] | None = None,
        parallelism: int | None = None,
        max_measurements: int | None = None,
        *,
        timeout: float | None = None,
        retries: int = Limits.retries,
        callbacks: Sequence[Callable[[Progress], object]] = (),
        time: float | None = None,
        warmup: int = 0,
    ) -> Ran:
        """Ask, measure and tell until the study wants nothing more; what was done, and why it ended.

        Parameters
        ----------
        measure : callable
            Takes a mapping with the candidate's columns and its ``id``, returns ``{metric: value}``.
            What it raises is a failure of the candidate; at the second one the candidate is infeasible.
        executor : Executor or callable, optional
            Any of `concurrent.futures`, Dask's ``client.get_executor()``, mpi4py's; or what makes one,
            which is called again when a pool breaks. By default this thread, or ``parallelism`` threads.
        parallelism : int, optional
            Measurements at the same time; by default as many as the executor has workers.
        max_measurements, time : optional
            Measurements, and seconds, after which to stop for now.
        timeout : float, optional
            Seconds after which a measurement is a failure.
        retries : int
            Times that one request may lose its worker; a failed measurement is never one of these.
        warmup : int
            Runs of every candidate that is due, before the first measurement, that nobody reads.
        callbacks : list of callables
            Called with a `Progress` after every delivery.

        Raises
        ------
        UsageError, DataError
            If the measurement could not have worked for any candidate.
        WorkersLost
            If workers died too often. Whatever is raised, Ctrl-C included, the study can go on later.
        """
        for name, value in (("parallelism", parallelism), ("max_measurements", max_measurements)):
            if value is not None and value < 1:
                raise UsageError(f"{name} {value}: give at least 1")
        made = executor or (Inline() if (parallelism or 1) == 1 else Threads(parallelism or 1))
        limits = Limits(max_measurements, time, retries, warmup)
        drive = Drive(self, limited(measure, timeout), made, parallelism, limits, callbacks)
        try:
            return drive.go()
        finally:
            if drive.pool is not executor:
                let_go(drive.pool)

    # ------------------------------------------------------------ reading

    @in_turn
    def result(self) -> Result:
        """What is known at present: worked out once after every event."""
        self.refresh()
        if self._known is None or self._known[0] != self._book.number:
            self._known = self._book.number, self._worked_out()
        return self._known[1]

    def _worked_out(self) -> Result:
        """The result of what was folded so far."""
        stage("working out the result")
        course, book = self._course, self._book
        verdict = self.policy.verdict(course.state)
        tally = course.everything(book)
        seen = self._assumptions()
        certificate = assumptions.judged(course.assumed, verdict.certificate, seen)
        certificate = replace(certificate, pulls=int(tally.counts.sum()))  # check points as well
        found = result.estimate(self.problem, course.pooled(book), course.known_exact(book))
        earlier = len(book.history)
        return Result(self.problem, verdict, certificate, found, tally.counts, seen, earlier)

    def _assumptions(self) -> tuple[assumptions.Assumption, ...]:
        """What complete rounds say of the assumptions: worked out once for each of them."""
        course, book = self._course, self._book
        key = (book.frames, course.moved, sum(map(len, book.failures.values())))
        if self._tested is None or self._tested[0] != key:
            spans, pairs = course.spans(book), course.pairs(book)
            pools = course.pools_noise
            found = assumptions.examine(course.assumed, spans, pooled=pools, pairs=pairs)
            self._tested = key, found
        return self._tested[1]

    @in_turn
    def status(self) -> Status:
        """Where the study stands, for a person."""
        now = self.result()
        turn, clock = self._course.turn, self.clock()
        tally = self._course.pooled(self._book)
        return Status(
            round=turn.number + 1,
            done=int(now.counts.sum()),
            due=len(turn.waiting) if self._course.stop is None else 0,
            outstanding=sum(self._book.out(uid, clock) for uid in turn.waiting),
            counts={word: now.status.count(word) for word in sorted(set(now.status))},
            stop=self._course.stop,
            result=now,
            chances=partial(
                result.probabilities, self.problem, now.found, tally, self.problem.seed
            ),
            method=self._book.definition["method"]["policy"],
            reason=self.reason,
        )

    @in_turn
    def best_guess(self) -> list[str]:
        """The front of the estimates, among what was measured and could be; no guarantee."""
        course, book = self._course, self._book
        found = result.estimate(self.problem, course.pooled(book), course.known_exact(book))
        return result.front_of(self.problem, found, self.standing().verdict)

    @in_turn
    def snapshot(self) -> trace.Snapshot:
        """Everything that a report or a page shows, as of one moment."""
        status = self.status()
        course, book = self._course, self._book
        rounds = trace.rounds_of(book, book.base, course.turn.number, self.problem.K)
        batches = status.result.verdict.batches
        decided = [batch.round for batch in batches], [len(batch.arm) for batch in batches]
        left = trace.residuals_of(self.problem, course.pooled(book), status.result.found)
        return trace.Snapshot(
            events=book.number,
            created=book.created,
            definition=book.definition,
            status=status,
            rounds=rounds,
            decided=trace.decided_by(course, np.repeat(*decided).astype(np.int64)),
            residuals=left,
            out=self._out(),
        )

    def _out(self) -> tuple[trace.Held, ...]:
        """Requests that somebody has, and who."""
        course, book, now = self._course, self._book, self.clock()
        waiting = course.turn.waiting if course.stop is None else ()
        out = [(uid, book.asked[uid]) for uid in waiting if book.out(uid, now)]
        return tuple(trace.Held(self._request(uid), a.by, a.at, a.lease) for uid, a in out)

    def plan(self, budget: int | None = None) -> list[methods.Option]:
        """Predicted measurements of every method that could run this study.

        An unknown noise is taken as measured so far; ``budget`` is one to try, not the study's own.
        """
        setting = forecast.as_measured(self.problem.setting, self.result().found)
        wishes = self.wishes if budget is None else replace(self.wishes, budget=budget)
        return methods.options(setting, wishes)

    @in_turn
    def outlook(
        self, runs: int = forecast.RUNS, budget: int | None = None
    ) -> forecast.Outlook | forecast.NoOutlook:
        """What the budget will buy, simulated from the first measurement on; see `forecast`.

        ``budget`` is one to try, by the fixed looks that would serve it; by default the study's own.
        """
        policy = forecast.certified_method(self.policy, self.wishes, budget, self.problem.setting)
        if isinstance(policy, forecast.NoOutlook):
            return policy
        tally, exact = self._course.pooled(self._book), self._course.known_exact(self._book)
        belief = forecast.believe(self.problem, tally, exact)
        return forecast.outlook(self.problem, policy, belief, runs, self.problem.seed)
