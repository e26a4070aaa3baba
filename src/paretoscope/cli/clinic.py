"""Commands for a study that may be ill: doctor and reframe."""

from __future__ import annotations

from typing import Any

import click

from paretoscope.cli import show, terms
from paretoscope.cli.lazy import STORE, UNCERTIFIED
from paretoscope.cli.options import json_option, study_argument
from paretoscope.errors import UsageError
from paretoscope.ledger import open_ledger
from paretoscope.study import Study
from paretoscope.study.assumptions import LINEAR, Assumption, plain
from paretoscope.study.exchange import Finding, examine
from paretoscope.study.remedy import Proposal

_MARKS = {"holds": "ok", "broken": "BROKEN", "noticed": "LOOK", "untested": "untested"}


@click.command("doctor")
@study_argument
@json_option
@click.pass_context
def doctor_command(ctx: click.Context, where: str, *, as_json: bool) -> None:
    """Check that a study is whole, and test what its certificate assumes; nothing is changed.

    The exit code is 5 if the study is damaged, and 3 if an assumption is broken.
    """
    with open_ledger(where, create=False) as ledger:
        findings = examine(ledger)
    sound = all(finding.fine for finding in findings)
    found: tuple[Assumption, ...] = ()
    ways: list[Proposal] = []
    if sound:
        with Study.open(where) as study:
            found = study.result().assumptions
            ways = study.proposals() if _crooked(found) else []
    broken = any(a.verdict == "broken" for a in found)
    if as_json:
        said = [{**w._asdict(), "features": w.features and w.features.names} for w in ways]
        checks = {"findings": findings, "assumptions": plain(found), "proposals": said}
        show.emit({"sound": sound, "broken": broken, **checks})
    else:
        _say_checks(findings)
        _say_assumptions(found)
        _say_ways(where, ways)
    ctx.exit(STORE if not sound else UNCERTIFIED if broken else 0)


def _crooked(found: tuple[Assumption, ...]) -> bool:
    """Whether the linear model was refused."""
    return any(a.name == LINEAR and a.verdict == "broken" for a in found)


def _say_checks(findings: list[Finding]) -> None:
    """Whether the study is whole."""
    show.facts(
        [(f"{'ok' if f.fine else 'WRONG':8}  {f.check}", f.said) for f in findings],
    )
    sound = all(finding.fine for finding in findings)
    click.echo("The study is whole." if sound else "The study is damaged: restore a copy.")


def _say_assumptions(found: tuple[Assumption, ...]) -> None:
    """What the certificate assumes, each with its test, its verdict and the remedy."""
    if not found:
        return
    click.echo("\nWhat the certificate assumes:")
    show.facts([(f"{_MARKS[a.verdict]:8}  {a.name}", show.sentence(a)) for a in found])
    if any(a.verdict == "broken" for a in found):
        click.echo("Nothing is certified while an assumption is broken.")


def _say_ways(where: str, ways: list[Proposal]) -> None:
    """What to do about a linear model that does not fit, and what each way costs."""
    if not ways:
        return
    click.echo("\nWays on (what was measured becomes history):")
    rows = [[w.name, str(w.h), _cost(w), w.said] for w in ways]
    show.draw(["way", "h", "measurements", "what"], rows, right=["h"])
    click.echo(f"For example: paretoscope reframe {where} --features ... --reason crooked")


def _cost(way: Proposal) -> str:
    """Predicted measurements of a proposal."""
    low, high = way.option.low, way.option.high
    if low is None:
        return "does not apply"
    return f"{low} to {high}" if high is not None and high != low else f"{low} or more"


@click.command("reframe")
@study_argument
@click.option("--features", metavar="TEXT", help="A formula, columns, or products: a,b,a^2,a:b.")
@click.option("--no-features", is_flag=True, help="Every candidate on its own.")
@click.option("--add-missing", is_flag=True, help="Add the terms that the residuals ask for.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept with the study.")
@json_option
def reframe_command(
    where: str,
    *,
    features: str | None,
    no_features: bool,
    add_missing: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Go on with other features in the same study; what was measured so far becomes history.

    Verdicts then come from new measurements alone, at the full risk.
    """
    if (features is not None) + no_features + add_missing != 1:
        raise UsageError("give one of --features, --no-features and --add-missing")
    with Study.open(where) as study:
        spec: Any = None
        if features is not None:
            spec = terms.feature_spec(features, study.problem.candidates.columns)
        elif add_missing:
            spec = _missing(study)
        study.reframe(reason, features=spec)
        names = None if study.problem.features is None else study.problem.features.names
        if as_json:
            show.emit({"study": where, "features": names, "method_reason": study.reason})
            return
        said = "none: every candidate on its own" if names is None else show.listed(names)
        show.facts([("features", said), ("method", study.reason)])
        click.echo(f"Next: paretoscope ask {where} --csv batch.csv")


def _missing(study: Study) -> Any:  # noqa: ANN401  (features)
    """The richer features that the residuals ask for."""
    found = [way for way in study.proposals() if way.name == "richer features"]
    if not found:
        raise UsageError("the measurements so far ask for no further term: name --features")
    return found[0].features
