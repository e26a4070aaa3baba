"""A new study from the page: a table of candidates, and a form for what is measured.

Features are columns only. A formula is written in code or in a file of one's own, never in a page.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paretoscope.errors import UsageError
from paretoscope.study import Metric, Study
from paretoscope.table import read_candidates

# What any file system takes, and no path: letters, digits, spaces, dots and dashes inside.
_NAME = re.compile(r"\w(?:[\w .-]{0,58}[\w-])?")


def create(folder: Path, terms: str, candidates: bytes) -> str:
    """A study in the folder; its name.

    Parameters
    ----------
    terms : str
        JSON: ``name``, ``id``, ``features``, ``delta``, ``epsilon``, ``budget``, ``seed``, and ``metrics``,
        each with ``name``, ``goal``, ``unit``, ``epsilon``, ``sigma`` and ``kind`` (plain, log or exact).

    Raises
    ------
    UsageError, DataError
        If a term makes no sense, a candidate cannot be used, or the name is taken.
    """
    given = _terms(terms)
    name = str(given.get("name", "")).strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"name {name[:60]!r}: letters, digits, spaces, dots and dashes, at most 60"
        )
    path = folder / f"{name}.study"
    if path.exists():
        raise UsageError(f"there is a study {name!r} already: give another name")
    listed = read_candidates(io.BytesIO(candidates), _text(given, "id") or None)
    features = [part.strip() for part in _text(given, "features").split(",") if part.strip()]
    for part in features:
        if part not in listed.columns:
            raise UsageError(f"feature {part!r} is none of the columns {list(listed.columns)}")
    study = Study.create(
        path,
        candidates=listed,
        metrics=[_metric(metric) for metric in _metrics(given)],
        features=features or None,
        **_numbers(given),
    )
    study.close()
    return name


def _terms(text: str) -> Mapping[str, Any]:
    """The form."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise UsageError("the terms of the study are no JSON object")
    return given


def _text(given: Mapping[str, Any], key: str) -> str:
    """A field of the form; blank where it is missing."""
    return str(given.get(key) or "").strip()


def _metrics(given: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The metrics that have a name."""
    rows = given.get("metrics")
    named = [row for row in rows if isinstance(row, dict) and _text(row, "name")] if rows else []
    if not named:
        raise UsageError("name at least one metric")
    return named


def _metric(row: Mapping[str, Any]) -> Metric:
    """One metric."""
    kind, epsilon = _text(row, "kind"), _text(row, "epsilon")
    return Metric(
        _text(row, "name"),
        _text(row, "goal"),
        unit=_text(row, "unit"),
        sigma=None if not _text(row, "sigma") or kind == "exact" else _number(row, "sigma"),
        epsilon=(epsilon if epsilon.endswith("%") else _number(row, "epsilon"))
        if epsilon
        else None,
        scale="log" if kind == "log" else "linear",
        exact=kind == "exact",
    )


def _numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """Risk, budget and seed, as far as they are given."""
    made: dict[str, Any] = {}
    if _text(given, "delta"):
        made["delta"] = _number(given, "delta")
    for key in ("budget", "seed"):
        text = _text(given, key)
        if text and not (text.isascii() and text.isdigit() and len(text) < 10):
            raise UsageError(f"{key} {text!r}: give a whole number")
        if text:
            made[key] = int(text)
    return made


def _number(given: Mapping[str, Any], key: str) -> float:
    """A number; a decimal comma will do."""
    text = _text(given, key)
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise UsageError(f"{key} {text!r} is no number") from None
