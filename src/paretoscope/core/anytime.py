"""Self-normalised confidence: one ellipsoid that holds at all times, whatever rule chose the measurements.

For a fixed positive definite W and pulls chosen from the past alone, with ``S_c = sum x noise_c``,

    (det W / det(V + W))^(1/2) exp( |S_c|^2_{(V+W)^-1} / (2 sigma^2) )

is a nonnegative supermartingale that starts at 1 (method of mixtures: Robbins 1970; de la Pena, Klass,
Lai 2004; Abbasi-Yadkori, Pal, Szepesvari 2011). Ville's inequality at ``delta / (d s)`` for d objectives and s
scales W_k gives, for all times at once, ``|S_c|_{(V+W_k)^-1} < sigma sqrt(2 beta_k)``; Cauchy-Schwarz turns this
into a width for every direction u. No number of arms enters, and no bound on the parameters.
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import FloatArray


def ellipsoid_beta(V: FloatArray, W: FloatArray, d: int, scales: int, risk: float) -> float:
    """beta_k = ln(d s / risk) + logdet(I + W_k^-1 V) / 2.

    Parameters
    ----------
    V, W : (h, h) arrays
        Gram matrix of everything measured, and a scale fixed before any data.
    scales : int
        Number s of scales in use.
    """
    _, logdet_sum = np.linalg.slogdet(V + W)
    _, logdet_scale = np.linalg.slogdet(W)
    return float(np.log(d * scales / risk) + 0.5 * (logdet_sum - logdet_scale))


def ellipsoid_threshold(
    U: FloatArray, V: FloatArray, scales: FloatArray, d: int, risk: float
) -> FloatArray:
    """What gap^2 / (2 sigma^2 |u|^2_{V^-1}) must reach to be certain, for each direction u.

    Parameters
    ----------
    U : (m, h) array
        Directions, none zero.
    scales : (s, h, h) array
        The matrices W_k, fixed before any data.

    Returns
    -------
    (m,) array
        ``min_k beta_k [u'V^-1 (V + W_k) V^-1 u] / [u'V^-1 u]``.
    """
    A = np.linalg.solve(V, U.T).T  # V^-1 u
    s2 = np.einsum("mh,mh->m", A, U)
    best = np.full(len(U), np.inf)
    for W in scales:
        beta = ellipsoid_beta(V, W, d, len(scales), risk)
        inflation = 1.0 + np.einsum("mh,hk,mk->m", A, W, A) / s2  # u'V^-1 V V^-1 u = s2
        best = np.minimum(best, beta * inflation)
    return best
