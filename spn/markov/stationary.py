"""The stationary vector of an irreducible chain: which method, why, and whether its answer is good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.markov.aggregation import LARGEST_GROUP, by_aggregation
from spn.markov.balance import aggregate_imbalance, aggregates, imbalance
from spn.markov.direct import by_lu
from spn.markov.gth import gth
from spn.markov.jumps import Jumps, Solved, depth, jumps_of
from spn.reach.space import Floats, Ints, Rates, available_memory

TOLERANCE = 1e-10
DENSE = 500  # states up to which dense elimination without subtraction is used
QUICK = 3_000  # states up to which sparse LU is tried before any kernel is loaded
SPARSE = 20_000  # states up to which sparse elimination without subtraction comes before iteration
STIFF = 1e6  # ratio of exit rates from which iteration is not tried first
STIFF_SPARSE = 200_000  # states up to which a stiff chain is eliminated first
THIN = 8  # rates per state up to which a fill-reducing order is found fast
SHORT_WORK = 3e9  # multiplications of an elimination that comes first, some seconds
LONG_WORK = 2e11  # of one that is the last resort, some minutes
BAND_WORK = 2e9  # multiplications of a banded elimination
SHARE = 0.8  # of the available memory that a method may take
ROUNDING = 2.3e-16

METHODS = ("gth", "lu", "sparse-gth", "aggregation", "idr", "sor", "power")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stationary:
    """Stationary probabilities ``pi`` (n), summing to 1.

    ``residual`` is the larger of the relative imbalance of flow over all states and ``balance``, the one over the aggregates of a stiff
    chain (:mod:`spn.markov.balance`), computed from ``pi`` and the rates alone. ``error`` is the method's estimate (of an elimination
    without subtraction: bound) of the sum of the errors of ``pi``, which may exceed the residual by far. ``reason`` says why this method;
    ``tried`` names all that were tried, with what each left."""

    pi: Floats
    residual: float
    converged: bool
    method: str
    balance: float = 0.0
    error: float = 0.0
    reason: str = ""
    tried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A method to try: its name, the reason for it, and the call."""

    name: str
    reason: str
    run: Callable[[], Solved]


def stationary(rates: Rates, tolerance: float = TOLERANCE, *, solver: str = "auto", jumps: Jumps | None = None) -> Stationary:
    """The stationary vector of an irreducible chain, to ``tolerance`` (of residual and estimated error) or marked as not converged.

    ``solver`` is ``"auto"`` or one of :data:`METHODS`, tried alone. The first answer that meets the tolerance is taken, else the one with
    the least residual, with ``converged`` False. ``jumps`` saves work where it is at hand. AnalysisError (E0640) where a rate is not a
    positive finite number, or so far from the others that its ratio to them is beyond double precision."""
    _sound(rates)
    best: Stationary | None = None
    tried: list[str] = []
    for step in _steps(rates, tolerance, solver, jumps):
        solved = _attempt(step.run)
        if solved is None:
            tried.append(f"{step.name}: broke down")
            continue
        found = _judged(rates, solved, step, tolerance, jumps)
        tried.append(f"{step.name}: residual {found.residual:.1e}, error {found.error:.1e}")
        found = replace(found, tried=tuple(tried))
        if found.converged:
            return found
        if best is None or not best.residual <= found.residual:
            best = found
    if best is None:
        flat = np.full(rates.n, 1.0 / rates.n)
        best = Stationary(pi=flat, residual=residual_of(rates, flat), converged=False, method="none", error=math.inf)
    return replace(best, tried=tuple(tried))


def _sound(rates: Rates) -> None:
    """Refuse rates with which no arithmetic is possible."""
    values = rates.values
    if not len(values):
        return
    low, high = float(values.min()), float(values.max())
    if low > 0 and math.isfinite(high) and low / high > 0 and math.isfinite(high * rates.n):
        return
    wrong = low if not low > 0 else high
    what = (
        f"a rate is {wrong:g}" if not (low > 0 and math.isfinite(high)) else f"rates of {low:g} and {high:g} meet: out of double precision"
    )
    raise refuse(
        AnalysisError, "E0640", f"the chain cannot be solved: {what}", help="rates are positive and finite; choose another unit of time"
    )


