"""Commands that keep a study safe: export and import."""

from __future__ import annotations

import click

from paretoscope.cli import show
from paretoscope.cli.options import json_option, study_argument
from paretoscope.cli.target import check_target
from paretoscope.errors import DataError, UsageError
from paretoscope.ledger import open_ledger
from paretoscope.study.exchange import export_lines, import_study, schema_text


@click.command("export")
@click.argument("where", metavar="STUDY", required=False)
@click.argument("path", metavar="[FILE]", default="-")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a line instead.")
@json_option
def export_command(
    where: str | None, path: str, *, force: bool, schema: bool, as_json: bool
) -> None:
    """All events as JSON lines, to a file or to the terminal."""
    if schema:
        click.echo(schema_text(), nl=False)
        return
    if where is None:
        raise UsageError("give the study to export, or --schema")
    check_target(path, where, force=force)
    with open_ledger(where, create=False) as ledger:
        lines = list(export_lines(ledger))
    with click.open_file(path, "w", encoding="utf-8", atomic=path != "-") as file:
        file.writelines(lines)
    if path != "-":
        if as_json:
            show.emit({"events": len(lines), "file": path})
        else:
            click.echo(f"{show.count(len(lines), 'event')} in {path}.")


@click.command("import")
@click.argument("path", metavar="FILE")
@study_argument
@json_option
def import_command(path: str, where: str, *, as_json: bool) -> None:
    """A new study from exported events; all of them are checked before anything is written."""
    with click.open_file(path, encoding="utf-8") as file:
        try:
            events = import_study(file, where)
        except DataError as error:
            raise DataError(f"{path}, {error}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is no UTF-8 text: {error.reason}") from None
    if as_json:
        show.emit({"events": events, "study": where})
    else:
        click.echo(f"{show.count(events, 'event')} in {where}.")
