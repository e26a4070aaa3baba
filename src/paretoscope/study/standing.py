"""How far a study has come, for whoever looks often: nothing is estimated or tested for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretoscope.policies.base import StopReason, Verdict
from paretoscope.study.problem import Problem


@dataclass(frozen=True)
class Standing:
    """How far a study has come.

    Attributes
    ----------
    round, done, due : int
        The open round, measurements told, and those still wanted in it.
    """

    problem: Problem
    round: int
    done: int
    due: int
    verdict: Verdict
    stop: StopReason | None

    @property
    def K(self) -> int:
        """Number of candidates."""
        return self.problem.K

    @property
    def stopped(self) -> bool:
        """Whether nothing more is wanted."""
        return self.stop is not None

    @cached_property
    def counts(self) -> dict[str, int]:
        """Candidates by verdict."""
        made = {
            name: int(getattr(self.verdict, name).sum())
            for name in ("accepted", "near", "rejected", "infeasible")
        }
        return {**made, "undecided": self.K - sum(made.values())}

    @cached_property
    def front(self) -> list[str]:
        """Ids of what is accepted, or near, by now."""
        ids = self.problem.candidates.ids
        return [ids[k] for k in np.flatnonzero(self.verdict.answer).tolist()]
