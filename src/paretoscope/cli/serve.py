"""The command that shows studies in a browser: serve."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from paretoscope.cli import show
from paretoscope.cli.options import json_option
from paretoscope.errors import UsageError

# Modules of the extra.
_EXTRA = ("starlette", "uvicorn", "python_multipart", "jinja2", "plotly")


@click.command("serve")
@click.argument("places", metavar="STUDY...", nargs=-1, required=True)
@click.option("--allow-write", is_flag=True, help="Let the page ask, tell and create.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", help="Where to listen; elsewhere asks for a token.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name of this server.")
@click.option("--token", is_flag=True, help="Ask for a token on this machine as well.")
@json_option
def serve_command(
    places: tuple[str, ...],
    *,
    allow_write: bool,
    port: int,
    host: str,
    allow_host: tuple[str, ...],
    token: bool,
    as_json: bool,
) -> None:
    """Studies in a browser, live while others measure; STUDY is a file, a folder of them, or a database.

    Only this machine can come in, and only to look, unless you say otherwise. Ctrl-C ends it.
    """
    served = _room()
    served.serve(
        places,
        host=host,
        port=port,
        allow_write=allow_write,
        token=token,
        names=allow_host,
        ready=lambda place: _say(place, allow_write=allow_write, as_json=as_json),
    )


def _room() -> Any:  # noqa: ANN401  (a module)
    """The room that serves, which is loaded only here."""
    if not all(map(find_spec, _EXTRA)):
        raise UsageError("a live page needs more: pip install 'paretoscope[web]'")
    return import_module("paretoscope.web")


def _say(place: Any, *, allow_write: bool, as_json: bool) -> None:  # noqa: ANN401  (`server.Place`)
    """Where it is, for a person or a script."""
    if as_json:
        show.emit({"address": place.address, "link": place.link, "write": allow_write})
        return
    if not place.alone:
        show.paragraph(
            "Warning: anybody in the network who has this link can"
            f" {'read and change' if allow_write else 'read'} what is served, and the connection is not"
            " encrypted. A tunnel (ssh -L) to a server on 127.0.0.1 is safer."
        )
    click.echo(place.link)
    can = "It can be written to." if allow_write else "It is read only (--allow-write)."
    click.echo(f"{can} Ctrl-C ends it.")
