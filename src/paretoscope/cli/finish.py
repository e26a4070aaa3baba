"""What a run leaves on the terminal: the front, the certificate, who rejected whom, how to go on."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import click

from paretoscope.cli import look, show
from paretoscope.cli.live import duration
from paretoscope.cli.sketch import picture
from paretoscope.runner.contract import Ran
from paretoscope.study import Status, Study
from paretoscope.table import write_table, write_text

# Rejecters with their candidates that are listed.
_LISTED = 8


def say(where: str, study: Study, ran: Ran | None, again: str) -> None:
    """Everything there is to say at the end of a run.

    Parameters
    ----------
    ran : Ran, optional
        What was done; None if it was interrupted.
    again : str
        The command that goes on.
    """
    status = study.status()
    _say_measured(study, status, ran)
    click.echo()
    look.draw_verdicts(status.result, everything=False)
    _say_rejected(study, status)
    _draw(status)
    look.say_certificate(status.result)
    click.echo()
    _say_next(where, status, ran, again)


def _say_measured(study: Study, status: Status, ran: Ran | None) -> None:
    """How much was measured, and by whom it stops."""
    done = f"{show.count(study.problem.K, 'candidate')}, {show.count(status.done, 'measurement')}"
    if ran is not None:
        failed = f", {ran.failed} failed" if ran.failed else ""
        lost = f", {ran.lost} lost with their workers and made again" if ran.lost else ""
        done += f"; {ran.measured} in this run, {duration(ran.seconds)}{failed}{lost}"
    show.paragraph(f"{done}.")


def _say_rejected(study: Study, status: Status) -> None:
    """Who rejected whom, and who could not be measured."""
    result = status.result
    by: dict[str, list[str]] = {}
    out = set(result.rejected)
    for margin in result.margins:
        if margin["candidate"] in out and margin["by"] is not None:
            by.setdefault(margin["by"], []).append(margin["candidate"])
    if by:
        most = sorted(by.items(), key=lambda pair: -len(pair[1]))
        rows = [[name, str(len(gone)), show.listed(gone)] for name, gone in most[:_LISTED]]
        show.draw(["rejected by", "n", "candidates"], rows, right=["n"])
        click.echo()
        if len(most) > _LISTED:
            rest = sum(len(gone) for _, gone in most[_LISTED:])
            show.paragraph(f"{rest} more by {len(most) - _LISTED} others.")
    reasons = study.reasons()
    if result.infeasible:
        rows = [[name, reasons.get(name, "")] for name in result.infeasible[:_LISTED]]
        show.draw(["infeasible", "why"], rows)
        click.echo()
        if len(result.infeasible) > _LISTED:
            show.paragraph(f"{len(result.infeasible) - _LISTED} more are infeasible.")


def _draw(status: Status) -> None:
    """The picture of the first two metrics."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    lines = picture(status.result, show.width(), plain=not encoding.startswith("utf"))
    if lines:
        click.echo("\n".join(lines) + "\n")


def _say_next(where: str, status: Status, ran: Ran | None, again: str) -> None:
    """What to do now."""
    if status.stop is not None:
        show.paragraph(f"The study is in {where}; to look again:")
        click.echo(f"  paretoscope result {shlex.quote(where)}")
        return
    why = {
        None: "Interrupted",
        "time": "The time is over",
        "measurements": "As many as were allowed are measured",
        "held": "Others have all measurements that are due",
    }[None if ran is None else ran.why]
    show.paragraph(f"{why}; nothing is lost. What stands above holds; to go on:")
    click.echo(f"  {again}")


def data(status: Status, ran: Ran | None) -> dict[str, Any]:
    """The result and what the run did, for scripts."""
    return look.result_data(status) | {"run": None if ran is None else ran._asdict()}


def export(status: Status, targets: dict[str, str | None]) -> None:
    """The result as files; targets by format."""
    result = status.result
    for format_, path in targets.items():
        if path is None:
            continue
        target: Any = sys.stdout if path == "-" else path
        if format_ == "json":
            text = json.dumps(show.plain(look.result_data(status)), indent=2, allow_nan=False)
            write_text(text + "\n", target)
        else:
            write_table(result.table(), target, "csv" if format_ == "csv" else "markdown")
