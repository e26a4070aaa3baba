"""Where a study stands, in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.policies.base import StopReason
from paretoscope.study.result import Result


@dataclass(frozen=True)
class Status:
    """Where a study stands.

    Attributes
    ----------
    round, done, due, outstanding : int
        The open round, measurements made, those still wanted in it, and how many of these are out.
    counts : dict
        Candidates by verdict.
    chances : callable
        Draws P(in the front) of every candidate; `front` calls it once.
    """

    round: int
    done: int
    due: int
    outstanding: int
    counts: dict[str, int]
    stop: StopReason | None
    result: Result
    chances: Callable[[], FloatArray]
    method: str
    reason: str

    @cached_property
    def front(self) -> list[tuple[str, float]]:
        """Ids and P(in the front), likeliest first: drawn when first read, and not a guarantee."""
        chance, ids = self.chances(), self.result.problem.candidates.ids
        order = np.argsort(-np.nan_to_num(chance, nan=-1.0), kind="stable")
        return [(ids[k], float(chance[k])) for k in order.tolist() if chance[k] > 0]
