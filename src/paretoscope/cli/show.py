"""What a terminal shows, and what a script reads: tables, numbers, JSON."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from paretoscope.cli.lazy import DONE, OUTSTANDING, UNCERTIFIED
from paretoscope.study import Result, Status
from paretoscope.study.assumptions import Assumption
from paretoscope.study.speech import count, noise, number, tolerance

__all__ = ["count", "noise", "number", "tolerance"]  # said in the study, shown here

# Characters of listed ids before "and N more".
_LISTED = 120
_MARKS = {"holds": "ok", "broken": "BROKEN", "noticed": "LOOK", "untested": "untested"}
# Verdicts on an assumption that a person should hear of at once.
_ALARMS = {"broken", "noticed"}


def emit(data: Any) -> None:  # noqa: ANN401  (JSON values and named tuples)
    """Data as JSON on stdout; what is not finite is null."""
    click.echo(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(value: Any) -> Any:  # noqa: ANN401
    """JSON values of named tuples, mappings and lists."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def printable(text: object) -> str:
    """Text without anything a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def plain_number(value: float | str) -> str:
    """A setting as it was written: text as it is."""
    return value if isinstance(value, str) else f"{value:g}"


def draw(header: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[str] = ()) -> None:
    """A table on the terminal, with the columns in ``right`` aligned to the right."""
    from rich import box  # noqa: PLC0415  (only where a table is drawn)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    numbers = {*right}
    for name in header:  # numbers and verdicts are never broken: names give way
        if name in numbers:
            table.add_column(Text(name), justify="right", no_wrap=True)
        else:
            table.add_column(Text(name), overflow="fold", no_wrap=name == "verdict", min_width=9)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(file=sys.stdout, highlight=False).print(table)


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and what there is to say of each, aligned and wrapped to the terminal.

    A line without a name continues the one above.
    """
    said = [(name, printable(text)) for name, text in pairs if text]
    left = max((len(name) for name, _ in said), default=0) + 2
    room = max(width() - left, 20)
    for name, text in said:
        wrapped = click.wrap_text(text, room) if text else ""
        first, *more = wrapped.splitlines() or [""]
        click.echo(name.ljust(left) + first)
        for line in more:
            click.echo(" " * left + line)


def paragraph(text: str) -> None:
    """A sentence or two, wrapped to the terminal."""
    click.echo(click.wrap_text(printable(text), width()))


def items(sentences: Iterable[str]) -> None:
    """Sentences as a list, each wrapped to the terminal."""
    for said in sentences:
        text = click.wrap_text(printable(said), width(), "- ", "  ")
        click.echo(text)


def warnings(result: Result) -> list[str]:
    """What speaks against a certificate, or asks for a look, as far as it was tested."""
    return [sentence(a) for a in result.assumptions if a.verdict in _ALARMS]


def assumptions(found: Sequence[Assumption], heading: str) -> None:
    """What a certificate assumes: what was tested of it, the p-value, the verdict, the remedy."""
    if not found:
        return
    click.echo(f"\n{heading}:")
    facts([(f"{_MARKS[a.verdict]:8}  {a.name}", sentence(a)) for a in found])
    if any(a.verdict == "broken" for a in found):
        click.echo("Nothing is certified while an assumption is broken.")


def sentence(a: Assumption) -> str:
    """One assumption in a line: what was seen, the p-value, the remedy."""
    p = "" if a.p is None or "p =" in a.said else f" (p = {a.p:.2g})"
    remedy = f". {a.remedy[0].upper()}{a.remedy[1:]}" if a.remedy else ""
    return f"{a.said}{p}{remedy}"


def width() -> int:
    """Columns of the terminal, at most a readable line."""
    return min(shutil.get_terminal_size((80, 24)).columns, 100)


def between(ids: Iterable[str]) -> str:
    """What stands between ids in a row: a comma, unless ids hold commas themselves.

    >>> between(["a", "b"]), between(["8,x", "8,y"])
    (', ', '; ')
    """
    return "; " if any("," in name for name in ids) else ", "


def listed(ids: Sequence[str]) -> str:
    """Ids in a row, as many as two lines hold, and how many more there are."""
    lengths = itertools.accumulate(len(name) + 2 for name in ids)
    most = max(1, sum(length <= _LISTED for length in lengths))
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return between(ids).join(ids[:most]) + more


def standing(status: Status) -> int:
    """The exit code of a study as it stands."""
    if status.stop is not None:
        return DONE if status.result.certified else UNCERTIFIED
    waiting = status.outstanding and status.outstanding == status.due
    return OUTSTANDING if waiting else DONE
