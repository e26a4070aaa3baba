# ruff: noqa: S604 (our own keyword)
"""Values of candidates in commands: one argument each, whatever they hold."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretoscope.errors import UsageError
from paretoscope.runner.process import run_process
from paretoscope.runner.template import Template, check_columns, variable, variables

SEEDS = [
    "; touch pwned", "$(touch pwned)", "`touch pwned`", "a\ntouch pwned\n", "-rf", "--help", "../x",
    "../../etc/passwd", "|touch pwned", "&& touch pwned", "> pwned", "< /dev/null", "'", '"', "'; touch pwned;'",
    '"; touch pwned;"', "\\", "\\'", "${HOME}", "$HOME", "~", "*", "?", "[a-z]", "{a,b}", "{value}", "{{value}}",
    "{id}", "{}", "#", "!!", "%s", "%n", "\t", " ", "  a  b ", "\r\n", "\x01\x1b[31m", "ü", "日本語", "🎉", "\u202e",
    "e\u0301", "a=b", "=", "--", "-", ".", "/", "//", "a/b", "$'\\n'", "\\$(touch pwned)", "(touch pwned)", "1e999",
    "08", "1.10", "nan", "None", "true", "", "'$(touch pwned)'", '"`touch pwned`"', "$((1+1))", "<<EOF", "a\\\nb",
]  # fmt: skip


def hostile(n):
    """n different values: the ones above, and pieces of them put together."""
    rng = np.random.default_rng(7)
    found = dict.fromkeys(SEEDS)
    while len(found) < n:
        pieces = rng.choice(SEEDS, int(rng.integers(2, 5)))
        found["".join(pieces)] = None
    return list(found)[:n]


ECHO = "import sys,os,json; print(json.dumps([sys.argv[1:], os.environ.get('PARETOSCOPE_VALUE')]))"


def test_500_hostile_values_are_one_argument_each_and_do_nothing_else(tmp_path, monkeypatch):
    """Twenty at a time, each as an argument of its own, beside text, and in the environment."""
    monkeypatch.chdir(tmp_path)
    values = hostile(500)
    assert len(set(values)) == 500
    for start in range(0, 500, 20):
        some = values[start : start + 20]
        row = {f"v{k}": value for k, value in enumerate(some)} | {"value": some[0]}
        words = [*(f"{{v{k}}}" for k in range(20)), *(f"--x={{v{k}}}" for k in range(20))]
        argv = Template.of([sys.executable, "-I", "-S", "-c", ECHO, *words]).fill(row)
        got, env = json.loads(run_process(argv, {"PATH": "", **variables(row)}).out)
        assert got == [*some, *(f"--x={value}" for value in some)]
        assert env == some[0]
    assert list(tmp_path.iterdir()) == []


def test_500_hostile_values_with_a_shell(tmp_path, monkeypatch):
    """The text that the shell reads is the same for all of them."""
    monkeypatch.chdir(tmp_path)
    values = hostile(500)
    for start in range(0, 500, 20):
        some = values[start : start + 20]
        row = {f"v{k}": value for k, value in enumerate(some)}
        places = " ".join(f"{{v{k}}} --x={{v{k}}}" for k in range(20))
        line = f"true; printf '%s\\0' {places} | cat # {{v0}}"
        argv = Template.of([line], shell=True).fill(row)
        done = subprocess.run(
            argv, env={"PATH": "/usr/bin:/bin", **variables(row)}, capture_output=True, check=True
        )
        got = done.stdout.decode().split("\0")[:-1]
        assert got == [each for value in some for each in (value, f"--x={value}")]
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")))
def test_a_value_never_changes_the_number_of_arguments(value):
    template = Template.of(["prog", "{a}", "x{a}y{b}", "{{a}}", "plain"])
    assert template.fill({"a": value, "b": "{a}"}) == [
        "prog",
        value,
        f"x{value}y{{a}}",
        "{a}",
        "plain",
    ]
    text = Template.of(["prog {a} > {b}"], shell=True)
    assert text.fill({"a": value, "b": value}) == text.fill({"a": "", "b": ""})


def test_a_command_is_split_once():
    assert Template.of(["a 'b c' {x}"]).parts == ("a", "b c", "{x}")
    assert Template.of(["a", "b c", "{x}"]).parts == ("a", "b c", "{x}")
    assert Template.of(["a 'b' {x}"], shell=True).parts == ("a 'b' {x}",)
    assert Template.of(["./bench"]).parts == ("./bench",)


@pytest.mark.parametrize("words", [[], [""], ["  "], ["a 'b"]])
def test_no_command_is_refused(words):
    with pytest.raises(UsageError):
        Template.of(words)


def test_places_that_nothing_fills_are_refused():
    template = Template.of(
        ["x", "{a}", "{cache size}", "{ not one }", "${HOME}", "{'a': 1}", "{b}"]
    )
    with pytest.raises(UsageError, match=r"\{b\} in the command is no column"):
        template.check(["a", "cache size"])
    template.check(["a", "b"])
    assert template.fill({"a": 1, "cache size": 2, "b": 3})[1:] == [
        "1", "2", "{ not one }", "${HOME}", "{'a': 1}", "3",
    ]  # fmt: skip
    assert template.uses("a")
    assert not template.uses("c")


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("echo {a}", False),
        ("echo '{a}'", True),
        ('echo "{a}"', True),
        ("echo 'x' {a} \"y\"", False),
        ("echo \\' {a}", False),
        ('echo "it\'s {a}"', True),
        ("echo 'a\\' {a}", False),
    ],
)
def test_a_place_inside_quotes_is_refused_with_a_shell(line, inside):
    template = Template.of([line], shell=True)
    if inside:
        with pytest.raises(UsageError, match="inside quotes"):
            template.check(["a"])
    else:
        template.check(["a"])


def test_columns_that_would_share_a_variable_are_refused():
    assert variable("a-b.c") == "PARETOSCOPE_A_B_C"
    check_columns(["a", "b"])
    for pair in (["a b", "a_b"], ["A", "a"], ["metrics file"]):
        with pytest.raises(UsageError, match="rename one"):
            check_columns(pair)
