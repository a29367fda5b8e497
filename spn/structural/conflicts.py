"""Structural conflict: which transitions compete for tokens, and where an order of firing decides between immediates (confusion).

Two transitions are in *structural conflict* where one takes what the other takes or tests. Its transitive closure has the *extended
conflict sets* as classes (Ajmone Marsan et al. 1995, Modelling with Generalized Stochastic Petri Nets, section 2.4). They are in *equal
conflict* where the same markings enable them: equal inputs, tests, inhibitors, guard and priority, and no capacity that one of them alone
could exceed (Teruel and Silva 1996, Theor. Comput. Sci. 153, 271). Immediates in equal conflict fire in the ratio of their weights,
whatever else is enabled. Conflicts that come from inhibitors or guards alone (a firing that disables by adding tokens) are not among them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from spn.net.model import ArcKind, Immediate, Net, Transition


@dataclass(frozen=True, slots=True)
class ConflictSet:
    """Transitions by name; ``equal`` where all of them are in equal conflict; ``immediate`` where all are immediate."""

    transitions: tuple[str, ...]
    equal: bool
    immediate: bool


def conflict_sets(net: Net) -> tuple[ConflictSet, ...]:
    """The extended conflict sets of two and more transitions, in the order of the net."""
    parent = list(range(len(net.transitions)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    takers, readers = _users(net, (ArcKind.INPUT,)), _users(net, (ArcKind.INPUT, ArcKind.TEST))
    for place, taking in takers.items():
        for other in readers[place]:
            parent[root(other)] = root(taking[0])
    groups: dict[int, list[int]] = {}
    for k in range(len(net.transitions)):
        groups.setdefault(root(k), []).append(k)
    return tuple(_conflict_set(net, [net.transitions[k] for k in group]) for group in groups.values() if len(group) > 1)


def _users(net: Net, kinds: tuple[ArcKind, ...]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for k, t in enumerate(net.transitions):
        for place in dict.fromkeys(a.place for a in t.arcs if a.kind in kinds):
            found.setdefault(place, []).append(k)
    return found


def _conflict_set(net: Net, members: list[Transition]) -> ConflictSet:
    return ConflictSet(
        transitions=tuple(t.name for t in members),
        equal=len({condition(net, t) for t in members}) == 1,
        immediate=all(isinstance(t, Immediate) for t in members),
    )


def condition(net: Net, t: Transition) -> Hashable:
    """What enables a transition, as a key: transitions with equal keys are enabled in the same markings, and to the same degree."""
    needs: dict[tuple[ArcKind, str], list[object]] = {}
    for a in t.arcs:
        if a.kind in (ArcKind.INPUT, ArcKind.TEST, ArcKind.INHIBITOR):
            needs.setdefault((a.kind, a.place), []).append(a.multiplicity)
    limited = {p.name for p in net.places if p.capacity is not None}
    fills = t.name if any(a.kind is ArcKind.OUTPUT and a.place in limited for a in t.arcs) else ""
    rank = t.priority if isinstance(t, Immediate) else 0
    return frozenset((kind, place, tuple(sorted(map(repr, m)))) for (kind, place), m in needs.items()), t.guard, rank, fills
