from __future__ import annotations

import socket
import time
from contextlib import closing, suppress
from threading import Thread
from uuid import uuid4

import pytest

from paretoscope.errors import Conflict, LedgerError, UsageError
from paretoscope.ledger import SCHEMA, open_ledger
from paretoscope.ledger import postgres as module
from tests.ledger import workers
from tests.postgres import wait_until

BACKENDS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"


@pytest.fixture
def where(postgres):
    return postgres.address(uuid4().hex)


@pytest.fixture
def ledger(where):
    with open_ledger(where, create=True) as opened:
        yield opened


@pytest.fixture
def database(postgres):
    """The name of a database without any table."""
    name = f"fresh_{uuid4().hex}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return name


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.2)


def everybody_out(postgres):
    """End every other connection, as an administrator does."""
    with postgres.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = 'tester' AND pid <> pg_backend_pid()"
        )
        wait_until(lambda: connection.execute(BACKENDS).fetchone() == (1,))


# ---------------------------------------------------------------- addresses and studies


def test_a_study_that_does_not_exist_is_not_created(postgres, database):
    for _ in range(2):
        with pytest.raises(LedgerError, match="study=b does not exist: create the study first"):
            open_ledger(postgres.address("b", database=database), create=False)
    open_ledger(postgres.address("a", database=database), create=True).close()
    with pytest.raises(LedgerError, match="does not exist"):
        open_ledger(postgres.address("b", database=database), create=False)


def test_studies_do_not_meet(where, ledger):
    with open_ledger(f"{where}%20other", create=True) as other:
        assert ledger.append([{"a": 1}], expect=0) == 1
        assert other.append([{"b": 1}, {"b": 2}], expect=0) == 2
        assert ledger.read() == [(1, {"a": 1})]
        assert "%20other" in repr(other)


@pytest.mark.usefixtures("ledger")
def test_a_newer_schema_is_refused(postgres, where):
    with postgres.connect() as connection:
        update = "UPDATE paretoscope_studies SET schema = %s WHERE study = %s"
        connection.execute(update, (SCHEMA + 1, where.rpartition("=")[2]))
    for create in (False, True):
        with pytest.raises(LedgerError, match=f"has schema {SCHEMA + 1}.*: install"):
            open_ledger(where, create=create)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:secret@host/db",
        "postgresql://ann:secret@host/db?study=",
        "postgresql://ann:secret@host/db?study=a&study=b",
        "postgresql://ann:secret@host/db?study=a&colour=red",
        "postgresql://ann:secret@[host/db?study=a",
    ],
)
def test_an_address_that_makes_no_sense_is_refused_without_its_password(address):
    with pytest.raises(UsageError, match=r"study=NAME") as caught:
        open_ledger(address, create=True)
    assert "secret" not in str(caught.value)


def test_an_address_may_say_how_to_connect():
    address = "postgres://ann@lab:5433/db?connect_timeout=3&study=a%3Db&application_name=x"
    shown, study, options = module.parse_address(address)
    assert (shown, study) == ("postgresql://lab:5433/db?study=a%3Db", "a=b")
    assert options["connect_timeout"] == "3"
    assert options["application_name"] == "x"
    assert options["keepalives_idle"] == module.DEFAULTS["keepalives_idle"]


def test_a_server_that_is_not_there_is_explained_at_once():
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"postgresql://a:secret@127.0.0.1:{taken.getsockname()[1]}/db?study=a"
        start = time.monotonic()
        with pytest.raises(LedgerError, match="check that the server runs") as caught:
            open_ledger(address, create=True)
    assert time.monotonic() - start < 5
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("attempt", range(3))
def test_many_create_the_tables_at_once(postgres, database, attempt):
    where = postgres.address("a", database=database)
    names = range(8)
    workers.all_succeed(
        [workers.fork(workers.create_and_report, where, name, 1 + attempt) for name in names]
    )
    with open_ledger(where, create=False) as ledger:
        workers.check_reports(ledger.read(), names, 1 + attempt)


# ---------------------------------------------------------------- transactions


def test_commits_are_durable_and_see_what_is_stored_whatever_the_server_prefers(where):
    options = "-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Dserializable"
    address = f"{where}&options={options}"
    with open_ledger(address, create=True) as ledger:
        ledger._begin(ledger._connection)
        for setting, value in (
            ("synchronous_commit", "on"),
            ("transaction_isolation", "read committed"),
        ):
            assert ledger._connection.execute(f"SHOW {setting}").fetchone() == (value,)
    names = range(4)
    workers.all_succeed([workers.fork(workers.create_and_report, address, n, 10) for n in names])
    with open_ledger(address, create=False) as ledger:
        workers.check_reports(ledger.read(), names, 10)


@pytest.mark.usefixtures("impatient")
def test_a_conflict_leaves_no_transaction_and_no_lock(ledger, where):
    with open_ledger(where, create=False) as other:
        other.append([{"a": 1}], expect=0)
        with pytest.raises(Conflict):
            ledger.append([{"a": 2}], expect=0)
        assert other.append([{"a": 2}], expect=1) == 2


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_never_ends_is_explained(ledger, where):
    with open_ledger(where, create=False) as other:
        other._begin(other._connection)
        with pytest.raises(LedgerError, match="another writer has held the study") as caught:
            ledger.append([{"a": 1}], expect=0)
        assert not isinstance(caught.value, Conflict)
        other._connection.rollback()
        assert ledger.append([{"a": 1}], expect=0) == 1


