"""Quantiles from distribution functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spn.dist.law import Floats


def invert(cdf: Callable[[Floats], Floats], p: Floats | float, low: Floats | float = 0.0, high: Floats | float = np.inf) -> Floats:
    """The smallest double x in (low, high] with cdf(x) >= p, elementwise, to the last bit of ``cdf``.

    Bisects the bit patterns, whose order is that of the non-negative doubles: 63 evaluations whatever the scale. Where no double
    will do, ``high``.
    """
    wanted = np.ravel(np.asarray(p, dtype=float))
    below = np.broadcast_to(np.asarray(low, dtype=float), wanted.shape).copy().view(np.int64)
    above = np.broadcast_to(np.asarray(high, dtype=float), wanted.shape).copy().view(np.int64)
    while np.any(above - below > 1):
        middle = below + (above - below) // 2
        enough = cdf(middle.view(np.float64)) >= wanted
        above = np.where(enough, middle, above)
        below = np.where(enough, below, middle)
    return above.view(np.float64).reshape(np.shape(p))


def unbounded(cdf: Callable[[Floats], Floats], p: Floats | float) -> Floats:
    """The quantile of a continuous law on the whole of [0, inf)."""
    wanted = np.asarray(p, dtype=float)
    return np.where(wanted >= 1, np.inf, np.where(wanted <= 0, 0.0, invert(cdf, wanted)))
