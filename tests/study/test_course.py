"""What a study asks next is a function of what was told, wherever it was cut and in whatever order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.ledger import MemoryLedger, SqliteLedger
from paretoscope.policies.fixed import FixedDesign, OneShot
from paretoscope.policies.gege import GEGE
from paretoscope.policies.uniform import Uniform
from paretoscope.study.book import Uid
from paretoscope.study.definition import define
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study
from tests.study.lab import MEANS, copy, finish, fresh, linear_world, measured, metrics, shape

COLUMNS, LINEAR = linear_world()
WITH_EXACT = [*metrics(names=("y1",)), Metric("y2", exact=True)]
LINE = {"candidates": COLUMNS, "features": ["a", "b"]}
STUDIES = {
    "gege": ({"epsilon": 0.3}, {}),
    "gege, unknown noise": ({"epsilon": 0.4, "metrics": metrics(None)}, {}),
    "gege, exact metric": ({"epsilon": 0.3, "metrics": WITH_EXACT}, {"exact": (1,)}),
    "gege, linear": (LINE | {"epsilon": 0.3}, {"means": LINEAR}),
    "gege, linear, unknown": (LINE | {"epsilon": 0.3, "metrics": metrics(None)}, {"means": LINEAR}),
    "gege, budget, linear": (LINE | {"method": GEGE(budget=60)}, {"means": LINEAR}),
    "gege, budget": ({"method": GEGE(budget=60)}, {}),
    "fixed design": ({"method": FixedDesign(delta=0.1, budget=60, looks=6)}, {}),
    "fixed, linear": (
        LINE | {"method": FixedDesign(delta=0.1, budget=40, looks=5), "metrics": metrics(None)},
        {"means": LINEAR},
    ),
    "one shot": ({"method": OneShot(40)}, {}),
    "uniform, exact": ({"method": Uniform(31), "metrics": WITH_EXACT}, {"exact": (1,)}),
}
every_study = pytest.mark.parametrize("name", STUDIES)


def live_a_little(study, world, rng, most):
    """Asks, tells in parts and in any order, failures, losses, corrections; each ask is noted."""
    asked = []
    for _ in range(most):
        n = int(rng.integers(1, 40))
        seen = study.ledger.read()[-1][0]
        asked.append((seen, n, study.ask(n)))
        out = study.pending()
        if not out:
            break
        some = [out[k] for k in rng.permutation(len(out))[: rng.integers(1, len(out) + 1)]]
        event = rng.random()
        if event < 0.1:
            study.tell_failed(some[0].uid, "crash")
        elif event < 0.2:
            study.tell_failed(some[0].uid, "worker died", lost=True)
        elif event < 0.25:
            study.withdraw([some[0].uid], "spilt")
        else:
            study.tell([measured(request, **world) for request in some])
        if event > 0.9 and study._book.values and not world.get("exact"):
            uid = min(study._book.values)
            study.correct(uid, {"y1": 0.4, "y2": 0.3}, "typo")
    return asked


@every_study
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_cut_anywhere_and_opened_again_it_asks_the_same(name, seed):
    definition, world = STUDIES[name]
    rng = np.random.default_rng(seed)
    study = fresh(**definition)
    asked = live_a_little(study, world, rng, 25)
    events = [event for _, event in study.ledger.read()]
    for cut in rng.integers(1, len(events) + 1, 4).tolist():
        twin = copy(study, cut)
        following = [entry for entry in asked if entry[0] >= cut]
        for event in events[cut : following[0][0] if following else None]:
            twin.ledger.append([event], expect=None)
            twin.refresh()  # moves live from the cut on
        if following:
            assert twin.ask(following[0][1]) == following[0][2]
        else:
            assert shape(twin) == shape(study)
    assert shape(copy(study)) == shape(study)
    assert copy(study).result().table() == study.result().table()
    assert repr(copy(study).result().certificate) == repr(study.result().certificate)


@every_study
def test_order_and_parts_of_tells_change_nothing(name):
    definition, world = STUDIES[name]
    straight, shuffled = fresh(**definition), fresh(**definition)
    rng = np.random.default_rng(5)
    batches = finish(straight, **world)
    for batch in batches:
        asked = shuffled.ask(max(1, len(batch) // 3))
        while more := shuffled.ask(7):
            asked += more
        assert asked == batch
        order = rng.permutation(len(batch))
        for part in np.array_split(order, min(4, len(batch))):
            shuffled.tell([measured(batch[k], **world) for k in part])
    assert shuffled.ask() == []
    assert shape(shuffled) == shape(straight)
    assert shuffled.result().status == straight.result().status
    assert repr(shuffled.result().certificate) == repr(straight.result().certificate)


def test_a_file_closed_after_every_call_asks_what_memory_asks(tmp_path):
    definition, world = STUDIES["gege, linear"]
    memory = fresh(**definition)
    where = tmp_path / "w.study"
    fresh(where=SqliteLedger(where, create=True), **definition).close()
    for _ in range(200):
        with Study.open(where) as file:
            batch = file.ask(9)
        assert batch == memory.ask(9)
        if not batch:
            break
        rows = [measured(request, **world) for request in batch]
        with Study.open(where) as file:
            file.tell(rows[::-1])
        memory.tell(rows)
    with Study.open(where) as file:
        assert file.result().certified
        assert shape(file) == shape(memory)


def test_replicates_are_numbered_over_the_whole_study():
    study = fresh(**STUDIES["gege, linear"][0])
    seen = []
    for batch in finish(study, means=LINEAR):
        seen += [(request.candidate, request.replicate) for request in batch]
    assert any(request.startswith("q") for request in study._book.values)
    assert len(set(seen)) == len(seen)
    for candidate in {candidate for candidate, _ in seen}:
        numbers = sorted(n for name, n in seen if name == candidate)
        assert numbers == list(range(1, len(numbers) + 1))


def test_blocks_hold_one_replicate_of_every_candidate():
    batch = fresh(method=Uniform(60)).ask()
    blocks = [[r.candidate for r in batch[k : k + 6]] for k in range(0, 60, 6)]
    assert all(sorted(block) == list("012345") for block in blocks)
    assert len({tuple(block) for block in blocks}) > 5  # each in an order of its own


def test_check_points_stand_beside_a_design_on_exactly_h_points():
    x = np.linspace(-1, 1, 30)
    line = {"candidates": {"x": x.tolist()}, "features": ["x"], "metrics": metrics(0.05)}
    study = fresh(**line, epsilon=0.2)
    batch = [Uid.parse(request.uid) for request in study.ask()]
    design = {uid.candidate for uid in batch if not uid.check}
    checks = [uid.candidate for uid in batch if uid.check]
    assert len(design) == 2
    assert len(checks) >= 6
    assert not design & set(checks)
    assert all(checks.count(k) == 2 for k in checks)  # replicated: pure error beside misfit


def barred_study():
    """Candidate 0 failed once in the first round and once in the second: infeasible since then."""
    study = fresh(epsilon=0.02, metrics=metrics(0.3))
    for turn in range(2):
        batch = study.ask()
        assert batch[0].round == turn + 1
        mine = next(request for request in batch if request.candidate == "1")
        study.tell_failed(mine.uid, "crash")
        if turn == 0:
            batch = [r for r in batch if r != mine] + study.ask()
        study.tell([measured(r, sigma=0.3) for r in batch if turn == 0 or r.candidate != "1"])
    return study


def test_failures_do_not_reach_back_into_earlier_rounds():
    study = barred_study()
    assert study.result().infeasible == ["1"]
    assert shape(copy(study)) == shape(study)
    assert copy(study).ask(5) == study.ask(5)


def test_a_late_value_of_an_infeasible_candidate_changes_nothing():
    early, late = fresh(method=Uniform(24)), fresh(method=Uniform(24))
    for study in (early, late):
        batch = study.ask()
        mine = [measured(r) for r in batch if r.candidate == "0"]
        others = [measured(r) for r in batch if r.candidate != "0"]
        if study is early:
            study.tell(mine[:1])
        study.tell([{"uid": row["uid"], "failed": "crash"} for row in mine[1:3]])
        study.tell(others)
        if study is late:
            study.tell(mine[:1])
        assert study.result().infeasible == ["0"]
    assert shape(early) == shape(late) == shape(copy(late))
    assert early.result().table() == late.result().table()


def test_a_study_of_one_candidate_asks_nothing():
    study = Study.on(MemoryLedger(), define(candidates={"a": [1]}, metrics=metrics(), epsilon=0.1))
    assert study.ask() == []
    assert study.result().pareto_set == ["0"]
    assert len(MEANS) == 6


def test_later_rounds_are_checked_too():
    """A tenth of every later round, as replicates of at most sixteen other candidates."""
    columns = {"x": np.linspace(-1.0, 1.0, 60).tolist()}
    method = GEGE(delta=0.05, epsilon=0.02)  # of rounds that are certain to be several
    study = fresh(candidates=columns, features=["x"], method=method)
    x = np.linspace(-1.0, 1.0, 60)
    first, second, *_ = finish(study, means=np.column_stack([x, -0.5 * x]))
    for batch, part in ((first, 0.2), (second, 0.1)):
        design = [uid for uid in map(Uid.parse, (r.uid for r in batch)) if not uid.check]
        checks = [uid.candidate for uid in map(Uid.parse, (r.uid for r in batch)) if uid.check]
        assert not {uid.candidate for uid in design} & set(checks)
        assert len(set(checks)) <= 16
        assert min(checks.count(k) for k in checks) >= 2
        assert max(6, 0.8 * part * len(design)) <= len(checks) <= max(8, 1.3 * part * len(design))
