"""Contrast and colour blindness, computed."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from paretoscope.report.page import style
from paretoscope.report.palette import DARK, LIGHT, LOOKS, VERDICTS

TEXT = ("ink", "muted", "link", "bad", *VERDICTS)
# Linear-light matrices of Machado, Oliveira and Fernandes (2009), severity 1.
BLINDNESS = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def linear(colour):
    """Linear light of a colour, sRGB."""
    v = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def contrast(one, two):
    """The ratio of WCAG 2."""
    a, b = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, two))
    return (b + 0.05) / (a + 0.05)


def lab(rgb):
    """CIE L*a*b* of linear light, D65."""
    xyz = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ rgb
    )
    t = np.maximum(xyz / [0.9505, 1.0, 1.089], 0)
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out(colours):
    for ground in ("ground", "panel"):
        for name in TEXT:
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        assert contrast(colours["control"], colours[ground]) >= 3.0


@pytest.mark.parametrize("kind", BLINDNESS)
def test_in_and_out_and_undecided_differ_for_the_colour_blind(kind):
    seen = {v: lab(np.clip(np.array(BLINDNESS[kind]) @ linear(LIGHT[v]), 0, 1)) for v in VERDICTS}
    for a, b in combinations(("accepted", "rejected", "undecided"), 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 20, (a, b)  # 2.3 is just noticeable


def test_shapes_alone_tell_verdicts_apart():
    for part in ("glyph", "symbol", "marker"):
        assert len({getattr(look, part) for look in LOOKS.values()}) == len(VERDICTS)


def test_every_colour_of_the_style_is_of_the_palette():
    text = style()
    assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= set(LIGHT)
    assert set(LIGHT) == set(DARK)
    rules = text.partition("*, *::before")[2]
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", rules)
