"""Aggregation-disaggregation for nearly decomposable chains (Koury, McAllister and Stewart, SIAM J. Alg. Disc. Meth. 5 (1984) 164).

The states fall into groups with fast rates inside and slow ones between. In turn, the weights of the groups are solved for with the
shares inside held fixed, and the shares inside with the flows between the groups held fixed. The error shrinks by about the ratio of slow
to fast in each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from spn.markov.jumps import Solved
from spn.reach.space import Floats, Ints, Rates, compressed

ROUNDS = 60
GOAL = 0.1  # of the tolerance
ROUNDING = 2.3e-16
LARGEST_GROUP = 5_000  # states of a group that is solved as a whole


Solver = Callable[[Rates], Floats]


def by_aggregation(rates: Rates, tolerance: float, label: Ints, solve: Solver) -> Solved:
    """Stationary probabilities by alternating between the groups of ``label`` and their members; ``solve`` gives those of the small chain
    between groups. The error is judged from how fast the changes of a round shrink.

    Raises RuntimeError or MemoryError where the equations inside the groups cannot be factored."""
    members = _Members(rates, label)
    pi = np.full(rates.n, 1.0 / rates.n)
    last, error, rounds = math.inf, math.inf, 0
    while rounds < ROUNDS:
        rounds += 1
        better = members.solve(regroup(rates, pi, label, solve))
        change = float(np.abs(better - pi).sum())
        pi = better
        if change == 0 or (last < math.inf and change >= last and error <= tolerance):
            break
        if change < last < math.inf:
            error = max(change * change / (last - change), 4 * ROUNDING)
        if error <= GOAL * tolerance:
            break
        last = change
    # Weights last: in a group that is hardly ever left the equations are nearly singular, which costs digits of its weight, not its shares.
    return Solved(regroup(rates, pi, label, solve), error, f"{rounds} rounds")


def regroup(rates: Rates, pi: Floats, label: Ints, solve: Solver) -> Floats:
    """The same shares inside the groups, the weights of the groups exact for these shares."""
    count = int(label.max()) + 1
    mass = np.bincount(label, pi, count)
    share = np.where(mass[label] > 0, pi / np.where(mass > 0, mass, 1.0)[label], 1.0 / np.bincount(label)[label])
    sources = rates.sources()
    coupling = compressed(count, label[sources], label[rates.columns], share[sources] * rates.values)
    return np.asarray(solve(coupling)[label] * share)


class _Members:
    """The equations inside the groups, factored once: flow out of each state = flow in from its group + flow in from elsewhere."""

    def __init__(self, rates: Rates, label: Ints) -> None:
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        n, sources, self.exits = rates.n, rates.sources(), rates.exits()
        inside = label[sources] == label[rates.columns]
        jumps = rates.values / self.exits[sources]
        rows = np.concatenate([rates.columns[inside], np.arange(n)])
        columns = np.concatenate([sources[inside], np.arange(n)])
        own = csc_array((np.concatenate([-jumps[inside], np.ones(n)]), (rows, columns)), shape=(n, n))
        self.factors: Any = splu(own, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self.between: Any = csc_array((jumps[~inside], (rates.columns[~inside], sources[~inside])), shape=(n, n))

    def solve(self, pi: Floats) -> Floats:
        flow: Floats = self.factors.solve(self.between @ (pi * self.exits))
        solved = np.maximum(flow, 0.0) / self.exits
        return np.asarray(solved / solved.sum(), dtype=np.float64)
