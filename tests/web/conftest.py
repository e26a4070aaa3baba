"""The browser, and one server with a folder of studies for all tests of a worker."""

from __future__ import annotations

import pytest

from tests.browser import chromium
from tests.web.lab import serving

__all__ = ["chromium"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="session")
def site(folder):
    with serving(folder) as made:
        yield made
