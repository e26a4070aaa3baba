"""A Python callable as a measurement: what it returns, what it raises, and when its time is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from paretoscope.runner.command import Command
from paretoscope.runner.readout import Failed, Misuse

Measure: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
# Characters of a reason that are kept.
_SAID = 300


@dataclass(frozen=True)
class Outcome:
    """What came of one measurement: values, a failure of the candidate, or a mistake of ours."""

    values: Mapping[str, Any] | None = None
    failed: str = ""
    misuse: str = ""
    seconds: float = 0.0


def attempt(measure: Measure, candidate: Mapping[str, Any], token: str) -> Outcome:
    """Measure a candidate; whatever the measurement raises is its own failure.

    An exception that leaves this function is none of the measurement's: its worker was lost.

    Parameters
    ----------
    token : str
        Different for every attempt: an executor that remembers results must not know this one.
    """
    del token
    begun = time.perf_counter()
    try:
        values: Any = measure(candidate)
    except Failed as failure:
        return Outcome(failed=str(failure)[:_SAID], seconds=time.perf_counter() - begun)
    except Misuse as misuse:
        return Outcome(misuse=str(misuse)[:_SAID])
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a candidate's own, whatever it is)
        said = f"{type(error).__name__}: {error}".strip(": ")
        return Outcome(failed=said[:_SAID], seconds=time.perf_counter() - begun)
    if not isinstance(values, Mapping):
        return Outcome(misuse=f"the measurement returned {values!r:.100}: return {{metric: value}}")
    return Outcome(values=values, seconds=time.perf_counter() - begun)


@dataclass(frozen=True)
class Timed:
    """A callable that is given up after some seconds.

    Python cannot end a thread: a callable that hangs goes on behind, and nobody waits for it.
    """

    measure: Measure
    timeout: float

    def __call__(self, candidate: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values, unless time is over."""
        found: list[Mapping[str, Any]] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                found.append(self.measure(candidate))
            except BaseException as error:  # noqa: BLE001  (raised again in the other thread)
                raised.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if raised:
            raise raised[0]
        if not found:
            raise Failed(f"out of time after {self.timeout:g} s")
        return found[0]


def limited(measure: Measure, timeout: float | None) -> Measure:
    """A measurement with a limit of time: a command ends its processes, a callable is given up."""
    if timeout is None:
        return measure
    if isinstance(measure, Command):
        return replace(measure, timeout=timeout)
    return Timed(measure, timeout)
