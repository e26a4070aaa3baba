from __future__ import annotations

import numpy as np
import pytest

from paretoscope.errors import DataError, UsageError
from paretoscope.policies import GEGE, FixedDesign, OneShot, Tally
from tests.policies.drive import drive, quiet, study

TRADE = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [-0.5, -0.5]])


@pytest.mark.parametrize(
    "policy", [GEGE(0.1, first_accuracy=0.1), OneShot(40), FixedDesign(delta=0.1, budget=80)]
)
def test_a_round_is_judged_when_its_last_pull_is_in_and_not_before(policy):
    state = policy.init(study(K=4, sigma=0.1))
    want = policy.allocate(state)
    for k in range(4):
        assert policy.stopped(state) is None
        assert policy.verdict(state).undecided.all()
        part = np.where(np.arange(4) == k, want, 0)
        assert (policy.allocate(state)[k:] == want[k:]).all()
        state = policy.observe(state, quiet(TRADE, part, 0.1))
    assert not policy.verdict(state).undecided[[0, 1, 3]].any()


def test_told_pulls_are_counted_over_all_rounds():
    states = drive(GEGE(0.1), study(K=4), TRADE, 1.0)
    asked = sum(GEGE(0.1).allocate(state) for state in states)
    assert (states[-1].told == asked).all()
    assert states[-1].spent == asked.sum()
    assert [record.number for record in states[-1].history] == list(range(1, len(states)))
    assert sum(record.pulls for record in states[-1].history) == asked.sum()


def test_decisions_say_who_rejected_whom_and_by_how_much():
    states = drive(GEGE(0.1), study(K=4, sigma=0.1), TRADE, 0.1)
    verdict = GEGE(0.1).verdict(states[-1])
    decisions = {decision.arm: decision for decision in verdict.decisions}
    assert sorted(decisions) == [0, 1, 2, 3]
    assert decisions[3].status == "rejected"
    assert decisions[3].by in {0, 1, 2}
    assert decisions[3].gap >= decisions[3].threshold > 0
    assert decisions[0].status == "accepted"
    assert decisions[0].by == -1


def test_decisions_name_candidates_not_arms():
    order = [3, 3, 0, 1]
    verdict = GEGE(0.1).verdict(drive(GEGE(0.1), study(TRADE[order]), TRADE[order], 1.0)[-1])
    assert {decision.arm for decision in verdict.decisions} == {0, 2, 3}
    assert verdict.rejected.tolist() == [True, True, False, False]
    assert {d.by for d in verdict.decisions if d.status == "rejected"} <= {2, 3}


def test_verdicts_are_kept_for_ever():
    close = np.array([[1.0, 0.0], [1.05, -0.05], [0.0, 1.0], [-2.0, -2.0]])
    states = drive(GEGE(0.1), study(K=4), close, 1.0)
    rejected = [GEGE(0.1).verdict(state).rejected[3] for state in states]
    assert not rejected[0]
    assert rejected == sorted(rejected)
    after = states[rejected.index(True) :]
    assert all(GEGE(0.1).allocate(state)[3] == 0 for state in after)


def test_arrays_of_a_state_cannot_be_written_to():
    state = drive(GEGE(0.1), study(K=4), TRADE, 1.0)[-1]
    for name in ("want", "forgone", "status", "told", "exact", "unit", "sigma_hat"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(state, name)[...] = 1


def test_deliveries_are_checked():
    policy = GEGE(0.1)
    state = policy.init(study(K=4))
    with pytest.raises(UsageError, match="asked for"):
        policy.observe(state, quiet(TRADE, policy.allocate(state) + 1))
    broken = quiet(TRADE, policy.allocate(state))
    with pytest.raises(DataError, match="not finite"):
        policy.observe(state, Tally(broken.counts, broken.means * np.nan, broken.m2))


def test_after_a_stop_nothing_is_taken():
    policy = OneShot(40)
    state = drive(policy, study(K=4), TRADE, 1.0)[-1]
    with pytest.raises(UsageError, match="0 asked for"):
        policy.observe(state, quiet(TRADE, np.array([1, 0, 0, 0])))
