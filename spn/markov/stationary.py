"""The stationary vector of an irreducible chain: which method, and whether its answer is good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spn.markov.aggregation import by_aggregation
from spn.markov.balance import aggregate_imbalance, imbalance
from spn.markov.direct import by_lu
from spn.markov.gth import gth
from spn.reach.space import Floats, Rates

TOLERANCE = 1e-10
DENSE = 500  # states up to which dense elimination without subtraction is used
QUICK = 3_000  # states up to which sparse LU is tried before any kernel is loaded
SPARSE = 20_000  # states up to which sparse elimination without subtraction comes before iteration
STIFF = 1e6  # ratio of exit rates from which iteration is not tried first
STIFF_SPARSE = 200_000  # states up to which a stiff chain is eliminated first
THIN = 8  # rates per state up to which a fill-reducing order is found fast
SHORT_WORK = 3e9  # multiplications of an elimination that comes first, some seconds
LONG_WORK = 2e11  # of one that is the last resort, some minutes


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

    Elimination without subtraction (dense up to 500 states, else in a sparse order) wherever it is cheap or the chain is stiff, sparse LU
    for a few thousand states, IDR(4) and its fallbacks for large chains. The first answer whose residual meets the tolerance is taken,
    else the best one, with ``converged`` False."""
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
    if rates.n <= QUICK:
        yield "sparse LU", lambda: by_lu(rates)
    from spn.markov import krylov
    from spn.markov.reduction import by_reduction

    if _eliminate_first(rates):
        yield "sparse GTH", lambda: by_reduction(rates, SHORT_WORK)
    yield "IDR(4) with ILU(0)", lambda: krylov.by_idr(rates, tolerance)
    yield "sparse GTH", lambda: by_reduction(rates, LONG_WORK)
    yield "GMRES with ILU(0)", lambda: krylov.by_gmres(rates, tolerance)
    yield "aggregation-disaggregation", lambda: by_aggregation(rates, tolerance, lambda small: stationary(small).pi, residual_of)


def _eliminate_first(rates: Rates) -> bool:
    exits = rates.exits()
    most = STIFF_SPARSE if exits.max() > STIFF * exits.min() else SPARSE
    return (rates.n <= most and len(rates.values) <= THIN * rates.n) or narrow_band(rates)


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
