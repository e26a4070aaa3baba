"""Studies as JSON lines, one event a line, and the examination of a whole study.

A line is ``{"schema": 1, "number": 3, "event": {"kind": "told", ...}}``; ``events.schema.json``
beside this file is the JSON Schema of a line. What comes in is checked by hand, line by line, and a
file is taken whole or not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from paretoscope.errors import DataError, LedgerError, ParetoscopeError, UsageError
from paretoscope.ledger import SCHEMA, Event, Ledger, MemoryLedger, open_ledger
from paretoscope.ledger.base import check_schema, encode
from paretoscope.study import methods
from paretoscope.study.book import Book, Uid, group_members
from paretoscope.study.methods import Wishes
from paretoscope.study.problem import Problem
from paretoscope.study.study import Study

Check = Callable[[Any], bool]
# What goes wrong inside when a definition or an event is not what it should be.
_BROKEN = (ParetoscopeError, ArithmeticError, AssertionError, AttributeError, LookupError)
_FAULTS = (*_BROKEN, TypeError, ValueError)
_SCHEMA_FILE = Path(__file__).with_name("events.schema.json")


# ---------------------------------------------------------------- the shape of an event


def _is_number(value: Any) -> bool:  # noqa: ANN401  (a JSON value, here and below)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_lease(value: Any) -> bool:  # noqa: ANN401
    return value is None or _is_number(value)


def _is_text(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, str)


def _is_object(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, dict)


def _is_uid(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, str) and Uid.parse(value) is not None


def _is_uids(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(map(_is_uid, value))


def _is_row(value: Any, first: Check) -> bool:  # noqa: ANN401
    """A pair: what was measured, and its values."""
    pair = isinstance(value, list) and len(value) == 2
    return pair and first(value[0]) and isinstance(value[1], list) and all(map(_is_lease, value[1]))


def _is_rows(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(_is_row(row, _is_uid) for row in value)


def _is_index(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_history(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(_is_row(row, _is_index) for row in value)


def _is_group(row: Any) -> bool:  # noqa: ANN401
    if not isinstance(row, list) or len(row) != 4 or not isinstance(row[0], str):
        return False
    size = len(group_members(row[0]))
    fine = _is_index(row[1]) and 1 <= row[1] <= size
    return fine and all(isinstance(part, list) and all(map(_is_lease, part)) for part in row[2:])


def _is_groups(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(_is_group(row) for row in value)


_SAID: dict[Check, str] = {
    _is_number: "a finite number",
    _is_lease: "a number of seconds or null",
    _is_text: "text",
    _is_object: "an object",
    _is_uids: "a list of requests such as r0c1n2",
    _is_rows: "a list of [request, [numbers or nulls]]",
    _is_groups: "a list of [group such as r0c1n0to4, n, [means], [deviations]]",
    _is_index: "a number from 0",
    _is_history: "a list of [number of the candidate, [numbers or nulls]]",
}
_DELIVERY: dict[str, Check] = {"by": _is_text, "at": _is_number}
SHAPES: dict[str, dict[str, Check]] = {
    "created": {"definition": _is_object, "at": _is_number},
    "asked": {"uids": _is_uids, "lease": _is_lease, **_DELIVERY},
    "told": {"rows": _is_rows, **_DELIVERY},
    "failed": {"uids": _is_uids, "reason": _is_text, **_DELIVERY},
    "returned": {"uids": _is_uids, "reason": _is_text},
    "withdrawn": {"uids": _is_uids, "reason": _is_text},
    "corrected": {"rows": _is_rows, "reason": _is_text},
    "summed": {"rows": _is_groups, "reason": _is_text, **_DELIVERY},
    "surplus": {"rows": _is_rows},
    "history": {"rows": _is_history},
    "reframed": {
        "definition": _is_object,
        "turn": _is_index,
        "reason": _is_text,
        "at": _is_number,
    },
}


def check_event(event: Any) -> dict[str, Any]:  # noqa: ANN401  (a JSON value)
    """An event of a known kind with exactly its keys.

    Raises
    ------
    DataError
        That says which key is wrong; the caller says where.

    >>> check_event({"kind": "surplus", "rows": [["r0c1n0", [0.5, None]]]})["kind"]
    'surplus'
    """
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        raise DataError("the event has no kind")
    shape = SHAPES.get(event["kind"])
    if shape is None:
        raise DataError(f"the kind {event['kind']!r} is none of {', '.join(SHAPES)}")
    wrong = sorted(set(event) ^ {"kind", *shape})
    if wrong:
        fault = "is missing" if wrong[0] in shape else "does not belong there"
        raise DataError(f"the key {wrong[0]!r} of {event['kind']!r} {fault}")
    for key, check in shape.items():
        if not check(event[key]):
            shown = repr(event[key])[:60]
            raise DataError(f"{key} of {event['kind']!r} must be {_SAID[check]}, not {shown}")
    return event


# ---------------------------------------------------------------- out and in


def schema_text() -> str:
    """The JSON Schema of a line."""
    return _SCHEMA_FILE.read_text(encoding="utf-8")


def export_lines(ledger: Ledger) -> Iterator[str]:
    """One line per event, each with its end."""
    for number, event in ledger.read():
        yield encode({"schema": SCHEMA, "number": number, "event": event}) + "\n"


def read_lines(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The events of exported lines.

    Raises
    ------
    DataError
        For the first line that cannot be used, by its number.
    """
    events = []
    for number, line in enumerate(lines, 1):
        try:
            events.append(_read_line(line, number))
        except DataError as error:
            raise DataError(f"line {number}: {error}") from None
    if not events:
        raise DataError("there is no line: a study has at least the event 'created'")
    return events


