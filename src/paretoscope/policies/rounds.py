"""What all policies that work in rounds share: wait for a round's pulls, judge it, open the next.

A round is opened with the pulls it wants. Parts of them arrive in any order, or are forgone; once
nothing is outstanding the round is judged, and the verdicts of `_judge` are kept for ever. A policy
of this kind is two pure functions, `_open` and `_judge`.

Arms that can never be measured are infeasible: they leave, and are neither pulled nor compared any
more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from paretoscope.core.arrays import BoolArray, FloatArray, IntArray, freeze
from paretoscope.core.elimination import Outcome
from paretoscope.errors import UsageError
from paretoscope.policies.base import (
    Certificate,
    Counts,
    DecisionBatch,
    StopReason,
    Tally,
    Verdict,
    check_delivery,
)
from paretoscope.policies.codec import plain_state
from paretoscope.policies.exactness import exact_values
from paretoscope.policies.setting import Setting

ACTIVE, ACCEPTED, NEAR, REJECTED, INFEASIBLE = range(5)
_WORDS = {
    ACTIVE: "reopened",
    ACCEPTED: "accepted",
    NEAR: "near",
    REJECTED: "rejected",
    INFEASIBLE: "infeasible",
}


@plain_state
class RoundRecord(NamedTuple):
    """One judged round: arms in it, pulls made, accuracy and risk, and what certified them."""

    number: int
    arms: int
    rank: int
    pulls: int
    accuracy: float
    risk: float
    bound: str
    design: str
    freedom: int = 0  # degrees of freedom of an estimated noise scale


@plain_state
@dataclass(frozen=True)
class RoundState:
    """State of a policy that works in rounds.

    Attributes
    ----------
    number : int
        The open round, counted from 1; 0 before the first.
    want, forgone : (K,) arrays
        Pulls of the open round: still expected or made, and given up.
    got : Tally
        What has come of it.
    status : (arms,) int array
        ACTIVE, ACCEPTED, NEAR, REJECTED or INFEASIBLE.
    told : (K,) array
        Pulls made over all rounds.
    gone : (arms,) bool array
        Arms that can never be measured (again).
    exact : (K, e) array
        Values of the exact metrics; NaN = not measured yet.
    unit, sigma_hat : (d,) arrays
        Units of the working scale and the last estimate of the noise (noisy metrics; empty = none yet).
    accuracy, risk : float
        eps_r and delta_r of the open round.
    label : str
        Bound and design planned for it.
    achieved : (d,) array
        Smallest tolerance certified so far for the present answer.
    """

    setting: Setting
    number: int
    want: IntArray
    forgone: IntArray
    got: Tally
    status: IntArray
    told: IntArray
    gone: BoolArray
    exact: FloatArray
    unit: FloatArray
    sigma_hat: FloatArray
    accuracy: float
    risk: float
    label: tuple[str, str]
    achieved: FloatArray
    decisions: tuple[DecisionBatch, ...]
    history: tuple[RoundRecord, ...]
    stop: StopReason | None

    @cached_property
    def active(self) -> IntArray:
        """Arms without a verdict."""
        return freeze(np.flatnonzero(self.status == ACTIVE))

    @property
    def spent(self) -> int:
        """Pulls made."""
        return int(self.told.sum())

    @property
    def barred(self) -> BoolArray:
        """Arms that cannot be measured: never asked for again."""
        return np.asarray(self.gone | (self.status == INFEASIBLE))


S = TypeVar("S", bound=RoundState)


def first_state(setting: Setting) -> RoundState:
    """Nothing measured, nothing wanted."""
    K, d = setting.K, setting.d
    none = freeze(np.zeros(K, dtype=np.int64))
    exact = np.full((K, int(setting.exact.sum())), np.nan)
    if setting.known is not None:
        exact = np.array(setting.known[:, setting.exact], dtype=np.float64)
    return RoundState(
        setting=setting,
        number=0,
        want=none,
        forgone=none,
        got=Tally.empty(K, d),
        status=freeze(np.zeros(len(setting.model.first), dtype=np.int64)),
        told=none,
        gone=freeze(np.zeros(len(setting.model.first), dtype=bool)),
        exact=freeze(exact),
        unit=freeze(np.zeros(0)),
        sigma_hat=freeze(np.zeros(0)),
        accuracy=float("inf"),
        risk=0.0,
        label=("", ""),
        achieved=freeze(np.full(d, np.inf)),
        decisions=(),
        history=(),
        stop=None,
    )


def extended(state: RoundState, kind: type[S], **more: Any) -> S:  # noqa: ANN401  (of its fields)
    """The state as one of a kind with more fields."""
    given = {f.name: getattr(state, f.name) for f in fields(state)}
    return kind(**given, **more)


class RoundPolicy(ABC, Generic[S]):
    """Shared half of the contract; `_open` and `_judge` are the policy."""

    @abstractmethod
    def _start(self, setting: Setting) -> S:
        """State before the first round."""

    @abstractmethod
    def _open(self, state: S) -> S:
        """The next round's pulls, or a stop."""

    @abstractmethod
    def _judge(self, state: S) -> S:
        """Verdicts of the round whose pulls are all in; the next round opened, or a stop."""

    @abstractmethod
    def _certificate(self, state: S) -> Certificate:
        """What is guaranteed at present."""

    def init(self, setting: Setting) -> S:
        """State before any measurement."""
        state = self._start(setting)
        if len(state.status) == 1:  # a single arm is optimal without measurement
            accepted = np.full(1, ACCEPTED)
            return replace(
                state,
                status=accepted,
                stop=StopReason.DECIDED,
                achieved=np.zeros(setting.d),
            )
        return self._open(state)

    def allocate(self, state: S) -> Counts:
        """Pulls still wanted in the open round."""
        if state.stop is not None:
            return np.zeros_like(state.want)
        return state.want - state.got.counts

    def observe(self, state: S, tally: Tally) -> S:
        """Add some of the pulls asked for; judge the round when they are all in."""
        check_delivery(self.allocate(state), tally)
        exact = exact_values(state.exact, state.setting.exact, tally)
        got = state.got.merge(tally)
        state = replace(state, got=got, told=freeze(state.told + tally.counts), exact=exact)
        return self._advance(state)

    def forgo(self, state: S, counts: Counts, gone: BoolArray | None = None) -> S:
        """Give up some of the pulls asked for; judge the round if nothing else is outstanding."""
        if (counts > self.allocate(state)).any() or (counts < 0).any():
            raise UsageError("more pulls given up than were outstanding")
        state = replace(
            state, want=freeze(state.want - counts), forgone=freeze(state.forgone + counts)
        )
        if gone is not None:
            arms = state.gone | gone[state.setting.model.first]
            state = replace(state, gone=freeze(arms))
        return self._advance(state)

    def stopped(self, state: S) -> StopReason | None:
        """Why nothing more is wanted, or None."""
        return state.stop

    def verdict(self, state: S) -> Verdict:
        """The verdicts so far, for every candidate."""
        status = state.status[state.setting.model.inverse]
        return Verdict(
            accepted=status == ACCEPTED,
            near=status == NEAR,
            rejected=status == REJECTED,
            undecided=status == ACTIVE,
            infeasible=status == INFEASIBLE,
            batches=state.decisions,
            certificate=self._certificate(state),
        )

    def _rivals(self, state: S) -> IntArray:
        """Arms that may still dominate an active one: an accepted arm certainly does not."""
        return state.active

    def _without_infeasible(self, state: S) -> S:
        """The state once the arms that cannot be measured have left."""
        return without_infeasible(state)

    def _measure_exact(self, state: S) -> S:
        """No noise anywhere: measure what is not known, once, and compare."""
        none = np.zeros(len(state.status), dtype=np.int64)
        state = want_round(state, none, accuracy=0.0, risk=0.0, label=("exact", "once each"))
        return state if state.want.any() else self._advance(state)

    def _advance(self, state: S) -> S:
        """Judge the round if nothing is outstanding any more."""
        if state.stop is not None or (state.want > state.got.counts).any():
            return state
        state = self._without_infeasible(state)
        if (state.status == INFEASIBLE).all():
            return replace(state, stop=StopReason.NOTHING)
        if len(state.active) == 0:  # the last ones left are infeasible, the others have a verdict
            return replace(state, stop=StopReason.DECIDED, achieved=np.zeros(state.setting.d))
        if (
            len(self._rivals(state)) == 1
        ):  # the others could not be measured: nothing to compare with
            state = with_verdicts(state, state.active, ACCEPTED)
            return replace(state, stop=StopReason.DECIDED, achieved=np.zeros(state.setting.d))
        return self._judge(state)


