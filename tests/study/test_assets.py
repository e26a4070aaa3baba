"""Studies of every released schema open for ever: with all that they hold, and they go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from paretoscope.ledger import SCHEMA, open_ledger
from paretoscope.study.book import KINDS
from paretoscope.study.exchange import examine, export_lines, import_study
from paretoscope.study.study import Study
from tests.study.lab import copy, shape

ASSETS = Path(__file__).resolve().parents[1] / "assets"
# Schema 1: 24 measurements of three candidates; a lease that ran out, a failure, a loss, a row written
# off, a correction, a surplus, a summary told in part, and a measurement from before.
TOLD = {
    "r0c1n0": (0.5, 0.25, None),
    "r0c2n0": (1.125, 0.1, None),
    "r0c2n2": (2.125, 0.9, None),
    "r0c1n3": (1.5, 0.3, None),
    "r0c1n4": (1.5, 0.3, None),
}


@pytest.fixture(params=range(1, SCHEMA + 1))
def asset(request, tmp_path):
    path = tmp_path / "w.study"
    shutil.copy(ASSETS / f"study-schema-{request.param}.study", path)
    return path


def test_a_study_of_a_released_schema_opens_and_goes_on(asset):
    with open_ledger(asset, create=False) as ledger:
        assert {event["kind"] for _, event in ledger.read()} == KINDS - {"reframed"}
        assert all(finding.fine for finding in examine(ledger))
    with Study.open(asset) as study:
        book = study._book
        assert len(book.values) == study.status().done == 8
        assert TOLD.items() <= book.values.items()
        assert book.surplus == [("r0c2n2", (2.25, 1.0, None))]
        assert book.history == [(2, (2.0, 1.0, None))]
        assert study.problem.candidates.columns["dose"] == ["1", "2.50", "4"]
        assert {request.uid for request in study.peek()} >= {"r0c1n1.2", "r0c1n5"}
        assert shape(study) == shape(copy(study))
        batch = study.ask(4)
        assert study.tell([{"uid": r.uid, "y": 1.0, "t": 2.0} for r in batch]).accepted == 4


def test_a_study_that_was_reframed_opens_and_goes_on(tmp_path):
    path = tmp_path / "w.study"
    shutil.copy(ASSETS / "study-schema-1-reframed.study", path)
    with open_ledger(path, create=False) as ledger:
        assert {event["kind"] for _, event in ledger.read()} == KINDS
        assert all(finding.fine for finding in examine(ledger))
    with Study.open(path) as study:
        book = study._book
        assert (book.frames, len(book.values), len(book.retired)) == (1, 5, 8)
        assert study.problem.features.names == ("1", "dose", "dose^2")
        assert book.values["r1c0n1"] == (1.5, 3.0, None)
        assert [request.uid for request in study.pending()] == ["r1c1n1"]
        assert shape(study) == shape(copy(study))
        assert study.tell([{"uid": "r1c1n1", "y": 1.0, "t": 2.0}]).accepted == 1


def test_its_lines_are_those_of_then(asset, tmp_path):
    lines = asset.with_name("w.jsonl")
    source = next(ASSETS.glob(f"study-schema-{SCHEMA}.jsonl"))
    shutil.copy(source, lines)
    with open_ledger(asset, create=False) as ledger:
        assert "".join(export_lines(ledger)) == lines.read_text(encoding="utf-8")
    import_study(lines.read_text(encoding="utf-8").splitlines(), tmp_path / "v.study")
    with Study.open(asset) as one, Study.open(tmp_path / "v.study") as two:
        assert shape(one) == shape(two)
    assert json.loads(lines.read_text(encoding="utf-8").splitlines()[0])["schema"] == SCHEMA
