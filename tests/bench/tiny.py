"""A small experiment that takes milliseconds, and where its results go."""

from __future__ import annotations

from pathlib import Path

from paretoscope.bench import Experiment, Wish, parse

TEXT = """
name = "tiny"
title = "Two policies on two instances"
kind = "runs"
figure = "error-lines"
axis = "K"
label = "candidates K"
values = [8, 10]
runs = 45
seed = 3
goal = { budget = "H2_lin" }

[[worlds]]
name = "quiet"
kind = "synthetic"
sigma = 0.5

[[entrants]]
name = "GEGE"
policy = "GEGE"
published = true

[[entrants]]
name = "Uniform"
policy = "Uniform"
most = [45, 7]
"""


def tiny(**changes: str) -> Experiment:
    """The experiment, with words of its file replaced."""
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return parse(text, "tiny.toml")


def wish(out: Path, **how: object) -> Wish:
    """Runs in this process."""
    return Wish(out, **({"executor": "here"} | how))  # type: ignore[arg-type]


def text_of(out: Path, name: str = "tiny") -> str:
    """The CSV of the results."""
    return (out / f"{name}.csv").read_text(encoding="utf-8")
