"""What the loop talks to, what it may spend, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Asked(Protocol):
    """A request."""

    @property
    def uid(self) -> str:
        """Its own name."""

    @property
    def candidate(self) -> str:
        """What to measure."""


class Standing(Protocol):
    """How far a study has come."""

    @property
    def K(self) -> int:
        """Number of candidates."""

    @property
    def done(self) -> int:
        """Measurements told."""

    @property
    def stopped(self) -> bool:
        """Whether nothing more is wanted."""


class Desk(Protocol):
    """What hands out requests and takes values: a study."""

    def ask(self, n: int | None = None, *, by: str = "") -> Sequence[Asked]:
        """The next requests, which are then out."""

    def tell(self, rows: Any, *, by: str = "") -> Any:  # noqa: ANN401
        """Take rows, all of them or none."""

    def peek(self, n: int | None = None) -> Sequence[Asked]:
        """What `ask` would give."""

    def release(self, uids: Any = None, reason: str = "given back") -> int:  # noqa: ANN401
        """Take requests back, to be asked again."""

    def wants(self, uid: str) -> bool:
        """Whether a request is still to be measured: its candidate may have failed too often."""

    def held(self) -> Mapping[str, str]:
        """Requests that are out, with who has them."""

    def described(self, name: str) -> Mapping[str, Any]:
        """What a measurement is told of a candidate."""

    def check_values(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of the metrics, or a DataError."""

    def standing(self) -> Standing:
        """How far the study has come; cheap enough to be asked after every delivery."""


class Progress(NamedTuple):
    """How far a run has come; a callback gets it after every delivery.

    Attributes
    ----------
    study : Study
        To look closer: `study.standing()` is cheap.
    measured, failed, lost, flying : int
        Of this run: told, failed on their own, lost with their worker, and under way.
    seconds : float
        Since the run began.
    busy : float
        Seconds that all measurements took together.
    warming : int
        Warm-up runs that are left.
    waiting : bool
        Whether others hold all that is due.
    """

    study: Any
    measured: int
    failed: int
    lost: int
    flying: int
    seconds: float
    busy: float
    warming: int
    waiting: bool


class Ran(NamedTuple):
    """What a run did, and why it ended.

    Attributes
    ----------
    why : str
        'stopped' (the study wants nothing more), 'measurements' or 'time' (as many as were allowed),
        or 'held' (others have all that is due).
    """

    measured: int
    failed: int
    lost: int
    seconds: float
    why: str


@dataclass
class Limits:
    """What a run may spend.

    Parameters
    ----------
    retries : int
        Times that one request may lose its worker.
    warmup : int
        Runs of every candidate that is due, before the first measurement, that nobody reads.
    """

    measurements: int | None = None
    seconds: float | None = None
    retries: int = 3
    warmup: int = 0
