"""Commands that run the experiments of the paper: bench list, run, compare, page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from paretoscope.bench import experiment, figures, page, store
from paretoscope.bench.conduct import Step, Wish, conduct
from paretoscope.bench.contrast import Contrast, contrast
from paretoscope.bench.entrants import stranger
from paretoscope.bench.grid import cells_of, joined_by
from paretoscope.cli import show
from paretoscope.cli.lazy import UNCERTIFIED
from paretoscope.cli.options import json_option
from paretoscope.errors import UsageError

_HELP = """Run the experiments of the GEGE paper, and compare results (each command: --json too).

\b
paretoscope bench list
paretoscope bench run figure1 --runs 20
paretoscope bench compare bench shipped
paretoscope bench page
"""


@click.group("bench", help=_HELP)
def bench_command() -> None:
    """All commands of the bench."""


@bench_command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """What can be run, and how much of it there is."""
    found = [experiment.load(name) for name in experiment.names()]
    if as_json:
        show.emit(
            [{"name": e.name, "title": e.title, "cells": len(list(cells_of(e)))} for e in found]
        )
        return
    rows = [[e.name, str(len(list(cells_of(e)))), str(e.runs), e.title] for e in found]
    show.draw(["experiment", "cells", "runs", "what"], rows, right=["cells", "runs"])


@bench_command.command("run")
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--runs", type=click.IntRange(1), help="Runs per cell; slow policies do fewer.")
@click.option("--seed", type=click.IntRange(0), help="Of all runs; the experiment's by default.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; all cores by default.")
@click.option(
    "--executor",
    default="processes",
    metavar="WHERE",
    help="'processes', 'here' (this one), or dask://HOST:PORT.",
)
@click.option("--out", default="bench", metavar="DIR", help="Where results go ('bench').")
@click.option("--data", metavar="DIR", help="Folder of noc.csv and energy_efficiency.csv.")
@click.option("--only", multiple=True, metavar="POLICY", help="Only these of the experiment.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Your own as well, with settings: 'mine:Greedy width=0.5'.",
)
@click.option("--fresh", is_flag=True, help="Run finished cells again.")
@json_option
def run_command(names: tuple[str, ...], *, as_json: bool, **how: Any) -> None:  # noqa: ANN401
    """Run experiments; a broken off one goes on where it stopped."""
    if not names:
        raise UsageError(f"name one or more of {', '.join(experiment.names())}")
    wish = Wish(
        Path(how["out"]),
        how["runs"],
        how["seed"],
        how["jobs"] or len(os.sched_getaffinity(0)),
        how["executor"],
        how["only"],
        how["data"],
    )
    told = []
    for name in dict.fromkeys(names):
        what = joined_by(experiment.load(name), [stranger(words) for words in how["policies"]])
        _check_only(what, wish.only)
        if how["fresh"]:
            store.forget(wish.out, name)
        results = _run(what, wish, quiet=as_json)
        told.append({"experiment": name, "rows": len(results.rows), "files": _files(what, wish)})
    if as_json:
        show.emit(told)


def _check_only(what: experiment.Experiment, only: tuple[str, ...]) -> None:
    """Refuse the name of nobody."""
    taking_part = [entrant.name for entrant in what.entrants]
    for name in only:
        if name not in taking_part:
            raise UsageError(f"{what.name} has no {name!r}: one of {', '.join(taking_part)}")


def _run(what: experiment.Experiment, wish: Wish, *, quiet: bool) -> store.Results:
    """One experiment with its progress; breaking it off says how to go on."""
    progress = _Progress(what.name, quiet=quiet)
    try:
        results = conduct(what, wish, progress.step)
    except KeyboardInterrupt:
        click.echo(
            f"\nBroken off; {progress.done} cells are kept in {wish.out}: the same command goes on.",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    if not quiet:
        progress.end()
        show.paragraph(f"{what.title}: {', '.join(_files(what, wish))}")
    return results


def _files(what: experiment.Experiment, wish: Wish) -> list[str]:
    """Files of the results; figures where they can be drawn."""
    made = [wish.out / f"{what.name}.csv", wish.out / f"{what.name}.json"]
    if what.figure and figures.possible():
        results = store.read_results(wish.out, what.name)
        made += figures.save(figures.draw(what, results.rows), wish.out, what.name)
    return [str(path) for path in made]


class _Progress:
    """Cells as they are finished: a line that counts on a terminal, a line each elsewhere."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        self.name, self.quiet, self.done, self.kept = name, quiet, 0, 0
        self.live = sys.stderr.isatty()

    def step(self, step: Step) -> None:
        """One more cell is there."""
        self.done = step.done
        self.kept += not step.fresh
        if self.quiet or not (step.fresh or self.live):
            return
        line = f"{self.name} {step.done}/{step.total}  {step.cell.said()}{_found(step.rows)}"
        if self.live:
            click.echo(f"\r\x1b[2K{line[:78]}", err=True, nl=False)
        else:
            click.echo(line, err=True)

    def end(self) -> None:
        """Leave the counting line; say what had been there already."""
        if self.live:
            click.echo(err=True)
        if self.kept:
            click.echo(f"{self.kept} cells were finished before.", err=True)