def want_round(
    state: S,
    counts: IntArray,
    *,
    accuracy: float,
    risk: float,
    label: tuple[str, str],
    extra: bool = False,
) -> S:
    """The state with a new round open: ``counts`` pulls per arm.

    A candidate with an exact metric not known yet is pulled at least once, or, with ``extra``, once
    more than the design says (policies that have set those pulls aside).
    """
    setting = state.setting
    want = np.zeros(setting.K, dtype=np.int64)
    want[setting.model.first] = counts
    missing = np.isnan(state.exact).any(axis=1) & ~state.barred[setting.model.inverse]
    want[missing] = want[missing] + 1 if extra else np.maximum(want[missing], 1)
    return replace(
        state,
        number=state.number + 1,
        want=freeze(want),
        forgone=freeze(np.zeros_like(want)),
        got=Tally.empty(setting.K, setting.d),
        accuracy=accuracy,
        risk=risk,
        label=label,
    )


def want_up_to(state: S, counts: IntArray, *, risk: float, label: tuple[str, str]) -> S:
    """The state with a new round open in which all data stay: ``counts`` pulls per arm in all.

    Pulls that were given up earlier are asked for again.
    """
    before = state.got.counts[state.setting.model.first]
    fresh = np.where(state.barred, 0, np.maximum(counts - before, 0))
    opened = want_round(state, fresh, accuracy=state.accuracy, risk=risk, label=label)
    return replace(opened, got=state.got, want=freeze(opened.want + state.got.counts))


