"""The instances of the literature reproduce their published numbers; random ones keep promises."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from paretoscope.core.gaps import psi_gaps
from paretoscope.errors import DataError, UsageError
from paretoscope.sim.instances import (
    ADDED_GAP,
    ENERGY_COLUMNS,
    NOC_COLUMNS,
    Instance,
    energy,
    near_tie,
    noc,
    random_instance,
    synthetic,
)

MODES = ["inside", "sphere"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("K", [8, 20, 50, 100, 200, 500])
@pytest.mark.parametrize("seed", [0, 7])
def test_nu_K_is_equally_hard_for_every_K(K: int, mode: str, seed: int) -> None:
    instance = synthetic(K, mode, seed)
    found = instance.complexity()
    assert round(found.H1_lin, 3) == 6133.163
    assert round(found.H2_lin, 3) == 5000.0
    assert np.flatnonzero(instance.pareto).tolist() == [0, 1, 2]
    assert (instance.K, instance.d, instance.h) == (K, 2, 8)
    gap = psi_gaps(instance.mu).gap
    assert set(np.argsort(gap, kind="stable")[:8].tolist()) == set(range(8))
    low, high = gap[:8].max() * np.array(ADDED_GAP)
    assert ((gap[8:] >= low * (1 - 1e-12)) & (gap[8:] <= high * (1 + 1e-12))).all()


@pytest.mark.parametrize("mode", MODES)
def test_nu_K_is_nested_and_depends_on_seed_and_mode(mode: str) -> None:
    large, small = synthetic(6_000, mode, 3), synthetic(60, mode, 3)
    assert large.X is not None
    assert np.array_equal(large.X[:60], small.X)
    # means come from one product per size: equal up to its rounding
    np.testing.assert_allclose(large.mu[:60], small.mu, rtol=1e-13)
    other = synthetic(60, mode, 4)
    assert not np.array_equal(other.mu[8:], small.mu[8:])


def test_added_features_lie_where_the_mode_says() -> None:
    inside, sphere = (synthetic(300, mode).X for mode in MODES)
    assert inside is not None
    assert sphere is not None
    weight = inside[8:].sum(axis=1)
    assert (inside[8:] >= 0).all()
    assert ((weight >= 0.2) & (weight <= 1.0)).all()
    norm = np.linalg.norm(sphere[8:], axis=1)
    assert ((norm >= 0.6) & (norm <= 1.2)).all()
    assert (sphere[8:] < 0).any()


def test_nu_500_on_the_sphere_is_fast() -> None:
    start = time.perf_counter()
    synthetic(500, "sphere")
    assert time.perf_counter() - start < 1.0


def test_noc_as_published(noc_csv: Path) -> None:
    instance = noc(noc_csv)
    found = instance.complexity()
    assert instance.X is not None
    assert (instance.K, instance.d, instance.h) == (259, 2, 4)
    assert np.flatnonzero(instance.pareto).tolist() == [0, 140, 164, 180]
    assert [round(x, 1) for x in (found.H1, found.H1_lin, found.H2_lin)] == [3993.6, 1973.8, 1780.3]
    np.testing.assert_allclose(np.linalg.norm(instance.X, axis=1), 1.0, rtol=1e-14)
    assert len(np.unique(instance.X, axis=0)) == 251
    assert instance.sigma.tolist() == [0.5, 0.5]


def test_noc_sound_fits_the_data_with_an_intercept(noc_csv: Path) -> None:
    """With an intercept residuals average to 0, and no fit can be worse than the mean."""
    instance = noc(noc_csv, "sound", sigma=[0.1, 0.2])
    raw = np.loadtxt(noc_csv, delimiter=";", skiprows=1)[:, 4:] * [-1.0, 1.0]
    residual = raw - instance.mu
    assert (instance.K, instance.h) == (259, 5)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=1e-12)
    assert ((residual**2).sum(axis=0) < ((raw - raw.mean(axis=0)) ** 2).sum(axis=0)).all()
    assert instance.sigma.tolist() == [0.1, 0.2]


def test_energy_is_a_linear_fit_of_both_loads(energy_csv: Path) -> None:
    instance = energy(energy_csv)
    raw = -np.loadtxt(energy_csv, delimiter=",", skiprows=1)[:, 8:]
    residual = raw - instance.mu
    assert instance.X is not None
    assert (instance.K, instance.d, instance.h) == (768, 2, 8)
    assert instance.X.shape == (768, 9)
    scale = np.abs(instance.X).sum(axis=0)[:, None]
    np.testing.assert_allclose(instance.X.T @ residual / scale, 0.0, atol=1e-9)
    r2 = 1 - residual.var(axis=0) / raw.var(axis=0)
    assert (
        r2 > 0.88
    ).all()  # 0.916 and 0.888, as linear regressions of this table are known to give


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "no row"),
        ("1;2;3;4;5\n", "row 1: 5 values for 6 columns"),
        ("1;2;3;4;5;6\n\n1;2;x;4;5;6\n", "row 2, column fifo: 'x'"),
        ("1;2;3;4;nan;6\n", "row 1, column energy: 'nan'"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, rows: str, said: str) -> None:
    path = table(tmp_path, ";".join(NOC_COLUMNS) + "\n" + rows)
    with pytest.raises(DataError, match=said) as caught:
        noc(path)
    assert str(path) in str(caught.value)


def test_missing_file_and_wrong_header_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.csv cannot be read"):
        energy(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="header must be 'X1,X2"):
        energy(table(tmp_path, ";".join(NOC_COLUMNS) + "\n"))
    with pytest.raises(DataError, match="found ''"):
        noc(table(tmp_path, ""))


def test_degenerate_tables_are_still_read(tmp_path: Path) -> None:
    """A constant column does not divide by its spread, nor a zero row by its norm."""
    path = table(tmp_path, ";".join(NOC_COLUMNS) + "\n1;2;3;4;5;6\n1;3;1;5;6;5\n0;0;0;0;1;1\n")
    assert noc(path).mu[2].tolist() == [0.0, 0.0]
    flat = table(tmp_path, ",".join(ENERGY_COLUMNS) + "\n" + "1,1,1,1,1,1,1,1,3,4\n" * 2)
    np.testing.assert_allclose(energy(flat).mu, [[-3.0, -4.0]] * 2)


@pytest.mark.parametrize("h", [None, 1, 3, 8])
def test_random_instance_has_the_gap_and_the_rank_asked_for(h: int | None) -> None:
    for seed in range(5):
        instance = random_instance(30, h, 3, 0.02, seed, sigma=2.0)
        assert instance.complexity().gaps[0] == pytest.approx(0.02, rel=1e-12)
        assert instance.h == (h or 30)
        assert (instance.X is None) == (h is None)
    again = random_instance(30, h, 3, 0.02, seed, sigma=2.0)
    assert np.array_equal(again.mu, instance.mu)


def test_near_tie_has_both_gaps_tiny() -> None:
    both, one = near_tie(), near_tie(dominated=True)
    assert both.pareto.tolist() == [True, True]
    assert one.pareto.tolist() == [True, False]
    assert psi_gaps(both.mu).gap.tolist() == [1e-7, 1e-7]
    assert psi_gaps(one.mu).gap.tolist() == [1e-7, 1e-7]
    assert (both.K, both.h, both.d) == (2, 2, 2)


def test_epsilon_front_for_numbers_and_vectors() -> None:
    rng = np.random.default_rng(9)
    instance = Instance(None, rng.integers(0, 12, (60, 3)))
    star = psi_gaps(instance.mu).star
    for eps in (0.0, 1.0, 2.0):
        assert np.array_equal(instance.epsilon_front(eps), star <= eps)
    slack = np.array([1.0, 0.0, 3.0])
    exceeded = ((instance.mu[None] - instance.mu[:, None]) > slack).all(axis=2).any(axis=1)
    assert np.array_equal(instance.epsilon_front(slack), ~exceeded)
    assert 0 < exceeded.sum() < 60


def test_instance_is_frozen_and_apart_from_the_callers_arrays() -> None:
    X, mu = np.eye(3), np.arange(6.0).reshape(3, 2)
    instance = Instance(X, mu, [1.0, 2.0])
    X[0, 0] = mu[0, 0] = 99.0
    assert instance.X is not None
    assert (instance.X[0, 0], instance.mu[0, 0]) == (1.0, 0.0)
    for array in (instance.X, instance.mu, instance.sigma):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        instance.mu = mu  # type: ignore[misc]


def test_rank_is_that_of_the_features_not_their_number() -> None:
    X = np.random.default_rng(2).standard_normal((20, 3))
    wide = np.column_stack([X * [1e-7, 1.0, 1e7], X @ [1.0, -2.0, 0.5]])
    assert Instance(wide[:, :3], X).h == 3
    assert Instance(wide, X).h == 3
    assert Instance(None, X).h == 20


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: synthetic(7), "K = 7"),
        (lambda: synthetic(9, "cube"), "'cube'"),
        (lambda: noc("any.csv", "wrong"), "'wrong'"),
        (lambda: random_instance(1, 1, 2, 0.1, 0), "K = 1"),
        (lambda: random_instance(5, 6, 2, 0.1, 0), "h = 6"),
        (lambda: random_instance(5, 2, 2, 0.0, 0), "smallest_gap = 0"),
        (lambda: near_tie(-1.0), "delta_gap"),
        (lambda: Instance(np.eye(2), np.ones((3, 1))), "X has 2 rows and mu 3"),
        (lambda: Instance(np.zeros((3, 2)), np.ones((3, 1))), "all zero"),
        (lambda: Instance(None, [[np.nan]]), "finite"),
        (lambda: Instance(None, [[1.0]], -1.0), "sigma"),
        (lambda: Instance(None, [[1.0]], [1.0, 2.0]), "sigma has shape"),
        (lambda: Instance(None, [[1.0]]).epsilon_front(-0.1), "eps"),
    ],
)
def test_senseless_calls_are_refused(call: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call()  # type: ignore[operator]
