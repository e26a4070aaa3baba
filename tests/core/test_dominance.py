"""Fronts against the definition, with ties, copies and both compiled and pre-filtered paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.core import dominance
from paretoscope.core.dominance import non_dominated, strictly_non_dominated
from paretoscope.errors import UsageError
from tests import naive

GRIDS = st.integers(1, 5).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 4), min_size=d, max_size=d), min_size=1, max_size=12)
)


@settings(max_examples=400)
@given(GRIDS)
def test_fronts_with_ties_are_the_definition(mu: list[list[int]]) -> None:
    assert non_dominated(mu).tolist() == naive.non_dominated(mu)
    assert strictly_non_dominated(mu).tolist() == naive.strictly_non_dominated(mu)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so small that the paths of a million arms run on a dozen."""
    monkeypatch.setattr(dominance, "PREFILTER_FROM", 3)
    monkeypatch.setattr(dominance, "SAMPLE", 5)
    monkeypatch.setattr(dominance, "CELLS", 16)


@pytest.mark.usefixtures("eager")
def test_prefilter_and_chunks_change_nothing() -> None:
    rng = np.random.default_rng(3)
    for trial in range(600):
        shape = rng.integers(1, 40), rng.integers(1, 5)
        mu = rng.integers(0, 6, shape) if trial % 2 else rng.standard_normal(shape)
        assert non_dominated(mu).tolist() == naive.non_dominated(mu)
        assert strictly_non_dominated(mu).tolist() == naive.strictly_non_dominated(mu)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_prefilter_drops_dominated_arms_and_only_those(d: int) -> None:
    rng = np.random.default_rng(d)
    mu = np.round(rng.standard_normal((20_000, d)), 1)
    mu[77] = mu[78] = 5.0  # two copies of a best arm
    kept = dominance._survivors(mu)
    assert {77, 78} <= set(kept.tolist())
    assert len(kept) < dominance.PREFILTER_FROM
    assert np.flatnonzero(non_dominated(mu)).tolist() == [77, 78]


def test_prefilter_leaves_a_wide_front_alone() -> None:
    x = np.random.default_rng(0).random(5_000)
    mu = np.column_stack([x, 1.0 - x])
    assert len(dominance._survivors(mu)) == len(mu)
    assert non_dominated(mu).all()


def test_large_instance_agrees_with_each_arm_against_all() -> None:
    mu = np.random.default_rng(1).standard_normal((30_000, 4))
    weak, strict = non_dominated(mu), strictly_non_dominated(mu)
    for i in [*np.flatnonzero(weak)[:100], *range(200)]:
        assert weak[i] != ((mu >= mu[i]).all(axis=1) & (mu > mu[i]).any(axis=1)).any()
        assert strict[i] != (mu > mu[i]).all(axis=1).any()


def test_constant_objectives_and_one_arm() -> None:
    assert non_dominated([[7.0, 7.0]]).tolist() == [True]
    assert strictly_non_dominated([[7.0]]).tolist() == [True]
    same = np.zeros((3_000, 3))
    same[:, 1] = np.arange(3_000) == 17
    assert np.flatnonzero(non_dominated(same)).tolist() == [17]
    assert strictly_non_dominated(same).all()


def test_extreme_scales() -> None:
    mu = np.random.default_rng(5).standard_normal((4_000, 3))
    mask = non_dominated(mu)
    assert np.array_equal(non_dominated(mu * [1e-150, 1.0, 1e150]), mask)
    assert mask.sum() < 300


def test_caller_keeps_its_array() -> None:
    mu = np.random.default_rng(6).standard_normal((3_000, 2))
    mu.setflags(write=False)
    before = mu.copy()
    non_dominated(mu)
    strictly_non_dominated(mu)
    assert np.array_equal(mu, before)


@pytest.mark.parametrize("bad", [[], [[np.nan, 1.0]], [[np.inf]], np.zeros((2, 2, 2))])
@pytest.mark.parametrize("front", [non_dominated, strictly_non_dominated])
def test_unusable_means_are_refused(front: object, bad: object) -> None:
    with pytest.raises(UsageError, match="mu"):
        front(bad)  # type: ignore[operator]
