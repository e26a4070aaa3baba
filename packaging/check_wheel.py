"""Try the built wheel where nothing else is: size, contents, metadata, studies, what extras say.

Usage: python check_wheel.py FOLDER, which holds one wheel and one sdist.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

from fresh import Fresh, fresh, megabytes, the_wheel

ROOT = Path(__file__).resolve().parents[1]
LARGEST_WHEEL = 1_000_000  # bytes
LARGEST_CORE = 250  # MB, everything that comes with the core, compiled files included

# What a program without the extra is asked for; the message must name the extra.
EXTRAS = {
    "formula": "paretoscope create f.study --candidates c.csv -m y:max --epsilon 1"
    " --features 'a + log(a)'",
    "postgres": "paretoscope status 'postgresql://nowhere/x?study=y'",
    "report": "paretoscope report w.study",
    "plot": "paretoscope report w.study front.svg",
    "dask": "paretoscope run --study d.study -L a 1,2 -m t:min --epsilon 1 --executor dask://localhost:1 -- echo {a}",
    "data": "env -u PARETOSCOPE_DATA paretoscope bench run figure7 --runs 1",
    "web": "paretoscope serve w.study",
}

SHEETS = """
printf 'id,a\\nA,1\\nB,2\\nC,3\\n' > c.csv
paretoscope --version
python -m paretoscope create w.study --candidates c.csv -m y:max --sigma y=0.1 --epsilon 0.5
paretoscope ask w.study -n 3 --csv batch.csv
paretoscope status w.study
"""

# Sizes are exact and pairs of settings trade: whole in one round, by two real commands.
RUN = """
printf 'print(__import__("json").dumps({"cost": float(__import__("sys").argv[1]),' > m.py
printf ' "gain": -abs(float(__import__("sys").argv[1]) - 2)}))' >> m.py
paretoscope run -L x 1,2,3 -m cost:min::exact -m gain:max::exact -q -- python m.py {x}
"""

COMPLETION = """
for shell in bash zsh fish; do
  env _PARETOSCOPE_COMPLETE=${shell}_source paretoscope | grep -q _paretoscope
done
COMP_WORDS='paretoscope sta' COMP_CWORD=1 _PARETOSCOPE_COMPLETE=bash_complete paretoscope
"""


def check(said: str, *, fine: bool) -> None:
    """One line for each thing that was tried; the first that fails ends it."""
    print(("ok      " if fine else "FAILED  ") + said, flush=True)
    if not fine:
        sys.exit(1)


def check_files(wheel: Path, sdist: Path) -> None:
    """What is in the archives, and how large they are."""
    size = wheel.stat().st_size
    check(f"the wheel has {size:,} bytes, at most {LARGEST_WHEEL:,}", fine=size <= LARGEST_WHEEL)
    names = set(zipfile.ZipFile(wheel).namelist())
    check("the wheel is typed", fine="paretoscope/py.typed" in names)
    for part in ("web/assets/live.js", "web/templates/study.html", "report/assets/charts.js"):
        check(f"the wheel holds {part}", fine=f"paretoscope/{part}" in names)
    check("the wheel holds no tests", fine=not any(name.startswith("tests") for name in names))
    check("the wheel holds the licence", fine=any(name.endswith("LICENSE") for name in names))
    source = ROOT / "src"
    ours = {str(p.relative_to(source)) for p in (source / "paretoscope").rglob("*") if p.is_file()}
    lost = sorted(name for name in ours - names if "__pycache__" not in name)
    check(f"the wheel holds every file of the package, data files too {lost}", fine=not lost)
    with tarfile.open(sdist) as archive:
        members = [name.partition("/")[2] for name in archive.getnames()]
    for name in ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "tests", "docs"):
        check(f"the sdist holds {name}", fine=any(m.startswith(name) for m in members))


def check_metadata(wheel: Path) -> None:
    """What the wheel says of itself is what pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        says = Parser().parsestr(archive.read(name).decode())
    extras = set(says.get_all("Provides-Extra") or ())
    check(
        f"extras: {', '.join(sorted(extras))}", fine=extras == set(project["optional-dependencies"])
    )
    check(
        f"licence: {says['License-Expression']}",
        fine=says["License-Expression"] == project["license"],
    )
    check(
        f"Python {says['Requires-Python']}",
        fine=says["Requires-Python"] == project["requires-python"],
    )
    needed = [n for n in says.get_all("Requires-Dist") or () if "extra ==" not in n]
    check(f"needs {', '.join(needed)}", fine=len(needed) == len(project["dependencies"]))


def check_core(place: Fresh) -> None:
    """A study by sheets, one by `run`, and completion, with the core alone."""
    weight = megabytes(place.place / "env")
    check(f"the core weighs {weight:.0f} MB, at most {LARGEST_CORE}", fine=weight <= LARGEST_CORE)
    for said, script in (("a study by sheets", SHEETS), ("a study by `run`", RUN)):
        begin = time.perf_counter()
        done = place.bash(script)
        seconds = time.perf_counter() - begin
        told = done.stdout if done.returncode == 0 else done.stderr
        check(f"{said} with the core alone, {seconds:.1f} s\n{told}", fine=done.returncode == 0)
    done = place.bash(COMPLETION)
    check(f"completion in three shells {done.stderr}", fine="plain,status" in done.stdout)


def check_extras(place: Fresh) -> None:
    """Where an extra is missing, one line says which; nothing is printed as a traceback."""
    help_text = place.run("paretoscope", "--help").stdout
    for extra, command in EXTRAS.items():
        if command.split()[1] == "serve" and "serve" not in help_text:
            continue
        done = place.bash(command)
        said = done.stderr.strip()
        kind = done.returncode in {2, 5} and "Traceback" not in said and "\n" not in said
        check(f"without the extra {extra}: {said}", fine=kind and f"paretoscope[{extra}]" in said)


def main() -> None:
    """All checks, in the order in which they would hurt."""
    folder = Path(sys.argv[1])
    wheel = the_wheel(folder)
    (sdist,) = folder.glob("*.tar.gz")
    check_files(wheel, sdist)
    check_metadata(wheel)
    with tempfile.TemporaryDirectory() as text:
        place = fresh(Path(text), str(wheel))
        check_core(place)
        check_extras(place)
    print("The wheel is whole.")


if __name__ == "__main__":
    main()