def arm_exact(state: RoundState, arms: IntArray) -> FloatArray | None:
    """Exact metrics of some arms, or None where there are none."""
    if state.exact.shape[1] == 0:
        return None
    return np.asarray(state.exact[state.setting.model.first[arms]])


def without_infeasible(state: S) -> S:
    """Arms that cannot be measured leave as infeasible.

    An arm with an exact metric still unknown cannot be compared either, nor, in an unstructured
    model, one without a single pull in the round.
    """
    first = state.setting.model.first
    lost = state.gone | np.isnan(state.exact[first]).any(axis=1)
    if not state.setting.model.linear:
        lost = lost | ((state.forgone[first] > 0) & (state.got.counts[first] == 0))
    lost = lost & (state.status == ACTIVE)
    if not lost.any():
        return state
    return with_verdicts(state, np.flatnonzero(lost), INFEASIBLE)


def reopened(before: S, after: S, withdrawn: tuple[int, ...]) -> S:
    """What has to be decided again when candidates that were compared turn out not to be measurable.

    Arms that were rejected by one of them: among the candidates that ran, nothing may be better than
    they are. Arms whose verdict is one of ``withdrawn`` have left, certainly dominating nobody who
    stayed; but that is certain only of the arm that dominates each most, and this may be another now.
    """
    new = (after.status == INFEASIBLE) & (before.status != INFEASIBLE)
    if not new.any():
        return after
    model = after.setting.model
    back = np.zeros(len(new), dtype=bool)
    for batch in after.decisions:
        if batch.status == _WORDS[REJECTED]:
            back[model.inverse[batch.arm]] = (batch.by >= 0) & new[model.inverse[batch.by]]
    back &= after.status == REJECTED
    if back.any() or (after.status == ACTIVE).any():  # there is something to compare them with
        back |= np.isin(after.status, withdrawn)
    return with_verdicts(after, np.flatnonzero(back), ACTIVE)


def joined(state: RoundState) -> bool:
    """Whether arms came back in the open round: its pulls were not meant for them."""
    return any(
        batch.status == _WORDS[ACTIVE] and batch.round == state.number for batch in state.decisions
    )


def with_verdicts(
    state: S,
    arms: IntArray,
    status: int,
    gap: FloatArray | None = None,
    threshold: FloatArray | None = None,
    by: IntArray | None = None,
) -> S:
    """The state after some arms got their verdict, with the margins that decided."""
    if len(arms) == 0:
        return state
    updated = state.status.copy()
    updated[arms] = status
    first, blank = state.setting.model.first, np.full(len(arms), np.nan)
    batch = DecisionBatch(
        _WORDS[status],
        state.number,
        first[arms],
        blank if gap is None else gap,
        blank if threshold is None else threshold,
        np.full(len(arms), -1) if by is None else np.where(by >= 0, first[by], -1),
    )
    return replace(state, status=freeze(updated), decisions=(*state.decisions, batch))


def apply_outcome(state: S, arms: IntArray, outcome: Outcome) -> S:
    """Keep the verdicts of one judgement on those of the given arms that have none."""
    undecided = state.status[arms] == ACTIVE
    for mask, status in ((outcome.rejected, REJECTED), (outcome.accepted, ACCEPTED)):
        at = np.flatnonzero(mask & undecided)
        by = np.where(outcome.by[at] >= 0, arms[outcome.by[at]], -1)
        state = with_verdicts(state, arms[at], status, outcome.gap[at], outcome.threshold[at], by)
    return state
