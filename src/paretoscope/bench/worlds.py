"""The instance that a world and a place on the axis stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretoscope.bench import datasets
from paretoscope.bench.experiment import Value, World
from paretoscope.errors import UsageError
from paretoscope.sim.instances import Instance, energy, noc, random_instance, synthetic

Folder = str | Path | None
# Axes that another instance belongs to; along the others the world stays.
_IN_THE_INSTANCE = {"K", "shape"}


def instance_of(world: World, axis: str, value: Value, folder: Folder = None) -> Instance:
    """The instance; data sets are found in ``folder``, see `datasets`.

    Raises
    ------
    UsageError
        If the kind of the world is unknown, or it needs something it does not say.
    DataError
        If a data set is not to be had.
    """
    if world.kind not in _KINDS:
        raise UsageError(f"world {world.name!r}: kind {world.kind!r} is none of {sorted(_KINDS)}")
    settings = world.settings | ({axis: value} if axis in _IN_THE_INSTANCE else {})
    try:
        return _KINDS[world.kind](settings, folder)
    except KeyError as error:
        raise UsageError(f"world {world.name!r} does not say {error}") from None


def name_of(world: World, axis: str, value: Value) -> str:
    """What the instance depends on, as text: equal names are equal instances."""
    return f"{world.kind} {world.settings} {value if axis in _IN_THE_INSTANCE else ''}"


def _synthetic(given: dict[str, Any], folder: Folder) -> Instance:
    """nu_K of the paper, by our own recipe: the paper does not print its vectors."""
    del folder
    return synthetic(
        given["K"], given.get("mode", "inside"), given.get("seed", 0), given.get("sigma", 1.0)
    )


def _noc(given: dict[str, Any], folder: Folder) -> Instance:
    """Network on chip, as published or sound."""
    return noc(datasets.find(datasets.NOC, folder), given["variant"], given["sigma"])


def _energy(given: dict[str, Any], folder: Folder) -> Instance:
    """Energy efficiency, as published or sound."""
    return energy(datasets.find(datasets.ENERGY, folder), given["variant"], given["sigma"])


def _random(given: dict[str, Any], folder: Folder) -> Instance:
    """Gaussian features and parameters of the shape "K, h, d"."""
    del folder
    K, h, d = (int(size) for size in str(given["shape"]).split(","))
    return random_instance(K, h, d, given["gap"], given.get("seed", 0), given["sigma"])


def _points(given: dict[str, Any], folder: Folder) -> Instance:
    """Named means without features."""
    del folder
    return Instance(None, list(given["means"].values()), given.get("sigma", 1.0))


_KINDS: dict[str, Callable[[dict[str, Any], Folder], Instance]] = {
    "synthetic": _synthetic,
    "noc": _noc,
    "energy": _energy,
    "random": _random,
    "points": _points,
}
