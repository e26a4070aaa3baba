"""Find the Pareto set among candidates with noisy metrics, from few measurements, with a guarantee that holds."""

from __future__ import annotations

__version__ = "0.1.0.dev0"
