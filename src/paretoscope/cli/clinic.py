"""Commands for a study that may be ill: doctor and reframe."""

from __future__ import annotations

from typing import Any

import click

from paretoscope.cli import show, terms
from paretoscope.cli.lazy import STORE, UNCERTIFIED
from paretoscope.cli.options import json_option, study_argument
from paretoscope.errors import UsageError
from paretoscope.ledger import open_ledger
from paretoscope.study import Metric, Study
from paretoscope.study.assumptions import EQUAL, LINEAR, Assumption, plain
from paretoscope.study.exchange import Finding, examine
from paretoscope.study.remedy import Proposal


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
            ways = study.proposals() if _mendable(found) else []
    broken = any(a.verdict == "broken" for a in found)
    if as_json:
        said = [_way_data(way) for way in ways]
        checks = {"findings": findings, "assumptions": plain(found), "proposals": said}
        show.emit({"sound": sound, "broken": broken, **checks})
    else:
        _say_checks(findings)
        show.assumptions(found, "What the certificate assumes")
        _say_ways(where, ways)
    ctx.exit(STORE if not sound else UNCERTIFIED if broken else 0)


def _mendable(found: tuple[Assumption, ...]) -> bool:
    """Whether something is broken that another frame would mend."""
    return any(a.name in {LINEAR, EQUAL} and a.verdict == "broken" for a in found)


def _way_data(way: Proposal) -> dict[str, Any]:
    """A proposal for scripts."""
    metrics = way.changes.get("metrics")
    return {
        "way": slug(way),
        "features": way.features and way.features.names,
        "metrics": metrics and [metric.to_plain() for metric in metrics],
        "h": way.h,
        "option": way.option,
        "said": way.said,
    }


def slug(way: Proposal) -> str:
    """A proposal's name as `reframe --way` takes it."""
    return way.name.replace(" ", "-")


def _say_checks(findings: list[Finding]) -> None:
    """Whether the study is whole."""
    show.facts(
        [(f"{'ok' if f.fine else 'WRONG':8}  {f.check}", f.said) for f in findings],
    )
    sound = all(finding.fine for finding in findings)
    click.echo("The study is whole." if sound else "The study is damaged: restore a copy.")


def _say_ways(where: str, ways: list[Proposal]) -> None:
    """What to do about what is broken, and what each way costs."""
    if not ways:
        return
    click.echo("\nWays on (what was measured becomes history):")
    rows = [[slug(w), str(w.h), _cost(w), w.said] for w in ways]
    show.draw(["way", "h", "measurements", "what"], rows, right=["h"])
    show.paragraph(f"Take one: paretoscope reframe {where} --way {slug(ways[0])} --reason TEXT")


def _cost(way: Proposal) -> str:
    """Predicted measurements of a proposal."""
    low, high = way.option.low, way.option.high
    if low is None:
        return "does not apply"
    return f"{low} to {high}" if high is not None and high != low else f"{low} or more"


@click.command("reframe")
@study_argument
@click.option("--way", metavar="NAME", help="A way that doctor proposes.")
@click.option("--features", metavar="TEXT", help="A formula, columns, or products: a,b,a^2,a:b.")
@click.option("--no-features", is_flag=True, help="Every candidate on its own.")
@click.option("--add-missing", is_flag=True, help="As --way richer-features.")
@click.option("--log", multiple=True, metavar="METRIC", help="Compare ratios of a metric.")
@click.option("--sigma", multiple=True, metavar="METRIC=S", help="Noise, or unknown.")
@click.option("--epsilon", multiple=True, metavar="METRIC=E", help="Tolerance, or 2% with log.")
@click.option("--method", metavar="NAME", help="Another method, or auto.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept with the study.")
@json_option
def reframe_command(where: str, *, reason: str, as_json: bool, **given: Any) -> None:  # noqa: ANN401
    """Go on with other features, metrics or method; what was measured so far becomes history.

    Verdicts then come from new measurements alone, at the full risk.
    """
    with Study.open(where) as study:
        study.reframe(reason, **_changes(study, given))
        names = None if study.problem.features is None else study.problem.features.names
        if as_json:
            show.emit({"study": where, "features": names, "method_reason": study.reason})
            return
        said = "none: every candidate on its own" if names is None else show.listed(names)
        show.facts([("features", said), ("method", study.reason)])
        click.echo(f"Next: paretoscope ask {where} --csv batch.csv")


def _changes(study: Study, given: dict[str, Any]) -> dict[str, Any]:
    """What the options change."""
    way = "richer-features" if given["add_missing"] else given["way"]
    if sum(map(bool, (way, given["features"], given["no_features"]))) > 1:
        raise UsageError("give one of --way, --features, --no-features and --add-missing")
    if way:
        return dict(_proposed(study, way).changes)
    made: dict[str, Any] = {}
    if given["features"]:
        made["features"] = terms.feature_spec(given["features"], study.problem.candidates.columns)
    if given["no_features"]:
        made["features"] = None
    if given["log"] or given["sigma"] or given["epsilon"]:
        made["metrics"] = _metrics(study, given)
    if given["method"]:
        made["method"] = terms.method_named(given["method"], study.wishes)
    return made


def _proposed(study: Study, name: str) -> Proposal:
    """The way of that name."""
    ways = {slug(way): way for way in study.proposals()}
    if name not in ways:
        there = f"there are {', '.join(ways)}" if ways else "there is none"
        raise UsageError(f"the measurements so far propose no way {name!r}: {there}")
    return ways[name]


def _metrics(study: Study, given: dict[str, Any]) -> list[Metric]:
    """The metrics with what is changed of them."""
    tables = [metric.to_plain() for metric in study.problem.metrics]
    by_name = {table["name"]: table for table in tables}
    for name in given["log"]:
        if name not in by_name:
            raise UsageError(f"--log {name}: write one of the metrics {', '.join(by_name)}")
        for key in ("sigma", "bounds", "resolution", "misfit", "epsilon"):  # of another scale
            by_name[name].pop(key, None)
        by_name[name]["scale"] = "log"
    terms.add_options(tables, "sigma", given["sigma"], terms.read_sigma)
    terms.add_options(tables, "epsilon", given["epsilon"], terms.read_epsilon)
    for name in given["log"]:
        if "epsilon" not in by_name[name] and study.wishes.epsilon:
            raise UsageError(f"--log {name}: give its tolerance, too: --epsilon {name}=2%")
    return [Metric(**table) for table in tables]
