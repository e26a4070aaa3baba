# ruff: noqa: A005 (always imported as tests.statistics)
"""When a count of errors contradicts a stated rate: exact binomial tests, one sided."""

from __future__ import annotations

from scipy import stats

# A right program fails one such test in a thousand, once: seeds are fixed.
SURPRISE = 1e-3


def at_most(errors: int, runs: int, level: float) -> None:
    """The errors are compatible with a rate of at most ``level``."""
    tail = float(stats.binom.sf(errors - 1, runs, level))
    assert tail >= SURPRISE, (
        f"{errors} errors in {runs} runs: not a rate of {level} (p = {tail:.1e})"
    )


def above(errors: int, runs: int, level: float) -> None:
    """The errors contradict a rate of at most ``level``: the negative control was seen."""
    tail = float(stats.binom.sf(errors - 1, runs, level))
    assert tail < SURPRISE, (
        f"{errors} errors in {runs} runs may be a rate of {level} (p = {tail:.1e})"
    )


def at_least(errors: int, runs: int, level: float) -> None:
    """The errors are compatible with a rate of at least ``level``."""
    tail = float(stats.binom.cdf(errors, runs, level))
    assert tail >= SURPRISE, f"{errors} errors in {runs} runs: below {level} (p = {tail:.1e})"
