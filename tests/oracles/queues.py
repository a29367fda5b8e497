"""Queues with one general law by their textbook embedded chains, in plain Python: nothing shared with the product."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.integrate import quad

Density = Callable[[float], float]


def arrivals(rate: float, density: Density | None, constant: float, low: float, high: float, count: int) -> list[float]:
    """P(k arrivals in a service), k < ``count``: of a density on (low, high), or of a constant where there is none."""

    def poisson(k: int, x: float) -> float:
        return math.exp(k * math.log(rate * x) - rate * x - math.lgamma(k + 1)) if x > 0 else float(k == 0)

    if density is None:
        return [poisson(k, constant) for k in range(count)]
    return [quad(lambda x, k=k: poisson(k, x) * density(x), low, high, epsabs=1e-14, epsrel=1e-12, limit=400)[0] for k in range(count)]


def mg1k(rate: float, mean: float, a: list[float], size: int) -> list[float]:
    """P(n in the system) in the long run, n = 0 … ``size``, from the arrivals ``a`` in a service (at least ``size`` of them).

    D. Gross and C. M. Harris, Fundamentals of Queueing Theory, 3rd ed., section 5.1.8: the chain at departures, on 0 … size - 1."""
    p = [1.0]
    for n in range(size - 1):
        left = p[n] - p[0] * a[n] - math.fsum(p[i] * a[n - i + 1] for i in range(1, n + 1))
        p.append(left / a[0])
    total = math.fsum(p)
    at_departure = [x / total for x in p]
    load = rate * mean
    scale = at_departure[0] + load
    return [*(x / scale for x in at_departure), 1 - 1 / scale]


def dm1k(period: float, rate: float, size: int) -> list[float]:
    """P(n in the system just before an arrival) of D/M/1/``size``: arrivals every ``period``, lost at ``size``; n = 0 … size."""

    def served(k: int) -> float:
        return math.exp(-rate * period) * (rate * period) ** k / math.factorial(k)

    def step(n: int, m: int) -> float:
        start = min(n + 1, size)
        return served(start - m) if m > 0 else 1 - math.fsum(served(k) for k in range(start))

    p = [1.0] * (size + 1)
    for _ in range(20_000):
        p = [math.fsum(p[n] * step(n, m) for n in range(max(0, m - 1), size + 1)) for m in range(size + 1)]
        total = math.fsum(p)
        p = [x / total for x in p]
    return p
