"""A real PostgreSQL server for the tests: private, on a free port, gone when they end."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

USERS = ("postgres", "nobody")  # who runs the server where the tests run as root, which it refuses
# Little memory; everything that makes a commit durable stays as it is by default (fsync is on).
SETTINGS = (
    "shared_buffers=16MB",
    "max_connections=60",
    "autovacuum=off",
    "log_min_messages=fatal",
    "recovery_init_sync_method=syncfs",
)


@dataclass
class Server:
    """A cluster in a folder of its own, owned by a user that PostgreSQL accepts."""

    folder: Path
    binaries: Path
    user: str | None
    port: int = field(default=0)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def address(self, study: str, *, port: int | None = None, database: str = "postgres") -> str:
        place = f"127.0.0.1:{port or self.port}/{database}"
        return f"postgresql://tester@{place}?sslmode=disable&gssencmode=disable&study={study}"

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.address("").partition("?")[0], autocommit=True)

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs, which must succeed."""
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            user=self.user,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would never end
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            log = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
            raise RuntimeError(f"{program} {arguments} failed\n{log}")

    def create(self) -> None:
        self.run(
            "initdb", "--no-sync", "--auth=trust", "--username=tester", "--encoding=UTF8",
            "--locale=C", "--pgdata=data",
        )  # fmt: skip
        with (self.folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write("\n".join((*SETTINGS, f"unix_socket_directories='{self.folder}'", "")))

    def start(self) -> None:
        """Start on a port that is free, again on the same one after a stop."""
        for _ in range(5):  # somebody may take a free port before the server does
            port = self.port or free_port()
            options = f"-p {port} -c listen_addresses=127.0.0.1"
            try:
                self.run("pg_ctl", "start", "-w", "-D", "data", "-l", str(self.log), "-o", options)
            except RuntimeError:
                if self.port:
                    raise
                continue
            self.port = port
            return
        raise RuntimeError(f"no server after five attempts\n{self.log.read_text('utf-8')}")

    def guard(self) -> subprocess.Popen[bytes]:
        """A process that stops and removes the server once its input ends, as it does at a kill."""
        clean = 'read -r _; "$0" stop -D "$1/data" -m immediate; rm -rf "$1"'
        return subprocess.Popen(
            ["/bin/sh", "-c", clean, str(self.binaries / "pg_ctl"), str(self.folder)],
            user=self.user,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt of the tests is none of the guard
        )

    def stop(self, mode: str) -> None:
        """``fast`` ends orderly, ``immediate`` like a power cut of this one program."""
        self.run("pg_ctl", "stop", "-w", "-D", "data", "-m", mode)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_binaries() -> Path | None:
    """The folder of initdb, pg_ctl and postgres: on PATH, or where Debian keeps the newest."""
    candidates = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(debian, key=lambda path: int(path.parent.name), reverse=True)
    complete = (path for path in candidates if (path / "pg_ctl").exists())
    return next(complete, None)


def server_user() -> str | None:
    """Nobody special, unless the tests run as root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in USERS if name in known)


RUNNING = pytest.StashKey[Server]()


def start_server(config: pytest.Config) -> Server:
    """A server that is stopped and removed when the tests end, however they do."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("needs the server programs of PostgreSQL (initdb, pg_ctl): install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="paretoscope-pg-"))  # short: a socket's path is limited
    server = Server(folder, binaries, server_user())
    if server.user is not None:
        shutil.chown(folder, server.user)
    config.add_cleanup(server.guard().communicate)  # closes its input and waits for its end
    server.create()
    server.start()
    return server


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Server:
    """The one server of this process, whichever folder of tests asks for it."""
    stash = request.config.stash
    if RUNNING not in stash:
        stash[RUNNING] = start_server(request.config)
    return stash[RUNNING]


def wait_until(condition, seconds: float = 10.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
