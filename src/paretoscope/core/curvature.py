"""Whether means bend between the middle of the candidates and their edge.

The lack-of-fit test looks in every direction that the pulled arms leave, and pays for all of them. The
commonest misfit lies in one: means that rise or fall towards the edge of the design, where linear ones
go straight on. With x the features and V = sum n x x', the leverage x' V^-1 x is a quadratic form that
grows towards the edge; as one more term of the model it takes one degree of freedom.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from paretoscope.core.arrays import FloatArray, IntArray

# A term this small beside itself before the fit is one that the model has already.
_NOTHING = 1e-12


def curvature(
    Z: FloatArray, counts: IntArray, means: FloatArray, ss_pure: FloatArray, df_pure: int
) -> FloatArray:
    """p-values (d,) of the leverage as one more term, against the noise within arms.

    Parameters
    ----------
    Z : (m, h) array
        Pulled arms in coordinates of full rank.
    counts : (m,) array
    means : (m, d) array
    ss_pure : (d,) array
        Sums of squares within arms, on ``df_pure`` degrees of freedom.

    Returns
    -------
    (d,) array
        1 where every arm has the same leverage, so that nothing can be told.

    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> Z, bent = np.column_stack([x**0, x]), np.column_stack([x, x**2])
    >>> curvature(Z, np.array([9, 9, 9]), bent, np.ones(2), 24).round(6).tolist()
    [1.0, 0.0]
    """
    root = np.sqrt(counts.astype(np.float64))[:, None]
    Q, _ = np.linalg.qr(Z * root)
    leverage = np.square(Q).sum(axis=1, keepdims=True) / np.square(root)
    term = leverage * root
    new = (term - Q @ (Q.T @ term))[:, 0]
    size = float(new @ new)
    if size <= _NOTHING * float(np.square(term).sum()):
        return np.ones(means.shape[1])
    F = np.square(new @ (means * root)) / size / (ss_pure / df_pure)
    return np.asarray(special.fdtrc(1, df_pure, F))
