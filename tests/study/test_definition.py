"""Terms of a study and of its method: given once, or alike."""

from __future__ import annotations

import pytest

from paretoscope import GEGE, FixedDesign, Metric, Study
from paretoscope.errors import UsageError

BASE = {"candidates": {"a": list(range(6))}, "metrics": [Metric("y", sigma=0.1)]}


@pytest.mark.parametrize(
    ("method", "terms", "word"),
    [
        (GEGE(0.1, 0.2), {"delta": 0.05}, "delta"),
        (GEGE(0.1, 0.2), {"epsilon": 0.3}, "epsilon"),
        (GEGE(0.1, max_rounds=3), {"epsilon": 0.3}, "epsilon"),
        (FixedDesign(delta=0.1, budget=60), {"budget": 90}, "budget"),
    ],
)
def test_a_term_that_contradicts_the_method_is_refused(method, terms, word):
    with pytest.raises(UsageError, match=f"{word} is"):
        Study.create(None, method=method, **terms, **BASE)


def test_a_term_that_repeats_the_method_is_fine():
    study = Study.create(None, method=GEGE(0.1, 0.2), delta=0.1, epsilon=0.2, **BASE)
    assert study.policy == GEGE(0.1, 0.2)


def test_a_batch_is_a_sheet_and_a_frame_and_comes_back_as_either(tmp_path):
    study = Study.create(None, method=FixedDesign(delta=0.1, budget=60, looks=2), **BASE)
    batch = study.ask(12)
    assert batch.to_csv(tmp_path / "b.csv").startswith("uid,candidate")
    text = (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines()
    lines = [text[0], *(line[:-1] + "1.5," for line in text[1:])]
    (tmp_path / "b.csv").write_text("\n".join(lines), encoding="utf-8")
    assert study.tell(tmp_path / "b.csv").accepted == 12
    frame = study.ask(6).to_frame("pandas")
    frame["y"] = 2.5
    assert study.tell(frame).accepted == 6
    assert "n,0,y mean" not in study.ask(6).to_csv(by="candidate")
