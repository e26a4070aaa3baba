"""Experiments as TOML files: worlds, what varies in them, and who takes part.

::

    name = "figure1"                 title, kind, axis, values, runs, seed
    goal = { budget = "H2_lin" }     or { budget = "T" }, the axis; or { delta = 0.01 }
    [[worlds]]                       name, kind, and what the kind needs; values of its own, `without`
    [[entrants]]                     name, policy, settings; `most` runs where one takes long

Every name is checked: a word that means nothing here is refused with the words that do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from importlib.resources import files
from typing import Any, Literal, TypeVar

from paretoscope.errors import UsageError

Kind = Literal["runs", "bounds", "times", "gaps"]
KINDS = ("runs", "bounds", "times", "gaps")
Value = int | float | str
T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """A family of instances: the axis picks one of them.

    Attributes
    ----------
    kind : str
        'synthetic', 'noc', 'energy', 'random' or 'points'; see `worlds`.
    settings : dict
        What the kind needs, sigma above all.
    values : tuple
        Places on the axis, where they are not those of the experiment.
    without : tuple of str
        Entrants that do not take part here, and `because`: why.
    """

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    values: tuple[Value, ...] = ()
    without: tuple[str, ...] = ()
    because: str = ""


@dataclass(frozen=True)
class Entrant:
    """A policy that takes part.

    Attributes
    ----------
    policy : str
        A name of the package, or ``module:Class`` of anybody's.
    settings : dict
        Beside what the goal of the experiment says.
    published : bool
        Whether the paper ran it like this.
    most : int or tuple of int
        Runs at most, everywhere or at each value of the axis: for what takes long. 0: not run there.
    max_pulls : int, optional
        A run is broken off here, and counted as such.
    """

    name: str
    policy: str
    settings: dict[str, Any] = field(default_factory=dict)
    published: bool = False
    most: int | tuple[int, ...] | None = None
    max_pulls: int | None = None


@dataclass(frozen=True)
class Experiment:
    """What one figure or table of the paper needs."""

    name: str
    title: str
    kind: Kind
    axis: str
    values: tuple[Value, ...]
    runs: int
    seed: int
    worlds: tuple[World, ...]
    entrants: tuple[Entrant, ...]
    goal: dict[str, Any] = field(default_factory=dict)
    figure: str = ""
    label: str = ""

    def places(self, world: World) -> tuple[Value, ...]:
        """Values of the axis in a world."""
        return world.values or self.values

    def runs_of(self, entrant: Entrant, place: int, runs: int | None = None) -> int:
        """Runs of an entrant at the place-th value of the axis, when ``runs`` are asked for."""
        asked = self.runs if runs is None else runs
        most = entrant.most[place] if isinstance(entrant.most, tuple) else entrant.most
        return asked if most is None else min(asked, most)


def names() -> list[str]:
    """Every experiment of the package, in the order of the paper."""
    folder = files("paretoscope.bench") / "experiments"
    found = (item.name for item in folder.iterdir() if item.name.endswith(".toml"))
    order = ["figure", "table", "illustration"]
    stems = [name.removesuffix(".toml") for name in found]
    return sorted(stems, key=lambda s: (order.index(s.rstrip("0123456789")), s))


def load(name: str) -> Experiment:
    """An experiment of the package by its name.

    Raises
    ------
    UsageError
        If there is none of this name.

    >>> load("figure1").goal
    {'budget': 'H2_lin'}
    """
    if name not in names():
        raise UsageError(f"experiment {name!r} is unknown: one of {', '.join(names())}")
    folder = files("paretoscope.bench") / "experiments"
    return parse((folder / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def parse(text: str, source: str) -> Experiment:
    """An experiment from the text of a TOML file.

    Raises
    ------
    UsageError
        If the file says something that means nothing.
    """
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: {error}") from None
    worlds = [_world(source, item) for item in plain.pop("worlds", [])]
    entrants = [_entrant(source, item) for item in plain.pop("entrants", [])]
    more = {"worlds": tuple(worlds), "entrants": tuple(entrants)}
    found = _made(Experiment, source, _frozen(plain) | more)
    _check(found, source)
    return found


def _world(source: str, plain: dict[str, Any]) -> World:
    """A world; what is no word of every world is a setting of its kind."""
    own = {f.name for f in fields(World)} - {"settings"}
    settings = {key: value for key, value in plain.items() if key not in own}
    said = {key: value for key, value in plain.items() if key in own}
    return _made(World, source, _frozen(said) | {"settings": settings})


def _entrant(source: str, plain: dict[str, Any]) -> Entrant:
    """An entrant of a file."""
    return _made(Entrant, source, _frozen(plain))


def _frozen(plain: dict[str, Any]) -> dict[str, Any]:
    """Lists as tuples."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}


def _made(kind: type[T], source: str, plain: dict[str, Any]) -> T:
    """A dataclass from its words, each of which it must know."""
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]  # all three are dataclasses
    strange = [key for key in plain if key not in known]
    if strange:
        raise UsageError(f"{source}: {strange[0]!r} means nothing here: one of {', '.join(known)}")
    try:
        return kind(**plain)
    except TypeError as error:
        raise UsageError(f"{source}: {error}") from None


def _check(experiment: Experiment, source: str) -> None:
    """Refuse what could only fail later."""
    if experiment.kind not in KINDS:
        raise UsageError(f"{source}: kind {experiment.kind!r} is none of {', '.join(KINDS)}")
    if not experiment.worlds or not all(experiment.places(w) for w in experiment.worlds):
        raise UsageError(f"{source}: every world needs values on the axis")
    for what, things in (("world", experiment.worlds), ("entrant", experiment.entrants)):
        _once(source, what, (thing.name for thing in things))
    taking_part = {entrant.name for entrant in experiment.entrants}
    for world in experiment.worlds:
        for name in sorted({*world.without} - taking_part):
            raise UsageError(f"{source}: {world.name!r} is without {name!r}, which nobody is")
    for entrant in experiment.entrants:
        if isinstance(entrant.most, tuple):
            _check_caps(experiment, entrant.name, len(entrant.most), source)


def _check_caps(experiment: Experiment, name: str, caps: int, source: str) -> None:
    """One cap on the runs for every place on the axis, in every world."""
    for world in experiment.worlds:
        places = len(experiment.places(world))
        if caps != places:
            raise UsageError(f"{source}: {name!r} has {caps} caps for {places} values")


def _once(source: str, what: str, given: Iterable[str]) -> None:
    """Refuse a name that comes twice."""
    seen: set[str] = set()
    for name in given:
        if name in seen:
            raise UsageError(f"{source}: two {what}s are called {name!r}")
        seen.add(name)
