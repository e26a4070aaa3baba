"""What a certificate assumes, and what the study's own measurements say of it.

Each assumption is tested on complete rounds, whose pulls were fixed before any of their values, at a
level of .005 per study and assumption, of which every round has a share (`evidence`). A test can only
withhold a certificate; it spends none of delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from paretoscope.core import diagnostics
from paretoscope.core.arrays import IntArray
from paretoscope.core.diagnostics import Effect, Replicates
from paretoscope.policies.base import Certificate
from paretoscope.study import agreement
from paretoscope.study.agreement import Pair
from paretoscope.study.evidence import FEWEST, Span, fit_test, misfits
from paretoscope.study.identity import notices
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem

LEVEL = 0.005
LINEAR, EQUAL = "linear means", "equal noise"
# Drawn laws and pairs of measurements cost time: a round is tested on so many of its first values.
MOST = 4000
Word = Literal["holds", "broken", "noticed", "untested"]


@dataclass(frozen=True)
class Assumption:
    """One assumption of the certificate.

    Attributes
    ----------
    name : str
    verdict : 'holds', 'broken', 'noticed' or 'untested'
        Not contradicted; contradicted, so nothing is certified; worth a look; not tested.
    said : str
        What was tested, and what came out.
    remedy : str
        What to do about it; empty if nothing.
    p : float or None
        Smallest p-value, each objective and round at its own level.
    rows : tuple of str
        The requests it is about.
    """

    name: str
    verdict: Word
    said: str
    remedy: str = ""
    p: float | None = None
    rows: tuple[str, ...] = ()


class Seen:
    """A complete round as replicates."""

    def __init__(self, span: Span, columns: IntArray | None = None) -> None:
        self.span = span
        self.rep = Replicates(span.arms, span.Y if columns is None else span.Y[:, columns])

    def only(self, columns: IntArray) -> Seen:
        """Some of the objectives."""
        return Seen(self.span, columns)

    @property
    def level(self) -> float:
        """Level of one objective in this round."""
        return LEVEL * self.span.share / int(self.rep.Y.shape[1])


class _Worst(NamedTuple):
    """The most telling round and objective of a test: p over its level decides."""

    ratio: float
    p: float
    size: float
    span: int
    metric: int


def examine(
    problem: Problem, spans: Sequence[Span], *, pooled: bool, pairs: Sequence[Pair] = ()
) -> tuple[Assumption, ...]:
    """All assumptions with their verdicts, in the order a person would ask.

    Parameters
    ----------
    spans : list of Span
        Complete rounds.
    pooled : bool
        Whether an unknown noise is taken to be the same for all candidates.
    pairs : list of Pair
        Complete rounds beside earlier ones.
    """
    if not problem.setting.noisy.any():
        return ()
    seen = [Seen(span.upto(MOST)) for span in spans]
    seen = [one for one in seen if one.rep.df >= FEWEST]
    made = [*_linear(problem, spans), *_declared(problem, seen)]
    made += [*_equal(problem, seen, pooled=pooled), _gaussian(problem, seen)]
    made += [_steady(problem, seen), _warm(problem, seen)]
    made += [*_agree(problem, pairs, pooled=pooled), *_identity(problem, seen)]
    return (*made, _INDEPENDENT)


_INDEPENDENT = Assumption(
    "independence",
    "untested",
    "measurements of different requests are assumed independent",
    "values inside one run are never separate measurements",
)


def judged(problem: Problem, certificate: Certificate, found: Sequence[Assumption]) -> Certificate:
    """The certificate after the tests: withheld where one speaks against it, or none could be made.

    It says what it speaks of, where a measurement is not a mean.
    """
    said = [
        f"{m.name}: what is certified is the expectation of the {m.statistic} of one measurement"
        for m in problem.metrics
        if m.statistic not in {"", "mean"}
    ]
    said += [
        f"{m.name}: a run that is out of time counts as {m.timeout_value:g} {m.unit}".rstrip()
        for m in problem.metrics
        if m.timeout_value is not None
    ]
    broken = [a for a in found if a.verdict == "broken"]
    linear = next((a for a in found if a.name == LINEAR), None)
    blind = linear is not None and linear.verdict == "untested" and certificate.certified
    if broken:
        reason = "; ".join(f"{a.said}: {a.remedy}" for a in broken[:2])
        certificate = replace(certificate, certified=False, reason=reason)
    elif blind:
        certificate = replace(certificate, certified=False, reason="linearity untested")
    else:
        said += [] if linear is None else [linear.said]
        unseen = [a.name for a in found if a.verdict == "untested" and a is not _INDEPENDENT]
        said += [f"assumed without test: {', '.join(unseen)}"] if unseen else []
    return replace(certificate, assumptions=(*certificate.assumptions, *said))


# ---------------------------------------------------------------- one function per assumption


def _noisy(problem: Problem) -> list[Metric]:
    return [m for m in problem.metrics if not m.exact]


def _names(problem: Problem) -> list[str]:
    return [m.name for m in _noisy(problem)]


def _worst(seen: Sequence[Seen], test: Callable[[Seen], Effect]) -> _Worst | None:
    """The round and objective whose p-value is smallest for its level."""
    best = None
    for t, one in enumerate(seen):
        effect = test(one)
        for c, p in enumerate(effect.p.tolist()):
            if np.isfinite(p) and (best is None or p / one.level < best.ratio):
                best = _Worst(p / one.level, p, float(effect.size[c]), t, c)
    return best


def _linear(problem: Problem, spans: Sequence[Span]) -> list[Assumption]:
    """Means linear in the features."""
    model = problem.setting.model
    if not model.linear:
        return []
    names = _names(problem)
    if model.rank == len(model.first) == problem.K:
        return [Assumption(LINEAR, "holds", "as many features as candidates: any means are linear")]
    tests = [(span, fit_test(problem, span.tally, LEVEL * span.share)) for span in spans]
    fits = [fit for _, fit in tests if fit is not None]
    if not fits:
        said = "the linear model could not be tested: too few replicates so far"
        return [Assumption(LINEAR, "untested", said, "measure on, or give no features")]
    for span, fit in tests:
        if fit is not None and fit.rejected.any():
            worst = int(np.argmin(fit.p))
            p, where = float(fit.p[worst]), _where(problem, span, worst)
            said = f"the linear model does not fit {names[worst]} (p = {p:.2g}), {where}"
            return [Assumption(LINEAR, "broken", said, "give richer features, or none", p)]
    least = np.min([fit.detectable for fit in fits], axis=0)
    pairs = zip(_noisy(problem), least.tolist(), strict=True)
    seen = ", ".join(f"{metric.name} {metric.apart(v)}" for metric, v in pairs)
    said = (
        "the linear model was tested; a root mean square misfit of"
        f" {seen} would have been found with power .8"
    )
    return [Assumption(LINEAR, "holds", said, "", min(float(fit.p.min()) for fit in fits))]


def _where(problem: Problem, span: Span, c: int) -> str:
    """The candidates at which a fit fails most."""
    metric, ids = _noisy(problem)[c], problem.candidates.ids
    said: list[str] = []
    for k, apart in misfits(problem, span.tally, c):
        side = "above" if (apart > 0) == (metric.goal == "max") else "below"
        said.append(f"{ids[k]} ({metric.apart(abs(apart))} {side}{'' if said else ' the fit'})")
    return f"most at {', '.join(said)}"


def _declared(problem: Problem, seen: Sequence[Seen]) -> list[Assumption]:
    """Declared scales of Gaussian noise are not exceeded."""
    setting = problem.setting
    noise = setting.noise.only(setting.noisy)
    known = np.flatnonzero(~noise.unknowns)
    if not len(known) or noise.kind != "gaussian":
        return []
    names = [_names(problem)[c] for c in known]
    sigma = noise.sigma[known]
    some = [one.only(known) for one in seen]
    worst = _worst(some, lambda one: diagnostics.excess(one.rep, sigma))
    if worst is None:
        return [_unseen("noise scale", "the declared noise could not be compared with replicates")]
    if worst.ratio > 1.0:
        said = f"replicates are within the declared noise of {' and '.join(names)}"
        return [Assumption("noise scale", "holds", said, "", worst.p)]
    s = float(sigma[worst.metric])
    said = (
        f"{names[worst.metric]}: sigma is declared as {s:.3g}, and replicates say"
        f" {s * worst.size:.3g} (p = {worst.p:.2g})"
    )
    return [
        Assumption("noise scale", "broken", said, "declare the larger one, or unknown", worst.p)
    ]


def _equal(problem: Problem, seen: Sequence[Seen], *, pooled: bool) -> list[Assumption]:
    """One noise scale for all candidates, where it is estimated."""
    setting = problem.setting
    unknown = np.flatnonzero(setting.noise.only(setting.noisy).unknowns)
    if not len(unknown) or not pooled:
        return []
    names = [_names(problem)[c] for c in unknown]
    some = [one.only(unknown) for one in seen]
    worst = _worst(some, lambda one: diagnostics.unequal(one.rep, one.level))
    if worst is None:
        return [_unseen(EQUAL, "equal noise of all candidates was assumed without test")]
    if worst.ratio > 1.0:
        return [Assumption(EQUAL, "holds", "no candidate is noisier than others", "", worst.p)]
    said = (
        f"{names[worst.metric]}: the noise differs between candidates, up to {worst.size:.2g}"
        f" times the common one (p = {worst.p:.2g})"
    )
    remedy = (
        "declare the largest noise as sigma, use scale='log' if it grows with the value, or a"
        " method with a noise for each candidate"
    )
    return [Assumption(EQUAL, "broken", said, remedy, worst.p)]


def _gaussian(problem: Problem, seen: Sequence[Seen]) -> Assumption:
    """Tails no heavier than a Gaussian's."""
    names = _names(problem)
    if problem.setting.noise.kind != "gaussian":
        return Assumption("tails", "holds", "the values are bounded")
    worst = _worst(seen, lambda one: diagnostics.tails(one.rep, one.level))
    if worst is None:
        return _unseen("tails", "Gaussian noise was assumed without test")
    if worst.ratio > 1.0:
        return Assumption("tails", "holds", "tails no heavier than a Gaussian's", "", worst.p)
    said = f"{names[worst.metric]}: heavy tails, kurtosis {worst.size:.2g} (p = {worst.p:.2g})"
    remedy = "use a median of several runs as one measurement, scale='log', or bounds"
    return Assumption("tails", "noticed", said, remedy, worst.p)


