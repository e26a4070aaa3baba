"""Whoever is not this page is refused with the right status, and the study stays as it was."""

from __future__ import annotations

import json
import re
import socket
from urllib.parse import urlsplit

import pytest

import paretoscope as ps
from tests.web.lab import filled, form, serving, study

OURS = "/s/guarded/"


@pytest.fixture(scope="module")
def guarded(folder):
    """A study whose ledger must stay at two events: created, and one batch asked for."""
    with study(folder / "guarded.study") as made:
        made.ask(4, by="Ann")
        yield made


@pytest.fixture
def unchanged(guarded):
    """Nothing is written by what this test does."""
    before = guarded.ledger.read()
    yield guarded
    assert guarded.ledger.read() == before


def kept(answer):
    return answer[0], json.loads(answer[2]).get("error", "")


# Each changes one thing of a request that would be served.
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "10.0.0.7"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "http://127.0.0.1:9"}, 403),
        ({"X_CSRF_Token": "x" * 43}, 403),
        ({"X_CSRF_Token": None}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content_Type": None}, 415),
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_a_change_from_elsewhere_is_refused(site, headers, status):
    assert site.write(f"{OURS}ask", {"n": 1}, OURS, **headers)[0] == status


def test_the_same_request_without_these_faults_is_served(site, folder):
    with study(folder / "control.study") as made:
        assert site.write("/s/control/ask", {"n": 1}, "/s/control/")[0] == 200
        assert len(made.pending()) == 1


@pytest.mark.parametrize("host", ["evil.example", "", "localhost:x/", "[::2]:80", "a/b"])
def test_a_page_is_not_read_under_a_foreign_name(site, host):
    """DNS rebinding: another site's name that leads here."""
    status, headers, _ = site.call("GET", OURS, Host=host)
    assert status in {400, 421}
    assert "set-cookie" not in headers


def test_a_name_is_given_exactly_once(site):
    host = urlsplit(site.address).netloc
    for lines in ([], [host, host], [host, "evil.example"]):
        said = "".join(f"Host: {line}\r\n" for line in lines)
        with socket.create_connection(("127.0.0.1", urlsplit(site.address).port), 10) as line:
            line.sendall(f"GET / HTTP/1.1\r\n{said}Connection: close\r\n\r\n".encode())
            assert line.recv(100).split()[1] in {b"400", b"421"}


@pytest.mark.parametrize("path", ["state", "figures", "events", "table.csv"])
@pytest.mark.usefixtures("unchanged")
def test_another_site_can_link_to_a_page_and_no_more(site, path):
    foreign = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert site.call("GET", OURS + path, **foreign)[0] == 403
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert site.call("GET", OURS, **link)[0] == 200


def test_an_upload_that_is_sent_again_is_refused(site, folder):
    with study(folder / "replayed.study") as made:
        page = "/s/replayed/"
        asked = json.loads(site.write(f"{page}ask", {"n": 3}, page)[2])
        sheet = filled(asked["sheet"]).encode()
        assert site.write(f"{page}upload", form("sheet", sheet), page)[0] == 409
        checked = json.loads(site.write(f"{page}check", form("sheet", sheet), page)[2])
        assert (checked["new"], checked["said"]) == (3, "3 measurements")
        other = sheet.replace(b"replicate", b"replicate ")
        receipt = {"receipt": checked["receipt"]}
        assert site.write(f"{page}upload", form("sheet", other, **receipt), page)[0] == 409
        checked = json.loads(site.write(f"{page}check", form("sheet", sheet), page)[2])
        receipt = {"receipt": checked["receipt"]}
        recorded = form("sheet", sheet, **receipt)
        assert site.write(f"{page}upload", recorded, page)[0] == 200
        before = made.ledger.read()
        assert kept(site.write(f"{page}upload", recorded, page))[0] == 409
        again = json.loads(site.write(f"{page}check", form("sheet", sheet), page)[2])
        assert (again["new"], again["said"]) == (0, "0 measurements, 3 told before")
        assert made.ledger.read() == before


@pytest.mark.parametrize("said", [True, False], ids=["with its length", "in pieces"])
@pytest.mark.usefixtures("unchanged")
def test_a_huge_body_is_refused(site, said):
    body, kind = form("sheet", b"x" * 5_100_000)
    pieces = body if said else (body[k : k + 65536] for k in range(0, len(body), 65536))
    status, _, answer = site.write(f"{OURS}check", (pieces, kind), OURS)
    assert status == 413
    assert "5 MB" in json.loads(answer)["error"]


@pytest.mark.parametrize("body", ["", "[]", '"x"', "{", "[" * 100_000, '{"n": NaN'])
@pytest.mark.usefixtures("unchanged")
def test_a_body_that_is_no_object_is_refused(site, body):
    answer = site.write(f"{OURS}ask", (body, "application/json"), OURS)
    assert kept(answer) == (400, "The body is no JSON object.")


@pytest.mark.parametrize(
    "given", [{"n": "-1"}, {"n": "1e3"}, {"n": "²"}, {"n": 0}, {"who": "x" * 300}]
)
@pytest.mark.usefixtures("unchanged")
def test_terms_that_make_no_sense_are_refused(site, given):
    assert site.write(f"{OURS}ask", given, OURS)[0] == 422


@pytest.mark.parametrize(
    "path", ["/s/nobody/", "/s/..%2Fguarded/", "/static/..%2Fapp.py", "/s/guarded%00/", "/x"]
)
def test_only_what_is_listed_is_there(site, path):
    assert site.call("GET", path)[0] == 404


@pytest.mark.usefixtures("unchanged")
def test_every_answer_carries_the_headers(site):
    for path in ("/", OURS, f"{OURS}state", "/nothing", "/static/live.js"):
        headers = site.call("GET", path)[1]
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    page = site.call("GET", OURS)[2].decode()
    assert page.count("<script") == page.count("<script src=") > 0
    assert not re.search(r"<[^>]*\son\w+\s*=", page)


# ---------------------------------------------------------------- read only, and with a token


@pytest.fixture(scope="module")
def shared(guarded, folder):
    """Read only, reachable from elsewhere: a token is asked for."""
    assert guarded.pending()
    everywhere = "0.0.0.0"
    with serving(folder / "guarded.study", allow_write=False, host=everywhere) as made:
        yield made


def entered(shared):
    """The cookie that a token is exchanged for, and where one is sent then."""
    token = shared.link.partition("?token=")[2]
    status, headers, _ = shared.call("GET", f"/?token={token}&x=1", Host="127.0.0.1")
    return status, headers


def test_a_token_opens_the_page_and_leaves_the_address(shared):
    status, headers = entered(shared)
    assert (status, headers["location"]) == (303, "/?x=1")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    token = shared.link.partition("?token=")[2]
    assert len(token) >= 43  # 256 bits, six to a letter
    assert token not in cookie
    name = cookie.partition(";")[0]
    assert shared.call("GET", OURS, Host="127.0.0.1", Cookie=name)[0] == 200


@pytest.mark.parametrize("cookie", [None, "paretoscope-1=x", "="])
@pytest.mark.parametrize("path", ["/", OURS, f"{OURS}events", f"{OURS}state", "/static/live.js"])
def test_without_the_token_nothing_is_shown(shared, path, cookie):
    assert shared.call("GET", path, Host="127.0.0.1", Cookie=cookie)[0] == 401


@pytest.mark.parametrize("token", ["", "x", "é"])
def test_another_token_is_none(shared, token):
    status, headers, _ = shared.call("GET", f"/?token={token.encode().hex()}", Host="127.0.0.1")
    assert status == 401
    assert "set-cookie" not in headers


@pytest.mark.usefixtures("unchanged")
def test_read_only_is_read_only(shared):
    cookie = entered(shared)[1]["set-cookie"].partition(";")[0]
    page = shared.call("GET", OURS, Host="127.0.0.1", Cookie=cookie)[2].decode()
    assert "csrf-token" not in page
    assert "desk.js" not in page
    ours = {"Origin": "http://127.0.0.1", "Host": "127.0.0.1", "Content_Type": "application/json"}
    for what in ("ask", "tell", "settle", "check", "upload"):
        answer = shared.call("POST", OURS + what, "{}", Cookie=cookie, **ours)
        assert answer[0] == 403
        assert "--allow-write" in json.loads(answer[2])["error"]


def test_a_foreign_name_is_refused_before_the_token(shared):
    token = shared.link.partition("?token=")[2]
    status, headers, _ = shared.call("GET", f"/?token={token}", Host="evil.example")
    assert status == 421
    assert "set-cookie" not in headers


def test_the_study_is_what_it_was(guarded):
    assert [event["kind"] for _, event in guarded.ledger.read()] == ["created", "asked"]
    assert ps.Study.open(guarded.ledger._path).pending() == guarded.pending()
