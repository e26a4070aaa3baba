"""G-optimal designs: every certificate is recomputed here from the definition of the leverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paretoscope.core import working_set
from paretoscope.core.certificate import precision_root
from paretoscope.core.design import Design, g_optimal
from paretoscope.core.interior_point import factor, harman_pronzato, optimal_weights, triangle_root
from paretoscope.core.leverage import leverages, whiten
from paretoscope.core.working_set import spread
from paretoscope.errors import NumericalError, UsageError
from tests import naive

Maker = Callable[[np.random.Generator, int, int], np.ndarray]


def gaussian(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return rng.normal(size=(K, p))


def sphere(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    X = rng.normal(size=(K, p))
    return X / np.linalg.norm(X, axis=1)[:, None]


def grid(_: np.random.Generator, K: int, p: int) -> np.ndarray:
    return np.vander(np.linspace(-1.0, 1.0, K), p)


def lattice(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    X = rng.integers(-2, 3, size=(K, p)).astype(float)
    X[0] = 1.0
    return X


def duplicated(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return rng.normal(size=(K, p))[rng.integers(0, max(1, K // 3), size=K)]


def nearly_duplicated(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return duplicated(rng, K, p) + 1e-7 * rng.normal(size=(K, p))


def badly_scaled(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return rng.normal(size=(K, p)) * 10.0 ** rng.integers(-7, 8, size=p)


def rank_deficient(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    q = int(rng.integers(1, p + 1))
    return rng.normal(size=(K, q)) @ rng.normal(size=(q, p))


def deficient_and_scaled(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return rank_deficient(rng, K, p) * 10.0 ** rng.integers(-7, 8, size=p)


def heavy_tailed(rng: np.random.Generator, K: int, p: int) -> np.ndarray:
    return rng.standard_t(1, size=(K, p))


MAKERS: list[Maker] = [
    gaussian,
    sphere,
    grid,
    lattice,
    duplicated,
    nearly_duplicated,
    badly_scaled,
    rank_deficient,
    deficient_and_scaled,
    heavy_tailed,
]


def excess(X: np.ndarray, design: Design) -> float:
    """Largest leverage over the rank, minus one: by definition, not by our code."""
    return float(naive.leverages(X, design.weights).max()) / design.rank - 1.0


def check(X: np.ndarray, design: Design, tol: float = 1e-6) -> None:
    """What every design promises."""
    assert design.weights.shape == (len(X),)
    assert design.weights.min() >= 0.0
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert design.support.tolist() == np.flatnonzero(design.weights).tolist()
    assert not design.weights.flags.writeable
    assert not design.support.flags.writeable
    assert design.value == pytest.approx(design.certificate * design.rank, rel=1e-12)
    assert 1.0 - 1e-9 <= design.certificate <= 1.0 + tol
    assert abs(excess(X, design) - (design.certificate - 1.0)) < 1e-7


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_certificate_holds_by_definition_on_500_inputs(make: Maker) -> None:
    for seed in range(50):
        rng = np.random.default_rng([seed, MAKERS.index(make)])
        X = make(rng, int(rng.integers(1, 120)), int(rng.integers(1, 9)))
        check(X, g_optimal(X))


@pytest.mark.parametrize("make", [gaussian, sphere, lattice, rank_deficient])
def test_weights_agree_with_the_multiplicative_twin(make: Maker) -> None:
    for seed in range(4):
        X = make(np.random.default_rng(seed), 12, 3)
        w = naive.multiplicative_design(X, 1500)
        slow = naive.leverages(X, w)
        design = g_optimal(X)
        assert design.value <= slow.max() * (1.0 + 1e-6)
        # Weights are not unique, but the moment matrix of the optimum is, and so are leverages.
        assert naive.leverages(X, design.weights) == pytest.approx(slow, rel=2e-2)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=7),
        elements=st.integers(-3, 3),
    )
)
@settings(max_examples=150)
def test_any_small_integer_matrix(X: np.ndarray) -> None:
    if not X.any():
        with pytest.raises(UsageError, match="zero everywhere"):
            g_optimal(X)
        return
    design = g_optimal(X)
    check(X, design)
    assert design.rank == np.linalg.matrix_rank(X)


@given(st.integers(0, 10_000), st.integers(3, 60), st.integers(1, 5))
@settings(max_examples=40)
def test_value_does_not_change_with_order_units_or_basis(seed: int, K: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, p))
    tol = 1e-9
    value = g_optimal(X, tol=tol).value
    order = rng.permutation(K)
    turned = np.linalg.qr(rng.normal(size=(p, p)))[0]
    for other in (X[order], X * 10.0 ** rng.integers(-7, 8, size=p), X * 1e-7, X * 1e7, X @ turned):
        assert g_optimal(other, tol=tol).value == pytest.approx(value, rel=2e-9)


def incomplete_factorial() -> np.ndarray:
    """Sixty settings of four knobs; the optimum is a whole face of weights."""
    levels = [0, 1, 4, 9, 19, 49, 99]
    rows = [(1, 0, 0, c, e) for c in range(4) for e in levels]
    rows += [(1, 1, 1, c, e) for c in range(3) for e in levels if c < 2 or e >= 9]
    rows += [(1, 1, 0, c, e) for c in range(2) for e in levels]
    return np.array(rows, dtype=float)


def test_an_optimum_that_is_a_whole_face_is_reached_in_every_basis() -> None:
    """A step onto the boundary left weights of -1e-17 in one basis out of seven."""
    X, rng = incomplete_factorial(), np.random.default_rng(0)
    for _ in range(60):
        turned = X @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
        assert g_optimal(turned).certificate <= 1.0 + 1e-6


# ---------------------------------------------------------------- edges, each with its answer


def test_one_candidate() -> None:
    design = g_optimal([[3.0, 4.0]])
    assert design.weights.tolist() == [1.0]
    assert (design.rank, design.certificate) == (1, pytest.approx(1.0, abs=1e-12))


def test_one_column_measures_the_longest_row() -> None:
    assert g_optimal([1.0, -5.0, 3.0]).weights.tolist() == [0.0, 1.0, 0.0]


def test_as_many_candidates_as_dimensions_is_uniform() -> None:
    X = np.random.default_rng(0).normal(size=(5, 5))
    assert g_optimal(X).weights == pytest.approx(np.full(5, 0.2), abs=1e-15)


def test_zero_rows_are_never_measured() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.1, 0.1]])
    design = g_optimal(X)
    assert design.weights == pytest.approx([0.0, 0.5, 0.0, 0.5, 0.0], abs=1e-6)
    for tol in (1e-8, 1e-3):
        assert g_optimal(X, tol=tol).support.tolist() == [1, 3]
    assert not g_optimal(X, tol=1.0).weights[[0, 2]].any()
    check(X, design)
    many = np.zeros((300, 3))
    many[::30] = np.random.default_rng(0).normal(size=(10, 3))
    assert not (g_optimal(many).support % 30).any()


def test_zero_columns_do_not_count() -> None:
    X = np.random.default_rng(1).normal(size=(30, 4))
    padded = np.insert(X, [0, 2], 0.0, axis=1)
    assert g_optimal(padded).rank == 4
    assert g_optimal(padded).weights == pytest.approx(g_optimal(X).weights, abs=1e-9)


def test_line_with_intercept_measures_both_ends() -> None:
    t = np.linspace(0.0, 1.0, 11)
    weights = g_optimal(np.stack([np.ones(11), t], axis=1)).weights
    assert weights[[0, 10]] == pytest.approx([0.5, 0.5], abs=1e-6)


def test_cubic_on_a_fine_grid_finds_the_fekete_points() -> None:
    # D-optimal points of degree 3 on [-1, 1]: -1, 1 and +-1/sqrt 5, a quarter each (Fedorov 1972).
    t = np.linspace(-1.0, 1.0, 20_001)
    design = g_optimal(np.polynomial.chebyshev.chebvander(t, 3))
    for point in (-1.0, -(5.0**-0.5), 5.0**-0.5, 1.0):
        assert design.weights[np.abs(t - point) < 5e-3].sum() == pytest.approx(0.25, abs=1e-4)


def test_cross_polytope_is_uniform_in_its_directions() -> None:
    X = np.vstack([np.eye(4), -np.eye(4)])
    weights = g_optimal(X).weights
    assert weights[:4] + weights[4:] == pytest.approx(np.full(4, 0.25), abs=1e-6)


def test_rank_is_that_of_the_numbers_not_of_the_rounding() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 6)) * 10.0 ** np.arange(-7, 11, 3)
    design = g_optimal(X)
    assert design.rank == 3
    check(X, design)


@pytest.mark.parametrize("size", [1e-150, 1e-120, 1e150])
def test_sizes_whose_squares_under_or_overflow(size: float) -> None:
    X = np.random.default_rng(3).normal(size=(40, 3))
    assert g_optimal(X * size).weights == pytest.approx(g_optimal(X).weights, abs=1e-7)


def test_many_rows_of_an_ordered_grid_and_of_a_ball() -> None:
    t = np.linspace(-1.0, 1.0, 150_000)
    ball = np.random.default_rng(4).normal(size=(150_000, 5))
    for X in (np.polynomial.chebyshev.chebvander(t, 5), ball):
        design = g_optimal(X)
        V = (X[design.support].T * design.weights[design.support]) @ X[design.support]
        g = np.einsum("ij,ji->i", X, np.linalg.solve(V, X.T))
        assert g.max() / X.shape[1] <= 1.0 + 1e-6
        assert design.certificate == pytest.approx(g.max() / X.shape[1], abs=1e-9)


def test_outliers_hide_no_direction() -> None:
    # The longest rows all lie in a plane: the start must look further to span the space.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2_000, 6))
    X[:500, 2:] = 0.0
    X[:500] *= 1e3
    X[500:, 5] = 0.0
    X[-1] = [0.0, 0.0, 0.0, 0.0, 0.0, 1e-3]
    check(X, g_optimal(X))


# ---------------------------------------------------------------- tolerances, solvers, errors


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-9])
def test_tolerance_is_kept(tol: float) -> None:
    X = np.random.default_rng(6).normal(size=(400, 6))
    check(X, g_optimal(X, tol=tol), tol)


def test_same_input_same_bits_and_input_untouched() -> None:
    X = np.random.default_rng(7).normal(size=(300, 5))
    copy = X.copy()
    X.setflags(write=False)
    assert g_optimal(X).weights.tobytes() == g_optimal(copy).weights.tobytes()
    assert (copy == X).all()


def test_mirror_descent_gets_there_slowly_and_says_how_far() -> None:
    X = np.random.default_rng(8).normal(size=(60, 3))
    rough = g_optimal(X, tol=1e-6, solver="mirror-descent", max_iterations=50)
    finer = g_optimal(X, tol=1e-6, solver="mirror-descent", max_iterations=1000)
    assert 1.0 + 1e-6 < finer.certificate < rough.certificate
    for design in (rough, finer):
        assert excess(X, design) == pytest.approx(design.certificate - 1.0, abs=1e-9)
    near = g_optimal(X, tol=0.2, solver="mirror-descent")
    assert near.certificate <= 1.2


def test_first_step_of_mirror_descent_is_the_paper_s() -> None:
    X = np.random.default_rng(9).normal(size=(8, 2))
    uniform = np.full(8, 1 / 8)
    g = naive.leverages(X, uniform)
    step = uniform * np.exp(np.sqrt(2.0 * np.log(8.0)) / g.max() * g)
    design = g_optimal(X, solver="mirror-descent", max_iterations=2)
    first = g_optimal(X, solver="mirror-descent", max_iterations=1)
    assert first.weights == pytest.approx(uniform, abs=1e-15)
    assert naive.leverages(X, step / step.sum()).max() < g.max()
    assert design.weights == pytest.approx(step / step.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], "zero everywhere"),
        ([[1.0, np.nan]], "row 0, column 1 holds nan"),
        ([[1.0], [np.inf]], "row 1, column 0 holds inf"),
        (np.empty((0, 3)), "empty"),
        (np.ones((2, 2, 2)), r"not of shape \(2, 2, 2\)"),
        ([[1.0, 1e-300], [2.0, 3e-300]], "column 1 of X has size .*: change its unit"),
    ],
)
def test_unusable_features_are_named(X: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        g_optimal(X)  # type: ignore[arg-type]


def test_unusable_arguments_are_named() -> None:
    for tol in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="tol must be positive"):
            g_optimal(np.eye(2), tol=tol)
    with pytest.raises(UsageError, match="max_iterations must be at least 1, not 0"):
        g_optimal(np.eye(2), max_iterations=0)
    with pytest.raises(UsageError, match="not 'simplex'"):
        g_optimal(np.eye(2), solver="simplex")  # type: ignore[arg-type]


def test_too_few_rounds_is_an_error_and_not_a_bad_design() -> None:
    X = sphere(np.random.default_rng(10), 3_000, 10)
    with pytest.raises(
        NumericalError, match=r"only reached \d\.\d+ times the optimum after 1 rounds"
    ):
        g_optimal(X, max_iterations=1)


# ---------------------------------------------------------------- the parts


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_whitening_gives_unit_second_moment(make: Maker) -> None:
    X = make(np.random.default_rng(11), 80, 4)
    white = whiten(X)
    Z = X @ white.T
    # Columns a million times closer than their size lose that many digits, and no more.
    assert Z.T @ Z / len(X) == pytest.approx(np.eye(white.rank), abs=1e-6)


def test_leverages_in_blocks_are_leverages() -> None:
    rng = np.random.default_rng(12)
    X, M = rng.normal(size=(40_001, 3)), rng.normal(size=(3, 2))
    assert leverages(X, M) == pytest.approx(((X @ M) ** 2).sum(axis=1), rel=1e-12)


def test_two_roots_of_the_precision_agree() -> None:
    rng = np.random.default_rng(13)
    Y, w = rng.normal(size=(9, 4)), rng.dirichlet(np.ones(9))
    inverse = np.linalg.inv((Y.T * w) @ Y)
    root = precision_root(Y, w)
    assert root is not None
    for C in (root, triangle_root(Y, w)):
        assert C @ C.T == pytest.approx(inverse, rel=1e-9)


def test_no_root_where_the_rows_do_not_span() -> None:
    assert precision_root(np.eye(3)[:2], np.full(2, 0.5)) is None
    assert precision_root(np.ones((5, 2)), np.full(5, 0.2)) is None
    with pytest.raises(NumericalError, match="stopped spanning"):
        triangle_root(np.zeros((3, 2)), np.ones(3))


def test_factor_adds_a_ridge_only_where_it_must() -> None:
    H = np.array([[4.0, 2.0], [2.0, 5.0]])
    L = np.tril(factor(H, np.zeros(2)))
    assert L @ L.T == pytest.approx(H, rel=1e-14)
    singular = np.ones((2, 2)) - np.diag([0.0, 1e-13])
    assert np.isfinite(factor(singular, np.zeros(2))).all()
    with pytest.raises(NumericalError, match="could not be factored"):
        factor(-np.eye(2), np.zeros(2))


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_deleted_rows_never_support_the_optimum(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(40, 3))
    optimum = g_optimal(X, tol=1e-9)
    for w in (np.full(40, 1 / 40), naive.multiplicative_design(X, 20)):
        g = naive.leverages(X, w)
        bound = 3 * harman_pronzato(g.max() / 3 - 1.0, 3)
        assert optimum.weights[g < bound].max(initial=0.0) < 1e-6
    assert harman_pronzato(0.0, 3) == pytest.approx(1.0, abs=1e-6)


def test_inner_solver_reaches_its_tolerance_on_all_rows() -> None:
    Y = np.random.default_rng(14).normal(size=(50, 4))
    rows, w = optimal_weights(Y, np.ones(50), 1e-8)
    dense = np.zeros(50)
    dense[rows] = w
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert naive.leverages(Y, dense).max() <= 4.0 * (1.0 + 1e-8)


def test_spread_keeps_the_best_of_each_direction() -> None:
    Z = np.array([[1.0, 0.0], [2.0, 0.01], [0.0, 1.0], [0.0, -3.0], [1.0, 1.0]])
    g = (Z**2).sum(axis=1)
    assert spread(Z, g, 9, 0.99).tolist() == [3, 1, 4]
    assert spread(Z, g, 2, 0.99).tolist() == [3, 1]


def test_largest_by_threshold_equals_largest_by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(15).normal(size=5_000)
    expected = sorted(np.argsort(-g)[:70].tolist())
    assert sorted(working_set._top(g, 70).tolist()) == expected
    monkeypatch.setattr(working_set, "MANY", 1_000)
    assert sorted(working_set._top(g, 70).tolist()) == expected
