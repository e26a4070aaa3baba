"""A simulated laboratory: what it measures depends on the request alone, so twins see the same luck."""

from __future__ import annotations

import zlib

import numpy as np

from paretoscope.ledger import MemoryLedger
from paretoscope.policies.codec import to_plain
from paretoscope.study.book import Uid
from paretoscope.study.definition import define
from paretoscope.study.metric import Metric
from paretoscope.study.study import Study

MEANS = np.array([[1.0, 0.0], [0.9, 0.5], [0.0, 1.0], [0.2, 0.1], [-0.5, 0.4], [0.3, 0.6]])
SIGMA = 0.2


def metrics(sigma=SIGMA, names=("y1", "y2"), **options):
    return [Metric(name, sigma=sigma, **options) for name in names]


def linear_world(K=12, seed=0):
    """Columns and means that are linear in them."""
    x = np.random.default_rng(seed).standard_normal((K, 2))
    return {"a": x[:, 0].tolist(), "b": x[:, 1].tolist()}, x @ np.array([[1.0, -0.6], [0.3, 0.8]])


def fresh(where=None, **definition):
    """A study on a fresh ledger, by default of the six candidates of MEANS."""
    settings = {"candidates": {"a": list(range(len(MEANS)))}, "metrics": metrics(), "seed": 3}
    return Study.on(MemoryLedger() if where is None else where, define(**settings | definition))


def measured(request, means=MEANS, sigma=SIGMA, exact=()):
    """The row of a request; ``exact`` columns without noise."""
    uid = Uid.parse(request.uid)
    rng = np.random.default_rng(zlib.crc32(request.uid.encode()))
    noise = sigma * rng.standard_normal(means.shape[1])
    noise[list(exact)] = 0.0
    values = means[uid.candidate] + noise
    row = {f"y{c + 1}": float(value) for c, value in enumerate(values)}
    return {"uid": request.uid, "candidate": request.candidate} | row


def finish(study, most=200, **world):
    """Whole rounds until the study stops; what was asked in each."""
    asked = []
    for _ in range(most):
        batch = study.ask()
        if not batch:
            return asked
        asked.append(batch)
        study.tell([measured(request, **world) for request in batch])
    raise AssertionError(f"not stopped after {most} rounds")


def copy(study, upto=None):
    """The same study opened again from its first events."""
    ledger = MemoryLedger()
    ledger.append([event for _, event in study.ledger.read()][:upto], expect=0)
    return Study(ledger, study.clock)


def shape(study):
    """Everything that decides what a study asks next."""
    study.refresh()
    course = study._course
    return (to_plain(course.state), course.turn.number, list(course.turn.waiting), course.stop)


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now
