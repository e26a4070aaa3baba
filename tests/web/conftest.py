"""One server with a folder of studies for all tests of a worker."""

from __future__ import annotations

import pytest

from tests.web.lab import serving


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="session")
def site(folder):
    with serving(folder) as made:
        yield made
