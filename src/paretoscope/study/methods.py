"""Which policy a study runs: named, or chosen with a reason; written down without pickling."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple

from paretoscope.errors import DataError, ParetoscopeError, UsageError
from paretoscope.policies.ape import APE, MOST_ARMS
from paretoscope.policies.base import Policy
from paretoscope.policies.ege import EGESH, EGESR
from paretoscope.policies.epsilon_pal import EpsilonPAL
from paretoscope.policies.fixed import FixedDesign, OneShot
from paretoscope.policies.gege import GEGEConfidence
from paretoscope.policies.gege_budget import GEGEBudget
from paretoscope.policies.pal import PAL
from paretoscope.policies.pfiwr import PFIwR
from paretoscope.policies.psips import PSIPS
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.setting import Setting
from paretoscope.policies.tracking import TrackingConfidence
from paretoscope.policies.tracking_budget import TrackingBudget
from paretoscope.policies.uniform import Uniform
from paretoscope.study import plugins
from paretoscope.study.checks import room_for_design

_KNOWN: dict[str, Any] = {
    "APE": APE,
    "EGESH": EGESH,
    "EGESR": EGESR,
    "EpsilonPAL": EpsilonPAL,
    "FixedDesign": FixedDesign,
    "GEGE": GEGEConfidence,
    "GEGEBudget": GEGEBudget,
    "OneShot": OneShot,
    "PAL": PAL,
    "PFIwR": PFIwR,
    "PSIPS": PSIPS,
    "Race": Race,
    "Racing": Racing,
    "Tracking": TrackingConfidence,
    "TrackingBudget": TrackingBudget,
    "Uniform": Uniform,
}
# Looks at a fixed design when nobody says how many batches there will be.
LOOKS = 10
# Rounds of a study that only a time limits: each has about four times the pulls of the last.
TIMED_ROUNDS = 30
# The same for a race, whose looks grow by a third: up to a hundred million measurements of each.
TIMED_LOOKS = 60
# Batches wished for at most, and the growth of `Tracking` that ends in about so many.
BATCHES = ((5, 4.0), (14, 1.0))
Ended = GEGEConfidence | Race | TrackingConfidence
_WHAT: dict[type, str] = {
    GEGEConfidence: "rounds that eliminate",
    Race: "a race that keeps all data",
    TrackingConfidence: "adaptive batches, certified at any time,",
}
# Policies that measure until everything is decided.
Open = APE | EpsilonPAL | GEGEConfidence | PAL | PFIwR | PSIPS | Race | Racing | TrackingConfidence


def method_to_plain(policy: Any) -> dict[str, Any]:  # noqa: ANN401  (any policy at all)
    """A policy as its name and the settings that differ from the defaults.

    Raises
    ------
    UsageError
        If it is neither ours nor installed by a package under the entry point of `plugins`.
    """
    names = (name for name, kind in _KNOWN.items() if type(policy) is kind)
    name = next(names, None) or plugins.name_of(type(policy))
    if name is None:
        raise UsageError(
            f"method {type(policy).__name__} cannot be written into a study: use one of"
            f" {', '.join(_KNOWN)}, or install yours (entry point {plugins.GROUP})"
        )
    known = fields(policy)  # every policy is a dataclass
    settings = {f.name: getattr(policy, f.name) for f in known}
    defaults = {f.name: f.default for f in known if f.default is not MISSING}
    changed = {k: v for k, v in settings.items() if k not in defaults or v != defaults[k]}
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}
    return {"policy": name, "settings": plain}


def method_from_plain(plain: dict[str, Any]) -> Policy[Any]:
    """The policy written by `method_to_plain`.

    Raises
    ------
    DataError
        If nothing of its name is known or installed here.
    """
    kind = _KNOWN.get(plain["policy"]) or plugins.load(plain["policy"])
    if kind is None:
        raise DataError(
            f"the study's method {plain['policy']!r} is not known to this version, and no installed"
            " package brings it"
        )
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in plain["settings"].items()}
    policy: Policy[Any] = kind(**settings)
    return policy


class Choice(NamedTuple):
    """A chosen policy and the sentence that says why."""

    policy: Policy[Any]
    reason: str


@dataclass(frozen=True)
class Wishes:
    """What a study was asked for: a risk, a tolerance, a budget, a number of batches."""

    delta: float = 0.05
    epsilon: float = 0.0
    budget: int | None = None
    batches: int | None = None
    time: float | None = None


def choose(setting: Setting, wishes: Wishes) -> Choice:
    """The policy that suits: fixed looks when the budget is below the predicted need, else an open end.

    With an open end, means linear in the features: adaptive batches where the noise is known, else
    elimination in rounds. Without features: a race. APE needs fewer measurements of known noise, but asks for
    a few at a time: nobody could share the work, and the tests of the assumptions need whole rounds.

    Raises
    ------
    UsageError
        If there is neither a tolerance nor a budget nor a time: tied candidates would never stop.
    """
    tolerant = bool(wishes.epsilon) or (setting.epsilon is not None and setting.epsilon.any())
    noisy = bool(setting.noisy.any())
    if noisy and not tolerant and wishes.budget is None and wishes.time is None:
        raise UsageError(
            "give an epsilon, a budget or a time: two candidates that are equal would be measured"
            " for ever"
        )
    suited = suitable(setting, wishes)
    if wishes.time is not None and not tolerant:
        suited = [replace(policy, max_rounds=_most_rounds(policy)) for policy in suited]
    if wishes.budget is None:
        return Choice(suited[0], _why_open(suited[0], setting))
    return _within(wishes, setting, suited)


def _within(wishes: Wishes, setting: Setting, suited: list[Ended]) -> Choice:
    """The first of some policies whose need the budget covers, else fixed looks."""
    assert wishes.budget is not None
    design = room_for_design(setting, wishes.budget)
    needs = {policy: predicted_need(policy, setting) for policy in suited}
    for policy, need in needs.items():
        if need is not None and need <= design:
            capped = replace(policy, max_samples=design)
            return Choice(
                capped, f"{need} measurements should do, and the budget is {wishes.budget}"
            )
    told = [need for need in needs.values() if need is not None]
    what = f"{min(told)} would be needed" if told else "the need cannot be told beforehand"
    tests = wishes.budget - design
    paid = f", {tests} of them to test the linear model" if tests else ""
    return Choice(
        fixed_design(wishes, setting),
        f"the budget is {wishes.budget}{paid}, and {what}: one design, looked at as data come",
    )


def _most_rounds(policy: Ended) -> int:
    """Rounds of a study that only a time limits."""
    return TIMED_ROUNDS if isinstance(policy, GEGEConfidence) else TIMED_LOOKS


def fixed_design(wishes: Wishes, setting: Setting | None = None) -> FixedDesign:
    """Fixed looks for a budget; of a study, the check points of its model are paid from it."""
    assert wishes.budget is not None
    budget = wishes.budget if setting is None else room_for_design(setting, wishes.budget)
    return FixedDesign(
        delta=wishes.delta,
        epsilon=wishes.epsilon,
        budget=budget,
        looks=wishes.batches or LOOKS,
    )


def within_budget(
    policy: Any,  # noqa: ANN401  (a policy, which is a dataclass)
    setting: Setting,
    wishes: Wishes,
) -> Any:  # noqa: ANN401
    """A named policy; where its budget is the study's, the check points of the model are paid from it."""
    names = [n for n in ("budget", "max_samples") if getattr(policy, n, None) == wishes.budget]
    if wishes.budget is None or not names:
        return policy
    used = getattr(
        policy.init(setting), "setting", setting
    )  # without features where it ignores them
    room = room_for_design(used, wishes.budget)
    return replace(policy, **dict.fromkeys(names, room))


