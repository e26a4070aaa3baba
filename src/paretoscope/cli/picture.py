"""The command that draws: report."""

from __future__ import annotations

from pathlib import Path

import click

from paretoscope.cli import show
from paretoscope.cli.options import json_option, study_argument
from paretoscope.cli.target import check_target
from paretoscope.report.files import FORMATS, write
from paretoscope.study import Study


@click.command("report")
@study_argument
@click.argument("path", metavar="[FILE]", required=False)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="A page, or the front as a figure for a paper (default: told by the name, or html).",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def report_command(
    where: str, path: str | None, *, kind: str | None, force: bool, as_json: bool
) -> None:
    """The study as one file that opens offline: front, certificate, table and pictures.

    FILE is STUDY with the ending of its format if it is not given.
    """
    target = path or _named(where, kind or "html")
    check_target(target, where, force=force)
    with Study.open(where) as study:
        written = write(study, target, kind)
    size = written.stat().st_size
    if as_json:
        show.emit({"file": str(written), "bytes": size})
    else:
        click.echo(f"{written}, {size / 1e6:.1f} MB: open it in a browser or a viewer.")


def _named(where: str, kind: str) -> str:
    """A file beside the study; a study in a database gets one in this folder."""
    if where.startswith(("postgresql://", "postgres://")):
        return f"study.{kind}"
    return str(Path(where).with_suffix(f".{kind}"))
