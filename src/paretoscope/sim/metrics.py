"""What many runs of one policy add up to: an error with its exact interval, pulls, rounds, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.errors import UsageError

# Shares of the runs that needed no more pulls than this: what a box plot shows.
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


class Outcome(Protocol):
    """What is counted of a run."""

    @property
    def correct(self) -> bool:
        """Whether every label is right."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the answer is the Pareto set."""
        ...

    @property
    def pulls(self) -> int:
        """Measurements made."""
        ...

    @property
    def rounds(self) -> int:
        """Rounds of measurements."""
        ...


class Interval(NamedTuple):
    """A share and the limits between which it lies."""

    share: float
    low: float
    high: float


def clopper_pearson(errors: int, runs: int, level: float = 0.95) -> Interval:
    """Share of errors with its exact two-sided binomial interval (Clopper, Pearson 1934).

    Raises
    ------
    UsageError
        If the counts or the level make no sense.

    >>> [round(x, 4) for x in clopper_pearson(0, 20)]
    [0.0, 0.0, 0.1684]
    """
    if not (0 <= errors <= runs and runs > 0 and 0.0 < level < 1.0):
        raise UsageError(f"{errors} errors in {runs} runs at level {level}: makes no sense")
    from scipy import special  # noqa: PLC0415  (only where an interval is asked for)

    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(errors, runs - errors + 1, tail)) if errors else 0.0
    high = float(special.betaincinv(errors + 1, runs - errors, 1.0 - tail)) if errors < runs else 1
    return Interval(errors / runs, low, float(high))


def pull_spread(pulls: FloatArray) -> dict[str, float]:
    """Mean of the pulls, its standard error, extremes and quantiles."""
    n = len(pulls)
    spread = float(pulls.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    found = {"mean": float(pulls.mean()), "se": spread, "min": float(pulls.min())}
    cuts = np.quantile(pulls, list(QUANTILES.values()))
    found |= dict(zip(QUANTILES, map(float, cuts), strict=True))
    return found | {"max": float(pulls.max())}


def summary(runs: Sequence[Outcome], level: float = 0.95) -> dict[str, float]:
    """Runs as one row: errors with their interval, wrong sets, pulls, rounds.

    ``errors`` counts runs with a wrong label (or, without a certificate, a wrong set); ``inexact``
    those whose answer is not exactly the Pareto set.

    Raises
    ------
    UsageError
        If there is no run.
    """
    if not runs:
        raise UsageError("no run at all: nothing can be said")
    errors = sum(not run.correct for run in runs)
    share = clopper_pearson(errors, len(runs), level)
    pulls = pull_spread(np.array([run.pulls for run in runs], dtype=np.float64))
    return {
        "runs": len(runs),
        "errors": errors,
        "error": share.share,
        "error_low": share.low,
        "error_high": share.high,
        "inexact": sum(not run.exact for run in runs),
        **{f"pulls_{name}": value for name, value in pulls.items()},
        "rounds_mean": float(np.mean([run.rounds for run in runs])),
    }