def suitable(setting: Setting, wishes: Wishes) -> list[Ended]:
    """Certified policies with an open end that suit a study, the best first."""
    known = not setting.noise.only(setting.noisy).unknowns.any()
    delta, epsilon = wishes.delta, wishes.epsilon
    if setting.model.linear:
        rounds = GEGEConfidence(delta=delta, epsilon=epsilon)
        if not known or setting.zeta is not None:
            return [rounds]
        return [TrackingConfidence(delta, epsilon, batch=_batch(wishes.batches)), rounds]
    return [Race(delta, epsilon)]


def _batch(batches: int | None) -> float:
    """The growth of adaptive batches that ends in about so many: measured on NoC, docs/anytime.md."""
    return next((growth for most, growth in BATCHES if (batches or math.inf) <= most), 0.25)


def _why_open(policy: Ended, setting: Setting) -> str:
    """Why this method, with an open end, is the choice."""
    unknown = setting.noise.only(setting.noisy).unknowns.any()
    noise = "unknown noise" if unknown else "known noise"
    means = "means linear in the features" if setting.model.linear else "means unstructured"
    if isinstance(policy, Race) and unknown:
        noise += ", each candidate with its own"
    return f"{means}, {noise}, no budget: {_WHAT[type(policy)]} until all is decided"


