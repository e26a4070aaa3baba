"""Who does the work: this process, others on this machine, or a cluster of Dask."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import Any

from paretoscope.bench.measure import Found, Part, do
from paretoscope.errors import UsageError

# Parts that wait in line for each worker: enough that none is idle, few enough to stop quickly.
AHEAD = 3
# Small matrices only lose by threads, and digits may depend on their number.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Task = tuple[int, Part]


@contextmanager
def executor_of(where: str, jobs: int) -> Iterator[Executor | None]:
    """An executor by its address: 'processes', 'here' (none at all), or dask://HOST:PORT.

    Raises
    ------
    UsageError
        If there is no such executor, or no cluster at the address.
    """
    if where == "here":
        yield None
    elif where == "processes":
        with _pool(jobs) as pool:
            yield pool
    elif where.startswith("dask://"):
        with _dask(where.removeprefix("dask://")) as executor:
            yield executor
    else:
        raise UsageError(f"executor {where!r}: 'processes', 'here' or dask://HOST:PORT")


@contextmanager
def _pool(jobs: int) -> Iterator[Executor]:
    """Fresh processes with one thread each; what waits is dropped when the work is broken off."""
    if jobs < 1:
        raise UsageError(f"jobs = {jobs}: at least 1")
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _without_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _without_interrupts() -> None:
    """Ctrl-C is for the process that counts: a worker ends what it has in hand."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    """The executor of a running cluster."""
    try:
        from distributed import Client  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError("for dask:// install paretoscope[dask]") from None
    try:
        client = Client(  # type: ignore[no-untyped-call]
            f"tcp://{address}", timeout=10
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from None
    with client:
        # every part is new work, even where its numbers are the same
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


def finished(
    tasks: Iterable[Task], executor: Executor | None, jobs: int
) -> Iterator[tuple[int, Found]]:
    """Results as they come in, with the number of each task; a few are handed out ahead."""
    if executor is None:
        for number, part in tasks:
            yield number, do(part)
        return
    queue, out = iter(tasks), dict[Future[Any], int]()
    try:
        while True:
            for number, part in islice(queue, AHEAD * jobs - len(out)):
                out[executor.submit(do, part)] = number
            if not out:
                return
            done, _ = wait(out, return_when=FIRST_COMPLETED)
            for future in done:
                yield out.pop(future), future.result()
    finally:
        for future in out:
            future.cancel()
