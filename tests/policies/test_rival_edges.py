"""Every rival in every hard case: it ends, at a verdict or at its cap, and no label is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paretoscope.policies import (
    APE,
    EGESH,
    EGESR,
    PAL,
    PSIPS,
    EpsilonPAL,
    PFIwR,
    Race,
    Racing,
    StopReason,
)
from paretoscope.testing import check_partition
from tests import naive
from tests.policies.drive import drive, study

CAP = 3000
OPEN: dict[str, Any] = {
    "race": Race(0.1, max_samples=CAP),
    "racing": Racing(0.1, growth=0.2, max_samples=CAP),
    "racing union": Racing(0.1, bonus="union", growth=0.2, max_samples=CAP),
    "racing reference": Racing(0.1, bonus="reference", growth=0.2, max_samples=CAP),
    "ape": APE(0.1, growth=0.4, max_samples=CAP),
    "ape reference": APE(0.1, bonus="reference", growth=0.4, max_samples=CAP),
    "pal": PAL(0.1, growth=0.2, max_samples=CAP),
    "pal reference": PAL(0.1, bonus="reference", growth=0.2, max_samples=CAP),
    "epsilon-pal": EpsilonPAL(0.1, growth=0.4, max_samples=CAP),
    "pfiwr": PFIwR(0.1, gamma_scale=1e-6, growth=0.3, max_samples=CAP),
    "psips": PSIPS(0.1, growth=0.3, max_samples=CAP),
    "psips certificate": PSIPS(0.1, stop="certificate", growth=0.3, max_samples=CAP),
}
BUDGET: dict[str, Any] = {"ege-sh": EGESH(600), "ege-sr": EGESR(600)}
PLANE = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.3, 0.2], [0.1, 0.4]])
LINE = np.array([[1.0, 0.1], [0.8, 0.1], [0.5, 0.1], [0.2, 0.1]])
# features, means, deviation of the noise in the data (0.1 is what the policies are told)
CASES: dict[str, tuple[Any, Any, float]] = {
    "a tie for the front": (None, [[1, 1], [1, 1], [0, 0], [0.2, 0.1]], 0.1),
    "a tie in one metric": (None, [[1, 1], [0.5, 1], [0, 0.3], [0.2, 0]], 0.1),
    "copies of features": (np.vstack([PLANE, PLANE[:2]]), np.vstack([PLANE, PLANE[:2]]), 0.1),
    "one candidate": (None, [[1, 1]], 0.1),
    "one feature and one metric": (LINE[:, :1], LINE[:, :1], 0.1),
    "one metric": (None, LINE[:, :1], 0.1),
    "values without noise": (PLANE, PLANE, 0.0),
    "values without noise, no features": (None, PLANE, 0.0),
}
# what posterior samples, covers and budgets say of a tie is luck
LUCK = {"psips", "epsilon-pal", *BUDGET}
FEATURES = {"pal", "pal reference", "epsilon-pal", "pfiwr", "psips", "psips certificate"}


def tied(name: str, case: str) -> bool:
    """Whether measurements alone would have to tell equal means apart."""
    return "tie" in case or (case == "copies of features" and name not in FEATURES)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [*OPEN, *BUDGET])
def test_it_ends_and_no_label_is_wrong(name: str, case: str) -> None:
    X, mu, sigma = CASES[case]
    mu = np.array(mu, dtype=float)
    setting = study(X, K=len(mu), d=mu.shape[1], sigma=0.1)
    policy = (OPEN | BUDGET)[name]
    state = drive(policy, setting, mu, sigma, most=600)[-1]
    verdict, best = policy.verdict(state), np.array(naive.non_dominated(mu))
    check_partition(verdict, len(mu))
    if not tied(name, case):
        assert verdict.answer.tolist() == best.tolist()
        assert policy.stopped(state) in {StopReason.DECIDED, StopReason.BUDGET}
        assert state.spent > 0 or len(mu) == 1
    elif name in LUCK:
        assert policy.stopped(state) is not None
        assert state.spent <= CAP
    else:
        assert policy.stopped(state) is StopReason.SAMPLES
        assert not (verdict.accepted & ~best).any()
        assert not (verdict.rejected & best).any()
        assert verdict.undecided.any()
