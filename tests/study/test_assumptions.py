"""Assumptions are tested: healthy studies pass within the level, and broken ones get no certificate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from paretoscope.errors import DataError, UsageError
from paretoscope.policies import GEGE, FixedDesign, Race, Uniform
from paretoscope.study import assumptions, evidence
from paretoscope.study.assumptions import LEVEL, LINEAR
from paretoscope.study.book import Uid
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study
from tests.statistics import above, at_least, at_most
from tests.study.lab import fresh

DELTA = 0.1
SIGMA = 0.1
# Runs in every test session, and behind `make test-long`.
RUNS = [pytest.param(30, id="30 runs"), pytest.param(500, id="500 runs", marks=pytest.mark.long)]


def plane(K=40, bend=0.0, seed=0):
    """Two columns, and two means that are linear in them but for a bend."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (K, 2))
    mu = x @ np.array([[1.0, -0.6], [0.3, 0.8]])
    mu[:, 0] -= bend * x[:, 0] ** 2
    return {"a": x[:, 0].tolist(), "b": x[:, 1].tolist()}, mu


def ties(pairs=12, near=1e-6):
    """Pairs of candidates on a front, one of each pair worse by next to nothing."""
    t = np.linspace(0.0, 1.0, pairs)
    front = np.column_stack([t, 1.0 - t])
    return np.concatenate([front, front - near])


def measure(study, mu, rng, sigma=SIGMA, drift=0.0, most=4):
    """Whole rounds in the order asked, until the study stops; drift in units of sigma per round."""
    for _ in range(most):
        batch = list(study.ask())
        if not batch:
            return
        time = np.linspace(0.0, 1.0, len(batch))
        arms = [Uid.parse(r.uid).candidate for r in batch]
        luck = rng.standard_normal((len(batch), mu.shape[1]))
        Y = mu[arms] + np.broadcast_to(sigma, (len(mu), 1))[arms] * luck
        Y += drift * np.min(sigma) * time[:, None]
        names = [metric.name for metric in study.problem.metrics]
        study.tell(
            [
                {"uid": r.uid, **dict(zip(names, y, strict=True))}
                for r, y in zip(batch, Y.tolist(), strict=True)
            ]
        )


def pair(sigma=None, **options):
    return [Metric(name, sigma=sigma, **options) for name in ("y1", "y2")]


def wrong(verdict, mu, epsilon=0.0):
    """Whether a label is false."""
    gap = (mu[None, :, :] - mu[:, None, :]).min(axis=2)  # gap[i, j]: how far j is above i
    strictly = (mu[None] >= mu[:, None]).all(axis=2) & (mu[None] > mu[:, None]).any(axis=2)
    front, near = ~strictly.any(axis=1), gap.max(axis=1) <= epsilon
    return bool(
        (verdict.accepted & ~front).any()
        or (verdict.near & ~near).any()
        or (verdict.rejected & front).any()
    )


def verdicts(study):
    return {a.name: a.verdict for a in study.result().assumptions}


# ---------------------------------------------------------------- level


def broken_in(runs, make):
    """How often each assumption of a healthy study is called broken or noticed."""
    count = {}
    for seed in range(runs):
        study = make(seed)
        for a in study.result().assumptions:
            count[a.name] = count.get(a.name, 0) + (a.verdict in {"broken", "noticed"})
    return count


def healthy_line(seed):
    columns, mu = plane(seed=seed)
    study = fresh(candidates=columns, features=["a", "b"], metrics=pair(), epsilon=0.1, seed=seed)
    measure(study, mu, np.random.default_rng([1, seed]))
    return study


def healthy_known(seed):
    mu = ties(4, 0.3)
    study = fresh(
        candidates={"a": list(range(8))}, metrics=pair(SIGMA), method=Uniform(80), seed=seed
    )
    measure(study, mu, np.random.default_rng([2, seed]))
    return study


def healthy_rounds(seed):
    """Two rounds, of which the second looks at what the first did not settle."""
    mu = ties(4, 0.05)
    settings = {"candidates": {"a": list(range(8))}, "metrics": pair(), "seed": seed}
    study = fresh(**settings, method=GEGE(DELTA, epsilon=0.05, max_rounds=2))
    measure(study, mu, np.random.default_rng([10, seed]))
    return study


