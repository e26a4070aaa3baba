"""How far the policy has come: a function of the definition and the book, nothing else.

A turn is one question of the policy: the pulls it wants next. When every request of the turn is
resolved, the values are handed over in the order of the requests, whatever order they arrived in,
and the next turn begins. So a study cut anywhere and opened again asks the same next batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.policies.base import Policy, StopReason, Tally
from paretoscope.policies.fixed import FixedDesign
from paretoscope.policies.race import Race
from paretoscope.policies.setting import Setting
from paretoscope.stages import stage
from paretoscope.study import agreement, checks
from paretoscope.study.agreement import Pair
from paretoscope.study.book import Book, Uid, Values, group_members
from paretoscope.study.evidence import Span, by_half, by_round, complete_rounds
from paretoscope.study.problem import Problem


@dataclass
class Turn:
    """One question of the policy: its requests in order, and those not resolved yet."""

    number: int
    want: IntArray
    uids: list[Uid]
    texts: list[str]
    waiting: dict[str, Uid]


class Course:
    """The policy's progress through a book."""

    def __init__(
        self, problem: Problem, policy: Policy[Any], base: int = 0, carried: IntArray | None = None
    ) -> None:
        self.problem, self.policy, self.base = problem, policy, base
        nothing = np.zeros(problem.K, dtype=np.int64)
        self.carried = nothing if carried is None else carried  # requests before a reframe
        self._everything: tuple[int, Tally] | None = None  # as of which event
        self.moved = 0  # turns begun so far, those that were begun anew as well
        self.restart()

    def restart(self) -> None:
        """Back to the first question."""
        self.state = self.policy.init(self.problem.setting)
        self.before = self.carried  # requests of earlier turns
        self.checks = 0  # check points so far, and the candidates they are at
        self.checked = np.zeros(0, dtype=np.int64)
        self.wanted = np.zeros(self.problem.K, dtype=np.int64)  # by the policy
        self.reached: list[int] = []  # the policy's own round after each turn
        self.moved += 1
        self.turn = self._turn(self.base)

    @property
    def stop(self) -> StopReason | None:
        """Why nothing more is wanted."""
        return self.policy.stopped(self.state)

    def advance(self, book: Book) -> None:
        """Take in what the book has learnt since the last time."""
        if book.rewritten:
            book.rewritten = False
            book.touched.clear()
            self.restart()
            self._settle_all(book)
        else:
            self._settle(book)
        while self.stop is None and not self.turn.waiting:
            stage(f"judging round {self.turn.number + 1}")
            self._hand_over(book)
            self.moved += 1
            self.turn = self._turn(self.turn.number + 1)
            self._settle_all(book)

    def _settle(self, book: Book) -> None:
        """Strike the requests whose fate changed."""
        for uid in book.touched:
            request = self.turn.waiting.get(uid)
            if request is not None and book.barred(request):  # all requests of its candidate go
                self._settle_all(book)
                break
            if request is not None and book.resolved(uid, request):
                del self.turn.waiting[uid]
        book.touched.clear()

    def _settle_all(self, book: Book) -> None:
        """Strike every request that is resolved."""
        waiting = self.turn.waiting
        for uid in [u for u, r in waiting.items() if book.resolved(u, r)]:
            del waiting[uid]

    def _turn(self, number: int) -> Turn:
        """The requests of the policy's present question, in randomised blocks.

        One replicate of every candidate per block: a drift over time then falls on all alike.
        """
        want = self.policy.allocate(self.state)
        rng = np.random.default_rng([self.problem.seed, number])
        arms = np.repeat(np.arange(len(want)), want)
        first = np.repeat(np.cumsum(want) - want, want)
        numbers = np.arange(len(arms)) - first
        beside = self._check_requests(number, want, rng) if self.stop is None else []
        key = [*numbers.tolist(), *(uid.number for uid in beside)]
        uids = [
            Uid(False, number, k, n) for k, n in zip(arms.tolist(), numbers.tolist(), strict=True)
        ]
        uids += beside
        uids = [uids[k] for k in np.lexsort((rng.random(len(uids)), key)).tolist()]
        texts = [str(uid) for uid in uids]
        return Turn(number, want, uids, texts, dict(zip(texts, uids, strict=True)))

    @property
    def setting(self) -> Setting:
        """What the policy works on: without features where it ignores them."""
        found = getattr(self.state, "setting", self.problem.setting)
        assert isinstance(found, Setting)
        return found

    @property
    def assumed(self) -> Problem:
        """The problem as the policy sees it: without features where it ignores them."""
        ignores = self.problem.features is not None and not self.setting.model.linear
        return replace(self.problem, features=None) if ignores else self.problem

    @property
    def pools_noise(self) -> bool:
        """Whether the noise is known, or taken to be the same for all candidates."""
        own = getattr(self.policy, "noise_from", "pooled") == "candidates"
        return not (own and self.setting.noise.only(self.setting.noisy).unknowns.any())

    def _check_requests(self, number: int, want: IntArray, rng: np.random.Generator) -> list[Uid]:
        """Check points beside the design; looks at one design go on with those of the first look."""
        first = number == self.base
        one_design = isinstance(self.policy, FixedDesign)
        self.wanted = self.wanted + want
        if one_design:
            count = checks.check_points(self.setting, self.wanted) - self.checks
        else:
            count = checks.check_points(self.setting, want, checks.FIRST if first else checks.LATER)
        if count <= 0:
            return []
        if first or not one_design:
            everyone = np.ones(self.problem.K, dtype=bool)
            alive = everyone if first else self.policy.verdict(self.state).undecided
            self.checked = checks.candidates(self.setting, want, alive, count, rng)
        made, self.checks = self.checks if one_design else 0, self.checks + count
        return checks.requests(number, self.checked, count, made)

    def _hand_over(self, book: Book) -> None:
        """Give the turn's values to the policy, in the order of the requests."""
        ran = [uid for uid in self.turn.uids if not book.barred(uid)]
        tally = self._tally(book, [uid for uid in ran if not uid.check])
        lost = self.turn.want - tally.counts
        gone = np.zeros(self.problem.K, dtype=bool)
        gone[[uid.candidate for uid in self.turn.uids if book.barred(uid)]] = True
        state = self.state
        if lost.any() or gone.any():
            state = self.policy.forgo(state, lost, gone)
        if tally.counts.any():
            state = self.policy.observe(state, tally)
        self.state = state
        self.reached.append(int(getattr(state, "number", len(self.reached) + 2)))
        asked = np.array([uid.candidate for uid in self.turn.uids], dtype=np.int64)
        self.before = self.before + np.bincount(asked, minlength=self.problem.K)

    def replicate(self, uid: Uid) -> int:
        """Running number of a request of this turn among all of its candidate; check points come last."""
        ahead = self.turn.want[uid.candidate] if uid.check else 0
        return int(self.before[uid.candidate] + ahead + uid.number + 1)

    def _tally(self, book: Book, uids: list[Uid]) -> Tally:
        """The values of some requests as a tally on the inner scale."""
        told = [(uid.candidate, book.values.get(str(uid))) for uid in uids]
        arms = [candidate for candidate, values in told if values is not None]
        if not arms:
            return Tally.empty(self.problem.K, self.problem.d)
        rows = [values for _, values in told if values is not None]
        tally = Tally.of(self.problem.K, arms, self._filled(arms, rows))
        if book.sums:
            self._add_spread(book, {str(uid) for uid in uids}, tally)
        return tally

    def _add_spread(self, book: Book, taken: set[str], tally: Tally) -> None:
        """Squared deviations inside the groups that were told as n, mean and standard deviation."""
        for group, (n, deviations) in book.sums.items():
            first = group_members(group)[0]
            if first in taken:
                request = Uid.parse(first)
                assert request is not None
                squares = [(n - 1) * float(sd or 0.0) ** 2 for sd in deviations]
                tally.m2[request.candidate] += squares

    def _filled(self, arms: list[int], rows: list[Values]) -> FloatArray:
        """Rows on the inner scale, with blank exact metrics taken from what is known."""
        made = self.problem.inward(rows)
        blank = np.isnan(made)
        if blank.any():
            known = self.problem.setting.known
            assert known is not None, "only a metric known beforehand may be left blank"
            made[blank] = known[arms][blank]
        return made

    def everything(self, book: Book) -> Tally:
        """All measurements so far, whatever they were for: the summary a person looks at."""
        if self._everything is None or self._everything[0] != book.number:
            uids = [uid for uid in book.requests.values() if not book.barred(uid)]
            tally = self._tally(book, uids)
            means, m2 = np.nan_to_num(tally.means), np.nan_to_num(tally.m2)
            self._everything = book.number, Tally(freeze(tally.counts), freeze(means), freeze(m2))
        return self._everything[1]

    def singles(self, book: Book) -> list[tuple[int, Values]]:
        """Every measurement with its candidate; none where some were told as means of several."""
        if book.sums:
            return []
        told = zip(book.requests.values(), book.values.values(), strict=True)
        return [(uid.candidate, v) for uid, v in told if not book.barred(uid)]

    def spans(self, book: Book) -> list[Span]:
        """Complete rounds as the tests of assumptions need them."""
        rounds = complete_rounds(book, self.base, self.turn.number)

        def tallied(uids: list[Uid]) -> Tally:
            return self._tally(book, uids)

        if isinstance(self.policy, FixedDesign):  # rounds are looks at one design
            looks = len(self.policy.look_sizes(self.problem.setting))
            return by_half(self.assumed, book, rounds, tallied, looks)
        return by_round(self.assumed, book, rounds, tallied)

    def pairs(self, book: Book) -> list[Pair]:
        """Complete rounds beside earlier ones."""
        rounds = complete_rounds(book, self.base, self.turn.number)
        past = isinstance(self.policy, FixedDesign | Race)  # equal pulls, whatever was measured
        return list(agreement.pairs(rounds, lambda uids: self._tally(book, uids), past=past))

    def pooled(self, book: Book) -> Tally:
        """Earlier measurements as well: what estimates and pictures are made of, never a verdict."""
        now = self.everything(book)
        if not book.history:
            return now
        arms = [candidate for candidate, _ in book.history]
        rows = self._filled(arms, [values for _, values in book.history])
        return Tally.of(self.problem.K, arms, rows).merge(now)

    def known_exact(self, book: Book) -> FloatArray:
        """Exact metrics as far as they are known, on the inner scale."""
        setting = self.problem.setting
        known = np.full((self.problem.K, self.problem.d), np.nan)
        if setting.known is not None:
            known = setting.known.copy()
        tally = self.everything(book)
        seen = tally.counts > 0
        columns = np.flatnonzero(self.problem.exact & np.isnan(known).any(axis=0))
        for c in columns:
            known[seen, c] = tally.means[seen, c]
        return known
