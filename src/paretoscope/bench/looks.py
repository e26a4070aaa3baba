"""How each policy looks in every figure: one colour and one mark, solid if certified.

Colours are those of Okabe and Ito, told apart by people of every colour vision; marks and dashes tell the
same once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#777777"


class Look(NamedTuple):
    """Colour, mark, dash and whether the mark is filled."""

    colour: str
    mark: str
    dash: str = "-"
    filled: bool = True


_FAMILY: Mapping[str, tuple[str, str]] = {
    "GEGE": (BLUE, "o"),
    "EGE-SH": (RED, "s"),
    "EGE-SR": (PURPLE, "^"),
    "Uniform": (GREY, "v"),
    "OneShot": (GREEN, "D"),
    "FixedDesign": (BLACK, "h"),
    "Race": (GREEN, "s"),
    "Racing": (ORANGE, "P"),
    "APE": (RED, "^"),
    "PAL": (PURPLE, "v"),
    "epsilon-PAL": (PURPLE, ">"),
    "PFIwR": (GREY, "<"),
    "Tracking": (SKY, "X"),
    "PSIPS": (BLACK, "*"),
}
_STRANGERS = ((BLACK, "h"), (SKY, "p"), (GREY, "d"), (PURPLE, "8"))
# The first variant of a family is solid, the others are not.
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
RC: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "figure.dpi": 100,
    "savefig.dpi": 220,
    "svg.hashsalt": "paretoscope",
    "svg.fonttype": "path",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
}


def looks_of(policies: Iterable[str]) -> dict[str, Look]:
    """A look for each policy, by its family (what stands before a comma), then by its order there."""
    members: dict[str, int] = {}
    found: dict[str, Look] = {}
    strangers = iter(_STRANGERS * 8)
    for name in dict.fromkeys(policies):
        family = name.split(",")[0].split(" #")[0]
        count = members[family] = members.get(family, -1) + 1
        colour, mark = _FAMILY.get(family) or next(strangers)
        dash = _DASHES[min(count, len(_DASHES) - 1)]
        found[name] = Look(colour, mark, dash, filled=count == 0)  # type: ignore[arg-type]
    return found
