"""Check points: replicates beside a round's design, without which a wrong model could not be seen.

An optimal design of a linear model stands on few candidates, and on extreme ones: on a factorial grid
it stands on corners, and means that bend between corners fit it perfectly. So a share of each round
goes to candidates that the design leaves out, drawn at random: there the fit is a prediction. They
enter the test of the model, and no verdict.
"""

from __future__ import annotations

import math

import numpy as np

from paretoscope.core.arrays import BoolArray, IntArray
from paretoscope.policies.setting import Setting
from paretoscope.study.book import Uid

# Part of a round that checks the linear model: of the first, or of a design fixed beforehand, and of later ones.
FIRST, LATER = 0.2, 0.1
# Candidates it is checked on: more would leave fewer replicates, and find less.
MOST = 16
# The fewest check points: three candidates, each measured twice; six where that is half a round at most.
# With three, a bend of twice the noise over a grid was certified in one study of five; with six, in one of twenty.
_FEWEST, _ENOUGH = 6, 12


def check_points(setting: Setting, want: IntArray, share: float = FIRST) -> int:
    """Extra pulls of a round that make the test of the linear model possible.

    A ``share`` of the round wherever its design leaves candidates out; where it leaves none out, only
    if degrees of freedom are missing. As many parameters as candidates fit any truth rightly.
    """
    model = setting.model
    if not model.linear or model.rank == setting.K:
        return 0
    N, m, h = int(want.sum()), int((want > 0).sum()), model.rank
    if m >= len(model.first) and m - h >= 3 and N - m >= 5:
        return 0
    return _of(N, share)


def _of(pulls: int, share: float) -> int:
    """An even number of check points."""
    return max(_FEWEST, min(_ENOUGH, pulls // 4 * 2), 2 * math.ceil(share / 2 * pulls))


def room_for_design(setting: Setting, budget: int) -> int:
    """What a budget leaves for the design when its check points are paid from it."""
    design = budget
    while design > 1 and design + beside(setting, design) > budget:
        design -= 1
    return design


def beside(setting: Setting, design: int) -> int:
    """Check points of so many measurements by a design, at most."""
    linear = setting.model.linear and setting.model.rank < setting.K
    return _of(design, FIRST) if linear else 0


def candidates(
    setting: Setting, want: IntArray, alive: BoolArray, count: int, rng: np.random.Generator
) -> IntArray:
    """Candidates to check the model at, in random order.

    Those that the design leaves out, of these the ones that verdicts are still about; others only
    where there are not three.
    """
    model = setting.model
    pulled = np.bincount(model.inverse, want, minlength=len(model.first)) > 0
    order = model.first[rng.permutation(len(model.first))]
    inside, decided = pulled[model.inverse[order]], ~alive[order]
    ranked = order[np.lexsort((decided, inside))]
    outside = int((~inside).sum())
    return ranked[: max(1, min(count // 2, MOST, max(outside, 3)))]


def requests(turn: int, chosen: IntArray, count: int, made: int) -> list[Uid]:
    """``count`` requests in turn over the chosen candidates, after ``made`` earlier ones."""
    at = chosen[(made + np.arange(count)) % len(chosen)]
    numbers: dict[int, int] = {}
    uids = []
    for k in at.tolist():
        uids.append(Uid(True, turn, k, numbers.setdefault(k, 0)))
        numbers[k] += 1
    return uids
