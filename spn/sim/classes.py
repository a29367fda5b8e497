"""The closed classes of a net's markings, where the net is small enough to see all of them before a run.

Only markings are looked at, not clocks: a transition that can fire in a marking is taken to fire there sooner or later. So more may look
possible than the laws allow, never less; a net with one closed class that is no single absorbing marking has one long run. Where two clocks
of bounded times run at once on a circle outside of the closed classes, that need not be so: a run may go round there for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spn.errors import SpnError
from spn.net import semantics
from spn.net.model import Marking, Net, Timed, Transition, initial_marking
from spn.net.semantics import Rules

BUDGET = 20_000  # enablings looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedClass:
    """Markings that, once entered, are never left. ``absorbing``: a single marking in which nothing ever fires."""

    markings: frozenset[Marking]
    absorbing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkingGraph:
    """All reachable markings, vanishing ones too, with their successors, and the closed classes."""

    net: Net
    successors: Mapping[Marking, tuple[Marking, ...]]
    closed: tuple[ClosedClass, ...]
    evadable: bool = False  # times may keep a run out of all closed classes for ever

    @property
    def lasting(self) -> tuple[Marking, ...]:
        """The markings that may count in the long run."""
        return tuple(self.successors) if self.evadable else tuple(m for c in self.closed for m in c.markings)

    @property
    def one_long_run(self) -> bool:
        """Whether every run ends in one and the same class, in which things go on happening."""
        return len(self.closed) == 1 and not self.closed[0].absorbing

    def class_of(self) -> dict[Marking, int]:
        """The index of the closed class of every marking that is in one."""
        return {m: i for i, c in enumerate(self.closed) for m in c.markings}


def marking_graph(net: Net) -> MarkingGraph | None:
    """The markings reachable from the initial one; None where the net is too large, or means nothing in some marking (which the run will
    report if it gets there)."""
    r = semantics.rules(net)
    try:
        graph = _graph(r)
        if graph is None:
            return None
        components = [frozenset(c) for c in _components(graph)]
        closed = [c for c in components if all(set(graph[m]) <= c for m in c)]
        passing = [c for c in components if c not in closed and any(s in c for m in c for s in graph[m])]
        evadable = any(_timed_apart(r, m) for c in passing for m in c)
    except SpnError:
        return None
    return MarkingGraph(
        net=net,
        successors=graph,
        closed=tuple(ClosedClass(markings=c, absorbing=len(c) == 1 and not graph[next(iter(c))]) for c in closed),
        evadable=evadable,
    )


def _timed_apart(r: Rules, m: Marking) -> bool:
    """Whether two clocks whose times are bounded, below or above, run in a tangible marking, so that one may always be first."""
    if semantics.enabled_immediates(r, m):
        return False
    running = (semantics.running_clocks(r, t, m) for t in r.timed if _is_bounded(r.transitions[t].transition))
    return sum(running) > 1


def _is_bounded(t: Transition) -> bool:
    from spn.reach.properties import is_bounded

    return isinstance(t, Timed) and is_bounded(t)


def closed_classes(net: Net) -> tuple[ClosedClass, ...] | None:
    """The closed classes alone, None as for :func:`marking_graph`."""
    graph = marking_graph(net)
    return None if graph is None else graph.closed


def _graph(r: Rules) -> dict[Marking, tuple[Marking, ...]] | None:
    """The reachable markings, vanishing ones too, with their successors; None beyond the budget."""
    found: dict[Marking, tuple[Marking, ...]] = {}
    waiting = [initial_marking(r.net)]
    most = BUDGET // max(1, len(r.transitions))
    while waiting:
        m = waiting.pop()
        if m in found:
            continue
        if len(found) >= most:
            return None
        found[m] = tuple(dict.fromkeys(_successors(r, m)))
        waiting.extend(s for s in found[m] if s not in found)
    return found


def _successors(r: Rules, m: Marking) -> Iterator[Marking]:
    chosen = semantics.enabled_immediates(r, m)
    if chosen:
        yield from (semantics.fire(r, t, m) for t, _ in chosen)
        return
    for t in r.timed:
        if semantics.enabling_degree(r, t, m) > 0 and semantics.speed(r, t, m) > 0:
            yield semantics.fire(r, t, m)


def _components(graph: Mapping[Marking, tuple[Marking, ...]]) -> Iterator[set[Marking]]:
    """Strongly connected components (Tarjan, SIAM J. Comput. 1, 1972), without recursion."""
    number: dict[Marking, int] = {}
    low: dict[Marking, int] = {}
    open_: list[Marking] = []
    inside: set[Marking] = set()
    for root in graph:
        if root in number:
            continue
        path: list[tuple[Marking, Iterator[Marking]]] = []
        _enter(root, graph, number, low, open_, inside, path)
        while path:
            m, successors = path[-1]
            step = next((s for s in successors if s not in number or s in inside), None)
            if step is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[m])
                if low[m] == number[m]:
                    yield _close(m, open_, inside)
            elif step in number:
                low[m] = min(low[m], number[step])
            else:
                _enter(step, graph, number, low, open_, inside, path)


def _enter(
    m: Marking,
    graph: Mapping[Marking, tuple[Marking, ...]],
    number: dict[Marking, int],
    low: dict[Marking, int],
    open_: list[Marking],
    inside: set[Marking],
    path: list[tuple[Marking, Iterator[Marking]]],
) -> None:
    number[m] = low[m] = len(number)
    open_.append(m)
    inside.add(m)
    path.append((m, iter(graph[m])))


def _close(m: Marking, open_: list[Marking], inside: set[Marking]) -> set[Marking]:
    component: set[Marking] = set()
    while m not in component:
        component.add(open_.pop())
    inside -= component
    return component
