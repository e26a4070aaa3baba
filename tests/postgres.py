"""A real PostgreSQL server of our own, for as long as the tests run."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "16MB",
    "max_connections": "40",
    "autovacuum": "off",
    "restart_after_crash": "on",
}


def binaries():
    """The folder of initdb, pg_ctl and postgres, or None."""
    on_path = [Path(found).resolve().parent for found in (shutil.which("pg_ctl"),) if found]
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in [*on_path, *installed]:
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


def unprivileged():
    """Options of subprocess for a user that PostgreSQL agrees to run as: anyone but root."""
    if os.getuid():
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server in a temporary folder, on a socket there and on a port of the loopback."""

    def __init__(self, folder, programs, identity):
        self.folder, self.programs, self.identity = folder, programs, identity
        self.port = free_port()
        self.data = folder / "data"

    def run(self, program, *arguments):
        done = subprocess.run(
            [self.programs / program, *map(str, arguments)],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            **self.identity,
        )
        assert done.returncode == 0, done.stderr

    def initialise(self):
        self.run("initdb", "-D", self.data, "-U", "lab", "-A", "trust", "-E", "UTF8", "--no-sync")
        lines = SETTINGS | {"unix_socket_directories": f"'{self.folder}'", "port": str(self.port)}
        with (self.data / "postgresql.conf").open("a") as stream:
            stream.writelines(f"{name} = {value}\n" for name, value in lines.items())

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def kill_backend(self, pid):
        """As the kernel does when memory runs out; the server then restarts itself."""
        with psycopg.connect(self.admin()) as connection:
            known = connection.execute("SELECT pid FROM pg_stat_activity").fetchall()
        assert (pid,) in known
        os.kill(pid, signal.SIGKILL)

    def admin(self):
        return f"postgresql://lab@127.0.0.1:{self.port}/postgres"

    def address(self, study):
        return f"{self.admin()}?study={study}"

    def by_socket(self, study):
        return f"postgresql:///postgres?host={self.folder}&port={self.port}&user=lab&study={study}"


def running():
    """A server that runs until the generator goes on; skips where there is no PostgreSQL."""
    programs = binaries()
    if programs is None:
        pytest.skip("needs the server of PostgreSQL: initdb, pg_ctl and postgres were not found")
    identity = unprivileged()
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if identity:
            os.chown(folder, identity["user"], identity["group"])
        server = Server(folder, programs, identity)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


@pytest.fixture(scope="session")
def postgres_server():
    yield from running()
