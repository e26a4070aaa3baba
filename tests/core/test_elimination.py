"""The rules against loops over their definition, and against truths whose errors stay in bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.core import elimination as el
from paretoscope.core.elimination import Widths
from tests import naive


class World(NamedTuple):
    """Means, half widths of arms (eta_ij = r_i + r_j), misfits and exact metrics."""

    mu: np.ndarray
    scale: np.ndarray
    r: np.ndarray
    misfit: np.ndarray | None
    b: np.ndarray
    exact: np.ndarray | None

    @property
    def widths(self):
        def pair(rows):
            w = self.r[rows][:, None] + self.r
            w[np.arange(len(rows)), rows] = 0.0
            return w

        beta = None if self.misfit is None else self.b[:, None] + self.b
        return Widths(self.scale, pair=pair, misfit=self.misfit, beta=beta)

    def eta(self, i, j, c):
        misfit = 0.0 if self.misfit is None else self.misfit[c] * (self.b[i] + self.b[j])
        return self.scale[c] * (self.r[i] + self.r[j]) + misfit

    @property
    def known(self):
        return np.zeros((len(self.mu), 0)) if self.exact is None else self.exact


def draw_world(seed, *, tied):
    """Small integers and powers of two (every comparison exact and often a tie), or any floats."""
    rng = np.random.default_rng(seed)
    n, d, e = rng.integers(1, 9), rng.integers(1, 5), rng.integers(0, 3)
    levels = rng.integers(2, 8)

    def values(shape):
        return rng.integers(0, levels, shape).astype(float) if tied else rng.normal(0, 2, shape)

    r = rng.choice([0.0, 0.0, 0.0, 0.25, 0.5, 1.0], n) if tied else rng.uniform(0, 0.7, n)
    misfit = rng.choice([0.0, 0.0, 0.5, 1.0], d) if rng.random() < 0.5 else None
    exact = rng.integers(0, 3, (n, e)).astype(float) if e else None
    b = rng.choice([0.0, 1.0], n)
    return World(values((n, d)), 2.0 ** rng.integers(-1, 2, d), r, misfit, b, exact)


@pytest.mark.parametrize("tied", [True, False])
@settings(max_examples=1_500)
@given(seed=st.integers(0, 2**32))
def test_refined_is_its_definition(tied, seed):
    world = draw_world(seed, tied=tied)
    got = el.refined(world.mu, world.widths, world.exact)
    rejected, accepted = naive.refined(world.mu, world.eta, world.known)
    assert got.rejected.tolist() == rejected
    assert got.accepted.tolist() == accepted
    for i in np.flatnonzero(got.rejected):
        assert naive.certainly_dominated(world.mu, world.eta, world.known, i, got.by[i])
        assert got.gap[i] >= got.threshold[i]
        assert got.threshold[i] == world.r[i] + world.r[got.by[i]]
    assert (got.by[~got.rejected] == -1).all()
    assert (got.gap[got.accepted] >= 0).all()


@settings(max_examples=1_500)
@given(seed=st.integers(0, 2**32))
def test_errors_below_their_widths_lead_to_no_wrong_label(seed):
    truth = draw_world(seed, tied=True)
    rng = np.random.default_rng([seed, 1])
    room = truth.scale * truth.r[:, None]
    if truth.misfit is not None:
        room += truth.misfit * truth.b[:, None]
    error = room * rng.choice([-1, 1], room.shape) * rng.choice([0, 0.5, 0.999], room.shape)
    seen = truth._replace(mu=truth.mu + error)
    optimal = naive.non_dominated(np.hstack([truth.mu, truth.known]))
    got = el.refined(seen.mu, seen.widths, seen.exact)
    assert not (got.rejected & optimal).any()
    assert not (got.accepted & ~np.array(optimal)).any()
    # every arm that stays is as near to optimal as said
    unit = rng.choice([0.0, 0.5, 1.0], len(truth.scale))
    t = el.achieved_epsilon(seen.mu, seen.widths, unit, seen.exact)
    for i in range(len(truth.mu)):
        for j in range(len(truth.mu)):
            no_worse = (truth.known[j] >= truth.known[i]).all()
            beyond = truth.mu[j] - truth.mu[i] > np.where(unit > 0, t * np.maximum(unit, 1e-9), 0)
            assert i == j or t == np.inf or not (no_worse and beyond.all())


@pytest.mark.parametrize("tied", [True, False])
@settings(max_examples=500)
@given(seed=st.integers(0, 2**32))
def test_achieved_epsilon_is_its_definition(tied, seed):
    world = draw_world(seed, tied=tied)
    unit = np.random.default_rng(seed).choice([0.0, 0.5, 2.0], len(world.scale))
    got = el.achieved_epsilon(world.mu, world.widths, unit, world.exact)
    want = naive.achieved_epsilon(world.mu, world.eta, world.known, unit)
    assert got == pytest.approx(want, rel=1e-12)


@settings(max_examples=500)
@given(seed=st.integers(0, 2**32), eta=st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_the_rule_of_the_paper_is_its_definition(seed, eta):
    world = draw_world(seed, tied=True)
    mu = world.mu / world.scale
    star, gaps = naive.psi_stars(mu), naive.psi_gaps(mu)
    got = el.paper(world.mu, world.scale, eta)
    assert got.rejected.tolist() == [s > 0 and s >= eta for s in star]
    assert got.accepted.tolist() == [
        s <= 0 and g >= 2 * eta for s, g in zip(star, gaps, strict=True)
    ]
    for i in np.flatnonzero(got.rejected):
        assert naive.margin(mu, i, got.by[i]) == star[i] >= got.threshold[i] == eta
    assert (got.threshold[np.array(star) <= 0] == 2 * eta).all()


@pytest.mark.parametrize("seed", range(20))
def test_blocks_change_nothing(monkeypatch, seed):
    world = draw_world([seed, 7], tied=True)
    unit = np.ones(len(world.scale))
    whole = el.refined(world.mu, world.widths, world.exact)
    epsilon = el.achieved_epsilon(world.mu, world.widths, unit, world.exact)
    monkeypatch.setattr(el, "_BLOCK", 2 * len(world.mu))
    parts = el.refined(world.mu, world.widths, world.exact)
    for name in ("rejected", "accepted", "by", "gap", "threshold"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert el.achieved_epsilon(world.mu, world.widths, unit, world.exact) == epsilon


def labels(mu, widths, exact=None):
    """One letter per arm: Rejected, Accepted or undecided."""
    got = el.refined(np.array(mu, dtype=float), widths, exact)
    return "".join(
        "R" if r else "A" if a else "?" for r, a in zip(got.rejected, got.accepted, strict=True)
    )


def uniform(w, d=2):
    return Widths(np.ones(d), uniform=w)


@pytest.fixture(params=["by the front", "by all pairs"])
def way(request, monkeypatch):
    """Both ways to judge one width for all: the front alone, or every pair."""
    if request.param == "by all pairs":
        monkeypatch.setattr(Widths, "one", False)


@pytest.mark.usefixtures("way")
def test_thresholds_are_reached_at_equality():
    mu = [[4.0, 1.0], [1.0, 4.0], [3.0, 0.0]]
    assert labels(mu, uniform(1.0)) == "AAR"
    assert labels(mu, uniform(1.0 + 1e-12)) == "?A?"
    assert labels(mu, uniform(3.1)) == "???"


@pytest.mark.usefixtures("way")
def test_an_arm_is_not_accepted_while_another_may_need_it():
    # 0 is certainly optimal, but 1 may be dominated by it alone: 0 has to stay
    mu = [[2.0, 2.0], [1.5, 2.4], [-3.0, 9.0]]
    assert labels(mu, uniform(0.5)) == "??A"


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@settings(max_examples=400)
def test_the_front_alone_judges_as_all_pairs_do(seed, tied, all_stay):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 12), rng.integers(1, 5)
    mu = rng.integers(0, 6, (n, d)).astype(float) if tied else rng.normal(0, 2, (n, d))
    widths = uniform(float(rng.choice([0.5, 1.0, 2.0])), d)
    front = el.refined(mu, widths, all_stay=all_stay)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Widths, "one", False)
        pairs = el.refined(mu, widths, all_stay=all_stay)
    for name in ("rejected", "accepted", "threshold"):
        np.testing.assert_array_equal(getattr(front, name), getattr(pairs, name))
    decided = front.rejected | front.accepted
    np.testing.assert_array_equal(front.gap[decided], pairs.gap[decided])
    on_front = ~front.rejected & (pairs.spare >= 0)
    np.testing.assert_array_equal(front.spare[on_front], pairs.spare[on_front])
    best = [
        max((mu[j] - mu[i]).min() for j in range(n) if j != i)
        for i in np.flatnonzero(front.rejected)
    ]
    by = front.by[front.rejected]
    np.testing.assert_array_equal((mu[by] - mu[front.rejected]).min(axis=1), np.array(best))


def test_twins_known_to_be_equal_are_judged_together():
    s = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    widths = Widths(np.ones(2), pair=lambda rows: s[rows])
    assert labels([[3, 3], [3, 3], [1, 1]], widths) == "AAR"
    assert labels([[3, 3], [3, 3], [2.5, 2.5]], widths) == "???"
    assert labels([[1, 1], [1, 1], [3, 3]], widths) == "RRA"


def test_exact_metrics_separate_twins_and_equal_ones_do_not_get_in_the_way():
    twins = Widths(np.ones(2), pair=lambda rows: np.zeros((2, 2))[rows])
    same = [[3, 3], [3, 3]]
    assert labels(same, twins, np.array([[1.0], [2.0]])) == "RA"
    assert labels(same, twins, np.array([[2.0], [2.0]])) == "AA"
    assert labels(same, twins, np.array([[1.0, 2.0], [2.0, 1.0]])) == "AA"
    # equal in the exact metric: the noisy ones decide, as if it were not there
    level = np.array([[6.0], [6.0]])
    assert labels([[3, 3], [1, 1]], uniform(1.0), level) == "AR"
    assert labels([[3, 1], [1, 3]], uniform(1.0), level) == "AA"
    # better in it: certainly optimal, whatever the noise
    assert labels([[3, 3], [1, 1]], uniform(1.0), np.array([[1.0], [2.0]])) == "AA"


@pytest.mark.parametrize(("misfit", "verdict"), [((0.0, 0.1), "??"), ((0.0, 0.0), "AA")])
def test_a_misfit_of_one_objective_alone_keeps_twins_apart(misfit, verdict):
    # equal by the model, which may be wrong in the second objective: one of them may dominate
    widths = Widths(
        np.ones(2),
        pair=lambda rows: np.zeros((2, 2))[rows],
        misfit=np.array(misfit),
        beta=np.array([[0.0, 2.0], [2.0, 0.0]]),
    )
    assert labels([[3, 3], [3, 3]], widths) == verdict


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_without_noise_the_verdict_is_the_pareto_set(seed):
    rng = np.random.default_rng(seed)
    exact = rng.integers(0, 4, (rng.integers(1, 10), rng.integers(1, 4))).astype(float)
    got = el.refined(np.zeros((len(exact), 0)), Widths(np.zeros(0)), exact)
    assert got.accepted.tolist() == naive.non_dominated(exact)
    assert (got.rejected == ~got.accepted).all()
    assert all(naive.dominates(exact[got.by[i]], exact[i]) for i in np.flatnonzero(got.rejected))


def test_nothing_handed_in_is_changed():
    world = draw_world(3, tied=True)._replace(misfit=None)
    before = world.mu.copy()
    el.refined(world.mu, world.widths, world.exact)
    el.achieved_epsilon(world.mu, world.widths, np.ones(len(world.scale)), world.exact)
    np.testing.assert_array_equal(world.mu, before)
