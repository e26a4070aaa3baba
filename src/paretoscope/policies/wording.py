"""The certificate of a result, in words: what is guaranteed, by what, and what must hold."""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.policies.base import Certificate, Guarantee, StopReason
from paretoscope.policies.rounds import ACTIVE, INFEASIBLE, RoundRecord, RoundState
from paretoscope.policies.setting import Noise, Setting


def _why(stop: StopReason) -> str:
    """The sentence of a stop, with the remedy where there is one."""
    if stop is StopReason.SILENT:
        return f"{stop.value}: declare it exact, or give its resolution"
    return str(stop.value)


def certificate(
    state: RoundState,
    *,
    guarantee: Guarantee,
    delta: float,
    epsilon: FloatArray,
    noise: Noise,
    bound: str,
    own_noise: bool = False,
) -> Certificate:
    """The certificate of a policy in rounds at its present state."""
    undecided = int((state.status[state.setting.model.inverse] == ACTIVE).sum())
    certified = guarantee.certified and undecided == 0 and state.stop is not StopReason.NOTHING
    if not guarantee.certified:
        reason = guarantee.reason
    elif undecided:
        why = "measuring goes on" if state.stop is None else _why(state.stop)
        reason = f"{undecided} candidates are undecided: {why}"
    else:
        reason = state.stop.value if state.stop is not None else guarantee.reason
    return Certificate(
        certified=certified,
        reason=reason,
        delta=delta,
        epsilon=epsilon,
        bound=bound,
        assumptions=assumptions(state, noise, own_noise=own_noise),
        pulls=state.spent,
        achieved_epsilon=np.asarray(state.achieved),
    )


def bound_sentence(history: tuple[RoundRecord, ...]) -> str:
    """The inequalities that certified the rounds, each named once."""
    said = ", ".join(dict.fromkeys(record.bound for record in history))
    freedoms = [record.freedom for record in history if record.freedom]
    if not freedoms:
        return said
    span = (
        str(min(freedoms))
        if min(freedoms) == max(freedoms)
        else f"{min(freedoms)} to {max(freedoms)}"
    )
    return f"{said} ({span} degrees of freedom)"


def assumptions(state: RoundState, noise: Noise, *, own_noise: bool = False) -> tuple[str, ...]:
    """What must hold for the guarantee, one sentence each; ``own_noise``: a scale per candidate."""
    setting = state.setting
    told = []
    if setting.noisy.any():
        told += ["measurements are independent", _noise_sentence(noise, own_noise)]
    if setting.model.linear:
        told.append(_linear_sentence(setting))
    if setting.exact.any():
        told.append("exact metrics repeat exactly")
    if "log" in setting.scale:
        told.append("a metric on the log scale is judged by its geometric mean")
    if (state.status == INFEASIBLE).any():
        told.append("the guarantee is among the candidates that ran")
    return tuple(told)


def _noise_sentence(noise: Noise, own_noise: bool) -> str:
    """What is assumed about the noise."""
    law = "Gaussian" if noise.kind == "gaussian" else "sub-Gaussian"
    if noise.unknowns.all():
        each = "candidate and metric" if own_noise else "metric"
        return f"noise is {law} with one scale per {each}, estimated from the data"
    scales = ", ".join("estimated" if np.isnan(s) else f"{s:g}" for s in noise.sigma)
    return f"noise is {law} of scale {scales}"


def _linear_sentence(setting: Setting) -> str:
    """What is assumed about the means."""
    if setting.zeta is None:
        return "means are linear in the features"
    misfit = ", ".join(f"{z:g}" for z in setting.zeta)
    return f"means are linear in the features up to {misfit}"
