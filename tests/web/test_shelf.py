"""Which studies are served, and when what is shown of one is another."""

from __future__ import annotations

import time
from threading import Event, Thread

import pytest

from paretoscope.errors import LedgerError, UsageError
from paretoscope.web.shelf import Shelf
from tests.web.lab import rows_of, study


def test_a_folder_is_listed_as_it_is_now(tmp_path):
    for name in ("b", "A", ".hidden"):
        study(tmp_path / f"{name}.study").close()
    (tmp_path / "notes.txt").write_text("x")
    shelf = Shelf([str(tmp_path)])
    assert [shown.name for shown in shelf.all()] == ["A", "b"]
    assert shelf.single is None
    study(tmp_path / "c.study").close()
    first = shelf.find("c")
    assert first.moment().snapshot.events == 1
    assert shelf.find("c") is first
    (tmp_path / "A.study").unlink()
    assert [shown.name for shown in shelf.all()] == ["b", "c"]
    assert shelf.find("A") is None
    shelf.close()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    study(tmp_path / "secret.study").close()
    (inside / "secret.study").symlink_to(tmp_path / "secret.study")
    shelf = Shelf([str(inside)])
    assert shelf.all() == []
    assert shelf.find("secret") is None
    for name in ("../secret", "inside/../secret", "/etc/passwd", ""):
        assert shelf.find(name) is None


def test_places_that_make_no_sense(tmp_path):
    study(tmp_path / "a.study").close()
    other = tmp_path / "other"
    other.mkdir()
    study(other / "a.study").close()
    with pytest.raises(UsageError, match="does not exist"):
        Shelf([str(tmp_path / "b.study")])
    with pytest.raises(UsageError, match="called 'a' too"):
        Shelf([str(tmp_path / "a.study"), str(other / "a.study")])
    with pytest.raises(UsageError, match="one folder"):
        Shelf([str(tmp_path), str(other)])
    assert Shelf([str(tmp_path / "a.study")]).single.name == "a"


@pytest.fixture
def shown(tmp_path):
    with study(tmp_path / "w.study") as made:
        shelf = Shelf([str(tmp_path / "w.study")])
        yield shelf.single, made
        shelf.close()


def later(shown):
    """The version, once the last look is old enough."""
    time.sleep(0.21)
    return shown.version()


def test_a_version_is_one_moment(shown):
    seen, made = shown
    first = seen.moment()
    assert later(seen) == first.version
    assert seen.moment() is first
    assert seen.made("x", lambda _: object()) is seen.made("x", lambda _: object())
    made.tell(rows_of(made, made.ask(3)))
    second = later(seen)
    assert second != first.version
    assert seen.moment().version == second
    assert seen.moment().snapshot.status.done == 3
    assert seen.moment().view.result.table() == made.result().table()


def test_a_lease_that_runs_out_is_a_new_version(shown):
    seen, made = shown
    made.ask(2, lease=0.4)
    before = seen.moment()
    assert len(before.snapshot.out) == 2
    time.sleep(0.5)
    assert seen.version() != before.version
    assert seen.moment().snapshot.out == ()


def test_looking_costs_one_query_in_a_fifth_of_a_second(shown, monkeypatch):
    seen, _ = shown
    seen.moment()
    reads = []
    seen.use(
        lambda made: monkeypatch.setattr(
            made.ledger, "read", lambda after: reads.append(after) or []
        )
    )
    begin = time.monotonic()
    while time.monotonic() < begin + 0.5:
        seen.version()
    assert 1 <= len(reads) <= 3


def test_who_follows_does_not_wait_for_who_works(shown):
    """Or the threads of a server would all wait for one long computation."""
    seen, _ = shown
    version = seen.moment().version
    begun, finish, found = Event(), Event(), []
    worker = Thread(target=lambda: seen.use(lambda _: (begun.set(), finish.wait(5))))
    worker.start()
    begun.wait(5)
    found.append(seen.glance())
    finish.set()
    worker.join()
    assert [*found, seen.glance()] == [None, version]


def test_a_store_that_was_replaced_is_opened_anew(shown, tmp_path):
    seen, made = shown
    first = seen.moment().version
    made.close()
    (tmp_path / "w.study").unlink()
    with pytest.raises(LedgerError):
        later(seen)
    study(tmp_path / "w.study", K=5).close()
    assert seen.moment().view.result.problem.K == 5
    assert seen.moment().version != first
