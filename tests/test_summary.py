"""Sheets by candidate: n, mean and deviation in place of single values."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

from paretoscope import FixedDesign, Metric, Study, Uniform
from paretoscope.cli import main
from paretoscope.errors import DataError, UsageError
from paretoscope.summary import groups, read_either, read_summary, summary_header, write_summary


def study(where=None, **more):
    """Four candidates, a noisy metric, an exact one, six measurements each."""
    options = {
        "candidates": {"id": list("ABCD"), "dose": [1, 2, 4, 8]},
        "metrics": [Metric("y", "max", unit="mg"), Metric("cost", "min", exact=True)],
        "method": Uniform(24),
        "seed": 5,
    }
    return Study.create(where, **(options | more))


def raw(requests):
    """One value per request, by candidate; cost is exact."""
    rng = np.random.default_rng(9)
    return {
        r.uid: {"y": float(rng.normal(3, 1)), "cost": float(ord(r.candidate[0]))} for r in requests
    }


def filled(text, values):
    """The sheet as a laboratory fills it, from the single values it does not hand out."""
    rows = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    for row in rows:
        own = [v for uid, v in values.items() if f"c{'ABCD'.index(row['candidate'])}n" in uid]
        y = np.array([v["y"] for v in own])
        row |= {
            "y mean": repr(float(y.mean())),
            "y sd": repr(float(y.std(ddof=1))),
            "cost mean": own[0]["cost"],
        }
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_a_summary_says_what_its_single_values_say():
    one, many = study(), study()
    requests = one.ask()
    assert [r.uid for r in many.ask()] == [r.uid for r in requests]
    values = raw(requests)
    many.tell([{"uid": uid, **v} for uid, v in values.items()])
    text = write_summary(None, one.problem, requests)
    told = one.tell(read_summary(io.StringIO(filled(text, values)), one.problem))
    assert told.accepted == 24
    a, b = one.result(), many.result()
    assert a.status == b.status
    for x, y in zip(a.table(), b.table(), strict=True):
        assert x["n"] == y["n"] == 6
        for name in ("y", "y low", "y high", "cost"):
            assert x[name] == pytest.approx(y[name], rel=1e-12)


def test_groups_are_runs_of_consecutive_numbers():
    requests = study().ask(18)
    found = groups(requests)
    assert sum(n for _, _, n in found) == 18
    assert {name for _, name, _ in found} == set("ABCD")
    assert all(group.startswith("r0c") and "to" in group for group, _, _ in found)


def test_fewer_than_asked_leave_the_rest_due():
    some = study()
    requests = some.ask()
    rows = read_summary(
        io.StringIO(filled(write_summary(None, some.problem, requests), raw(requests))),
        some.problem,
    )
    rows[0]["n"] = 4
    assert some.tell(rows).accepted == 22
    assert some.pending() == []  # the row can say no more of the two: they are asked for anew
    assert len(some.ask()) == 2
    assert some.tell(rows).repeated == 4


def test_a_group_is_told_once_and_corrected_as_a_group(tmp_path):
    where = tmp_path / "s.study"
    some = study(where)
    requests = some.ask()
    rows = read_summary(
        io.StringIO(filled(write_summary(None, some.problem, requests), raw(requests))),
        some.problem,
    )
    some.tell(rows)
    group = rows[0]["uid"]
    with pytest.raises(DataError, match="before with other values"):
        some.tell([rows[0] | {"y": 99.0}])
    member = group.partition("to")[0]
    with pytest.raises(DataError, match="correct the group"):
        some.correct(member, {"y": 1.0, "cost": rows[0]["cost"]}, "typing error")
    some.correct(group, {"y": 7.5, "cost": rows[0]["cost"]}, "typing error", {"y": 0.25})
    some.close()
    again = Study.open(where)
    name = rows[0]["candidate"]
    row = next(r for r in again.result().table() if r["candidate"] == name)
    assert row["y"] == pytest.approx(7.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 9}, "between 1 and 6"),
        ({"deviations": {}}, "standard deviation"),
        ({"deviations": {"y": -1.0}}, "standard deviation"),
        ({"uid": "r0c0n0to99"}, "was never asked for"),
        ({"candidate": "B"}, "asked for candidate"),
    ],
)
def test_a_summary_that_makes_no_sense_stores_nothing(change, message):
    some = study()
    requests = some.ask()
    rows = read_summary(
        io.StringIO(filled(write_summary(None, some.problem, requests), raw(requests))),
        some.problem,
    )
    at = next(k for k, row in enumerate(rows) if row["candidate"] == "A")
    rows[at] = rows[at] | change
    if "uid" in change:
        rows[at]["n"] = 50
    before = some.ledger.read()
    with pytest.raises(DataError, match=message):
        some.tell(rows)
    assert some.ledger.read() == before


def test_cells_are_refused_by_row_and_column():
    some = study()
    text = write_summary(None, some.problem, some.ask())
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"))))
    at = rows[0].index("y sd")
    rows[2][at] = "wide"
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    with pytest.raises(DataError, match=r"row 3.*y sd|y sd.*row 3"):
        read_summary(io.StringIO(out.getvalue()), some.problem)
    with pytest.raises(DataError, match="is missing"):
        read_summary(io.StringIO(out.getvalue().replace("y mean", "ymean")), some.problem)


def test_logarithms_need_single_values():
    some = study(metrics=[Metric("y", "max", scale="log"), Metric("cost", exact=True)])
    with pytest.raises(UsageError, match="logarithms"):
        summary_header(some.problem)


def test_the_noise_inside_groups_reaches_the_certificate():
    """With deviations of zero the noise would be silent; with the true ones the looks decide."""
    rng = np.random.default_rng(2)
    means = {"A": 0.0, "B": 3.0, "C": 6.0, "D": 9.0}
    some = study(metrics=[Metric("y")], method=FixedDesign(delta=0.05, budget=80, looks=2))
    while requests := some.ask():
        rows = []
        for group, name, n in groups(requests):
            y = means[name] + 0.2 * rng.standard_normal(n)
            rows.append(
                {"uid": group, "y": float(y.mean()), "deviations": {"y": float(y.std(ddof=1))}}
            )
        some.tell(rows)
    found = some.result()
    assert found.certified
    assert found.pareto_set == ["D"]
    assert found.found.sigma[0] == pytest.approx(0.2, rel=0.4)


def test_either_kind_of_sheet_is_recognised():
    some = study()
    requests = some.ask()
    text = write_summary(None, some.problem, requests)
    assert "to" in read_either(io.StringIO(text), some.problem)[0]["uid"]


def test_by_the_command_line_and_through_an_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*words, code=0):
        done = runner.invoke(main, list(words))
        assert done.exit_code == code, done.output
        return done.output

    (tmp_path / "c.csv").write_text("id,dose\nA,1\nB,2\nC,4\nD,8\n", encoding="utf-8")
    run(
        "create",
        "s.study",
        "--candidates",
        "c.csv",
        "-m",
        "y:max:mg",
        "--method",
        "uniform",
        "--budget",
        "24",
    )
    run("ask", "s.study", "--by", "candidate", "--csv", "batch.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "batch.csv").read_text("utf-8-sig"))))
    assert [row["n"] for row in rows] == ["6"] * 4
    for k, row in enumerate(rows):
        row |= {"y mean": str(k), "y sd": "0.5"}
    with (tmp_path / "batch.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert "24 measurements" in run("tell", "s.study", "batch.csv")
    run("export", "s.study", "events.jsonl")
    run("import", "events.jsonl", "t.study")
    run("doctor", "t.study")
    shown = [
        json.loads(run("result", where, "--json", code=3))["table"]
        for where in ("s.study", "t.study")
    ]
    assert shown[0] == shown[1]


def test_a_group_that_failed_is_asked_for_again_as_a_whole():
    """The first of it failed; the others are nobody's, since the row can say no more of them."""
    some = study()
    (group, *_), requests = groups(some.ask()), some.pending()
    uid, name, n = group
    assert n > 1
    assert some.tell([{"uid": uid, "failed": "spilt"}]).failed == 1
    mine = [r for r in some.ask() if r.candidate == name]
    assert len(mine) == n
    assert sorted(each for each, _, _ in groups(mine)) == sorted(
        [f"{uid.partition('to')[0]}to0.2", uid.replace("n0to", "n1to")]
    )
    assert some.tell([{"uid": uid, "failed": "spilt"}]).repeated == 1  # the sheet once more
    assert len(some.pending()) == len(requests)
    sums = {"n": 1, "y": 1.0, "cost": 2.0, "deviations": {"y": 0.0}}
    assert some.tell([{"uid": f"{uid.partition('to')[0]}to0.2", **sums}]).accepted == 1