def _judged(rates: Rates, solved: Solved, step: Step, tolerance: float, jumps: Jumps | None) -> Stationary:
    plain, balance = residuals(rates, solved.pi, jumps)
    residual = max(plain, balance)
    return Stationary(
        pi=solved.pi,
        residual=residual,
        balance=balance,
        error=solved.error,
        converged=residual <= tolerance and (solved.error <= tolerance or step.name in ELIMINATIONS),
        method=step.name,
        reason=f"{step.reason}{f': {solved.work}' if solved.work else ''}",
    )


def residuals(rates: Rates, pi: Floats, jumps: Jumps | None = None) -> tuple[float, float]:
    """The imbalance over the states and over the aggregates; infinite for a vector that holds nan or is negative somewhere."""
    if not np.all(pi >= 0) or not math.isfinite(float(pi.sum())):
        return math.inf, math.inf
    return imbalance(rates, pi, jumps), aggregate_imbalance(rates, pi)


def residual_of(rates: Rates, pi: Floats) -> float:
    """The residual that :class:`Stationary` states."""
    return max(residuals(rates, pi))


# --- the choice ---------------------------------------------------------------------------------------------------------------

GTH, LU, SPARSE_GTH, AGGREGATION, IDR, SOR, POWER = (
    "GTH",
    "sparse LU",
    "sparse GTH",
    "aggregation-disaggregation",
    "IDR(2)",
    "SOR",
    "damped power",
)
ELIMINATIONS = frozenset({GTH, SPARSE_GTH})  # whose stated error is a bound that is seldom near


def _steps(rates: Rates, tolerance: float, solver: str, jumps: Jumps | None) -> Iterator[Step]:
    if solver != "auto":
        yield _asked(rates, tolerance, solver, jumps)
        return
    n = rates.n
    if n <= DENSE:
        yield Step(GTH, f"{_count(n)}, at most {DENSE}: eliminated without subtraction", lambda: _exact(n, gth(rates)))
        return
    if n <= QUICK:
        yield Step(LU, f"{_count(n)}, at most {QUICK:,}", lambda: by_lu(rates))
    yield from _large(rates, tolerance, jumps)


def _large(rates: Rates, tolerance: float, jumps: Jumps | None) -> Iterator[Step]:
    from spn.markov.krylov import by_idr
    from spn.markov.sweeps import by_power, by_sweeps

    n = rates.n
    exits = rates.exits() if jumps is None else jumps.exits
    stiff = exits.max() > STIFF * exits.min()
    groups = _groups(rates) if stiff and n > SPARSE else None
    if groups is not None:
        yield _aggregated(rates, tolerance, groups)
    eliminated = _elimination(rates, stiff, jumps)
    if eliminated:
        yield Step(SPARSE_GTH, f"{_count(n)}, {eliminated}", lambda: _reduced(rates, SHORT_WORK))
    if fits(rates, 12):
        j = jumps or jumps_of(rates)
        if fits(rates, 0, vectors=12):
            yield Step(IDR, f"{_count(n)}: too many to eliminate", lambda: by_idr(j, tolerance))
        yield Step(SOR, f"{_count(n)}: the memory for {IDR} is short, or it failed", lambda: by_sweeps(j, tolerance))
    else:
        yield Step(POWER, f"{_count(n)}: no memory for a second copy of the rates", lambda: by_power(rates, exits, tolerance))
    yield Step(SPARSE_GTH, f"{_count(n)}, and iteration failed", lambda: _reduced(rates, LONG_WORK))
    if groups is None and (groups := _groups(rates)) is not None:
        yield _aggregated(rates, tolerance, groups)


