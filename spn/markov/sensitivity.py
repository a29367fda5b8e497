"""Derivatives of stationary rewards: one linear system for all parameters, and differences of high order for the rates.

With pi Q = 0 and M = pi g, a change dQ of the generator moves M by -(pi dQ) a, where a solves Q a = g - (pi g) 1. It does not depend on
the parameter: it is the adjoint, in Markov chains the vector of relative values (Schweitzer, J. Appl. Probab. 5 (1968) 401; Cao and Chen,
IEEE Trans. Autom. Control 42 (1997) 1382).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from spn.markov.jumps import Jumps, jumps_of
from spn.markov.krylov import RELAXED, System, two_attempts
from spn.reach.space import Floats, Rates

DIRECT = 20_000  # states up to which the system is factored
REFINEMENTS = 4
ROUNDING = 2.3e-16


@dataclass(frozen=True, slots=True)
class Adjoint:
    """``values`` (n): a, with pi a = 0. ``error`` is the estimated sum of its errors over the sum of its values."""

    values: Floats
    error: float


def adjoint(rates: Rates, pi: Floats, gains: Floats, tolerance: float) -> Adjoint:
    """The solution a of Q a = g - (pi g) 1 for an irreducible chain with stationary vector ``pi`` and rewards g (``gains``)."""
    centred = gains - float(pi @ gains)
    if not np.any(centred):
        return Adjoint(np.zeros(rates.n), 0.0)
    solve = _factored if rates.n <= DIRECT else _iterated
    a, error = solve(rates, pi, centred, tolerance)
    return Adjoint(a - float(pi @ a), error)


def _factored(rates: Rates, pi: Floats, centred: Floats, tolerance: float) -> tuple[Floats, float]:
    """By LU with the most probable state pinned at 0, refined until the corrections stop shrinking."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    n, exits, sources = rates.n, rates.exits(), rates.sources()
    pinned = int(np.argmax(pi * exits))
    keep = sources != pinned
    jumps = rates.values / exits[sources]
    rows = np.concatenate([sources[keep], np.arange(n)])
    columns = np.concatenate([rates.columns[keep], np.arange(n)])
    matrix: Any = csc_array((np.concatenate([-jumps[keep], np.ones(n)]), (rows, columns)), shape=(n, n))
    right = -centred / exits
    right[pinned] = 0.0
    lu: Any = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    a: Floats = lu.solve(right)
    error = math.inf
    for _ in range(REFINEMENTS):
        correction = lu.solve(right - matrix @ a)
        left = float(np.abs(correction).sum() / max(float(np.abs(a).sum()), 1e-300))
        if not left < error:
            break
        a, error = a + correction, left
    return a, max(error, ROUNDING)


def _iterated(rates: Rates, pi: Floats, centred: Floats, tolerance: float) -> tuple[Floats, float]:
    """By IDR(2) on I - P, with P in the place of its transpose."""
    from spn.markov import kernels

    jumps = jumps_of(rates)
    backward = Jumps(rates, jumps.columns, jumps.exits, rates.indptr, jumps.columns, rates.values / jumps.exits[rates.sources()])
    diagonal, split = np.empty(jumps.n), np.empty(jumps.n, dtype=np.int64)
    # the diagonal is that of the transposed factors; the second call only finds where the rows of P cross the diagonal
    kernels.pivots(rates.indptr, jumps.columns, rates.values, jumps.exits, *jumps.rows, diagonal, split)
    kernels.crossings(rates.indptr, jumps.columns, split)
    del jumps
    right = -centred / backward.exits
    flow = pi * backward.exits
    right -= flow @ right / flow.sum()  # rounding may have left the range of I - P
    start = right - float(pi @ right)
    a, error, _ = two_attempts(System(backward, diagonal * RELAXED, split), right, start, tolerance, pi)
    return a, error


def slope(rates: Rates, pi: Floats, a: Floats, change: Floats) -> float:
    """The derivative of pi g for fixed rewards, where ``change`` are the derivatives of the rates, entry by entry."""
    sources = rates.sources()
    return -math.fsum((pi[sources] * change * (a[rates.columns] - a[sources])).tolist())


# --- differences ----------------------------------------------------------------------------------------------------------------


def weights(nodes: Sequence[int]) -> tuple[Fraction, ...]:
    """The weights of the values at ``nodes`` (in steps) whose sum is the derivative at 0, exact for polynomials of degree < len(nodes).

    The derivatives at 0 of Lagrange's polynomials."""
    found = []
    for j in nodes:
        others = [m for m in nodes if m != j]
        below = math.prod(j - m for m in others)
        above = sum(math.prod(-m for m in others if m != k) for k in others)
        found.append(Fraction(above, below))
    return tuple(found)
