"""Exact elimination of vanishing markings.

A vanishing marking passes on at once, by weights. Its *passage* is the distribution over the tangible markings where the chain of
immediate firings ends, together with the mean reward collected on the way. Passages are found component by component of the vanishing
part of the graph, each from those it leads to; within a loop that can be left, by state reduction without subtraction (Grassmann, Taksar
and Heyman, Oper. Res. 33 (1985) 1107), which is exact to rounding however seldom the loop is left. One that cannot be left is a timeless
trap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spn.errors import SemanticsError, SpnError, refuse
from spn.net import semantics
from spn.net.semantics import Rules
from spn.reach.components import members, strong_components
from spn.reach.growth import path_to, sequence
from spn.reach.space import Floats, Graph, Ints, compressed


@dataclass(frozen=True, slots=True)
class Passages:
    """For each vanishing state v: the states ``targets`` (tangible) it ends in with their probabilities, and its mean ``rewards``
    (vanishing states, rewards). Rows of unreachable or tangible states are empty. Compressed rows over all states of the graph."""

    indptr: Ints
    targets: Ints
    probabilities: Floats
    rewards: Floats


def passages(r: Rules, graph: Graph, values: Floats) -> Passages:
    """Passages of all vanishing states. ``values`` (arcs, rewards) is what each firing of an immediate collects.

    A loop of vanishing markings that cannot be left raises SemanticsError with the loop and the shortest way to it."""
    n = len(graph.markings)
    of_vanishing = np.flatnonzero(graph.vanishing[graph.source])
    solver = _Passing(graph, of_vanishing, values)
    inner = of_vanishing[graph.vanishing[graph.target[of_vanishing]]]
    structure = compressed(n, graph.source[inner], graph.target[inner], np.ones(len(inner)))
    count, label = strong_components(structure.indptr, structure.columns)
    groups = members(count, label)
    for component in _leaves_first(groups, label, graph, inner):
        solver.component(r, component)
    return solver.result()


def _leaves_first(groups: list[Ints], label: Ints, graph: Graph, inner: Ints) -> list[Ints]:
    """The components that hold vanishing states, each after all those it leads to."""
    source, target = label[graph.source[inner]], label[graph.target[inner]]
    order = compressed(len(groups), target, source, np.ones(len(inner)))
    waiting = np.bincount(order.columns, minlength=len(groups))
    ready = [c for c in range(len(groups)) if waiting[c] == 0 and graph.vanishing[groups[c][0]]]
    for c in ready:  # grows while it is read
        for before in order.columns[order.indptr[c] : order.indptr[c + 1]].tolist():
            waiting[before] -= 1
            if waiting[before] == 0:
                ready.append(before)
    return [groups[c] for c in ready]


class _Passing:
    """Passages found so far: per vanishing state a mapping target -> probability, and the rewards."""

    def __init__(self, graph: Graph, arcs: Ints, values: Floats) -> None:
        self.graph = graph
        self.values = values
        self.start: list[int] = np.searchsorted(graph.source, np.arange(len(graph.markings) + 1)).tolist()
        self.target, self.weight = graph.target.tolist(), graph.weight.tolist()
        self.to: dict[int, dict[int, float]] = {}
        self.rewards = np.zeros((len(graph.markings), values.shape[1]))

    def component(self, r: Rules, states: Ints) -> None:
        v = int(states[0])
        if len(states) == 1 and v not in self.target[self.start[v] : self.start[v + 1]]:
            self._single(v)
        else:
            self._loop(r, states)

    def _single(self, v: int) -> None:
        first, last = self.start[v], self.start[v + 1]
        total = sum(self.weight[first:last])
        reached: dict[int, float] = {}
        for k in range(first, last):
            w, p = self.target[k], self.weight[k] / total
            self._add(reached, w, p)
            if self.values.shape[1]:
                self.rewards[v] += p * (self.values[k] + self.rewards[w])  # a tangible state has none
        self.to[v] = reached

    def _add(self, reached: dict[int, float], w: int, p: float) -> None:
        for target, q in self.to[w].items() if w in self.to else ((w, 1.0),):
            reached[target] = reached.get(target, 0.0) + p * q

    def _loop(self, r: Rules, states: Ints) -> None:
        """Reduce a strongly connected component state by state; what remains of a state leads outside."""
        place = {v: k for k, v in enumerate(states.tolist())}
        size = len(place)
        inside = np.zeros((size, size))
        outside: list[dict[int, float]] = [{} for _ in place]
        gain = np.zeros((size, self.values.shape[1]))
        for v, k in place.items():
            arcs = slice(self.start[v], self.start[v + 1])
            total = self.graph.weight[arcs].sum()
            gain[k] = (self.graph.weight[arcs] / total) @ self.values[arcs]
            for w, p in zip(self.target[arcs], (self.graph.weight[arcs] / total).tolist(), strict=True):
                if w in place:
                    inside[k, place[w]] += p
                else:
                    self._add(outside[k], w, p)
                    gain[k] += p * self.rewards[w]
        if not any(outside):
            raise _trap(r, self.graph, states)
        self._solve(states, inside, outside, gain)

    def _solve(self, states: Ints, inside: Floats, outside: list[dict[int, float]], gain: Floats) -> None:
        targets = sorted(set().union(*outside))
        column = {t: k for k, t in enumerate(targets)}
        exits = np.zeros((len(states), len(targets)))
        for k, reached in enumerate(outside):
            for t, p in reached.items():
                exits[k, column[t]] = p
        reduced, reward = reduce_loop(inside, exits, gain)
        for k, v in enumerate(states.tolist()):
            self.to[v] = {targets[c]: float(reduced[k, c]) for c in np.flatnonzero(reduced[k]).tolist()}
            self.rewards[v] = reward[k]

    def result(self) -> Passages:
        n = len(self.graph.markings)
        counts = np.array([len(self.to.get(v, ())) for v in range(n)], dtype=np.int64) if self.to else np.zeros(n, dtype=np.int64)
        rows = [self.to[v] for v in sorted(self.to)]
        targets = np.array([t for row in rows for t in row], dtype=np.int64)
        probabilities = np.array([p for row in rows for p in row.values()], dtype=np.float64)
        return Passages(np.concatenate([[0], np.cumsum(counts)]), targets, probabilities, self.rewards)


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


def _trap(r: Rules, graph: Graph, states: Ints) -> SpnError:
    inside = set(states.tolist())
    loop = [k for k in range(len(graph.source)) if graph.source[k] in inside]
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
