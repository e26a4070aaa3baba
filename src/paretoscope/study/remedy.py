"""What to do when the linear model does not fit: terms that would help, logarithms, or no model.

Proposals are guesses made from the measurements that refused the model. They cost no risk: a study that
is reframed counts its old measurements as history, and certifies from new ones alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import special

from paretoscope.core.arrays import FloatArray
from paretoscope.policies.base import Tally
from paretoscope.study import methods
from paretoscope.study.features import Features
from paretoscope.study.methods import Option, Wishes
from paretoscope.study.problem import Problem

# A term is worth its place if noise alone gave so much to it in one case of a hundred.
_WORTH = 0.01
# The fit is good enough when its misfit would arise by chance in one case of twenty.
_FITS = 0.05
# A binary column is its own square.
_SQUARABLE = 3


class Proposal(NamedTuple):
    """One way out: features to reframe with (None = no model), its rank, its predicted measurements."""

    name: str
    features: Features | None
    h: int
    option: Option
    said: str


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
        if spare < 2 or (p > _FITS / len(p)).all():
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


def proposals(problem: Problem, wishes: Wishes, tally: Tally) -> list[Proposal]:
    """Ways out of a model that does not fit, each with its rank and its predicted measurements."""
    features = problem.features
    if features is None:
        return []
    made = []
    found = richer(problem, tally)
    if found is not None:
        added = found.names[len(features.names) :]
        made.append(_proposal("richer features", problem, wishes, found, f"add {', '.join(added)}"))
    whole = quadratic(features)
    if len(whole.names) > len(features.names) and (found is None or whole.names != found.names):
        said = "add all squares and interactions"
        made.append(_proposal("quadratic", problem, wishes, whole, said))
    made.append(_proposal("no features", problem, wishes, None, "every candidate on its own"))
    return made


def _proposal(
    name: str, problem: Problem, wishes: Wishes, features: Features | None, said: str
) -> Proposal:
    """A proposal with what it would cost."""
    other = replace(problem, features=features)
    option = methods.options(other.setting, wishes)[0]
    return Proposal(name, features, other.setting.model.rank, option, said)
