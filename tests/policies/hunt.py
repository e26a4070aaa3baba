"""Studies followed look by look for anything false that is ever said, whoever chooses the pulls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from paretoscope.policies.base import Tally
from paretoscope.policies.field import build_field
from paretoscope.policies.pursuit import live_arms
from paretoscope.policies.rounds import ACCEPTED, REJECTED
from paretoscope.policies.signs import sign_table


def said_wrongly(policy, state, mu, optimal):
    """Signs kept, signs of the ellipsoid among all arms, and labels that are not true."""
    terms = policy._terms(state)
    i, j, c, s = terms.signs(state.sure)
    wrong = int((mu[j, c] + s * terms.epsilon[c] * state.unit[c] <= mu[i, c]).sum())
    field = build_field(state.setting.model, state.past, state.unit)
    if field is not None:
        everyone = np.arange(terms.n)
        table = sign_table(terms, field, state.sure[:0], everyone, everyone)
        wrong += int((table.above & (mu[None] <= mu[:, None])).sum())
    wrong += int((optimal & (state.status == REJECTED)).sum())
    return wrong + int((~optimal & (state.status == ACCEPTED)).sum())


def gaussian(mu, sigma, counts, rng):
    n = np.maximum(counts, 1)[:, None]
    means = mu + sigma * rng.standard_normal(mu.shape) / np.sqrt(n)
    return Tally(counts, np.where(counts[:, None] > 0, means, 0.0), np.zeros_like(mu))


def coins(mu, sigma, counts, rng):
    """Values mu - sigma or mu + sigma: bounded noise, sub-Gaussian of scale sigma."""
    n = np.maximum(counts, 1)[:, None]
    heads = rng.binomial(n, 0.5, mu.shape)
    means = mu + sigma * (2.0 * heads - n) / n
    return Tally(counts, np.where(counts[:, None] > 0, means, 0.0), np.zeros_like(mu))


def hunter(mu):
    """A sampler that knows the truth and pulls for the wrong sign that looks best."""

    def choose(state, want):
        field = build_field(state.setting.model, state.past, state.unit)
        if field is None:
            return want
        n = len(mu)
        i, j = (part.ravel() for part in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
        gap = np.where(mu[j] <= mu[i], field.mu[j] - field.mu[i], -np.inf).max(axis=1)
        gap[i == j] = -np.inf
        best = int(np.argmax(gap / np.sqrt(np.maximum(field.squares(i, j), 1e-12))))
        counts = np.minimum(want, 1)
        counts[[i[best], j[best]]] += max(1, int(want.sum()) // 2)
        return counts

    return choose


def follow(policy, setting, mu, rng, looks, choose=None, draw=gaussian):
    """Whether anything false was said in so many looks; a study that stops is made to go on."""
    optimal = np.array([not ((mu >= m).all(1) & (mu > m).any(1)).any() for m in mu])
    state = policy.init(setting)
    for _ in range(looks):
        want = state.want
        counts = want if choose is None else choose(state, want)
        tally = draw(mu, setting.noise.sigma, counts, rng)
        told = state.told + counts
        state = policy._judge(replace(state, want=counts, got=tally, told=told))
        if said_wrongly(policy, state, mu, optimal):
            return True
        if state.stop is not None:
            state = policy._open(replace(state, stop=None))
            if len(live_arms(state)) < 2 or state.stop is not None:
                return False
    return False
