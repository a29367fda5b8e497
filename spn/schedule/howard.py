"""The maximum cycle ratio of a graph, exactly: policy iteration in rational arithmetic.

Every edge has a weight w and a number of tokens m; the ratio of a cycle is the sum of its w over the sum of its m. Howard's algorithm keeps
one edge out of every node (the policy). The best cycle among those edges gives a ratio and potentials; edges that promise more replace
those of the policy, until none does. Then no cycle of the whole graph has a larger ratio, which is the proof of optimality.

Sources: J. Cochet-Terrasson, G. Cohen, S. Gaubert, M. McGettrick and J.-P. Quadrat, IFAC Proc. Vol. 31(18) (1998) 667,
doi:10.1016/S1474-6670(17)42067-2; A. Dasdan, ACM Trans. Des. Autom. Electron. Syst. 9 (2004) 385, doi:10.1145/1027084.1027085.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm


@dataclass(frozen=True, slots=True)
class Edge:
    """From ``tail`` to ``head``; ``weight`` (time) and ``tokens``; ``label`` for the reader."""

    tail: int
    head: int
    weight: Fraction
    tokens: int
    label: str = ""


NONE = Edge(-1, -1, Fraction(0), 0)


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of largest ratio, as its edges in order."""

    ratio: Fraction
    edges: tuple[Edge, ...]


def tokenless_cycle(n: int, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """A cycle all of whose edges have no tokens, or nothing."""
    out: list[list[Edge]] = [[] for _ in range(n)]
    for e in edges:
        if not e.tokens:
            out[e.tail].append(e)
    state: list[int] = [0] * n
    way: list[Edge] = []
    for root in (v for v in range(n) if not state[v]):
        work = [(root, iter(out[root]))]
        state[root] = 1
        while work:
            e = next(work[-1][1], NONE)
            if e is NONE:
                state[work.pop()[0]] = 2
                if way:
                    way.pop()
            elif state[e.head] == 1:
                way.append(e)
                first = [x.tail for x in way].index(e.head)
                return tuple(way[first:])
            elif not state[e.head]:
                state[e.head] = 1
                way.append(e)
                work.append((e.head, iter(out[e.head])))
    return ()


def maximum_cycle_ratio(n: int, edges: Sequence[Edge]) -> Cycle:
    """The cycle of largest ratio of a strongly connected graph on nodes 0 … n-1 in which every cycle has a token."""
    unit = lcm(*(e.weight.denominator for e in edges))
    out: list[list[int]] = [[] for _ in range(n)]
    into: list[list[int]] = [[] for _ in range(n)]
    for k, e in enumerate(edges):
        out[e.tail].append(k)
        into[e.head].append(k)
    weight = [int(e.weight * unit) for e in edges]
    policy = [max(out[v], key=lambda k: weight[k]) for v in range(n)]
    best: list[int] = []
    while True:
        cycle, ratio = _best_cycle(edges, weight, policy)
        if best and ratio == _ratio(edges, weight, best):
            cycle = best  # the same cycle as before: potentials go on growing
        best = cycle
        p, q = ratio.numerator, ratio.denominator
        gain = [q * w - p * e.tokens for w, e in zip(weight, edges, strict=True)]
        potential = _potentials(edges, gain, policy, cycle, into)
        better = _improved(edges, gain, policy, potential, out)
        if better == policy:
            return Cycle(ratio / unit, tuple(edges[k] for k in cycle))
        policy = better


def _ratio(edges: Sequence[Edge], weight: Sequence[int], cycle: Sequence[int]) -> Fraction:
    return Fraction(sum(weight[k] for k in cycle), sum(edges[k].tokens for k in cycle))


def _best_cycle(edges: Sequence[Edge], weight: Sequence[int], policy: Sequence[int]) -> tuple[list[int], Fraction]:
    """Among the cycles of the policy one of largest ratio."""
    seen = [-1] * len(policy)
    best: list[int] = []
    ratio = Fraction(-1)
    for root in range(len(policy)):
        v, way = root, []
        while seen[v] < 0:
            seen[v] = root
            way.append(policy[v])
            v = edges[policy[v]].head
        if seen[v] == root and way:
            cycle = way[next(k for k, e in enumerate(way) if edges[e].tail == v) :]
            found = _ratio(edges, weight, cycle)
            if found > ratio:
                best, ratio = cycle, found
    return best, ratio


def _potentials(
    edges: Sequence[Edge], gain: Sequence[int], policy: list[int], cycle: Sequence[int], into: Sequence[Sequence[int]]
) -> list[int]:
    """What each node gains on its way to the cycle along the policy. Nodes that do not lead there are led there (``policy`` changes)."""
    root = edges[cycle[0]].tail
    for k in cycle:
        policy[edges[k].tail] = k
    value: list[int | None] = [None] * len(policy)
    value[root] = 0
    for along_policy in (True, False):
        work = [v for v, x in enumerate(value) if x is not None]
        while work:
            v = work.pop()
            for k in into[v]:
                u = edges[k].tail
                if value[u] is None and (not along_policy or policy[u] == k):
                    policy[u] = k
                    value[u] = gain[k] + (value[v] or 0)
                    work.append(u)
    return [x or 0 for x in value]


def _improved(
    edges: Sequence[Edge], gain: Sequence[int], policy: Sequence[int], potential: Sequence[int], out: Sequence[Sequence[int]]
) -> list[int]:
    """The policy with the best edge out of every node, the present one where none is better."""
    found = []
    for v, kept in enumerate(policy):
        k = kept
        most = gain[k] + potential[edges[k].head]
        for j in out[v]:
            if gain[j] + potential[edges[j].head] > most:
                k, most = j, gain[j] + potential[edges[j].head]
        found.append(k)
    return found
