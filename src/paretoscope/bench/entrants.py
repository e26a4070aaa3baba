"""From the words of an experiment, or of a command line, to a policy."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import paretoscope
from paretoscope.bench.experiment import Entrant, Experiment, Value
from paretoscope.core.gaps import Complexity
from paretoscope.errors import UsageError
from paretoscope.policies.base import Policy

# a setting with a text between quotes is one word, the quotes stay: TOML wants them
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")


def policy_of(
    entrant: Entrant, experiment: Experiment, value: Value, complexity: Complexity
) -> Policy[Any]:
    """The policy: its class with the goal of the experiment, then its own settings.

    Raises
    ------
    UsageError
        If there is no such class, or it does not take these settings.
    """
    kind = class_of(entrant.policy)
    wanted = goal_of(experiment, value, complexity) | entrant.settings
    settings = {key: tuple(v) if isinstance(v, list) else v for key, v in wanted.items()}
    try:
        policy: Policy[Any] = kind(**settings)
    except TypeError as error:
        raise UsageError(f"{entrant.policy} cannot be made with {settings}: {error}") from None
    return policy


def goal_of(experiment: Experiment, value: Value, complexity: Complexity) -> dict[str, Any]:
    """What every policy of the experiment is asked for: a budget or a risk, as numbers."""
    goal = dict(experiment.goal)
    budget = goal.get("budget")
    if isinstance(budget, str):
        goal["budget"] = int(value) if budget == "T" else round(getattr(complexity, budget))
    return goal


def class_of(name: str) -> Any:  # noqa: ANN401  (a class, or a function that returns a policy)
    """A policy of the package, or ``module:Class`` of anybody's, the present folder included.

    Raises
    ------
    UsageError
        If it cannot be imported.
    """
    module, colon, attribute = name.rpartition(":")
    if not colon:
        if name not in paretoscope.__all__ or not callable(getattr(paretoscope, name)):
            raise UsageError(f"policy {name!r} is not in the package: module:Class for your own")
        return getattr(paretoscope, name)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ImportError as error:
        raise UsageError(f"policy {name!r}: {error}") from error
    if not callable(getattr(found, attribute, None)):
        raise UsageError(f"policy {name!r}: {module} has no class {attribute!r}")
    return getattr(found, attribute)


def stranger(words: str) -> Entrant:
    """An entrant from ``module:Class [setting=value ...]``, values as TOML writes them.

    >>> stranger("mine:Greedy width=0.5 name='so called'").settings
    {'width': 0.5, 'name': 'so called'}
    """
    policy, *pairs = _WORD.findall(words) or [""]
    settings = dict(_setting(pair, words) for pair in pairs)
    return Entrant(policy.partition(":")[2] or policy, policy, settings)


def _setting(pair: str, words: str) -> tuple[str, Any]:
    """A name and its value; what is no value of TOML is text."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise UsageError(f"{words!r}: write setting=value, not {pair!r}")
    try:
        return name, tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return name, text


def fingerprint(entrant: Entrant) -> str:
    """Of the source of somebody's own policy: cells of an edited one are run again."""
    if ":" not in entrant.policy:
        return ""
    source = inspect.getsourcefile(class_of(entrant.policy))
    if source is None or not os.path.isfile(source):  # noqa: PTH113  (what inspect returns)
        return ""
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()[:16]
