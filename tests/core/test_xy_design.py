"""XY-optimal designs: values by the definition, bounds against enumeration and a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from paretoscope.core import xy_design
from paretoscope.core.design import (
    Design,
    g_optimal,
    pair_differences,
    xy_optimal,
    xy_optimal_arms,
)
from paretoscope.core.xy_targets import ListedTargets, PairTargets
from paretoscope.errors import NumericalError, UsageError
from tests import naive


def check(X: np.ndarray, U: np.ndarray, design: Design, tol: float = 1e-2) -> None:
    """What every XY design promises."""
    assert design.weights.shape == (len(X),)
    assert design.weights.min() >= 0.0
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert design.support.tolist() == np.flatnonzero(design.weights).tolist()
    assert not design.weights.flags.writeable
    assert 1.0 - 1e-9 <= design.certificate <= 1.0 + tol
    value = naive.variance_of_targets(X, design.weights, U)
    assert value == pytest.approx(design.value, rel=1e-6)


def by_slsqp(X: np.ndarray, U: np.ndarray) -> float:
    """Smallest largest variance by SciPy's general solver in (w, t)."""
    K = len(X)

    def slack(v: np.ndarray) -> np.ndarray:
        V = (X.T * np.maximum(v[:K], 1e-9)) @ X
        return v[K] - np.einsum("ij,ji->i", U, np.linalg.solve(V, U.T))

    uniform = np.full(K, 1.0 / K)
    start = np.append(uniform, naive.variance_of_targets(X, uniform, U))
    found = minimize(
        lambda v: v[K],
        start,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * K + [(0.0, None)],
        constraints=[
            {"type": "ineq", "fun": slack},
            {"type": "eq", "fun": lambda v: v[:K].sum() - 1.0},
        ],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    w = np.maximum(found.x[:K], 0.0)
    return naive.variance_of_targets(X, w / w.sum(), U)


# ---------------------------------------------------------------- closed forms


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6).filter(any))
@settings(max_examples=60)
def test_one_target_on_axes_is_weighted_by_its_coefficients(c: list[int]) -> None:
    # c-optimality on the axes: w_i = |c_i| / sum |c|, variance (sum |c|)^2 (Elfving 1952).
    size = np.abs(c).astype(float)
    design = xy_optimal(np.eye(len(c)), [c], tol=1e-7)
    assert design.weights == pytest.approx(size / size.sum(), abs=2e-3)
    assert design.value == pytest.approx(size.sum() ** 2, rel=1e-6)


