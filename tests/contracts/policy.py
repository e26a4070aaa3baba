"""The policies that keep the contract, and small ones that each break it in one way."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from paretoscope import testing
from paretoscope.policies import (
    APE,
    EGESH,
    EGESR,
    GEGE,
    PAL,
    PSIPS,
    EpsilonPAL,
    FixedDesign,
    OneShot,
    PFIwR,
    Race,
    Racing,
    Tracking,
    Uniform,
)
from paretoscope.policies.gege_budget import GEGEBudget
from paretoscope.policies.rounds import ACCEPTED, REJECTED, with_verdicts

# Known or unknown noise where the policy takes both; the printed schedules need a known sigma.
POLICIES = {
    "gege": GEGE(0.1, max_rounds=9),
    "gege-epsilon": GEGE(0.1, 0.2),
    "gege-paper-rule": GEGE(0.1, rule="paper", max_rounds=9),
    "gege-fast-g": GEGE(0.1, designs=("g",), ratio=3.0, first_accuracy=1.0, max_rounds=6),
    "gege-corrected": GEGE(0.1, schedule="corrected", max_rounds=7),
    "gege-paper": GEGE(0.1, schedule="paper", rule="paper", max_rounds=7),
    "gege-authors": GEGE(0.1, schedule="authors", rule="paper", max_rounds=7),
    "gege-budget": GEGE(budget=60),
    "one-shot": OneShot(60),
    "uniform": Uniform(60),
    "fixed-design": FixedDesign(delta=0.1, budget=120),
    "fixed-design-epsilon": FixedDesign(delta=0.1, budget=120, epsilon=0.3, spend="even"),
    "race": Race(0.1, max_rounds=20),
    "race-epsilon": Race(0.1, 0.2),
    "race-pooled": Race(0.1, 0.2, noise_from="pooled"),
    "race-pooled-undecided": Race(0.1, noise_from="pooled", max_samples=600),
    "ege-sh": EGESH(90),
    "ege-sr": EGESR(60),
    "ege-sr-k": EGESR(60, k=2),
    "racing": Racing(0.1, growth=0.2, max_rounds=60),
    "racing-epsilon": Racing(0.1, 0.3, bonus="union", growth=0.2),
    "racing-reference": Racing(0.1, bonus="reference", max_samples=900),
    "tracking": Tracking(0.1, max_samples=4_000),
    "tracking-epsilon": Tracking(0.1, 0.2, batch=1.0),
    "tracking-budget": Tracking(budget=60),
    "ape": APE(0.1, growth=0.3, max_rounds=300),
    "ape-one-by-one": APE(0.1, growth=0.0, max_rounds=90),
    "ape-epsilon": APE(0.1, 0.3, growth=0.3),
    "ape-reference": APE(0.1, bonus="reference", growth=0.5, max_samples=900),
    "pal": PAL(0.1, growth=0.2, max_rounds=60),
    "pal-one-by-one": PAL(0.1, growth=0.0, max_rounds=40),
    "pal-epsilon": PAL(0.1, 0.3, growth=0.2),
    "pal-reference": PAL(0.1, bonus="reference", max_samples=900),
    "epsilon-pal": EpsilonPAL(0.1, 0.2, growth=0.3),
    "psips": PSIPS(0.1, growth=0.1),
    "psips-one-by-one": PSIPS(0.1, growth=0.0, max_rounds=40),
    "psips-correlated": PSIPS(0.1, correlation=((1.0, 0.5), (0.5, 1.0)), growth=0.1),
    "psips-certificate": PSIPS(0.1, stop="certificate", growth=0.1, max_samples=30_000),
    "psips-epsilon": PSIPS(0.1, 0.3, stop="certificate", growth=0.1),
    "epsilon-pal-reference": EpsilonPAL(0.1, bonus="reference", growth=0.0, max_rounds=90),
    "pfiwr": PFIwR(0.1, gamma_scale=1e-5, growth=0.3, max_samples=10**6),
    "pfiwr-epsilon": PFIwR(0.1, 0.3, gamma_scale=1e-5, growth=0.2),
    "pfiwr-one-by-one": PFIwR(0.1, gamma_scale=1e-4, growth=0.0, max_rounds=60),
}
KNOWN_NOISE_ONLY = {
    "gege-corrected",
    "gege-paper",
    "gege-authors",
    "racing-reference",
    "ape-reference",
    "pal",
    "pal-one-by-one",
    "pal-epsilon",
    "pal-reference",
    "epsilon-pal",
    "epsilon-pal-reference",
    "pfiwr",
    "pfiwr-epsilon",
    "pfiwr-one-by-one",
    "psips",
    "psips-one-by-one",
    "psips-correlated",
}
WORLDS = {
    "linear": {"linear": True},
    "linear, unknown noise": {"linear": True, "unknown": True},
    "unstructured": {"linear": False},
    "unstructured, unknown noise": {"linear": False, "unknown": True},
}


class Scribbler(OneShot):
    """Writes into the state it was given."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        object.__setattr__(state, "number", 99)
        return after


