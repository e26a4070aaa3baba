"""What to do when an assumption is broken, and what each way would cost.

The linear model does not fit: terms that would help, logarithms, or no model. The noise is not equal:
the largest one for all, logarithms, or a noise of its own for each candidate.

Proposals are guesses made from the measurements that broke the assumption. They cost no risk: a study
that is reframed counts its old measurements as history, and certifies from new ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from paretoscope.core import diagnostics
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.diagnostics import Replicates
from paretoscope.policies.base import Tally
from paretoscope.study import methods
from paretoscope.study.features import Features
from paretoscope.study.methods import Option, Wishes
from paretoscope.study.metric import Metric
from paretoscope.study.problem import Problem

# A term is worth its place if noise alone gave so much to it in one case of a hundred.
_WORTH = 0.01
# The fit is good enough when its misfit would arise by chance in one case of twenty.
_FITS = 0.05
# A binary column is its own square.
_SQUARABLE = 3
# Spare replicates from which a candidate's own noise is estimated, and how far above it we go.
_SPARE, _SURE = 2, 0.95

Row = tuple[int, Sequence[float | None]]


class Proposal(NamedTuple):
    """One way out: features (None = no model), rank, predicted measurements, what `Study.reframe` takes."""

    name: str
    features: Features | None
    h: int
    option: Option
    said: str
    changes: Mapping[str, Any]


class Fit(NamedTuple):
    """Means (m, d) of the pulled candidates, their counts, and the noise within them."""

    means: FloatArray
    counts: FloatArray
    pure: FloatArray  # (d,) variance
    df: int

    def lack(self, X: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """Residuals of the weighted fit, p-value of each objective, spare candidates."""
        root = np.sqrt(self.counts)[:, None]
        Q, R = np.linalg.qr(X * root)
        rank = int((np.abs(np.diag(R)) > 1e-9 * max(np.abs(np.diag(R)).max(), 1e-300)).sum())
        target = self.means * root
        left = target - Q @ (Q.T @ target)
        spare = len(X) - rank
        if spare < 1:
            return left, np.ones(self.means.shape[1]), spare
        F = np.square(left).sum(axis=0) / spare / self.pure
        return left, np.asarray(special.fdtrc(spare, self.df, F)), spare


def read_fit(problem: Problem, tally: Tally) -> tuple[Fit, FloatArray] | None:
    """Means of what was measured with the rows of their features; None without replicates."""
    features = problem.features
    at = np.flatnonzero(tally.counts)
    df = int(tally.counts.sum()) - len(at)
    if features is None or df < 1 or not len(at):
        return None
    noisy = problem.setting.noisy
    pure = tally.m2[at][:, noisy].sum(axis=0) / df
    if not (pure > 0).all():
        return None
    return Fit(tally.means[at][:, noisy], tally.counts[at].astype(float), pure, df), features.X[at]


def products(features: Features) -> Iterator[tuple[str, FloatArray]]:
    """Squares and interactions of the columns of a model, without its intercept."""
    own = [(n, features.X[:, c]) for c, n in enumerate(features.names) if np.ptp(features.X[:, c])]
    for name, x in own:
        if len(np.unique(x)) >= _SQUARABLE:
            yield f"{name}^2", x * x
    for (a, x), (b, y) in combinations(own, 2):
        if a.partition("=")[0] != b.partition("=")[0]:  # two levels of one text never meet
            yield f"{a}:{b}", x * y


def richer(problem: Problem, tally: Tally) -> Features | None:
    """The model with the terms its residuals ask for, one after the other; None if none helps."""
    read = read_fit(problem, tally)
    features = problem.features
    if read is None or features is None:
        return None
    fit, X = read
    at = np.flatnonzero(tally.counts)
    left = dict(products(features))
    taken: list[str] = []
    while left:
        residual, p, spare = fit.lack(X)
        if spare < 2 or (taken and (p > _FITS / len(p)).all()):
            break
        gains = {name: _gain(fit, X, z[at], residual) for name, z in left.items()}
        best = max(gains, key=lambda name: gains[name])
        if special.fdtrc(1, fit.df, gains[best]) > _WORTH / len(gains):
            break
        X = np.column_stack([X, left.pop(best)[at]])
        taken.append(best)
    return _extended(features, taken) if taken else None


def _gain(fit: Fit, X: FloatArray, z: FloatArray, residual: FloatArray) -> float:
    """F of one more term: what it takes from the residuals, over the noise; the best objective."""
    root = np.sqrt(fit.counts)
    Q, _ = np.linalg.qr(X * root[:, None])
    new = z * root
    new = new - Q @ (Q.T @ new)
    size = float(new @ new)
    if size <= 1e-12 * float(np.square(z * root).sum()):  # the model has it already
        return 0.0
    return float((np.square(new @ residual) / size / fit.pure).max())


def quadratic(features: Features) -> Features:
    """The model with all squares and interactions."""
    return _extended(features, [name for name, _ in products(features)])


def _extended(features: Features, terms: Sequence[str]) -> Features:
    """A model with more terms."""
    made = dict(products(features))
    X = np.column_stack([features.X, *(made[name] for name in terms)])
    return Features(X, (*features.names, *terms), f"{features.said}, and {', '.join(terms)}")


# ---------------------------------------------------------------- logarithms


class Values(NamedTuple):
    """Single measurements: candidates, and what the noisy metrics were on their inner scale."""

    arms: IntArray
    Y: FloatArray


def values_of(metrics: Sequence[Metric], rows: Sequence[Row]) -> Values:
    """The rows of a study as the noisy among some metrics see them."""
    at = [c for c, metric in enumerate(metrics) if not metric.exact]
    made = [[metrics[c].inward(float(values[c] or 0.0)) for c in at] for _, values in rows]
    return Values(np.array([k for k, _ in rows], dtype=np.int64), np.array(made))


def misfit(problem: Problem, values: Values) -> FloatArray:
    """p-value of the linear model in each noisy metric."""
    none = np.full(values.Y.shape[1], np.nan)
    tally = Tally.of(problem.K, values.arms, values.Y)
    at = np.flatnonzero(tally.counts)
    df = int(tally.counts.sum()) - len(at)
    if problem.features is None or df < 1:
        return none
    pure = tally.m2[at].sum(axis=0) / df
    if not (pure > 0).all():
        return none
    return Fit(tally.means[at], tally.counts[at].astype(float), pure, df).lack(
        problem.features.X[at]
    )[1]


def inequality(problem: Problem, values: Values) -> FloatArray:
    """p-value of equal noise in each noisy metric."""
    arms = problem.setting.model.inverse[values.arms]
    return diagnostics.unequal(Replicates(arms, values.Y), _FITS).p


def logarithms(
    problem: Problem,
    wishes: Wishes,
    rows: Sequence[Row],
    judge: Callable[[Problem, Values], FloatArray],
) -> tuple[Metric, ...] | None:
    """The metrics on the log scale where that mends what is judged; None where it does not."""
    noisy = [metric for metric in problem.metrics if not metric.exact]
    if not rows or not noisy:
        return None
    p = judge(problem, values_of(problem.metrics, rows))
    bad = {m.name for m, q in zip(noisy, p.tolist(), strict=True) if q <= _FITS / len(p)}
    columns = [[values[c] for _, values in rows] for c in range(problem.d)]
    pairs = zip(problem.metrics, columns, strict=True)
    made = tuple(_logged(m, y, wishes) if m.name in bad else m for m, y in pairs)
    if not bad or None in made:
        return None
    metrics = tuple(metric for metric in made if metric is not None)
    after = judge(problem, values_of(metrics, rows))
    mended = [
        q > _FITS / len(p) for m, q in zip(noisy, after.tolist(), strict=True) if m.name in bad
    ]
    return metrics if all(mended) else None


def _logged(metric: Metric, values: Sequence[float | None], wishes: Wishes) -> Metric | None:
    """A metric on the log scale, with the same tolerance at its median; None if it cannot be."""
    if metric.scale == "log" or metric.bounded or any(v is None or v <= 0 for v in values):
        return None
    epsilon = metric.tolerance if metric.tolerance is not None else wishes.epsilon
    middle = float(np.median(np.array(values, dtype=np.float64)))
    share = {"epsilon": f"{100.0 * epsilon / middle:.2g} %"} if epsilon else {}
    more: dict[str, Any] = {"unit": metric.unit, "statistic": metric.statistic, **share}
    return Metric(metric.name, metric.goal, scale="log", **more)


def _log_proposal(
    problem: Problem, wishes: Wishes, metrics: tuple[Metric, ...] | None
) -> list[Proposal]:
    """The way of the logarithms, if there is one."""
    if metrics is None:
        return []
    changed = [m for m, old in zip(metrics, problem.metrics, strict=True) if m != old]
    said = "compare ratios of " + " and ".join(
        m.name + (f" (epsilon {m.epsilon})" if m.epsilon else "") for m in changed
    )
    return [_made("logarithms", problem, wishes, said, metrics=metrics)]


# ---------------------------------------------------------------- all ways


def proposals(
    problem: Problem, wishes: Wishes, tally: Tally, rows: Sequence[Row] = ()
) -> list[Proposal]:
    """Ways out of a model that does not fit, each with its rank and its predicted measurements.

    ``rows``: the single measurements, where there are; without them no logarithm can be tried.
    """
    features = problem.features
    if features is None:
        return []
    made = []
    found = richer(problem, tally)
    if found is not None:
        added = found.names[len(features.names) :]
        said = f"add {', '.join(added)}"
        made.append(_made("richer features", problem, wishes, said, features=found))
    made += _log_proposal(problem, wishes, logarithms(problem, wishes, rows, misfit))
    whole = quadratic(features)
    if len(whole.names) > len(features.names) and (found is None or whole.names != found.names):
        said = "add all squares and interactions"
        made.append(_made("quadratic", problem, wishes, said, features=whole))
    made.append(_made("no features", problem, wishes, "every candidate on its own", features=None))
    return made


def noise_proposals(
    problem: Problem, wishes: Wishes, tally: Tally, rows: Sequence[Row] = ()
) -> list[Proposal]:
    """Ways out of a noise that differs between candidates."""
    made = _log_proposal(problem, wishes, logarithms(problem, wishes, rows, inequality))
    loudest = _largest_noise(problem, tally)
    if loudest is not None:
        new = [m for m, old in zip(loudest, problem.metrics, strict=True) if m != old]
        said = "declare the noise of the noisiest for all: " + ", ".join(
            f"{m.name} {m.sigma:.3g}" for m in new
        )
        made.append(_made("largest noise", problem, wishes, said, metrics=loudest))
    said = "every candidate on its own, with a noise of its own"
    made.append(_made("own noise", problem, wishes, said, features=None, method="auto"))
    return made


def _largest_noise(problem: Problem, tally: Tally) -> tuple[Metric, ...] | None:
    """The metrics of unknown noise with the upper limit of what the noisiest candidate shows."""
    some = np.flatnonzero(tally.counts > _SPARE)
    if not len(some):
        return None
    spare = (tally.counts[some] - 1).astype(np.float64)
    above = np.sqrt(tally.m2[some] / special.chdtri(spare, _SURE)[:, None])
    noisiest = (tally.m2[some] / spare[:, None]).argmax(axis=0)
    metrics = []
    for c, metric in enumerate(problem.metrics):
        sigma = float(f"{above[noisiest[c], c]:.3g}")
        unknown = not metric.exact and np.isnan(metric.inner_sigma) and sigma > 0
        own = {key: value for key, value in vars(metric).items() if key not in {"name", "goal"}}
        new = Metric(metric.name, metric.goal, **{**own, "sigma": sigma}) if unknown else metric
        metrics.append(new)
    return tuple(metrics)


def _made(
    name: str,
    problem: Problem,
    wishes: Wishes,
    said: str,
    **changes: Any,  # noqa: ANN401  (what `Study.reframe` takes)
) -> Proposal:
    """A proposal with what it would cost."""
    shape = {key: value for key, value in changes.items() if key in {"features", "metrics"}}
    other = replace(problem, **shape)
    option = methods.options(other.setting, wishes)[0]
    return Proposal(name, other.features, other.setting.model.rank, option, said, changes)
