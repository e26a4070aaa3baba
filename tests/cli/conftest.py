"""A folder with candidates, and a terminal of 80 columns."""

from __future__ import annotations

import pytest

from tests.cli.lab import write_candidates


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_candidates(tmp_path / "c.csv")
    return tmp_path
