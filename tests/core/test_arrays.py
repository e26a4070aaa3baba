"""The one place where a caller's array is checked: what it takes, what it says, what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.core.arrays import as_matrix, freeze
from paretoscope.errors import UsageError


def test_a_vector_is_one_column():
    assert as_matrix([1, 2, 3], "mu").tolist() == [[1.0], [2.0], [3.0]]


def test_the_first_bad_value_is_named():
    X = np.zeros((4, 3))
    X[2, 1], X[3, 0] = np.nan, np.inf
    with pytest.raises(UsageError, match="X must be finite: row 2, column 1 holds nan"):
        as_matrix(X, "X")


@pytest.mark.parametrize(("shape", "reason"), [((2, 3, 4), "shape"), ((0, 3), "empty")])
def test_other_shapes_are_refused(shape, reason):
    with pytest.raises(UsageError, match=reason):
        as_matrix(np.zeros(shape), "X")


def test_a_frozen_array_cannot_be_written():
    array = freeze(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
