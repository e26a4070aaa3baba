"""What can be done to a study from its page: the same calls that the command line makes.

A sheet is handed in twice: first it is checked, and the page gets a receipt for exactly these bytes;
with the receipt they are stored, once. So what a person has seen is what is stored, and an upload that
somebody recorded and sends again is refused.
"""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal

from paretoscope.errors import DataError, UsageError
from paretoscope.sheet import Sheet, write_sheet
from paretoscope.study import Request, Study
from paretoscope.study.speech import count, delivered
from paretoscope.summary import either_sheet, write_summary

# Rows of a sheet whose mistakes are listed: nobody mends more at a time.
_ROWS = 50
# Receipts that were given and not yet used.
_RECEIPTS = 1000
# Characters of a name or a reason.
_LONGEST = 200


class Receipts:
    """Sheets that were checked and may be stored once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._given: dict[str, tuple[str, str]] = {}

    def give(self, study: str, sheet: bytes) -> str:
        """A receipt for a sheet."""
        made = secrets.token_urlsafe(16)
        with self._lock:
            self._given[made] = study, _digest(sheet)
            while len(self._given) > _RECEIPTS:
                del self._given[next(iter(self._given))]
        return made

    def take(self, receipt: str, study: str, sheet: bytes) -> bool:
        """Whether a receipt is for this sheet; it holds no longer."""
        with self._lock:
            return self._given.pop(receipt, None) == (study, _digest(sheet))


def _digest(sheet: bytes) -> str:
    """A sheet, whatever its length."""
    return hashlib.sha256(sheet).hexdigest()


# ---------------------------------------------------------------- sheets out


def next_sheet(study: Study, given: Mapping[str, Any]) -> tuple[int, str]:
    """The next requests, taken, and their sheet.

    Parameters
    ----------
    given : mapping
        ``n`` (all of the round if it is blank), ``who``, and how the sheet is written: ``rows`` by
        measurement or candidate, ``marks`` "," or ";".
    """
    n, rows = _whole(given.get("n")), given.get("rows", "measurement")
    requests = study.ask(n, by=_line(given, "who"))
    try:
        return len(requests), sheet_text(study, requests, str(rows), str(given.get("marks", ",")))
    except BaseException:  # no sheet, no request: nobody would know of them
        study.release([request.uid for request in requests], "the sheet was not written")
        raise


def sheet_text(study: Study, requests: Sequence[Request], rows: str, marks: str) -> str:
    """A sheet as a spreadsheet opens it."""
    if rows == "candidate":
        text = write_summary(None, study.problem, requests)
    else:
        decimal: Literal[",", "."] = "," if marks == ";" else "."
        mark = ";" if marks == ";" else ","
        text = write_sheet(None, study.problem, requests, delimiter=mark, decimal=decimal)
    return text if text.isascii() else "\ufeff" + text  # the mark by which spreadsheets know UTF-8


def _whole(value: object) -> int | None:
    """A number of measurements; None for all."""
    text = str(value if value is not None else "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UsageError(f"{text[:20]!r} measurements: give a whole number, or none for all")
    return int(text)


def _line(given: Mapping[str, Any], key: str) -> str:
    """A line of text that somebody wrote."""
    text = " ".join(str(given.get(key) or "").split())
    if len(text) > _LONGEST:
        raise UsageError(f"{key}: at most {_LONGEST} characters")
    return text


# ---------------------------------------------------------------- sheets in


def check_sheet(study: Study, sheet: bytes, who: str) -> dict[str, Any]:
    """What storing a sheet would do, or what is wrong with it, row by row."""
    try:
        made = either_sheet(io.BytesIO(sheet), study.problem)
        try:
            told = study.tell(made.rows(), by=who, dry_run=True)
        except DataError as error:
            return {"errors": _errors(study, made, who) or [_error(error)]}
    except DataError as error:
        return {"errors": [_error(error)]}
    return {"said": delivered(told), "new": told.accepted + told.failed + told.surplus}


def _errors(study: Study, sheet: Sheet, who: str) -> list[dict[str, Any]]:
    """Every row that cannot be used by itself."""
    refused = sheet.refused(lambda row: study.tell([row], by=who, dry_run=True))
    listed = [{"row": row, "said": reason} for row, reason in refused[:_ROWS]]
    if len(refused) > _ROWS:
        listed.append({"row": None, "said": f"and {count(len(refused) - _ROWS, 'row')} more"})
    return listed


def _error(error: DataError) -> dict[str, Any]:
    """A mistake of the whole sheet, or of rows together."""
    return {"row": None, "said": str(error).removeprefix("the table").lstrip(":, ")}


def store_sheet(study: Study, sheet: bytes, who: str) -> str:
    """A sheet, stored whole or not at all; what became of its rows."""
    return delivered(study.tell(either_sheet(io.BytesIO(sheet), study.problem).rows(), by=who))


# ---------------------------------------------------------------- one request


def tell_values(study: Study, given: Mapping[str, Any]) -> str:
    """The values of one request, as they were typed: a decimal comma will do."""
    values = given.get("values")
    if not isinstance(values, dict) or not values:
        raise UsageError("give a value for every metric")
    typed = {str(name): str(value).strip() for name, value in values.items()}
    blank = [name for name, value in typed.items() if not value]
    if blank:
        raise DataError(f"{blank[0]} is blank: one measurement has a value for every metric")
    comma = any("," in value for value in typed.values())
    rows = either_sheet(
        [{"uid": str(given.get("uid", "")), **typed}], study.problem, decimal="," if comma else "."
    ).rows()
    return delivered(study.tell(rows, by=_line(given, "who")))


def settle(study: Study, given: Mapping[str, Any]) -> str:
    """A request that has no values: it failed, is given back, or written off."""
    uid, how, reason = str(given.get("uid", "")), given.get("how"), _line(given, "reason")
    if how == "failed":
        study.tell_failed(uid, reason, by=_line(given, "who"))
        return f"{uid} failed: {reason}"
    if how == "release":
        study.release([uid], reason or "given back")
        return f"{uid} is given back: it will be asked for again"
    if how != "withdraw":
        raise UsageError(f"{how!r}: give failed, release or withdraw")
    if not reason:
        raise UsageError(f"{uid} is written off: give the reason in a word or two")
    study.withdraw([uid], reason)
    return f"{uid} is written off"
