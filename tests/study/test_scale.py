"""Studies of many candidates: what is stored, shown and promised is what a small one would say."""

from __future__ import annotations

import json
import resource
from dataclasses import replace

import numpy as np
import pytest

import paretoscope as ps
from paretoscope.core.dominance import non_dominated
from paretoscope.ledger import MemoryLedger, SqliteLedger
from paretoscope.policies import race, reading
from paretoscope.policies.codec import from_plain, to_plain
from paretoscope.report.journey import progress_lines
from paretoscope.report.view import View
from paretoscope.sim import Instance, simulate
from paretoscope.study import features, result
from paretoscope.study.definition import define
from tests.study.lab import copy, finish, fresh, shape

METRICS = [ps.Metric("y1", sigma=0.2, unit="s"), ps.Metric("y2", "min", sigma=0.2)]


def truth(study):
    """Means that are linear in the features, as the metrics tell them."""
    X = study.problem.features.X
    mu = X @ np.random.default_rng(5).standard_normal((X.shape[1], 2)) / 2
    return mu * [1.0, -1.0]


def large(K=6000, **more):
    """A study of many candidates on a ledger in memory."""
    X = np.random.default_rng(0).uniform(-1, 1, (K, 3))
    given = {"candidates": X, "features": X, "intercept": False, "epsilon": 0.3}
    return fresh(metrics=METRICS, **given | more)


@pytest.fixture(scope="module")
def done():
    study = large()
    finish(study, means=truth(study))
    return study


def test_a_large_study_goes_on_from_what_is_stored(done):
    first = done.ledger.read()[0][1]["definition"]["problem"]
    assert len(json.dumps(first)) < 6000 * 3 * 12
    assert shape(copy(done)) == shape(done)
    half = copy(done, 3)
    half.refresh()
    assert half._course.turn.number == 1
    finish(half, means=truth(half))
    assert shape(half) == shape(done)
    assert copy(done).result().pareto_set == done.result().pareto_set
    assert done.result().certified


def test_packed_or_not_the_same_is_asked(done, monkeypatch):
    events = [event for _, event in done.ledger.read()]
    monkeypatch.setattr(features, "LONG", 10**9)
    ids = {"candidates": {f"x{j}": c for j, c in enumerate(done.problem.features.X.T.tolist())}}
    small = large(**ids)
    assert isinstance(small.ledger.read()[0][1]["definition"]["problem"]["features"]["X"], list)
    finish(small, means=truth(small))
    assert [e for _, e in small.ledger.read()][1]["uids"] == events[1]["uids"]
    assert small.result().pareto_set == done.result().pareto_set
    assert small.result().status == done.result().status


def test_another_definition_of_many_is_refused_by_its_cell(done):
    X = done.problem.features.X.copy()
    ledger = MemoryLedger()
    ledger.append([done.ledger.read()[0][1]], expect=0)
    more = {"metrics": METRICS, "features": X, "intercept": False, "epsilon": 0.3, "seed": 3}
    assert ps.Study.on(ledger, define(candidates=X, **more)).problem.K == 6000
    Y = X.copy()
    Y[4321, 1] = 0.5
    with pytest.raises(ps.UsageError, match=r"candidate 4321 x1 is .* there and 0.5 here$"):
        ps.Study.on(ledger, define(candidates=Y, **more))
    with pytest.raises(ps.UsageError, match=r"candidate 0 x0 .* and many more$"):
        ps.Study.on(ledger, define(candidates=-X, **more))


