"""How well a law describes durations: the Kolmogorov-Smirnov distance, and a p-value that knows the parameters were estimated.

The textbook tables of the distance hold for a law known beforehand; with estimated parameters they are far too kind (Lilliefors 1967,
doi:10.1080/01621459.1967.10482916). So samples are drawn from the fitted law, each fitted anew, and their distances compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spn.dist.hyperexponential import HyperExponential
from spn.dist.law import Floats, Law

SAMPLES = 200  # of the parametric bootstrap: the least p-value is 1/201
LARGEST = 1000  # durations in one of them; beyond it the distance times sqrt(n) has long found its limit


def distance(law: Law, durations: Floats) -> float:
    """The largest difference between the distribution functions of the durations and of the law, on either side of every jump."""
    values, counts = np.unique(durations, return_counts=True)
    if law.atoms() is not None:
        return _distance_of_steps(law, durations)
    after = np.cumsum(counts) / len(durations)
    before = after - counts / len(durations)
    fitted = law.cdf(values)
    return float(max((after - fitted).max(), (fitted - before).max()))


def _distance_of_steps(law: Law, durations: Floats) -> float:
    """The same where both are step functions."""
    jumps = np.unique(np.concatenate((durations, [float(value) for value, _ in law.atoms() or ()])))
    ordered = np.sort(durations)

    def gap(at: Floats) -> float:
        return float(np.abs(np.searchsorted(ordered, at, side="right") / len(ordered) - law.cdf(at)).max())

    return max(gap(jumps), gap(np.nextafter(jumps, -np.inf)))


def p_value(
    law: Law, n: int, found: float, refit: Callable[[Floats], Law], rng: np.random.Generator, samples: int = SAMPLES
) -> float | None:
    """Share of samples from the law itself that, fitted anew, lie at least as far away as ``found`` (the law counted among them).

    None where the family cannot be fitted to most of the samples. The samples hold at most :data:`LARGEST` durations; distances are
    compared in Stephens' scale, sqrt(n) + 0.12 + 0.11 / sqrt(n).
    """
    m = min(n, LARGEST)
    bar = found * _stephens(n) / _stephens(m)
    worse, tried = 0, 0
    for _ in range(samples):
        drawn = draws(law, m, rng)
        try:
            worse += distance(refit(drawn), drawn) >= bar
        except ValueError:  # the sample's own shape does not admit the family (for instance cv <= 1): no verdict from it
            continue
        tried += 1
    return (1 + worse) / (1 + tried) if 2 * tried >= samples else None


def draws(law: Law, n: int, rng: np.random.Generator) -> Floats:
    """Many draws at once, by inversion; a mixture of exponentials by its branches, whose quantile has no closed form."""
    if isinstance(law, HyperExponential):
        rates = np.array(law.rates)[np.searchsorted(law.sums, rng.random(n), side="right")]
        return np.asarray(rng.standard_exponential(n) / rates)
    u = rng.random(n)
    return np.maximum(law.quantile(u), np.finfo(float).tiny)


def _stephens(n: int) -> float:
    return math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)
