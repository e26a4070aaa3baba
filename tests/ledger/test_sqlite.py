from __future__ import annotations

import gc
import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from paretoscope.errors import Conflict, LedgerError, UsageError
from paretoscope.ledger import SCHEMA, SqliteLedger, open_ledger, sqlite
from paretoscope.ledger.base import decode
from tests.ledger import workers

ASSETS = Path(__file__).resolve().parents[1] / "assets"
NOBODY = 65534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.study"


def create(path, records=()):
    with open_ledger(path, create=True) as ledger:
        ledger.append(records, expect=0)


def database(path, *statements):
    """Another program's work on a database file."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def contents(folder):
    """Every byte of a folder, and when it was written."""
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file()}


# ---------------------------------------------------------------- files that are refused


def in_use(path):
    """A foreign database with its log beside it, as its program leaves it while it runs."""
    live = path.with_name("live")
    connection = sqlite3.connect(live)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT)")
    for suffix in ("", "-wal"):
        shutil.copy(f"{live}{suffix}", f"{path}{suffix}")
    connection.close()
    live.unlink()


FOREIGN = {
    "random bytes": lambda path: path.write_bytes(np.random.default_rng(1).bytes(9000)),
    "a short text": lambda path: path.write_text("id,width\n1,2\n", encoding="utf-8"),
    "a long text": lambda path: path.write_text("id,width\n1,2\n" * 900, encoding="utf-8"),
    "no study": lambda path: database(path, "CREATE TABLE events (number INTEGER, body TEXT)"),
    "another application": lambda path: database(path, "PRAGMA application_id = 7"),
    "in use": in_use,
    "the beginning of a database": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\0" * 50),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("allowed", [True, False])
def test_foreign_files_are_refused_and_not_touched(tmp_path, path, kind, allowed):
    FOREIGN[kind](path)
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="choose another name"):
        open_ledger(path, create=allowed)
    assert contents(tmp_path) == before


def test_a_newer_schema_is_refused_and_not_touched(tmp_path, path):
    create(path)
    database(path, f"PRAGMA user_version = {SCHEMA + 1}")
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match=rf"has schema {SCHEMA + 1}.* up to {SCHEMA}: install"):
        open_ledger(path, create=True)
    assert contents(tmp_path) == before


def test_what_is_missing_or_empty_is_created_only_when_asked(tmp_path, path):
    with pytest.raises(LedgerError, match="create the study first"):
        open_ledger(path, create=False)
    assert contents(tmp_path) == {}
    path.touch()
    before = contents(tmp_path)
    with pytest.raises(LedgerError, match="is empty: create the study first"):
        open_ledger(path, create=False)
    assert contents(tmp_path) == before
    create(path, [{}])
    with pytest.raises(LedgerError, match="is not a file"):
        open_ledger(tmp_path, create=True)
    with pytest.raises(LedgerError, match="check that the folder exists"):
        open_ledger(tmp_path / "missing" / "a.study", create=True)


def test_files_of_every_released_schema_keep_opening(path):
    for schema in range(1, SCHEMA + 1):
        shutil.copy(ASSETS / f"ledger-schema-{schema}.study", path)
        with open_ledger(path, create=False) as ledger:
            assert ledger.read() == [(1, {"kind": "created", "y": [0.1, -0.0], "é": None}), (2, {})]
            assert ledger.append([{"later": True}], expect=2) == 3


def test_a_store_that_was_changed_by_hand_is_noticed(path):
    create(path, [{"a": 1}, {"a": 2}, {"a": 3}])
    database(path, "DELETE FROM events WHERE number = 2")
    with open_ledger(path, create=False) as ledger, pytest.raises(LedgerError, match="missing"):
        ledger.read()
    database(path, "INSERT INTO events VALUES (2, '{\"a\":2},{')")
    with open_ledger(path, create=False) as ledger:
        with pytest.raises(LedgerError, match="after number 0 is damaged"):
            ledger.read()
        assert ledger.read(after=2) == [(3, {"a": 3})]
    database(path, "DROP TABLE events")
    with open_ledger(path, create=False) as ledger, pytest.raises(LedgerError, match="no such"):
        ledger.read()
    with pytest.raises(LedgerError, match="damaged"):
        decode([(1, '{"a":1},{"a":2}')], 0)  # two records in the place of one


# ---------------------------------------------------------------- folders and disks


def as_nobody(work, *arguments):
    """Work of a process without special rights; root may write everywhere."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with pytest.raises(LedgerError, match=r"writable|permissions"):
        work(*arguments)


