"""The table of a run, printed once all is measured."""

from __future__ import annotations

import pytest

import board


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(board.table())
