"""Try the built wheel where nothing else is: size, contents, imports, a study, and what extras say.

Usage: python check_wheel.py FOLDER, which holds one wheel and one sdist.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

LARGEST_WHEEL = 1_000_000  # bytes
LARGEST_CORE = 250  # MB, everything that comes with the core, compiled files included

# What needs an extra, and the extra that the message must name.
EXTRAS = {
    "postgres": "import paretoscope as ps; ps.Study.open('postgresql://nowhere/x?study=y')",
    "web": "from paretoscope.cli import main; main(['serve', 'w.study'])",
    "formula": "import paretoscope as ps; ps.Study.create(None, candidates={'a': [1, 2, 3]},"
    " metrics=['y:max'], epsilon=1.0, features='a + log(a)')",
}

STUDY = """
set -e
printf 'id,a\\nA,1\\nB,2\\nC,3\\n' > c.csv
paretoscope --version
python -m paretoscope create w.study --candidates c.csv -m y:max --sigma y=0.1 --epsilon 0.5
paretoscope ask w.study -n 3 --csv batch.csv
paretoscope status w.study
"""


def check(said: str, *, fine: bool) -> None:
    """One line for each thing that was tried; the first that fails ends it."""
    print(("ok      " if fine else "FAILED  ") + said)
    if not fine:
        sys.exit(1)


def only(folder: Path, pattern: str) -> Path:
    """The one file of a pattern."""
    found = list(folder.glob(pattern))
    check(f"one {pattern} in {folder}", fine=len(found) == 1)
    return found[0]


def check_files(wheel: Path, sdist: Path) -> None:
    """What is in the archives, and how large they are."""
    size = wheel.stat().st_size
    check(f"the wheel has {size:,} bytes, at most {LARGEST_WHEEL:,}", fine=size <= LARGEST_WHEEL)
    names = zipfile.ZipFile(wheel).namelist()
    check("the wheel is typed", fine="paretoscope/py.typed" in names)
    for part in ("web/assets/live.js", "web/templates/study.html", "report/assets/charts.js"):
        check(f"the wheel holds {part}", fine=f"paretoscope/{part}" in names)
    check("the wheel holds no tests", fine=not any(name.startswith("tests") for name in names))
    check("the wheel holds the licence", fine=any(name.endswith("LICENSE") for name in names))
    with tarfile.open(sdist) as archive:
        members = [name.partition("/")[2] for name in archive.getnames()]
    for name in ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "tests"):
        check(f"the sdist holds {name}", fine=any(m.startswith(name) for m in members))


def megabytes(folder: Path) -> float:
    """Everything below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def try_core(wheel: Path, place: Path) -> Path:
    """An empty environment with the wheel and what it brings; its folder of programs."""
    venv.create(place / "env", with_pip=False)
    programs = place / "env" / "bin"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(programs / "python"),
        "install",
        "--quiet",
    ]
    subprocess.run([*install, str(wheel)], check=True)
    weight = megabytes(place / "env")
    check(f"the core weighs {weight:.0f} MB, at most {LARGEST_CORE}", fine=weight <= LARGEST_CORE)
    return programs


def run(programs: Path, place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command that sees only the empty environment."""
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(place)}
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def main() -> None:
    """All checks, in the order in which they would hurt."""
    folder = Path(sys.argv[1])
    wheel, sdist = only(folder, "*.whl"), only(folder, "*.tar.gz")
    check_files(wheel, sdist)
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        programs = try_core(wheel, place)
        begin = time.perf_counter()
        done = run(programs, place, "bash", "-c", STUDY)
        seconds = time.perf_counter() - begin
        check(
            f"a study with the core alone, {seconds:.1f} s\n{done.stdout}",
            fine=done.returncode == 0,
        )
        for extra, code in EXTRAS.items():
            done = run(programs, place, "python", "-c", code)
            last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
            named = done.returncode != 0 and f"paretoscope[{extra}]" in last
            check(f"without the extra {extra}: {last}", fine=named)
    print("The wheel is whole.")


if __name__ == "__main__":
    main()
