"""One metric: its direction, its noise, its tolerance, and the way between its values and ours.

Inside, every metric is maximised and additive. Outside, people minimise milliseconds and compare
them in per cent. `Metric.inward` and `Metric.outward` are the only way between the two.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from paretoscope.errors import DataError, UsageError

_STATISTIC = re.compile(r"(?:mean|median|p\d{1,2}(\.\d+)?)")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*%\s*")


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Everything of a metric but its name and its goal."""

    unit: str = ""
    sigma: float | Literal["unknown"] | None = None
    bounds: tuple[float, float] | None = None
    epsilon: float | str | None = None
    scale: Literal["linear", "log"] = "linear"
    exact: bool = False
    known: str | None = None
    kind: Literal["proportion"] | None = None
    of: int | None = None
    statistic: str = ""
    resolution: float = 0.0
    misfit: float = 0.0
    timeout_value: float | None = None


@dataclass(frozen=True)
class Metric(_Options):
    """What is measured, and what is known of it.

    Parameters
    ----------
    name : str
    goal : 'min' or 'max'
    unit : str
        Shown, never computed with.
    sigma : float or 'unknown'
        Noise of one measurement; on the log scale that of the logarithm. None = unknown.
    bounds : (low, high)
        Values always lie between these; the noise is then bounded by half their distance.
    epsilon : float or 'p %'
        Differences up to this do not matter; per cent needs the log scale.
    scale : 'linear' or 'log'
        'log' compares logarithms: ratios matter, the target is the geometric mean.
    exact : bool
        Without noise: measured once, compared as it is.
    known : str
        Column of the candidates that holds an exact metric.
    kind, of
        'proportion' of that many independent trials.
    statistic : 'mean', 'median' or 'pNN'
        What one measurement is, when a run gives a list of values; by default none is expected.
    resolution : float
        Step of the recorded values.
    misfit : float
        Largest distance of a true mean from the linear model; on the log scale that of the logarithm.
    timeout_value : float
        What a run that is out of time counts as; by default it is a failure of its candidate.

    Raises
    ------
    UsageError
        If the settings contradict each other.

    >>> Metric("latency", "min", unit="ms", scale="log", epsilon="2%").tolerance.__round__(4)
    0.0198
    """

    name: str = ""
    goal: Literal["min", "max"] = "max"

    def __init__(self, name: str, goal: str = "max", **options: Any) -> None:  # noqa: ANN401
        unknown = set(options) - {f.name for f in fields(_Options)}
        if unknown:
            raise UsageError(f"metric {name!r}: no option {min(unknown)!r}")
        for key, value in ({"name": name, "goal": goal} | _defaults() | options).items():
            object.__setattr__(self, key, _plain(value))
        self._check()

    def _check(self) -> None:
        """Refuse settings that make no sense, each with its remedy."""
        rules = {
            "a metric needs a name": bool(self.name) and isinstance(self.name, str),
            f"goal {self.goal!r}: give 'min' or 'max'": self.goal in {"min", "max"},
            f"scale {self.scale!r}: give 'linear' or 'log'": self.scale in {"linear", "log"},
            f"kind {self.kind!r}: give 'proportion' or nothing": self.kind in {None, "proportion"},
            f"statistic {self.statistic!r}: give mean, median or pNN": not self.statistic
            or bool(_STATISTIC.fullmatch(self.statistic)),
            "a proportion needs of=, the number of trials of one measurement": (
                self.kind is None or (self.of or 0) >= 1
            ),
            "of= belongs to kind='proportion'": self.of is None or self.kind is not None,
            "a proportion needs the linear scale": self.kind is None or self.scale == "linear",
            "known= names the column of an exact metric: set exact=True": (
                self.known is None or self.exact
            ),
            "an exact metric has no sigma, bounds or proportion": not self.exact
            or (self.sigma in {None, "unknown"} and self.bounds is None and self.kind is None),
            "give one of sigma, bounds and proportion": (
                (self.sigma not in {None, "unknown"}) + (self.bounds is not None) + bool(self.kind)
                <= 1
            ),
            "bounds need the linear scale": self.bounds is None or self.scale == "linear",
            f"bounds {self.bounds}: give (low, high), finite, low below high": (
                self.bounds is None or _ordered(self.bounds)
            ),
            f"sigma {self.sigma!r}: a positive number, or 'unknown'": self.sigma
            in {None, "unknown"}
            or (isinstance(self.sigma, (int, float)) and 0 < self.sigma < math.inf),
            f"resolution {self.resolution}: not negative": 0 <= self.resolution < math.inf,
            f"misfit {self.misfit}: not negative": 0 <= self.misfit < math.inf,
            "an exact metric has no misfit": self.misfit == 0 or not self.exact,
            "a resolution needs the linear scale": self.resolution == 0 or self.scale == "linear",
        }
        for sentence, holds in rules.items():
            if not holds:
                raise UsageError(f"metric {self.name!r}: {sentence}")
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise UsageError(f"metric {self.name!r}: epsilon {self.epsilon!r} is negative")

        if self.timeout_value is not None:
            self.check(self.timeout_value)

    @property
    def tolerance(self) -> float | None:
        """Epsilon on the inner scale; None = the method's own."""
        if self.epsilon is None:
            return None
        percent = _PERCENT.fullmatch(str(self.epsilon))
        if percent:
            if self.scale != "log":
                raise UsageError(
                    f"metric {self.name!r}: epsilon {self.epsilon!r} is relative: set scale='log'"
                )
            return math.log1p(float(percent[1]) / 100.0)
        try:
            return float(self.epsilon)
        except ValueError:
            raise UsageError(
                f"metric {self.name!r}: epsilon {self.epsilon!r} is neither a number nor per cent"
            ) from None

    @property
    def inner_sigma(self) -> float:
        """Noise scale on the inner scale; NaN = unknown."""
        if self.bounds is not None:
            return (self.bounds[1] - self.bounds[0]) / 2.0  # Hoeffding's lemma
        if self.kind == "proportion":
            assert self.of is not None
            return 0.5 / math.sqrt(self.of)
        if self.sigma is None or self.sigma == "unknown":
            return math.nan
        return float(self.sigma)

    @property
    def bounded(self) -> bool:
        """Whether the noise is only known to be bounded."""
        return self.bounds is not None or self.kind == "proportion"

    def check(self, value: float) -> float:
        """The value if it can be a measurement of this metric, or a DataError."""
        if not math.isfinite(value):
            raise DataError(f"{self.name} = {value} is not finite: tell the row as FAILED instead")
        if self.scale == "log" and value <= 0:
            raise DataError(f"{self.name} = {value}: the log scale needs positive values")
        low, high = self.bounds or (0.0, 1.0 if self.kind == "proportion" else math.inf)
        if (self.bounds or self.kind) and not low <= value <= high:
            raise DataError(f"{self.name} = {value} lies outside [{low:g}, {high:g}]")
        return float(value)

    def inward(self, value: float) -> float:
        """A recorded value on the inner scale."""
        inner = math.log(value) if self.scale == "log" else value
        return -inner if self.goal == "min" else inner

    def outward(self, inner: float) -> float:
        """An inner value as people know it."""
        value = -inner if self.goal == "min" else inner
        return math.exp(value) if self.scale == "log" else value

    def apart(self, inner: float) -> str:
        """A distance on the inner scale as people say it: with its unit, or as a ratio.

        >>> Metric("time", unit="s").apart(0.25), Metric("time", scale="log").apart(0.25)
        ('0.25 s', '28.4 %')
        """
        if self.scale == "linear":
            return f"{inner:.3g} {self.unit}".strip()
        ratio = math.exp(min(inner, 700.0))  # no float is larger
        return f"{100 * (ratio - 1):.3g} %" if ratio < 2 else f"a factor of {ratio:.3g}"

    def to_plain(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        plain = {k: v for k, v in asdict(self).items() if v != _defaults().get(k)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> Metric:
        """The metric written by `to_plain`."""
        return Metric(**plain)


def _plain(value: Any) -> Any:  # noqa: ANN401  (a setting)
    """A setting as the study stores it: numbers of NumPy as those of Python, a list as a tuple."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(inner) for inner in value)
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def _ordered(bounds: tuple[float, ...]) -> bool:
    """Whether these are two finite numbers in order."""
    return len(bounds) == 2 and -math.inf < bounds[0] < bounds[1] < math.inf


def _defaults() -> dict[str, Any]:
    """Default of every option."""
    return {f.name: f.default for f in fields(_Options)}


def parse_metric(text: str) -> Metric:
    """A metric from its short form ``name[:min|max[:unit[:option...]]]``.

    Options are ``log``, ``exact``, ``median``, ``p99``, ``proportion=N``, ``known=COLUMN``.

    >>> parse_metric("latency:min:ms:log").scale
    'log'
    """
    name, *parts = text.split(":")
    options: dict[str, Any] = {}
    goal = parts[0] if parts and parts[0] else "max"
    if len(parts) > 1:
        options["unit"] = parts[1]
    for part in parts[2:]:
        options |= _option(text, part)
    return Metric(name, goal, **options)


def _option(text: str, part: str) -> dict[str, Any]:
    """One option of the short form."""
    key, _, value = part.partition("=")
    if part in {"log", "exact"}:
        return {"scale": "log"} if part == "log" else {"exact": True}
    if _STATISTIC.fullmatch(part):
        return {"statistic": part}
    if key == "proportion" and value.isdigit():
        return {"kind": "proportion", "of": int(value)}
    if key == "known" and value:
        return {"known": value, "exact": True}
    raise UsageError(
        f"metric {text!r}: option {part!r} is none of log, exact, mean, median, pNN,"
        " proportion=N, known=COLUMN"
    )
