"""An environment that holds one wheel and what the wheel brings, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Fresh(NamedTuple):
    """A folder to work in, and the programs of the environment inside it."""

    place: Path
    programs: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command that sees these programs and those of the system, no variable of ours."""
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(self.place), "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            command, cwd=self.place, env=environment, capture_output=True, text=True, check=False
        )

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """A few lines as a person would type them; the first that fails ends them."""
        return self.run("bash", "-ec", script)


def fresh(place: Path, *wanted: str, python: str = sys.executable) -> Fresh:
    """A new environment of an interpreter, with what is wanted installed by the pip of this one."""
    place.mkdir(parents=True, exist_ok=True)
    home = place / "env"
    subprocess.run([python, "-m", "venv", "--without-pip", str(home)], check=True)
    if wanted:
        pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
        subprocess.run([*pip, "install", "--quiet", *wanted], check=True)
    return Fresh(place, home / "bin")


def the_wheel(folder: Path) -> Path:
    """The one wheel of a folder."""
    found = sorted(folder.glob("*.whl"))
    if len(found) != 1:
        sys.exit(f"{folder} holds {len(found)} wheels: build one with `make dist`")
    return found[0].resolve()


def megabytes(folder: Path) -> float:
    """Everything below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
