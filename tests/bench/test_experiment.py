"""Experiments as files: those of the package are whole, and nonsense is refused by name."""

from __future__ import annotations

import pytest

from paretoscope.bench import load, names
from paretoscope.bench.entrants import class_of, fingerprint, policy_of, stranger
from paretoscope.bench.grid import cells_of, joined_by
from paretoscope.bench.worlds import instance_of
from paretoscope.errors import UsageError
from paretoscope.policies import FixedDesign
from tests.bench.tiny import tiny

PAPER = ["figure1", "figure2", "figure3", "figure4", "figure6", "figure7", "table1", "table2"]


def test_every_figure_and_table_of_the_paper_is_there():
    assert names() == [*PAPER, "illustration"]


@pytest.mark.parametrize("name", PAPER)
def test_both_noise_scales_and_every_policy_can_be_made(name):
    experiment = load(name)
    assert experiment.name == name
    if name != "table2":
        assert {world.settings["sigma"] for world in experiment.worlds} == {0.5, 1.0}
    instance = instance_of(tiny().worlds[0], "K", 8)
    for entrant in experiment.entrants:
        value = 5000 if experiment.axis == "T" else 8
        policy_of(entrant, experiment, value, instance.complexity())


def test_the_published_worlds_stand_next_to_the_sound_ones():
    for name in ("figure3", "figure4", "figure6", "figure7"):
        variants = [world.settings["variant"] for world in load(name).worlds]
        assert sorted(variants) == ["as-published"] * 2 + ["sound"] * 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('axis = "K"', 'axis = "K"\ncolour = 1', "'colour' means nothing here"),
        ('kind = "runs"', 'kind = "walks"', "kind 'walks' is none of runs"),
        ("values = [8, 10]", "values = []", "every world needs values"),
        ('name = "Uniform"', 'name = "GEGE"', "two entrants are called 'GEGE'"),
        ("most = [45, 7]", "most = [45]", "'Uniform' has 1 caps for 2 values"),
        ("sigma = 0.5", 'sigma = 0.5\nwithout = ["APE"]', "without 'APE', which nobody is"),
        ("seed = 3", "seed 3", "tiny.toml: "),
        ("runs = 45\n", "", "runs"),
    ],
)
def test_nonsense_is_refused(old, new, said):
    with pytest.raises(UsageError, match=said):
        tiny(**{old: new})


def test_unknown_names():
    with pytest.raises(UsageError, match="'figure5' is unknown: one of figure1"):
        load("figure5")
    world = tiny(**{'kind = "synthetic"': 'kind = "flat"'}).worlds[0]
    with pytest.raises(UsageError, match="kind 'flat' is none of"):
        instance_of(world, "K", 8)
    world = tiny(**{'kind = "synthetic"\nsigma = 0.5': 'kind = "random"'}).worlds[0]
    with pytest.raises(UsageError, match="does not say 'shape'"):
        instance_of(world, "K", 8)


def test_slow_ones_run_less_and_never_more_than_asked():
    experiment = tiny()
    uniform = experiment.entrants[1]
    assert [experiment.runs_of(uniform, place) for place in (0, 1)] == [45, 7]
    assert [experiment.runs_of(uniform, place, 5) for place in (0, 1)] == [5, 5]


def test_keys_tell_cells_apart_and_nothing_else():
    keys = [cell.key for cell in cells_of(tiny())]
    assert len(set(keys)) == len(keys)
    assert keys == [cell.key for cell in cells_of(tiny(**{"Two policies": "2 policies"}))]
    assert not set(keys) & {cell.key for cell in cells_of(tiny(), seed=4)}


# ---------------------------------------------------------------- policies of strangers


def test_a_stranger_with_settings():
    entrant = stranger("paretoscope:FixedDesign looks=4 delta=0.2 spend=even")
    assert entrant.settings == {"looks": 4, "delta": 0.2, "spend": "even"}
    size = instance_of(tiny().worlds[0], "K", 8).complexity()
    made = policy_of(entrant, tiny(), 8, size)
    assert made == FixedDesign(budget=5000, looks=4, delta=0.2, spend="even")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("GEGEL", "not in the package"),
        ("sim", "not in the package"),
        ("no_such_module:Policy", "No module named"),
        ("paretoscope:Nobody", "no class 'Nobody'"),
    ],
)
def test_strangers_that_do_not_exist(words, said):
    with pytest.raises(UsageError, match=said):
        class_of(words)


def test_settings_that_make_no_sense():
    with pytest.raises(UsageError, match="write setting=value, not 'looks'"):
        stranger("paretoscope:FixedDesign looks")
    size = instance_of(tiny().worlds[0], "K", 8).complexity()
    with pytest.raises(UsageError, match="cannot be made with"):
        policy_of(stranger("paretoscope:Uniform width=3"), tiny(), 8, size)


def test_a_second_of_a_name_gets_a_number():
    joined = joined_by(tiny(), [stranger("paretoscope:Uniform"), stranger("paretoscope:GEGE")])
    assert [e.name for e in joined.entrants] == ["GEGE", "Uniform", "Uniform #2", "GEGE #2"]


def test_an_edited_policy_is_another_cell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "homemade.py"
    path.write_text("class Mine:\n    pass\n")
    entrant = stranger("homemade:Mine")
    before = fingerprint(entrant)
    path.write_text("class Mine:\n    better = True\n")
    assert before != fingerprint(entrant)
    assert fingerprint(stranger("paretoscope:GEGE")) == fingerprint(stranger("paretoscope:GEGE"))
