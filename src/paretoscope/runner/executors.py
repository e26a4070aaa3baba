"""Where measurements run: in the caller's thread, in threads, on a cluster; any executor will do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any

from paretoscope.errors import UsageError

# Seconds to wait for a scheduler.
PATIENCE = 20.0


def _work(future: Future[Any], call: Callable[[], Any]) -> None:
    """Run a call unless it was cancelled, and keep what came of it."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
        if isinstance(error, KeyboardInterrupt):
            raise
    else:
        future.set_result(result)


class Inline(Executor):
    """The caller's own thread: a submitted call is done before the next one is."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Do it now."""
        future: Future[Any] = Future()
        _work(future, lambda: fn(*args, **kwargs))
        return future


class Threads(Executor):
    """Threads that do not hold up the end of the program when a measurement hangs."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        for _ in range(width):
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        """Take calls until there is none left to come."""
        while (item := self._calls.get()) is not None:
            _work(*item)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Queue a call, in the order of submission."""
        future: Future[Any] = Future()
        self._calls.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end when their calls are done; nobody waits for them."""
        del wait, cancel_futures
        for _ in range(self.width):
            self._calls.put(None)


def width_of(executor: Executor) -> int:
    """How many measurements an executor runs at the same time."""
    client: Any = getattr(executor, "_client", None)  # of Dask, which knows its workers' threads
    if client is not None:
        return max(1, sum(map(int, client.nthreads().values())))
    for name in ("width", "_max_workers", "num_workers"):  # ours, the standard library's, MPI's
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    return 1


def let_go(executor: Executor) -> None:
    """Shut an executor down without waiting; what has not begun is dropped where it knows how."""
    try:
        executor.shutdown(wait=False, cancel_futures=True)
    except TypeError:  # Dask's knows no such word: it always drops them
        executor.shutdown(wait=False)


def connect(address: str) -> tuple[Executor, Callable[[], object]]:
    """The executor behind ``dask://host:port``, and what closes it.

    Raises
    ------
    UsageError
        If the address is of another kind, nobody answers there, or Dask is not installed.
    """
    scheme, _, place = address.partition("://")
    if scheme != "dask" or not place:
        raise UsageError(f"executor {address!r}: give dask://host:port")
    try:
        from distributed import Client  # noqa: PLC0415  (an extra, and slow to import)
    except ImportError:
        raise UsageError("Dask is not installed: pip install 'paretoscope[dask]'") from None
    try:
        client: Any = Client(f"tcp://{place}", timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {place} ({error})") from None
    # never pure: two measurements of one candidate are two; never again by itself: we count losses
    return client.get_executor(pure=False, retries=0), client.close
