"""Classes of nets, by input and output arcs alone, and what takes a net out of reach of their theorems.

The definitions are those of Murata 1989 (Proc. IEEE 77, 541, section VII) and of Desel and Esparza 1995 (Free Choice Petri Nets); a net
with weights other than 1 is in none of them. Inhibitors, test arcs, flush arcs, guards, capacities, priorities, immediate transitions and
marking-dependent multiplicities are no part of the definitions: :func:`obstacles` and :func:`restrictions` name those that a net has, and
a theorem that is stated for plain nets is used only where there are none that matter to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from spn.expr.nodes import Number
from spn.net.model import ArcKind, Immediate, Net, Timed, place_index
from spn.structural.incidence import constant


@dataclass(frozen=True, slots=True)
class Arcs:
    """Inputs and outputs by index: of every transition its places, of every place the transitions that take from it or put into it."""

    inputs: tuple[frozenset[int], ...]
    outputs: tuple[frozenset[int], ...]
    takers: tuple[frozenset[int], ...]
    givers: tuple[frozenset[int], ...]


def arcs(net: Net) -> Arcs:
    index = place_index(net)
    inputs = tuple(frozenset(index[a.place] for a in t.arcs if a.kind is ArcKind.INPUT) for t in net.transitions)
    outputs = tuple(frozenset(index[a.place] for a in t.arcs if a.kind is ArcKind.OUTPUT) for t in net.transitions)
    takers: list[set[int]] = [set() for _ in net.places]
    givers: list[set[int]] = [set() for _ in net.places]
    for k in range(len(net.transitions)):
        for p in inputs[k]:
            takers[p].add(k)
        for p in outputs[k]:
            givers[p].add(k)
    return Arcs(inputs, outputs, tuple(map(frozenset, takers)), tuple(map(frozenset, givers)))


def classes(net: Net) -> tuple[str, ...]:
    """The classes that a net belongs to, the narrowest last: ordinary, asymmetric choice, extended free choice, free choice, marked graph,
    state machine. Empty for a net that is not ordinary or has no transition."""
    if not net.transitions or not is_ordinary(net):
        return ()
    a = arcs(net)
    found = ["ordinary"]
    if _asymmetric(a):
        found.append("asymmetric choice")
    if all(a.inputs[t] == a.inputs[u] for takers in a.takers for t in takers for u in takers):
        found.append("extended free choice")
    if all(len(takers) <= 1 or all(len(a.inputs[t]) == 1 for t in takers) for takers in a.takers):
        found.append("free choice")
    if all(len(x) == 1 for x in (*a.takers, *a.givers)):
        found.append("marked graph")
    if all(len(x) == 1 for x in (*a.inputs, *a.outputs)):
        found.append("state machine")
    return tuple(found)


def is_ordinary(net: Net) -> bool:
    """Every input and output arc has weight 1, and no two of one kind join the same nodes."""
    for t in net.transitions:
        moved = [(a.kind, a.place) for a in t.arcs if a.kind in (ArcKind.INPUT, ArcKind.OUTPUT)]
        if len(set(moved)) < len(moved) or any(constant(a) != 1 for a in t.arcs if a.kind in (ArcKind.INPUT, ArcKind.OUTPUT)):
            return False
    return True


def _asymmetric(a: Arcs) -> bool:
    """Places that share a transition: the transitions of one include those of the other."""
    for inputs in a.inputs:
        ordered = sorted(inputs, key=lambda p: len(a.takers[p]))
        if any(not a.takers[p] <= a.takers[q] for p, q in pairwise(ordered)):
            return False
    return True


def obstacles(net: Net) -> tuple[str, ...]:
    """What a net has that plain place/transition nets do not."""
    kinds = {a.kind for t in net.transitions for a in t.arcs}
    words = ((ArcKind.INHIBITOR, "inhibitor arcs"), (ArcKind.TEST, "test arcs"), (ArcKind.FLUSH, "flush arcs"))
    found = [word for kind, word in words if kind in kinds]
    if any(constant(a) is None for t in net.transitions for a in t.arcs):
        found.append("marking-dependent multiplicities")
    if any(t.guard is not None for t in net.transitions):
        found.append("guards")
    if any(p.capacity is not None for p in net.places):
        found.append("capacities")
    return tuple(found)


def restrictions(net: Net) -> tuple[str, ...]:
    """What keeps a net, with its times and priorities, from firing every sequence that its arcs allow."""
    return tuple(_restrictions(net))


def _restrictions(net: Net) -> Iterator[str]:
    if any(isinstance(t, Immediate) for t in net.transitions):
        yield "immediate transitions, which come before timed ones"
    clocks = [t for t in net.transitions if isinstance(t, Timed)]
    if any(t.law.family != "exp" or t.transfer is not None or t.resets for t in clocks):
        yield "times that are not exponential"
    if any(not isinstance(t.speed, Number) for t in clocks):
        yield "speeds that depend on the marking"
