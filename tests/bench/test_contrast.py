"""Two results side by side: equal, within chance, or different."""

from __future__ import annotations

import pytest

from paretoscope.bench import Results, conduct, load
from paretoscope.bench.contrast import contrast
from tests.bench.tiny import tiny, wish


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return conduct(tiny(), wish(tmp_path_factory.mktemp("results")))


def changed(results, **cells):
    """The results with cells of the first row replaced."""
    first, *rest = results.rows
    return Results(results.name, [first | cells, *rest], results.about)


def test_the_same_is_identical(results):
    found = contrast(results, results)
    assert (found.shared, found.same, found.differences) == (4, 4, [])


def test_another_seed_is_within_chance(results, tmp_path):
    found = contrast(results, conduct(tiny(), wish(tmp_path, seed=8)))
    assert found.same < 4
    assert found.differences == []


def test_another_error_is_seen(results):
    (seen,) = contrast(results, changed(results, errors="45", error="1")).differences
    assert seen.what == "error"
    assert seen.cell == ("quiet", "8", "GEGE")
    assert seen.p < 1e-6


def test_other_pulls_are_seen(results):
    (seen,) = contrast(results, changed(results, pulls_mean="4999")).differences
    assert (seen.what, seen.second, seen.p) == ("pulls", "4999", None)
    spread = changed(results, pulls_mean="4990", pulls_se="1")
    assert contrast(results, spread).differences[0].p < 1e-20
    wide = changed(results, pulls_mean="4990", pulls_se="20")
    assert contrast(results, wide).differences == []


def test_refused_against_run(results):
    (seen,) = contrast(results, changed(results, runs="0")).differences
    assert seen.what == "runs"


def test_cells_of_one_only(results):
    fewer = Results(results.name, results.rows[1:], {})
    found = contrast(results, fewer)
    assert (found.shared, found.only_first, found.only_second) == (3, 1, 0)


def test_what_has_no_chance_is_equal_or_not(tmp_path):
    found = conduct(load("illustration"), wish(tmp_path))
    (seen,) = contrast(found, changed(found, value="9")).differences
    assert (seen.what, seen.p) == ("value", None)
