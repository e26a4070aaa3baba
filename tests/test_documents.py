"""Every command and every code block of the documents runs, and every path they name exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from paretoscope.cli import main

ROOT = Path(__file__).resolve().parents[1]
# made by `make docs` from the commands themselves
MADE = {ROOT / "docs" / "reference" / "commands.md"}
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(set((ROOT / "docs").rglob("*.md")) - MADE),
]
# in a tutorial every block stands on those before it
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
STEP = re.compile(r"```(?:(\w+)|{code-block} \w+\n:caption: ([\w.]+)\n)\n(.*?)```", re.DOTALL)
STATES = {0, 3, 6}  # certified, stopped uncertified, waiting for values: none is an error
BIN = Path(sys.executable).parent


def blocks(language):
    """Code blocks of a language in all documents, with where they stand."""
    found = []
    for path in sorted(set(DOCUMENTS) - set(TUTORIALS)):
        for k, (name, body) in enumerate(BLOCK.findall(path.read_text(encoding="utf-8"))):
            if name == language:
                found.append(pytest.param(body, id=f"{path.name}-{k}"))
    return found


def commands_of(body):
    """The commands of a console block; one that ends in a backslash goes on in the next line."""
    lines = body.replace("\\\n", " ").splitlines()
    return [line[2:] for line in lines if line.startswith("$ ")]


def environment():
    """The tools of this environment first, one thread each."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"}


@pytest.mark.parametrize("body", blocks("python"))
def test_python_blocks_run(body, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", body],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a block that shows nothing teaches nothing"


@pytest.mark.parametrize("body", blocks("console"))
def test_console_blocks_run(body, tmp_path):
    targets = re.findall(
        r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    lines = commands_of(body)
    assert lines, "a console block shows commands after '$ '"
    for line in lines:
        command = line.partition("#")[0].strip()
        if command.startswith("make "):  # this very suite, or the demo: run by `make` itself
            assert command.split()[1] in targets
            continue
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in STATES, f"{command}\n{done.stdout}\n{done.stderr}"


def misspelt(body):
    """What a block that needs other machines gets wrong: extras, commands and options of ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(re.findall(r"\w+", " ".join(re.findall(r"paretoscope\[([\w,]+)\]", body))))
    wrong = extras - set(project["optional-dependencies"])
    for line in body.replace("\\\n", " ").splitlines():
        called = re.search(r"\bparetoscope ([a-z]+)(.*?)( -- |#|$)", line)
        if called is None:
            continue
        command = main.get_command(click.Context(main), called[1])
        known = {o for p in command.params for o in p.opts} if command else set()
        wrong |= {called[1]} if command is None else set()
        wrong |= set(re.findall(r"(?<= )--?[a-z][\w-]*", called[2])) - known
    return wrong


def test_no_block_stands_there_untried():
    """What is no example, command or fragment of a file needs other machines, and is spelt rightly."""
    tried = {"python", "console", "pycon", "toml", "text"}
    for path in DOCUMENTS:
        for name, body in BLOCK.findall(path.read_text(encoding="utf-8")):
            if name not in tried:
                assert name == "sh", f"{path.name}: nobody runs a block of {name}"
                assert misspelt(body) == set(), f"{path.name}: {body}"
    assert misspelt('pip install "paretoscope[non]"\nparetoscope ask x --no 3\n') == {"non", "--no"}
    assert misspelt("paretoscope fly a.study\n") == {"fly"}


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_tutorials_run_from_the_first_block_to_the_last(path, tmp_path):
    ran = 0
    for language, caption, body in STEP.findall(path.read_text(encoding="utf-8")):
        if caption:
            (tmp_path / caption).write_text(body, encoding="utf-8")
            continue
        commands = {"console": [["/bin/bash", "-c", line] for line in commands_of(body)]}
        commands["python"] = [[sys.executable, "-W", "error", "-c", body]]
        for command in commands.get(language, []):
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            assert done.returncode in STATES, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
            assert done.stdout.strip() or ">" in command[-1], f"shows nothing: {command[-1]}"
            ran += 1
    assert ran > 3


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_paths_named_in_documents_exist():
    for path in DOCUMENTS:
        for name in re.findall(
            r"`((?:tests|src|docs|examples|benchmarks)/[\w./-]+)`", path.read_text(encoding="utf-8")
        ):
            made = name.startswith("docs/_build/")  # by `make docs`, not kept
            assert made or (ROOT / name).exists(), f"{path.name} names {name}"


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_examples_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script), "--quick"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ertified" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80, "wider than a terminal"


def test_the_picture_of_the_readme_is_drawn_by_its_script(tmp_path):
    kept = ROOT / "docs" / "_static" / "front.svg"
    assert str(kept.relative_to(ROOT)) in (ROOT / "README.md").read_text(encoding="utf-8")
    assert kept.stat().st_size < 100_000
    made = tmp_path / "front.svg"
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "picture.py"), "--quick", str(made)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"ertified: \d+ kept, \d+ out, [\d,]+ measurements", done.stdout)
    # the same figure, of another run of the same experiment
    words = {"time (ms), less is better", "size (kB), less is better"}
    for path in (kept, made):
        assert words <= set(re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")))
