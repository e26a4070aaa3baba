"""One experiment from its cells to its files, taken up where it was broken off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from paretoscope.bench import store
from paretoscope.bench.experiment import Experiment
from paretoscope.bench.grid import Cell, cells_of
from paretoscope.bench.measure import Found, parts_of, rows_of
from paretoscope.bench.work import Task, executor_of, finished
from paretoscope.bench.worlds import Folder


class Wish(NamedTuple):
    """How an experiment is to be run."""

    out: Path
    runs: int | None = None
    seed: int | None = None
    jobs: int = 1
    executor: str = "processes"
    only: tuple[str, ...] = ()
    data: Folder = None


class Step(NamedTuple):
    """A cell that is finished: how many are, of how many, and what it found."""

    done: int
    total: int
    cell: Cell
    rows: list[dict[str, Any]]
    fresh: bool


Watch = Callable[[Step], None]


def conduct(experiment: Experiment, wish: Wish, watch: Watch | None = None) -> store.Results:
    """Run the cells that are not finished yet, then write the results.

    Raises
    ------
    UsageError, DataError
        If an instance or a policy cannot be made, before anything is run.
    """
    cells = list(cells_of(experiment, wish.runs, wish.seed, wish.only))
    folder = wish.out / f"{experiment.name}.cells"
    found = {cell: store.stored(folder, cell) for cell in cells}
    ready = [(cell, parts) for cell, parts in found.items() if parts is not None]
    start = time.perf_counter()
    fresh = _run([cell for cell in cells if found[cell] is None], wish)
    try:
        for done, (cell, parts) in enumerate(chain(ready, fresh), 1):
            if found[cell] is None:
                store.keep(folder, cell, parts)
                found[cell] = parts
            if watch is not None:
                watch(Step(done, len(cells), cell, rows_of(cell, parts), fresh=done > len(ready)))
    finally:
        seconds = _in_all(folder, time.perf_counter() - start)
    about = _about(experiment, wish, seconds)
    whole = {cell: parts for cell, parts in found.items() if parts is not None}
    store.write_results(wish.out, experiment.name, whole, about)
    return store.read_results(wish.out, experiment.name)


def _run(cells: list[Cell], wish: Wish) -> Iterator[tuple[Cell, list[Found]]]:
    """Cells in the order in which their last part comes in."""
    if not cells:
        return
    work = {cell: parts_of(cell, wish.data) for cell in cells}
    results: dict[Cell, dict[int, Found]] = {cell: {} for cell in cells}
    places = [(cell, k) for cell in cells for k in range(len(work[cell]))]
    tasks: Iterator[Task] = ((n, work[cell][k]) for n, (cell, k) in enumerate(places))
    with executor_of(wish.executor, wish.jobs) as executor:
        for n, part in finished(tasks, executor, wish.jobs):
            cell, k = places[n]
            results[cell][k] = part
            if len(results[cell]) == len(work[cell]):
                yield cell, [results[cell][i] for i in range(len(work[cell]))]


def _in_all(folder: Path, seconds: float) -> float:
    """Seconds of all sittings together, broken off ones too."""
    clock = folder / store.CLOCK
    before = float(clock.read_text(encoding="utf-8")) if clock.is_file() else 0.0
    if folder.is_dir():
        store.write_whole(clock, f"{before + seconds:.3f}")
    return before + seconds


def _about(experiment: Experiment, wish: Wish, seconds: float) -> dict[str, Any]:
    """Seed, runs, versions, machine and wall time of all sittings together."""
    return {
        "title": experiment.title,
        "seed": experiment.seed if wish.seed is None else wish.seed,
        "runs": experiment.runs if wish.runs is None else wish.runs,
        "jobs": wish.jobs,
        "executor": wish.executor.partition(":")[0],
        "wall_seconds": round(seconds, 1),
        "made_with": store.machine(),
    }
