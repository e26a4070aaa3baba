from __future__ import annotations

import json
import re
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
from paretoscope.policies.pfiwr import PFIwR
from paretoscope.policies.psips import PSIPS
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.setting import Noise, Setting
from paretoscope.policies.tracking import Tracking
from paretoscope.policies.uniform import Uniform
from paretoscope.study.checks import check_points, room_for_design
from paretoscope.study.methods import (
    Wishes,
    check_terms,
    choose,
    method_from_plain,
    method_to_plain,
    options,
    predicted_need,
)
from tests.study.lab import finish, fresh, metrics

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
        PFIwR(0.1, 0.2, gamma_scale=1e-4, theta_max=3.0),
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


LINE = replace(KNOWN, X=np.arange(5.0)[:, None])


@pytest.mark.parametrize(
    ("setting", "wishes", "policy", "why"),
    [
        (LINE, {}, Tracking(0.1, 0.5), "linear in the features, known noise, .*adaptive batches"),
        (LINE, {"batches": 14}, Tracking(0.1, 0.5, batch=1.0), "adaptive"),
        (LINE, {"batches": 5}, Tracking(0.1, 0.5, batch=4.0), "adaptive"),
        (LINE, {"batches": 30}, Tracking(0.1, 0.5), "adaptive"),
        (
            replace(UNKNOWN, X=LINE.X),
            {},
            GEGE(delta=0.1, epsilon=0.5),
            "linear in the features, unknown noise, .*rounds that eliminate",
        ),
        (replace(LINE, zeta=np.full(2, 0.1)), {}, GEGE(delta=0.1, epsilon=0.5), "rounds"),
        (KNOWN, {}, Race(0.1, 0.5), "unstructured, known noise, .*a race"),
        (UNKNOWN, {}, Race(0.1, 0.5), "unstructured, unknown noise, each .*a race"),
    ],
)
def test_what_auto_chooses_with_an_open_end_and_why(setting, wishes, policy, why):
    found = choose(setting, Wishes(epsilon=0.5, delta=0.1, **wishes))
    assert found.policy == policy
    assert re.search(why, found.reason)


def test_what_auto_chooses_for_a_budget_and_why():
    wishes = {"epsilon": 0.05, "delta": 0.1}
    for setting, kinds in ((KNOWN, [Race]), (LINE, [GEGE, Tracking])):
        needs = [predicted_need(kind(0.1, 0.05), setting) for kind in kinds]
        budgets = [
            next(T for T in range(n, 3 * n) if room_for_design(setting, T) >= n) for n in needs
        ]
        for kind, need, budget in zip(kinds, needs, budgets, strict=True):
            enough = choose(setting, Wishes(**wishes, budget=budget))
            capped = room_for_design(setting, budget)
            assert enough.policy == kind(0.1, 0.05, max_samples=capped)
            assert f"{need} measurements should do" in enough.reason
        short = choose(setting, Wishes(**wishes, budget=budgets[0] - 1, batches=4))
        room = room_for_design(setting, budgets[0] - 1)
        assert short.policy == FixedDesign(**wishes, budget=room, looks=4)
        assert f"{min(needs)} would be needed" in short.reason
    blind = choose(UNKNOWN, Wishes(epsilon=0.5, budget=1000))
    assert isinstance(blind.policy, FixedDesign)
    assert "cannot be told beforehand" in blind.reason
    assert choose(KNOWN, Wishes(time=9.0)).policy == Race(max_rounds=60, delta=0.05)
    assert choose(LINE, Wishes(time=9.0)).policy.max_rounds == 60
    assert choose(replace(UNKNOWN, X=LINE.X), Wishes(time=9.0)).policy.max_rounds == 30


