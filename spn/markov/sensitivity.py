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

DIRECT = 3_000  # states up to which the system is factored
LAST_DIRECT = 50_000  # states up to which it is where iteration falls short
REFINEMENTS = 4
ROUNDING = 2.3e-16


@dataclass(frozen=True, slots=True)
class Adjoint:
    """``values`` (n): a, with pi a = 0. ``error`` is the estimated sum of its errors over the sum of its values."""

    values: Floats
    error: float


class Adjoints:
    """Solver of Q a = g - (pi g) 1 for an irreducible chain with stationary vector ``pi`` and any rewards g; what does not depend on g is
    made once. IDR(2) above a few thousand states, sparse LU below, and where IDR falls short."""

    def __init__(self, rates: Rates, pi: Floats, tolerance: float) -> None:
        self.rates, self.pi, self.tolerance = rates, pi, tolerance
        self.exits = rates.exits()
        self.pinned = int(np.argmax(pi * self.exits))
        self._factors: tuple[Any, Any] | None = None
        self._system: System | None = None

    def solve(self, gains: Floats) -> Adjoint:
        """a for the rewards ``gains`` (n)."""
        centred = gains - float(self.pi @ gains)
        if not np.any(centred):
            return Adjoint(np.zeros(self.rates.n), 0.0)
        right = -centred / self.exits
        found: list[tuple[float, Floats]] = []
        if self.rates.n > DIRECT:
            found.append(self.iterated(right))
        if not found or (found[0][0] > self.tolerance and self.rates.n <= LAST_DIRECT):
            found.append(self.factored(right))
        error, a = min(found, key=lambda f: f[0])
        return Adjoint(a - float(self.pi @ a), error)

    def factored(self, right: Floats) -> tuple[float, Floats]:
        """By LU with the most probable state pinned at 0, refined until the corrections stop shrinking; the last of them is the error."""
        lu, matrix = self._lu()
        right = right.copy()
        right[self.pinned] = 0.0
        a: Floats = lu.solve(right)
        error = math.inf
        for _ in range(REFINEMENTS):
            correction = lu.solve(right - matrix @ a)
            left = float(np.abs(correction).sum() / max(float(np.abs(a).sum()), 1e-300))
            if not left < error:
                break
            a, error = a + correction, left
        return max(error, ROUNDING), a

    def _lu(self) -> tuple[Any, Any]:
        """The factors of I - P with the pinned row replaced, and the matrix."""
        if self._factors is None:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import splu

            rates, n, sources = self.rates, self.rates.n, self.rates.sources()
            keep = sources != self.pinned
            jumps = rates.values / self.exits[sources]
            rows = np.concatenate([sources[keep], np.arange(n)])
            columns = np.concatenate([rates.columns[keep], np.arange(n)])
            matrix: Any = csc_array((np.concatenate([-jumps[keep], np.ones(n)]), (rows, columns)), shape=(n, n))
            lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            self._factors = lu, matrix
        return self._factors

    def iterated(self, right: Floats) -> tuple[float, Floats]:
        """By IDR(2) on I - P, with P in the place of its transpose."""
        if self._system is None:
            self._system = _backward(self.rates)
        flow = self.pi * self.exits
        right = right - flow @ right / flow.sum()  # rounding may have left the range of I - P
        a, error, _ = two_attempts(self._system, right, right - float(self.pi @ right), self.tolerance, self.pi)
        return error, a


def _backward(rates: Rates) -> System:
    """I - P with its factors: their diagonal is that of the factors of the transpose."""
    from spn.markov import kernels

    jumps = jumps_of(rates)
    diagonal, split = np.empty(jumps.n), np.empty(jumps.n, dtype=np.int64)
    kernels.pivots(rates.starts, jumps.columns, rates.values, jumps.exits, *jumps.rows, diagonal, split)
    kernels.crossings(rates.starts, jumps.columns, split)
    own = Jumps(rates, jumps.columns, jumps.exits, rates.starts, jumps.columns, rates.values / jumps.exits[rates.sources()])
    return System(own, diagonal * RELAXED, split)


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