def test_two_arms_pulling_the_axes() -> None:
    X = np.array([[1.0, 4.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    design = xy_optimal_arms(X, [0, 1], pull=[2, 3], tol=1e-8)
    assert design.weights == pytest.approx([0.0, 0.0, 0.25, 0.75], abs=1e-3)
    assert design.value == pytest.approx(16.0, rel=1e-7)


def test_two_arms_pulling_themselves_are_measured_alike() -> None:
    design = xy_optimal_arms([[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]], [0, 1], pull=[0, 1])
    assert design.weights == pytest.approx([0.5, 0.5, 0.0], abs=1e-2)
    assert design.value == pytest.approx(4.0, rel=1e-2)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_unrelated_arms_are_measured_uniformly(n: int) -> None:
    design = xy_optimal_arms(np.eye(n), range(n), tol=1e-6)
    assert design.weights == pytest.approx(np.full(n, 1.0 / n), abs=1e-3)
    assert design.value == pytest.approx(2.0 * n, rel=1e-6)


def test_a_line_is_learned_at_its_ends() -> None:
    t = np.linspace(-1.0, 1.0, 21)
    X = np.stack([np.ones(21), t], axis=1)
    design = xy_optimal(X, [[0.0, 1.0]], tol=1e-8)
    assert design.weights[[0, 20]].sum() == pytest.approx(1.0, abs=1e-6)
    assert design.value == pytest.approx(1.0, rel=1e-7)


def test_targets_equal_to_the_rows_give_the_g_optimal_value() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    assert xy_optimal(X, X, tol=1e-6).value == pytest.approx(g_optimal(X).value, rel=2e-6)


def test_directions_without_a_target_need_no_measurement() -> None:
    design = xy_optimal(np.eye(4), [[1.0, -3.0, 0.0, 0.0]], tol=1e-6)
    assert design.weights[2:].sum() < 1e-6
    check(np.eye(4), np.array([[1.0, -3.0, 0.0, 0.0]]), design)


# ---------------------------------------------------------------- twins


@pytest.mark.parametrize("seed", range(6))
def test_bound_and_value_enclose_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    design = xy_optimal(X, U, tol=1e-6)
    best = naive.xy_by_enumeration(X, U, 60)
    assert design.value / design.certificate <= best
    assert best <= design.value * 1.02
    check(X, U, design, 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_general_solver_finds_nothing_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 3))
    U = pair_differences(X[:4])
    design = xy_optimal_arms(X, range(4), tol=1e-6)
    slow = by_slsqp(X, U)
    assert design.value / design.certificate <= slow * (1.0 + 1e-9)
    assert slow <= design.value * (1.0 + 1e-3)


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
@pytest.mark.parametrize(
    "kind", ["gaussian", "sphere", "grid", "duplicated", "scaled", "deficient"]
)
def test_certificate_holds_on_every_kind_of_input(kind: str, tol: float) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        K, p = int(rng.integers(6, 150)), int(rng.integers(2, 6))
        X = rng.normal(size=(K, p))
        if kind == "sphere":
            X /= np.linalg.norm(X, axis=1)[:, None]
        elif kind == "grid":
            X = np.vander(np.linspace(-1.0, 1.0, K), p)
        elif kind == "duplicated":
            X = X[rng.integers(0, K // 2, size=K)]
        elif kind == "scaled":
            X *= 10.0 ** rng.integers(-2, 3, size=p)
        elif kind == "deficient":
            X = X @ rng.normal(size=(p, p + 2))
        arms = rng.choice(K, min(K, 12), replace=False)
        design = xy_optimal_arms(X, arms, tol=tol)
        check(X, pair_differences(X[arms]), design, tol)


@given(st.integers(0, 10_000), st.integers(4, 40), st.integers(1, 4))
@settings(max_examples=30)
def test_value_does_not_change_with_order_or_units(seed: int, K: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, p))
    arms = rng.choice(K, 4, replace=False)
    value = xy_optimal_arms(X, arms, tol=1e-7).value
    order = rng.permutation(K)
    moved = xy_optimal_arms(X[order], np.argsort(order)[arms], tol=1e-7)
    assert moved.value == pytest.approx(value, rel=2e-7)
    scaled = X * 10.0 ** rng.integers(-7, 8, size=p)
    assert xy_optimal_arms(scaled, arms, tol=1e-7).value == pytest.approx(value, rel=2e-7)


def test_pairs_and_their_list_are_the_same_problem() -> None:
    X = np.random.default_rng(1).normal(size=(200, 5))
    arms = np.arange(0, 200, 4)
    listed = xy_optimal(X, pair_differences(X[arms]), tol=1e-5)
    paired = xy_optimal_arms(X, arms, tol=1e-5)
    assert paired.value == pytest.approx(listed.value, rel=1e-5)


def test_only_rows_of_pull_are_measured_and_masks_work() -> None:
    X = np.random.default_rng(2).normal(size=(50, 3))
    pull = np.arange(50) % 3 == 0
    design = xy_optimal_arms(X, [1, 2, 4], pull=pull, tol=1e-5)
    assert set(design.support) <= set(np.flatnonzero(pull))
    check(X, pair_differences(X[[1, 2, 4]]), design, 1e-5)
    assert design.value > xy_optimal_arms(X, [1, 2, 4], tol=1e-5).value


# ---------------------------------------------------------------- targets


def test_worst_pairs_in_blocks_equal_worst_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    Z, C = rng.normal(size=(40, 3)), rng.normal(size=(3, 3))
    listed, rows = ListedTargets(pair_differences(Z)).worst(C, 4.0, 7)
    for block in (1 << 15, 100):
        monkeypatch.setattr("paretoscope.core.xy_targets.BLOCK_NUMBERS", block)
        paired, found = PairTargets(Z).worst(C, 4.0, 7)
        assert paired == pytest.approx(listed, rel=1e-12)
        assert np.sort(((found @ C) ** 2).sum(axis=1)) == pytest.approx(
            np.sort(((rows @ C) ** 2).sum(axis=1)), rel=1e-9
        )
        assert len(found) == 7


def test_extent_sees_a_direction_no_row_measures() -> None:
    N = np.array([[0.0], [0.0], [1.0]])
    Z = np.array([[1.0, 2.0, 5.0], [3.0, -1.0, 5.0]])
    assert PairTargets(Z).extent(N) == 0.0
    assert ListedTargets(Z).extent(N) == 1.0
    Z[0, 2] = 6.0
    assert PairTargets(Z).extent(N) == pytest.approx(1.0 / 1.5)


def test_value_is_infinite_where_a_target_cannot_be_learned() -> None:
    Y = np.eye(3)[:2]
    w = np.array([0.5, 0.5])
    assert xy_design._value(Y, w, ListedTargets(np.eye(3)[:1])) == pytest.approx(2.0)
    assert xy_design._value(Y, w, ListedTargets(np.eye(3)[2:])) == np.inf


def test_pair_differences_leave_equal_rows_out() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    assert pair_differences(X).tolist() == [[1.0, -3.0], [1.0, -3.0]]


def test_equal_arms_have_nothing_to_learn() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    design = xy_optimal_arms(X, [0, 1])
    assert (design.value, design.certificate) == (0.0, 1.0)
    assert design.weights.sum() == pytest.approx(1.0)


# ---------------------------------------------------------------- errors


def test_targets_outside_the_span_are_named() -> None:
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1e6, 0.0]])
    with pytest.raises(UsageError, match="targets: row 1 is outside the row span of X"):
        xy_optimal(X, [[1.0, -1.0, 0.0], [0.0, 0.0, 1e-3]])
    with pytest.raises(UsageError, match="differences of arms: row 0 is outside"):
        xy_optimal_arms(np.eye(3), [0, 1], pull=[1, 2])
    # Rows of any units span what they span.
    sound = np.array([[1.0, 1e6, 0.0], [1.0, -1e6, 0.0]])
    assert xy_optimal(sound, [[1.0, 0.0, 0.0]]).value == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize(
    ("arms", "pull", "message"),
    [
        ([0], None, "at least two rows"),
        ([0, 0], None, "at least two rows"),
        ([0, 3], None, r"arms must lie in 0\.\.2, not 0\.\.3"),
        ([-1, 0], None, r"arms must lie in 0\.\.2"),
        ([0.5, 1.0], None, "arms must be a nonempty list of row numbers"),
        ([0, 1], [], "pull must be a nonempty list of row numbers"),
    ],
)
def test_unusable_arms_are_named(arms: list[int], pull: list[int] | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        xy_optimal_arms(np.eye(3), arms, pull)


def test_unusable_targets_are_named() -> None:
    with pytest.raises(UsageError, match="targets have 3 columns where X has 2"):
        xy_optimal(np.eye(2), [[1.0, 2.0, 3.0]])
    with pytest.raises(UsageError, match="targets must be finite"):
        xy_optimal(np.eye(2), [[1.0, np.nan]])
    with pytest.raises(UsageError, match="tol must be positive"):
        xy_optimal(np.eye(2), [[1.0, 2.0]], tol=0.0)


def test_a_design_far_from_its_bound_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xy_design, "MAX_ROUNDS", 1)
    X = np.random.default_rng(4).normal(size=(2_000, 8))
    X /= np.linalg.norm(X, axis=1)[:, None]
    with pytest.raises(NumericalError, match=r"only reached \d+\.\d+ times its lower bound"):
        xy_optimal_arms(X, range(200))