def _asked(rates: Rates, tolerance: float, solver: str, jumps: Jumps | None) -> Step:
    """The one method asked for by name."""
    from spn.markov.krylov import by_idr
    from spn.markov.sweeps import by_power, by_sweeps

    def grouped() -> Solved:
        groups = _groups(rates)
        if groups is None:
            raise ZeroDivisionError("no grouping of the states by their rates")
        return by_aggregation(rates, tolerance, groups, _small)

    table: dict[str, tuple[str, Callable[[], Solved]]] = {
        "gth": (GTH, lambda: _exact(rates.n, gth(rates))),
        "lu": (LU, lambda: by_lu(rates)),
        "sparse-gth": (SPARSE_GTH, lambda: _reduced(rates, math.inf)),
        "aggregation": (AGGREGATION, grouped),
        "idr": (IDR, lambda: by_idr(jumps or jumps_of(rates), tolerance)),
        "sor": (SOR, lambda: by_sweeps(jumps or jumps_of(rates), tolerance)),
        "power": (POWER, lambda: by_power(rates, rates.exits(), tolerance)),
    }
    name, run = table[solver]
    return Step(name, "asked for", run)


def _aggregated(rates: Rates, tolerance: float, groups: Ints) -> Step:
    count = int(groups.max()) + 1
    reason = f"{_count(rates.n)} in {count:,} groups between which it seldom moves"
    return Step(AGGREGATION, reason, lambda: by_aggregation(rates, tolerance, groups, _small))


def _small(rates: Rates) -> Floats:
    return stationary(rates).pi


def _groups(rates: Rates) -> Ints | None:
    """The coarsest partition by rates without a group too large to be solved as a whole, if there is one."""
    fitting = [label for label in aggregates(rates) if np.bincount(label).max() <= LARGEST_GROUP]
    return fitting[-1] if fitting else None


def _exact(n: int, pi: Floats) -> Solved:
    return Solved(pi, 2.0 * n * ROUNDING)


def _reduced(rates: Rates, most_work: float) -> Solved:
    from spn.markov.reduction import by_reduction

    return _exact(rates.n, by_reduction(rates, most_work))


def _elimination(rates: Rates, stiff: bool, jumps: Jumps | None) -> str:
    """Why elimination comes before iteration, "" where it does not."""
    if len(rates.values) <= THIN * rates.n and rates.n <= (STIFF_SPARSE if stiff else SPARSE):
        return "rates far apart: eliminated without subtraction" if stiff else "few rates each: eliminated without subtraction"
    return "a narrow band: eliminated without subtraction" if narrow_band(rates, jumps) else ""


def narrow_band(rates: Rates, jumps: Jumps | None = None, work: float = BAND_WORK) -> bool:
    """Whether a bandwidth-reducing order leaves so narrow a band that banded elimination takes at most ``work`` operations.

    No order has a band narrower than n / (2 levels of a breadth-first search), which rules out most chains at once."""
    n = rates.n
    levels = depth(jumps or jumps_of(rates))
    if n * (n / (2.0 * levels)) ** 2 > work:
        return False
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = csr_array((np.ones(len(rates.values)), rates.columns, rates.indptr), shape=(n, n))
    order = np.empty(n, dtype=np.int64)
    order[reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)] = np.arange(n)
    band = int(np.abs(order[rates.sources()] - order[rates.columns]).max(initial=0))
    return n * float(band) ** 2 <= work


def fits(rates: Rates, per_rate: int, vectors: int = 4) -> bool:
    """Whether so many bytes a rate and vectors of doubles find room in memory."""
    return per_rate * len(rates.values) + 8.0 * vectors * rates.n <= SHARE * available_memory()


def _count(n: int) -> str:
    return f"{n:,} states"


def _attempt(run: Callable[[], Solved]) -> Solved | None:
    """The answer, or None where the method broke down (out of memory, singular factors)."""
    try:
        with np.errstate(all="ignore"):
            return run()
    except (MemoryError, RuntimeError, ZeroDivisionError):
        return None
