"""The guard by itself, without a server: each rule with the request that it is there for."""

from __future__ import annotations

import re

import pytest
from starlette.responses import PlainTextResponse

from paretoscope.web.guard import LARGEST, Guard, Rules
from paretoscope.web.pages import study_page
from paretoscope.web.server import is_loopback
from paretoscope.web.shelf import Shelf
from tests.report.lab import HOSTILE, create

HOST = "127.0.0.1:8420"


async def _echo(scope, receive, send):
    """An application that takes whatever is passed on to it."""
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    await PlainTextResponse("done")(scope, receive, send)


def _run(coroutine):
    """To its end at once: nothing here waits, and the browser's driver may have a loop of its own."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def ask(rules, method="GET", path="/", body=(b"",), **headers):
    """Status and headers of a request to a guarded application."""
    given = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    pieces, sent = list(body), []

    async def receive():
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message):
        sent.append(message)

    plain, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in given.items() if v is not None],
        "server": ("10.0.0.7", 8420),
    }
    _run(Guard(_echo, rules)(scope, receive, send))
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}


@pytest.fixture
def rules():
    return Rules({"127.0.0.1", "localhost", "::1"}, allow_write=True)


def write(rules, **headers):
    """A change as the page makes it, but for some headers."""
    own = {
        "origin": f"http://{HOST}",
        "x_csrf_token": rules.secret,
        "content_type": "application/json",
    }
    return ask(rules, "POST", body=(b"{}",), **{**own, **headers})[0]


def test_a_change_needs_all_of_it(rules):
    assert write(rules) == 200
    assert write(rules, content_type="Multipart/Form-Data; boundary=x") == 200
    for value in ("http://evil.example", "null", None, "http://127.0.0.1", f"ftp://{HOST}"):
        assert write(rules, origin=value) == 403
    for value in (None, "", "x", rules.secret[:-1], rules.secret + "x", "é"):
        assert write(rules, x_csrf_token=value) == 403
    for value in (None, "text/plain", "application/jsonx", "application/x-www-form-urlencoded"):
        assert write(rules, content_type=value) == 415
    rules.allow_write = False
    assert write(rules) == 403
    for method in ("PUT", "DELETE", "PATCH", "FOO"):
        assert ask(rules, method)[0] == 403


def test_only_our_names_are_served(rules):
    for host in ("127.0.0.1", HOST, "LOCALHOST:1", "[::1]:8420", "10.0.0.7:8420"):
        assert ask(rules, host=host)[0] == 200
    for host in (
        "evil.example",
        "10.0.0.8",
        "127.0.0.1.evil.example",
        "",
        None,
        "localhost/x",
        "[::2]",
    ):
        assert ask(rules, host=host)[0] == 421


def test_other_sites_may_link(rules):
    for site in ("cross-site", "same-site"):
        assert ask(rules, sec_fetch_site=site, sec_fetch_mode="no-cors")[0] == 403
        assert ask(rules, sec_fetch_site=site, sec_fetch_mode="navigate")[0] == 200
    assert ask(rules, sec_fetch_site="same-origin", sec_fetch_mode="cors")[0] == 200


def test_a_token_is_exchanged_once_and_left_out_of_the_address(rules):
    rules.token = "t" * 43
    assert ask(rules)[0] == 401
    assert ask(rules, path="/?token=x")[0] == 401
    assert ask(rules, path="/?token=")[0] == 401
    status, headers = ask(rules, path=f"//evil.example/?a=1&token={rules.token}&b=2")
    assert (status, headers["location"]) == (303, "/evil.example/?a=1&b=2")
    kept = re.fullmatch(
        r"paretoscope=([\w-]{43}); HttpOnly; Path=/; SameSite=strict", headers["set-cookie"]
    )
    assert kept
    assert ask(rules, cookie=f"a=b; paretoscope={kept[1]}")[0] == 200
    for cookie in (
        "",
        f"paretoscope={rules.token}",
        f"paretoscope={kept[1]}x",
        "paretoscope=",
        "é",
    ):
        assert ask(rules, cookie=cookie)[0] == 401
    assert write(rules) == 401
    assert write(rules, cookie=f"paretoscope={kept[1]}") == 200


def test_the_oldest_session_gives_way(rules):
    rules.token = "t"
    first = rules.open_session("t")
    for _ in range(1000):
        last = rules.open_session("t")
    assert not rules.knows(f"paretoscope={first}")
    assert rules.knows(f"paretoscope={last}")


@pytest.mark.parametrize("size", [LARGEST + 1, 100 * LARGEST, 10**30])
def test_a_body_that_says_that_it_is_large_is_refused(rules, size):
    sent = (b"x" * 1000, b"x")
    own = {"origin": f"http://{HOST}", "content_type": "application/json"}
    assert ask(rules, "POST", body=sent, content_length=str(size), **own)[0] == 413


def test_every_answer_is_sealed(rules):
    for status, headers in (ask(rules), ask(rules, host="evil.example")):
        assert status in {200, 421}
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["content-security-policy"].count("unsafe-inline") == 1  # of styles


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("localhost.evil.example", False),
    ],
)
def test_what_is_this_machine_alone(host, alone):
    assert is_loopback(host) == alone


def test_a_page_escapes_all_names(tmp_path):
    names = [" ".join(name.split()) for name in HOSTILE]
    create(K=50, names=names, where=tmp_path / "x.study")[0].close()
    shown = Shelf([str(tmp_path / "x.study")]).single
    page = study_page(shown, secret="s", boot="b", allow_write=True, listed=False)
    shown.close()
    assert "<script>" not in page
    assert not re.search(r"<(img|svg|iframe|object|form action|math|template)\b", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
