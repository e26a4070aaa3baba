"""The routes: what is at which address. Everything that waits for a study runs in a thread."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from paretoscope.errors import DataError, LedgerError, ParetoscopeError, UsageError
from paretoscope.study import Study
from paretoscope.web import desk, new, pages
from paretoscope.web.guard import READING, Guard, Refused, Rules, refusal
from paretoscope.web.shelf import Shelf, Shown

T = TypeVar("T")
# Seconds between two looks at a study for those who follow it, and between two signs of life.
_LOOK, _ALIVE = 0.2, 15.0
# Pages that may follow at the same time.
_FOLLOWERS = 200
_CODES = {UsageError: 422, DataError: 422, LedgerError: 503}
_JSON = "application/json"
_CSV = "text/csv; charset=utf-8"


@dataclass
class Site:
    """What all routes share."""

    shelf: Shelf
    rules: Rules
    ending: Callable[[], bool] = lambda: False
    receipts: desk.Receipts = field(default_factory=desk.Receipts)
    boot: str = field(default_factory=lambda: secrets.token_hex(8))
    followers: int = 0


def application(
    shelf: Shelf, rules: Rules, ending: Callable[[], bool] = lambda: False
) -> Starlette:
    """The whole site as an ASGI application.

    Parameters
    ----------
    ending : callable
        Whether the server is about to stop: streams end then.
    """
    routes = [
        Route("/", home),
        Route("/static/{name}", static),
        Route("/new", new_study, methods=["GET", "POST"]),
        Route("/s/{name}/", study_page),
        Route("/s/{name}/figures", figures),
        Route("/s/{name}/state", state),
        Route("/s/{name}/events", events),
        Route("/s/{name}/pending.csv", pending_csv),
        Route("/s/{name}/table.csv", table_csv),
        Route("/s/{name}/report.html", report_html),
        Route("/s/{name}/ask", ask, methods=["POST"]),
        Route("/s/{name}/check", check, methods=["POST"]),
        Route("/s/{name}/upload", upload, methods=["POST"]),
        Route("/s/{name}/tell", tell, methods=["POST"]),
        Route("/s/{name}/settle", settle, methods=["POST"]),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, rules=rules)],
        exception_handlers={
            Refused: _refused,
            ParetoscopeError: _explained,
            HTTPException: _http,
        },
    )
    app.state.site = Site(shelf, rules, ending)
    return app


def _site(request: Request) -> Site:
    """What all routes share."""
    site: Site = request.app.state.site
    return site


def _find(request: Request) -> Shown:
    """The study of an address."""
    name = request.path_params["name"]
    found = _site(request).shelf.find(name)
    if found is None:
        raise HTTPException(404, f"There is no study {name!r} here.")
    return found


# ---------------------------------------------------------------- reading


async def home(request: Request) -> Response:
    """The list of studies, or the only one."""
    site = _site(request)
    if site.shelf.single is not None:
        return RedirectResponse(f"/s/{quote(site.shelf.single.name, safe='')}/", 307)
    write = site.rules.allow_write
    return HTMLResponse(await run_in_threadpool(pages.list_page, site.shelf, allow_write=write))


async def study_page(request: Request) -> Response:
    """One study."""
    site, shown = _site(request), await run_in_threadpool(_find, request)
    text = await run_in_threadpool(
        pages.study_page,
        shown,
        secret=site.rules.secret,
        boot=site.boot,
        allow_write=site.rules.allow_write,
        listed=site.shelf.single is None,
    )
    return HTMLResponse(text)


async def _text(request: Request, make: Callable[[Shown], str], kind: str) -> Response:
    """Something made of a study's present moment."""
    shown = await run_in_threadpool(_find, request)
    return Response(await run_in_threadpool(make, shown), media_type=kind)


async def figures(request: Request) -> Response:
    """The figures as numbers."""
    return await _text(request, pages.figures_json, _JSON)


async def state(request: Request) -> Response:
    """All that changes."""
    write = _site(request).rules.allow_write
    return await _text(request, lambda shown: pages.state_json(shown, allow_write=write), _JSON)


async def table_csv(request: Request) -> Response:
    """The table of candidates as a file."""
    return _as_file(await _text(request, pages.table_csv, _CSV), request, "csv")


async def report_html(request: Request) -> Response:
    """The report as a file."""
    return _as_file(await _text(request, pages.report_html, "text/html"), request, "html")


async def pending_csv(request: Request) -> Response:
    """A sheet of the requests that are out, for whoever lost theirs."""
    shown, query = await run_in_threadpool(_find, request), request.query_params

    def sheet(study: Study) -> str:
        requests = pages.pending(study, query.get("who", ""))
        return desk.sheet_text(study, requests, "measurement", query.get("marks", ","))

    text = await run_in_threadpool(shown.use, sheet)
    return _as_file(Response(text, media_type=_CSV), request, "pending.csv")


def _as_file(answer: Response, request: Request, end: str) -> Response:
    """An answer that the browser keeps as a file and does not show."""
    name = quote(f"{request.path_params['name']}.{end}", safe="")
    answer.headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
    return answer


async def static(request: Request) -> Response:
    """A script or style of ours, kept by the browser as long as its address says so."""
    name = request.path_params["name"]
    if name not in pages.FILES:
        raise HTTPException(404, "There is no such file.")
    found = await run_in_threadpool(pages.file, name)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    answer = Response(found.packed if packed else found.body, media_type=found.kind)
    if packed:
        answer.headers["content-encoding"] = "gzip"
    answer.headers["vary"] = "accept-encoding"
    if request.query_params.get("v") == found.digest:
        answer.headers["cache-control"] = "private, max-age=31536000, immutable"
    return answer


