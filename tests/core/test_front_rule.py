"""Verdicts by the front alone against all pairs, in strips and at once, and at a size that pairs never reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.core import elimination as el
from paretoscope.core import front_rule
from paretoscope.core.elimination import Widths
from tests import naive


def draw(seed):
    """Estimates (tied integers every other time), one width, units."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 12), rng.integers(1, 5)
    mu = rng.integers(0, 6, (n, d)).astype(float) if seed % 2 else rng.normal(0, 2, (n, d))
    widths = Widths(rng.choice([0.5, 1.0, 2.0], d), uniform=float(rng.choice([0.5, 1.0])))
    return mu, widths, rng.choice([0.25, 1.0, 3.0], d)


@settings(max_examples=500)
@given(seed=st.integers(0, 2**32))
def test_the_front_tells_the_same_tolerance_as_all_pairs(seed):
    mu, widths, unit = draw(seed)
    got = el.achieved_epsilon(mu, widths, unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Widths, "one", False)
        assert got == el.achieved_epsilon(mu, widths, unit)
    eta = widths.scale * widths.uniform
    want = naive.achieved_epsilon(mu, lambda *pair: eta[pair[2]], np.zeros((len(mu), 0)), unit)
    assert got == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("cells", [1, 7, 40])
def test_strips_change_nothing(monkeypatch, seed, cells):
    mu, widths, unit = draw(seed)
    whole = el.refined(mu, widths), el.achieved_epsilon(mu, widths, unit)
    monkeypatch.setattr(front_rule, "STRIP_CELLS", cells)
    parts = el.refined(mu, widths), el.achieved_epsilon(mu, widths, unit)
    for name in ("rejected", "accepted", "by", "gap", "threshold", "spare"):
        np.testing.assert_array_equal(getattr(parts[0], name), getattr(whole[0], name))
    assert parts[1] == whole[1]


def test_a_hundred_thousand_arms_are_judged_as_a_sample_of_their_pairs_says():
    rng = np.random.default_rng(5)
    mu = rng.standard_normal((100_000, 3))
    widths = Widths(np.ones(3), uniform=0.4)
    got = el.refined(mu, widths)
    sample = np.flatnonzero(~got.rejected)[:100]
    sample = np.concatenate([sample, np.flatnonzero(got.rejected)[:100]])
    for i in sample:
        above = (mu - mu[i]).min(axis=1)
        above[i] = -np.inf
        assert got.rejected[i] == (above.max() >= 0.4)
        if got.rejected[i]:
            assert (got.gap[i], got.by[i]) == (above.max(), above.argmax())
        else:
            assert got.spare[i] == -above[~got.rejected].max() - 0.4
