"""A command with places for the values of a candidate: each value is one argument, whatever it holds.

Without a shell the command is split once, before any value is put in. With one (opt-in) the values
never enter the text that the shell reads: a place becomes ``"$PARETOSCOPE_NAME"``, and the value waits
in the environment.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretoscope.errors import UsageError

PREFIX = "PARETOSCOPE_"
# Where the command may write its metrics, and what names the candidate.
METRICS_FILE, ID = "metrics_file", "id"
# A place, or a brace that was doubled to be meant as it is; ${NAME} belongs to the shell.
_PLACE = re.compile(r"\{\{|\}\}|(?<!\$)\{([^{}\s]+(?: [^{}\s]+)*)\}")
_WORD = re.compile(r"[^\W\d]\w*")


def variable(name: str) -> str:
    """The environment variable of a column.

    >>> variable("cache size")
    'PARETOSCOPE_CACHE_SIZE'
    """
    return PREFIX + re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def variables(values: Mapping[str, Any]) -> dict[str, str]:
    """The environment variables of a candidate."""
    return {variable(name): str(value) for name, value in values.items()}


def check_columns(columns: Sequence[str]) -> None:
    """Refuse columns that would share an environment variable."""
    seen: dict[str, str] = {}
    for name in [*columns, METRICS_FILE, ID]:
        before = seen.setdefault(variable(name), name)
        if before != name:
            raise UsageError(
                f"columns {before!r} and {name!r} would both be {variable(name)} for the command:"
                " rename one"
            )


@dataclass(frozen=True)
class Template:
    """A command, split into arguments; with ``shell`` one text for it."""

    parts: tuple[str, ...]
    shell: bool = False

    @staticmethod
    def of(words: Sequence[str], *, shell: bool = False) -> Template:
        """The template of a command line; one word with spaces in it is split as a shell would.

        Raises
        ------
        UsageError
            If there is no command, or its quotes do not close.
        """
        if shell:
            text = words[0] if len(words) == 1 else shlex.join(words)
            return Template((text,), True)
        try:
            parts = shlex.split(words[0]) if len(words) == 1 else list(words)
        except ValueError as error:
            raise UsageError(f"command {words[0]!r}: {str(error).lower()}") from None
        if not parts or not parts[0]:
            raise UsageError("give the command to measure, after --")
        return Template(tuple(parts))

    def check(self, columns: Sequence[str]) -> None:
        """Refuse places that no column fills, and with a shell places inside quotes."""
        known = {*columns, METRICS_FILE, ID}
        for part in self.parts:
            for found in _PLACE.finditer(part):
                name = found[1]
                if name is not None and name not in known and _WORD.fullmatch(name):
                    raise UsageError(
                        f"{{{name}}} in the command is no column: there are"
                        f" {', '.join(columns) or 'none'}; write {{{{{name}}}}} for the text itself"
                    )
                if self.shell and name in known and _inside_quotes(part[: found.start()]):
                    raise UsageError(
                        f"{{{name}}} stands inside quotes: take them away, the value is quoted"
                    )

    def uses(self, name: str) -> bool:
        """Whether the command has a place of this name."""
        return any(found[1] == name for part in self.parts for found in _PLACE.finditer(part))

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """The arguments for a candidate."""

        def put(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return found[0][0]
            if name not in values:
                return found[0]
            return f'"${{{variable(name)}}}"' if self.shell else str(values[name])

        filled = [_PLACE.sub(put, part) for part in self.parts]
        return ["/bin/sh", "-c", *filled] if self.shell else filled


def _inside_quotes(before: str) -> bool:
    """Whether a shell that has read this text is inside quotes."""
    quote, skip = "", False
    for letter in before:
        if skip:
            skip = False
        elif letter == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
    return bool(quote)
