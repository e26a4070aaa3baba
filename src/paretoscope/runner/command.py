"""A command as a measurement: filled in, run, read, several times if one number is to sum them up."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretoscope.errors import UsageError
from paretoscope.runner import process, readout
from paretoscope.runner.process import Ended, run_process
from paretoscope.runner.readout import Failed, Misuse, Wanted
from paretoscope.runner.template import METRICS_FILE, Template, check_columns, variable, variables

# Characters of a complaint that are kept with a failure.
_SAID = 200


@dataclass(frozen=True)
class Command:
    """A command to measure candidates with; it can be sent to another process.

    Parameters
    ----------
    command, prepare, cleanup : Template
        What is measured, and what runs before and after every run of it.
    wanted : tuple of Wanted
    timeout : float, optional
        Seconds of one run; then its whole process group is ended.
    inner : int
        Runs that make one measurement.
    statistic : str
        What the values of these become, for metrics that do not say.
    caps : dict, optional
        What a run that is out of time counts as, per metric; else it is a failure.
    """

    command: Template
    wanted: tuple[Wanted, ...]
    prepare: Template | None = None
    cleanup: Template | None = None
    timeout: float | None = None
    inner: int = 1
    statistic: str = "median"
    caps: Mapping[str, float] | None = None

    def __call__(self, candidate: Mapping[str, Any]) -> dict[str, float]:
        """The metrics of a candidate.

        Raises
        ------
        Failed
            If the command fails, is out of time, or does not tell a metric.
        Misuse
            If it could not have worked for any candidate.
        """
        found: dict[str, list[float]] = {want.name: [] for want in self.wanted}
        for _ in range(self.inner):
            ended, told = self._once(candidate)
            if ended.late and self.caps is not None:
                return dict(self.caps)
            self._judge(ended)
            for want in self.wanted:
                found[want.name] += want.values(ended, told)
        return {want.name: want.summary(found[want.name], self.statistic) for want in self.wanted}

    def warm(self, candidate: Mapping[str, Any]) -> dict[str, float]:
        """One run that nobody reads."""
        self._once(candidate)
        return {}

    def end(self) -> None:
        """End everything that runs in this process."""
        process.end_all()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse what could not work for any candidate.

        Raises
        ------
        UsageError
            For a place that no column fills, or a program that is not there.
        """
        if os.name != "posix":
            raise UsageError("commands are run on POSIX systems only: measure by a Python callable")
        check_columns(columns)
        for template in filter(None, (self.command, self.prepare, self.cleanup)):
            template.check(columns)
            program = template.parts[0]
            if not template.shell and "{" not in program and shutil.which(program) is None:
                raise UsageError(f"command {program!r} is not there, or cannot be run")

    def _once(self, candidate: Mapping[str, Any]) -> tuple[Ended, dict[str, Any]]:
        """One run between its preparation and its clean-up, and what it told."""
        if not self.command.uses(METRICS_FILE) and self.prepare is None and self.cleanup is None:
            return self._bare(candidate, variables(candidate), None)
        with tempfile.TemporaryDirectory(prefix="paretoscope-") as folder:
            path = str(Path(folder) / "metrics.json")
            values = {**candidate, METRICS_FILE: path}
            known = variables(values)
            self._beside("prepare", self.prepare, values, known)
            try:
                return self._bare(values, known, path)
            finally:
                self._beside("cleanup", self.cleanup, values, known)

    def _bare(
        self, values: Mapping[str, Any], known: Mapping[str, str], path: str | None
    ) -> tuple[Ended, dict[str, Any]]:
        """The run itself."""
        memory = any(want.name == "rss" and want.factor for want in self.wanted)
        ended = _started(self.command, values, known, self.timeout, memory=memory)
        told = readout.last_json(ended.out) if any(self._told) else {}
        if path is not None:
            told |= readout.json_file(_read(path))
        return ended, told

    @property
    def _told(self) -> list[Wanted]:
        """Metrics that the command tells in JSON."""
        return [want for want in self.wanted if not want.factor and not want.pattern]

    def _beside(
        self,
        name: str,
        template: Template | None,
        values: Mapping[str, Any],
        known: Mapping[str, str],
    ) -> None:
        """Prepare or clean up; what a preparation leaves running may go on."""
        if template is None:
            return
        ended = _started(template, values, known, self.timeout, keep_children=True)
        if ended.late or ended.code:
            raise Failed(f"{name}: {_why(ended, self.timeout)}")

    def _judge(self, ended: Ended) -> None:
        """A run that failed; an exit code that is a metric is none."""
        counted = any(want.name == "exit" and want.factor for want in self.wanted)
        if ended.late or (ended.code and not counted):
            raise Failed(_why(ended, self.timeout))

    # ------------------------------------------------------------ on paper

    def to_plain(self) -> dict[str, Any]:
        """The command as JSON values, kept with the study."""
        plain = {key: value for key, value in asdict(self).items() if value is not None}
        plain["wanted"] = [asdict(want) for want in self.wanted]
        for name in ("command", "prepare", "cleanup"):
            if name in plain:
                plain[name] = {"parts": list(plain[name]["parts"]), "shell": plain[name]["shell"]}
        return plain

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Command:
        """The command written by `to_plain`."""
        templates = {
            name: Template(tuple(plain[name]["parts"]), plain[name]["shell"])
            for name in ("command", "prepare", "cleanup")
            if name in plain
        }
        wanted = tuple(Wanted(**each) for each in plain["wanted"])
        return Command(**{**plain, **templates, "wanted": wanted})


def _started(
    template: Template,
    values: Mapping[str, Any],
    known: Mapping[str, str],
    timeout: float | None,
    *,
    memory: bool = False,
    keep_children: bool = False,
) -> Ended:
    """A command filled in and run to its end."""
    argv = template.fill(values)
    env = {k: v for k, v in os.environ.items() if not k.startswith(variable(""))} | dict(known)
    try:
        return run_process(argv, env, timeout, memory=memory, keep_children=keep_children)
    except (OSError, ValueError) as error:  # no such program, too long, a NUL
        said = f"{argv[0]!r} cannot be started ({getattr(error, 'strerror', None) or error})"
        absent = isinstance(error, (FileNotFoundError, PermissionError))
        if absent and argv[0] == template.parts[0]:  # for every candidate
            raise Misuse(said) from None
        raise Failed(said) from None


def _why(ended: Ended, timeout: float | None) -> str:
    """Why a run came to nothing."""
    if ended.late:
        return f"out of time after {timeout:g} s"
    kind = f"exit code {ended.code}" if ended.code > 0 else f"ended by signal {-ended.code}"
    lines = [line for line in ended.err.splitlines() if line.strip()]
    return f"{kind}: {lines[-1].strip()[:_SAID]}" if lines else kind


def _read(path: str) -> str:
    """The end of a file that a command wrote; nothing if it is no plain file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return ""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return ""
    with os.fdopen(handle, "rb") as file:
        file.seek(max(0, status.st_size - process.MOST_OUT))
        return file.read().decode("utf-8", "replace")
