"""Colours and shapes of the verdicts, said once for pages, charts and figures.

A verdict is told by shape, by word and by colour; each alone is enough. The hues are taken from the
set of Okabe and Ito (2008), which colour-blind readers tell apart, darkened or lightened until marks
stand out from the ground by 3 : 1 and text by 4.5 : 1 (WCAG 2.2, level AA); a test computes both.
"""

from __future__ import annotations

from typing import NamedTuple

VERDICTS = ("accepted", "near", "undecided", "rejected", "infeasible")


class Look(NamedTuple):
    """Shape of a verdict: a glyph for text, a symbol of plotly and one of matplotlib."""

    glyph: str
    symbol: str
    marker: str
    filled: bool


LOOKS = {
    "accepted": Look("●", "circle", "o", filled=True),
    "near": Look("◆", "diamond", "D", filled=True),
    "undecided": Look("□", "square-open", "s", filled=False),
    "rejected": Look("×", "x-thin-open", "x", filled=False),
    "infeasible": Look("▽", "triangle-down-open", "v", filled=False),
}

LIGHT = {
    "ground": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#16191d",
    "muted": "#565d66",
    "rule": "#d5d9de",
    "control": "#7b828b",
    "link": "#00598f",
    "accepted": "#0067a6",
    "near": "#007a58",
    "undecided": "#b84e00",
    "rejected": "#6b6f75",
    "infeasible": "#9a4579",
    "bad": "#a8321f",
}

DARK = {
    "ground": "#14171b",
    "panel": "#1d2126",
    "ink": "#e9ebee",
    "muted": "#a9b0b9",
    "rule": "#363c44",
    "control": "#868e98",
    "link": "#7cc4f5",
    "accepted": "#56b4e9",
    "near": "#35c89b",
    "undecided": "#f0a04b",
    "rejected": "#949ba3",
    "infeasible": "#d792b9",
    "bad": "#ff8f7d",
}


def css() -> str:
    """Both palettes as custom properties; dark where the reader asks for it."""
    light, dark = (_properties(colours) for colours in (LIGHT, DARK))
    schemes = f":root{{color-scheme:light dark;{light}}}"
    return f"{schemes}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _properties(colours: dict[str, str]) -> str:
    """Custom properties of one palette."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