def _read_line(line: str, number: int) -> dict[str, Any]:
    """The event of a line."""
    try:
        found = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_once)
        encode({"line": found})  # a number too large for a float is read as infinite
    except (ValueError, RecursionError) as error:
        raise DataError(f"is damaged ({' '.join(str(error).split())[:80]})") from None
    if not isinstance(found, dict) or set(found) != {"schema", "number", "event"}:
        raise DataError("must be an object with the keys schema, number and event")
    if not _is_index(found["schema"]):
        raise DataError(f"schema {found['schema']!r} is no number")
    try:
        check_schema(found["schema"], "it")
    except LedgerError as error:
        raise DataError(str(error)) from None
    if not _is_index(found["number"]) or found["number"] != number:
        raise DataError(f"holds event {found['number']!r}: a line is missing, doubled or moved")
    return check_event(found["event"])


def _refuse_constant(word: str) -> None:
    """NaN and infinities are no JSON."""
    raise DataError(f"{word} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise DataError("a key stands twice")
    return made


def import_study(lines: Iterable[str], where: str | Path) -> int:
    """A new study from exported lines; the number of its events.

    Raises
    ------
    DataError
        If a line cannot be used, or the events make no study; nothing is written then.
    UsageError
        If there is a study at the address already.
    """
    events = read_lines(lines)
    with MemoryLedger() as trial:
        trial.append(events, expect=0)
        for finding in examine(trial):
            if not finding.fine:
                raise DataError(f"{finding.check}: {finding.said}")
    with open_ledger(where, create=True) as ledger:
        if ledger.read():
            raise UsageError(f"{where} holds a study already: give another name")
        return ledger.append(events, expect=0)


# ---------------------------------------------------------------- examination


class Finding(NamedTuple):
    """One thing that was checked, and what was found."""

    check: str
    fine: bool
    said: str


def examine(ledger: Ledger) -> list[Finding]:
    """Check a study from its numbers to its values; what depends on a fault is not tried."""
    found: list[Finding] = []
    events = _try(found, "numbers", lambda: _numbered(ledger))
    if events is None or _try(found, "events", lambda: _shaped(events)) is None:
        return found
    problem = _try(found, "definition", lambda: _defined(events))
    if problem is None:
        return found
    _try(found, "requests", lambda: _requested(problem, events))
    _try(found, "values", lambda: _valued(problem, events))
    if all(finding.fine for finding in found):
        _try(found, "replay", lambda: _replayed(events))
    return found


def _try(found: list[Finding], check: str, work: Callable[[], tuple[Any, str]]) -> Any:  # noqa: ANN401
    """The product of a check, or None where it failed; either way it is noted."""
    try:
        made, said = work()
    except _FAULTS as error:
        text = str(error) if isinstance(error, ParetoscopeError) else repr(error)
        found.append(Finding(check, False, " ".join(text.split())))
        return None
    found.append(Finding(check, True, said))
    return made


def _numbered(ledger: Ledger) -> tuple[list[Event], str]:
    """The ledger refuses holes itself."""
    events = ledger.read()
    if not events:
        raise DataError("the store is empty")
    return events, f"{len(events)} events, 1 to {events[-1][0]} without holes"


def _shaped(events: list[Event]) -> tuple[bool, str]:
    """Every event has the keys of its kind, and the first one begins the study."""
    for number, event in events:
        try:
            check_event(event)
        except DataError as error:
            raise DataError(f"event {number}: {error}") from None
        if (number == 1) != (event["kind"] == "created"):
            raise DataError(f"event {number} is {event['kind']!r}: a study begins with 'created'")
    return True, "every event is of a known kind and has its keys"


def _defined(events: list[Event]) -> tuple[Problem, str]:
    """Problem, method and wishes can be read, of every frame."""
    for _, event in events[1:]:
        if event["kind"] == "reframed":
            _readable(event["definition"])
    definition = events[0][1]["definition"]
    problem = _readable(definition)
    return problem, f"{problem.K} candidates, {problem.d} metrics, {definition['method']['policy']}"


def _readable(definition: dict[str, Any]) -> Problem:
    """The problem of a definition whose method and wishes make sense."""
    problem = Problem.from_plain(definition["problem"])
    methods.check_terms(methods.method_from_plain(definition["method"]), problem.setting)
    Wishes(**definition["wishes"])
    return problem


def _rows(event: dict[str, Any]) -> list[list[Any]]:
    """Rows of an event with their requests; a summary is one row for each."""
    if event["kind"] == "history":
        return []
    rows: list[list[Any]] = event.get("rows", [])
    if event["kind"] != "summed":
        return rows
    return [[uid, means] for group, n, means, _ in rows for uid in group_members(group)[:n]]


def _requested(problem: Problem, events: list[Event]) -> tuple[int, str]:
    """Requests name candidates, are asked before they are told, and told before corrected."""
    asked: set[str] = set()
    told: set[str] = set()
    needs = {"told": asked, "summed": asked, "failed": asked, "surplus": asked, "corrected": told}
    for number, event in events:
        uids = [*event.get("uids", []), *(row[0] for row in _rows(event))]
        for text in uids:
            uid = Uid.parse(text)
            if uid is None or uid.candidate >= problem.K:
                raise DataError(f"event {number}: {text} names no candidate of this study")
            if text not in needs.get(event["kind"], (text,)):
                raise DataError(f"event {number}: {text} is {event['kind']} out of order")
        asked |= set(uids) if event["kind"] == "asked" else set()
        told |= set(uids) if event["kind"] in {"told", "summed"} else set()
    return len(asked), f"{len(asked)} asked, {len(told)} told, in order and of this study"


def _valued(problem: Problem, events: list[Event]) -> tuple[int, str]:
    """Every value is one that its metric can have."""
    n = 0
    for number, event in events:
        if event["kind"] == "reframed":  # the metrics may have other bounds and scales from here
            problem = Problem.from_plain(event["definition"]["problem"])
        for name, values in _rows(event) or event.get("rows", []):
            if len(values) != problem.d:
                raise DataError(f"event {number}, {name}: {len(values)} values, not {problem.d}")
            pairs = zip(problem.metrics, values, strict=True)
            try:
                problem.check_row({m.name: value for m, value in pairs})
            except DataError as error:
                raise DataError(f"event {number}, {name}: {error}") from None
            n += 1
        numbered = event["rows"] if event["kind"] == "history" else []
        beyond = [k for k, _ in numbered if k >= problem.K]
        if beyond:
            raise DataError(f"event {number}: there is no candidate number {beyond[0]}")
    return n, f"{n} rows, all finite and within the bounds of their metrics"


def _replayed(events: list[Event]) -> tuple[bool, str]:
    """All events can be folded, and the method follows them to the present round."""
    book = Book()
    for number, event in events:
        book.apply(number, event)
    with MemoryLedger() as ledger:
        ledger.append([event for _, event in events], expect=0)
        status = Study(ledger).status()
    where = f"round {status.round}" if status.stop is None else f"its end ({status.stop.value})"
    return True, f"{len(book.values)} measurements kept; the study opens and is at {where}"
