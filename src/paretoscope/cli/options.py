"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def definition_options(function: F) -> F:
    """Everything that defines a study; `terms.from_options` reads what they give."""
    for option in reversed(_DEFINITION):
        function = option(function)
    return sheet_options(function)


_DEFINITION: list[Callable[[Any], Any]] = [
    click.option("--config", metavar="FILE", help="A study.toml; options given here win over it."),
    click.option("-C", "--candidates", metavar="FILE", help="CSV file, one row per candidate."),
    click.option("--id", metavar="COLUMN", help="Column that names the candidates."),
    click.option("--features", metavar="TEXT", help="A formula, or columns between commas."),
    click.option("--no-intercept", "intercept", flag_value=False, default=None, type=bool),
    click.option(
        "-m",
        "--metric",
        "short",
        multiple=True,
        metavar="NAME:GOAL[:UNIT[:log...]]",
        help="A metric.",
    ),
    click.option("--sigma", multiple=True, metavar="METRIC=S", help="Noise, or unknown (default)."),
    click.option("--bounds", multiple=True, metavar="METRIC=LOW,HIGH", help="Range of the values."),
    click.option("--resolution", multiple=True, metavar="METRIC=STEP", help="Step of the values."),
    click.option("--misfit", multiple=True, metavar="METRIC=Z", help="What linear means may miss."),
    click.option(
        "--epsilon", multiple=True, metavar="[METRIC=]E", help="Tolerance, or 2% with log."
    ),
    click.option("--delta", type=float, help="Risk of any wrong verdict (0.05)."),
    click.option(
        "--method", help="auto, race, gege, racing, fixed, ege-sh, ege-sr, oneshot or uniform."
    ),
    click.option("--budget", type=int, help="Measurements at most."),
    click.option("--time", help="Time at most: 90s, 30min, 2h, 5d."),
    click.option("--batches", type=int, help="Sheets at most."),
    click.option("--batch-size", type=int, help="Measurements of one sheet."),
    click.option("--seed", type=int, help="Of the order of measurements (0)."),
]


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
