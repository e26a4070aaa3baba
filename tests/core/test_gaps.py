"""Gaps against their definition: exact on tied integers, to rounding on floats, on every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.core import gaps as module
from paretoscope.core import margins
from paretoscope.core.dominance import non_dominated, strictly_non_dominated
from paretoscope.core.gaps import complexity, psi_gaps
from paretoscope.errors import UsageError
from tests import naive

GRIDS = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(0, 6), min_size=d, max_size=d), min_size=1, max_size=14)
)


@pytest.fixture(params=["strips", "boxes"])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a dozen arms down the paths of large instances, in the smallest blocks."""
    monkeypatch.setattr(module, "DENSE_UP_TO", 1)
    monkeypatch.setattr(module, "STRIP_CELLS", 16)
    monkeypatch.setattr(margins, "SCRATCH_CELLS", 8)
    monkeypatch.setattr(margins, "BOX", 3)
    if request.param == "boxes":
        monkeypatch.setattr(module, "BOXES_FROM", 0)


def check_exact(mu: object) -> None:
    found = psi_gaps(mu)  # type: ignore[arg-type]
    assert found.star.tolist() == naive.psi_stars(mu)
    assert found.gap.tolist() == naive.psi_gaps(mu)
    assert found.strict.tolist() == naive.strictly_non_dominated(mu)


@settings(max_examples=300)
@given(GRIDS)
def test_small_tied_instances_are_the_definition(mu: list[list[int]]) -> None:
    check_exact(mu)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("top", [2, 4, 12])
def test_tied_integers_are_exact_on_the_large_paths(d: int, top: int) -> None:
    rng = np.random.default_rng([d, top])
    for _ in range(250):
        check_exact(rng.integers(0, top, (rng.integers(2, 16), d)))


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_floats_agree_and_margins_are_exact(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(150):
        mu = rng.standard_normal((rng.integers(2, 20), d))
        found = psi_gaps(mu)
        assert found.star.tolist() == naive.psi_stars(mu)
        np.testing.assert_allclose(found.gap, naive.psi_gaps(mu), rtol=1e-12, atol=1e-15)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("d", [2, 3, 8])
def test_tie_with_a_dominated_arm_is_exact(d: int) -> None:
    """An optimal arm whose gap comes through an arm below it carries that arm's D* to the last bit."""
    rng = np.random.default_rng(40 + d)
    ties = 0
    for _ in range(200):
        mu = rng.standard_normal((12, d)) * rng.uniform(0.1, 30.0, d)
        found = psi_gaps(mu)
        for i, j in zip(*np.nonzero(np.isclose(found.gap[:, None], found.star)), strict=True):
            if found.strict[i] and not found.strict[j] and (mu[j] <= mu[i]).all():
                ties += 1
                assert found.gap[i] == found.star[j]
    assert ties > 50


def test_paths_agree_on_medium_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    cases = [rng.standard_normal((400, d)) for d in (1, 2, 3, 8)]
    x = rng.random(700)
    cases += [np.column_stack([x, 1 - x]) + 0.01 * rng.standard_normal((700, 2))]
    fast = [psi_gaps(mu) for mu in cases]
    monkeypatch.setattr(module, "DENSE_UP_TO", 10_000)
    for mu, found in zip(cases, fast, strict=True):
        twin = psi_gaps(mu)
        assert np.array_equal(found.star, twin.star)
        assert np.array_equal(found.strict, twin.strict)
        np.testing.assert_allclose(found.gap, twin.gap, rtol=1e-12, atol=1e-15)


def test_sweep_is_exact_on_a_wide_integer_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans of hundreds of front arms reach every level of the range minimum."""
    rng = np.random.default_rng(12)
    x = rng.permutation(3_000)[:900]
    mu = np.column_stack([x, 3_000 - x]).astype(float)
    mu[:300] -= rng.integers(0, 2_000, (300, 2))
    found = psi_gaps(mu)
    assert non_dominated(mu).sum() > 500
    monkeypatch.setattr(module, "DENSE_UP_TO", 10_000)
    twin = psi_gaps(mu)
    assert np.array_equal(found.gap, twin.gap)
    assert np.array_equal(found.star, twin.star)


def test_gap_of_an_optimal_arm_uses_the_margin_of_the_other_arm() -> None:
    """Arm 2 is 3 below arm 0 and 1 from arm 1 sideways: its own D* counts, not that of arm 1."""
    mu = [[10.0, 0.0], [0.0, 10.0], [7.0, -4.0]]
    assert psi_gaps(mu).gap.tolist() == [3.0, 10.0, 3.0]
    assert psi_gaps(mu).star.tolist() == [-4.0, -10.0, 3.0]


def test_strict_front_and_zero_gaps_of_ties() -> None:
    rng = np.random.default_rng(4)
    for n in (30, 200):
        mu = rng.integers(0, 9, (n, 3))
        found = psi_gaps(mu)
        assert np.array_equal(found.strict, strictly_non_dominated(mu))
        assert (found.gap[found.star == 0] == 0).all()
        assert (found.gap >= 0).all()


def test_one_arm_and_one_objective() -> None:
    alone = psi_gaps([[3.0, 4.0]])
    assert (alone.gap[0], alone.star[0], bool(alone.strict[0])) == (np.inf, -np.inf, True)
    values = np.arange(100.0)[::-1]
    found = psi_gaps(values)
    assert found.gap.tolist() == [1.0, *range(1, 100)]
    assert found.star.tolist() == [-1.0, *range(1, 100)]
    assert np.flatnonzero(psi_gaps(np.minimum(values, 97)).strict).tolist() == [0, 1, 2]


def test_caller_keeps_its_array() -> None:
    for shape in ((10, 2), (100, 2), (100, 5)):
        mu = np.random.default_rng(1).standard_normal(shape)
        before = mu.copy()
        psi_gaps(mu)
        assert np.array_equal(mu, before)


@pytest.mark.parametrize("h", [1, 3, 9])
def test_complexity_is_the_definition(h: int) -> None:
    mu = np.random.default_rng(h).standard_normal((9, 3))
    found = complexity(mu, h)
    exact = sorted(naive.psi_gaps(mu))
    np.testing.assert_allclose(found.gaps, exact, rtol=1e-12)
    np.testing.assert_allclose((found.H1, found.H2), naive.h1_h2(exact), rtol=1e-9)
    np.testing.assert_allclose((found.H1_lin, found.H2_lin), naive.h1_h2(exact[:h]), rtol=1e-9)


def test_complexity_at_the_edges() -> None:
    alone = complexity([[1.0, 2.0]], 1)
    assert (alone.H1, alone.H2, alone.H1_lin, alone.H2_lin) == (0.0, 0.0, 0.0, 0.0)
    tied = complexity([[1.0], [1.0], [0.0]], 2)
    assert (tied.H1, tied.H2, tied.H1_lin, tied.H2_lin) == (np.inf,) * 4


@pytest.mark.parametrize("h", [0, 4, -1])
def test_impossible_rank_is_refused(h: int) -> None:
    with pytest.raises(UsageError, match=f"h = {h}"):
        complexity([[1.0], [2.0], [3.0]], h)


@pytest.mark.parametrize("bad", [[], [[np.nan, 1.0]], [[1.0, np.inf]], np.zeros((2, 2, 2))])
def test_unusable_means_are_refused(bad: object) -> None:
    with pytest.raises(UsageError, match="mu"):
        psi_gaps(bad)  # type: ignore[arg-type]
