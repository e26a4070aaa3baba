"""Commands that look in: status and result."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from paretoscope.cli import show
from paretoscope.cli.lazy import DONE
from paretoscope.cli.options import json_option, study_argument
from paretoscope.cli.target import check_target
from paretoscope.study import Metric, Problem, Request, Result, Status, Study
from paretoscope.study.assumptions import plain
from paretoscope.study.columns import Joined, RowNumbers
from paretoscope.study.forecast import as_measured
from paretoscope.study.methods import predicted_need
from paretoscope.study.result import MOST_DRAWN
from paretoscope.study.speech import SHORT, estimates
from paretoscope.table import write_table

# Candidates with their P(in the front) that a status lists.
_LIKELIEST = 8
_CHANCE = "P(front)*"
# Candidates that a terminal lists; of more, those of the front.
_LISTED = 1000
# Metrics side by side on a terminal of 80 columns.
_ABREAST = 3


@click.command("status")
@study_argument
@json_option
@click.pass_context
def status_command(ctx: click.Context, where: str, *, as_json: bool) -> None:
    """Where the study stands, and what comes next.

    The exit code is 3 if it stopped without a certificate, and 6 if all it waits for is out.
    """
    with Study.open(where) as study:
        status = study.status()
        upcoming = study.peek()
        if as_json:
            show.emit(_status_data(study, status, upcoming))
        else:
            _say_status(where, study, status, upcoming)
    ctx.exit(show.standing(status))


def _counts(status: Status) -> dict[str, int]:
    """Candidates by verdict, all verdicts named."""
    return {short: status.counts.get(word, 0) for word, short in SHORT.items()}


def _status_data(study: Study, status: Status, upcoming: Sequence[Request]) -> dict[str, Any]:
    """A status for scripts."""
    result = status.result
    return {
        "round": status.round,
        "done": status.done,
        "due": status.due,
        "outstanding": status.outstanding,
        "candidates": _counts(status),
        "stopped": None if status.stop is None else status.stop.value,
        "certified": result.certified,
        "reason": result.certificate.reason,
        "achieved_epsilon": result.achieved_epsilon,
        "warnings": show.warnings(result),
        "best_guess": result.best_guess,
        "probability_in_front_not_a_guarantee": dict(status.front),
        "next": dict(Counter(request.candidate for request in upcoming)),
        "still_needed_at_most": _still_needed(study, status),
        "method": status.method,
        "method_reason": status.reason,
    }


def _say_status(where: str, study: Study, status: Status, upcoming: Sequence[Request]) -> None:
    """A status for people."""
    show.paragraph(f"{where}: {_state(status)}")
    click.echo()
    show.facts(_facts(study, status, upcoming))
    index = study.problem.candidates.index
    if status.front:
        click.echo()
        likeliest = [
            [name, f"{chance:.2f}", SHORT[status.result.status[index[name]]]]
            for name, chance in status.front[:_LIKELIEST]
        ]
        draw_estimates(status.result, ["likeliest", _CHANCE, "verdict"], likeliest)
        drawn = f", of the {MOST_DRAWN:,} candidates nearest the front" if _is_many(study) else ""
        show.paragraph(
            f"* P(in the front) of a flat-prior t posterior{drawn}: for orientation, not a guarantee"
        )


def _is_many(study: Study) -> bool:
    """Whether the chances are not drawn for all candidates."""
    return study.problem.K > MOST_DRAWN


def _state(status: Status) -> str:
    """Where the study stands, in one sentence."""
    if status.stop is None:
        return f"round {status.round}, measuring"
    if status.result.certified:
        return f"certified at risk {status.result.certificate.delta:g}: {status.stop.value}"
    return f"stopped, {status.stop.value}; NOT certified: {status.result.certificate.reason}"


def _facts(study: Study, status: Status, upcoming: Sequence[Request]) -> Iterator[tuple[str, str]]:
    """Name and content of every line."""
    free = status.due - status.outstanding
    due = f", {status.due} due ({status.outstanding} out, {free} to ask for)" if status.due else ""
    yield "measurements", f"{status.done} done{due}"
    yield "candidates", ", ".join(f"{n} {word}" for word, n in _counts(status).items())
    lines = _epsilon(status.result, study.wishes.epsilon)
    yield "epsilon so far", next(lines)
    yield from (("", line) for line in lines)
    if status.result.pareto_set:
        yield (
            ("Pareto set" if status.stop else "front so far"),
            show.listed(status.result.pareto_set),
        )
    if status.stop is None or not status.result.certified:
        yield "best guess", show.listed(status.result.best_guess) or "none before the first values"
    yield from (("warning", said) for said in show.warnings(status.result))
    if status.stop is None:
        yield "next sheet", _next(upcoming)
        yield "certified", _when(study, status)
    yield "method", f"{status.method}: {status.reason}"


def _epsilon(result: Result, default: float) -> Iterator[str]:
    """What tolerance is certified by now, and which is wanted, per metric."""
    for metric in result.problem.metrics:
        got = show.tolerance(metric, result.achieved_epsilon[metric.name])
        wanted = metric.tolerance if metric.tolerance is not None else default
        if metric.scale == "log":
            wanted = math.expm1(wanted)
        goal = f" ({show.tolerance(metric, wanted)} wanted)" if wanted else ""
        yield f"{metric.name}: {got}{goal}"


def _next(upcoming: Sequence[Request]) -> str:
    """What will be asked next, by candidate."""
    if not upcoming:
        return "comes when those that are out are told"
    counts = Counter(request.candidate for request in upcoming)
    told = [f"{name}×{n}" if n > 1 else name for name, n in counts.items()]
    of = show.count(len(counts), "candidate")
    return f"{show.count(len(upcoming), 'measurement')} of {of}: {show.listed(told)}"


def _still_needed(study: Study, status: Status) -> int | None:
    """Measurements to the end if nothing more is eliminated; None where that cannot be told."""
    if status.stop is not None:
        return 0
    setting = as_measured(study.problem.setting, status.result.found)
    need = predicted_need(study.policy, setting)
    return None if need is None else max(need - status.done, status.due)


def _when(study: Study, status: Status) -> str:
    """When there will be a certificate."""
    guarantee = study.policy.guarantee
    if not guarantee.certified:
        return f"never by this method: {guarantee.reason}"
    if any(a.verdict == "broken" for a in status.result.assumptions):
        return "not while the warning stands: see paretoscope doctor"
    need = _still_needed(study, status)
    if need is None:
        return "cannot be predicted while the noise is unknown"
    more = show.count(need, "more measurement")
    unknown = np.isnan(study.problem.setting.noise.only(study.problem.setting.noisy).sigma).any()
    most = "about" if unknown else "at most"
    seen = " by the noise seen so far" if unknown else ""
    return f"after {most} {more}{seen}; fewer, the more candidates are eliminated"


def draw_estimates(result: Result, head: list[str], rows: Sequence[list[str]]) -> None:
    """Rows with their estimates, a table for every few metrics; a row begins with its candidate."""
    titles = [_titled(metric) for metric in result.problem.metrics]
    found = [estimates(result, result.problem.candidates.index[row[0]]) for row in rows]
    for start in range(0, len(titles), _ABREAST):
        some, front = slice(start, start + _ABREAST), len(head) if start == 0 else 1
        pairs = zip(rows, found, strict=True)
        cells = [[*row[:front], *numbers[some]] for row, numbers in pairs]
        show.draw([*head[:front], *titles[some]], cells, right=[_CHANCE, "n", *titles])
        click.echo()


# ---------------------------------------------------------------- result


@click.command("result")
@study_argument
@click.option("--csv", "path", metavar="FILE", help="The table of all candidates; - is stdout.")
@click.option("--markdown", is_flag=True, help="The table of all candidates for a document.")
@click.option("--all", "everything", is_flag=True, help="Show rejected candidates as well.")
@json_option
@click.pass_context
def result_command(
    ctx: click.Context,
    where: str,
    *,
    path: str | None,
    markdown: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Verdicts, estimates and the certificate.

    Estimates carry 95 % intervals, one at a time; the certificate holds for all verdicts together.
    The exit code is 3 if the study stopped without a certificate.
    """
    check_target(path, where, force=True)
    with Study.open(where) as study:
        status = study.status()
        result = status.result
        if as_json:
            show.emit(result_data(status))
        elif path is not None:
            target = sys.stdout if path == "-" else path
            write_table(result.table(), target, "csv")
        elif markdown:
            click.echo(write_table(result.table(), None, "markdown"), nl=False)
        else:
            say_result(status, everything=everything)
    ctx.exit(DONE if status.stop is None else show.standing(status))


