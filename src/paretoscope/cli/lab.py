"""Commands around a batch: ask, tell, pending, release, withdraw, correct, history."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from paretoscope.cli import show
from paretoscope.cli.lazy import OUTSTANDING
from paretoscope.cli.options import (
    by_option,
    json_option,
    rows_option,
    sheet_options,
    study_argument,
)
from paretoscope.cli.target import check_target
from paretoscope.cli.terms import read_number
from paretoscope.errors import DataError, UsageError
from paretoscope.sheet import write_sheet
from paretoscope.study import Request, Status, Study
from paretoscope.study.book import Book, group_members, without_try
from paretoscope.study.speech import delivered
from paretoscope.summary import read_either, write_summary


def _write(
    study: Study,
    requests: Sequence[Request],
    path: str,
    rows: str = "measurement",
    **marks: Any,  # noqa: ANN401
) -> None:
    """The sheet to a file, or to stdout."""
    target = sys.stdout if path == "-" else path
    if rows == "candidate":
        write_summary(target, study.problem, requests)
        return
    write_sheet(target, study.problem, requests, **{k: v for k, v in marks.items() if v})


def _draw(requests: Sequence[Request]) -> None:
    """Requests on the terminal."""
    rows = [(r.uid, r.candidate, str(r.replicate), str(r.round)) for r in requests]
    numbers = ["replicate", "round"]
    show.draw(["uid", "candidate", *numbers], rows, right=numbers)


@click.command("ask")
@study_argument
@click.option("-n", type=int, metavar="N", help="At most so many (default: all of the round).")
@click.option("--csv", "path", metavar="FILE", help="Write the sheet here; - is the terminal.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@rows_option
@by_option
@sheet_options
@json_option
@click.pass_context
def ask_command(
    ctx: click.Context,
    /,
    where: str,
    *,
    n: int | None,
    path: str | None,
    force: bool,
    rows: str,
    by: str,
    as_json: bool,
    **marks: str | None,
) -> None:
    """Take the next measurements to make; they are yours until told or released.

    In the sheet leave a metric blank while it is not measured, and write FAILED where the candidate
    failed; the reason goes into the note.
    """
    check_target(path, where, force=force)
    with Study.open(where) as study:
        requests = study.ask(n, by=by)
        if path is not None and requests:
            try:
                _write(study, requests, path, rows, **marks)
            except BaseException:  # no sheet, no request: nobody would know of them
                study.release([request.uid for request in requests], "the sheet was not written")
                raise
        if as_json:
            show.emit({"requests": requests})
        elif path is None and requests:
            _draw(requests)
        elif path not in {None, "-"} and requests:
            _say_asked(where, requests, str(path))
        if not requests:
            ctx.exit(_nothing(study, quiet=as_json))


def _say_asked(where: str, requests: Sequence[Request], path: str) -> None:
    """What was asked for, and where it stands."""
    candidates = len({request.candidate for request in requests})
    made = show.count(len(requests), "measurement")
    show.paragraph(
        f"{made} of {show.count(candidates, 'candidate')} in {path} (round {requests[0].round})."
        f" Fill it in, then: paretoscope tell {where} {path}"
    )


def _nothing(study: Study, *, quiet: bool) -> int:
    """Why nothing was asked for, and the exit code of that."""
    status = study.status()
    if not quiet:
        said = f"Nothing to ask: {_why(status)}."
        click.echo(said, err=True)
    return OUTSTANDING if status.stop is None else show.standing(status)


def _why(status: Status) -> str:
    """Why there is nothing to ask for."""
    if status.stop is None:
        out = show.count(status.outstanding, "request is", "requests are")
        return f"{out} out; tell them, release them or withdraw them"
    if status.result.certified:
        return f"certified, {status.stop.value}"
    return f"stopped, {status.stop.value}; not certified: {status.result.certificate.reason}"


@click.command("tell")
@study_argument
@click.argument("sheet", metavar="SHEET")
@click.option("--dry-run", is_flag=True, help="Check the sheet, store nothing.")
@by_option
@sheet_options
@json_option
def tell_command(
    where: str,
    sheet: str,
    *,
    dry_run: bool,
    by: str,
    as_json: bool,
    **marks: Any,  # noqa: ANN401  (delimiter and decimal mark)
) -> None:
    """Hand a filled sheet in: all of its rows are stored, or none.

    A sheet may be told as often as it grows; what was told before is not counted twice.
    """
    source = sys.stdin if sheet == "-" else sheet
    with Study.open(where) as study:
        told = study.tell(read_either(source, study.problem, **marks), by=by, dry_run=dry_run)
        status = study.status()
        if as_json:
            warned = show.warnings(status.result)
            more = {"dry_run": dry_run, "stopped": status.stop is not None, "warnings": warned}
            show.emit({**told._asdict(), **more})
            return
        click.echo(("Would store: " if dry_run else "") + delivered(told) + ".")
        if not dry_run:
            show.paragraph(_then(status))
            _say_warnings(where, status)


def _say_warnings(where: str, status: Status) -> None:
    """What a person should hear of at once, and what it means."""
    for said in show.warnings(status.result):
        show.paragraph(f"Warning: {said}.")
    if any(a.verdict == "broken" for a in status.result.assumptions):
        show.paragraph(f"Nothing is certified while that stands: paretoscope doctor {where}")


def _then(status: Status) -> str:
    """What comes next."""
    if status.stop is not None:
        return f"Nothing more to measure: {_why(status)}."
    free = status.due - status.outstanding
    ready = f"{show.count(free, 'measurement')} to ask for" if free else "nothing to ask for"
    return f"Round {status.round}: {ready}, {status.outstanding} out."


# ---------------------------------------------------------------- requests that are out


@click.command("pending")
@study_argument
@click.option("--csv", "path", metavar="FILE", help="Write them as a sheet; - is the terminal.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@rows_option
@sheet_options
@json_option
def pending_command(
    where: str,
    *,
    path: str | None,
    force: bool,
    rows: str,
    as_json: bool,
    **marks: str | None,
) -> None:
    """Requests that are out, nothing told yet; with --csv a lost sheet is written again."""
    check_target(path, where, force=force)
    with Study.open(where) as study:
        requests = study.pending()
        if path is not None:
            _write(study, requests, path, rows, **marks)
        if as_json:
            show.emit({"requests": requests})
        elif path is None and requests:
            _draw(requests)
        elif requests and path != "-":
            click.echo(f"{show.count(len(requests), 'request')} in {path}.")
        elif not requests:
            click.echo("No request is out.", err=True)


@click.command("release")
@study_argument
@click.argument("uids", nargs=-1, metavar="[UID]...")
@click.option("--reason", default="given back", help="Kept with the event.")
@json_option
def release_command(where: str, uids: tuple[str, ...], *, reason: str, as_json: bool) -> None:
    """Give requests back, all that are out by default: they will be asked again."""
    with Study.open(where) as study:
        given = study.release(uids or None, reason)
    _say_count({"released": given}, f"{show.count(given, 'request')} released.", as_json=as_json)


@click.command("withdraw")
@study_argument
@click.argument("uids", nargs=-1, required=True, metavar="UID...")
@click.option("--reason", required=True, help="Kept with the event.")
@json_option
def withdraw_command(where: str, uids: tuple[str, ...], *, reason: str, as_json: bool) -> None:
    """Write requests off: their measurements will never come.

    Certificates are worked out from the measurements that were really made.
    """
    with Study.open(where) as study:
        given = study.withdraw(uids, reason)
    _say_count({"withdrawn": given}, f"{show.count(given, 'request')} withdrawn.", as_json=as_json)


def _say_count(data: dict[str, int], said: str, *, as_json: bool) -> None:
    """A number, for scripts or for people."""
    if as_json:
        show.emit(data)
    else:
        click.echo(said)


@click.command("correct")
@study_argument
@click.argument("uid")
@click.argument("values", nargs=-1, required=True, metavar="METRIC=VALUE...")
@click.option("--sd", multiple=True, metavar="METRIC=SD", help="Of a row that sums up several.")
@click.option("--reason", required=True, help="Kept with the event.")
@json_option
def correct_command(
    where: str,
    uid: str,
    values: tuple[str, ...],
    *,
    sd: tuple[str, ...],
    reason: str,
    as_json: bool,
) -> None:
    """Replace values that were told wrongly; all that followed is worked out again.

    Metrics that are not named keep their values. A row of a sheet by candidate is corrected as a whole:
    VALUE is its mean.
    """
    named, spread = (dict(map(_assignment, texts)) for texts in (values, sd))
    with Study.open(where) as study:
        before, deviations = _told_before(study, uid)
        if not before:
            raise DataError(f"uid {uid!r} has not been told: there is nothing to correct")
        if sd and not deviations:
            raise UsageError(f"--sd {sd[0]}: {uid} is a single measurement, which has none")
        after = before | named
        study.correct(uid, after, reason, deviations | spread)
        status = study.status()
    if as_json:
        show.emit({"uid": uid, "before": before, "after": after})
        return
    changed = ", ".join(f"{k} {show.number(before.get(k), 6)} -> {v:g}" for k, v in named.items())
    click.echo(f"Corrected {uid}: {changed}.")
    show.paragraph(_then(status))


def _assignment(text: str) -> tuple[str, float]:
    """A metric and its value."""
    name, equals, value = text.rpartition("=")
    if not equals:
        raise UsageError(f"{text}: write METRIC=VALUE")
    return name, read_number(text, value)


def _told_before(study: Study, uid: str) -> tuple[dict[str, float | None], dict[str, Any]]:
    """The values of a request as they were told, and the deviations of a group; nothing if not told."""
    book = Book()
    for number, event in study.ledger.read():
        book.apply(number, event)
    names = [metric.name for metric in study.problem.metrics]
    name, _ = without_try(uid)
    _, deviations = book.sums.get(name, (0, ()))
    first = (group_members(name) or [name])[0] if deviations or name in book.values else ""
    values = book.values.get(first, ())
    return dict(zip(names, values, strict=False)), dict(zip(names, deviations, strict=False))


@click.command("history")
@study_argument
@click.argument("path", metavar="FILE")
@sheet_options
@json_option
def history_command(
    where: str,
    path: str,
    *,
    as_json: bool,
    **marks: Any,  # noqa: ANN401  (delimiter and decimal mark)
) -> None:
    """Add earlier measurements: they enter estimates and plots, never a certificate.

    The table has the columns candidate and every metric; all of its rows are stored, or none. The
    same table given twice is added once.
    """
    source = sys.stdin if path == "-" else path
    with Study.open(where) as study:
        added = study.add_history(source, **marks)
    said = f"{show.count(added, 'earlier measurement')} added."
    if not added:
        said = "Nothing added: the table has no rows, or was added before."
    _say_count({"added": added}, said, as_json=as_json)
