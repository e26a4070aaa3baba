"""Cells: one entrant in one world at one place of the axis, with its runs and its key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from paretoscope.bench.entrants import fingerprint
from paretoscope.bench.experiment import Entrant, Experiment, Value, World
from paretoscope.version import __version__

# Of experiments that have no entrants: a cell is then a world and a place.
NOBODY = Entrant("", "")


@dataclass(frozen=True, eq=False)
class Cell:
    """What is run, stored and resumed as one."""

    experiment: Experiment
    world: World
    value: Value
    entrant: Entrant
    runs: int
    seed: int

    @cached_property
    def key(self) -> str:
        """Digest of everything the numbers depend on: another experiment is another cell."""
        said: dict[str, Any] = {
            "version": __version__,
            "kind": self.experiment.kind,
            "axis": self.experiment.axis,
            "goal": self.experiment.goal,
            "world": [self.world.kind, self.world.settings],
            "value": self.value,
            "policy": [self.entrant.policy, self.entrant.settings, self.entrant.max_pulls],
            "source": fingerprint(self.entrant),
            "runs": self.runs,
            "seed": self.seed,
        }
        text = json.dumps(said, sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def stem(self) -> str:
        """Name of its file: readable, and unique by its key."""
        words = f"{self.world.name} {self.value} {self.entrant.name}".lower()
        return f"{re.sub(r'[^a-z0-9.]+', '-', words).strip('-')}-{self.key}"

    def said(self) -> str:
        """The cell in a few words."""
        who = f"{self.entrant.name}, " if self.entrant.name else ""
        return f"{who}{self.world.name}, {self.experiment.axis} = {self.value}"


def cells_of(
    experiment: Experiment,
    runs: int | None = None,
    seed: int | None = None,
    only: tuple[str, ...] = (),
) -> Iterator[Cell]:
    """All cells, world by world; ``only`` these entrants."""
    seed = experiment.seed if seed is None else seed
    chosen = [e for e in experiment.entrants if not only or e.name in only]
    places = [(w, k, v) for w in experiment.worlds for k, v in enumerate(experiment.places(w))]
    for (world, place, value), entrant in product(
        places, chosen if experiment.entrants else [NOBODY]
    ):
        count = experiment.runs_of(entrant, place, runs)
        if count and entrant.name not in world.without:
            yield Cell(experiment, world, value, entrant, count, seed)


def joined_by(experiment: Experiment, strangers: list[Entrant]) -> Experiment:
    """The experiment with more entrants; a name that is taken gets a number."""
    entrants = list(experiment.entrants)
    for entrant in strangers:
        taken = sum(other.name.split(" #")[0] == entrant.name for other in entrants)
        name = f"{entrant.name} #{taken + 1}" if taken else entrant.name
        entrants.append(replace(entrant, name=name))
    return replace(experiment, entrants=tuple(entrants))
