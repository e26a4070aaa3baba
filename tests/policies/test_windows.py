"""Windows of evidence: what a batch adds, what a world pays, and an exact supermartingale."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from paretoscope.core.anytime import log_e_value
from paretoscope.policies import windows
from paretoscope.policies.base import Tally
from paretoscope.policies.field import build_field
from paretoscope.policies.signs import Terms
from paretoscope.policies.windows import Window, after_batch, certain, needs, open_window
from tests.policies.drive import study

X = np.array([[1.0, 0.0], [0.3, 1.0], [-0.5, 0.8], [0.9, 0.9]])
SETTING = study(X)
MODEL = SETTING.model
TERMS = Terms(4, 2, np.zeros(2), None, MODEL.twin, np.array([20.0, 80.0]), 0.01)
SIGNS = np.sort(
    TERMS.code(np.array([0, 1, 3]), np.array([1, 2, 2]), np.array([0, 1, 0]), np.zeros(3, int))
)


def tally(counts, mu, rng=None):
    n = np.maximum(counts, 1)[:, None]
    noise = 0.0 if rng is None else rng.standard_normal(mu.shape) / np.sqrt(n)
    return Tally(counts, np.where(counts[:, None] > 0, mu + noise, 0.0), np.zeros_like(mu))


def field(counts, mu, rng=None):
    return build_field(MODEL, tally(np.asarray(counts), mu, rng), np.ones(2))


def test_numbers_of_signs_lead_back_to_the_signs():
    parts = np.array(list(itertools.product(range(4), range(4), range(2), range(2)))).T
    code = TERMS.code(*parts)
    assert len(np.unique(code)) == code.size
    np.testing.assert_array_equal(TERMS.signs(code), parts)


def test_a_batch_adds_its_own_least_squares_and_nothing_else():
    rng = np.random.default_rng(0)
    mu, counts = rng.standard_normal((4, 2)), np.array([3, 5, 0, 4])
    past = field([9, 2, 7, 1], mu + X @ rng.standard_normal((2, 2)))
    window = open_window(TERMS, past, 19, SIGNS, np.ones(3))
    batch = field(counts, mu, rng)
    after = after_batch(TERMS, batch, window)
    V = (X * counts[:, None]).T @ X
    theta = np.linalg.lstsq(X, batch.mu, rcond=None)[0]
    for q, (i, j, c, _) in enumerate(zip(*TERMS.signs(SIGNS), strict=True)):
        u = X[j] - X[i]
        v = u @ np.linalg.solve(V, u)
        assert after.I[q] == pytest.approx(1 / v)
        assert after.Y[q] == pytest.approx((u @ theta)[c] / v)


def test_the_prior_is_what_the_past_says():
    mu = np.random.default_rng(1).standard_normal((4, 2))
    past = field([9, 2, 7, 1], X @ X[:2].T)
    window = open_window(TERMS, past, 19, SIGNS, np.array([1.0, 2.0, 1.0]))
    i, j, c, _ = TERMS.signs(SIGNS)
    np.testing.assert_allclose(window.m, past.mu[j, c] - past.mu[i, c])
    np.testing.assert_allclose(window.v, past.squares(i, j))
    assert window.price.sum() == pytest.approx(1.0)
    assert not window.Y.any()
    assert after_batch(TERMS, field([1, 1, 0, 0], mu), window).I.all()


def test_the_scale_of_the_ellipsoid_looks_at_no_data():
    one, two = field([9, 2, 7, 1], X @ X[:2].T), field([0, 5, 1, 90], np.zeros((4, 2)))
    np.testing.assert_array_equal(one.W0, two.W0)
    free = study(K=3).model
    few, many = (
        build_field(free, Tally(np.array(n), np.zeros((3, 2)), np.zeros((3, 2))), np.ones(2))
        for n in ([1, 1, 1], [9, 1, 2])
    )
    np.testing.assert_array_equal(few.w, many.w)


def money(opened, wrong):
    """sum_k a_k T_k of the world in which these signs are wrong."""
    worth = []
    for k, window in enumerate(opened):
        E = np.exp(log_e_value(window.Y, window.I, window.m, window.v))
        here = np.isin(window.code, wrong)
        share = (window.price * E)[here].sum() / window.price[here].sum() if here.any() else 1.0
        worth.append((1 - windows.SHARE) * windows.SHARE**k * share)
    return sum(worth) + windows.SHARE ** len(opened)


def wealth_at_a_stop(rng):
    """The true world's money when it first doubles, or after eight batches chosen by the data."""
    mu = X @ np.array([[0.2, 0.0], [0.1, 0.0]])
    i, j, c, _ = TERMS.signs(SIGNS)
    wrong = SIGNS[mu[j, c] <= mu[i, c]]
    total = tally(np.array([4, 4, 4, 4]), mu, rng)
    opened, counts = [], np.array([2, 2, 2, 2])
    for look in range(8):
        past = build_field(MODEL, total, np.ones(2))
        if look in {0, 3}:
            price = np.exp(
                past.mu[j, c] - past.mu[i, c]
            )  # from the past, in favour of what looks good
            opened.append(open_window(TERMS, past, total.total, SIGNS, price))
        best = int(np.argmax(past.mu[:, 0]))
        counts = np.ones(4, dtype=np.int64)
        counts[best] += 2 + 3 * (look % 2)
        batch = tally(counts, mu, rng)
        opened = [after_batch(TERMS, build_field(MODEL, batch, np.ones(2)), w) for w in opened]
        total = total.merge(batch)
        if money(opened, wrong) >= 2.0:
            break
    return money(opened, wrong), certain(tuple(opened), SIGNS[:0], 0.5), wrong