# ---------------------------------------------------------------- following


async def events(request: Request) -> Response:
    """The versions of a study as they come, for as long as somebody listens."""
    site, shown = _site(request), await run_in_threadpool(_find, request)
    if site.followers >= _FOLLOWERS:
        raise HTTPException(503, "Too many pages follow already: close some.")
    await run_in_threadpool(shown.version)  # what cannot be opened is said before it is followed
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(_follow(site, shown), media_type="text/event-stream")


async def _follow(site: Site, shown: Shown) -> AsyncIterator[str]:
    """A line whenever the version is another one, and now and then a sign of life."""
    site.followers += 1
    last, silent = "", 0.0
    try:
        yield f"retry: 1000\nevent: boot\ndata: {site.boot}\n\n"
        while not site.ending():
            version = await run_in_threadpool(shown.glance)
            if version not in {last, None}:
                last, silent = str(version), 0.0
                yield f"event: moved\ndata: {version}\n\n"
            elif silent >= _ALIVE:
                silent = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(_LOOK)
            silent += _LOOK
    except LedgerError as error:
        yield f"event: trouble\ndata: {' '.join(str(error).split())}\n\n"
    finally:
        site.followers -= 1


# ---------------------------------------------------------------- writing


async def ask(request: Request) -> Response:
    """The next requests, as a sheet."""
    given, shown = await _json(request), await run_in_threadpool(_find, request)
    n, text = await run_in_threadpool(shown.use, lambda study: desk.next_sheet(study, given))
    if not n:
        raise UsageError("nothing to ask for now: hand in what is out, or it is over")
    name = f"{shown.name}-{given.get('n') or n}"
    return JSONResponse({"sheet": text, "name": f"{name}.csv", "n": n})


async def check(request: Request) -> Response:
    """What storing a sheet would do; nothing is stored."""
    site, (sheet, form) = _site(request), await _upload(request, "sheet")
    shown = await run_in_threadpool(_find, request)
    who = str(form.get("who", ""))
    found = await run_in_threadpool(shown.use, lambda study: desk.check_sheet(study, sheet, who))
    if "errors" not in found:
        found["receipt"] = site.receipts.give(shown.name, sheet)
    return JSONResponse(found)


async def upload(request: Request) -> Response:
    """A checked sheet, stored once."""
    site, (sheet, form) = _site(request), await _upload(request, "sheet")
    shown = await run_in_threadpool(_find, request)
    if not site.receipts.take(str(form.get("receipt", "")), shown.name, sheet):
        raise Refused(409, "This sheet was handed in already, or changed since: check it again.")
    who = str(form.get("who", ""))
    return await _done(shown, lambda study: desk.store_sheet(study, sheet, who))


async def tell(request: Request) -> Response:
    """The values of one request."""
    given, shown = await _json(request), await run_in_threadpool(_find, request)
    return await _done(shown, lambda study: desk.tell_values(study, given))


async def settle(request: Request) -> Response:
    """A request that failed, is given back, or written off."""
    given, shown = await _json(request), await run_in_threadpool(_find, request)
    return await _done(shown, lambda study: desk.settle(study, given))


async def _done(shown: Shown, act: Callable[[Study], str]) -> Response:
    """What became of it, and the version that shows it."""
    said = await run_in_threadpool(shown.use, act)
    return JSONResponse({"said": said, "version": await run_in_threadpool(shown.version)})


async def new_study(request: Request) -> Response:
    """The form of a new study, and the study."""
    site = _site(request)
    folder = site.shelf.folder
    if folder is None or not site.rules.allow_write:
        raise HTTPException(404, "New studies need a folder, and --allow-write.")
    if request.method != "POST":
        return HTMLResponse(pages.new_page(site.rules.secret))
    candidates, form = await _upload(request, "candidates")
    terms = str(form.get("terms", ""))
    name = await run_in_threadpool(new.create, folder, terms, candidates)
    return JSONResponse({"address": f"/s/{quote(name, safe='')}/"}, 201)


async def _json(request: Request) -> dict[str, Any]:
    """The JSON object of a body."""
    if not request.headers["content-type"].lower().startswith(_JSON):
        raise Refused(415, "This takes JSON.")
    try:
        given = await request.json()
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(400, "The body is no JSON object.")
    return given


async def _upload(request: Request, name: str) -> tuple[bytes, dict[str, str]]:
    """The file of a form, and its other fields."""
    if not request.headers["content-type"].lower().startswith("multipart/form-data"):
        raise Refused(415, "This takes the upload form.")
    async with request.form(max_files=1, max_fields=10) as form:
        sent = form.get(name)
        if not isinstance(sent, UploadFile):
            raise Refused(400, f"The form has no file {name!r}.")
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        return await sent.read(), fields


# ---------------------------------------------------------------- what went wrong


def _answer(request: Request, status: int, said: str) -> Response:
    """A reason: a page for people, JSON for scripts."""
    if request.method in READING and "text/html" in request.headers.get("accept", ""):
        title = HTTPStatus(status).phrase
        return HTMLResponse(pages.message_page(title, said), status)
    return refusal(request.scope, status, said)


async def _refused(request: Request, error: Exception) -> Response:
    """A refusal of the guard, found while the body was read."""
    assert isinstance(error, Refused)
    return _answer(request, error.status, error.said)


async def _explained(request: Request, error: Exception) -> Response:
    """A mistake by its blame, in its own words."""
    status = next((code for kind, code in _CODES.items() if isinstance(error, kind)), 500)
    return _answer(request, status, str(error))


async def _http(request: Request, error: Exception) -> Response:
    """No such page, or no such method."""
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, error.detail)
