"""The wheel under every Python that this machine has: installed with what is newest, then tested.

Usage: python versions.py FOLDER [PYTHON ...], which holds one wheel. Without names every interpreter
from 3.11 on is looked for, on the path and among those of pyenv. A version is declared in
pyproject.toml only if it passed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fresh import Fresh, fresh, the_wheel

ROOT = Path(__file__).resolve().parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = "formula,postgres,report,plot"
TOOLS = ("pytest", "hypothesis", "pandas", "polars", "pyarrow")
TESTS = ("tests/core", "tests/study", "tests/sim", "tests/cli", "tests/test_table.py")
# they start tools that are not installed here
NOT_HERE = (
    "tests/study/test_plugins.py",
    "tests/study/test_survival.py",
    "tests/cli/test_speed.py",
    "tests/cli/test_bench.py",
)


def interpreters() -> dict[str, str]:
    """Version to program, for each supported one that works."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in SUPPORTED:
        places = [shutil.which(f"python{version}"), *sorted(home.glob(f"{version}.*/bin/python"))]
        for program in filter(None, places):
            done = subprocess.run([program, "-c", ""], capture_output=True, check=False)
            if done.returncode == 0:
                found[version] = str(program)
    return found


def versions(place: Fresh) -> str:
    """What was installed, of what matters."""
    code = (
        "import importlib.metadata as m, sys; print(sys.version.split()[0], *(f'{n}={m.version(n)}'"
        " for n in ('numpy', 'scipy', 'moocore', 'narwhals', 'click', 'rich')))"
    )
    return place.run("python", "-c", code).stdout.strip()


def tried(place: Fresh, *tests: str) -> bool:
    """Whether the tests pass on what is installed; the sources are out of sight."""
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", str(ROOT)]
    ignored = [f"--ignore={ROOT / name}" for name in NOT_HERE]
    code = f"import sys, pytest; sys.path.insert(0, {str(ROOT)!r}); sys.exit(pytest.main(sys.argv[1:]))"
    paths = [str(ROOT / name) for name in tests]
    override = ["--override-ini", "addopts=--strict-markers", "-c", str(ROOT / "pyproject.toml")]
    done = place.run("python", "-c", code, *options, *override, *ignored, *paths)
    print(done.stdout[-1500:] if done.returncode else done.stdout.splitlines()[-1])
    return done.returncode == 0


def main() -> None:
    """Every version in turn; those that passed, at the end."""
    wheel = the_wheel(Path(sys.argv[1]))
    passed = []
    programs = sys.argv[2:] or list(interpreters().values())
    for program in programs:
        with tempfile.TemporaryDirectory() as text:
            place = fresh(Path(text), f"{wheel}[{EXTRAS}]", *TOOLS, python=program)
            said = versions(place)
            print(said, flush=True)
            if tried(place, *TESTS):
                passed.append(said.split()[0])
    print(f"passed: {', '.join(passed)}")
    sys.exit(len(passed) < len(programs))


if __name__ == "__main__":
    main()
