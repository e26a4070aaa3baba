"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def study_argument(function: F) -> F:
    """The address of a study: a file or postgresql://..."""
    return click.argument("where", metavar="STUDY")(function)


def json_option(function: F) -> F:
    """Output for scripts."""
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(function)


def by_option(function: F) -> F:
    """Who is at work."""
    return click.option(
        "--who", "by", default="", metavar="NAME", help="Who measures: told by another is surplus."
    )(function)


def rows_option(function: F) -> F:
    """What a row of a sheet stands for."""
    return click.option(
        "--by",
        "rows",
        type=click.Choice(["measurement", "candidate"]),
        default="measurement",
        help="One row per measurement, or per candidate with n, mean and sd.",
    )(function)


def sheet_options(function: F) -> F:
    """How the CSV file is written."""
    marks = click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal mark of the CSV file."
    )
    return click.option("--delimiter", metavar="CHAR", help="Delimiter of the CSV file.")(
        marks(function)
    )
