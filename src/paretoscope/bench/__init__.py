"""The paper, reproduced: experiments as data, results as tidy tables, figures, and what they show."""

from __future__ import annotations

from paretoscope.bench.conduct import Step, Wish, conduct
from paretoscope.bench.experiment import Entrant, Experiment, World, load, names, parse
from paretoscope.bench.store import SHIPPED, Results, read_results

__all__ = [
    "SHIPPED",
    "Entrant",
    "Experiment",
    "Results",
    "Step",
    "Wish",
    "World",
    "conduct",
    "load",
    "names",
    "parse",
    "read_results",
]