def test_plan_names_every_method_that_fits():
    plans = options(KNOWN, Wishes(epsilon=0.5, budget=40))
    named = ["Race", "APE", "GEGE", "FixedDesign", "OneShot (no certificate)"]
    assert [plan.name for plan in plans] == named
    assert plans[0].high == predicted_need(Race(0.05, 0.5), KNOWN)
    assert (plans[1].high, plans[1].said) == (None, "the rest depends on the data")
    assert plans[2].high == predicted_need(GEGE(delta=0.05, epsilon=0.5), KNOWN)
    assert plans[4].high == 40
    assert options(UNKNOWN, Wishes(epsilon=0.5))[0].high is None
    small = options(KNOWN, Wishes(epsilon=0.5, budget=1))
    assert (small[3].high, "too small" in small[3].said) == (None, True)
    tracking, rounds = options(LINE, Wishes(epsilon=0.05))
    assert (tracking.name, rounds.name) == ("Tracking", "GEGE")
    assert tracking.high == predicted_need(Tracking(0.05, 0.05), LINE)
    assert "within the tolerance" in tracking.said
    none = options(LINE, Wishes(time=9.0))[0]
    assert (none.high, none.said) == (None, "the rest depends on the data")


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
        PFIwR(0.1, gamma_scale=1e-6),
        Tracking(0.1),
    ):
        with pytest.raises(UsageError, match="give an epsilon, max_samples or max_rounds"):
            check_terms(endless, KNOWN)
    with pytest.raises(UsageError, match="below one measurement"):
        check_terms(Uniform(3), KNOWN)


def test_check_points_where_the_design_leaves_candidates_out():
    X = np.column_stack([np.ones(30), np.linspace(-1, 1, 30)])
    line = Setting(K=30, d=1, noise=Noise(np.ones(1)), X=X)
    ends = np.zeros(30, dtype=np.int64)
    ends[[0, -1]] = 5
    assert check_points(line, ends) == 6
    assert check_points(line, ends * 2) == 10
    assert check_points(line, ends * 5) == 12
    assert check_points(line, ends * 10) == 20
    assert check_points(line, ends * 10, 0.1) == 12
    corners = np.zeros(30, dtype=np.int64)
    corners[:8] = 20  # plenty of degrees of freedom, and nothing known of the others
    assert check_points(line, corners) == 32
    all_of_them = np.full(30, 2)
    assert check_points(line, all_of_them) == 0  # 28 degrees for the fit, 30 within
    assert check_points(line, np.ones(30, dtype=np.int64)) == 12
    three = replace(line, K=3, X=X[[0, 15, 29]])
    assert check_points(three, np.full(3, 10)) == 12  # one degree only for the fit
    assert check_points(replace(line, X=None), ends) == 0


@pytest.mark.parametrize("budget", [20, 57, 120, 1000])
def test_check_points_are_paid_from_the_budget(budget):
    x = np.linspace(-1.0, 1.0, 30)
    line = Setting(K=30, d=1, noise=Noise(np.full(1, np.nan)), X=np.column_stack([x**0, x]))
    design = choose(line, Wishes(epsilon=0.1, budget=budget)).policy.budget
    pulls = np.zeros(30, dtype=np.int64)
    for more in range(2):
        pulls[0] = design + more
        assert (design + more + check_points(line, pulls) <= budget) == (more == 0)
    free = replace(line, X=None)
    assert choose(free, Wishes(epsilon=0.1, budget=budget + 60)).policy.budget == budget + 60


def test_a_named_method_pays_its_check_points_from_the_budget_of_the_study():
    columns = {"x": np.linspace(-1.0, 1.0, 30).tolist()}
    settings = {"candidates": columns, "metrics": metrics(0.1), "budget": 120}
    line = fresh(**settings, features=["x"], method=FixedDesign(delta=0.1, budget=120, looks=4))
    asked = sum(len(batch) for batch in finish(line, means=np.zeros((30, 2))))
    assert (line.policy.budget, asked) == (100, 120)
    free = fresh(**settings, features=["x"], method=Uniform(120))  # it ignores the features
    assert free.policy.budget == 120
