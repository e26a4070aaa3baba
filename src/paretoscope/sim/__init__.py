"""Worlds with a known truth, and runs of policies in them."""

from __future__ import annotations

from paretoscope.sim.compare import compare
from paretoscope.sim.instances import (
    Instance,
    energy,
    near_tie,
    noc,
    random_instance,
    synthetic,
)
from paretoscope.sim.metrics import clopper_pearson, summary
from paretoscope.sim.monte_carlo import monte_carlo
from paretoscope.sim.noise import Bernoulli, Correlated, Gaussian, Rademacher
from paretoscope.sim.simulate import Run, setting_of, simulate

__all__ = [
    "Bernoulli",
    "Correlated",
    "Gaussian",
    "Instance",
    "Rademacher",
    "Run",
    "clopper_pearson",
    "compare",
    "energy",
    "monte_carlo",
    "near_tie",
    "noc",
    "random_instance",
    "setting_of",
    "simulate",
    "summary",
    "synthetic",
]
