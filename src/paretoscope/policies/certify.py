"""What data that any procedure has gathered certify: the ellipsoid, at all times, for all of delta.

    conditions, tested as far as data can tell; refused with the reason where they do not hold
        no batch contradicts linear means (F test against replicates), nor the declared sigma (chi-square),
        batch k at level LEVEL / (k (k + 1))
        an unknown sigma: an upper limit from the first batch, for a tenth of delta                # `scales`
    after each batch: signs certain by the ellipsoid of all data so far, kept for ever               # `signs`
    verdicts as in `Tracking`

Each batch must have been chosen before its own values were seen; how it follows from earlier ones does
not matter, nor when and why the last one was the last. docs/anytime.md, lemma 1, has the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from paretoscope.core.arrays import FloatArray, as_matrix, freeze
from paretoscope.core.confidence import lack_of_fit
from paretoscope.errors import DataError, UsageError
from paretoscope.policies.base import Tally, Verdict
from paretoscope.policies.pursuit import start
from paretoscope.policies.reading import by_arm, noisy_part
from paretoscope.policies.scales import FEWEST, scale_limits
from paretoscope.policies.setting import Noise, NoiseKind, Setting
from paretoscope.policies.tracking import TrackingConfidence

# Of all tests of one record together.
LEVEL = 0.005
BOUND = "ellipsoid of all data, at all times"
Batch = Tally | tuple[npt.ArrayLike, npt.ArrayLike]


def certify(
    X: npt.ArrayLike | None,
    batches: Sequence[Batch],
    sigma: npt.ArrayLike | None,
    delta: float,
    *,
    epsilon: npt.ArrayLike = 0.0,
    noise: NoiseKind = "gaussian",
    K: int | None = None,
) -> Verdict:
    """Labels that are right with probability 1 - delta, from measurements that anything chose.

    Parameters
    ----------
    X : (K, p) array or None
        Features, used as they are (add the column of ones yourself); None = no structure.
    batches : sequence of (arms, values) or Tally
        In the order they were made: candidates (n,) by index, and values (n, d), all maximised. Each
        batch was chosen before any of its values was seen. One by one is as good.
    sigma : float, (d,) array or None
        Scale of the noise, or a bound of it; None = unknown, learnt from the first batch.
    delta, epsilon : float
        Risk of any wrong label, and tolerance (a number, or one per metric).
    noise : 'gaussian' or 'subgaussian'
    K : int
        Number of candidates, needed where neither X nor a tally says it.

    Returns
    -------
    Verdict
        Masks of the candidates, and the certificate with its assumptions.

    Raises
    ------
    UsageError, DataError
        If a condition of the certificate does not hold, with the reason.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [0.2, -0.2]]
    >>> batches = [([0, 1], [[5.1, 0.2], [0.1, 4.8]]), ([0, 1], [[4.9, 0.1], [-0.2, 5.0]])]
    >>> certify(X, batches, sigma=0.1, delta=0.05).accepted.tolist()
    [True, True, False]
    """
    tallies, d = _tallies(X, batches, K)
    law = Noise.unknown(d) if sigma is None else Noise.known(sigma, d, noise)
    tolerance = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), (d,))
    setting = Setting(len(tallies[0].counts), d, law, None if X is None else as_matrix(X, "X"))
    setting = replace(setting, epsilon=tolerance)
    first, inverse = setting.model.first, setting.model.inverse
    parts = [noisy_part(setting, by_arm(first, inverse, tally)) for tally in tallies]
    for number, part in enumerate(parts, 1):
        _check(setting, part, number)
    return Record(delta).judged(setting, parts)


class Record(TrackingConfidence):
    """The certificate of `Tracking` on data that came from elsewhere: all of the risk to the ellipsoid."""

    share: ClassVar[float] = 1.0
    bound: ClassVar[str] = BOUND

    def judged(self, setting: Setting, parts: Sequence[Tally]) -> Verdict:
        """The verdict after all batches; what is certain after any of them stays."""
        state = start(setting, _scales(setting, parts[0], self.delta))
        terms = self._terms(state)
        for number, part in enumerate(parts, 1):
            told = state.told.copy()
            told[setting.model.first] += part.counts
            state = replace(state, number=number, past=state.past.merge(part), told=freeze(told))
            if state.stop is None:
                state = self._verdicts(terms, state)
        verdict = self.verdict(state)
        more = "each batch was chosen before its values were seen"
        found = verdict.certificate
        return replace(verdict, certificate=replace(found, assumptions=(*found.assumptions, more)))


def _tallies(
    X: npt.ArrayLike | None, batches: Iterable[Batch], K: int | None
) -> tuple[list[Tally], int]:
    """The batches as tallies of K candidates and d metrics."""
    listed = list(batches)
    sizes = [len(b.counts) for b in listed if isinstance(b, Tally)]
    K = len(np.asarray(X)) if X is not None else (sizes[0] if sizes and K is None else K)
    if K is None or not listed:
        raise UsageError("give at least one batch, and K or X: the number of candidates")
    made = [_tally(K, batch, number) for number, batch in enumerate(listed, 1)]
    widths = {tally.means.shape[1] for tally in made}
    if len(widths) > 1 or any(len(tally.counts) != K for tally in made):
        raise UsageError(f"batches of {K} candidates and one number of metrics, not {widths}")
    return made, widths.pop()


def _tally(K: int, batch: Batch, number: int) -> Tally:
    """One batch, refused with its number."""
    try:
        tally = batch if isinstance(batch, Tally) else Tally.of(K, *batch)
    except (UsageError, DataError) as error:
        raise DataError(f"batch {number}: {error}") from error
    if not np.isfinite(tally.means[tally.counts > 0]).all():
        raise DataError(
            f"batch {number}: a value is not finite: leave it out only if its loss had nothing to do"
            " with its value"
        )
    return tally


def _check(setting: Setting, part: Tally, number: int) -> None:
    """Refuse a batch that contradicts the model, or the declared noise."""
    pool, noise = np.flatnonzero(part.counts), setting.noise
    if noise.kind != "gaussian" or not len(pool):
        return
    residual = setting.model.estimate(pool, *part).residual
    level = LEVEL / (number * (number + 1))
    if residual.df_pure < 1:
        return
    if residual.df_lack > 0 and (residual.pure_error > 0).all():
        sums = (residual.lack_of_fit, residual.pure_error, residual.df_lack, residual.df_pure)
        found = lack_of_fit(*sums, part.total, level)
        if found.rejected.any():
            raise DataError(
                f"batch {number}: the means are not linear in these features (p = {found.p.min():.1e}):"
                " give richer ones, or X=None"
            )
    ratio = residual.pure_error / np.square(noise.sigma)  # not a number where sigma is unknown
    p = special.chdtrc(residual.df_pure, np.where(noise.unknowns, 0.0, ratio))
    if (p <= level / setting.d).any():
        larger = float(np.sqrt(np.nanmax(ratio) / residual.df_pure))
        raise DataError(
            f"batch {number}: repeats scatter {larger:.2g} times as much as the declared sigma"
        )


def _scales(setting: Setting, first: Tally, delta: float) -> FloatArray:
    """The scales of the noise, or limits of them."""
    if not setting.noise.unknowns.any():
        return setting.noise.sigma
    found = scale_limits(setting.model, setting.noise, first, delta)
    if found is None:
        raise UsageError(
            f"batch 1 has fewer than {FEWEST} measurements to spare, which say nothing of the noise:"
            " give sigma, or a larger first batch"
        )
    if found.silent:
        raise DataError("batch 1: a metric of unknown noise repeated itself exactly")
    return found.sigma
