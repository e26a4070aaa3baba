"""The rules of the house, read from the source: what imports what, sizes, words, and a quick door."""

from __future__ import annotations

import ast
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "paretoscope"
FILES = sorted(SRC.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
PURE = ("core", "policies")
IMPURE = {"json", "csv", "logging", "time", "random", "os", "pathlib", "sqlite3"}
# What numpy.random holds without a global state; to look at that state changes nothing.
SEEDED = {
    "default_rng",
    "SeedSequence",
    "Generator",
    "BitGenerator",
    "PCG64",
    "Philox",
    "get_state",
}
BRANCHES = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def name_of(path):
    return path.relative_to(SRC).as_posix()


def every_file(test):
    return pytest.mark.parametrize("path", FILES, ids=name_of)(test)


def imported(tree):
    """Dotted names of every import of a file, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def dotted(node):
    """``a.b.c`` of an expression, or an empty string."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def impure_imports(tree):
    return {name for name in imported(tree) if name.split(".")[0] in IMPURE}


def global_randomness(tree):
    """Uses of numpy's global random state, through any spelling of its module."""
    names = {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = {
        name for name in names | set(imported(tree)) if re.match(r"(np|numpy)\.random\.", name)
    }
    return {name for name in found if name.split(".")[2] not in SEEDED}


def forbidden_calls(tree):
    """Imports of serialisers of code, calls of eval, exec and yaml.load."""
    calls = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    modules = {name.split(".")[0] for name in imported(tree)}
    bad = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
    return (modules & bad) | (calls & {"eval", "exec", "yaml.load", "yaml.unsafe_load"})


def body_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (first.end_lineno - first.lineno + 1)


def nesting(node, depth=0):
    """How deep blocks lie inside blocks; elif is no deeper than its if."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        chained = isinstance(child, ast.If) and isinstance(node, ast.If) and child in node.orelse
        inner = depth + (isinstance(child, BRANCHES) and not chained)
        deepest = max(deepest, nesting(child, inner))
    return deepest


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def test_the_house_is_found():
    assert {"core", "policies", "sim"} <= {name_of(path).split("/")[0] for path in FILES}


@every_file
def test_core_and_policies_are_pure(path):
    if name_of(path).startswith(PURE):
        assert not impure_imports(TREES[path])
    assert not global_randomness(TREES[path])
    assert not forbidden_calls(TREES[path])


@every_file
def test_sizes(path):
    tree, text = TREES[path], path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert not [f.name for f in functions(tree) if body_lines(f) > 60]
    assert not [f.name for f in functions(tree) if nesting(f) > 3]


@every_file
def test_words(path):
    assert ast.get_docstring(TREES[path]), "every file opens with what it is for"
    assert path.stem not in {"utils", "helpers", "common", "misc"}


CULPRIT = '''
import os.path
from time import sleep
import numpy as np
from numpy.random import rand

def draw():
    """One line.

    Another.
    """
    import pickle
    np.random.seed(0)
    eval("1")
    for a in b:
        while a:
            if a:
                with a:
                    return np.random.default_rng(0).normal()
            elif b:
                pass
'''


def test_these_tests_see_a_culprit():
    tree = ast.parse(CULPRIT)
    assert impure_imports(tree) == {"os.path", "time.sleep"}
    assert global_randomness(tree) == {"np.random.seed", "numpy.random.rand"}
    assert forbidden_calls(tree) == {"pickle", "eval"}
    (draw,) = functions(tree)
    assert body_lines(draw) == 11
    assert nesting(draw) == 4


# ---------------------------------------------------------------- the door


def fresh_python(code):
    """What a new interpreter prints, and the processor seconds of its own work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime - before.ru_utime


def test_the_door_opens_quickly():
    # processor time: the machine may be busy with other tests; the best of five runs
    assert min(fresh_python("import paretoscope")[1] for _ in range(5)) <= 0.3


def test_the_door_loads_nothing_heavy():
    code = "import sys, paretoscope; print(*sorted(sys.modules), sep='\\n')"
    loaded = set(fresh_python(code)[0].split())
    assert "paretoscope" in loaded
    assert not loaded & {"scipy", "pandas", "moocore", "sqlite3", "click", "rich"}


def test_any_file_beside_the_layers_can_be_the_first_to_be_imported():
    """No circle of imports that only closes in one order; elsewhere the layers allow none."""
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1].split():\n"
        "    for known in [m for m in sys.modules if m.startswith('paretoscope')]:\n"
        "        del sys.modules[known]\n"
        "    importlib.import_module(name)\n"
    )
    files = [path for path in FILES if path.parent in {SRC, SRC / "study"}]
    names = [name_of(path).removesuffix(".py").replace("/", ".") for path in files]
    names = [f"paretoscope.{name}" for name in names if not name.startswith("__")]
    done = subprocess.run(
        [sys.executable, "-c", code, " ".join(names)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- words


def letters_of_the_table():
    """First column of the first table of docs/notation.md: the letters in backquotes."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    return [letter for row in rows for letter in re.findall(r"`([^`]+)`", row)]


def names_in_use(tree):
    """Variables, arguments and attributes of a file, and the letters its docstrings explain."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)


def test_every_letter_of_the_notation_is_used():
    used = {name for path, tree in TREES.items() for name in names_in_use(tree)}
    letters = letters_of_the_table()
    assert len(letters) > 20
    assert len(letters) == len(set(letters)), "one row per letter"
    assert [letter for letter in letters if letter not in used] == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md", "Makefile"])
def test_every_target_of_make_that_is_named_exists(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = (ROOT / name).read_text(encoding="utf-8")
    assert set(re.findall(r"`make ([\w-]+)`", text)) <= targets
