"""The stationary vector of an irreducible chain: which method, and whether its answer is good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spn.markov.balance import aggregate_imbalance, imbalance
from spn.markov.direct import by_lu
from spn.markov.gth import gth
from spn.reach.space import Floats, Rates

TOLERANCE = 1e-10
DENSE = 500  # states up to which elimination without subtraction is used
DIRECT = 20_000  # states up to which sparse LU comes first
LAST_DIRECT = 150_000  # states up to which sparse LU is still tried when all else has failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationary:
    """Stationary probabilities ``pi`` (n), summing to 1. ``residual`` is the larger of the relative imbalance of flow over all states
    and over the aggregates of a stiff chain (:mod:`spn.markov.balance`), computed from ``pi`` and the rates alone."""

    pi: Floats
    residual: float
    converged: bool
    method: str
    tried: tuple[str, ...] = ()


def stationary(rates: Rates, tolerance: float = TOLERANCE) -> Stationary:
    """The stationary vector of an irreducible chain, to ``tolerance`` or marked as not converged.

    GTH up to 500 states; then sparse LU up to 20,000 states, beyond that IDR(4) and its fallbacks; the first answer whose residual
    meets the tolerance is taken, else the best one, with ``converged`` False."""
    best: Stationary | None = None
    tried: list[str] = []
    for name, method in _methods(rates, tolerance):
        pi = _attempt(method)
        tried.append(name)
        if pi is None:
            continue
        residual = residual_of(rates, pi)
        found = Stationary(pi=pi, residual=residual, converged=residual <= tolerance, method=name, tried=tuple(tried))
        if found.converged:
            return found
        if best is None or not best.residual <= residual:
            best = found
    if best is None:
        flat = np.full(rates.n, 1.0 / rates.n)
        return Stationary(pi=flat, residual=residual_of(rates, flat), converged=False, method="none", tried=tuple(tried))
    return Stationary(pi=best.pi, residual=best.residual, converged=False, method=best.method, tried=tuple(tried))


def residual_of(rates: Rates, pi: Floats) -> float:
    """The residual that :class:`Stationary` states; infinite for a vector that holds nan or is negative somewhere."""
    if not np.all(pi >= 0) or not math.isfinite(float(pi.sum())):
        return math.inf
    return max(imbalance(rates, pi), aggregate_imbalance(rates, pi))


Method = Callable[[], Floats]


def _methods(rates: Rates, tolerance: float) -> Iterator[tuple[str, Method]]:
    if rates.n <= DENSE:
        yield "GTH", lambda: gth(rates)
        return
    if rates.n <= DIRECT or narrow_band(rates):
        yield "sparse LU", lambda: by_lu(rates)
    from spn.markov import krylov

    yield from krylov.methods(rates, tolerance)
    if DIRECT < rates.n <= LAST_DIRECT:
        yield "sparse LU", lambda: by_lu(rates)


def _attempt(method: Method) -> Floats | None:
    """The vector, or None where the method broke down (out of memory, singular factors)."""
    try:
        with np.errstate(all="ignore"):
            return method()
    except (MemoryError, RuntimeError, ZeroDivisionError):
        return None


def narrow_band(rates: Rates, work: float = 2e9) -> bool:
    """Whether a bandwidth-reducing order leaves so narrow a band that banded elimination takes at most ``work`` operations."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = csr_array((np.ones(len(rates.values)), rates.columns, rates.indptr), shape=(rates.n, rates.n))
    order = np.empty(rates.n, dtype=np.int64)
    order[reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)] = np.arange(rates.n)
    band = int(np.abs(order[rates.sources()] - order[rates.columns]).max(initial=0))
    return rates.n * float(band) ** 2 <= work