def test_the_page_shows_the_front_and_says_what_it_leaves_out(done, tmp_path):
    path = done.report(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert "at regular places of the list" in text
    assert path.stat().st_size < 9e6
    view = View("", done.snapshot())
    everything = done.result().margins
    for place, d in view.decided:
        assert everything[place]["candidate"] == view.result.problem.candidates.ids[d.arm]
    shown = {d.arm for _, d in view.decided}
    assert shown <= set(view.shown.tolist())
    assert len(shown) > 2000
    assert set(np.flatnonzero(done.result().verdict.answer)) <= set(view.shown.tolist())
    _, lines = progress_lines(view)
    counted = {word: done.result().status.count(word) for word in lines}
    assert {word: line[-1] for word, line in lines.items()} == counted


def test_rows_of_the_table_do_not_depend_on_which_are_asked_for(done):
    found = done.result()
    some = [5999, 0, 3]
    assert found.table(some) == [found.table()[k] for k in some]
    low, high = found.intervals_of(some)
    assert np.array_equal(low, found.intervals[0][some], equal_nan=True)
    assert np.array_equal(high, found.intervals[1][some], equal_nan=True)


def test_chances_are_drawn_for_those_nearest_the_front(done, monkeypatch):
    whole = done.status().chances()
    monkeypatch.setattr(result, "MOST_DRAWN", 500)
    some = done.status().chances()
    assert np.isnan(whole).sum() == 0
    assert np.isnan(some).sum() == 5500
    assert whole[np.isnan(some)].max() < 0.02, "nobody who may be in the front is left out"
    kept = ~np.isnan(some)
    assert np.abs(some - whole)[kept].max() < 0.05


def test_the_nearest_are_those_that_fall_least_short():
    mu = np.random.default_rng(1).standard_normal((3000, 2))
    kept = result.contenders(mu, 300)
    assert len(kept) == len({*kept.tolist()}) == 300
    assert set(np.flatnonzero(non_dominated(mu))) <= set(kept.tolist())
    assert result.contenders(mu, 3000).tolist() == list(range(3000))


def test_a_state_of_many_is_short_and_comes_back(done):
    state = done._course.state
    text = json.dumps(to_plain(state.status))
    assert len(text) < 3000
    again = from_plain(json.loads(json.dumps(to_plain(state))), state.setting)
    for mine, other in zip(state.decisions, again.decisions, strict=True):
        assert mine.gap.tobytes() == other.gap.tobytes()
        assert np.array_equal(mine.arm, other.arm)
    assert np.array_equal(again.status, state.status)


# ---------------------------------------------------------------- races


def labels(run):
    achieved = run.certificate.achieved_epsilon.tobytes()
    return run.answer.tobytes(), run.accepted.tobytes(), run.near.tobytes(), run.pulls, achieved


def test_equal_numbers_of_pulls_are_judged_by_the_front_as_by_pairs(monkeypatch):
    worlds = [np.random.default_rng(s).standard_normal((30, 3)).round(1) for s in range(12)]
    policies = [ps.Race(0.1, epsilon=e) for e in (0.1, 0.3)]

    def runs():
        found = [simulate(p, Instance(None, mu, 0.5), 1) for p in policies for mu in worlds]
        return [labels(run) for run in found]

    fast = runs()
    monkeypatch.setattr(reading, "read_alike", reading.read_pairs)
    assert runs() == fast


def test_too_many_to_be_paired_leave_together_or_not_at_all(monkeypatch):
    mu = np.random.default_rng(3).standard_normal((40, 2))
    instance, policy = Instance(None, mu, 0.5), ps.Race(0.1, epsilon=0.3)
    one_by_one = simulate(policy, instance, 2)
    monkeypatch.setattr(race, "_PAIRED", 0)
    together = simulate(policy, instance, 2)
    assert together.correct
    assert together.certificate.certified
    assert together.pulls >= one_by_one.pulls


def test_a_hundred_thousand_without_structure():
    mu = np.random.default_rng(0).standard_normal((10**5, 3))
    run = simulate(ps.Race(0.05, epsilon=0.5), Instance(None, mu, 0.05))
    assert run.correct
    assert run.certificate.certified
    assert run.pulls < 3 * 10**5


# ---------------------------------------------------------------- a million


def test_a_hundred_thousand_combinations_in_a_file(tmp_path):
    """Ten levels of five factors: the file holds requests and values, and fifty levels."""
    factors = {f"k{j}": list(range(10)) for j in range(5)}
    given = {"candidates": ps.product(**factors), "features": [*factors], "epsilon": 0.5}
    where = tmp_path / "w.study"
    with SqliteLedger(where, create=True) as ledger:
        study = fresh(ledger, metrics=METRICS, **given)
        finish(study, means=truth(study))
        found = study.result()
    assert found.certified
    assert where.stat().st_size < 2e6
    mu = truth(study) * [1.0, -1.0]
    assert not (found.verdict.rejected & non_dominated(mu)).any()


@pytest.mark.long
def test_a_million_candidates_in_a_file(tmp_path):
    """16 features, 3 metrics: 505,674 measurements, within 300 MB of file and 4 GB of memory."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10**6, 16))
    mu = X @ rng.standard_normal((16, 3)) / 4
    metrics = [ps.Metric(f"y{c + 1}", sigma=1.0) for c in range(3)]
    more = {"features": X, "intercept": False, "method": ps.GEGE(0.05, epsilon=0.1)}
    with ps.Study.create(tmp_path / "w.study", candidates=X, metrics=metrics, **more) as study:
        while batch := study.ask():
            arms = np.array([int(request.candidate) for request in batch])
            Y = (mu[arms] + rng.standard_normal((len(arms), 3))).tolist()
            rows = zip(batch, Y, strict=True)
            study.tell([{"uid": r.uid, "y1": y[0], "y2": y[1], "y3": y[2]} for r, y in rows])
        found = replace(study.result())
    assert found.certified
    front = non_dominated(mu)
    assert not (found.verdict.rejected & front).any()
    assert not (found.verdict.accepted & ~front).any()
    assert (tmp_path / "w.study").stat().st_size < 300e6
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6
