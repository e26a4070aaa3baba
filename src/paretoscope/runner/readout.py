"""What a command's output says: the metrics of a run, from JSON, a file, a pattern, or the run itself."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from paretoscope.errors import UsageError
from paretoscope.runner.process import Ended

# What a run shows of itself, with the units it can be told in; the first is the one meant by none.
BUILT_IN: dict[str, dict[str, float]] = {
    "wall": {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "min": 1 / 60, "h": 1 / 3600},
    "cpu": {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "min": 1 / 60, "h": 1 / 3600},
    "rss": {"MB": 1e-6, "B": 1.0, "kB": 1e-3, "GB": 1e-9, "KiB": 2**-10, "MiB": 2**-20},
    "exit": {"": 1.0},
}
# Built-in metrics of which one number is a summary of several runs.
TIMED = ("wall", "cpu")
# Characters of an output that a message shows.
_SHOWN = 80


class Failed(Exception):  # noqa: N818  (no error of ours: the candidate could not be measured)
    """A measurement that came to nothing: the candidate's own fault."""


class Misuse(Exception):  # noqa: N818  (becomes a UsageError where it can be raised)
    """What is measured cannot be meant: no candidate is at fault."""


@dataclass(frozen=True)
class Wanted:
    """One metric and where it comes from.

    Parameters
    ----------
    statistic : str
        What a list of values becomes: mean, median or pNN; empty where lists are not expected.
    pattern : str
        Regular expression whose first group is the value; the last match counts.
    factor : float
        Of a built-in metric into its unit; 0 for one that the command tells.
    """

    name: str
    statistic: str = ""
    exact: bool = False
    pattern: str = ""
    factor: float = 0.0

    @staticmethod
    def of(
        name: str, unit: str = "", statistic: str = "", pattern: str = "", *, exact: bool = False
    ) -> Wanted:
        """A metric by its name and unit; wall, cpu, rss and exit without a pattern are built in.

        Raises
        ------
        UsageError
            If the unit of a built-in metric is unknown, or the pattern has no group.
        """
        if pattern:
            _check_pattern(name, pattern)
        elif name in BUILT_IN:
            units = BUILT_IN[name]
            if unit and unit not in units:
                raise UsageError(
                    f"metric {name}: unit {unit!r} is none of {', '.join(filter(None, units))}"
                )
            return Wanted(name, statistic, exact, "", units[unit or next(iter(units))])
        return Wanted(name, statistic, exact, pattern)

    def values(self, ended: Ended, told: Mapping[str, Any]) -> list[float]:
        """The values of one run.

        Raises
        ------
        Failed
            If the run does not tell them.
        """
        if self.factor:
            found = {"wall": ended.wall, "cpu": ended.cpu, "rss": ended.rss, "exit": ended.code}
            return [found[self.name] * self.factor]
        if self.pattern:
            return [self._matched(ended.out)]
        if self.name not in told:
            raise Failed(f"printed no JSON line with {self.name!r}; {_ending(ended)}")
        value = told[self.name]
        listed = value if isinstance(value, list) else [value]
        if isinstance(value, list) and not self.statistic:
            raise Misuse(f"{self.name}: {len(value)} values; add :p99 or :median")
        if not listed:
            raise Failed(f"{self.name}: an empty list")
        return [self._number(each) for each in listed]

    def _matched(self, out: str) -> float:
        """The last match of the pattern."""
        found = None
        for found in re.finditer(self.pattern, out, re.MULTILINE):  # noqa: B007  (the last one)
            pass
        if found is None:
            raise Failed(f"printed nothing that matches {self.pattern!r} ({self.name})")
        text = found[1] or ""
        try:
            return self._number(float(text))
        except ValueError:
            raise Failed(f"{self.name} = {text[:_SHOWN]!r} is no number") from None

    def _number(self, value: Any) -> float:  # noqa: ANN401  (a JSON value)
        """A finite number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Failed(f"{self.name} = {str(value)[:_SHOWN]!r} is no number")
        try:
            made = float(value)
        except OverflowError:
            made = math.inf
        if not math.isfinite(made):
            raise Failed(f"{self.name} = {made} is not finite")
        return made

    def summary(self, values: Sequence[float], statistic: str) -> float:
        """One number of all values of a measurement."""
        if self.exact and min(values) != max(values):
            raise Misuse(
                f"{self.name} was declared exact and is {values[0]:g} in one run and"
                f" {max(values, key=lambda v: v != values[0]):g} in the next: declare it noisy"
            )
        return values[0] if len(values) == 1 else summary(values, self.statistic or statistic)


def _check_pattern(name: str, pattern: str) -> None:
    """Refuse a pattern that cannot be read, or captures nothing."""
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(f"pattern of {name}: {pattern!r}: {error}") from None
    if not groups:
        raise UsageError(f"pattern of {name}: {pattern!r} has no group: put the value in (...)")


def summary(values: Sequence[float], statistic: str) -> float:
    """The mean, the median or a percentile (linear between the two nearest) of some values.

    >>> summary([4.0, 1.0, 2.0], "median"), summary([0.0, 10.0], "p90")
    (2.0, 9.0)
    """
    if statistic == "mean":
        return fmean(values)
    if statistic == "median":
        return median(values)
    ordered = sorted(values)
    place = float(statistic[1:]) / 100.0 * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def last_json(text: str) -> dict[str, Any]:
    """The last line that is a JSON object; nothing if there is none."""
    for line in reversed(text.splitlines()):
        if not line.lstrip().startswith("{"):
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def json_file(text: str) -> dict[str, Any]:
    """The JSON object of a file, or its last line that is one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return last_json(text)
    return found if isinstance(found, dict) else {}


def _ending(ended: Ended) -> str:
    """The end of an output in a few words."""
    lines = (
        ended.out.split("\n") if len(ended.out) < _SHOWN else ended.out[-4 * _SHOWN :].split("\n")
    )
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f"its last line was {last[:_SHOWN]!r}" if last else "it printed nothing"
