"""The study's measurements as tests of assumptions need them: by round, in the order they were told.

The pulls of a round are fixed before any of its values, so a test on a complete round has its exact
law. Where one design was fixed before everything, rounds are only looks at it, and are tested
together: at the end, at the half, the quarter, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paretoscope.core.arrays import FloatArray, IntArray
from paretoscope.study.book import Book, Uid, group_members
from paretoscope.study.problem import Problem


class Span(NamedTuple):
    """Measurements whose pulls were fixed before them: requests, arms, noisy values on the inner scale.

    ``share`` is the part of a test's level that belongs to them.
    """

    uids: Sequence[str]
    arms: IntArray
    Y: FloatArray
    share: float

    def upto(self, n: int) -> Span:
        """The first n of them."""
        return Span(self.uids[:n], self.arms[:n], self.Y[:n], self.share)


def by_round(problem: Problem, book: Book, base: int, turn: int) -> list[Span]:
    """Complete rounds from ``base`` to ``turn`` (which is open); round t has 1 / ((t + 1)(t + 2))."""
    rounds = _rows(book, base, turn)
    return [
        _span(problem, book, rows, 1.0 / ((t + 1) * (t + 2))) for t, rows in enumerate(rounds) if rows
    ]


def by_half(problem: Problem, book: Book, base: int, turn: int, looks: int) -> list[Span]:
    """Everything up to look ``looks``, up to its half, its quarter ... as far as complete."""
    ends, end = [], looks
    while end > 1:
        ends.append(end)
        end = (end + 1) // 2
    ends.append(1)
    rounds = _rows(book, base, turn)
    made = []
    for end in sorted(set(ends)):
        rows = [row for part in rounds[:end] for row in part]
        if end <= len(rounds) and rows:
            made.append(_span(problem, book, rows, 1.0 / len(set(ends))))
    return made


Rows = list[tuple[str, Uid]]


def _rows(book: Book, base: int, turn: int) -> list[Rows]:
    """Requests told one by one, by round; those told as a mean and a deviation have no order."""
    summed = {uid for group in book.sums for uid in group_members(group)}
    rounds: list[Rows] = [[] for _ in range(turn - base)]
    for text in book.values:
        uid = Uid.parse(text)
        assert uid is not None, "a request was not checked before it was written down"
        if base <= uid.turn < turn and text not in summed and not book.barred(uid):
            rounds[uid.turn - base].append((text, uid))
    return rounds


def _span(problem: Problem, book: Book, rows: Rows, share: float) -> Span:
    """Some requests with their arms and values; candidates of equal features are one arm."""
    texts = [text for text, _ in rows]
    arms = problem.setting.model.inverse[[uid.candidate for _, uid in rows]]
    Y = np.array([problem.inward(book.values[text]) for text in texts])
    return Span(texts, np.asarray(arms), Y[:, problem.setting.noisy], share)
