"""What a study knows at present: verdicts by name, estimates in the metrics' own units, the certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import optimize, special

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray
from paretoscope.core.dominance import non_dominated
from paretoscope.errors import UsageError
from paretoscope.policies.base import Certificate, Tally, Verdict
from paretoscope.policies.reading import by_arm, noisy_part
from paretoscope.stages import stage
from paretoscope.study.assumptions import Assumption
from paretoscope.study.problem import Problem
from paretoscope.study.windows import ResultWindows

# Intervals of the table are for reading, one candidate at a time.
_LEVEL = 0.95
# Draws of the posterior behind "P(in the front)".
_DRAWS = 400
# Candidates for which it is drawn, and points of the front by which they are chosen.
MOST_DRAWN, _COMPARED = 20_000, 64


@dataclass(frozen=True)
class Estimate:
    """Means of all candidates on the inner scale, with pointwise half widths (NaN where unknown)."""

    mu: FloatArray
    half: FloatArray
    sigma: FloatArray
    nu: int


def estimate(problem: Problem, tally: Tally, exact: FloatArray) -> Estimate:
    """Least squares (or plain means) over everything measured: a summary, not the certificate."""
    setting, model = problem.setting, problem.setting.model
    mu, half = exact.copy(), np.full((problem.K, problem.d), np.nan)
    half[:, problem.exact] = 0.0
    noisy = np.flatnonzero(setting.noisy)
    nothing = Estimate(mu, half, np.full(len(noisy), np.nan), 0)
    if not tally.counts.any() or not len(noisy):
        return nothing
    arms = noisy_part(setting, by_arm(setting.model.first, model.inverse, tally))
    seen = np.flatnonzero(arms.counts) if not model.linear else np.arange(len(model.first))
    spread = model.spread(seen, arms.counts)
    if spread is None:
        return nothing
    values, residual = model.estimate(seen, *arms)
    nu = residual.df_lack + residual.df_pure
    squares = (residual.lack_of_fit + residual.pure_error) / max(nu, 1)
    known = setting.noise.only(setting.noisy).sigma
    sigma = np.where(np.isnan(known), np.sqrt(squares) if nu else np.nan, known)
    z = -special.stdtrit(max(nu, 1), (1 - _LEVEL) / 2)
    radii = model.deviations(seen, arms.counts)
    full_mu = np.full((len(model.first), len(noisy)), np.nan)
    full_half = full_mu.copy()
    full_mu[seen], full_half[seen] = values, z * radii[:, None] * sigma
    mu[:, noisy], half[:, noisy] = full_mu[model.inverse], full_half[model.inverse]
    return Estimate(mu, half, sigma, nu)


def front_of(problem: Problem, found: Estimate, verdict: Verdict) -> list[str]:
    """The front of the estimates, among what was measured and could be."""
    usable = np.flatnonzero(~np.isnan(found.mu).any(axis=1) & ~verdict.infeasible)
    if not len(usable):
        return []
    return [problem.candidates.ids[k] for k in usable[non_dominated(found.mu[usable])].tolist()]


def probabilities(problem: Problem, found: Estimate, tally: Tally, seed: int) -> FloatArray:
    """P(in the front) under a flat prior: a t posterior, drawn; not a guarantee of anything.

    Of more than `MOST_DRAWN` candidates it is drawn for those nearest the front of the estimates, and
    among them; NaN for the others.
    """
    setting, model = problem.setting, problem.setting.model
    noisy = np.flatnonzero(setting.noisy)
    usable = np.flatnonzero(~np.isnan(found.mu).any(axis=1))
    out = np.full(problem.K, np.nan)
    if not len(usable) or np.isnan(found.sigma).any():
        return out
    stage("drawing who may be in the front")
    usable = usable[contenders(found.mu[usable], MOST_DRAWN)]
    rng = np.random.default_rng([seed, 11])
    arms = noisy_part(setting, by_arm(model.first, model.inverse, tally))
    seen = np.flatnonzero(arms.counts) if not model.linear else np.arange(len(model.first))
    spread = model.spread(seen, arms.counts)
    assert spread is not None
    place = np.zeros(len(model.first), dtype=np.int64)
    place[seen] = np.arange(len(seen))
    rows = place[model.inverse[usable]]
    factors = spread.W[rows] if spread.W is not None else None
    hits = np.zeros(len(usable))
    for _ in range(_DRAWS):
        stretch = np.sqrt(max(found.nu, 1) / rng.chisquare(max(found.nu, 1)))
        if factors is not None:
            luck = factors @ rng.standard_normal((factors.shape[1], len(noisy)))
        else:
            assert spread.v is not None
            draws = rng.standard_normal((len(seen), len(noisy)))
            luck = (np.sqrt(spread.v)[:, None] * draws)[rows]
        mu = found.mu[usable]
        mu[:, noisy] += luck * found.sigma * stretch
        hits += non_dominated(mu)
    out[usable] = hits / _DRAWS
    return out


def contenders(mu: FloatArray, most: int) -> IntArray:
    """The rows that fall least short of some of the front, at most so many; all if they are few."""
    if len(mu) <= most:
        return np.arange(len(mu))
    units = mu / np.maximum(mu.std(axis=0), 1e-300)
    front = np.flatnonzero(non_dominated(mu))
    short = np.full(len(mu), -np.inf)
    for row in units[front[:: max(1, len(front) // _COMPARED)]]:
        np.maximum(short, (row - units).min(axis=1), out=short)
    return np.sort(np.argpartition(short, most)[:most])


@dataclass(frozen=True)
class Result(ResultWindows):
    """Verdicts of a study by candidate id, its estimates, its certificate, and what that assumes."""

    problem: Problem
    verdict: Verdict
    certificate: Certificate
    found: Estimate
    counts: IntArray
    assumptions: tuple[Assumption, ...] = ()
    earlier: int = 0  # measurements from before the study that the estimates contain

    def _ids(self, mask: BoolArray) -> list[str]:
        return [self.problem.candidates.ids[k] for k in np.flatnonzero(mask).tolist()]

    @property
    def pareto_set(self) -> list[str]:
        """Ids of the answer: accepted and near."""
        return self._ids(self.verdict.answer)

    @property
    def accepted(self) -> list[str]:
        """Certainly optimal."""
        return self._ids(self.verdict.accepted)

    @property
    def near(self) -> list[str]:
        """Certainly within epsilon of optimal."""
        return self._ids(self.verdict.near)

    @property
    def rejected(self) -> list[str]:
        """Certainly not optimal."""
        return self._ids(self.verdict.rejected)

    @property
    def undecided(self) -> list[str]:
        """Not known yet."""
        return self._ids(self.verdict.undecided)

    @property
    def infeasible(self) -> list[str]:
        """Could not be measured."""
        return self._ids(self.verdict.infeasible)

    @property
    def best_guess(self) -> list[str]:
        """Ids of the front of the estimates, among what was measured and could be."""
        return front_of(self.problem, self.found, self.verdict)

    @property
    def certified(self) -> bool:
        """Whether the answer carries the guarantee."""
        return self.certificate.certified

    @property
    def achieved_epsilon(self) -> dict[str, float]:
        """Smallest tolerance the data certify for what is kept; a ratio - 1 on the log scale."""
        return {
            m.name: float(np.expm1(e)) if m.scale == "log" else float(e)
            for m, e in zip(self.problem.metrics, self.certificate.achieved_epsilon, strict=True)
        }

    @cached_property
    def status(self) -> list[str]:
        """One word per candidate."""
        words = np.full(self.problem.K, "undecided", dtype=object)
        for name in ("accepted", "near", "rejected", "infeasible"):
            words[getattr(self.verdict, name)] = name
        return [str(word) for word in words]

    def table(self, only: Iterable[int] | None = None) -> list[dict[str, Any]]:
        """One row per candidate: id, columns, verdict, measurements, estimates with 95 % intervals.

        ``only``: rows of these candidates, by number.
        """
        some = list(range(self.problem.K) if only is None else only)
        low, high = self.intervals_of(some)
        means = self.problem.outward(self.found.mu[some])
        rows = []
        for at, k in enumerate(some):
            name = self.problem.candidates.ids[k]
            row = {"candidate": name, **self.problem.candidates.row(k)}
            ours = {"candidate": name, "verdict": self.status[k], "n": int(self.counts[k])}
            row |= ours  # wins over columns of the same name
            for c, metric in enumerate(self.problem.metrics):
                row |= {
                    metric.name: _cell(means[at, c]),
                    f"{metric.name} low": _cell(low[at, c]),
                    f"{metric.name} high": _cell(high[at, c]),
                }
            rows.append(row)
        return rows

    @cached_property
    def intervals(self) -> tuple[FloatArray, FloatArray]:
        """Pointwise 95 % intervals in the metrics' own units."""
        return self.intervals_of(range(self.problem.K))

    def intervals_of(self, some: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Those of some candidates, by number: of a million few are ever looked at."""
        mu, half = self.found.mu[list(some)], self.found.half[list(some)]
        one, two = self.problem.outward(mu - half), self.problem.outward(mu + half)
        return np.minimum(one, two), np.maximum(one, two)

    @property
    def margins(self) -> list[dict[str, Any]]:
        """Why each candidate left: verdict, round, margin, what it had to reach, and by whom."""
        ids = self.problem.candidates.ids
        return [
            {
                "candidate": ids[d.arm],
                "verdict": d.status,
                "round": d.round,
                "margin": _cell(d.gap),
                "needed": _cell(d.threshold),
                "by": ids[d.by] if d.by >= 0 else None,
            }
            for d in self.verdict.decisions
        ]

    def cover(self, epsilon: Mapping[str, float] | None = None) -> list[str]:
        """The fewest kept candidates within epsilon of which every other kept one lies (by estimates).

        Parameters
        ----------
        epsilon : dict, optional
            Tolerance per metric on the inner scale; by default the study's, or what was achieved.
        """
        kept = np.flatnonzero(self.verdict.answer)
        if len(kept) <= 1:
            return self._ids(self.verdict.answer)
        tolerance = self._tolerance(epsilon)
        mu = self.found.mu[kept]
        covers = (mu[None, :, :] + tolerance >= mu[:, None, :]).all(axis=2)  # column covers row
        solved = optimize.milp(
            np.ones(len(kept)),
            constraints=optimize.LinearConstraint(covers.astype(float), lb=1.0),
            integrality=np.ones(len(kept)),
            bounds=optimize.Bounds(0, 1),
        )
        assert solved.success, "every candidate covers itself"
        return [self.problem.candidates.ids[k] for k in kept[solved.x > 0.5].tolist()]

    def _tolerance(self, epsilon: Mapping[str, float] | None) -> FloatArray:
        """Tolerance per metric on the inner scale."""
        names = [metric.name for metric in self.problem.metrics]
        if epsilon is not None:
            unknown = set(epsilon) - set(names)
            if unknown:
                raise UsageError(f"{min(unknown)!r} is no metric: there are {names}")
            return np.array([float(epsilon.get(name, 0.0)) for name in names])
        own = self.certificate.epsilon
        return own if own.any() else np.nan_to_num(self.certificate.achieved_epsilon, posinf=0.0)


def _cell(value: float) -> float | None:
    """A number for a table: None where there is none."""
    return float(value) if np.isfinite(value) else None