def test_text_that_a_database_cannot_hold_is_refused_whole(postgres, database):
    name = f"{database}_latin"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    with open_ledger(postgres.address("a", database=name), create=True) as ledger:
        assert ledger.append([{"é": 1}], expect=0) == 1
        with pytest.raises(LedgerError, match="LATIN1"):
            ledger.append([{"a": 1}, {"中": 2}], expect=1)
        assert ledger.read() == [(1, {"é": 1})]


# ---------------------------------------------------------------- lost connections


def test_a_lost_connection_is_replaced(postgres, ledger):
    for number in range(3):
        everybody_out(postgres)
        assert ledger.append([{"number": number}], expect=number) == number + 1
        everybody_out(postgres)
        assert len(ledger.read()) == number + 1


class Wire:
    """A line to the server that is cut at COMMIT, once for every fate in the list.

    ``before``: the server never hears it; ``after``: its answer is lost; ``late``: the server hears
    it only when the client has come back; ``gone``: as ``after``, and nobody gets through any more.
    """

    def __init__(self, port, fates):
        self.port, self.fates = port, list(fates)
        self.open, self.dead = True, False
        self.ears = socket.create_server(("127.0.0.1", 0))
        self.sockets = []
        self.listener = Thread(target=self.listen)
        self.listener.start()

    def __enter__(self):
        return self.ears.getsockname()[1]

    def __exit__(self, *error):
        self.open = False
        socket.create_connection(self.ears.getsockname()).close()  # ends the waiting
        self.listener.join()
        for each in (self.ears, *self.sockets):
            each.close()

    def listen(self):
        while self.open:
            client, _ = self.ears.accept()
            if self.dead or not self.open:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.port))
            self.sockets += [client, server]
            Thread(target=self.carry, args=(client, server), daemon=True).start()
            Thread(target=copy, args=(server, client), daemon=True).start()

    def carry(self, client, server):
        with suppress(OSError):
            while said := client.recv(1 << 16):
                if b"COMMIT\0" in said and self.fates:
                    self.cut(client, server, said)
                    return
                server.sendall(said)
        hang_up(server)

    def cut(self, client, server, said):
        fate = self.fates.pop(0)
        self.dead = fate == "gone"
        if fate in {"after", "gone"}:
            server.shutdown(socket.SHUT_RD)  # no answer is carried back
            server.sendall(said)
            time.sleep(0.05)
        hang_up(client)
        if fate == "late":
            time.sleep(0.3)
            server.sendall(said)
        hang_up(server)


def copy(source, target):
    with suppress(OSError):
        while heard := source.recv(1 << 16):
            target.sendall(heard)


def hang_up(line):
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def through(where, postgres, port):
    return where.replace(f":{postgres.port}/", f":{port}/")


@pytest.mark.parametrize("fate", ["before", "after", "late"])
@pytest.mark.parametrize("seen", [1, None])
def test_a_batch_whose_commit_got_lost_is_stored_once(postgres, where, ledger, fate, seen):
    ledger.append([{"a": 1}], expect=0)
    with (
        Wire(postgres.port, [fate]) as port,
        open_ledger(through(where, postgres, port), create=False) as far,
    ):
        assert far.append([{"a": 2}, {"a": 3}], expect=seen) == 3
        assert [event["a"] for _, event in far.read()] == [1, 2, 3]
        assert far.append([{"a": 4}], expect=3) == 4
    assert [event["a"] for _, event in ledger.read()] == [1, 2, 3, 4]


def test_others_who_were_faster_than_the_second_attempt_win(postgres, where, ledger):
    """The token is looked for, not the number: another writer's event is not taken for ours."""
    with (
        Wire(postgres.port, ["before"]) as port,
        open_ledger(through(where, postgres, port), create=False) as far,
    ):
        connect = far._connect
        far._connect = lambda create: (ledger.append([{"faster": 1}], None), connect(create))[1]
        with pytest.raises(Conflict):
            far.append([{"slower": 1}], expect=0)
    assert ledger.read() == [(1, {"faster": 1})]


def test_a_line_that_breaks_at_every_commit_is_explained(postgres, where, ledger):
    with (
        Wire(postgres.port, ["before", "before"]) as port,
        open_ledger(through(where, postgres, port), create=False) as far,
        pytest.raises(LedgerError, match="lost twice; nothing of this was stored"),
    ):
        far.append([{"a": 1}], expect=0)
    assert ledger.read() == []


@pytest.mark.usefixtures("impatient")
def test_what_nobody_can_know_is_said(postgres, where, ledger):
    with (
        Wire(postgres.port, ["gone"]) as port,
        open_ledger(through(where, postgres, port), create=False) as far,
        pytest.raises(LedgerError, match="not known whether event 1 and those after it are kept"),
    ):
        far.append([{"a": 1}], expect=0)
    assert ledger.read() == [(1, {"a": 1})]
