"""Data sets: a named folder, the cache, a mirror; whatever is found must be the pinned file."""

from __future__ import annotations

import socket
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from paretoscope.bench import datasets
from paretoscope.bench.datasets import ENERGY, NOC, canonical, find
from paretoscope.errors import DataError


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not talk."""

    def log_message(self, *args):
        pass


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No folder named, an empty cache, no mirror."""
    for name in (datasets.FOLDER, datasets.ADDRESS):
        monkeypatch.delenv(name, raising=False)
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(datasets, "_cache", lambda: cache)
    return cache


@pytest.fixture
def mirror(tmp_path, monkeypatch, nowhere):
    """A folder served over HTTP."""
    folder = tmp_path / "served"
    assert nowhere != folder
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv(datasets.ADDRESS, f"http://127.0.0.1:{server.server_port}/")
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("dataset", [NOC, ENERGY], ids=lambda d: d.name)
def test_the_files_of_the_shared_data_are_the_pinned_ones(dataset, noc_csv, energy_csv):
    del energy_csv
    assert find(dataset, noc_csv.parent) == noc_csv.parent / dataset.name


def test_the_variable_names_the_folder(noc_csv, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER, str(noc_csv.parent))
    assert find(NOC) == noc_csv.parent / "noc.csv"


def test_another_file_is_refused(tmp_path):
    (tmp_path / "noc.csv").write_text("width;complexity\n1;2\n")
    with pytest.raises(DataError, match=r"is not the pinned noc\.csv"):
        find(NOC, tmp_path)


@pytest.mark.usefixtures("nowhere")
def test_a_missing_file_says_what_to_do_by_hand(tmp_path):
    for look in (partial(find, NOC, tmp_path), partial(find, NOC), partial(find, NOC, fetch=False)):
        with pytest.raises(DataError) as error:
            look()
        for word in ("Almer", "width;complexity", NOC.sha256[:12], "--data FOLDER"):
            assert word in str(error.value)


def test_a_mirror_is_asked_once(mirror, nowhere, noc_csv):
    (mirror / "noc.csv").write_bytes(noc_csv.read_bytes())
    found = find(NOC)
    assert found.parent == nowhere
    assert found.read_bytes() == noc_csv.read_bytes()
    (mirror / "noc.csv").unlink()
    assert find(NOC) == found


def test_a_mirror_that_serves_something_else_is_refused(mirror, nowhere):
    (mirror / "noc.csv").write_text("nothing\n")
    with pytest.raises(DataError, match="gave nothing usable"):
        find(NOC)
    assert not (nowhere / "noc.csv").exists()


def test_a_mirror_without_the_file(mirror):
    del mirror
    with pytest.raises(DataError, match="404"):
        find(ENERGY)


def test_nobody_at_the_address(nowhere, monkeypatch):
    with socket.socket() as taken:  # bound and not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv(datasets.ADDRESS, f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(DataError, match="gave nothing usable") as error:
            find(ENERGY)
    assert "--data FOLDER" in str(error.value)
    assert list(nowhere.iterdir()) == []


def test_the_origin_s_names_of_columns_and_ways_of_writing_do_not_matter(energy_csv):
    text = energy_csv.read_text(encoding="utf-8")
    other = text.replace("target_1,target_2", "Y1,Y2").replace(",294,", ",294.00,")
    assert other != text
    assert canonical(other, ENERGY) == text
    with pytest.raises(DataError, match="no table of 10 columns"):
        canonical("a,b\n1,2\n", ENERGY)
    with pytest.raises(DataError, match="no table of numbers"):
        canonical(text.replace("0.98", "much", 1), ENERGY)


def test_an_origin_is_checked_after_renaming(mirror, nowhere, energy_csv, monkeypatch):
    text = energy_csv.read_text(encoding="utf-8").replace("target_1,target_2", "Y1,Y2")
    (mirror / "data.csv").write_text(text)
    address = f"{datasets.os.environ[datasets.ADDRESS]}data.csv"
    monkeypatch.delenv(datasets.ADDRESS)
    served = datasets.Dataset(**{**vars(ENERGY), "origin": address})
    assert find(served).read_bytes() == energy_csv.read_bytes()
    (nowhere / served.name).unlink()
    (mirror / "data.csv").write_text(text.replace("0.98", "0.99", 1))
    with pytest.raises(DataError, match="is not the pinned"):
        find(served)
    assert not (nowhere / served.name).exists()