def _steady(problem: Problem, seen: Sequence[Seen]) -> Assumption:
    """No drift over time within a round."""
    blind = [diagnostics.confounding(one.rep) <= diagnostics.CONFOUNDED for one in seen]
    if seen and all(blind):
        said = "candidates were measured one after the other, so a drift could not be seen"
        return _unseen("no drift", said, "measure in the order of the sheet: it is randomised")
    worst = _worst(seen, lambda one: diagnostics.trend(one.rep))
    if worst is None:
        return _unseen("no drift", "no drift over time was assumed without test")
    if worst.ratio > 1.0:
        return Assumption("no drift", "holds", "no trend in time within a round", "", worst.p)
    metric = _noisy(problem)[worst.metric]
    said = (
        f"{metric.name}: the values drift, by {metric.apart(abs(worst.size))} over round"
        f" {worst.span + 1} (p = {worst.p:.2g})"
    )
    return Assumption("no drift", "broken", said, "steady the instrument and start anew", worst.p)


def _warm(problem: Problem, seen: Sequence[Seen]) -> Assumption:
    """The start of a round is like the rest of it."""
    worst = _worst(seen, lambda one: diagnostics.start(one.rep))
    if worst is None:
        return _unseen("no warm-up", "a warm-up at the start of a round was not looked for")
    if worst.ratio > 1.0:
        return Assumption("no warm-up", "holds", "rounds begin as they go on", "", worst.p)
    span = seen[worst.span].span
    first = tuple(span.uids[: max(3, int(np.ceil(0.1 * len(span.uids))))])
    metric = _noisy(problem)[worst.metric]
    said = (
        f"{metric.name}: the first {len(first)} measurements of round {worst.span + 1}"
        f" differ from the rest by {metric.apart(abs(worst.size))} (p = {worst.p:.2g})"
    )
    remedy = "warm up before measuring (run --warmup), and start anew"
    return Assumption("no warm-up", "broken", said, remedy, worst.p, first)


