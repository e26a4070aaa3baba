"""Table 1 of the paper with numbers in it, and the gaps of its figure 5."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.core.gaps import psi_gaps
from paretoscope.core.theory import confidence_pulls_by_round, confidence_pulls_closed_form
from paretoscope.sim.instances import Instance

Row = dict[str, Any]


def bound_rows(instance: Instance, delta: float) -> list[Row]:
    """Complexities, orders of growth without their constants, and the bounds that have constants."""
    size, sigma = instance.complexity(), float(instance.sigma.max())
    values = {name: getattr(size, name) for name in ("H1", "H1_lin", "H2", "H2_lin")}
    values |= _orders(size.gaps, instance, delta)
    K, h, d = instance.K, instance.h, instance.d
    values |= {
        "GEGE, round by round": confidence_pulls_by_round(size.gaps, h, d, delta, sigma),
        "GEGE, closed form": confidence_pulls_closed_form(size.gaps, h, K, d, delta, sigma),
    }
    return [{"quantity": name, "value": float(value)} for name, value in values.items()]


def _orders(gaps: FloatArray, instance: Instance, delta: float) -> dict[str, float]:
    """The four entries of table 1, times sigma^2, with every hidden constant set to 1.

    Logarithms of what is below e are taken as 1: the printed forms are meant for small gaps.
    """
    K, h, d = instance.K, instance.h, instance.d
    variance, least = float(instance.sigma.max()) ** 2, float(gaps.min())
    logs = np.array([_log(K * d / delta * _log(1.0 / gap)) for gap in gaps])
    pal = h**2 / least**2 * math.log(K * d / delta) ** 3
    pfiwr = h / least**2 * math.log(d * max(h, K) / (delta * least**2))
    return {
        "order of PAL": variance * pal,
        "order of APE": variance * float((logs / gaps**2).sum()),
        "order of PFIwR": variance * pfiwr,
        "order of GEGE": variance * float((logs / gaps**2)[:h].sum()),
    }


def _log(x: float) -> float:
    """Natural logarithm, at least 1."""
    return max(1.0, math.log(x)) if x > 0 else 1.0


def gap_rows(instance: Instance) -> list[Row]:
    """For each arm its gap, and for each pair m(i,j) and M(i,j)."""
    mu, found = instance.mu, psi_gaps(instance.mu)
    rows: list[Row] = []
    for i in range(instance.K):
        rows.extend(
            {"quantity": f"mu({c + 1})", "i": i, "j": "", "value": float(x)}
            for c, x in enumerate(mu[i])
        )
        rows += [
            {"quantity": "optimal", "i": i, "j": "", "value": float(found.strict[i])},
            {"quantity": "gap", "i": i, "j": "", "value": float(found.gap[i])},
        ]
        for j in (j for j in range(instance.K) if j != i):
            least = float((mu[j] - mu[i]).min())
            rows += [
                {"quantity": "m", "i": i, "j": j, "value": least},
                {"quantity": "M", "i": i, "j": j, "value": -least},
            ]
    return rows