@pytest.fixture
def open_folder():
    """A folder that other users can reach; pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="paretoscope-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_read_only_folder_is_explained(open_folder, mode):
    create(open_folder / "old.study", [{"a": 1}])
    before = contents(open_folder)
    (open_folder / "old.study").chmod(0o444)
    open_folder.chmod(mode)
    for name, fresh in (("new.study", True), ("old.study", False)):
        child = workers.fork(
            as_nobody, lambda p, c: open_ledger(p, create=c), open_folder / name, fresh
        )
        workers.all_succeed([child])
    open_folder.chmod(0o755)
    assert contents(open_folder) == before


def fill(path, limit, mounted=False):
    """Append until the disk is full; then what was stored is there, and nothing else."""
    with open_ledger(path, create=True) as ledger:
        last = 0
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with suppress(LedgerError):
            while last < 10_000:
                last = workers.append_batch(ledger, last, 1 + last % 50)
        assert workers.check_whole(ledger.read()) == last > 0
        with pytest.raises(LedgerError, match=r"free some space|its limits"):
            ledger.append([{"text": "x" * limit}], expect=last)
        assert workers.check_whole(ledger.read()) == last < 10_000


def check_after_filling(path):
    with open_ledger(path, create=False) as ledger:
        last = workers.check_whole(ledger.read())
        assert workers.append_batch(ledger, last, 5) == last + 5
        assert workers.check_whole(ledger.read()) == last + 5


@pytest.mark.parametrize("limit", [70_000, 123_456, 200_001])
def test_a_file_that_may_not_grow(path, limit):
    workers.all_succeed([workers.fork(fill, path, limit)])
    check_after_filling(path)


def test_a_database_that_may_not_grow(path):
    with open_ledger(path, create=True) as ledger:
        ledger._connection.execute("PRAGMA max_page_count = 5")  # SQLite then says: disk full
        with pytest.raises(LedgerError, match="nothing of this was stored; free some space"):
            ledger.append([{"text": "x" * 3000}] * 20, expect=0)
        assert ledger.read() == []
        assert ledger.append([{"small": True}], expect=0) == 1
    with SqliteLedger(path, create=False) as ledger:
        assert ledger.read() == [(1, {"small": True})]


def system(program, *arguments):
    """Whether a program of the system exists and succeeds."""
    found = shutil.which(program)
    if found is None:
        return False
    return subprocess.run([found, *arguments], check=False, capture_output=True).returncode == 0


def test_a_full_disk(tmp_path):
    """A disk of 300 kB where one can be mounted, else a limit on every file."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = system("mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk)
    try:
        workers.all_succeed([workers.fork(fill, disk / "a.study", 300_000, mounted)])
        if mounted:
            assert system("mount", "-o", "remount,size=2m", disk)
        check_after_filling(disk / "a.study")
    finally:
        if mounted:
            assert system("umount", disk)


# ---------------------------------------------------------------- the log


def copy_live(path, target, cut=None):
    """The file of a running ledger and the first bytes of its log; the number of bytes of all."""
    shutil.copy(path, target)
    log = Path(f"{path}-wal").read_bytes()
    Path(f"{target}-wal").write_bytes(log[:cut])
    return len(log)


def test_a_log_that_is_cut_off_leaves_a_prefix(tmp_path, path, monkeypatch):
    monkeypatch.setattr(SqliteLedger, "_empty_log", lambda *_: None)  # as while others read
    luck, cut_path = np.random.default_rng(2), tmp_path / "cut.study"
    found = set()
    with open_ledger(path, create=True) as ledger:
        last = workers.append_batch(ledger, 0, 150)  # copied into the file ...
        ledger._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for size in (1, 2, 30, 4, 5, 60) * 2:  # ... and these only into the log
            last = workers.append_batch(ledger, last, size)
        length = copy_live(path, cut_path)
        assert length > 50_000
        for cut in [0, *luck.integers(length, size=50), length]:
            copy_live(path, cut_path, cut)
            found.add(reopened(cut_path))
    assert min(found) == 150
    assert max(found) == last
    assert len(found) > 5


def reopened(path):
    """How many events a cut store holds; it goes on from there."""
    with open_ledger(path, create=False) as ledger:
        last = workers.check_whole(ledger.read())
        workers.append_batch(ledger, last, 3)
        assert workers.check_whole(ledger.read()) == last + 3
    for leftover in path.parent.glob(f"{path.name}-*"):
        leftover.unlink()
    return last


def test_the_file_alone_holds_everything_after_every_append(path):
    """So that whoever copies it, or moves it, has all that was acknowledged."""
    with open_ledger(path, create=True) as ledger:
        last = 0
        for size in (1, 40, 3, 500):
            last = workers.append_batch(ledger, last, size)
            assert Path(f"{path}-wal").stat().st_size == 0
            shutil.copy(path, path.with_name("copy.study"))
            with open_ledger(path.with_name("copy.study"), create=False) as copied:
                assert workers.check_whole(copied.read()) == last
    assert not Path(f"{path}-wal").exists()


def test_a_reader_who_takes_long_delays_nobody(path, monkeypatch):
    monkeypatch.setattr(sqlite, "READERS", 0.05)
    with open_ledger(path, create=True) as ledger:
        ledger.append([{"a": 1}], expect=0)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        assert ledger.append([{"a": 2}], expect=1) == 2
        assert Path(f"{path}-wal").stat().st_size > 0
        assert len(reader.execute("SELECT * FROM events").fetchall()) == 1
        reader.close()
        (timeout,) = ledger._connection.execute("PRAGMA busy_timeout").fetchone()
        assert timeout == sqlite.PATIENCE * 1000
        assert ledger.append([{"a": 3}], expect=2) == 3
        assert Path(f"{path}-wal").stat().st_size == 0


