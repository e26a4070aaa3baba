"""Confidence that holds at all times: an ellipsoid of everything measured, and e-values of single signs.

The ellipsoid. For a fixed positive definite W and pulls chosen from the past alone, with
``S_c = sum x noise_c``::

    (det W / det(V + W))^(1/2) exp( |S_c|^2_{(V+W)^-1} / (2 sigma^2) )

is a nonnegative supermartingale that starts at 1 (method of mixtures: Robbins 1970; de la Pena, Klass,
Lai 2004; Abbasi-Yadkori, Pal, Szepesvari 2011). Ville's inequality at ``delta / (d s)`` for d objectives and s
scales W_k gives, for all times at once, ``|S_c|_{(V+W_k)^-1} < sigma sqrt(2 beta_k)``; Cauchy-Schwarz turns this
into a width for every direction u. No number of arms enters, and no bound on the parameters.

The e-value. For a sign chosen beforehand ("g > 0"), estimates g_q of later batches, each unbiased given
the past with variance proxy v_q known before it, make ``exp(lambda Y - lambda^2 I / 2)``,
``Y = sum g_q / v_q``, ``I = sum 1 / v_q``, a supermartingale for every lambda > 0 wherever the sign is
wrong; so is its average over a prior of lambda, chosen from the past. See docs/anytime.md.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from paretoscope.core.arrays import BoolArray, FloatArray

# An e-value above e^300 is taken as e^300, and money below 1e-300 as that: neither decides anything.
_PLENTY, _NOTHING = 300.0, 1e-300


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
    """What ``gap^2 / (2 sigma^2 |u|^2_{V^-1})`` must reach to be certain, for each direction u.

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


def scaled_threshold(
    ratios: FloatArray, share: FloatArray, sizes: FloatArray, d: int, risk: float
) -> FloatArray:
    """`ellipsoid_threshold` for scales ``W_k = n_k W_0``, from what a caller has at hand.

    Parameters
    ----------
    ratios : (h,) array
        Eigenvalues of ``W_0^-1 V``.
    share : array
        ``[u'V^-1 W_0 V^-1 u] / [u'V^-1 u]`` of each direction.
    sizes : (s,) array
        The n_k, fixed before any data.
    """
    fixed = float(np.log(d * len(sizes) / risk))
    betas = [fixed + 0.5 * float(np.log1p(ratios / n).sum()) for n in sizes]
    best = np.full(np.shape(share), np.inf)
    for n, beta in zip(sizes, betas, strict=True):
        np.minimum(best, beta * (1.0 + n * share), out=best)
    return best


def log_e_value(Y: FloatArray, I: FloatArray, m: FloatArray, v: FloatArray) -> FloatArray:  # noqa: E741
    """Logarithm of ``exp(lambda Y - lambda^2 I / 2)`` averaged over lambda ~ N(m, v) cut to lambda > 0.

    0 where nothing was seen (Y = I = 0). The cut makes it right for every g <= 0, not only for g = 0.

    >>> log_e_value(np.zeros(1), np.zeros(1), np.array([0.3]), np.array([0.01])).round(12).tolist()
    [0.0]
    """
    p = I + 1.0 / v
    b = (Y + m / v) / p
    cut = special.log_ndtr(b * np.sqrt(p)) - special.log_ndtr(m / np.sqrt(v))
    return np.asarray(cut - 0.5 * np.log1p(v * I) + 0.5 * (p * b * b - m * m / v))


def dilution(price: FloatArray, log_e: FloatArray, sure: BoolArray) -> FloatArray:
    """Logarithm of the least money that a world may hold in which a sign is wrong, for each sign of a list.

    A world spreads its money over the signs that are wrong in it, in proportion to their prices, and
    each share grows by its e-value. Which signs are wrong together nobody knows: the least is reached
    when those of smaller e-value join in, one after the other, as long as they lower the average.
    Signs that are sure are wrong in no world that is left.

    Parameters
    ----------
    price : (m,) array
        Positive.
    log_e : (m,) array
    sure : (m,) bool array

    Returns
    -------
    (m,) array
        ``min over G containing q of ln( sum_G price E / sum_G price )``.

    >>> half = np.array([0.5, 0.5])
    >>> np.exp(dilution(half, np.log([4.0, 1.0]), np.array([False, False]))).round(12).tolist()
    [2.5, 1.0]
    """
    order = np.argsort(log_e, kind="stable")
    others = order[~sure[order]]
    share = price * np.exp(np.minimum(log_e, _PLENTY))
    money = np.concatenate([[0.0], np.cumsum(share[others])])
    paid = np.concatenate([[0.0], np.cumsum(price[others])])
    # a sign met again among the others is above the average by then, and does not lower it
    averages = (money + share[:, None]) / (paid + price[:, None])
    return np.asarray(np.log(np.maximum(averages.min(axis=1), _NOTHING)))
