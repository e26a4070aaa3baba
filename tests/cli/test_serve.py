"""The command that serves: what it says before anything is served."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from paretoscope.cli import serve
from tests.cli.lab import call, create, write_candidates
from tests.web.lab import serving, study


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_candidates(tmp_path / "c.csv")
    create("w.study")
    return tmp_path / "w.study"


@pytest.mark.parametrize("name", ["starlette", "uvicorn", "python_multipart", "plotly"])
def test_without_the_extra_it_says_what_to_install(where, monkeypatch, name):
    found = serve.find_spec
    monkeypatch.setattr(
        serve, "find_spec", lambda module: None if module == name else found(module)
    )
    assert "pip install 'paretoscope[web]'" in call("serve", where, code=2)


def test_what_cannot_be_served_is_refused_at_once(where, tmp_path):
    assert "does not exist" in call("serve", "nobody.study", code=2)
    (tmp_path / "notes.study").write_text("no study at all, only some text")
    assert "notes.study" in call("serve", "notes.study", code=5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = call("serve", where, "--port", port, code=2)
    assert f"127.0.0.1 port {port}: address already in use" in " ".join(said.split())


def test_elsewhere_it_warns_and_gives_a_token(tmp_path):
    """256 bits, in the link and nowhere else: no line of the log has it after it was used."""
    study(tmp_path / "w.study").close()
    command = [sys.executable, "-m", "paretoscope", "serve", str(tmp_path / "w.study")]
    everywhere = ["--host", "0.0.0.0", "--port", "0"]
    with subprocess.Popen([*command, *everywhere], stdout=subprocess.PIPE, text=True) as process:
        said = ""
        while "Ctrl-C" not in said and (line := process.stdout.readline()):
            said += line
        process.terminate()
    assert said.startswith("Warning: anybody in the network who has this link can read")
    assert len(said.partition("?token=")[2].split()[0]) == 43
    assert said.count("token=") == 1


def test_here_a_token_is_given_on_request(tmp_path):
    study(tmp_path / "w.study").close()
    with serving(tmp_path / "w.study", token="") as site:
        token = site.link.partition("?token=")[2]
        assert site.call("GET", "/s/w/")[0] == 401
        status, headers, _ = site.call("GET", f"/s/w/?token={token}")
        assert (status, headers["location"]) == (303, "/s/w/")
        cookie = headers["set-cookie"].partition(";")[0]
        assert site.call("GET", "/s/w/", Cookie=cookie)[0] == 200
