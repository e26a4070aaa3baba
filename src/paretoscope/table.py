"""Tables in and out: candidates, batch sheets, results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paretoscope.study.problem import Candidates


def read_candidates(source: Any, id: str | None = None) -> Candidates:  # noqa: A002, ANN401
    """Candidates from columns by name or from numbers."""
    if isinstance(source, Candidates):
        return source
    if isinstance(source, Mapping):
        columns = {str(k): list(v) for k, v in source.items()}
    else:
        array = np.asarray(source, dtype=np.float64)
        columns = {f"x{j}": array[:, j].tolist() for j in range(array.shape[1])}
    key = id or ("id" if "id" in columns else None)
    K = len(next(iter(columns.values())))
    ids = [str(k) for k in range(K)] if key is None else [str(v) for v in columns.pop(key)]
    return Candidates(tuple(ids), columns)