class Eraser(OneShot):
    """Writes into the measurements it was given."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        tally.means[:] = 0.0
        return after


class Gambler(OneShot):
    """Draws from the global generator."""

    def observe(self, state, tally):
        np.random.rand()  # noqa: NPY002
        return super().observe(state, tally)


class Roller(OneShot):
    """Draws from the standard library's global generator."""

    def allocate(self, state):
        random.random()  # noqa: S311
        return super().allocate(state)


class Spender(GEGEBudget):
    """Rounds each arm's share up, and overspends."""

    def _open(self, state):
        opened = super()._open(state)
        return replace(opened, want=opened.want + (opened.want > 0))


class Forgetful(OneShot):
    """Answers by the last part it was told, and nothing before."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        best = int(np.argmax(tally.counts))
        status = np.full(len(after.status), REJECTED)
        status[after.setting.model.inverse[best]] = ACCEPTED
        return after if after.stop is None else replace(after, status=status)


class Impatient(OneShot):
    """Drops what is still open as soon as something arrives."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        return after if after.stop else replace(after, want=after.got.counts)


class Favourer(OneShot):
    """Accepts candidate 0 because it comes first."""

    def _answer(self, state, optimal, arms):
        del optimal
        return super()._answer(state, arms == 0, arms)


class Adder(OneShot):
    """Adds metrics of different units."""

    def _answer(self, state, optimal, arms):
        total = state.got.means.sum(axis=1)[state.setting.model.first[arms]]
        del optimal
        return super()._answer(state, total > 0.0, arms)


class Stubborn(OneShot):
    """Never believes that pulls are lost."""

    def forgo(self, state, counts, gone=None):
        del counts, gone
        return state


class Absent(GEGEBudget):
    """Keeps part of its state where no serialiser looks."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        after.__dict__["hidden"] = True
        return after

    def allocate(self, state):
        return super().allocate(state) // (2 if "hidden" in vars(state) else 1)


class Endless(OneShot):
    """Asks again and again."""

    def _judge(self, state):
        return self._open(state)


class Silent(OneShot):
    """Neither asks nor stops."""

    def allocate(self, state):
        return np.zeros_like(state.want)


class Greedy(OneShot):
    """Takes whatever it is given."""

    def observe(self, state, tally):
        took = tally._replace(counts=np.minimum(tally.counts, self.allocate(state)))
        return super().observe(state, took)


class Miscounter(OneShot):
    """Reports one pull more than there were."""

    def _certificate(self, state):
        return replace(super()._certificate(state), pulls=state.spent + 1)


class TwoFaced(OneShot):
    """Gives a candidate two verdicts."""

    def verdict(self, state):
        found = super().verdict(state)
        return replace(found, near=found.accepted)


class Curious(OneShot):
    """Measures a single candidate."""

    def init(self, setting):
        return self._open(self._start(setting))


class Careless(OneShot):
    """Asks with floating point counts."""

    def allocate(self, state):
        return super().allocate(state).astype(float)


class Resigned(OneShot):
    """Calls a candidate lost in place, in the state it was given."""

    def forgo(self, state, counts, gone=None):
        after = super().forgo(state, counts, gone)
        object.__setattr__(state, "forgone", after.forgone)
        return after


class Optimist(OneShot):
    """Accepts everything it is told half of, so that a cut in a round matters."""

    def observe(self, state, tally):
        after = super().observe(state, tally)
        if after.stop is not None:
            if "half" in vars(state):
                return with_verdicts(after, np.arange(len(after.status)), ACCEPTED)
            return after
        after.__dict__["half"] = True
        return after


BROKEN = {
    "changes its state": (Scribbler(60), testing.check_pure, "changed the state"),
    "changes its data": (Eraser(60), testing.check_pure, "changed the tally"),
    "uses numpy's generator": (Gambler(60), testing.check_pure, "global random generator"),
    "uses python's generator": (Roller(60), testing.check_pure, "global random generator"),
    "changes its state in forgo": (Resigned(60), testing.check_pure, "changed the state"),
    "overspends": (Spender(60), testing.check_spend, "budget of 60"),
    "depends on order": (Forgetful(60), testing.check_parts, "order of arrival"),
    "withdraws requests": (Impatient(60), testing.check_parts, "withdrawn"),
    "depends on the index": (Favourer(60), testing.check_permutation, "order of the candidates"),
    "mixes units": (Adder(60), testing.check_scale, "unit of a metric"),
    "ignores forgo": (Stubborn(60), testing.check_forgo, "still asked for"),
    "loses state in JSON": (Absent(60), testing.check_replay, "asks something else"),
    "loses state within a round": (Optimist(60), testing.check_replay, "continues differently"),
    "never stops": (Endless(60), testing.check_stops, "not stopped"),
    "neither asks nor stops": (Silent(60), testing.check_stops, "asks for nothing"),
    "takes surplus": (Greedy(60), testing.check_spend, "not asked for"),
    "miscounts": (Miscounter(60), testing.check_spend, "the certificate counts"),
    "has two verdicts": (TwoFaced(60), testing.check_stops, "no verdict, or two"),
    "measures a single candidate": (Curious(60), testing.check_single, "needs no measurement"),
    "asks for fractions": (Careless(60), testing.check_spend, "not int64"),
}
