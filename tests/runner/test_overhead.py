"""What a measurement costs beside itself: at most a millisecond, for 259 candidates in threads."""

from __future__ import annotations

import statistics
import time

import pytest

import paretoscope as ps
from tests.runner.bench import noise

K, MEASUREMENTS, MOST = 259, 5000, 1e-3


class Trivial:
    """A callable that does next to nothing, and notes when it was called."""

    def __init__(self):
        self.began = []

    def __call__(self, candidate):
        self.began.append(time.perf_counter())
        k = int(candidate["id"])
        n = len(self.began) % 997
        return {"a": k % 16 + LUCK[n], "b": -(k % 37) + LUCK[-n]}


LUCK = [0.1 * noise("luck", n) for n in range(997)]


@pytest.mark.parametrize("where", [None, "overhead.study"], ids=["memory", "file"])
def test_at_most_a_millisecond_a_measurement(where, tmp_path, monkeypatch):
    """Median of 5,000 intervals between two calls; and the mean of processor time, in which all is."""
    monkeypatch.chdir(tmp_path)
    measure = Trivial()
    with ps.Study.create(
        where, candidates={"x": list(range(K))}, metrics=["a:max", "b:min"], epsilon=0.05, seed=1
    ) as study:
        before = time.process_time()
        ran = study.run(measure, parallelism=4, max_measurements=MEASUREMENTS)
        spent = (time.process_time() - before) / MEASUREMENTS
        assert ran.measured == MEASUREMENTS
    took = [after - before for before, after in zip(measure.began, measure.began[1:], strict=False)]
    median, mean = statistics.median(took), ran.seconds / MEASUREMENTS
    print(
        f"overhead: median {1e3 * median:.3f} ms, mean {1e3 * mean:.3f}, of the CPU {1e3 * spent:.3f}"
    )
    assert median <= MOST
    assert spent <= MOST, "a batch that is told together is no overhead hidden from the median"
