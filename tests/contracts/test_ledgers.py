from __future__ import annotations

import doctest
import sys
from importlib import import_module
from uuid import uuid4

import pytest

from paretoscope.errors import LedgerError
from paretoscope.ledger import MemoryLedger, SqliteLedger, open_ledger
from tests.contracts.ledger import CHECKS, STORE_CHECKS


class Store:
    """A fresh place for a ledger."""

    def __init__(self, where):
        self.where = where

    def __call__(self, *, create):
        return open_ledger(self.where, create=create)


@pytest.fixture
def memory_store():
    return Store(None)


@pytest.fixture
def sqlite_store(tmp_path):
    return Store(tmp_path / "a study % ?#.study")


@pytest.fixture
def postgres_store(postgres):
    return Store(postgres.address(f"{uuid4().hex} %C3%A9%26").replace("tester@", "tester:secret@"))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request):
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request):
    with request.getfixturevalue(f"{request.param}_store")(create=True) as opened:
        yield opened


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_ledger(ledger, check):
    check(ledger)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_every_store(store, check):
    check(store)


def test_an_address_says_what_it_is(tmp_path, monkeypatch):
    assert type(open_ledger(None, create=False)) is MemoryLedger
    with open_ledger(str(tmp_path / "a.study"), create=True) as ledger:
        assert type(ledger) is SqliteLedger
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(LedgerError, match=r"paretoscope\[postgres\]"):
        open_ledger("postgresql://host/database?study=a", create=True)


@pytest.mark.parametrize("module", ["", ".memory", ".postgres"])
def test_the_examples_run(module):
    done = doctest.testmod(import_module(f"paretoscope.ledger{module}"))
    assert done.attempted
    assert not done.failed
