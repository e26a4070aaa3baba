"""The steps of `Tracking`, shared with its fixed-budget twin: take a batch in, judge, plan the next.

All of it is a function of the state; the luck of the drawn prices comes from the seed and the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.core.elimination import Widths, achieved_epsilon
from paretoscope.core.rounding import largest_remainder
from paretoscope.policies import aims, windows
from paretoscope.policies.base import Tally
from paretoscope.policies.codec import plain_state
from paretoscope.policies.field import Field, base_weights, build_field
from paretoscope.policies.reading import noisy_part
from paretoscope.policies.rounds import (
    ACCEPTED,
    ACTIVE,
    INFEASIBLE,
    REJECTED,
    RoundState,
    arm_exact,
    extended,
    first_state,
    want_round,
    with_verdicts,
)
from paretoscope.policies.scales import unscaled
from paretoscope.policies.setting import Setting
from paretoscope.policies.signs import Judgement, Terms, judge

# n_k = rank times these: about the pulls per direction that studies end with.
SIZES = (10.0, 40.0, 160.0, 640.0)
# Part of all pulls (as predicted) after which the first window opens; ratio of the openings; their number.
START, REOPEN, WINDOWS = 0.3, 3.0, 12
# The first batch is this times max(2h, h + 10), as in GEGE. What else a batch is at least (pulls; its
# part of those made) and at most (of those left). Whoever allows larger batches wants fewer of them.
FIRST, LEAST, LOW, LEFT = 4.0, 20, 0.05, 0.3
# The same per unit of `batch`, for whichever is larger, and where the last part ends: tuned on NoC.
FIRST_OF, LOW_OF, LEFT_OF, LEFT_MOST = 8.0, 0.1, 0.5, 1.3
# Evidence that is asked for beyond ln(1/delta) before any price is known.
BEYOND = 3.0
# Arms up to which the tolerance that the data certify is computed: all their pairs are compared.
PAIRED = 2_000


@plain_state
@dataclass(frozen=True)
class TrackingState(RoundState):
    """State of `Tracking`: all earlier batches, the signs that are certain, the windows, the shares."""

    past: Tally
    sure: IntArray
    windows: tuple[windows.Window, ...]
    shares: FloatArray


def start(setting: Setting, sigma: FloatArray) -> TrackingState:
    """Nothing measured."""
    first = replace(first_state(setting), unit=freeze(np.array(sigma)))
    arms, d = len(setting.model.first), int(setting.noisy.sum())
    return extended(
        first,
        TrackingState,
        past=Tally.empty(arms, d),
        sure=freeze(np.zeros(0, dtype=np.int64)),
        windows=(),
        shares=freeze(np.zeros(0)),
    )


def terms_of(state: RoundState, epsilon: FloatArray, risk: float) -> Terms:
    """What the claims of a study refer to; tolerances in the metrics' units."""
    arms = np.arange(len(state.setting.model.first))
    return Terms(
        n=len(arms),
        d=len(epsilon),
        epsilon=epsilon / state.unit,
        exact=arm_exact(state, arms),
        twin=state.setting.model.twin,
        sizes=np.array(SIZES) * state.setting.model.rank,
        risk=risk,
    )


def live_arms(state: RoundState) -> IntArray:
    """Arms that are neither rejected nor infeasible."""
    return np.flatnonzero(~np.isin(state.status, (REJECTED, INFEASIBLE)))


def comparable(state: RoundState) -> bool:
    """Whether there are noisy metrics, of scales that are known or bounded."""
    return bool(state.setting.noisy.any()) and not unscaled(state)


def take_in(terms: Terms, state: TrackingState) -> TrackingState:
    """The state with the finished batch in its past and in its windows."""
    batch = noisy_part(state.setting, state.got)
    alone = build_field(state.setting.model, batch, state.unit)
    opened = state.windows
    if alone is not None:
        opened = tuple(windows.after_batch(terms, alone, window) for window in opened)
    return replace(state, past=state.past.merge(batch), windows=opened)


def judged(terms: Terms, state: TrackingState, sure: IntArray) -> Judgement | None:
    """What is certain of the live arms; None where the data compare nothing yet."""
    field = build_field(state.setting.model, state.past, state.unit)
    return None if field is None else judge(terms, field, sure, live_arms(state))


def labelled(state: TrackingState, found: Judgement) -> TrackingState:
    """The state with the labels of a judgement."""
    state = with_verdicts(state, found.out, REJECTED, found.gap, found.width, found.by)
    inside = found.inside[state.status[found.inside] == ACTIVE]
    return with_verdicts(state, inside, ACCEPTED)


