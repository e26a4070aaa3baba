"""Commands that begin a study: init, create, plan."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from paretoscope.cli import show, terms
from paretoscope.cli.options import definition_options, json_option, study_argument
from paretoscope.errors import UsageError
from paretoscope.study import Metric, Problem, Study
from paretoscope.study.evidence import Scale
from paretoscope.study.forecast import NoOutlook, Outlook
from paretoscope.study.methods import Option, method_to_plain

# Share of the budget above which it counts as spent.
_NEARLY = 0.95
TEMPLATE = """\
# A study for `paretoscope create NAME.study --config THIS_FILE`.
# Lines that begin with # are not read: take the # away where you need one.

candidates = "candidates.csv"   # one row each, beside this file
id = "id"                       # the column that names them

# The means are assumed linear in these; leave it out to assume nothing.
# features = ["width", "depth"]           # columns: numbers scaled, text one-hot
# features = "width + log(depth)"         # or a formula
# intercept = true

delta = 0.05                    # risk that any verdict is wrong
epsilon = 0.05                  # differences up to this do not matter; "2%" with scale = "log"

# method = "auto"               # or race, gege, racing, fixed, ege-sh, ege-sr, oneshot, uniform
# budget = 500                  # measurements at most
# batches = 10                  # sheets at most, with
# batch_size = 12               # so many measurements each
# time = "2h"
# seed = 1

[[metrics]]
name = "quality"
goal = "max"
# sigma = 0.1                   # noise of one measurement; left out: unknown, and learnt
# bounds = [0, 1]               # or values between these, whatever the noise

[[metrics]]
name = "cost"
goal = "min"
unit = "ms"
# scale = "log"                 # ratios matter, and epsilon may be per cent
# epsilon = 2                   # its own, in place of the one above
# misfit = 0.05                 # what the linear means may miss
# resolution = 0.1              # step of the recorded values
# exact = true                  # no noise: measured once
# known = "price"               # exact, and a column of the candidates
# kind = "proportion"           # of so many trials in one measurement:
# of = 20
"""


@click.command("init")
@click.argument("path", metavar="[FILE]", default="study.toml")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def init_command(path: str, *, force: bool, as_json: bool) -> None:
    """Write a commented study.toml to fill in."""
    if Path(path).exists() and not force:
        raise UsageError(f"{path} is there already: give another name, or --force")
    Path(path).write_text(TEMPLATE, encoding="utf-8")
    if as_json:
        show.emit({"file": path})
    else:
        click.echo(f"Wrote {path}. Fill it in, then: paretoscope create NAME.study --config {path}")


@click.command("create")
@study_argument
@definition_options
@json_option
def create_command(where: str, *, as_json: bool, **given: Any) -> None:  # noqa: ANN401
    """Make a study from candidates and metrics, and say what was understood.

    A --sigma, --bounds, --resolution or --epsilon of a metric is written METRIC=VALUE; a bare
    --epsilon holds for every metric that has none of its own.
    """
    made = terms.definition(terms.from_options(given))
    with Study.create(where, **made) as study:
        if as_json:
            show.emit(understood(study))
        else:
            _say_created(where, study)


# ---------------------------------------------------------------- what was understood


def understood(study: Study) -> dict[str, Any]:
    """The definition of a study, for scripts."""
    problem, wishes = study.problem, study.wishes
    made = problem.features
    features = None if made is None else {"names": made.names, "said": made.said}
    return {
        "candidates": problem.K,
        "metrics": [metric.to_plain() for metric in problem.metrics],
        "features": features,
        "method": _name(study),
        "reason": study.reason,
        "wishes": vars(wishes),
        "plan": study.plan(),
    }


def _name(study: Study) -> str:
    """The method of a study as it is written down."""
    return str(method_to_plain(study.policy)["policy"])


def _say_created(where: str, study: Study) -> None:
    """The definition of a study, for people."""
    problem = study.problem
    metrics = show.count(problem.d, "metric")
    show.paragraph(f"{where}: {show.count(problem.K, 'candidate')}, {metrics}.")
    click.echo()
    rows = [_metric_row(metric, study.wishes.epsilon) for metric in problem.metrics]
    show.draw(["metric", "goal", "unit", "scale", "noise", "epsilon"], rows)
    click.echo()
    show.facts(
        [
            ("features", _features(study)),
            ("method", f"{_name(study)}: {study.reason}"),
            ("risk", f"{study.wishes.delta:g} of any wrong verdict"),
            *(("plan", f"{o.name}: {pulls(o)}; {o.said}") for o in study.plan()),
            ("next", f"paretoscope ask {where} --csv batch.csv"),
        ]
    )


def _metric_row(metric: Metric, default: float) -> list[str]:
    """One metric in words; the method's tolerance where it has none of its own."""
    epsilon = f"{default:g}" if metric.epsilon is None else show.plain_number(metric.epsilon)
    return [metric.name, metric.goal, metric.unit, metric.scale, show.noise(metric), epsilon]


