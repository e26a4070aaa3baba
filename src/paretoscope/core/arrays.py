"""The array types of the house, and the one place where a caller's array is checked."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paretoscope.errors import UsageError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


def as_matrix(values: npt.ArrayLike, name: str) -> FloatArray:
    """Float64 matrix (rows, columns) of finite numbers, or a UsageError that says what is wrong.

    A vector is one column. The caller's array is never written to (it may be returned as it is).
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise UsageError(f"{name} must be a matrix (rows, columns), not of shape {matrix.shape}")
    if matrix.size == 0:
        raise UsageError(f"{name} is empty: shape {matrix.shape}")
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise UsageError(
            f"{name} must be finite: row {row}, column {column} holds {matrix[row, column]}"
        )
    return matrix


def freeze(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, read-only: a state that is handed out cannot be changed behind our back."""
    array.setflags(write=False)
    return array
