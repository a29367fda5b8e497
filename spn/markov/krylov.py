"""Stationary vectors of large chains by IDR(2), in stages that measure how far the residual is from the error.

The unknowns are the flows through the states (probability times exit rate), so that the equations of a stiff chain are of one size. The
system A x = 0 with A = I - T is left singular: started from a positive vector the residual lies in the range of A, where a Krylov method
works as it does on a regular system (Freund and Hochbruck, Numer. Linear Algebra Appl. 1 (1994) 403), and no state has to be
guessed to be probable. Incomplete factors on both sides cost one diagonal (:mod:`spn.markov.kernels`).

Each stage solves A y = -A x for the correction y of the vector so far. The size of y over the residual before it is how many times the
error exceeds the residual, at least in that direction: the largest such ratio times the last residual is the error stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spn.markov.jumps import Jumps, Narrow, Solved, normalised, unbalance
from spn.reach.space import Floats, Ints

SWEEPS = 5  # of Gauss-Seidel in each direction, to begin with
STAGES = 8
SEED = 1  # of the shadow vectors, so that a chain is solved the same way every time
STAGE = 1e-6  # how far a stage brings the residual down, where nothing is known yet of the error behind it
PRODUCTS = 600  # of a stage at most
PROGRESS = 0.2  # a stage that leaves more of the residual than this is the last
GOAL = 0.1  # of the tolerance
RELAXED = 0.9  # of the pivots: over-relaxed factors took 10 to 20 % fewer products on all chains tried
FLOOR = 3e-16  # relative residual that rounding allows
VECTORS = 9  # of n doubles
BYTES = 8 * VECTORS + 8 + 2  # per state, besides the jumps


@dataclass(frozen=True, slots=True)
class System:
    """A = I - T with its incomplete factors."""

    jumps: Jumps
    pivots: Floats
    split: Ints

    @property
    def rows(self) -> tuple[Ints, Narrow, Floats, Ints, Floats]:
        return (*self.jumps.rows, self.split, self.pivots)


def system(jumps: Jumps) -> System:
    from spn.markov import kernels

    pivots, split = np.empty(jumps.n), np.empty(jumps.n, dtype=np.int64)
    kernels.pivots(jumps.rates.starts, jumps.columns, jumps.rates.values, jumps.exits, *jumps.rows, pivots, split)
    pivots *= RELAXED
    return System(jumps, pivots, split)


def signs(n: int, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """Two random shadow vectors of 1 and -1, a byte an entry."""
    bits = np.unpackbits(np.frombuffer(rng.bytes((2 * n + 7) // 8), dtype=np.uint8), count=2 * n)
    return (2 * bits.astype(np.int8) - 1).reshape(2, n)


def symmetric_sweeps(jumps: Jumps, flow: Floats, count: int) -> None:
    """Gauss-Seidel in both directions, in place: one direction alone may never converge on a ring."""
    from spn.markov import kernels

    for _ in range(count):
        for backward in (False, True):
            kernels.sweep(*jumps.rows, flow, 1.0, backward)
        flow /= flow.sum()


def by_idr(jumps: Jumps, tolerance: float) -> Solved:
    """Stationary probabilities of an irreducible chain; the error stated is infinite where nothing useful came."""
    flow = np.ones(jumps.n)
    symmetric_sweeps(jumps, flow, SWEEPS)
    if unbalance(jumps, flow) > FLOOR:
        flow, error, products = two_attempts(system(jumps), np.zeros(jumps.n), flow, tolerance)
    else:
        error, products = jumps.n * FLOOR, 0
    total = float(flow.sum())
    if not math.isfinite(total) or total == 0:
        return Solved(np.full(jumps.n, 1.0 / jumps.n), math.inf, "broke down")
    flow /= total
    negative = -float(flow[flow < 0].sum())
    flow = np.maximum(flow, 0.0)
    symmetric_sweeps(jumps, flow, 1)
    return Solved(normalised(jumps, flow), max(error, negative), f"{products} products")


def two_attempts(sys: System, right: Floats, x: Floats, tolerance: float, centre: Floats | None = None) -> tuple[Floats, float, int]:
    """:func:`refine` with over-relaxed factors, and where they fail, as they may on stiff chains, with plain ones."""
    found, error, products = refine(sys, right, x, tolerance, centre)
    if error <= tolerance:
        return found, error, products
    plain = System(sys.jumps, sys.pivots / RELAXED, sys.split)
    other, least, more = refine(plain, right, x, tolerance, centre)
    return (found, error, products + more) if error < least else (other, least, products + more)


def refine(sys: System, right: Floats, x: Floats, tolerance: float, centre: Floats | None = None) -> tuple[Floats, float, int]:
    """x improved in stages until A x = ``right`` to ``tolerance``; (x, estimated sum of errors over the sum of |x|, products).

    ``right`` must lie in the range of A. Where A is the transpose, whose null vector is constant, ``centre`` are the weights for which x
    shall have the mean 0: else the constant part may grow so large that it takes the digits of the rest."""
    from spn.markov import kernels

    rng = np.random.default_rng(SEED)
    r, y = np.empty_like(x), np.empty_like(x)
    left, size = kernels.lower_residual(*sys.rows, right, x, r)
    before, worst, error, products = left / size, 0.0, math.inf, 0
    for _ in range(STAGES):
        y[:] = 0.0
        done, _ = kernels.idr(*sys.rows, r, y, signs(len(x), rng), _aim(before, worst, tolerance) * math.sqrt(r @ r), PRODUCTS)
        products += done
        kernels.upper_solve(*sys.rows, y)
        better = x + y
        if centre is not None:
            better -= float(centre @ better)
        change = float(np.abs(better - x).sum())
        left, size = kernels.lower_residual(*sys.rows, right, better, r)
        after = left / size if size > 0 else math.nan
        if not after < before:
            break
        x = better
        worst = max(worst, change / size / before)
        error = worst * max(after, FLOOR)
        if error <= GOAL * tolerance or after > PROGRESS * before:
            break
        before = after
    return x, error, products


def _aim(before: float, worst: float, tolerance: float) -> float:
    """How far the next stage should reduce the residual: far enough for the error known, with a margin; not below rounding."""
    if worst == 0.0:
        return STAGE
    return max(0.2 * GOAL * tolerance / (worst * before), FLOOR / before, 1e-9)