def _found(rows: list[dict[str, Any]]) -> str:
    """What a cell found, in a few words."""
    row = rows[0]
    if "policy" not in row:
        return ""
    if not row["runs"]:
        return ": refused"
    return f": error {row['error']:.3g}, {row['pulls_mean']:,.0f} pulls"


@bench_command.command("compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B", default=store.SHIPPED)
@click.option("--experiment", "names", multiple=True, metavar="NAME", help="Only these.")
@json_option
@click.pass_context
def compare_command(
    ctx: click.Context, first: str, second: str, names: tuple[str, ...], *, as_json: bool
) -> None:
    """Compare two folders of results; 'shipped' stands for the package's own.

    The exit code is 3 if something differs by more than chance.
    """
    asked = names or tuple(experiment.names())
    both = [n for n in store.held_in(first, asked) if n in store.held_in(second, asked)]
    if not both:
        raise UsageError(f"{first} and {second} have no results of the same experiment")
    found = [contrast(store.read_results(first, n), store.read_results(second, n)) for n in both]
    if as_json:
        show.emit(found)
    else:
        _say(found)
    ctx.exit(UNCERTIFIED if any(c.differences for c in found) else 0)


@bench_command.command("page")
@click.argument("results", default=store.SHIPPED)
@click.option("--out", default=".", metavar="DIR", help="Where the page goes (here).")
@json_option
def page_command(results: str, out: str, *, as_json: bool) -> None:
    """Write reproduction.md: the paper beside a folder of results.

    All experiments must have been run. The figures go to a folder beside the page.
    """
    shelf, folder = page.shelf_of(results), Path(out)
    text = page.written(shelf)
    made = page.draw_all(shelf, folder)
    store.write_whole(folder / "reproduction.md", text)
    told = [str(path) for path in (folder / "reproduction.md", *made)]
    if as_json:
        show.emit({"files": told})
    else:
        show.paragraph(", ".join(told))


def _say(found: list[Contrast]) -> None:
    """Cells in common, and what differs."""
    rows = [[c.name, str(c.shared), str(c.same), str(len(c.differences)), _alone(c)] for c in found]
    header = ["experiment", "in both", "identical", "differ", "in one only"]
    show.draw(header, rows, right=header[1:])
    for c in found:
        for d in c.differences:
            chance = "" if d.p is None else f" (p = {d.p:.1g})"
            show.paragraph(f"{c.name}, {', '.join(d.cell)}: {d.what} {d.first}, {d.second}{chance}")
    if not any(c.differences for c in found):
        click.echo("Nothing differs by more than chance.")


def _alone(c: Contrast) -> str:
    """Cells that only one of the two has."""
    return f"{c.only_first} + {c.only_second}"
