"""A group of commands that loads the room of a command only when it is called."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any, NamedTuple

import click

from paretoscope.errors import DataError, LedgerError, ParetoscopeError, UsageError, WorkersLost

# What a script can rely on.
DONE, USAGE, UNCERTIFIED, DATA, STORE, OUTSTANDING, WORKERS = 0, 2, 3, 4, 5, 6, 7
INTERRUPTED = 130  # as a shell says it
# Commands with a display of their own.
_SHOWING = {"run", "serve", "bench"}
_BLAME = {UsageError: USAGE, DataError: DATA, LedgerError: STORE, WorkersLost: WORKERS}


class Entry(NamedTuple):
    """Where a command lives, and what it does in a few words."""

    module: str
    said: str


class LazyGroup(click.Group):
    """Commands by name from a table; the help needs nothing but the table.

    The command ``do-it`` of the table is the function ``do_it_command`` of its module.
    """

    def __init__(self, *args: Any, entries: dict[str, Entry], **more: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **more)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of use."""
        del ctx
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, loaded now."""
        del ctx
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.said) for name, entry in self.entries.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (whatever the command returns)
        """Run a command; a mistake is one line on stderr and an exit code."""
        if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without ± shows a question mark
            sys.stdout.reconfigure(errors="replace")
        try:
            if {*sys.argv[1:2]} & _SHOWING:
                return super().invoke(ctx)
            from paretoscope.cli.busy import busy  # noqa: PLC0415  (the help needs none of it)

            with busy():
                return super().invoke(ctx)
        except ParetoscopeError as error:
            code = next((code for kind, code in _BLAME.items() if isinstance(error, kind)), 1)
            fail(f"{error} (nothing was stored)" if code == DATA else error, code)
        except KeyboardInterrupt:  # of a run that had not begun, or of anything else
            fail("interrupted", INTERRUPTED)
        except BrokenPipeError:
            raise  # the reader has gone: click knows what to do
        except OSError as error:
            fail(f"{error.filename or 'a file'}: {(error.strerror or str(error)).lower()}", USAGE)


def fail(message: object, code: int) -> None:
    """One line on stderr, then out."""
    click.echo("paretoscope: " + " ".join(str(message).split()), file=sys.stderr)
    raise click.exceptions.Exit(code)
