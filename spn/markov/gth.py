"""The algorithm of Grassmann, Taksar and Heyman: the stationary vector of a small irreducible chain without a subtraction.

Every figure is a sum, product or quotient of positive numbers, so each probability is right to a relative error of about n times
the rounding unit, however far apart the rates are (O'Cinneide, Numer. Math. 65 (1993) 109).
"""

from __future__ import annotations

import numpy as np

from spn.reach.space import Floats, Rates

HUGE = 1e150


def gth(rates: Rates) -> Floats:
    """Stationary probabilities (n) of an irreducible chain; O(n^3) time, O(n^2) memory."""
    n = rates.n
    a = np.zeros((n, n))
    a[rates.sources(), rates.columns] = rates.values
    for k in range(n - 1, 0, -1):
        into = np.flatnonzero(a[:k, k])
        onto = np.flatnonzero(a[k, :k])
        a[into, k] /= a[k, onto].sum()
        a[np.ix_(into, onto)] += np.outer(a[into, k], a[k, onto])
    return _unfold(a)


def _unfold(a: Floats) -> Floats:
    """Probabilities one after the other, each from those before; rescaled on the way, so that nothing overflows."""
    pi = np.zeros(len(a))
    pi[0] = 1.0
    for k in range(1, len(a)):
        pi[k] = pi[:k] @ a[:k, k]
        if pi[k] > HUGE:
            pi[: k + 1] /= pi[k]
    return np.asarray(pi / pi.sum(), dtype=np.float64)