def achieved(terms: Terms, state: TrackingState) -> float:
    """The tolerance, in multiples of epsilon or of the noise, that the ellipsoid certifies for R."""
    live = live_arms(state)
    field = build_field(state.setting.model, state.past, state.unit)
    if (state.status[live] == ACCEPTED).all():
        return 0.0
    if field is None or len(live) > PAIRED:
        return float("inf")

    def pair(rows: IntArray) -> FloatArray:
        i, j = np.repeat(live[rows], len(live)), np.tile(live, len(rows))
        return terms.widths(field, i, j).reshape(len(rows), -1)

    unit = terms.epsilon if terms.tolerant else np.ones(terms.d)
    exact = None if terms.exact is None else terms.exact[live]
    t = achieved_epsilon(field.mu[live], Widths(np.ones(terms.d), pair=pair), unit, exact)
    return min(t, 1.0) if (state.status[live] != ACTIVE).all() and terms.tolerant else t


def next_batch(
    terms: Terms, state: TrackingState, delta: float, batch: float
) -> TrackingState | None:
    """The state with the next batch asked for, and a new window if one is due; None if none can be."""
    model = state.setting.model
    base = sampled_base(state)
    if not base.any():
        return None
    field = None if unscaled(state) else build_field(model, state.past, state.unit)
    if field is None:  # the first batch, or one of which too little came back
        N = max(FIRST, FIRST_OF * batch) * max(2 * model.rank, model.rank + 10)
        return _asked(state, base, max(int(N), int(np.count_nonzero(base))))
    w, left = _shares(terms, state, field, base, delta)
    if not np.isfinite(left):
        return None
    spent = state.past.total
    if _due(state, left):
        state = _with_window(terms, state, field, w)
        w, left = _shares(terms, state, field, base, delta)
    size = batch * spent
    if state.windows:
        part = max(LEFT, min(LEFT_OF * batch, LEFT_MOST))
        size = min(max(part * left, max(LOW, LOW_OF * batch) * spent), size)
    else:
        w = 0.5 * (w + base / base.sum())
    return _asked(replace(state, shares=freeze(w)), w, max(LEAST, int(size)))


def _asked(state: TrackingState, w: FloatArray, N: int) -> TrackingState:
    """N pulls in some shares."""
    counts = largest_remainder(w, N)
    return want_round(state, counts, accuracy=float("nan"), risk=0.0, label=("", "tracking"))


def sampled_base(state: RoundState) -> FloatArray:
    """Shares that learn everything: all arms with features, the live ones without."""
    model = state.setting.model
    if model.linear:
        return base_weights(model, state.barred)
    w = np.zeros(len(state.status))
    w[live_arms(state)] = 1.0
    return np.asarray(np.where(state.barred, 0.0, w) / max(1.0, w.sum()))


def _due(state: TrackingState, left: float) -> bool:
    """Whether a window opens now."""
    spent = state.past.total
    if not state.windows:
        return spent >= START * (spent + left)
    return spent >= REOPEN * state.windows[-1].opened and len(state.windows) < WINDOWS


def _with_window(terms: Terms, state: TrackingState, field: Field, w: FloatArray) -> TrackingState:
    """A window priced by draws from the law of the estimates."""
    rng = np.random.default_rng([state.setting.seed, state.number])
    target = aims.of_shares(field, w)
    code, price = aims.price(terms, field, target, live_arms(state), state.sure, rng)
    if len(code) == 0:
        return state
    window = windows.open_window(terms, field, state.past.total, code, price)
    return replace(state, windows=(*state.windows, window))


def _shares(
    terms: Terms, state: TrackingState, field: Field, base: FloatArray, delta: float
) -> tuple[FloatArray, float]:
    """Shares of the next batch and the pulls left, for what the estimates say is needed."""
    before = state.shares if state.shares.size else base
    wanted = aims.needed(
        terms, field.mu, aims.of_shares(field, 0.5 * before + 0.5 * base), live_arms(state)
    )
    fresh = ~np.isin(wanted.code, state.sure)
    wanted = aims.Wanted(wanted.code[fresh], wanted.gap[fresh])
    if len(wanted.code) == 0:
        return base, float(LEAST)
    lacks = _lacks(terms, state, field, wanted, delta)
    return aims.shares(terms, field, wanted, lacks, before, base, state.barred)


def _lacks(
    terms: Terms, state: TrackingState, field: Field, wanted: aims.Wanted, delta: float
) -> FloatArray:
    """Evidence that each sign still lacks, by the certificate that is nearest."""
    i, j, _, _ = terms.signs(wanted.code)
    squares = np.maximum(field.squares(i, j), 1e-300)
    evidence = np.sign(wanted.gap) * np.square(wanted.gap) / (2.0 * squares)
    lacks = terms.threshold(field, i, j) - evidence
    if not state.windows:
        return np.asarray(np.minimum(lacks, np.log(1.0 / delta) + BEYOND))
    risk = delta - terms.risk
    for window, lack in zip(
        state.windows, windows.needs(state.windows, state.sure, risk), strict=True
    ):
        at = np.minimum(np.searchsorted(window.code, wanted.code), len(window.code) - 1)
        listed = window.code[at] == wanted.code
        lacks[listed] = np.minimum(lacks[listed], lack[at[listed]])
    return np.asarray(lacks)
