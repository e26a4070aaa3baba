"""Every command, its options and its refusals."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from paretoscope import Study
from paretoscope.cli import COMMANDS
from paretoscope.cli.terms import feature_spec, seconds
from paretoscope.errors import UsageError
from paretoscope.report.words import headline
from tests.cli.lab import CREATE, asked, call, create, data, fill, measure, one_round

pytestmark = pytest.mark.usefixtures("folder")


# ---------------------------------------------------------------- create, init, plan


def test_create_says_what_was_understood():
    said = create()
    for part in (
        "24 candidates, 2 metrics",
        "sigma 0.1",
        "by the formula a+b",
        "GEGE: means linear",
        "0.01 of any wrong verdict",
        "paretoscope ask w.study",
    ):
        assert part in said
    assert max(map(len, said.splitlines())) <= 80


def test_create_again_is_the_same_study_or_refused():
    create()
    create()
    assert "holds another study" in create("w.study", "--seed", "2", code=2)


def test_a_bare_epsilon_holds_where_a_metric_has_none():
    options = ["--id", "id", "-m", "y1:max", "-m", "y2:min:ms:log", "--epsilon", "0.1"]
    create(options=[*options, "--epsilon", "y2=2%"])
    with Study.open("w.study") as study:
        assert [m.epsilon for m in study.problem.metrics] == [0.1, "2%"]
    create("v.study", options=options)
    with Study.open("v.study") as study:
        assert study.problem.epsilon is None
        assert study.wishes.epsilon == 0.1


def test_options_of_metrics_reach_them():
    options = "--id id -m y1 -m y2:min --bounds y1=0,1 --resolution y2=0.1 --sigma y2=2".split()  # noqa: SIM905
    create(options=[*options, "--epsilon", "0.1"])
    with Study.open("w.study") as study:
        one, two = study.problem.metrics
        assert (one.goal, one.bounds) == ("max", (0.0, 1.0))
        assert (two.goal, two.resolution, two.sigma) == ("min", 0.1, 2.0)
        assert study.problem.features is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give at least one metric"),
        (["-m", "y1:max"], "give an epsilon"),
        (["-m", "y1:up"], "goal 'up'"),
        (["-m", "y1", "--epsilon", "2%"], "scale='log'"),
        (["-m", "y1", "--epsilon", "z=2"], "with one of the metrics y1"),
        (["-m", "y1", "--epsilon", "1", "--epsilon", "2"], "one that holds for all"),
        (["-m", "y1", "--epsilon", "much"], "'much' is no number"),
        (["-m", "y1", "--sigma", "y1=nan"], "not finite"),
        (["-m", "y1", "--bounds", "y1=0"], "LOW,HIGH"),
        (["-m", "y1", "--time", "soon"], "such as 2h"),
        (["-m", "y1", "--budget", "0"], "at least 1"),
        (["-m", "y1", "--method", "uniform"], "needs --budget"),
        (["-m", "y1", "--method", "magic"], "'magic'"),
        (["-m", "y1", "--epsilon", "1", "--features", "q"], "'q' is no column"),
        (["-m", "y1", "--epsilon", "1", "--features", "a + eval(b)"], "neither a column"),
        (["-m", "y1", "--epsilon", "1", "--id", "q"], "no column 'q'"),
    ],
)
def test_create_refuses_in_one_line(options, said):
    output = create(options=options, code=2)
    assert output.startswith("paretoscope: ")
    assert said in output
    assert len(output.splitlines()) == 1
    assert not Path("w.study").exists()


@pytest.mark.parametrize(
    ("method", "name"),
    [("gege", "GEGE"), ("fixed", "FixedDesign"), ("oneshot", "OneShot"), ("uniform", "Uniform")],
)
def test_methods_by_name(method, name):
    create("w.study", "--method", method, "--budget", 60)
    assert data("plan", "w.study")["method"] == name
    assert data("status", "w.study")["method"] == name


def test_batches_make_a_budget():
    create("w.study", "--batches", 5, "--batch-size", 12, "--time", "2h")
    with Study.open("w.study") as study:
        assert (study.wishes.budget, study.wishes.batches) == (60, 5)
        assert study.wishes.time == 7200.0
    assert "FixedDesign" in call("plan", "w.study")


def unfeatured(*more):
    """A study of 24 candidates without features."""
    options = ["--id", "id", "-m", "y1:max:GB", "-m", "y2:min:ms:log", "--seed", "1"]
    create(options=[*options, *more])
    said = call("plan", "w.study")
    assert max(map(len, said.splitlines())) <= 80
    return " ".join(said.split())


def test_plan_says_what_a_budget_will_buy():
    known = ["--sigma", "y1=0.1", "--sigma", "y2=0.05", "--epsilon", "y1=0.05"]
    said = unfeatured(*known, "--epsilon", "y2=2%", "--budget", "240")
    found = re.search(
        r"240 fit: expect (\d+) out, (\d+) in, epsilon ([\d.]+) GB \(y1\), ([\d.]+) % \(y2\)\."
        r" Of 24 candidates by FixedDesign, simulated 20 times, assuming candidates that differ by"
        r" about five times the noise: an expectation, not a promise\.",
        said,
    )
    assert found, said
    seen = data("plan", "w.study")["outlook"]
    assert (int(found[1]), int(found[2])) == (round(seen["out"]), round(seen["inside"]))
    assert float(found[3]) == pytest.approx(seen["epsilon"]["y1"], rel=0.01)
    assert float(found[4]) == pytest.approx(100 * seen["epsilon"]["y2"], rel=0.01)
    assert seen["undecided"] + seen["out"] + seen["inside"] + seen["near"] == pytest.approx(24)


def test_plan_speaks_of_multiples_of_a_noise_that_is_not_known():
    said = unfeatured("--budget", "240", "--epsilon", "y2=2%", "--epsilon", "y1=1")
    assert "times the noise (y1), " in said
    assert "no tolerance, as the noise is unknown" in said
    assert data("plan", "w.study")["outlook"]["relative"] == ["y1", "y2"]


def test_plan_says_when_rounds_end_early_or_do_not_begin():
    create("w.study", "--budget", 50_000, "--sigma", "y2=0.8")
    said = " ".join(call("plan", "w.study").split())
    found = re.search(
        r"50000 fit \(\d+ of them to test the linear model\): expect (\d+) out, (\d+) in"
        r"(?:, (\d+) near)?, epsilon",
        said,
    )
    assert sum(int(number or 0) for number in found.groups()) == 24
    assert re.search(r"About \d+ of \d+ would be made", said)
    rounds = ["--method", "gege", "--sigma", "y1=1", "--sigma", "y2=1", "--epsilon", "0.1"]
    create("v.study", options=["-m", "y1", "-m", "y2", *rounds, "--budget", "30"])
    assert "30 measurements buy nothing by GEGE: not even its first round." in call(
        "plan", "v.study"
    )


def test_plan_without_a_budget_says_so():
    create()
    assert "no budget was given." in call("plan", "w.study")
    assert data("plan", "w.study")["outlook"] == {"reason": "no budget was given"}
    assert "--budget N" in call("plan", "w.study")
    tried = data("plan", "w.study", "--budget", 300)
    assert (tried["outlook"]["method"], tried["outlook"]["budget"]) == ("FixedDesign", 300)
    assert [option["name"] for option in tried["options"]][:3] == [
        "Tracking",
        "GEGE",
        "FixedDesign",
    ]
    said = " ".join(call("plan", "w.study", "--budget", 300).split())
    assert "300 fit (50 of them to test the linear model): expect " in said
    call("plan", "w.study", "--budget", 0, code=2)


def test_once_the_noise_is_seen_the_end_can_be_told():
    create()
    assert "cannot be predicted while the noise is unknown" in " ".join(
        call("status", "w.study").split()
    )
    assert data("plan", "w.study")["options"][0]["high"] is None
    one_round()
    said = " ".join(call("status", "w.study").split())
    assert re.search(r"after about [\d,]+ more measurements by the noise seen so far", said)
    assert data("plan", "w.study")["options"][0]["high"] >= data("status", "w.study")["done"]


def test_times_and_features_as_people_write_them():
    assert [seconds(t) for t in ("90", "1.5 min", "5d", None)] == [90.0, 90.0, 432000.0, None]
    with pytest.raises(UsageError, match="such as 2h"):
        seconds("0s")
    columns = {"a": [1], "b": [2], "surface-area": [3]}
    assert feature_spec("surface-area, a", columns) == ["surface-area", "a"]
    assert feature_spec("a + b", columns) == "a + b"
    assert feature_spec("a", columns) == ["a"]
    assert feature_spec(None, columns) is None


def test_the_template_makes_a_study_and_options_win_over_it():
    call("init", "study.toml")
    assert "--force" in call("init", "study.toml", code=2)
    Path("c.csv").rename("candidates.csv")
    call("create", "w.study", "--config", "study.toml")
    call("create", "v.study", "--config", "study.toml", "--delta", "0.2", "--sigma", "cost=3")
    with Study.open("w.study") as study:
        assert study.wishes.delta == tomllib.loads(Path("study.toml").read_text())["delta"]
    with Study.open("v.study") as study:
        assert (study.wishes.delta, study.problem.metrics[1].sigma) == (0.2, 3.0)


def test_every_line_of_the_template_can_be_used():
    call("init")
    lines = Path("study.toml").read_text().splitlines()
    freed = [line.removeprefix("# ") for line in lines]
    options = [line for line in freed if line.partition(" =")[0].replace("_", "").isidentifier()]
    keys = {line.partition(" =")[0] for line in options if " = " in line}
    assert keys >= {"method", "budget", "batches", "batch_size", "time", "seed", "known", "of"}
    for key in ("features", "budget", "batches", "batch_size", "time", "seed", "method"):
        line = next(text for text in freed if text.startswith(f"{key} = "))
        Path("one.toml").write_text(line.replace("width", "a").replace("depth", "b") + "\n")
        create(f"{key}.study", "--config", "one.toml", options=[*CREATE, "--budget", "200"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("delta = ", "study.toml: Invalid value"),
        ("dleta = 1", "no key 'dleta'"),
        ("seed = true", "seed = True: give a number"),
        ("metrics = [3]", "with a name"),
        ("decimal = ';'", "a point or a comma"),
    ],
)
def test_a_config_is_refused_with_its_name(text, said):
    Path("study.toml").write_text(text)
    assert said in call("create", "w.study", "--config", "study.toml", code=2)


# ---------------------------------------------------------------- ask, tell and what is out


def test_a_sheet_is_never_written_over():
    create()
    Path("b.csv").write_text("precious")
    assert "--force" in call("ask", "w.study", "--csv", "b.csv", code=2)
    assert "the study itself" in call("ask", "w.study", "--csv", "w.study", "--force", code=2)
    assert "cannot be written" in call("ask", "w.study", "--csv", "no/b.csv", code=2)
    assert Path("b.csv").read_text() == "precious"
    assert data("pending", "w.study")["requests"] == []


def test_a_sheet_that_cannot_be_written_gives_its_requests_back(monkeypatch):
    create()

    def full(*_, **__):
        raise OSError(28, "No space left on device", "b.csv")

    monkeypatch.setattr("paretoscope.cli.lab.write_sheet", full)
    assert "b.csv: no space left" in call("ask", "w.study", "--csv", "b.csv", code=2)
    assert data("pending", "w.study")["requests"] == []


def test_ask_shows_requests_and_says_when_there_are_none():
    create()
    said = call("ask", "w.study", "-n", 2)
    uids = [r["uid"] for r in data("pending", "w.study")["requests"]]
    assert len(uids) == 2
    assert all(uid in said for uid in uids)
    assert len(asked()) == 31
    assert "33 requests are out" in call("ask", "w.study", code=6)
    assert data("ask", "w.study", code=6)["requests"] == []
    assert call("status", "w.study", code=6)
    assert "at least one" in call("ask", "w.study", "-n", 0, code=2)


def test_a_lost_sheet_is_written_again():
    create()
    call("ask", "w.study", "-n", 5, "--csv", "b.csv")
    call("pending", "w.study", "--csv", "again.csv")
    assert Path("again.csv").read_bytes() == Path("b.csv").read_bytes()


def test_told_in_parts_dry_and_twice():
    create()
    call("ask", "w.study", "--csv", "b.csv")
    fill(Path("b.csv"), blank={0, 1})
    assert call("tell", "w.study", "b.csv", "--dry-run").startswith("Would store: 31")
    assert data("status", "w.study", code=6)["done"] == 0
    assert "31 measurements, 2 still blank" in call("tell", "w.study", "b.csv")
    fill(Path("b.csv"))
    told = data("tell", "w.study", "b.csv")
    assert (told["accepted"], told["repeated"]) == (2, 31)


def test_a_sheet_with_semicolons_and_decimal_commas():
    create()
    marks = ("--delimiter", ";", "--decimal", ",")
    call("ask", "w.study", "-n", 3, "--csv", "b.csv", *marks)
    header, *lines = Path("b.csv").read_text().splitlines()
    assert header.startswith("uid;candidate")
    filled = [header, *(line.removesuffix(";;;") + ";0,5;11,25;" for line in lines if line)]
    Path("b.csv").write_text("\n".join(filled))
    assert data("tell", "w.study", "b.csv")["accepted"] == 3


def test_a_bad_cell_stores_nothing():
    create()
    call("ask", "w.study", "--csv", "b.csv")
    fill(Path("b.csv"), wrong={3: {"y2": "1e999"}})
    before = call("export", "w.study")
    said = call("tell", "w.study", "b.csv", code=4)
    assert "b.csv, row 5" in said
    assert said.endswith("(nothing was stored)\n")
    assert call("export", "w.study") == before
    assert "nothing.csv" in call("tell", "w.study", "nothing.csv", code=2)


def test_a_sheet_through_pipes():
    create()
    text = call("ask", "w.study", "-n", 2, "--csv", "-")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 2
    filled = "uid,y1,y2,note\n" + "".join(f"{row['uid']},1,2,\n" for row in rows)
    assert "2 measurements" in call("tell", "w.study", "-", text=filled)


def test_release_withdraw_and_correct():
    create()
    uids = [r["uid"] for r in asked("w.study", "-n", "4")]
    assert data("release", "w.study", uids[0]) == {"released": 1}
    assert "1 request withdrawn" in call("withdraw", "w.study", uids[1], "--reason", "spilt")
    assert "not outstanding" in call("withdraw", "w.study", "r9c1n1", "--reason", "no", code=4)
    assert data("release", "w.study") == {"released": 2}
    call("withdraw", "w.study", "x", code=2)
    uid = asked("w.study", "-n", "1")[0]["uid"]
    Path("b.csv").write_text(f"uid,y1,y2\n{uid},1,2\n")
    call("tell", "w.study", "b.csv")
    made = data("correct", "w.study", uid, "y2=3", "--reason", "typo")
    assert made["after"] == {"y1": 1.0, "y2": 3.0}
    assert "no metric" in call("correct", "w.study", uid, "q=3", "--reason", "r", code=4)
    assert "METRIC=VALUE" in call("correct", "w.study", uid, "3", "--reason", "r", code=2)
    assert "not been told" in call("correct", "w.study", uids[2], "y1=3", "--reason", "r", code=4)


def test_a_row_that_sums_up_several_is_corrected_as_a_whole():
    create("w.study", options=["-m", "y1", "-m", "y2", "--budget", "96"])
    call("ask", "w.study", "--csv", "b.csv", "--by", "candidate")
    call("pending", "w.study", "--csv", "again.csv", "--by", "candidate")
    assert Path("again.csv").read_bytes() == Path("b.csv").read_bytes()
    rows = list(csv.DictReader(Path("b.csv").read_text().splitlines()))
    group = rows[0]["uid"]
    Path("b.csv").write_text(f"uid,n,y1 mean,y1 sd,y2 mean,y2 sd\n{group},,1,0.1,2,0.2\n")
    call("tell", "w.study", "b.csv")
    made = data("correct", "w.study", group, "y2=5", "--sd", "y1=0.3", "--reason", "typo")
    assert (made["before"], made["after"]) == ({"y1": 1, "y2": 2}, {"y1": 1, "y2": 5})
    with Study.open("w.study") as study:
        assert study._book.sums[group] == (1, (0.3, 0.2))
        assert study._book.values[group.partition("to")[0]] == (1.0, 5.0)
    single = group.partition("to")[0]
    assert "correct the group" in call(
        "correct", "w.study", single, "y1=1", "--reason", "r", code=4
    )
    assert "not been told" in call(
        "correct", "w.study", "r0c9n9to9", "y1=1", "--reason", "r", code=4
    )


def test_a_single_measurement_has_no_deviation():
    create()
    uid = asked("w.study", "-n", "1")[0]["uid"]
    Path("b.csv").write_text(f"uid,y1,y2\n{uid},1,2\n")
    call("tell", "w.study", "b.csv")
    sd = ("--sd", "y1=1", "--reason", "r")
    assert "which has none" in call("correct", "w.study", uid, "y1=3", *sd, code=2)


def test_earlier_measurements_are_added_once_and_certify_nothing():
    create()
    before = data("status", "w.study")
    Path("old.csv").write_text("candidate;y1;y2;note\nc03;9,5;2,25;spring\nc04;1,5;3;\n")
    assert data("history", "w.study", "old.csv") == {"added": 2}
    assert "Nothing added" in call("history", "w.study", "old.csv")
    after = data("status", "w.study")
    assert (after["done"], after["next"]) == (0, before["next"])
    assert "Estimates contain 2 earlier measurements; verdicts do not." in call("result", "w.study")
    Path("old.csv").write_text("candidate,y1,y2\nc99,1,2\n")
    assert "no candidate 'c99'" in call("history", "w.study", "old.csv", code=4)


# ---------------------------------------------------------------- status and result


def test_status_tells_what_comes_next_and_changes_nothing():
    create()
    events = call("export", "w.study")
    status = data("status", "w.study")
    assert sum(status["next"].values()) == status["due"] == 33
    assert call("export", "w.study") == events
    requests = asked()
    assert Counter(request["candidate"] for request in requests) == status["next"]


def test_status_and_result_fit_a_terminal_of_80_columns():
    create()
    for _ in range(2):
        one_round()
        said = call("status", "w.study")
        for part in ("done", "undecided", "wanted", "best guess", "next sheet", "not a guarantee"):
            assert part in said
        assert max(map(len, said.splitlines())) <= 80
        said = call("result", "w.study", "--all")
        assert "Not certified: " in said
        assert "c23" in said
        assert max(map(len, said.splitlines())) <= 80


def test_a_broken_assumption_is_told_at_once():
    """Half a sheet in another unit: said when it is told, in the status, and by the doctor."""
    create()
    call("ask", "w.study", "--csv", "b.csv")
    with Path("b.csv").open() as file:
        uids = [line.split(",")[:2] for line in file][1:]
    half = uids[: len(uids) // 2]
    thousand = {k: {"y2": str(1000 * float(measure(*row)["y2"]))} for k, row in enumerate(half)}
    fill(Path("b.csv"), wrong=thousand)
    said = " ".join(call("tell", "w.study", "b.csv").split())
    assert "Warning: y2: the values drift, by " in said
    assert " ms over round 1 " in said
    said = " ".join(call("status", "w.study").split())
    assert "warning y2: the values drift" in said
    assert "certified not while the warning stands" in said
    assert data("status", "w.study")["warnings"][0].startswith("y2: the values drift")
    assert "BROKEN no drift" in " ".join(call("doctor", "w.study", code=3).split())


def test_a_stop_without_certificate_is_3():
    create("w.study", "--method", "uniform", "--budget", 24)
    assert "never by this method" in " ".join(call("status", "w.study").split())
    one_round()
    assert "NOT certified" in call("status", "w.study", code=3)
    assert "not certified" in call("ask", "w.study", code=3)
    result = data("result", "w.study", code=3)
    assert not result["certified"]
    assert result["stopped"] == "the budget is spent"


def test_result_as_a_table():
    create()
    one_round()
    call("result", "w.study", "--csv", "r.csv")
    rows = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert [row["candidate"] for row in rows] == [f"c{k:02d}" for k in range(24)]
    assert call("result", "w.study", "--csv", "-").splitlines()[0].startswith("candidate,a,b")
    assert call("result", "w.study", "--markdown").startswith("| candidate | a | b | verdict |")
    assert data("result", "w.study")["table"][0]["candidate"] == "c00"
    assert "the study itself" in call("result", "w.study", "--csv", "w.study", code=2)


# ---------------------------------------------------------------- all commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_json(name):
    said = call(name, "--help")
    assert f" {name} " in said.splitlines()[0]
    assert "--json" in said


def test_an_unknown_command_is_a_usage_error():
    assert "No such command" in call("frob", code=2)


def test_exact_metrics_alone_are_certified_without_an_inequality():
    """Nothing is noisy: the sentence names no bound, in the terminal and on the page."""
    Path("c.csv").write_text("id,cost,gain\nA,1,1\nB,2,2\nC,3,1\n", encoding="utf-8")
    metrics = ["-m", "cost:min::known=cost", "-m", "gain:max::exact"]
    call("create", "e.study", "--candidates", "c.csv", *metrics)
    with Study.open("e.study") as study:
        study.tell(
            [{"uid": r.uid, "gain": {"A": 1, "B": 2, "C": 1}[r.candidate]} for r in study.ask()]
        )
        assert study.result().pareto_set == ["A", "B"]
        assert (
            headline(study.snapshot()).said[1] == "From 3 measurements; every candidate is decided."
        )
    said = " ".join(call("result", "e.study").split())
    assert "With probability at least 0.95 every verdict is right, from 3 measurements." in said


def test_the_example_in_the_help_of_run_keeps_its_lines():
    said = call("run", "--help")
    assert "\\b" not in said
    assert "\n  paretoscope run -L threads 1,2,4,8" in said
    assert "\n      --epsilon 5% -- ./bench" in said
