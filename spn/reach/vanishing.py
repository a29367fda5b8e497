"""Exact elimination of vanishing markings.

A vanishing marking passes on at once, by weights. Its *passage* is the distribution over the tangible markings where the chain of
immediate firings ends, together with the mean reward collected on the way. Passages are found component by component of the vanishing
part of the graph, each from those it leads to; within a loop that can be left, by state reduction without subtraction (Grassmann, Taksar
and Heyman, Oper. Res. 33 (1985) 1107), which is exact to rounding however seldom the loop is left. One that cannot be left is a timeless
trap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spn.errors import AnalysisError, SemanticsError, SpnError, refuse
from spn.net import semantics
from spn.net.semantics import Rules
from spn.reach.components import strong_components
from spn.reach.growth import path_to, sequence
from spn.reach.space import Bools, Floats, Graph, Ints, Whole, compressed

ENTRY = 32  # bytes of an entry of a passage, with room to grow
LARGEST_LOOP = 4_000  # vanishing markings of one loop; it is solved as a dense system


@dataclass(frozen=True, slots=True)
class Passages:
    """For each vanishing state: the tangible states ``targets[first[v] : first[v] + count[v]]`` it ends in, with their ``probabilities``,
    and its mean ``rewards`` (states, rewards). Tangible states have none."""

    first: Ints
    count: Ints
    targets: Ints
    probabilities: Floats
    rewards: Floats

    def spread(self, states: Whole) -> tuple[Ints, Ints]:
        """For vanishing states in a row: the position of each in the row and the place of an entry of its passage, one pair per entry."""
        return ranges(self.first[states], self.count[states])


def ranges(first: Whole, count: Whole) -> tuple[Ints, Ints]:
    """The whole numbers first[i] .. first[i] + count[i] - 1 of all i, one after the other: i and number of each."""
    count = count.astype(np.int64, copy=False)
    position = np.repeat(np.arange(len(first)), count)
    offset = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
    return position, first[position] + offset


def passages(r: Rules, graph: Graph, values: Floats, memory: float = math.inf) -> Passages:
    """Passages of all vanishing states. ``values`` (arcs, rewards) is what each firing collects.

    A loop of vanishing markings that cannot be left raises SemanticsError with the loop and the shortest way to it; AnalysisError where the
    passages together take more than ``memory`` bytes."""
    solver = _Passing(graph, values, memory)
    for loops, singles in _leaves_first(graph):
        for loop in loops:
            solver.loop(r, loop)
        solver.singles(singles)
    return solver.result()


def _leaves_first(graph: Graph) -> Iterator[tuple[list[Ints], Ints]]:
    """Waves of components of the vanishing part of the graph, each wave after all that it leads to: loops, and states that are none."""
    states = np.flatnonzero(graph.vanishing)
    number = np.cumsum(graph.vanishing) - 1
    inner = np.flatnonzero(graph.vanishing[graph.source] & graph.vanishing[graph.target])
    source, target = number[graph.source[inner]], number[graph.target[inner]]
    structure = compressed(len(states), source, target, np.ones(len(inner)))
    count, label = strong_components(structure.indptr, structure.columns)
    looping = np.bincount(label, minlength=count) > 1
    looping[label[source[source == target]]] = True
    order = compressed(count, label[target], label[source], np.ones(len(inner)))  # from each component to those that lead to it
    waiting = np.bincount(order.columns, minlength=count)
    by_label = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[by_label], np.arange(count + 1))
    wave = np.flatnonzero(waiting == 0)
    while len(wave):
        loops = [states[by_label[ends[c] : ends[c + 1]]] for c in wave[looping[wave]].tolist()]
        yield loops, states[by_label[ends[wave[~looping[wave]]]]]
        _, at = ranges(order.indptr[wave], order.indptr[wave + 1] - order.indptr[wave])
        before, times = np.unique(order.columns[at], return_counts=True)
        waiting[before] -= times
        wave = before[waiting[before] == 0]


class _Passing:
    """The passages found so far, in arrays that grow."""

    def __init__(self, graph: Graph, values: Floats, memory: float) -> None:
        n = len(graph.markings)
        self.memory = memory
        self.graph, self.values = graph, values
        self.start = np.searchsorted(graph.source, np.arange(n + 1))
        self.rewards = np.zeros((n, values.shape[1]))
        self.first, self.count = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.targets, self.probabilities, self.used = np.zeros(64, dtype=np.int64), np.zeros(64), 0

    def singles(self, states: Ints) -> None:
        """States that are no loop: a mixture of what their firings lead to."""
        rows, targets, chances, gain = self._outside(states, np.zeros(len(self.graph.markings), dtype=bool))
        self.rewards[states] = gain
        self._store(states, rows, targets, chances)

    def _outside(self, states: Ints, inside: Bools) -> tuple[Ints, Ints, Floats, Floats]:
        """Where the firings of some states end in tangible states without passing ``inside``: row (position in ``states``), target and
        probability, and for each state the mean reward of its own firing and of those that follow outside."""
        row, arc = ranges(self.start[states], self.start[states + 1] - self.start[states])
        weight = self.graph.weight[arc]
        share = weight / np.bincount(row, weight, len(states))[row]
        target = self.graph.target[arc]
        collected = share[:, None] * (self.values[arc] + np.where(inside[target][:, None], 0.0, self.rewards[target]))
        gain = np.zeros((len(states), self.values.shape[1]))
        np.add.at(gain, row, collected)
        straight = ~self.graph.vanishing[target]
        onward = np.flatnonzero(self.graph.vanishing[target] & ~inside[target])
        via, at = ranges(self.first[target[onward]], self.count[target[onward]])
        rows = np.concatenate([row[straight], row[onward[via]]])
        targets = np.concatenate([target[straight], self.targets[at]])
        chances = np.concatenate([share[straight], share[onward[via]] * self.probabilities[at]])
        return rows, targets, chances, gain

    def _store(self, states: Ints, rows: Ints, targets: Ints, chances: Floats) -> None:
        """Keep the passages of some states, entries with one target added up."""
        n = len(self.graph.markings)
        unique, inverse = np.unique(rows * n + targets, return_inverse=True)
        row, size = unique // n, len(unique)
        if (self.used + size) * ENTRY > self.memory:
            raise _too_much(self.memory, self.graph)
        while self.used + size > len(self.targets):
            self.targets = np.concatenate([self.targets, np.zeros_like(self.targets)])
            self.probabilities = np.concatenate([self.probabilities, np.zeros_like(self.probabilities)])
        self.targets[self.used : self.used + size] = unique % n
        self.probabilities[self.used : self.used + size] = np.bincount(inverse, chances, size)
        self.count[states] = np.bincount(row, minlength=len(states))
        self.first[states] = self.used + np.searchsorted(row, np.arange(len(states)))
        self.used += size

    def loop(self, r: Rules, states: Ints) -> None:
        """Reduce a strongly connected component state by state; what remains of a state leads outside."""
        if len(states) > LARGEST_LOOP:
            raise _too_large(r, self.graph, states)
        inside = np.zeros(len(self.graph.markings), dtype=bool)
        inside[states] = True
        rows, targets, chances, gain = self._outside(states, inside)
        if len(rows) == 0:
            raise _trap(r, self.graph, states)
        column, inverse = np.unique(targets, return_inverse=True)
        exits = np.zeros((len(states), len(column)))
        np.add.at(exits, (rows, inverse), chances)
        within = np.zeros((len(states), len(states)))
        row, arc = ranges(self.start[states], self.start[states + 1] - self.start[states])
        weight = self.graph.weight[arc]
        share = weight / np.bincount(row, weight, len(states))[row]
        stays = inside[self.graph.target[arc]]
        np.add.at(within, (row[stays], np.searchsorted(states, self.graph.target[arc[stays]])), share[stays])
        reduced, self.rewards[states] = reduce_loop(within, exits, gain)
        at = np.nonzero(reduced)
        self._store(states, at[0], column[at[1]], reduced[at])

    def result(self) -> Passages:
        return Passages(self.first, self.count, self.targets[: self.used], self.probabilities[: self.used], self.rewards)


def reduce_loop(inside: Floats, exits: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """Solve (I - inside) X = exits and (I - inside) G = gain, where the rows of [inside | exits] are probabilities, without subtraction.

    The diagonal of I - inside is taken as the sum of all that leaves the state, so that a loop left with probability 1e-300 is as
    exact as any other."""
    a, x, g = inside.copy(), exits.copy(), gain.copy()
    n = len(a)
    for k in range(n - 1, -1, -1):
        out = a[k, :k].sum() + x[k].sum()
        a[k, :k] /= out
        x[k] /= out
        g[k] /= out
        into = a[:k, k].copy()
        a[:k, :k] += np.outer(into, a[k, :k])
        x[:k] += np.outer(into, x[k])
        g[:k] += np.outer(into, g[k])
    for k in range(n):
        x[k] += a[k, :k] @ x[:k]
        g[k] += a[k, :k] @ g[:k]
    return x, g


def _too_large(r: Rules, graph: Graph, states: Ints) -> SpnError:
    first = semantics.marking_text(r.net, tuple(graph.markings[states[0]].tolist()))
    return refuse(
        AnalysisError,
        "E0605",
        f"a zero-time loop runs through {len(states):,} vanishing markings, {first} among them; at most {LARGEST_LOOP:,} are solved",
        help="give the immediates priorities, so that fewer of their orders are told apart, or simulate",
    )


def _too_much(memory: float, graph: Graph) -> SpnError:
    return refuse(
        AnalysisError,
        "E0602",
        f"the ways through {int(graph.vanishing.sum()):,} vanishing markings take more than {memory / 1e9:.2g} GB of memory",
        help="give the immediates priorities, so that fewer of their orders are told apart, or simulate",
    )


def _trap(r: Rules, graph: Graph, states: Ints) -> SpnError:
    loop = np.isin(graph.source, states)
    names = list(dict.fromkeys(r.net.transitions[t].name for t in graph.transition[loop].tolist()))
    first = int(states.min())
    path = path_to(first, graph.parent)
    way: Sequence[int] = [int(graph.via[s]) for s in path[1:]]
    entered = semantics.marking_text(r.net, tuple(graph.markings[first].tolist()))
    reached = f"entered in marking {entered}, " + (f"reached by {sequence(r, way)}" if way else "the initial one")
    return refuse(
        SemanticsError,
        "E0604",
        f"zero-time loop without exit: {', '.join(names)}",
        span=next((t.span for t in r.net.transitions if t.name == names[0]), None),
        label="immediate transitions that enable each other for ever",
        help="let time pass in the loop, or give it a way out",
        notes=(reached,),
    )