def test_commits_reach_the_disk(path):
    with open_ledger(path, create=True) as ledger:
        (mode,) = ledger._connection.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = ledger._connection.execute("PRAGMA synchronous").fetchone()
    assert (mode, synchronous) == ("wal", 2)  # 2: FULL, the log is flushed at every commit


# ---------------------------------------------------------------- many at once


def come_and_go(path, name, times):
    for _ in range(times):
        with open_ledger(path, create=True) as ledger:
            ledger.append([{"by": name}], expect=None)


@pytest.mark.parametrize("attempt", range(5))
def test_many_create_open_and_close_at_once(path, attempt):
    names = range(8)
    workers.all_succeed([workers.fork(come_and_go, path, name, 2 + attempt) for name in names])
    with open_ledger(path, create=False) as ledger:
        writers = [event["by"] for _, event in ledger.read()]
    assert sorted(writers) == sorted([*names] * (2 + attempt))


def test_a_store_that_others_hold_too_long_is_explained(path, monkeypatch):
    create(path)
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    with open_ledger(path, create=False) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another program") as caught:
            ledger.append([{"a": 1}], expect=0)
        assert not isinstance(caught.value, Conflict)
        other.execute("COMMIT")
        other.close()
        assert ledger.append([{"a": 1}], expect=0) == 1


def test_another_working_directory_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_ledger("a.study", create=True) as ledger:
        monkeypatch.chdir("/")
        ledger._disconnect()  # as before a fork
        assert ledger.append([{"a": 1}], expect=0) == 1
        assert repr(ledger) == "SqliteLedger('a.study')"


def test_a_file_that_went_away_is_not_made_anew(path):
    with open_ledger(path, create=True) as ledger:
        ledger._disconnect()
        path.unlink()
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            ledger.append([{"a": 1}], expect=0)
    assert not path.exists()


def moved(path):
    path.rename(path.with_name("moved.study"))


def replaced(path):
    moved(path)
    create(path, [{"another": "study"}])


def restored(path):
    """An older copy is put in the place of the file."""
    shutil.copy(path, path.with_name("copy"))
    moved(path)
    path.with_name("copy").rename(path)


@pytest.mark.parametrize("change", [moved, replaced, restored])
def test_nothing_is_written_where_nobody_would_find_it(path, change):
    """What was stored before is whole in the moved file, though its log had another name."""
    with open_ledger(path, create=True) as ledger:
        last = workers.append_batch(ledger, 0, 30)
        change(path)
        before = contents(path.parent) if path.exists() else {}
        for use in (lambda: ledger.append([{"late": 1}], expect=last), ledger.read) * 2:
            with pytest.raises(LedgerError, match="moved, deleted or replaced while it was open"):
                use()
        assert {k: v for k, v in contents(path.parent).items() if k == path.name} == {
            k: v for k, v in before.items() if k == path.name
        }
    with open_ledger(path.with_name("moved.study"), create=False) as ledger:
        assert workers.check_whole(ledger.read()) == last


def test_a_file_that_comes_back_is_used_again(path):
    with open_ledger(path, create=True) as ledger:
        ledger.append([{"a": 1}], expect=0)
        moved(path)
        with pytest.raises(LedgerError, match="bring it back"):
            ledger.append([{"a": 2}], expect=1)
        path.with_name("moved.study").rename(path)
        assert ledger.append([{"a": 2}], expect=1) == 2
    with open_ledger(path, create=False) as ledger:
        assert len(ledger.read()) == 2


def test_a_file_deleted_while_it_is_open_is_noticed(path):
    with open_ledger(path, create=True) as ledger:
        ledger.append([{"a": 1}], expect=0)
        path.unlink()
        with pytest.raises(LedgerError, match="nothing of this was stored"):
            ledger.append([{"a": 2}], expect=1)


# ---------------------------------------------------------------- size


def test_a_hundred_thousand_events_are_read_quickly(path):
    create(
        path, [{"kind": "told", "uid": f"u{i}", "y": {"a": i / 7, "b": -i}} for i in range(10**5)]
    )
    seconds = []
    for _ in range(2):  # processor time: the machine may be busy with other tests
        start = time.process_time()
        with open_ledger(path, create=False) as ledger:
            assert len(ledger.read()) == 10**5
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.6


def test_records_must_be_given_as_dicts(path):
    with open_ledger(path, create=True) as ledger, pytest.raises(UsageError, match="not str: 'a'"):
        ledger.append("a", expect=0)


def test_a_ledger_that_is_forgotten_closes_its_connection(tmp_path):
    ledger = SqliteLedger(tmp_path / "w.study", create=True)
    connection = ledger._connection
    del ledger
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
