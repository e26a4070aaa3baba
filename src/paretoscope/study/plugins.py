"""Policies of other packages, found by the entry point ``paretoscope.policies``.

A study that names one opens wherever the package that brings it is installed; nothing else is ever
imported because a file says so. Our own names come first.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from paretoscope.errors import DataError, UsageError

GROUP = "paretoscope.policies"
# What a policy's settings may be called if a study's own terms are to reach them.
_TERMS = ("delta", "epsilon", "budget")


@cache
def installed() -> dict[str, EntryPoint]:
    """The policies of other packages by name; none is imported."""
    return {found.name: found for found in entry_points(group=GROUP)}


def name_of(kind: type) -> str | None:
    """The name under which a policy is installed, or None."""
    value = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, found in installed().items() if found.value == value), None)


def load(name: str) -> Any:  # noqa: ANN401  (the class of any policy)
    """The class of an installed policy, or None if there is none of that name.

    Raises
    ------
    DataError
        If its package cannot be imported.
    UsageError
        If it is no dataclass, so that its settings could not be written down.
    """
    found = installed().get(name)
    if found is None:
        return None
    try:
        kind = found.load()
    except (ImportError, AttributeError) as problem:
        raise DataError(
            f"the policy {name!r} ({found.value}) cannot be loaded: {problem}"
        ) from None
    if not is_dataclass(kind):
        raise UsageError(f"the policy {name!r} must be a frozen dataclass of its settings")
    return kind


def make(name: str, terms: dict[str, Any]) -> Any:  # noqa: ANN401  (any policy)
    """An installed policy with those terms of a study that it has; None if there is none."""
    kind = load(name)
    if kind is None:
        return None
    known = {field.name for field in fields(kind)}
    given = {term: terms[term] for term in _TERMS if term in known and terms[term] is not None}
    return kind(**given)
