"""Who may come in, and with what: every request passes here before anything is looked up.

In this order: a Host that is ours (421; else a name of somebody else's that leads here could read the
page: DNS rebinding), a body that is not too large (413), the token's cookie where a token is asked for
(401), no other site behind it (403), and for whatever changes a study: writing is allowed, the Origin is
this page, the page's own secret stands in a header (403), and the body is JSON or the upload form (415).
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 5_000_000  # bytes of a body
# A body up to so many times too large is read to its end and forgotten, so that the browser, which
# listens only when it has sent all of it, hears why it was refused.
_DRAINED = 8
READING = {"GET", "HEAD"}
_KINDS = {"application/json", "multipart/form-data"}
# Sessions that a token has opened; the oldest has to show it again.
_SESSIONS = 1000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Refused(Exception):  # noqa: N818  (nobody erred in this program)
    """A request that is not served: status and reason."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


@dataclass
class Rules:
    """What the guard goes by.

    Parameters
    ----------
    hosts : set of str
        Names, without ports, under which this server may be called.
    allow_write : bool
    token : str or None
        Asked for once, then exchanged for a cookie; None where this machine alone can come in.
    cookie : str
        Its name; cookies do not know ports, so two servers need two names.
    """

    hosts: set[str]
    allow_write: bool = False
    token: str | None = None
    cookie: str = "paretoscope"
    secret: str = field(default_factory=secrets.token_urlsafe)
    sessions: dict[str, None] = field(default_factory=dict)

    def open_session(self, given: str) -> str | None:
        """A session for whoever shows the token."""
        if self.token is None or not _same(given, self.token):
            return None
        made = secrets.token_urlsafe(32)
        self.sessions[made] = None
        while len(self.sessions) > _SESSIONS:
            del self.sessions[next(iter(self.sessions))]
        return made

    def knows(self, cookies: str) -> bool:
        """Whether one of the cookies is a session's."""
        given = cookie_parser(cookies).get(self.cookie, "")
        return any(_same(given, known) for known in self.sessions)


def _same(given: str, known: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), known.encode())


class Guard:
    """The middleware that refuses, and that sets the headers of every answer."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sealed = _sealed(send)
        try:
            answer = await self._judge(scope, receive)
        except Refused as no:
            answer = refusal(scope, no.status, no.said)
        if answer is not None:
            await answer(scope, receive, sealed)
            return
        await self.app(scope, _limited(receive), sealed)

    async def _judge(self, scope: Scope, receive: Receive) -> Response | None:
        """An answer of the guard's own, or a refusal, or nothing."""
        headers = Headers(scope=scope)
        check_host(self.rules.hosts, headers, scope)
        await _check_size(headers, receive)
        if self.rules.token is not None:
            entered = self._enter(scope)
            if entered is not None:
                return entered
            if not self.rules.knows(headers.get("cookie", "")):
                raise Refused(401, "Open the address with its token, as the terminal shows it.")
        check_site(headers)
        if scope["method"] not in READING:
            self._check_write(headers, scope)
        return None

    def _enter(self, scope: Scope) -> Response | None:
        """The token for a cookie, and an address without it; nothing if no token is shown."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = [value for name, value in query if name == "token"]
        if not shown or scope["method"] not in READING:
            return None
        session = self.rules.open_session(shown[0])
        if session is None:
            raise Refused(401, "This is not the token of this server, or no longer.")
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")  # "//x" would be host x
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self.rules.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def _check_write(self, headers: Headers, scope: Scope) -> None:
        """Whether a request may change anything."""
        if not self.rules.allow_write:
            raise Refused(403, "This page is read only: start the server with --allow-write.")
        origin = urlsplit(headers.get("origin", ""))
        if origin.netloc != headers["host"] or origin.scheme not in {"http", "https"}:
            raise Refused(403, "Changes come from this server's own page only.")
        if not _same(headers.get("x-csrf-token", ""), self.rules.secret):
            raise Refused(403, "The server was started again: reload the page.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in _KINDS:
            raise Refused(415, f"{scope['method']} takes JSON or the upload form.")


def check_host(hosts: set[str], headers: Headers, scope: Scope) -> None:
    """Refuse a request that was meant for another name; a bare address cannot be rebound."""
    given = headers.getlist("host")
    name = (
        (urlsplit(f"//{given[0]}").hostname or "") if len(given) == 1 and _clean(given[0]) else ""
    )
    server = scope.get("server")
    if name not in hosts and not (server and _one_address(name, str(server[0]))):
        raise Refused(421, "This server does not go by that name: start it with --allow-host NAME.")


def _clean(host: str) -> bool:
    """Whether a Host is a name and perhaps a port, and no more."""
    return bool(host) and not set(host) & set("/?#@\\ \t")


def _one_address(name: str, address: str) -> bool:
    """Whether a name is the very address at which the request came in."""
    try:
        return ip_address(name) == ip_address(address)
    except ValueError:
        return False


def check_site(headers: Headers) -> None:
    """Refuse what another site's page asks for, but for a link to a page."""
    site = headers.get("sec-fetch-site", "none")
    if site not in {"none", "same-origin"} and headers.get("sec-fetch-mode") != "navigate":
        raise Refused(403, "Other sites may link to this page, and no more.")


# ---------------------------------------------------------------- bodies


async def _check_size(headers: Headers, receive: Receive) -> None:
    """Refuse a body that says it is too large."""
    text = headers.get("content-length", "0")
    size = int(text) if text.isascii() and text.isdigit() else 0
    if size > LARGEST:
        left = size if size <= _DRAINED * LARGEST else 0
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            left = left if message.get("more_body") else 0
        raise _too_large()


def _too_large() -> Refused:
    """The refusal of a large body."""
    return Refused(413, f"More than {LARGEST / 1e6:g} MB: hand in a smaller sheet.")


def _limited(receive: Receive) -> Receive:
    """The body, which ends in a refusal where it becomes too large without having said so."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST:
            raise _too_large()
        return message

    return counted


# ---------------------------------------------------------------- answers


def _sealed(send: Send) -> Send:
    """Every answer with the headers of the house; one that sets its own keeps it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def refusal(scope: Scope, status: int, said: str) -> Response:
    """A reason, as JSON for scripts and as text for people."""
    accept = Headers(scope=scope).get("accept", "")
    if scope["method"] in READING and "application/json" not in accept:
        return Response(f"{said}\n", status, media_type="text/plain; charset=utf-8")
    return JSONResponse({"error": said}, status)
