"""The server: where it listens, what it says on the terminal, how it ends."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

import uvicorn

from paretoscope.errors import UsageError
from paretoscope.web.app import application
from paretoscope.web.guard import Rules
from paretoscope.web.shelf import Shelf

# Seconds in which answers that are on their way may still arrive after Ctrl-C.
_GRACE = 2
_TOKEN = 32  # bytes: 256 bits


@dataclass(frozen=True)
class Place:
    """Where a server is to be found."""

    address: str
    token: str | None
    alone: bool  # whether only this machine can come in

    @property
    def link(self) -> str:
        """The address to open, with the token that opens it."""
        return self.address if self.token is None else f"{self.address}?token={self.token}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nobody else."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    places: Iterable[str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_write: bool = False,
    token: bool = False,
    names: Iterable[str] = (),
    ready: Callable[[Place], object],
) -> None:
    """Serve studies until Ctrl-C.

    Parameters
    ----------
    places : addresses
        Files, a folder of files, databases.
    host, port : str, int
        Where to listen; port 0 is any that is free.
    allow_write : bool
        Whether the pages may change anything.
    token : bool
        Whether one is asked for on this machine too; from elsewhere it always is.
    names : list of str
        Other names by which browsers call this server.
    ready : callable
        Told where it is once it can be reached.

    Raises
    ------
    UsageError
        If a study is missing, or nothing can listen there.
    LedgerError
        If a study cannot be opened.
    """
    shelf, alone = Shelf(places), is_loopback(host)
    shelf.check()
    with _listening(host, port) as listener:
        port = listener.getsockname()[1]
        secret = None if alone and not token else secrets.token_urlsafe(_TOKEN)
        rules = Rules(_hosts(host, names), allow_write, secret, cookie=f"paretoscope-{port}")
        server = _server(shelf, rules)
        shown = f"[{host}]" if ":" in host else _named(host)
        ready(Place(f"http://{shown}:{port}/", secret, alone))
        try:
            with suppress(KeyboardInterrupt):  # uvicorn passes it on when it has ended
                server.run(sockets=[listener])
        finally:
            shelf.close()


def _server(shelf: Shelf, rules: Rules) -> uvicorn.Server:
    """Uvicorn without a log of addresses, which may hold a token."""
    made: list[uvicorn.Server] = []
    app = application(shelf, rules, lambda: made[0].should_exit)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        http="h11",
        ws="none",
        lifespan="off",
    )
    made.append(uvicorn.Server(config))
    return made[0]


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise UsageError(f"{host} port {port}: {said}: give another --host or --port") from None


def _hosts(host: str, names: Iterable[str]) -> set[str]:
    """Names under which a server may be called."""
    own = {"localhost", "127.0.0.1", "::1"} if is_loopback(host) or _everywhere(host) else set()
    return own | {host.lower(), _named(host).lower()} | {name.lower() for name in names}


def _everywhere(host: str) -> bool:
    """Whether a host stands for every address of this machine."""
    return host in {"0.0.0.0", "::"}  # noqa: S104  (compared, not listened at)


def _named(host: str) -> str:
    """A host as others call it."""
    return socket.gethostname() if _everywhere(host) else host
