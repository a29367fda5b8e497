"""The data that state-space exploration produces: reachability graph, and the Markov chain on its tangible markings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spn.measure import Primitive
from spn.net.model import Net
from spn.reach.packing import Halves, Ints, Markings, Whole

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
__all__ = ["Bools", "Floats", "Graph", "Halves", "Ints", "Limits", "Rates", "StateSpace", "Whole", "available_memory", "compressed"]

LARGE = 100_000  # entries from which scipy builds compressed rows
SHARE_OF_MEMORY = 0.7
UNKNOWN_MEMORY = 4e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When exploration stops: ``states`` counts the markings stored, vanishing ones included where they are; ``memory`` is in bytes, by
    default most of what is available."""

    states: int = 20_000_000
    memory: float = field(default_factory=lambda: SHARE_OF_MEMORY * available_memory())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates q(i, j) > 0 between distinct states in compressed rows (row i = from i): targets ``columns[indptr[i]:indptr[i + 1]]``,
    ascending, without duplicates. The diagonal is implied, so that no method ever needs a subtraction to find it. Large chains come with
    ``indptr`` and ``columns`` of 32 bits: 12 bytes a rate."""

    indptr: Whole
    columns: Whole
    values: Floats

    @property
    def n(self) -> int:
        return len(self.indptr) - 1

    @property
    def starts(self) -> Ints:
        """``indptr`` as 64-bit numbers, the only ones that the solvers' kernels are compiled for."""
        return self.indptr.astype(np.int64, copy=False)

    def sources(self) -> Ints:
        """The row of every entry."""
        return np.repeat(np.arange(self.n), np.diff(self.indptr))

    def exits(self) -> Floats:
        """Total rate out of each state."""
        return np.bincount(self.sources(), self.values, self.n).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The reachability graph over tangible and vanishing markings, in breadth-first order; state 0 is the initial marking.

    Arc k is the firing of ``transition[k]`` in state ``source[k]`` leading to ``target[k]``, with ``weight[k]`` > 0: the total rate
    of a timed, the weight of an immediate transition. Sorted by source, then transition. ``parent`` and ``via`` are the state and
    transition that found a state first (-1 for the initial one).
    """

    markings: Markings
    vanishing: Bools
    parent: Whole
    via: Whole
    source: Whole
    target: Whole
    transition: Whole
    weight: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpace:
    """The Markov chain on the tangible markings of a net with exponential laws.

    ``markings`` (n, places), packed, in breadth-first order; ``initial`` (n) the distribution over them at time 0; ``rates`` the generator
    without self-loops; ``rewards`` maps each primitive asked for to its mean per second in each state (n), in a large space found anew
    whenever it is read: for a firing rate the firings of immediates that a timed firing starts are counted with it. ``dead`` and ``stuck``
    are the absorbing markings: no transition enabled, or enabled but every speed 0. ``arcs`` counts the timed firings; ``vanishing`` the
    vanishing markings, None where they were passed over and not counted.
    """

    net: Net
    markings: Markings
    initial: Floats
    rates: Rates
    rewards: Mapping[Primitive, Floats]
    dead: Ints
    stuck: Ints
    arcs: int
    vanishing: int | None
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.markings)


def compressed(n: int, rows: Whole, columns: Whole, values: Floats) -> Rates:
    """Rates from triplets: duplicates are added, entries on the diagonal and zeros are dropped."""
    keep = (rows != columns) & (values > 0)
    if len(rows) > LARGE:
        return _compressed_large(n, rows[keep], columns[keep], values[keep])
    unique, inverse = np.unique(rows[keep].astype(np.int64) * n + columns[keep], return_inverse=True)
    total = np.bincount(inverse, values[keep], len(unique)).astype(np.float64)
    source, target = (unique // n, unique % n) if n else (unique, unique)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))])
    return Rates(indptr=indptr.astype(np.int64), columns=target.astype(np.int64), values=total)


def _compressed_large(n: int, rows: Whole, columns: Whole, values: Floats) -> Rates:
    """The same in linear time; scipy is worth its import."""
    from scipy.sparse import coo_array

    matrix = coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return Rates(indptr=matrix.indptr.astype(np.int64), columns=matrix.indices.astype(np.int64), values=matrix.data)


def available_memory() -> float:
    """Bytes of memory that can be had without swapping, or half of what the machine has where that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY
