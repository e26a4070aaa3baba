"""The cache: it forgets by number and by size, the oldest first, and tells long arrays apart."""

from __future__ import annotations

import numpy as np
import pytest

from paretoscope.policies import memo as module
from paretoscope.policies.memo import Memo, key_of
from paretoscope.policies.model import LinearModel


def test_large_values_make_room_for_each_other_and_small_ones_stay(monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS", 10)
    memo, made = Memo(), []

    def ask(key, size=0):
        return memo.memo(key, lambda: made.append(key) or key, size)

    ask("small")
    for key in ("a", "b"):
        ask(key, 4)
    ask("a", 4)  # used again: b is the older one now
    ask("c", 6)
    assert list(memo.store) == ["small", "a", "c"]
    assert memo.sizes == {"a": 4, "c": 6}
    ask("huge", 100)  # alone it may be larger than all
    assert list(memo.store) == ["small", "huge"]
    assert made == ["small", "a", "b", "c", "huge"]


@pytest.mark.parametrize("n", [3, 100_000])
def test_keys_tell_every_array_from_every_other(n):
    first = np.arange(n)
    other = first.copy()
    other[n // 2] += 1
    assert key_of(first) == key_of(first.copy())
    assert key_of(first) != key_of(other)
    assert key_of(first) != key_of(first[:-1])
    assert len(key_of(first)) <= 4_096


def test_a_model_of_many_arms_holds_little_and_says_the_same(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 3))
    A, counts = np.arange(150), np.zeros(200, dtype=int)
    counts[:40] = 2
    free = LinearModel(X, keep_twins=False).spread(A, counts)
    monkeypatch.setattr(module, "_NUMBERS", 1_000)
    monkeypatch.setattr(module, "_PLAIN_BYTES", 0)
    tight = LinearModel(X, keep_twins=False)
    for N in range(2, 9):
        counts[:40] = N
        tight.spread(A, counts)
    assert sum(tight.sizes.values()) <= 1_000
    counts[:40] = 2
    np.testing.assert_array_equal(tight.spread(A, counts).W, free.W)
