"""Entropic mirror descent for the G-optimal design (GEGE, Algorithm 3; after Tao et al. 2018).

w_i <- w_i exp(eta_t g_i) / sum,   eta_t = sqrt(2 ln K) / (L sqrt t),   g_i the leverage of row i.
The paper leaves L undefined; here it is the largest leverage of the uniform design.
"""

from __future__ import annotations

import numpy as np

from paretoscope.core.arrays import FloatArray
from paretoscope.core.certificate import precision_root

MAX_ITERATIONS = 2000


def descend(Z: FloatArray, tol: float, max_iterations: int = MAX_ITERATIONS) -> FloatArray:
    """Weights (K,) of the whitened rows Z (K, h): the first within tol, else the best one seen."""
    K, h = Z.shape
    w = best = np.full(K, 1.0 / K)
    least = np.inf
    step = 0.0
    for t in range(1, max_iterations + 1):
        C = precision_root(Z, w)
        if C is None:
            break
        R = Z @ C
        g = np.einsum("ij,ij->i", R, R)
        largest = float(g.max())
        if largest < least:
            best, least = w, largest
        if largest <= h * (1.0 + tol):
            break
        step = step or np.sqrt(2.0 * np.log(K)) / largest
        # Shifting the exponent changes no weight and cannot overflow.
        w = w * np.exp(step / np.sqrt(t) * (g - largest))
        w = w / w.sum()
    return best
