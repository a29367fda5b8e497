"""The mean of the largest of independent variables: how long a barrier waits.

    E[max] = integral over t >= 0 of 1 - product over i of F_i(t)^(n_i)

by composite Gauss-Legendre quadrature between the places where a law may have a jump or a kink, intervals halved until two rules agree. Past
the last interval a law's tail is its mean less what was integrated, and the tail of the maximum the sum of those of its laws (the chance that
two of them are there is negligible).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from spn.dist.deterministic import Deterministic
from spn.dist.law import Floats, Law
from spn.dist.leaves import leaves

LEVELS = np.array([0.0, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9])
NODES = 16
HALVINGS = 30
TOLERANCE = 1e-13


def mean_of_largest(laws: Sequence[tuple[Law, int]]) -> tuple[float, float]:
    """The mean of the largest of ``n`` independent variables of each law, and an estimate of its absolute error; inf where a mean is."""
    if not all(math.isfinite(law.mean()) for law, _ in laws):
        return math.inf, 0.0
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0].mean(), 0.0
    if all(isinstance(law, Deterministic) for law, _ in laws):
        return max(law.mean() for law, _ in laws), 0.0

    def beyond(t: Floats) -> Floats:
        """1 - F for the maximum, and for every law."""
        below = np.array([law.cdf(t) for law, _ in laws])
        counts = np.array([n for _, n in laws])[:, None]
        with np.errstate(divide="ignore"):
            largest = -np.expm1((counts * np.log(below)).sum(axis=0))
        return np.vstack([largest, 1.0 - below])

    total, error = integrate(beyond, breakpoints([law for law, _ in laws]))
    tails = [max(0.0, law.mean() - part) for (law, _), part in zip(laws, total[1:], strict=True)]
    tail = math.fsum(n * t for (_, n), t in zip(laws, tails, strict=True) if t > 1e-14 * total[0])
    return float(total[0]) + tail, float(error[0] + sum(n * e for (_, n), e in zip(laws, error[1:], strict=True)))


def breakpoints(laws: Sequence[Law]) -> Floats:
    """Places between which all distribution functions are smooth, as far as the laws tell: 0, jumps, ends and some quantiles."""
    found: set[float] = {0.0}
    for law in laws:
        for leaf in leaves(law):
            scale, shift = float(leaf.scale), float(leaf.shift)
            atoms = leaf.law.atoms()
            inner = np.array([float(v) for v, _ in atoms]) if atoms is not None else leaf.law.quantile(np.append(LEVELS, 1.0))
            found.update((shift + scale * inner[np.isfinite(inner)]).tolist())
    return np.array(sorted(t for t in found if t >= 0))


def integrate(f: Callable[[Floats], Floats], points: Floats) -> tuple[Floats, Floats]:
    """Integrals of the rows of ``f`` from the first to the last of ``points``, and estimates of their errors."""
    low, high = points[:-1], points[1:]
    total = error = np.zeros(1)
    for k in range(HALVINGS + 1):
        if not len(low):
            break
        middle = (low + high) / 2
        whole = _gauss(f, low, high)
        halves = _gauss(f, low, middle) + _gauss(f, middle, high)
        off = np.abs(whole - halves)
        size = float(np.max(np.abs(halves).sum(axis=1))) + float(np.max(np.abs(total)))
        open_ = (off > TOLERANCE * size / len(points)).any(axis=0) & (k < HALVINGS)
        total = total + halves[:, ~open_].sum(axis=1)
        error = error + off[:, ~open_].sum(axis=1)
        low, high = np.concatenate([low[open_], middle[open_]]), np.concatenate([middle[open_], high[open_]])
    return np.asarray(total), np.asarray(error)


def _gauss(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """One Gauss-Legendre rule on each interval (columns)."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    half = (high - low) / 2
    at = (low + high)[:, None] / 2 + half[:, None] * x
    values = f(at.ravel()).reshape(-1, len(low), NODES)
    return np.asarray((values @ w) * half)