def result_data(status: Status) -> dict[str, Any]:
    """A result for scripts."""
    result, certificate = status.result, status.result.certificate
    return {
        "certified": result.certified,
        "stopped": None if status.stop is None else status.stop.value,
        "pareto_set": result.pareto_set,
        **{word: getattr(result, word) for word in SHORT},
        "achieved_epsilon": result.achieved_epsilon,
        "certificate": {
            "reason": certificate.reason,
            "delta": certificate.delta,
            "epsilon": certificate.epsilon.tolist(),
            "bound": certificate.bound,
            "assumptions": certificate.assumptions,
            "measurements": certificate.pulls,
        },
        "checks": plain(result.assumptions),
        "margins": result.margins,
        "cover": result.cover(),
        "table": result.table(),
    }


def say_result(status: Status, *, everything: bool) -> None:
    """A result for people."""
    result = status.result
    hidden = draw_verdicts(result, everything=everything)
    if hidden:
        show.paragraph(f"{show.count(hidden, 'candidate')} out; --all shows them, too.")
    say_certificate(result)


def draw_verdicts(result: Result, *, everything: bool) -> int:
    """The table of candidates with their estimates; how many were left out because they are out."""
    ids, K = result.problem.candidates.ids, result.problem.K
    wanted = np.ones(K, dtype=bool) if everything else ~result.verdict.rejected
    kept = np.flatnonzero(wanted)
    listed = kept if len(kept) <= _LISTED else np.flatnonzero(result.verdict.answer)[:_LISTED]
    rows = [[ids[k], SHORT[result.status[k]], str(int(result.counts[k]))] for k in listed.tolist()]
    if rows:
        draw_estimates(result, [named(result.problem), "verdict", "n"], rows)
    if len(listed) < len(kept):
        missing = show.count(len(kept) - len(listed), "candidate")
        show.paragraph(f"{missing} more than a terminal can show: --csv FILE has all of them.")
    return K - len(kept)


