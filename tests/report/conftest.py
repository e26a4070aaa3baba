"""A study or two that have something to show."""

from __future__ import annotations

import pytest

from tests.report.lab import world


@pytest.fixture(scope="session")
def linear():
    """Thirty candidates, linear in two features, certified over several rounds."""
    return world(K=30, noise=0.8)


@pytest.fixture(scope="session")
def three():
    """Three metrics, still measuring."""
    return world(K=40, d=3, features=3, noise=0.8, most=2)
