"""Numbers, tolerances and texts as a terminal shows them."""

from __future__ import annotations

import json
import math

import pytest

from paretoscope import Metric
from paretoscope.cli import show
from paretoscope.study.speech import estimate as _estimate
from tests.cli.lab import call


def test_numbers_have_as_many_digits_as_their_width_warrants():
    y, ratio = Metric("y"), Metric("r", scale="log")
    assert _estimate(y, 0.88912, 0.82912, 0.94912) == "0.889 ± 0.060"
    assert _estimate(y, 1234567.0, 1188567.0, 1280567.0) == "1235000 ± 46000"
    assert _estimate(y, -3.0, -3.0, -3.0) == "-3"
    assert _estimate(y, math.nan, math.nan, math.nan) == "-"
    assert _estimate(y, 5.25, math.nan, math.nan) == "5.25"
    assert _estimate(ratio, 2.0, 2.0 / math.exp(0.02), 2.0 * math.exp(0.02)) == "2.000 ± 2.0 %"
    assert _estimate(ratio, 700.0, 200.0, 3000.0) == "700 ± 135 %"
    assert [show.number(v) for v in (None, math.inf, 0.123456)] == ["-", "-", "0.1235"]


def test_tolerances_have_units_or_per_cent():
    assert show.tolerance(Metric("y", unit="ms"), 0.25) == "0.25 ms"
    assert show.tolerance(Metric("y", scale="log"), 0.02) == "2 %"
    assert show.tolerance(Metric("y"), math.inf) == "not yet known"


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Metric("y"), "unknown"),
        (Metric("y", sigma=0.5), "sigma 0.5"),
        (Metric("y", bounds=(0, 1)), "within [0, 1]"),
        (Metric("y", kind="proportion", of=20), "of 20 trials"),
        (Metric("y", exact=True), "none (exact)"),
        (Metric("y", exact=True, known="price"), "none (column price)"),
    ],
)
def test_noise_in_words(metric, said):
    assert show.noise(metric) == said


def test_json_has_null_for_what_is_not_finite(capsys):
    show.emit({"a": [1.5, math.inf, (math.nan,)], 2: {"b": None, "c": "±"}})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": [1.5, None, [None]], "2": {"b": None, "c": "±"}}
    assert out.isascii()


def test_lists_and_facts_are_cut_and_wrapped(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    ids = [f"candidate-{k:03d}" for k in range(30)]
    assert show.listed(ids).endswith(
        ", candidate-006, candidate-007... and 22 more".replace("...", "")
    )
    assert show.listed(ids[:2]) == "candidate-000, candidate-001"
    assert show.listed(["x" * 300, "y"]) == "x" * 300 + " and 1 more"
    show.facts([("short", "one two three four five six seven eight"), ("", "more"), ("x", "")])
    assert capsys.readouterr().out.splitlines() == [
        "short  one two three four five six seven",
        "       eight",
        "       more",
    ]


def test_names_cannot_command_the_terminal(folder):
    (folder / "c.csv").write_text('id\n"\x1b[31mred"\n[bold]b[/bold]\n')
    call("create", "w.study", "--candidates", "c.csv", "-m", "y", "--epsilon", "1")
    said = call("ask", "w.study")
    assert "\x1b" not in said
    assert "\\x1b[31mred" in said
    assert "[bold]b[/bold]" in said  # markup is text, too
