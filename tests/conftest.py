"""One place where tests are chosen: long ones on request, none skipped where CI forbids it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# one browser for a worker, whichever folder its tests are in: its driver cannot be started twice
from tests.browser import browser, chromium

__all__ = ["browser", "chromium"]

settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long runs out unless asked for (deselected, not skipped)."""
    if os.environ.get("PARETOSCOPE_LONG"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Where CI sets PARETOSCOPE_REQUIRE_ALL, a skipped test is a failed one."""
    if report.skipped and os.environ.get("PARETOSCOPE_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"skipped where every test must run: {report.longrepr}"


def data_file(name: str) -> Path:
    """A file of the shared data, or a skip that says where it was looked for."""
    path = Path(os.environ.get("PARETOSCOPE_DATA", DATA)) / name
    if not path.exists():
        pytest.skip(f"needs the data file {path} (set PARETOSCOPE_DATA to its folder)")
    return path


@pytest.fixture(scope="session")
def noc_csv() -> Path:
    return data_file("noc.csv")


@pytest.fixture(scope="session")
def energy_csv() -> Path:
    return data_file("energy_efficiency.csv")
