"""Windows of evidence: signs priced from the past, e-values from the batches that follow.

    window k opens with a list of signs q, prices pi_q, and a prior N(m_q, v_q) of each signed gap  # from the past
    each later batch, by the least squares of that batch alone:  Y_q += g_q / v_q,  I_q += 1 / v_q
    E_q = exp(lambda Y_q - lambda^2 I_q / 2) averaged over lambda ~ N(m_q, v_q) cut to lambda > 0    # `log_e_value`
    in a world theta the window is worth
        T_k(theta) = sum of pi_q E_q over the signs wrong in theta / sum of pi_q over the same       # 1 when it opens
    sign q is certain once  sum_k a_k T_k(theta) >= 1 / delta_w  in every world left where q is wrong,
        a_k = (1 - share) share^k                                                                  # `dilution`

In the true world E_q is a supermartingale for every sign that is wrong there, so sum_k a_k T_k is one that
starts at 1, and reaches 1 / delta_w with probability delta_w at most. A world pays only for what is wrong in
it: prices of signs that hold are never paid. See docs/anytime.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from paretoscope.core.anytime import dilution, log_e_value
from paretoscope.core.arrays import FloatArray, IntArray, freeze
from paretoscope.policies.codec import plain_state
from paretoscope.policies.field import Field
from paretoscope.policies.signs import Terms

# Share of the money that is kept for later windows: a_k = (1 - SHARE) SHARE^k.
SHARE = 0.25


@plain_state
@dataclass(frozen=True)
class Window:
    """One window: its signs, their prices and priors, and what later batches said.

    Attributes
    ----------
    opened : int
        Pulls made before it.
    code : (m,) int array
        Signs, in order.
    price, m, v, Y, I : (m,) arrays
    """

    opened: int
    code: IntArray
    price: FloatArray
    m: FloatArray
    v: FloatArray
    Y: FloatArray
    I: FloatArray  # noqa: E741


def open_window(
    terms: Terms, field: Field, opened: int, code: IntArray, price: FloatArray
) -> Window:
    """A window on some signs, with the priors that all data so far make."""
    nothing = np.zeros(len(code))
    m, v = signed_gaps(terms, field, code)
    parts = (code, price / price.sum(), m, v, nothing, nothing.copy())
    return Window(opened, *(freeze(part) for part in parts))


def signed_gaps(terms: Terms, field: Field, code: IntArray) -> tuple[FloatArray, FloatArray]:
    """Estimates of the gaps that some signs say are positive, and their variances."""
    i, j, c, s = terms.signs(code)
    gap = field.mu[j, c] - field.mu[i, c] + s * terms.epsilon[c]
    return gap, field.squares(i, j)


def after_batch(terms: Terms, batch: Field, window: Window) -> Window:
    """The window after one more batch; signs that the batch alone cannot tell stay as they are."""
    g, v = signed_gaps(terms, batch, window.code)
    seen = np.isfinite(v) & (v > 0)
    weight = np.where(seen, 1.0 / np.where(seen, v, 1.0), 0.0)
    Y = window.Y + np.where(seen, g, 0.0) * weight
    return replace(window, Y=freeze(Y), I=freeze(window.I + weight))


def needs(windows: tuple[Window, ...], sure: IntArray, risk: float) -> list[FloatArray]:
    """For each window, ln(1 / risk) less what its least worlds hold: what every sign lacks."""
    out = []
    for k, window in enumerate(windows):
        log_e = log_e_value(window.Y, window.I, window.m, window.v)
        known = np.isin(window.code, sure, assume_unique=True)
        held = dilution(window.price, log_e, known)
        out.append(-math.log(risk) - math.log((1.0 - SHARE) * SHARE**k) - held)
    return out


def certain(windows: tuple[Window, ...], sure: IntArray, risk: float) -> IntArray:
    """The signs that are certain by all windows together, with those that were so before."""
    if not windows:
        return sure
    code = np.concatenate([window.code for window in windows])
    lacks = np.concatenate(needs(windows, sure, risk))
    signs, place = np.unique(code, return_inverse=True)
    worth = np.bincount(place, np.exp(np.clip(-lacks, -700.0, 50.0)))  # in units of 1 / risk
    found = np.union1d(sure, signs[worth >= 1.0])
    return found if len(found) == len(sure) else certain(windows, found, risk)