def test_a_row_told_in_part_leaves_its_rest_to_be_corrected_alone():
    some = study()
    uid, _, n = groups(some.ask())[0]
    spread = {"y": 0.1}
    some.tell([{"uid": uid, "n": n - 1, "y": 1.0, "cost": 2.0, "deviations": spread}])
    (rest,) = some.ask()
    some.tell([{"uid": rest.uid, "y": 5.0, "cost": 2.0}])
    some.correct(rest.uid, {"y": 7.0, "cost": 2.0}, "typo")
    assert some._book.values[rest.uid] == (7.0, 2.0)
    with pytest.raises(DataError, match="correct the group"):
        some.correct(uid.partition("to")[0], {"y": 7.0, "cost": 2.0}, "typo")


def test_an_exact_metric_of_a_group_is_corrected_in_all_rows_or_none():
    some = study()
    uid, _, n = groups(some.ask())[0]
    spread = {"y": 0.1}
    some.tell([{"uid": uid, "n": n - 1, "y": 1.0, "cost": 2.0, "deviations": spread}])
    (rest,) = some.ask()
    some.tell([{"uid": rest.uid, "y": 5.0, "cost": 2.0}])
    with pytest.raises(DataError, match=f"the exact metric is 2.0 in {rest.uid}, too"):
        some.correct(uid, {"y": 1.0, "cost": 3.0}, "typo", spread)
    some.correct(uid, {"y": 1.5, "cost": 2.0}, "typo", spread)
    some.correct(rest.uid, {"y": 5.0, "cost": 3.0}, "typo")
    assert {values[1] for values in some._book.values.values()} == {3.0}
