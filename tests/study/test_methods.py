from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from paretoscope.errors import DataError, UsageError
from paretoscope.policies.ape import APE
from paretoscope.policies.ege import EGESH, EGESR
from paretoscope.policies.epsilon_pal import EpsilonPAL
from paretoscope.policies.fixed import FixedDesign, OneShot
from paretoscope.policies.gege import GEGE
from paretoscope.policies.pal import PAL
from paretoscope.policies.psips import PSIPS
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.setting import Noise, Setting
from paretoscope.policies.tracking import Tracking
from paretoscope.policies.uniform import Uniform
from paretoscope.study.methods import (
    Wishes,
    check_points,
    check_terms,
    choose,
    method_from_plain,
    method_to_plain,
    options,
    predicted_need,
)

KNOWN = Setting(K=5, d=2, noise=Noise(np.full(2, 0.1)))
UNKNOWN = Setting(K=5, d=2, noise=Noise.unknown(2))
EXACT = Setting(K=5, d=1, noise=Noise(np.ones(1)), exact=np.array([True]))


@pytest.mark.parametrize(
    "policy",
    [
        GEGE(delta=0.1, epsilon=0.2, designs=("g",)),
        GEGE(budget=90),
        FixedDesign(delta=0.05, budget=60, looks=3),
        OneShot(50),
        Uniform(50),
        EGESH(90),
        EGESR(90, k=2),
        Race(0.1, 0.2, noise_from="pooled"),
        Racing(0.1, 0.2, bonus="union"),
        APE(0.1, 0.2, growth=0.0),
        Tracking(0.1, 0.2, batch=1.0),
        Tracking(budget=60, batch=0.5),
        PAL(0.1, bonus="reference"),
        EpsilonPAL(0.1, 0.2, max_rounds=5),
        PSIPS(0.1, correlation=((1, 0.5), (0.5, 1)), max_samples=90),
        PSIPS(0.1, 0.2, stop="certificate"),
    ],
)
def test_methods_are_written_down_and_read_back(policy):
    assert method_from_plain(json.loads(json.dumps(method_to_plain(policy)))) == policy


def test_other_methods_are_refused():
    with pytest.raises(UsageError, match="object cannot be written"):
        method_to_plain(object())
    with pytest.raises(DataError, match="'Oracle' is not known"):
        method_from_plain({"policy": "Oracle", "settings": {}})


def test_without_an_end_nothing_is_chosen():
    with pytest.raises(UsageError, match="give an epsilon, a budget or a time"):
        choose(KNOWN, Wishes())
    for limit in ({"epsilon": 0.1}, {"budget": 100}, {"time": 60.0}):
        assert choose(KNOWN, Wishes(**limit)).reason
    assert choose(replace(KNOWN, epsilon=np.array([0.1, 0.1])), Wishes()).reason
    assert choose(EXACT, Wishes()).reason


def test_what_auto_chooses_and_why():
    race = choose(KNOWN, Wishes(epsilon=0.5, delta=0.1))
    assert race.policy == Race(0.1, 0.5)
    assert "unstructured, known noise" in race.reason
    own = choose(UNKNOWN, Wishes(epsilon=0.5, delta=0.1))
    assert own.policy == Race(0.1, 0.5)
    assert own.policy.noise_from == "candidates"
    assert "unknown noise, each candidate with its own" in own.reason
    line = replace(KNOWN, X=np.arange(5.0)[:, None])
    rounds = choose(line, Wishes(epsilon=0.5, delta=0.1))
    assert rounds.policy == GEGE(delta=0.1, epsilon=0.5)
    assert "linear in the features, known noise" in rounds.reason
    need = predicted_need(race.policy, KNOWN)
    enough = choose(KNOWN, Wishes(epsilon=0.5, delta=0.1, budget=need))
    assert enough.policy == Race(0.1, 0.5, max_samples=need)
    short = choose(KNOWN, Wishes(epsilon=0.5, delta=0.1, budget=need - 1, batches=4))
    assert short.policy == FixedDesign(delta=0.1, epsilon=0.5, budget=need - 1, looks=4)
    assert f"{need} would be needed" in short.reason
    blind = choose(UNKNOWN, Wishes(epsilon=0.5, budget=1000))
    assert isinstance(blind.policy, FixedDesign)
    assert "before the noise is known" in blind.reason
    assert choose(KNOWN, Wishes(time=9.0)).policy.max_rounds == 60
    assert choose(line, Wishes(time=9.0)).policy.max_rounds == 30


def test_plan_names_every_method_that_fits():
    plans = options(KNOWN, Wishes(epsilon=0.5, budget=40))
    named = ["Race", "GEGE", "FixedDesign", "OneShot (no certificate)"]
    assert [plan.name for plan in plans] == named
    assert plans[0].high == predicted_need(Race(0.05, 0.5), KNOWN)
    assert plans[1].high == predicted_need(GEGE(delta=0.05, epsilon=0.5), KNOWN)
    assert plans[3].high == 40
    assert options(UNKNOWN, Wishes(epsilon=0.5))[0].high is None
    small = options(KNOWN, Wishes(epsilon=0.5, budget=1))
    assert (small[2].high, "too small" in small[2].said) == (None, True)
    line = replace(KNOWN, X=np.arange(5.0)[:, None])
    assert options(line, Wishes(epsilon=0.5))[0].name == "GEGE"


def test_terms_that_would_never_end_are_refused():
    for policy in (GEGE(delta=0.1, epsilon=0.1), GEGE(delta=0.1, max_rounds=3), Uniform(10)):
        check_terms(policy, KNOWN)
    check_terms(GEGE(delta=0.1), EXACT)
    for endless in (
        GEGE(delta=0.1),
        Race(0.1),
        Racing(0.1),
        APE(0.1),
        PAL(0.1),
        PSIPS(0.1),
        Tracking(0.1),
    ):
        with pytest.raises(UsageError, match="give an epsilon, max_samples or max_rounds"):
            check_terms(endless, KNOWN)
    with pytest.raises(UsageError, match="below one measurement"):
        check_terms(Uniform(3), KNOWN)


def test_check_points_where_the_design_cannot_test_the_fit():
    X = np.column_stack([np.ones(30), np.linspace(-1, 1, 30)])
    line = Setting(K=30, d=1, noise=Noise(np.ones(1)), X=X)
    ends = np.zeros(30, dtype=np.int64)
    ends[[0, -1]] = 10
    assert check_points(line, ends) == 6
    assert check_points(line, ends * 5) == 20
    ends[15] = 10
    assert check_points(line, ends) == 6  # one degree only for the fit
    spread = np.zeros(30, dtype=np.int64)
    spread[:5] = 2
    assert check_points(line, spread) == 0  # 3 degrees for the fit, 5 within
    spread[4] = 1
    assert check_points(line, spread) == 6
    assert check_points(replace(line, X=None), ends) == 0