def test_the_money_of_the_true_world_is_a_supermartingale():
    """1,000 studies, prices and pulls chosen by the data: at a stop the mean is <= 1 + 4 standard errors."""
    rng = np.random.default_rng(2)
    found = [wealth_at_a_stop(rng) for _ in range(1_000)]
    held = np.array([value for value, _, _ in found])
    assert held.mean() <= 1.0 + 4.0 * held.std() / math.sqrt(len(held))
    assert held.mean() > 0.3
    for value, sure, wrong in found:
        if np.isin(sure, wrong).any():  # a false sign needs all the money of 1 / risk
            assert value >= 2.0 - 1e-9


def window(E, price, code):
    """A window whose e-values are those: prior at 0 of no width to speak of, then one batch."""
    n = len(E)
    m, v = np.full(n, 1.0), np.full(n, 1e-9)
    Y = np.log(E) + 0.5
    return Window(0, np.asarray(code), np.asarray(price, float), m, v, Y, np.ones(n))


def test_a_sign_lacks_what_its_least_world_lacks():
    one = window([8.0, 2.0], [0.5, 0.5], [4, 6])
    lack = needs((one,), np.zeros(0, dtype=np.int64), 0.1)[0]
    share = 1.0 - windows.SHARE
    np.testing.assert_allclose(lack, -np.log(0.1 * share * np.array([5.0, 2.0])), atol=1e-6)
    second = needs((one, one), np.zeros(0, dtype=np.int64), 0.1)[1]
    np.testing.assert_allclose(second, lack - math.log(windows.SHARE), atol=1e-6)
    known = needs((one,), np.array([6]), 0.1)[0]
    np.testing.assert_allclose(known[0], -math.log(0.1 * share * 8.0), atol=1e-6)


def test_windows_add_up_and_what_is_certain_frees_the_rest():
    one = window([28.0, 13.4], [0.5, 0.5], [4, 6])
    nothing = np.zeros(0, dtype=np.int64)
    assert certain((one,), nothing, 0.1).tolist() == [
        4,
        6,
    ]  # 0.75 x 28, diluted by 13.4, is above 10
    weak = window([12.0, 1.0], [0.5, 0.5], [4, 6])
    assert certain((weak,), nothing, 0.1).tolist() == []
    strong = window([80.0, 1.0], [0.5, 0.5], [4, 6])
    assert certain((weak, strong), nothing, 0.1).tolist() == [4]
    assert certain((), nothing, 0.1).tolist() == []
