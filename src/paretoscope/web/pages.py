"""What a browser is sent: pages, their parts after a change, figures as numbers, files of ours."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from paretoscope.errors import ParetoscopeError
from paretoscope.report.page import asset, content, page_html, plotly_script, render, style
from paretoscope.report.words import headline
from paretoscope.sheet import measured
from paretoscope.study import Request, Study
from paretoscope.study.speech import count
from paretoscope.table import write_table
from paretoscope.web.shelf import Moment, Shelf, Shown

HERE = Path(__file__).parent
# Requests that are out and listed, each with its buttons.
_LISTED = 200
# Studies of a list whose state is shown: each has to be opened for it.
_SUMMED = 60


class File(NamedTuple):
    """A file of ours, with the digest by which its address changes when it does."""

    kind: str
    body: bytes
    packed: bytes
    digest: str


@cache
def file(name: str) -> File:
    """A script or a style sheet."""
    made: dict[str, Callable[[], str]] = {
        "plotly.js": plotly_script,
        "charts.js": lambda: asset("charts.js"),
        "table.js": lambda: asset("table.js"),
        "style.css": lambda: style() + _own("live.css"),
    }
    text = made[name]() if name in made else _own(name)
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    body = text.encode()
    return File(kind, body, gzip.compress(body, 5, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def _own(name: str) -> str:
    """A file of this room."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


FILES = ("plotly.js", "charts.js", "table.js", "live.js", "desk.js", "new.js", "style.css")


def address(name: str) -> str:
    """Where a file of ours is, as long as it is what it is now."""
    return f"/static/{name}?v={file(name).digest}"


# ---------------------------------------------------------------- pages


def list_page(shelf: Shelf, *, allow_write: bool) -> str:
    """All studies that there are."""
    shown = shelf.all()
    rows = [_row(study, k < _SUMMED) for k, study in enumerate(shown)]
    return render(
        "studies.html",
        HERE,
        rows=rows,
        place=shelf.folder.name if shelf.folder else "",
        can_create=allow_write and shelf.folder is not None,
        address=address,
    )


class Row(NamedTuple):
    """One study of the list."""

    name: str
    state: str
    said: str


def _row(shown: Shown, open_it: bool) -> Row:
    """A study in a line; one that cannot be opened says why."""
    if not open_it:
        return Row(shown.name, "", "")
    try:
        return shown.made("row", _in_a_line)
    except ParetoscopeError as error:
        return Row(shown.name, "refused", f"Cannot be opened: {error}")


def _in_a_line(moment: Moment) -> Row:
    """Where a study stands."""
    made, view = headline(moment.snapshot), moment.view
    verdicts = ", ".join(f"{n} {word}" for word, n in view.numbers() if n != "0")
    done = count(moment.snapshot.status.done, "measurement")
    return Row(view.title, made.state, f"{made.title}. {done}: {verdicts}.")


def new_page(secret: str) -> str:
    """The form of a new study."""
    return render("new.html", HERE, address=address, secret=secret)


def message_page(title: str, said: str) -> str:
    """A page that says one thing."""
    return render("message.html", HERE, address=address, title=title, said=said)


def study_page(shown: Shown, *, secret: str, boot: str, allow_write: bool, listed: bool) -> str:
    """A study, complete but for the numbers of its figures."""

    def page(moment: Moment) -> str:
        return render(
            "study.html",
            HERE,
            **_parts(moment),
            address=address,
            secret=secret if allow_write else "",
            boot=boot,
            allow_write=allow_write,
            again=False,
            listed=listed,
            asked=measured(moment.view.result.problem),
        )

    return shown.made("page", page)


def _parts(moment: Moment) -> dict[str, Any]:
    """Everything that the templates show of a moment."""
    return moment.once("parts", _made_parts)


def _made_parts(moment: Moment) -> dict[str, Any]:
    """The same, worked out."""
    return {**content(moment.view), **desk_parts(moment), "version": moment.version}


def desk_parts(moment: Moment) -> dict[str, Any]:
    """What is to be done: how much is due, and who has what."""
    out = moment.snapshot.out
    return {
        "due_said": _due_said(moment),
        "out": [_held(held) for held in out[:_LISTED]],
        "out_more": max(0, len(out) - _LISTED),
        "out_count": len(out),
    }


def _due_said(moment: Moment) -> str:
    """What can be asked for now, in a sentence."""
    status = moment.snapshot.status
    free = status.due - status.outstanding
    if status.stop is not None:
        return f"Nothing more to measure: {status.stop.value}."
    if not free:
        out = count(status.outstanding, "request is", "requests are")
        return f"Nothing to ask for now: {out} out."
    return f"{count(free, 'measurement')} to ask for in round {status.round}; {status.outstanding:,} out."


class Out(NamedTuple):
    """One request that is out, in words."""

    uid: str
    candidate: str
    replicate: int
    who: str
    since: str
    until: str


def _held(held: Any) -> Out:  # noqa: ANN401  (`trace.Held`)
    """One request that is out."""
    until = "until told" if held.lease is None else _time(held.at + held.lease)
    request = held.request
    who = held.by or "somebody"
    return Out(request.uid, request.candidate, request.replicate, who, _time(held.at), until)


def _time(seconds: float) -> str:
    """A time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


# ---------------------------------------------------------------- after a change


def figures_json(shown: Shown) -> str:
    """The figures of the present moment, and its version."""
    return shown.made("figures", _figures)


def _figures(moment: Moment) -> str:
    """Figures as numbers."""
    parts = _parts(moment)
    return _compact({"version": moment.version, "figures": parts["figures"]})


def state_json(shown: Shown, *, allow_write: bool) -> str:
    """All that changes, for a page that is open."""
    return shown.made("state", lambda moment: _state(moment, allow_write=allow_write))


def _state(moment: Moment, *, allow_write: bool) -> str:
    """The parts of a page, rendered as in the page itself."""
    parts = _parts(moment)
    said = parts["headline"].said[0]
    made = {
        "version": moment.version,
        "title": f"{moment.view.title} – {parts['headline'].title}",
        "said": f"{parts['headline'].title}. {said}",
        "html": render("_study.html", HERE, **parts, allow_write=allow_write, again=True),
        "figures": parts["figures"],
    }
    return _compact(made)


def _compact(data: Any) -> str:  # noqa: ANN401
    """JSON without blanks."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


# ---------------------------------------------------------------- files of a study


def table_csv(shown: Shown) -> str:
    """The table of all candidates."""
    return shown.made("table", lambda moment: write_table(moment.view.result.table()))


def report_html(shown: Shown) -> str:
    """The report that opens offline."""
    return shown.made("report", lambda moment: page_html(moment.snapshot, shown.name))


def pending(study: Study, who: str) -> Sequence[Request]:
    """Requests that are out: all, or one person's."""
    held = study.held() if who else {}
    return [r for r in study.pending() if not who or held.get(_base(r.uid)) == who]


def _base(uid: str) -> str:
    """A request, whichever try of it."""
    return uid.partition(".")[0]
