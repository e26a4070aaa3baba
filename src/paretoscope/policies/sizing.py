"""How many pulls a round of GEGE gets.

Sizes come from the integer design that will really be pulled: the smallest N found whose exact
`Spread` keeps the probability of events (a) and (b) below the round's risk at eta = eps_r / 2. With
an unknown noise scale the widths are Student's, with the estimate of the same round; the size is
then only planned, from the estimate of the round before, and `reading` takes what came.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paretoscope.core import schedule
from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.core.rounding import apportion
from paretoscope.core.spread import PAIRS_EXACT, Spread, Width
from paretoscope.policies.base import RoundForecast
from paretoscope.policies.memo import key_of
from paretoscope.policies.model import Model, Plan
from paretoscope.policies.reading import quantiles, tail_of
from paretoscope.policies.rounds import RoundRecord, RoundState, want_round
from paretoscope.policies.setting import Setting, resolve_epsilon

if TYPE_CHECKING:
    from paretoscope.policies.gege import GEGEConfidence

# Degrees of freedom of a first noise estimate: at nu = 10 the quantile is 1.6 times that of nu = 50.
FIRST_SPARE = 20
# N_1 = this times max(2h, h + 10): smaller first rounds decide nothing and cost a share of the risk,
# larger ones waste pulls on easy problems (tried: 1, 4, 16 on six instances).
FIRST_PULLS = 4
# The search for the smallest certified N ends within this part of it.
SLACK = 500
# Rounds a forecast looks ahead when nothing else ends it.
_HORIZON = 8


class Need(NamedTuple):
    """Pulls per arm of a round, what they are for, and what certifies them."""

    counts: IntArray
    accuracy: float
    risk: float
    bound: str
    design: str


def size_round(policy: GEGEConfidence, state: RoundState) -> Need | None:
    """Pulls of the next round; None when no arm can be pulled."""
    r, A = state.number + 1, state.active
    model, noise = state.setting.model, policy.noise_of(state.setting)
    d = len(noise.sigma)
    if policy.schedule != "proven":
        return _closed_form(policy, state, r)
    plans = model.designs(A, policy.designs, state.barred)
    if not plans:
        return None
    left = policy.delta - sum(record.risk for record in state.history)
    risk = schedule.next_risk(left, None)
    if noise.unknowns.any():
        if state.sigma_hat.size == 0:
            return _pilot(policy, model, plans[0], A, risk)
        floor = _floor(policy, state)
        due = _next_accuracy(policy, state, floor)
        to_come = _rounds_to_come(policy, due, floor)
        if to_come is not None:  # the new estimate may be larger: one more round may have to follow
            risk = schedule.next_risk(left, to_come + 1)
        sigma = np.where(noise.unknowns, state.sigma_hat, noise.sigma)
        return _student_round(policy, state, plans, sigma, due, risk)
    spread = model.spread(A, plans[0].weights)
    if spread is not None and spread.widest == 0.0:  # only exact metrics tell these apart
        counts = model.integers(plans[0], A, model.least(A))
        return None if counts is None else Need(counts, 0.0, risk, "equal features", plans[0].kind)
    sigma_w = float(noise.sigma.max())
    floor = _floor(policy, state)
    accuracy = _due_accuracy(policy, state, plans, floor)
    # what is kept for last rounds whose pulls are given up has to last for any number of them
    ends = left > 0.05 * policy.delta
    to_come = _rounds_to_come(policy, accuracy, floor) if ends else None
    risk = schedule.next_risk(left, to_come)
    arms = ("need", key_of(A), key_of(state.barred))
    aim = (accuracy, risk, sigma_w, d, noise.kind, policy.designs, policy.bounds)
    luck = (state.setting.seed, r) if "sup" in policy.bounds else ()  # simulated anew each round
    make = lambda: _known_round(policy, state, plans, accuracy, risk)  # noqa: E731
    return model.memo((*arms, *aim, *luck), make)


def _floor(policy: GEGEConfidence, state: RoundState) -> float:
    """The accuracy at which the last round of an epsilon study runs, in working units."""
    epsilon = resolve_epsilon(state.setting, policy.epsilon)[state.setting.noisy]
    return float((epsilon / state.unit).min()) if state.unit.size else 0.0


def _due_accuracy(
    policy: GEGEConfidence, state: RoundState, plans: tuple[Plan, ...], floor: float
) -> float:
    """eps_r of the next round: the first one, or what follows the last."""
    if math.isinf(state.accuracy):
        accuracy = _aligned(_first_accuracy(policy, state, plans), policy, floor)
        return accuracy if accuracy > floor * (1.0 + 1e-9) else floor
    return _next_accuracy(policy, state, floor)


def _next_accuracy(policy: GEGEConfidence, state: RoundState, floor: float) -> float:
    """The last accuracy divided by the ratio, not below the floor.

    A round at the floor ends an epsilon study, unless a misfit widens what it sees: then the noise has
    to make room, and the accuracy goes on to improve.
    """
    finer, least = state.accuracy / policy.ratio, floor * (1.0 + 1e-9)
    seen = bool(state.history) and state.history[-1].bound != "none"
    hidden = state.setting.zeta is not None and seen and state.accuracy <= least
    return finer if hidden or finer > least else floor


def _rounds_to_come(policy: GEGEConfidence, accuracy: float, floor: float) -> int | None:
    """Rounds after this one before the accuracy reaches epsilon; None when there is no such end."""
    if floor <= 0.0 or accuracy < floor:
        return None
    return max(0, math.ceil(math.log(accuracy / floor) / math.log(policy.ratio) - 1e-6))


def _known_round(
    policy: GEGEConfidence,
    state: RoundState,
    plans: tuple[Plan, ...],
    accuracy: float,
    risk: float,
) -> Need:
    """The smallest certified round at the accuracy that is due."""
    noise, model, A = policy.noise_of(state.setting), state.setting.model, state.active
    tail, sigma_w, d = tail_of(noise), float(noise.sigma.max()), len(noise.sigma)

    def width(spread: Spread) -> Width:
        fresh = (state.setting.seed, state.number + 1)
        return spread.certain_width(risk, d, tail, policy.bounds, seed=fresh, limits=len(plans))

    eta = accuracy / 2.0 / sigma_w
    sized = []
    for plan in plans:
        spread = model.spread(A, plan.weights)
        if spread is not None:
            x = width(spread)
            sized.append(((x.eta / eta) ** 2, x.bound, plan))
    pulls, bound, plan = min(sized, key=lambda item: item[0])
    m, guess = int(np.count_nonzero(plan.weights)), math.ceil(pulls)
    searched = len(A) <= PAIRS_EXACT or not model.linear or m - 1 > guess // SLACK
    if bound == "sup" or not searched:
        return Need(_apportioned(plan, pulls), accuracy, risk, bound, plan.kind)
    least = max(model.least(A), m if plan.kind != "g" else 0)

    def certified(N: int) -> bool:
        spread = _integer_spread(model, plan, A, N)
        return spread is not None and spread.failure(eta, d, tail, policy.bounds) <= risk

    N = schedule.smallest_certified(certified, guess, least, slack=guess // SLACK)
    counts = model.integers(plan, A, N)
    assert counts is not None
    return Need(counts, accuracy, risk, bound, plan.kind)


def _apportioned(plan: Plan, pulls: float) -> IntArray:
    """Integers with V(n) >= pulls V(w): n_a >= (N - m + 1) w_a for all arms, m of them with weight.

    Every s_ij is then at most that of ``pulls`` times the weights, so that all bounds hold as they are,
    and nothing is searched: not for m - 1 pulls among very many of many arms, and not a simulated
    bound, which holds for every design that is at least w in this sense (Anderson 1955: less covariance, less
    probability outside a symmetric convex set).
    """
    return apportion(plan.weights, math.ceil(pulls) + int(np.count_nonzero(plan.weights)) - 1)


def _integer_spread(model: Model, plan: Plan, A: IntArray, N: int) -> Spread | None:
    """The spread of a plan rounded to N pulls; None if N is too few."""
    counts = model.integers(plan, A, N)
    return None if counts is None else model.spread(A, counts)


def _aligned(accuracy: float, policy: GEGEConfidence, floor: float) -> float:
    """The first accuracy moved onto the grid epsilon ratio^k: no round is wasted just above epsilon."""
    if floor <= 0.0 or accuracy <= floor or policy.first_accuracy != "auto":
        return accuracy
    steps = math.floor(math.log(accuracy / floor) / math.log(policy.ratio))
    return floor * policy.ratio**steps


def _first_accuracy(policy: GEGEConfidence, state: RoundState, plans: tuple[Plan, ...]) -> float:
    """eps_1: given, or twice what N_1 pulls certify, which has no units."""
    if policy.first_accuracy != "auto":
        return float(policy.first_accuracy)
    model, A = state.setting.model, state.active
    noise = policy.noise_of(state.setting)
    h, risk = model.least(A), schedule.next_risk(policy.delta, None)
    N, etas = FIRST_PULLS * max(2 * h, h + 10), []
    for plan in plans:
        spread = _integer_spread(model, plan, A, N)
        if spread is not None:
            found = spread.certain_width(risk, len(noise.sigma), tail_of(noise), policy.bounds)
            etas.append(found.eta)
    return 2.0 * float(noise.sigma.max()) * min(etas)


def _closed_form(policy: GEGEConfidence, state: RoundState, r: int) -> Need | None:
    """Rounds of the schedules 'paper', 'corrected' and 'authors'."""
    model, A, noise = state.setting.model, state.active, policy.noise_of(state.setting)
    accuracy, risk = schedule.paper_accuracy(r), schedule.paper_risk(policy.delta, r)
    sigma_w = float(noise.sigma.max())
    plans = model.designs(A, ("g",), state.barred)
    if not plans:
        return None
    plan = plans[0]
    N = schedule.round_pulls(
        policy.schedule, accuracy, risk, len(A), model.least(A), len(noise.sigma), sigma_w
    )
    if policy.schedule == "authors":  # per-arm ceilings, as published: more than N in all
        counts = np.ceil(N * plan.weights).astype(np.int64)
    else:
        integers = model.integers(plan, A, max(N, model.least(A)))
        assert integers is not None
        counts = integers
    return Need(counts, accuracy, risk, policy.schedule, plan.kind)


def _pilot(
    policy: GEGEConfidence, model: Model, plan: Plan, A: IntArray, risk: float
) -> Need | None:
    """The first round when a noise scale is unknown: enough spare pulls to estimate it."""
    h = model.least(A)
    N = max(h + FIRST_SPARE, 2 * h)
    if policy.scale_from == "replicates":
        N = max(N, int(np.count_nonzero(plan.weights)) + FIRST_SPARE)
    counts = model.integers(plan, A, N)
    return None if counts is None else Need(counts, math.inf, risk, "Student t", plan.kind)


def _student_round(
    policy: GEGEConfidence,
    state: RoundState,
    plans: tuple[Plan, ...],
    sigma: FloatArray,
    accuracy: float,
    risk: float,
) -> Need | None:
    """The round that should reach eps_r if the noise is what the last round said."""
    model, A = state.setting.model, state.active
    ratio = sigma / state.unit
    usable = [(model.spread(A, plan.weights), plan) for plan in plans]
    plan = min(
        (pair for pair in usable if pair[0] is not None),
        key=lambda pair: pair[0].widest if pair[0] is not None else math.inf,
    )[1]
    noise = policy.noise_of(state.setting)
    m = int(np.count_nonzero(plan.weights))
    used = m if policy.scale_from == "replicates" else model.least(np.flatnonzero(plan.weights))

    def reaches(N: int) -> bool:
        spread = _integer_spread(model, plan, A, N)
        if spread is None or N <= used:
            return False
        z = quantiles(noise, risk, len(A), spread.rank, N - used)
        return bool((z * ratio * spread.widest).max() <= accuracy / 2.0)

    N = schedule.smallest_certified(reaches, 2 * (used + FIRST_SPARE), used + FIRST_SPARE)
    counts = model.integers(plan, A, N)
    return None if counts is None else Need(counts, accuracy, risk, "Student t", plan.kind)


def forecast(policy: GEGEConfidence, setting: Setting) -> tuple[RoundForecast, ...]:
    """Pulls of the rounds to come if no arm left (an upper end), and none (it may have stopped)."""
    state = policy.init(setting)
    if state.stop is not None:
        return ()
    asked = int(state.want.sum())
    rounds = [RoundForecast(1, asked, asked, state.accuracy)]
    if not state.unit.size or math.isinf(state.accuracy) or not setting.noisy.any():
        return tuple(rounds)
    floor, horizon = _floor(policy, state), min(policy.max_rounds or _HORIZON, _HORIZON)
    while state.number < horizon and not (floor > 0 and state.accuracy <= floor):
        record = RoundRecord(state.number, 0, 0, 0, state.accuracy, state.risk, "", "")
        state = replace(state, history=(*state.history, record))
        need = size_round(policy, state)
        assert need is not None
        label = (need.bound, need.design)
        state = want_round(state, need.counts, accuracy=need.accuracy, risk=need.risk, label=label)
        rounds.append(RoundForecast(state.number, 0, int(need.counts.sum()), need.accuracy))
    return tuple(rounds)
