"""The contract every policy keeps, as checks: run `check_policy` on your own policy.

>>> from paretoscope.policies.fixed import OneShot
>>> check_policy(OneShot(60))

Each check raises AssertionError with a sentence that says what was broken. The worlds are small and
the noise depends on candidate and round only, so that permuted or rescaled copies of a study see the
same luck.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.policies.base import Policy, Tally, Verdict
from paretoscope.policies.codec import from_plain, to_plain
from paretoscope.policies.setting import Noise, Setting

# Rounds after which a policy that neither stops nor fails is given up.
MOST_ROUNDS = 400
Check = Callable[[Policy[Any], "World"], None]


class World:
    """A small study with a known truth: twelve candidates, two metrics, linear or not."""

    def __init__(
        self, *, linear: bool = True, unknown: bool = False, K: int = 12, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.K, self.d = K, 2
        X = rng.standard_normal((K, 3))
        self.mu: FloatArray = X @ rng.standard_normal((3, 2))
        self.X: FloatArray | None = X if linear else None
        self.sigma: FloatArray = np.full(2, 0.3)
        self.unknown = unknown
        self.order: IntArray = np.arange(K)  # which candidate of the first world each one is
        self.factor: FloatArray = np.ones(2)
        self.epsilon: FloatArray = np.zeros(2)

    def setting(self) -> Setting:
        """What the policy is told."""
        noise = Noise.unknown(self.d) if self.unknown else Noise(self.sigma * self.factor)
        epsilon = self.epsilon * self.factor if self.epsilon.any() else None
        return Setting(K=self.K, d=self.d, noise=noise, X=self.X, seed=7, epsilon=epsilon)

    def permuted(self, order: IntArray) -> World:
        """The same world with its candidates in another order."""
        other = World.__new__(World)
        other.__dict__.update(self.__dict__)
        other.mu, other.order = self.mu[order], self.order[order]
        other.X = None if self.X is None else self.X[order]
        return other

    def rescaled(self, factor: FloatArray) -> World:
        """The same world with its metrics in other units."""
        other = World.__new__(World)
        other.__dict__.update(self.__dict__)
        other.factor = factor
        return other

    def tally(self, counts: IntArray, turn: int, part: int = 0) -> Tally:
        """Measurements whose luck depends on candidate, turn and part alone."""
        means, m2 = np.zeros((self.K, self.d)), np.zeros((self.K, self.d))
        for k in np.flatnonzero(counts):
            rng = np.random.default_rng([3, int(self.order[k]), turn, part])
            n = int(counts[k])
            luck = rng.standard_normal(self.d) / np.sqrt(n)
            means[k] = (self.mu[k] + self.sigma * luck) * self.factor
            if n > 1:
                m2[k] = (self.sigma * self.factor) ** 2 * rng.chisquare(n - 1, self.d)
        return Tally(counts, means, m2)


def run(policy: Policy[Any], world: World, state: Any = None, turn: int = 0) -> tuple[Any, int]:
    """Ask and tell whole rounds until the policy stops."""
    state = policy.init(world.setting()) if state is None else state
    while policy.stopped(state) is None and turn < MOST_ROUNDS:
        counts = policy.allocate(state)
        assert counts.any(), "a policy that has not stopped asks for nothing"
        state = policy.observe(state, world.tally(counts, turn))
        turn += 1
    return state, turn


def check_policy(policy: Policy[Any], worlds: tuple[World, ...] | None = None) -> None:
    """Run every check of the contract, in a linear and an unstructured world by default.

    Raises
    ------
    AssertionError
        If the policy breaks the contract; the message says where.
    """
    for world in worlds or (World(linear=True), World(linear=False)):
        for check in CHECKS:
            check(policy, world)


def check_stops(policy: Policy[Any], world: World) -> None:
    """It stops, then asks for nothing, and every candidate has exactly one verdict."""
    state, turns = run(policy, world)
    assert turns < MOST_ROUNDS, f"not stopped after {MOST_ROUNDS} rounds"
    assert not policy.allocate(state).any(), "a stopped policy still asks"
    check_partition(policy.verdict(state), world.K)


def check_partition(verdict: Verdict, K: int) -> None:
    """The masks of a verdict partition the candidates."""
    masks = [verdict.accepted, verdict.near, verdict.rejected, verdict.undecided]
    told = np.sum([*masks, verdict.infeasible], axis=0)
    assert told.shape == (K,), f"masks of shape {told.shape} for {K} candidates"
    assert (told == 1).all(), "a candidate has no verdict, or two"


def check_pure(policy: Policy[Any], world: World) -> None:
    """Methods change neither their state nor their arguments, nor the global generators."""
    before = _global_generators()
    policy.plan(world.setting())
    state = policy.init(world.setting())
    for turn in range(3):
        if policy.stopped(state) is not None:
            break
        kept = _frozen(state)
        counts = policy.allocate(state)
        tally = world.tally(counts, turn)
        copies = [part.copy() for part in tally]
        again = policy.observe(state, tally)
        policy.verdict(state)
        policy.forgo(state, np.minimum(counts, 1))
        assert _frozen(state) == kept, "a method changed the state it was given"
        assert (policy.allocate(state) == counts).all(), "allocate is not a function of the state"
        same = all((a == b).all() for a, b in zip(tally, copies, strict=True))
        assert same, "observe changed the tally it was given"
        state = again
    assert _global_generators() == before, "a global random generator was used"


def check_parts(policy: Policy[Any], world: World) -> None:
    """A round told in parts, in either order, ends in the same verdicts and the same next question."""
    whole = policy.init(world.setting())
    counts = policy.allocate(whole)
    first = np.minimum(counts, np.arange(world.K) % 3)
    parts = [world.tally(first, 0, 1), world.tally(counts - first, 0, 2)]
    ends = []
    for order in (parts, parts[::-1]):
        state = whole
        for part in order:
            asked = policy.allocate(state)
            assert (part.counts <= asked).all(), "an open request was withdrawn"
            state = policy.observe(state, part)
        ends.append(state)
    next_asked = [policy.allocate(state) for state in ends]
    assert (next_asked[0] == next_asked[1]).all(), "the order of arrival changed the next question"
    _same_verdicts(policy.verdict(ends[0]), policy.verdict(ends[1]), "the order of arrival")


def check_replay(policy: Policy[Any], world: World) -> None:
    """Cut anywhere, within a round too, through JSON and back: the same questions bit for bit."""
    state, turn = policy.init(world.setting()), 0
    while policy.stopped(state) is None and turn < 24:
        text = _frozen(state)
        back = from_plain(json.loads(text), world.setting())
        assert _frozen(back) == text, "JSON changed the state"
        counts = policy.allocate(state)
        assert (policy.allocate(back) == counts).all(), "a state from JSON asks something else"
        part = counts if turn % 2 else (counts + 1) // 2
        tally = world.tally(part, turn)
        state, back = policy.observe(state, tally), policy.observe(back, tally)
        assert _frozen(back) == _frozen(state), "a state from JSON continues differently"
        turn += 1


def check_spend(policy: Policy[Any], world: World) -> None:
    """Pulls are counted exactly; what was not asked for is refused; a budget is met exactly."""
    state, turn, pulls = policy.init(world.setting()), 0, 0
    while policy.stopped(state) is None and turn < MOST_ROUNDS:
        counts = policy.allocate(state)
        assert counts.dtype == np.int64, f"counts are {counts.dtype}, not int64"
        assert (counts >= 0).all(), "negative pulls asked for"
        if turn == 0:
            _refuses(policy, state, world.tally(counts + 1, turn))
        state = policy.observe(state, world.tally(counts, turn))
        pulls, turn = pulls + int(counts.sum()), turn + 1
    told = policy.verdict(state).certificate.pulls
    assert told == pulls, f"the certificate counts {told} pulls of {pulls}"
    budget = getattr(policy, "budget", None)
    if budget is not None:
        assert pulls <= budget, f"{pulls} pulls of a budget of {budget}"


def check_forgo(policy: Policy[Any], world: World) -> None:
    """Pulls that never come do not block it, and do not count."""
    state = policy.init(world.setting())
    counts = policy.allocate(state)
    lost = np.zeros_like(counts)
    lost[int(counts.argmax())] = 1
    state = policy.forgo(state, lost)
    assert (policy.allocate(state) == counts - lost).all(), "forgone pulls are still asked for"
    state = policy.observe(state, world.tally(counts - lost, 0))
    state, turns = run(policy, world, state, 1)
    assert turns < MOST_ROUNDS, "it never stopped after pulls were given up"
    check_partition(policy.verdict(state), world.K)


def check_permutation(policy: Policy[Any], world: World) -> None:
    """Candidates in another order: the same verdicts, in that order."""
    order = np.random.default_rng(5).permutation(world.K)
    here = policy.verdict(run(policy, world)[0])
    there = policy.verdict(run(policy, world.permuted(order))[0])
    for name in ("accepted", "near", "rejected", "undecided"):
        same = (getattr(there, name) == getattr(here, name)[order]).all()
        assert same, f"the order of the candidates changed who is {name}"


def check_scale(policy: Policy[Any], world: World) -> None:
    """One metric in smaller units, its tolerance too: the same verdicts."""
    world = world.rescaled(np.ones(2))
    world.epsilon = np.full(2, float(getattr(policy, "epsilon", 0.0)))
    if world.epsilon.any():
        policy = replace(policy, epsilon=0.0)  # type: ignore[type-var]
    here = policy.verdict(run(policy, world)[0])
    there = policy.verdict(run(policy, world.rescaled(np.array([0.125, 1.0])))[0])
    _same_verdicts(here, there, "the unit of a metric")


def check_single(policy: Policy[Any], world: World) -> None:
    """A single candidate is optimal without a measurement."""
    one = World(K=1, linear=world.X is not None)
    state = policy.init(one.setting())
    assert policy.stopped(state) is not None, "one candidate needs no measurement"
    assert policy.verdict(state).answer.all(), "one candidate is optimal"


CHECKS: tuple[Check, ...] = (
    check_stops,
    check_pure,
    check_parts,
    check_replay,
    check_spend,
    check_forgo,
    check_permutation,
    check_scale,
    check_single,
)


def _frozen(state: Any) -> str:
    """A state as text, for comparison bit by bit."""
    return json.dumps(to_plain(state), allow_nan=False)


def _global_generators() -> str:
    """The states of the generators that everybody shares, as text."""
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002
    with np.printoptions(threshold=sys.maxsize):
        return f"{numpy_state} {random.getstate()}"


def _refuses(policy: Policy[Any], state: Any, surplus: Tally) -> None:
    """More than asked for must be refused."""
    try:
        policy.observe(state, surplus)
    except ValueError:
        return
    raise AssertionError("measurements that were not asked for were accepted")


def _same_verdicts(a: Verdict, b: Verdict, what: str) -> None:
    """The same masks."""
    for field in fields(a):
        if field.type == "BoolArray":
            same = (getattr(a, field.name) == getattr(b, field.name)).all()
            assert same, f"{what} changed who is {field.name}"