def healthy_race(seed):
    """The same by a race, whose later looks are compared with all before them."""
    mu = ties(4, 0.05)
    settings = {"candidates": {"a": list(range(8))}, "metrics": pair(), "seed": seed}
    study = fresh(**settings, method=Race(DELTA, epsilon=0.01, first=5, max_rounds=4))
    measure(study, mu, np.random.default_rng([11, seed]))
    return study


@pytest.mark.parametrize("runs", [60, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("make", [healthy_line, healthy_known, healthy_rounds, healthy_race])
def test_a_healthy_study_is_refused_within_the_level(make, runs):
    count = broken_in(runs, make)
    print(make.__name__, count)
    assert len(count) >= 6
    assert "rounds agree" in count or make in {healthy_line, healthy_known}
    for name, found in count.items():
        at_most(found, runs, LEVEL)
        assert found <= runs // 20, name


# ---------------------------------------------------------------- power


@pytest.mark.long
@pytest.mark.parametrize(("ratio", "power"), [(0.25, 0.15), (0.5, 0.75), (1.0, 0.99)])
def test_power_of_the_test_of_the_fit(ratio, power):
    """400 pulls, 68 at check points; the misfit's root mean square over candidates is ratio times sigma."""
    found, runs = 0, 200
    for seed in range(runs):
        columns, mu = plane(seed=seed)
        x = np.array([columns["a"], columns["b"]]).T
        bend = x[:, 0] ** 2 + x[:, 1] ** 2
        Z = np.column_stack([np.ones(len(x)), x])
        bend = bend - Z @ np.linalg.lstsq(Z, bend, rcond=None)[0]
        mu[:, 0] += ratio * SIGMA * bend / np.sqrt((bend**2).mean())
        study = fresh(
            candidates=columns,
            features=["a", "b"],
            metrics=pair(),
            method=FixedDesign(delta=DELTA, budget=332, looks=1),
            seed=seed,
        )
        measure(study, mu, np.random.default_rng([3, seed]))
        assert len(study._book.values) == 400
        found += verdicts(study)[LINEAR] == "broken"
    print(f"misfit {ratio} sigma: found in {found} of {runs}")
    at_least(found, runs, power)


@pytest.mark.parametrize("runs", [15, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("name", "loud", "drift"), [("equal noise", 2.0, 0.0), ("no drift", 1.0, 1.0)]
)
def test_power_of_the_tests_of_noise_and_order(name, loud, drift, runs):
    """400 measurements of ten candidates, at the level of a study: half of them loud, or a drift."""
    found, mu = 0, ties(5, 0.3)
    for seed in range(runs):
        rng = np.random.default_rng([12, seed])
        method = FixedDesign(delta=DELTA, budget=400, looks=1)
        study = fresh(candidates={"a": list(range(10))}, metrics=pair(), method=method, seed=seed)
        scale = SIGMA * np.where(np.arange(10) < 5, loud, 1.0)[:, None]
        measure(study, mu, rng, sigma=scale, drift=drift)
        found += verdicts(study)[name] == "broken"
    print(f"{name}: found in {found} of {runs}")
    at_least(found, runs, 0.9)


# ---------------------------------------------------------------- negative controls, end to end


def count_wrong(runs, run):
    """Wrong answers that are certified or told without a warning, and those if nothing is checked."""
    trusted = naive = 0
    for seed in range(runs):
        result, bad, careless = run(seed)
        warned = any(a.verdict == "broken" for a in result.assumptions)
        assert not (result.certified and warned)
        trusted += bad and not warned
        naive += careless
    return trusted, naive


def crooked(seed):
    columns, mu = plane(bend=1.0, seed=seed)
    study = fresh(
        candidates=columns, features=["a", "b"], metrics=pair(), delta=DELTA, epsilon=0.1, seed=seed
    )
    measure(study, mu, np.random.default_rng([4, seed]))
    result = study.result()
    bad = wrong(result.verdict, mu, 0.1)
    return result, bad, bad


def crooked_grid(seed):
    """Four levels of three columns: an optimal design stands on the corners, where any bend is straight."""
    x = np.array([*product(np.linspace(-1.0, 1.0, 4), repeat=3)])
    slope = np.random.default_rng([98, seed]).standard_normal((3, 2))
    mu = x @ (slope / np.linalg.norm(slope, axis=0))
    mu[:, 0] -= 0.5 * np.square(x).sum(axis=1)
    mu[:, 1] -= 0.5 * np.square(x[:, 0])
    columns = {name: x[:, c].tolist() for c, name in enumerate("abc")}
    study = fresh(
        candidates=columns, features=[*columns], metrics=pair(), delta=DELTA, epsilon=0.1, seed=seed
    )
    measure(study, mu, np.random.default_rng([13, seed]))
    result = study.result()
    bad = wrong(result.verdict, mu, 0.1)
    return result, bad, bad


def understated(seed):
    """Twelve near ties in four metrics, and twice the noise that was declared."""
    front = 10.0 * ties()[:12]
    front = np.column_stack([front, front[:, ::-1]])
    mu, names = np.concatenate([front, front - 1e-6]), ("y1", "y2", "y3", "y4")
    study = fresh(
        candidates={"a": list(range(len(mu)))},
        metrics=[Metric(name, sigma=SIGMA) for name in names],
        seed=seed,
        method=FixedDesign(delta=DELTA, budget=12 * len(mu), looks=1),
    )
    measure(study, mu, np.random.default_rng([5, seed]), sigma=2 * SIGMA)
    result = study.result()
    bad = wrong(result.verdict, mu)
    return result, bad, bad


def drifting(seed):
    """Six sigma of drift in every round; the careless one goes from candidate to candidate."""
    mu = ties(6, 0.01)
    rng = np.random.default_rng([6, seed])
    study = fresh(
        candidates={"a": list(range(len(mu)))},
        metrics=pair(),
        method=FixedDesign(delta=DELTA, budget=240, looks=1),
        seed=seed,
    )
    measure(study, mu, rng, drift=6.0)
    result = study.result()
    careless = fresh(
        candidates={"a": list(range(len(mu)))},
        metrics=pair(),
        method=FixedDesign(delta=DELTA, budget=240, looks=1),
        seed=seed,
    )
    batch = sorted(careless.ask(), key=lambda r: int(r.candidate))
    Y = mu[[int(r.candidate) for r in batch]] + SIGMA * rng.standard_normal((240, 2))
    Y[:, 0] += 6.0 * SIGMA * np.linspace(0.0, 1.0, 240)
    careless.tell(
        [{"uid": r.uid, "y1": a, "y2": b} for r, (a, b) in zip(batch, Y.tolist(), strict=True)]
    )
    labels = careless.policy.verdict(careless._course.state)
    return result, wrong(result.verdict, mu), wrong(labels, mu)


def hand_picked(seed):
    """History of the best of five runs for every other candidate; the careless one averages it in."""
    mu = ties(6, 0.02)
    rng = np.random.default_rng([7, seed])
    study = fresh(
        candidates={"a": list(range(len(mu)))}, metrics=pair(), delta=DELTA, epsilon=0.3, seed=seed
    )
    old = [
        {"candidate": str(k), "y1": mu[k, 0] + 3 * SIGMA, "y2": mu[k, 1] + 3 * SIGMA}
        for k in range(6, 12)
        for _ in range(30)
    ]
    study.add_history(old)
    measure(study, mu, rng)
    result = study.result()
    found = result.found.mu  # history is in the estimates, and in no verdict
    believed = ~((found[None] > found[:, None]).all(axis=2)).any(axis=1)
    truth = ~((mu[None] > mu[:, None]).all(axis=2)).any(axis=1)
    return result, wrong(result.verdict, mu, 0.3), bool((believed & ~truth).any())


def exchanged(seed):
    """Two columns, one to maximise and one to minimise, that change places after the first round."""
    rng = np.random.default_rng([8, seed])
    mu = np.array([0.0, 1.0]) + rng.uniform(0.0, 2.0, (12, 2))
    study = fresh(
        candidates={"a": list(range(12))},
        metrics=[Metric("y1"), Metric("y2", "min")],
        method=GEGE(DELTA, epsilon=0.05, max_rounds=4),
        seed=seed,
    )
    turn = 0
    while batch := study.ask():
        Y = mu[[int(r.candidate) for r in batch]] + SIGMA * rng.standard_normal((len(batch), 2))
        Y = Y[:, ::-1] if turn else Y
        rows = zip(batch, Y.tolist(), strict=True)
        study.tell([{"uid": r.uid, "y1": a, "y2": b} for r, (a, b) in rows])
        turn += 1
    result = study.result()
    bad = wrong(result.verdict, mu * [1.0, -1.0], 0.05)
    return result, bad, bad


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    "run", [crooked, crooked_grid, understated, drifting, hand_picked, exchanged]
)
def test_a_broken_assumption_certifies_no_more_wrong_answers_than_delta(run, runs):
    trusted, naive = count_wrong(runs, run)
    print(f"{run.__name__}: {trusted} trusted and wrong, {naive} wrong unchecked, of {runs}")
    at_most(trusted, runs, DELTA)
    above(naive, runs, 0.5)


# ---------------------------------------------------------------- each by itself


def test_unequal_noise_of_unknown_scale_is_refused_with_the_remedy():
    mu, rng = ties(4, 0.3), np.random.default_rng(0)
    study = fresh(
        candidates={"a": list(range(8))},
        metrics=pair(),
        method=FixedDesign(delta=DELTA, budget=160, looks=1),
    )
    batch = study.ask()
    rows = []
    for r in batch:
        k = int(r.candidate)
        y = mu[k] + SIGMA * (3.0 if k == 2 else 1.0) * rng.standard_normal(2)
        rows.append({"uid": r.uid, "y1": y[0], "y2": y[1]})
    study.tell(rows)
    result = study.result()
    assert not result.certified
    assert "noise differs between candidates" in result.certificate.reason
    assert "a noise for each candidate" in result.certificate.reason


def test_an_order_by_candidate_cannot_show_a_drift_and_the_certificate_says_so():
    mu, rng = ties(3, 0.5), np.random.default_rng(0)
    study = fresh(
        candidates={"a": list(range(6))}, metrics=pair(SIGMA), method=GEGE(DELTA, epsilon=0.1)
    )
    while batch := sorted(study.ask(), key=lambda r: int(r.candidate)):
        Y = mu[[int(r.candidate) for r in batch]] + SIGMA * rng.standard_normal((len(batch), 2))
        study.tell(
            [{"uid": r.uid, "y1": a, "y2": b} for r, (a, b) in zip(batch, Y.tolist(), strict=True)]
        )
    result = study.result()
    assert result.certified
    assert any("assumed without test: no drift" in said for said in result.certificate.assumptions)


def test_a_copied_row_and_an_exchange_are_named_by_their_requests():
    mu = 10.0 * np.arange(6)[:, None] * [1.0, -1.0]
    study = fresh(candidates={"a": list(range(6))}, metrics=pair(), method=Uniform(60))
    batch = study.ask()
    rng = np.random.default_rng(1)
    rows = {r.uid: mu[int(r.candidate)] + rng.standard_normal(2) for r in batch}
    one, two = (next(r.uid for r in batch if r.candidate == c) for c in "14")
    rows[one], rows[two] = rows[two], rows[one]
    same = [r.uid for r in batch if r.candidate == "3"][:2]
    rows[same[1]] = rows[same[0]]
    study.tell([{"uid": uid, "y1": y[0], "y2": y[1]} for uid, y in rows.items()])
    found = {a.name: a for a in reversed(study.result().assumptions)}
    assert set(found["copies"].rows) == set(same)
    assert set(found["exchange"].rows) == {one, two}
    assert found["exchange"].verdict == "noticed"


def test_a_bend_that_only_its_own_test_sees_is_refused():
    """Twenty studies of a bend of a quarter of the noise on a grid; all directions at once see few."""
    x = np.array([*product(np.linspace(-1.0, 1.0, 4), repeat=3)])
    columns = {name: x[:, c].tolist() for c, name in enumerate("abc")}
    mu = np.column_stack([x[:, 0] - 0.025 * np.square(x).sum(axis=1), x[:, 1] - x[:, 2]])
    looks = FixedDesign(delta=DELTA, budget=600, looks=1)
    settings = {"candidates": columns, "features": [*columns], "metrics": pair(), "method": looks}
    bent = in_all_directions = 0
    for seed in range(20):
        study = fresh(**settings, seed=seed)
        measure(study, mu, np.random.default_rng([14, seed]))
        (span,) = study._course.spans(study._book)
        found = evidence.fit_test(study.problem, span.tally, LEVEL)
        left = evidence._fitted(study.problem, span.tally).left
        p = stats.f.sf(found.F, left.df_lack, left.df_pure)
        bent += bool(found.rejected.any())
        in_all_directions += bool((p <= LEVEL / 4).any())
    assert bent >= 2 * in_all_directions
    at_least(bent, 20, 0.75)


def odd_study(odd):
    """Three rounds of a race, the last of which is told as ``odd`` of its rows and the earlier ones says."""
    mu = ties(4, 0.05)
    race = Race(DELTA, epsilon=0.001, first=5, ratio=2.0, max_rounds=4)
    study = fresh(candidates={"a": list(range(8))}, metrics=pair(), method=race)
    rng, told = np.random.default_rng(4), []
    for turn in range(3):
        batch = study.ask()
        Y = mu[[int(r.candidate) for r in batch]] + SIGMA * rng.standard_normal((len(batch), 2))
        pairs = zip(batch, Y.tolist(), strict=True)
        rows = [{"uid": r.uid, "y1": a, "y2": b} for r, (a, b) in pairs]
        study.tell(odd(rows, told) if turn == 2 else rows)
        told += rows
    return {a.name: a for a in study.result().assumptions}


def test_rows_copied_from_another_sheet_are_named():
    def odd(rows, told):
        for row, old in zip(rows[:5], told[:5], strict=True):
            row |= {"y1": old["y1"], "y2": old["y2"]}
        return rows

    found = odd_study(odd)["copies"]
    assert found.verdict == "noticed"
    assert len(found.rows) == 10
    assert found.said.startswith("5 measurements were told more than once: r0c")
    assert "copies" not in odd_study(lambda rows, _: rows)


def test_an_instrument_that_hangs_is_named_by_its_requests():
    def odd(rows, _):
        for row in rows[4:9]:
            row["y2"] = rows[4]["y2"]
        return rows

    found = odd_study(odd)["stuck"]
    assert found.verdict == "noticed"
    assert len(found.rows) == 5
    assert found.said.startswith(f"y2 is the same 5 times in a row, from {found.rows[0]} to ")


def test_a_misfit_is_told_where_it_is_worst():
    """The peak of a hill, in a metric to maximise and in one to minimise."""
    x = np.linspace(-1.0, 1.0, 21)
    study = fresh(
        candidates={"x": x.tolist()},
        features=["x"],
        metrics=[Metric("up"), Metric("down", "min", unit="s")],
        method=FixedDesign(delta=DELTA, budget=200, looks=1),
    )
    rng = np.random.default_rng(0)
    rows = []
    for r in study.ask():
        at = x[int(r.candidate)]
        luck = SIGMA * rng.standard_normal(2)
        rows.append({"uid": r.uid, "up": at + luck[0], "down": at - 2 * at**2 + luck[1]})
    study.tell(rows)
    said = next(a.said for a in study.result().assumptions if a.name == LINEAR)
    assert said.startswith("the linear model does not fit down (p = ")
    first = said.partition("most at ")[2].split(", ")[0]
    name, _, rest = first.partition(" (")
    assert abs(x[int(name)]) < 0.35  # the ends are pulled most, and the fit goes through them
    assert rest.endswith(" s above the fit)")


def test_a_known_misfit_widens_the_verdicts_and_the_test_allows_for_it():
    columns, mu = plane(bend=0.2)
    settings = {"candidates": columns, "features": ["a", "b"], "epsilon": 0.5, "delta": DELTA}
    strict = fresh(**settings, metrics=pair())
    wide = fresh(**settings, metrics=pair(misfit=0.2))
    for study in (strict, wide):
        measure(study, mu, np.random.default_rng(3), sigma=0.02)
    assert verdicts(strict)[LINEAR] == "broken"
    assert verdicts(wide)[LINEAR] == "holds"
    assert any(
        "linear in the features up to 0.2" in s for s in wide.result().certificate.assumptions
    )


def sheet_mistake(rows, what):
    """A filled sheet of a round after a slip of the hand."""
    if what == "rows slipped":
        values = [(row["y1"], row["y2"]) for row in rows]
        for row, (a, b) in zip(rows, values[1:] + values[:1], strict=True):
            row |= {"y1": a, "y2": b}
    for row in rows:
        if what == "columns exchanged":
            row["y1"], row["y2"] = row["y2"], row["y1"]
        if what == "milli":
            row["y1"] *= 1000.0
        if what == "offset":
            row["y1"] += 50.0
    return rows


ROUNDS = {
    "rounds, unstructured": {"method": GEGE(DELTA, epsilon=0.02)},
    "rounds, linear": {"method": GEGE(DELTA, epsilon=0.02), "features": ["a", "b"]},
    "race": {"method": Race(DELTA, 0.002, first=8, ratio=2.0), "metrics": pair(0.3)},
    "looks": {"method": FixedDesign(delta=DELTA, budget=144, looks=4)},
}


@pytest.mark.parametrize("way", ROUNDS)
@pytest.mark.parametrize(
    ("what", "broken"),
    [("rows slipped", False), ("columns exchanged", True), ("milli", True), ("offset", None)],
)
def test_a_sheet_beside_the_one_before(what, broken, way):
    """The third round comes from a sheet in disorder; an offset of all of it moves no difference."""
    columns, mu = plane(K=12)
    study = fresh(**{"candidates": columns, "metrics": pair(), "seed": 1} | ROUNDS[way])
    rng = np.random.default_rng(9)
    for turn in range(3):
        batch = study.ask()
        Y = mu[[int(r.candidate) for r in batch]] + 0.3 * rng.standard_normal((len(batch), 2))
        values = zip(batch, Y.tolist(), strict=True)
        rows = [{"uid": r.uid, "y1": a, "y2": b} for r, (a, b) in values]
        study.tell(sheet_mistake(rows, what) if turn == 2 else rows)
        alarms = {a.name: a for a in study.result().assumptions if a.verdict != "holds"}
        if turn < 2 or broken is None:
            assert not {"rounds agree", "steady noise"} & set(alarms)
    if broken is not None:
        assert {"rounds agree", "steady noise", "noise scale"} & set(alarms)
        assert not study.result().certified
    if broken and way.startswith("rounds"):
        assert " in round 3 " in alarms["rounds agree"].said


# ---------------------------------------------------------------- reframing


def bent(**more):
    columns, mu = plane(bend=1.0)
    study = fresh(
        candidates=columns, features=["a", "b"], metrics=pair(), delta=DELTA, epsilon=0.1, **more
    )
    measure(study, mu, np.random.default_rng(0))
    return study, mu


def test_a_reframed_study_certifies_from_new_measurements_alone():
    study, mu = bent()
    assert not study.result().certified
    ways = {way.name: way for way in study.proposals()}
    assert "a^2" in ways["richer features"].features.names
    old = len(study._book.values)
    study.reframe("it bends", features=["a", "b", "a^2"])
    assert (study.result().certificate.pulls, len(study._book.history)) == (0, old)
    measure(study, mu, np.random.default_rng(1))
    result = study.result()
    assert result.certified
    assert not wrong(result.verdict, mu, 0.1)
    assert result.certificate.pulls == len(study._book.values)
    again = Study(study.ledger)
    assert (again.result().pareto_set, again.problem.features.names) == (
        result.pareto_set,
        ("1", "a", "b", "a^2"),
    )


def test_requests_from_before_a_reframe_are_kept_and_used_for_nothing():
    columns, _ = plane()
    study = fresh(candidates=columns, features=["a"], metrics=pair(), epsilon=0.1)
    first, second, third = study.ask(3)
    study.tell([{"uid": first.uid, "y1": 1.0, "y2": 2.0}])
    study.reframe("b matters", features=["a", "b"])
    told = study.tell(
        [{"uid": second.uid, "y1": 1.0, "y2": 2.0}, {"uid": first.uid, "y1": 1.0, "y2": 2.0}]
    )
    assert (told.accepted, told.surplus, told.repeated) == (0, 1, 1)
    assert study.tell([{"uid": second.uid, "y1": 1.0, "y2": 2.0}]).repeated == 1
    with pytest.raises(DataError, match="history now"):
        study.tell([{"uid": first.uid, "y1": 9.0, "y2": 2.0}])
    with pytest.raises(DataError, match="or never asked for"):
        study.withdraw([third.uid], "gone")
    assert not {r.uid for r in study.ask()} & {first.uid, second.uid, third.uid}


def test_a_reframe_that_makes_no_sense_is_refused():
    study, _ = bent()
    with pytest.raises(UsageError, match="at least one"):
        study.reframe("nothing")
    with pytest.raises(UsageError, match="not 'seed'"):
        study.reframe("luck", seed=3)
    with pytest.raises(UsageError, match="same metrics"):
        study.reframe("other", metrics=[Metric("y1")])
    with pytest.raises(DataError, match="log scale needs positive"):
        study.reframe("ratios", metrics=pair(scale="log"))
    with pytest.raises(UsageError, match="'c\\^2' is no column"):
        study.reframe("typo", features=["a", "c^2"])
    assert study._book.frames == 0


# ---------------------------------------------------------------- the way on


def until_done(study, mu, rng, sigma):
    """Measure to the stop; how many measurements were made in all."""
    measure(study, mu, rng, sigma=sigma, most=60)
    assert not study.ask(1)
    return len(study._book.values) + len(study._book.history)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in range(1, 20))]
)
def test_the_proposed_terms_certify_a_quadratic_truth_for_less_than_no_model(seed):
    """K = 200, three columns and an intercept; the linear part is refused, and two terms are missing."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (200, 3))
    mu = x @ np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -1.0]])
    mu[:, 0] -= x[:, 0] ** 2
    mu[:, 1] += 0.8 * x[:, 0] * x[:, 1]
    columns = {name: x[:, c].tolist() for c, name in enumerate("abc")}
    settings = {"candidates": columns, "metrics": pair(), "delta": DELTA, "epsilon": 0.1}
    study = fresh(**settings, features=["a", "b", "c"])
    assert study.problem.setting.model.rank == 4
    until_done(study, mu, rng, SIGMA)
    assert verdicts(study)[LINEAR] == "broken"
    (way,) = [w for w in study.proposals() if w.name == "richer features"]
    study.reframe("it bends", features=way.features)
    spent = until_done(study, mu, rng, SIGMA)
    result = study.result()
    assert result.certified
    assert not wrong(result.verdict, mu, 0.1)
    unstructured = until_done(fresh(**settings), mu, rng, SIGMA)
    print(f"{spent} measurements with {way.said}, {unstructured} without a model")
    assert spent < unstructured


def growth(seed=0, noise=0.05):
    """A time that is multiplied by each unit of two columns, as its noise is, and a linear cost."""
    columns, mu = plane(K=30, seed=seed)
    return columns, np.column_stack([np.exp(3.0 + mu[:, 0]), 5.0 + mu[:, 1]]), noise


def multiply(study, mu, noise, rng):
    """Whole rounds to the stop, the noise of the first metric in proportion to its mean."""
    while batch := study.ask():
        arms = [int(r.candidate) for r in batch]
        times = mu[arms, 0] * np.exp(noise * rng.standard_normal(len(arms)))
        costs = mu[arms, 1] + noise * rng.standard_normal(len(arms))
        rows = zip(batch, times.tolist(), costs.tolist(), strict=True)
        study.tell([{"uid": r.uid, "time": t, "cost": c} for r, t, c in rows])


TIMES = [Metric("time", "min", unit="s", epsilon=2.0), Metric("cost", "min", epsilon=0.2)]


def test_logarithms_are_proposed_where_they_mend_and_certify_the_truth():
    columns, mu, noise = growth()
    study = fresh(
        candidates=columns, features=["a", "b"], metrics=TIMES, method=GEGE(DELTA, max_rounds=2)
    )
    rng = np.random.default_rng(0)
    multiply(study, mu, noise, rng)
    assert verdicts(study)[LINEAR] == "broken"
    (way,) = [w for w in study.proposals() if w.name == "logarithms"]
    time, cost = way.changes["metrics"]
    middle = np.median([values[0] for values in study._book.values.values()])
    assert (time.scale, time.unit, cost) == ("log", "s", TIMES[1])
    assert time.tolerance == pytest.approx(np.log1p(2.0 / middle), rel=0.05)
    study.reframe("times multiply", **way.changes)
    multiply(study, mu, noise, rng)
    result = study.result()
    assert verdicts(study)[LINEAR] == "holds"
    truth = -np.column_stack([np.log(mu[:, 0]) / time.tolerance, mu[:, 1] / 0.2])
    assert not wrong(result.verdict, truth, 1.0)


def test_logarithms_are_not_proposed_where_they_would_not_mend():
    study, _ = bent()
    assert "logarithms" not in {way.name for way in study.proposals()}  # y1 is negative, too
    columns, mu, noise = growth()
    mu[:, 0] = 50.0 + 10.0 * mu[:, 1] ** 2  # positive, and bent on any scale
    study = fresh(
        candidates=columns, features=["a"], metrics=TIMES, method=GEGE(DELTA, max_rounds=1)
    )
    multiply(study, mu, noise, np.random.default_rng(1))
    assert verdicts(study)[LINEAR] == "broken"
    assert "logarithms" not in {way.name for way in study.proposals()}


def test_ways_out_of_a_noise_that_differs():
    """Largest noise, logarithms, or a noise of its own: each is what it says, and goes on."""
    _, mu, noise = growth(noise=0.2)
    looks = FixedDesign(delta=DELTA, budget=360, looks=1)
    study = fresh(candidates={"a": list(range(30))}, metrics=TIMES, method=looks)
    multiply(study, mu, noise, np.random.default_rng(2))
    assert verdicts(study)["equal noise"] == "broken"
    ways = {way.name: way for way in study.proposals()}
    assert list(ways) == ["logarithms", "largest noise", "own noise"]
    time, cost = ways["largest noise"].changes["metrics"]
    assert 0.2 * mu[:, 0].max() < time.sigma < 2.0 * 0.2 * mu[:, 0].max()
    assert cost.sigma > 0.2
    assert ways["largest noise"].option.high > ways["logarithms"].option.low
    study.reframe("each its own", **ways["own noise"].changes)
    assert (study.status().method, study._course.pools_noise) == ("Race", False)
    assert not any(a.name == "equal noise" for a in study.result().assumptions)


def test_raw_noc_means_are_refused_as_linear_and_finished_without_a_model(noc_csv):
    raw = np.loadtxt(noc_csv, delimiter=";", skiprows=1)
    mu = (raw[:, 4:6] - raw[:, 4:6].mean(axis=0)) / raw[:, 4:6].std(axis=0) * [-1.0, 1.0]
    columns = {f"x{c}": raw[:, c].tolist() for c in range(4)}
    rng = np.random.default_rng(2)
    study = fresh(
        candidates=columns, features=list(columns), metrics=pair(), delta=DELTA, epsilon=0.5
    )
    until_done(study, mu, rng, 0.1)
    assert not study.result().certified
    assert verdicts(study)[LINEAR] == "broken"
    study.reframe("the fit is poor", features=None)
    until_done(study, mu, rng, 0.1)
    result = study.result()
    assert result.certified
    assert not wrong(result.verdict, mu, 0.5)


def test_the_tests_are_made_once_for_a_round_and_again_after_a_correction(monkeypatch):
    made, examine = [], assumptions.examine
    monkeypatch.setattr(assumptions, "examine", lambda *a, **k: made.append(0) or examine(*a, **k))
    study = fresh(candidates={"a": list(range(6))}, metrics=pair(), method=Uniform(60))
    mu, rng = 10.0 * np.arange(6)[:, None] * [1.0, -1.0], np.random.default_rng(0)
    measure(study, mu, rng, most=1)
    first = study.result().assumptions
    assert study.result().assumptions is first
    study.add_history([{"candidate": "1", "y1": 1.0, "y2": 2.0}])
    assert study.result().assumptions is first
    assert len(made) == 1
    uid = next(iter(study._book.values))
    same = next(u for u in study._book.values if u != uid)
    study.correct(uid, dict(zip(("y1", "y2"), study._book.values[same], strict=True)), "copied")
    assert any(a.name == "copies" for a in study.result().assumptions)
    assert (len(made), study.result().assumptions) == (2, Study(study.ledger).result().assumptions)
