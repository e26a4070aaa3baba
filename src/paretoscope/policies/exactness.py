"""Metrics without noise: each value is seen once, and must be the same ever after."""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, freeze
from paretoscope.errors import DataError
from paretoscope.policies.base import Tally


def exact_values(exact: FloatArray, columns: BoolArray, tally: Tally) -> FloatArray:
    """The values (K, e) of the exact metrics after a delivery; one that differs on repeat is refused."""
    if exact.shape[1] == 0 or not tally.counts.any():
        return exact
    rows = np.flatnonzero(tally.counts)
    values, kept = tally.means[rows][:, columns], exact[rows]
    differs = (values != kept) & ~np.isnan(kept) | (tally.m2[rows][:, columns] > 0)
    if differs.any():
        row, column = (int(k) for k in np.argwhere(differs)[0])
        raise DataError(
            f"candidate {rows[row]}: exact metric {np.flatnonzero(columns)[column]} was"
            f" {kept[row, column]} and is now {values[row, column]}: declare it noisy, or correct it"
        )
    after = exact.copy()
    after[rows] = values
    return freeze(after)
