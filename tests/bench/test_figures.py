"""Figures from results: a panel per world, a line per policy, labels apart, the same file twice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.bench import conduct, figures, load
from paretoscope.bench.looks import looks_of
from paretoscope.errors import UsageError
from tests.bench.tiny import tiny, wish


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return conduct(tiny(), wish(tmp_path_factory.mktemp("rows"), runs=5)).rows


def written(figure):
    """All words of a figure."""
    return {text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))}


@pytest.mark.parametrize("kind", ["error-lines", "pulls-lines", "pulls-boxes", "error-bars"])
def test_every_kind_names_worlds_and_policies(kind, rows, tmp_path):
    experiment = tiny(**{"error-lines": kind})
    figure = figures.draw(experiment, rows)
    assert {"quiet", "GEGE", "Uniform"} <= written(figure)
    png, svg = figures.save(figure, tmp_path, "tiny")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in svg.read_text()


def test_the_same_figure_is_the_same_file(rows, tmp_path):
    for name in ("a", "b"):
        figures.save(figures.draw(tiny(), rows), tmp_path, name)
    for kind in ("png", "svg"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_lines_show_the_rates_and_bands_their_intervals(rows):
    (axis,) = figures.draw(tiny(), rows).axes
    mine = [row for row in rows if row["policy"] == "Uniform"]
    shown = [list(line.get_ydata()) for line in axis.lines]
    assert [float(row["error"]) for row in mine] in shown
    bands = [band.get_paths()[0].vertices[:, 1] for band in axis.collections]
    lows, highs = (min(float(r[k]) for r in mine) for k in ("error_low", "error_high"))
    assert any(band.min() == pytest.approx(lows) for band in bands)
    assert any(np.isclose(band, highs).any() for band in bands)


def test_what_was_refused_is_no_point(rows):
    gone = [row | {"runs": "0"} if row["policy"] == "Uniform" else row for row in rows]
    (axis,) = figures.draw(tiny(), gone).axes
    assert len(axis.lines) == 1


def test_a_table_has_no_figure(rows):
    with pytest.raises(UsageError, match="table1 is a table"):
        figures.draw(load("table1"), rows)


def test_without_matplotlib_it_is_said(rows, monkeypatch):
    monkeypatch.setattr(figures, "possible", lambda: False)
    with pytest.raises(UsageError, match=r"install paretoscope\[plot\]"):
        figures.draw(tiny(), rows)


def test_gaps_of_four_candidates(tmp_path):
    results = conduct(load("illustration"), wish(tmp_path))
    value = {(r["quantity"], r["i"], r["j"]): float(r["value"]) for r in results.rows}
    i, j, k, l = "0123"  # noqa: E741  (the candidates of the picture)
    assert value["gap", i, ""] == value["m", i, j] == 2.5
    assert value["gap", l, ""] == pytest.approx(value["m", l, k])
    assert value["gap", j, ""] == value["gap", k, ""] == value["M", j, k] == 1.5
    assert [value["optimal", x, ""] for x in (i, j, k, l)] == [0, 1, 1, 0]
    words = written(figures.draw(load("illustration"), results.rows))
    assert {"$m(i,j)$", "$m(i,k)$", "$m(l,k)$", "$M(j,k)$", "$M(k,j)$"} <= words


@given(st.lists(st.floats(0.0, 1.0), max_size=12))
def test_labels_are_apart_in_order_and_inside(heights):
    found = figures.apart(sorted(heights), 0.06)
    assert all(b - a >= 0.06 - 1e-9 for a, b in pairwise(found))
    assert not found or (found[0] >= -1e-9 and found[-1] <= 1.0 + 1e-9)


def test_labels_that_have_room_stay():
    assert figures.apart([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])


def test_no_two_policies_of_an_experiment_look_the_same():
    for name in ("figure1", "figure2", "figure4", "figure7"):
        looks = looks_of(entrant.name for entrant in load(name).entrants)
        assert len(set(looks.values())) == len(looks)
    strangers = looks_of(["mine", "yours", "GEGE"])
    assert len({look.mark for look in strangers.values()}) == 3


def test_colours_hold_for_people_who_see_fewer():
    """Brightness alone tells the families of a figure with lines apart, or their marks do."""
    looks = looks_of(entrant.name for entrant in load("figure1").entrants)
    assert len({look.mark for look in looks.values()}) == len(looks)


def test_files_go_where_they_are_wanted(rows, tmp_path):
    made = figures.save(figures.draw(tiny(), rows), tmp_path, "tiny")
    assert made == [Path(tmp_path, "tiny.png"), Path(tmp_path, "tiny.svg")]
