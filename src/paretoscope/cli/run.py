"""The command run: measure candidates by a command until their Pareto set is known."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from paretoscope.bulk import product
from paretoscope.cli import finish, show, terms
from paretoscope.cli.lazy import INTERRUPTED, OUTSTANDING, UNCERTIFIED
from paretoscope.cli.live import Live
from paretoscope.cli.options import definition_options, json_option
from paretoscope.cli.target import check_target
from paretoscope.errors import UsageError
from paretoscope.ledger import is_address
from paretoscope.runner.command import Command
from paretoscope.runner.contract import Ran
from paretoscope.runner.drive import ENDING
from paretoscope.runner.executors import connect, width_of
from paretoscope.runner.readout import BUILT_IN, TIMED, Wanted
from paretoscope.runner.template import Template
from paretoscope.study import Candidates, Metric, Study

# Runs that make one measurement of wall or cpu time.
INNER = 5
_DEFAULT = "run.study"
# Options that say how a command is run; they are kept with the study.
_HOW = ("prepare", "cleanup", "timeout", "shell", "inner", "stat", "regex")


def _command_options(function: Any) -> Any:  # noqa: ANN401  (a decorated function)
    """How the command is run and read."""
    options = [
        click.option("--shell", is_flag=True, help="Run by /bin/sh; values are quoted."),
        click.option("--prepare", metavar="CMD", help="Runs before every run."),
        click.option("--cleanup", metavar="CMD", help="Runs after every run."),
        click.option("--timeout", metavar="TIME", help="Of one run, such as 30s; then it failed."),
        click.option(
            "--timeout-value", multiple=True, metavar="METRIC=V", help="It counts as this instead."
        ),
        click.option("--regex", multiple=True, metavar="METRIC=RE", help="Last match, group 1."),
        click.option(
            "--inner", type=click.IntRange(min=1), help=f"Runs per measurement ({INNER} if timed)."
        ),
        click.option("--stat", help="Of these runs: median (default), mean or pNN."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _session_options(function: Any) -> Any:  # noqa: ANN401  (a decorated function)
    """Where and how long this run works, and what it writes."""
    options = [
        click.option("--study", "where", metavar="STUDY", help=f"Its file ({_DEFAULT})."),
        click.option("-j", "--jobs", type=click.IntRange(min=1), help="Runs at the same time (1)."),
        click.option("--executor", metavar="ADDRESS", help="dask://host:port of a scheduler."),
        click.option(
            "--warmup",
            type=click.IntRange(min=0),
            default=0,
            help="Runs per candidate, before all, unread.",
        ),
        click.option("--retries", type=click.IntRange(min=0), default=3, help="Of lost workers."),
        click.option("--export-json", metavar="FILE", help="The result for scripts."),
        click.option("--export-csv", metavar="FILE", help="The table of all candidates."),
        click.option("--export-markdown", metavar="FILE", help="The same for a document."),
        click.option("-q", "--quiet", is_flag=True, help="No progress."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command("run", context_settings={"allow_interspersed_args": False, "max_content_width": 100})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "-L",
    "--list",
    "lists",
    nargs=2,
    multiple=True,
    metavar="NAME A,B,...",
    help="Values of a parameter; several make all combinations.",
)
@definition_options
@_command_options
@_session_options
@json_option
@click.pass_context
def run_command(ctx: click.Context, /, **given: Any) -> None:  # noqa: ANN401
    """Measure candidates by a command until their Pareto set is known.

    {NAME} in the command stands for a column of the candidates: one argument, without a shell. Metrics
    come from the last line of the output that is a JSON object, from a JSON file that the command
    writes to {metrics_file}, by --regex, or are built in: wall, cpu, rss, exit.

    \b
    paretoscope run -L threads 1,2,4,8 -L engine a,b -m wall:min:s:log \\
        --epsilon 5% -- ./bench --threads {threads} --engine {engine}

    Run it again with --study alone to go on. The exit code is 3 if there is no certificate yet, and 130
    after Ctrl-C.
    """  # noqa: D301  (a real backspace is click's sign for lines that stay as they are)
    session = _Session(given)
    with session.opened() as study, session.connected() as pool:
        session.begin(study, pool)
        ran = session.measure(study, pool)
        code = session.end(study, ran)
    ctx.exit(code)


class _Session:
    """One call of the command."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.words: tuple[str, ...] = given.pop("words")
        self.lists: Sequence[tuple[str, str]] = given.pop("lists")
        self.how = {key: given.pop(key) for key in _HOW}
        self.where: str = given.pop("where") or _DEFAULT
        self.jobs, self.address = given.pop("jobs"), given.pop("executor")
        self.warmup, self.retries = given.pop("warmup"), given.pop("retries")
        self.quiet, self.as_json = given.pop("quiet"), given.pop("as_json")
        self.targets: dict[str, str | None] = {
            name: given.pop(f"export_{name}") for name in ("json", "csv", "markdown")
        }
        self.seconds = terms.seconds(given["time"])
        self.given = given
        self.command: Command | None = None
        for path in self.targets.values():
            check_target(path, self.where, force=True)

    # ------------------------------------------------------------ the study and its command

    def opened(self) -> Study:
        """The study: a new one from the options, or the one that is there."""
        defined = {k: v for k, v in self.given.items() if k != "time" and v not in (None, ())}
        if defined or self.lists:
            return self._created()
        if not is_address(self.where) and not Path(self.where).exists():
            raise UsageError(
                f"{self.where} is not there: give candidates (-C or -L) and metrics (-m), and a"
                " command after --"
            )
        study = Study.open(self.where)
        try:
            self.command = self._resumed(study)
        except BaseException:
            study.close()
            raise
        return study

    def _created(self) -> Study:
        """A study from the options; the same one again goes on."""
        asked = terms.from_options(self.given)
        if asked.candidates is not None and self.lists:
            raise UsageError("give the candidates by -C or by -L, not by both")
        listed = combinations(self.lists) if self.lists else None
        inner, stat = self._inner([str(table["name"]) for table in asked.metrics or []])
        for table in asked.metrics or []:
            if inner > 1 and not table.get("exact"):
                table.setdefault("statistic", stat)
        made = terms.definition(asked, listed)
        self.command = self._command(made["metrics"], made["candidates"])
        return Study.create(self.where, **made, command=self.command.to_plain())

    def _resumed(self, study: Study) -> Command:
        """The command of a study that is there; a new one must be the same."""
        stored = None if study.command is None else Command.from_plain(study.command)
        if not self.words:
            if stored is None:
                raise UsageError(f"{self.where} was made without a command: give it after --")
            if any(self.how.values()):
                raise UsageError("how the command is run stands in the study: leave it out")
            return stored
        command = self._command(study.problem.metrics, study.problem.candidates)
        if stored is not None and stored.to_plain() != command.to_plain():
            raise UsageError(
                f"{self.where} is measured by {shlex.join(stored.command.parts)!r}, in its own way:"
                " leave the command out to go on, or give another --study"
            )
        return command

    def _inner(self, names: Sequence[str]) -> tuple[int, str]:
        """Runs of one measurement, and what becomes of them."""
        patterns = _assignments(self.how["regex"])
        timed = any(name in TIMED and name not in patterns for name in names)
        stat = self.how["stat"] or "median"
        Metric("--stat", statistic=stat)  # refuses what is none
        return self.how["inner"] or (INNER if timed else 1), stat

    def _command(self, metrics: Sequence[Metric], candidates: Candidates) -> Command:
        """The command of the options."""
        patterns = _assignments(self.how["regex"])
        unknown = set(patterns) - {metric.name for metric in metrics}
        if unknown:
            raise UsageError(f"--regex {min(unknown)}=...: that is no metric")
        measured = [metric for metric in metrics if metric.known is None]
        inner, stat = self._inner([metric.name for metric in measured])
        shell = bool(self.how["shell"])
        beside = {
            name: Template.of([self.how[name]], shell=shell)
            for name in ("prepare", "cleanup")
            if self.how[name]
        }
        limit = terms.seconds(self.how["timeout"])
        command = Command(
            command=Template.of(self.words, shell=shell),
            wanted=tuple(_wanted(metric, patterns.get(metric.name, "")) for metric in measured),
            timeout=limit,
            inner=inner,
            statistic=stat,
            caps=_caps(measured, limit),
            **beside,
        )
        command.check(list(candidates.columns))
        return command

    # ------------------------------------------------------------ measuring

    @contextmanager
    def connected(self) -> Iterator[Executor | None]:
        """The executor that was asked for."""
        if self.address is None:
            yield None
            return
        pool, close = connect(self.address)
        try:
            yield pool
        finally:
            close()

    def begin(self, study: Study, pool: Executor | None) -> None:
        """What is about to happen, for people."""
        assert self.command is not None
        if self.quiet or self.as_json:
            return
        jobs = self.jobs or (1 if pool is None else width_of(pool))
        command = self.command
        parts = [show.count(study.problem.K, "candidate"), show.count(study.problem.d, "metric")]
        runs = (
            f", each the {command.statistic} of {command.inner} runs" if command.inner > 1 else ""
        )
        click.echo(f"{self.where}: {', '.join(parts)}{runs}.", err=True)
        if jobs > 1 and pool is None and any(w.name in TIMED and w.factor for w in command.wanted):
            click.echo(
                f"{jobs} runs at the same time disturb each other's times: -j 1 is safer.", err=True
            )

    def measure(self, study: Study, pool: Executor | None) -> Ran | None:
        """Run the command until the study has seen enough; None if interrupted."""
        assert self.command is not None
        width = self.jobs or (1 if pool is None else width_of(pool))
        usual = _on_end()
        try:
            with Live(study, width, self.seconds, quiet=self.quiet or self.as_json) as live:
                return study.run(
                    self.command,
                    pool,
                    self.jobs,
                    retries=self.retries,
                    time=self.seconds,
                    warmup=self.warmup,
                    callbacks=[live],
                )
        except KeyboardInterrupt:
            return None
        finally:
            for number, handler in usual.items():
                signal.signal(number, handler)

    def end(self, study: Study, ran: Ran | None) -> int:
        """The result, and the exit code."""
        status = study.status()
        finish.export(status, self.targets)
        if self.as_json:
            show.emit(finish.data(status, ran))
        elif "-" not in self.targets.values():
            finish.say(self.where, study, ran, self._again(study))
        if ran is None:
            return INTERRUPTED
        if ran.why == "held":
            return OUTSTANDING
        return show.standing(status) if status.stop is not None else UNCERTIFIED

    def _again(self, study: Study) -> str:
        """The command line that goes on."""
        words = ["paretoscope", "run", "--study", self.where]
        words += ["-j", str(self.jobs)] if self.jobs else []
        words += ["--executor", self.address] if self.address else []
        if study.command is None:  # made without one: all that was given must be given again
            words = ["paretoscope", *sys.argv[1:]]
        return shlex.join(words)