def _agree(problem: Problem, pairs: Sequence[Pair], *, pooled: bool) -> list[Assumption]:
    """Rounds tell the same differences between candidates, with the same noise."""
    name, ids, metrics = "rounds agree", problem.candidates.ids, _noisy(problem)
    found = [agreement.differences(problem, pair, LEVEL, pooled=pooled) for pair in pairs]
    worst = agreement.worst([clash for some in found for clash in some])
    loud = [agreement.noise(problem, pair, LEVEL) for pair in pairs] if pooled else []
    noise = agreement.worst([clash for some in loud for clash in some])
    made = []
    if worst is not None and worst.p <= worst.level:
        metric = metrics[worst.metric]
        said = (
            f"{metric.name}: in round {worst.round} {ids[worst.first]} and {ids[worst.second]} lie"
            f" otherwise than before, by {metric.apart(worst.size)} (p = {worst.p:.2g})"
        )
        remedy = "compare its sheets: columns exchanged, or another unit? Correct them"
        made.append(Assumption(name, "broken", said, remedy, worst.p))
    elif worst is not None:
        said = "every round tells the same differences between candidates"
        made.append(Assumption(name, "holds", said, "", worst.p))
    if noise is not None and noise.p <= noise.level:
        said = (
            f"{metrics[noise.metric].name}: the noise of round {noise.round} is {noise.size:.2g}"
            f" times that of the first (p = {noise.p:.2g})"
        )
        remedy = "compare its sheets: rows that slipped, or another unit?"
        made.append(Assumption("steady noise", "noticed", said, remedy, noise.p))
    return made


def _identity(problem: Problem, seen: Sequence[Seen]) -> list[Assumption]:
    """Copied rows, values that are stuck or never vary, results that look exchanged."""
    found = notices(problem, [(one.span, one.rep) for one in seen], LEVEL)
    made = [Assumption(n.name, "noticed", n.said, n.remedy, n.p, n.rows) for n in found]
    if not made and seen:
        said = "no copied rows, no exchanged results, every metric varies"
        made.append(Assumption("identity", "holds", said))
    return made


def _unseen(name: str, said: str, remedy: str = "") -> Assumption:
    return Assumption(name, "untested", said, remedy)


def plain(found: Iterable[Assumption]) -> list[dict[str, Any]]:
    """Assumptions for scripts."""
    return [{**vars(a), "rows": list(a.rows)} for a in found]
