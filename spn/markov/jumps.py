"""The jump chain of a Markov chain, transposed once for all the sparse solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.reach.space import Floats, Ints, Rates

Narrow = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Jumps:
    """A chain without absorbing states: ``exits`` (n) are the total rates out of its states, ``columns`` the targets of ``rates`` as 32-bit
    numbers, and ``starts``, ``sources``, ``values`` the rows of T, where T(i, j) = rate(j, i) / exit rate(j).

    The flows through the states (probability times exit rate) are the fixed vector of T."""

    rates: Rates
    columns: Narrow
    exits: Floats
    starts: Ints
    sources: Narrow
    values: Floats

    @property
    def n(self) -> int:
        return len(self.exits)

    @property
    def rows(self) -> tuple[Ints, Narrow, Floats]:
        """What the kernels take for T."""
        return self.starts, self.sources, self.values


@dataclass(frozen=True, slots=True)
class Solved:
    """Stationary probabilities, the estimated sum of their absolute errors (infinite where nothing useful came), and what was done."""

    pi: Floats
    error: float
    work: str = ""


def jumps_of(rates: Rates) -> Jumps:
    """T in linear time; twelve bytes a rate."""
    from spn.markov import kernels

    n, count = rates.n, len(rates.values)
    columns = rates.columns.astype(np.int32, copy=False)
    exits = np.empty(n)
    kernels.exit_rates(rates.starts, rates.values, exits)
    starts, sources, values = np.zeros(n + 1, dtype=np.int64), np.empty(count, dtype=np.int32), np.empty(count)
    kernels.transpose_jumps(rates.starts, columns, rates.values, exits, starts, sources, values)
    return Jumps(rates, columns, exits, starts, sources, values)


def irreducible(jumps: Jumps) -> bool:
    """Whether every state is reached from the first one, and the first one from every state."""
    from spn.markov import kernels

    queue, seen = np.empty(jumps.n, dtype=np.int32), np.empty(jumps.n, dtype=np.bool_)
    ways = ((jumps.rates.starts, jumps.columns), (jumps.starts, jumps.sources))
    return all(kernels.reach(indptr, columns, 0, queue, seen)[0] == jumps.n for indptr, columns in ways)


def depth(jumps: Jumps) -> int:
    """Levels of a breadth-first search from the first state."""
    from spn.markov import kernels

    queue, seen = np.empty(jumps.n, dtype=np.int32), np.empty(jumps.n, dtype=np.bool_)
    return int(kernels.reach(jumps.rates.starts, jumps.columns, 0, queue, seen)[1])


def unbalance(jumps: Jumps, flow: Floats) -> float:
    """Sum over the states of |flow in - flow out|, relative to the total flow."""
    from spn.markov import kernels

    error, total = kernels.unbalance(*jumps.rows, flow)
    return float(error / total) if total > 0 else float("inf")


def normalised(jumps: Jumps, flow: Floats) -> Floats:
    """Probabilities from flows; what rounding made negative counts as 0."""
    pi = np.maximum(flow, 0.0) / jumps.exits
    total = pi.sum()
    return pi / total if total > 0 else pi