def _on_end() -> dict[int, Any]:
    """Let a polite request to end do what Ctrl-C does; the handlers that were there.

    A run in the background of a script ignores Ctrl-C, but not these.
    """
    found = {number: signal.getsignal(number) for number in ENDING if number != signal.SIGINT}
    usual = {number: handler for number, handler in found.items() if handler is signal.SIG_DFL}
    for number in usual:
        signal.signal(number, signal.default_int_handler)
    return usual


def _assignments(texts: Sequence[str]) -> dict[str, str]:
    """Patterns by metric."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, pattern = text.partition("=")
        if not equals or not name or not pattern:
            raise UsageError(f"--regex {text}: write METRIC=PATTERN")
        found[name] = pattern
    return found


def _wanted(metric: Metric, pattern: str) -> Wanted:
    """Where a metric comes from."""
    statistic, exact = metric.statistic, metric.exact
    return Wanted.of(metric.name, metric.unit, statistic, pattern, exact=exact)


def _caps(metrics: Sequence[Metric], timeout: float | None) -> Mapping[str, float] | None:
    """What a run that is out of time counts as, for every metric; None if it is a failure."""
    given = {m.name: m.timeout_value for m in metrics if m.timeout_value is not None}
    if not given:
        return None
    if timeout is None:
        raise UsageError("--timeout-value needs a --timeout")
    missing = [metric.name for metric in metrics if metric.name not in given]
    if missing:
        raise UsageError(f"--timeout-value is missing for {', '.join(missing)}")
    return given


def combinations(lists: Sequence[tuple[str, str]]) -> Candidates:
    """All combinations of listed values, named by them.

    >>> [*combinations([("a", "1,2"), ("b", "x")]).ids]
    ['1,x', '2,x']
    """
    names = [name for name, _ in lists]
    for name in names:
        if not name or names.count(name) > 1:
            raise UsageError(f"-L {name}: every parameter has a name of its own")
    values = [text.split(",") for _, text in lists]
    for name, some in zip(names, values, strict=True):
        if len(set(some)) < len(some):
            raise UsageError(f"-L {name}: a value is given twice")
    return product(**dict(zip(names, values, strict=True)))


assert set(TIMED) <= set(BUILT_IN)