def predicted_need(policy: Policy[Any], setting: Setting) -> int | None:
    """Most measurements the rounds would need if nothing were eliminated; None if unknown."""
    forecast = policy.plan(setting)
    if not forecast:
        return 0
    if math.isinf(forecast[-1].accuracy):
        return None
    return sum(step.high for step in forecast)


class Option(NamedTuple):
    """One method of a plan: what it would spend, or why it does not apply."""

    name: str
    low: int | None
    high: int | None
    said: str


def options(setting: Setting, wishes: Wishes) -> list[Option]:
    """Predicted measurements of every method that could run this study."""
    open_: list[Ended | APE] = [Race(wishes.delta, wishes.epsilon)]
    if setting.model.linear:
        open_ = [TrackingConfidence(wishes.delta, wishes.epsilon, batch=_batch(wishes.batches))]
    elif setting.K <= MOST_ARMS:
        open_.append(APE(wishes.delta, wishes.epsilon))
    open_.append(GEGEConfidence(delta=wishes.delta, epsilon=wishes.epsilon))
    names = [type(policy).__name__.removesuffix("Confidence") for policy in open_]
    made: list[tuple[str, Policy[Any]]] = list(zip(names, open_, strict=True))
    if wishes.budget is not None:
        made.append(("FixedDesign", fixed_design(wishes, setting)))
        made.append(("OneShot (no certificate)", OneShot(wishes.budget)))
    return [_option(name, policy, setting) for name, policy in made]


def _option(name: str, policy: Policy[Any], setting: Setting) -> Option:
    """Predicted pulls of one method."""
    try:
        forecast = policy.plan(setting)
    except ParetoscopeError as error:
        return Option(name, None, None, str(error))
    low = forecast[0].low if forecast else 0
    high = sum(step.high for step in forecast)
    if forecast and math.isinf(forecast[-1].accuracy):
        known = not setting.noise.only(setting.noisy).unknowns.any()
        then = (
            "the rest depends on the data"
            if known
            else "more rounds follow once the noise is known"
        )
        return Option(name, low, None, then)
    if not forecast:
        return Option(name, low, high, "nothing to do")
    if isinstance(policy, TrackingConfidence) and len(forecast) > 1:
        return Option(name, low, high, "if all were within the tolerance; less where they differ")
    many = "s" if len(forecast) > 1 else ""
    return Option(name, low, high, f"{len(forecast)} round{many} at most")


def check_terms(policy: Policy[Any], setting: Setting) -> None:
    """Refuse a policy that this study could not run, before anything is written.

    A certified policy without tolerance and without a cap would measure tied candidates for ever.
    """
    policy.init(setting)
    if isinstance(policy, Open) and setting.noisy.any():
        tolerant = policy.epsilon > 0 or (setting.epsilon is not None and setting.epsilon.any())
        capped = policy.max_rounds is not None or policy.max_samples < type(policy).max_samples
        if not (tolerant or capped):
            raise UsageError(
                "give an epsilon, max_samples or max_rounds: two candidates that are equal would be"
                " measured for ever"
            )
