"""Figures for papers: they draw what the result says, and leave matplotlib as it was."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import paretoscope as ps
from paretoscope.cli import main
from paretoscope.errors import UsageError
from paretoscope.report import figures
from paretoscope.report.palette import VERDICTS
from tests.report.lab import HOSTILE, create, rows_of, world

PICTURES = ("front", "timeline", "allocation", "progress", "residuals")


def points(figure):
    """Every mark of the first axes."""
    from matplotlib.collections import PathCollection  # noqa: PLC0415

    marks = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    return np.concatenate([np.asarray(c.get_offsets()) for c in marks])


def test_marks_are_those_of_the_result(linear):
    table = linear.result().table()
    want = {(row["latency"], row["accuracy"]) for row in table}
    assert {tuple(p) for p in points(linear.plot.front()).tolist()} == want


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_a_figure(linear, three, name):
    for study in (linear, three):
        figure = getattr(study.plot, name)()
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
            assert figures.drawn(figure, kind).startswith(start)
        x, y = figure.axes[-1].get_xlabel(), figure.axes[-1].get_ylabel()
        assert x or figure.axes[-1].get_xticklabels()
        assert y or name == "front"


def test_bars_add_up_to_the_measurements(linear):
    bars = [bar.get_height() for bar in linear.plot.allocation().axes[0].patches]
    assert sum(bars) == linear.result().counts.sum()


def test_lines_end_where_the_study_stands(linear):
    ends = {line.get_label(): line.get_ydata()[-1] for line in linear.plot.progress().axes[0].lines}
    counts = linear.status().counts
    assert ends["undecided"] == counts.get("undecided", 0)
    assert ends["out"] == counts["rejected"]


def test_one_metric_is_a_ladder():
    study = world(K=8, d=1, features=1, noise=0.5, most=2)
    heights = points(study.plot.front())
    assert sorted(heights[:, 1]) == sorted(row["latency"] for row in study.result().table())


def test_no_name_is_a_formula(tmp_path):
    names = [" ".join(name.split()) for name in HOSTILE]
    study, means = create(
        K=50, names=names, metrics=[("$x^", "min", "$\\frac"), ("$$", "max", "%")]
    )
    study.tell(rows_of(study, study.ask(), means))
    for kind in ("png", "svg"):
        assert study.report(tmp_path / f"x.{kind}").stat().st_size > 5000
    figures.drawn(study.plot.allocation(), "png")


def test_nothing_to_draw_is_said():
    study, _ = create(K=5)
    with pytest.raises(UsageError, match="measure first"):
        study.plot.allocation()
    assert "front" in repr(study.plot)
    assert len(VERDICTS) == 5


def test_pyplot_is_not_touched(tmp_path):
    code = (
        "import sys\nfrom tests.report.lab import world\n"
        f"world(K=5, most=1).report({str(tmp_path / 'x.png')!r})\n"
        "print('matplotlib.pyplot' in sys.modules, 'plotly' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_card_in_a_notebook(linear):
    card = linear._repr_html_()
    for name in linear.result().pareto_set:
        assert f"<td>{name}</td>" in card
    study = world(K=3, names=["<script>alert(1)</script>", "b", "c"], noise=0.1)
    for text in (study._repr_html_(), study.result()._repr_html_()):
        assert "<script" not in text
        assert "&lt;script&gt;" in text or study.result().status[0] == "rejected"


# ---------------------------------------------------------------- the command


def call(*args, code=0):
    done = CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_the_command_writes_each_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world(K=6, where="w.study", most=1).close()
    assert "w.html" in call("report", "w.study")
    assert (tmp_path / "w.html").read_text().startswith("\n<!doctype html>") or "<!doctype" in (
        tmp_path / "w.html"
    ).read_text()[:40]
    assert "there already" in call("report", "w.study", code=2)
    call("report", "w.study", "--force")
    call("report", "w.study", "--format", "svg")
    call("report", "w.study", "p.png", "--json")
    assert (tmp_path / "w.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "html, png, svg" in call("report", "w.study", "p.gif", code=2)
    assert "the study itself" in call("report", "w.study", "w.study", "--force", code=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.png", "w.html", "w.study", "w.svg"]


@pytest.mark.parametrize("wide", [True, False])
def test_a_logarithmic_axis_has_a_few_plain_numbers(wide):
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415

    runtimes = np.geomspace(2.0, 90.0, 6) if wide else np.linspace(2.0, 3.1, 6)
    study = ps.Study.create(
        None,
        candidates={"x": list(range(6))},
        metrics=["time:min:ms:log", "size:min"],
        budget=60,
    )
    rows = study.ask()
    told = [(r.uid, int(r.candidate), 1 + 1e-3 * k) for k, r in enumerate(rows)]
    study.tell([{"uid": u, "time": runtimes[c] * f, "size": c * f} for u, c, f in told])
    figure = study.plot.front()
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    axis = figure.axes[0].xaxis
    texts = [tick.get_text() for tick in axis.get_ticklabels() if tick.get_text()]
    assert all(re.fullmatch(r"[0-9.]+", text) for text in texts), texts
    assert not any(tick.get_text() for tick in axis.get_ticklabels(minor=True))
    boxes = sorted(
        (t.get_window_extent(renderer) for t in axis.get_ticklabels() if t.get_text()),
        key=lambda box: box.x0,
    )
    assert len(boxes) >= 3
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes)), "labels overlap"
