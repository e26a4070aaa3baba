"""Core tests with the oldest versions that pyproject.toml allows, in an environment of their own.

The versions are read from the lower bounds, so that a bound is a promise that was tried.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".venv-oldest"
BIN = PLACE / "bin"
# Frames that people have, as old as these: they are no dependency of ours.
FRAMES = ["pandas==2.2.0", "polars==1.0.0", "pyarrow==15.0.0"]
TOOLS = ["pytest", "pytest-xdist", "hypothesis", "hatchling", "editables"]
TESTS = [
    "tests/core",
    "tests/cli",
    "tests/policies",
    "tests/study",
    "tests/sim",
    "tests/test_table.py",
]
# These start tools that are not installed here, or compare with them.
NOT_HERE = ["tests/study/test_plugins.py", "tests/study/test_survival.py"]


def lower_bounds() -> list[str]:
    """``name==version`` of every dependency of the core and of the extras that the tests use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = ("formula", "postgres", "plot")
    wanted = [*project["dependencies"], *(text for name in used for text in extras[name])]
    return [re.sub(r">=\s*", "==", text) for text in wanted]


def main() -> int:
    """Make the environment, show what is in it, run the tests."""
    pins = lower_bounds()
    print("oldest:", *pins, sep="\n  ")
    venv.create(PLACE, with_pip=True, clear=True)
    pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *pins, *FRAMES, *TOOLS], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT], check=True)
    left_out = [f"--ignore={name}" for name in NOT_HERE]
    options = [
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "--override-ini",
        "addopts=--strict-markers",
    ]
    options += ["--import-mode=importlib"]
    command = [str(BIN / "python"), "-m", "pytest", *options, *left_out, *TESTS]
    return subprocess.run(command, cwd=ROOT, env=os.environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