def named(problem: Problem) -> str:
    """What ids are called: by the parameters, where they are made of these."""
    candidates = problem.candidates
    if isinstance(candidates.ids, Joined):
        return ",".join(candidates.columns)
    if isinstance(candidates.ids, RowNumbers):
        return "candidate"
    columns = list(candidates.columns.values())
    joined = (",".join(map(str, row)) for row in zip(*columns, strict=True))
    return ", ".join(candidates.columns) if [*joined] == [*candidates.ids] else "candidate"


def say_certificate(result: Result) -> None:
    """What is certified, or why nothing is."""
    certificate = result.certificate
    if result.earlier:
        made = show.count(result.earlier, "earlier measurement")
        show.paragraph(f"Estimates contain {made}; verdicts do not.")
    said = "Certified" if result.certified else "Not certified"
    show.paragraph(f"{said}: {certificate.reason}.")
    if result.certified:
        show.paragraph(_certificate(result))
    elif result.undecided and any(map(math.isfinite, result.achieved_epsilon.values())):
        show.paragraph(_reached(result))
    _say_cover(result)
    if certificate.assumptions:
        click.echo("\nAssumed:")
        show.items(sentence.removeprefix("assumed ") for sentence in certificate.assumptions)
    if any(a.verdict != "untested" for a in result.assumptions):
        show.assumptions(result.assumptions, "What was tested of it")


def _reached(result: Result) -> str:
    """The tolerance at which the answer would be complete already."""
    noisy = [metric for metric in result.problem.metrics if not metric.exact]
    reached = [
        f"{metric.name} {show.tolerance(metric, result.achieved_epsilon[metric.name])}"
        for metric in noisy
    ]
    return f"Achieved epsilon, at which nobody would be undecided: {', '.join(reached)}."


def _say_cover(result: Result) -> None:
    """A few that stand for the whole answer, where there are fewer."""
    few, all_of_them = result.cover(), len(result.pareto_set)
    if len(few) < all_of_them:
        are = "is" if len(few) == 1 else "are"
        show.paragraph(
            f"By the estimates {len(few)} of these {all_of_them} {are} within epsilon of all the"
            f" others: {show.listed(few)}."
        )


def _titled(metric: Metric) -> str:
    """Name, direction and unit of a metric, on two lines."""
    return f"{metric.name}\n{metric.goal}" + (f", {metric.unit}" if metric.unit else "")


def _certificate(result: Result) -> str:
    """The certificate's numbers in a sentence; where nothing is noisy there is no inequality."""
    made = result.certificate
    by = f"by {made.bound}, " if made.bound else ""
    return (
        f"With probability at least {1 - made.delta:g} every verdict is right, {by}from"
        f" {show.count(made.pulls, 'measurement')}."
    )