def _features(study: Study) -> str:
    """The columns of the linear model, and how they were made."""
    made = study.problem.features
    if made is None:
        return "none: every candidate has means of its own"
    return f"{show.listed(made.names)} ({made.said})"


def pulls(option: Option) -> str:
    """Predicted measurements of a method."""
    if option.low is None:
        return "does not apply"
    if option.high is None:
        return f"at least {option.low:,} measurements"
    if option.low == option.high:
        return f"{option.high:,} measurements"
    return f"{option.low:,} to {option.high:,} measurements"


@click.command("plan")
@study_argument
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="A budget to try.")
@click.option("--pilot", is_flag=True, help="What the measurements so far say of the noise.")
@json_option
def plan_command(where: str, *, budget: int | None, pilot: bool, as_json: bool) -> None:
    """Predict what each method would measure, and what the budget will buy.

    The upper number of measurements is what it takes if no candidate is ever eliminated. What the
    budget will buy is simulated, in worlds like this one as far as it is known.
    """
    with Study.open(where) as study:
        if pilot:
            _say_pilot(study.pilot(), as_json=as_json)
            return
        options, runs = study.plan(budget), _name(study)
        outlook = study.outlook(budget=budget)
        if as_json:
            show.emit({"method": runs, "options": options, "outlook": outlook})
            return
        rows = [(o.name, pulls(o).removesuffix(" measurements"), o.said) for o in options]
        show.draw(["method", "measurements", "remarks"], rows)
        click.echo()
        show.paragraph(f"This study runs {runs}: {study.reason}.")
        click.echo()
        show.paragraph(foreseen(outlook, study.problem))


def _say_pilot(found: list[Scale], *, as_json: bool) -> None:
    """The noise that replicates show, and what to make of it."""
    if as_json:
        show.emit(found)
        return
    cells = [
        [s.metric, show.number(s.sigma), show.number(s.low), show.number(s.high), str(s.nu)]
        for s in found
    ]
    show.draw(["metric", "sigma", "low", "high", "spare"], cells, right=["sigma", "low", "high"])
    show.paragraph(
        "95 % limits from replicates; spare = replicates beyond the first of each candidate. With"
        " 10 spare ones the upper limit is 1.75 times the estimate, with 20 1.44, with 50 1.24."
    )
    known = [f"--sigma {s.metric}={s.high:.3g}" for s in found if math.isfinite(s.high)]
    if known:
        show.paragraph(f"To declare the noise in a new study, on the safe side: {' '.join(known)}")


def foreseen(outlook: Outlook | NoOutlook, problem: Problem) -> str:
    """What the budget will buy, in two or three sentences."""
    if isinstance(outlook, NoOutlook):
        return f"What a budget buys: {outlook.reason}. Try one with --budget N."
    used = round(outlook.measurements)
    design = outlook.budget - outlook.checks
    tests = f" ({outlook.checks} of them to test the linear model)" if outlook.checks else ""
    if used == 0 and outlook.undecided:
        return f"{outlook.budget} measurements buy nothing by {outlook.method}: not even its first round."
    near = f", {round(outlook.near)} near" if round(outlook.near) else ""
    spent = "" if used > _NEARLY * design else f" About {used} of {design} would be made."
    return (
        f"{outlook.budget} fit{tests}: expect {round(outlook.out)} out, {round(outlook.inside)} in{near},"
        f" epsilon {_tolerances(outlook, problem)}.{spent} Of {problem.K} candidates by"
        f" {outlook.method}, simulated {outlook.runs} times, assuming {outlook.assumed}: an"
        " expectation, not a promise."
    )


def _tolerances(outlook: Outlook, problem: Problem) -> str:
    """What will be certified of what is kept, metric by metric."""
    said = []
    for metric in problem.metrics:
        value = outlook.epsilon.get(metric.name)
        if value is None:
            continue
        bare = metric.name in outlook.relative and math.isfinite(value)
        text = f"{value:.2g} times the noise" if bare else show.tolerance(metric, value)
        said.append(f"{text} ({metric.name})")
    return ", ".join(said) or "0"
