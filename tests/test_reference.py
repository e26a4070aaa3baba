"""The reference: every public name is documented and shown, every example prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import paretoscope as ps

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SHOWN = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
ROOMS = ("policies", "sim", "study", "report")


def examples_of(page):
    """All examples of a page as one session."""
    text = "".join(SHOWN.findall(page.read_text(encoding="utf-8")))
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


EXAMPLES = [examples_of(page) for page in PAGES]
SESSIONS = [session for session in EXAMPLES if session.examples]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_examples_of_a_page_print_what_they_say(session, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    runner.run(session, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    assert runner.tries > 5


def modules():
    """Every module of the package but the one that is a program."""
    found = pkgutil.walk_packages(ps.__path__, "paretoscope.")
    return [info.name for info in found if not info.name.endswith("__main__")]


def test_examples_of_docstrings_print_what_they_say():
    tried = 0
    for name in modules():
        done = doctest.testmod(importlib.import_module(name))
        assert done.failed == 0, name
        tried += done.attempted
    assert tried > 50


def public():
    """Names a reader may look up in the reference, with the objects behind them."""
    for name in ps.__all__:
        thing = getattr(ps, name)
        if not inspect.ismodule(thing) and name != "__version__":
            yield f"paretoscope.{name}", thing
    for room in ROOMS:
        for name in getattr(ps, room).__all__:
            yield f"paretoscope.{room}.{name}", getattr(getattr(ps, room), name)
    for module in [ps.errors, *(getattr(ps.core, name) for name in ps.core.__all__)]:
        for name, thing in vars(module).items():
            if name[0] != "_" and getattr(thing, "__module__", "") == module.__name__:
                yield f"{module.__name__}.{name}", thing
    for name, thing in inspect.getmembers(ps.Study):
        if name[0] != "_" and callable(thing):
            yield f"paretoscope.Study.{name}", thing


PUBLIC = dict(public())


def test_the_list_of_public_names_is_not_empty_of_anything():
    assert {"paretoscope.GEGE", "paretoscope.sim.Run", "paretoscope.Study.ask"} <= set(PUBLIC)
    assert "paretoscope.core.gaps.psi_gaps" in PUBLIC
    assert len(PUBLIC) > 150


def test_every_public_name_is_shown_at_work():
    """In an example of its own docstring, or by its name in an example of a page."""
    code = "".join(e.source for session in SESSIONS for e in session.examples)
    used = set(re.findall(r"\w+", code))
    unseen = [
        name
        for name, thing in PUBLIC.items()
        if name.rpartition(".")[2] not in used and ">>>" not in (inspect.getdoc(thing) or "")
    ]
    assert unseen == []


def test_the_pages_are_built_without_a_warning_and_hold_every_public_name(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "html" / "objects.inv").read_bytes()
    held = {name for kind in InventoryFile.loads(content, uri="").data.values() for name in kind}
    missing = []
    for name, thing in PUBLIC.items():
        own = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
        at_the_door = f"paretoscope.{name.rpartition('.')[2]}"
        if not {name, own, at_the_door} & held:
            missing.append(name)
    assert missing == []
