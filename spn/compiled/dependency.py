"""Which transition's firing can change what: derived from the arcs and expressions, never supplied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spn.expr.nodes import Node, Number, constant, places_of
from spn.net.model import ArcKind, Net, Place, Timed, Transition

MOVES = frozenset({ArcKind.INPUT, ArcKind.OUTPUT, ArcKind.FLUSH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """By index of the fired transition, in ascending order: the timed transitions whose number of clocks may change (itself and
    those it resets included), the immediates whose enabling may change, and the extra readers whose value may change."""

    timed: tuple[tuple[int, ...], ...]
    immediates: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]


def changed_places(t: Transition) -> frozenset[str]:
    """Places whose marking a firing may change; a constant self-loop changes nothing."""
    touched = {a.place for a in t.arcs if a.kind in MOVES}
    return frozenset(p for p in touched if not _balanced(t, p))


def _balanced(t: Transition, place: str) -> bool:
    total = 0
    for arc in t.arcs:
        if arc.place != place or arc.kind not in MOVES:
            continue
        k = constant(arc.multiplicity)
        if arc.kind is ArcKind.FLUSH or k is None or not math.isfinite(k):
            return False
        total += int(k) if arc.kind is ArcKind.OUTPUT else -int(k)
    return total == 0


def enabling_reads(t: Transition, capped: frozenset[str]) -> frozenset[str]:
    """Places that the enabling degree of a transition reads."""
    bounded = any(a.kind is ArcKind.OUTPUT and a.place in capped for a in t.arcs)
    read: set[str] = set() if t.guard is None else set(places_of(t.guard))
    for arc in t.arcs:
        if arc.kind not in (ArcKind.OUTPUT, ArcKind.FLUSH):
            read |= {arc.place} | places_of(arc.multiplicity)
        elif bounded:
            read |= places_of(arc.multiplicity) | ({arc.place} & capped)
    return frozenset(read)


def dependencies(net: Net, readers: Iterable[frozenset[str]]) -> Dependencies:
    """The dependency graph; ``readers`` are sets of places read by something else (expressions, speeds)."""
    capped = frozenset(p.name for p in net.places if _is_capped(p))
    index = {t.name: i for i, t in enumerate(net.transitions) if isinstance(t, Timed)}
    timed: dict[str, set[int]] = {p.name: set() for p in net.places}
    immediate: dict[str, set[int]] = {p.name: set() for p in net.places}
    for i, t in enumerate(net.transitions):
        for p in enabling_reads(t, capped):
            (timed if isinstance(t, Timed) else immediate)[p].add(i)
    extra: dict[str, set[int]] = {p.name: set() for p in net.places}
    for i, places in enumerate(readers):
        for p in places:
            extra[p].add(i)
    changed = [changed_places(t) for t in net.transitions]
    always = [_always(i, t, index) for i, t in enumerate(net.transitions)]
    return Dependencies(
        timed=tuple(tuple(sorted(_readers(c, timed) | a)) for c, a in zip(changed, always, strict=True)),
        immediates=tuple(tuple(sorted(_readers(c, immediate))) for c in changed),
        readers=tuple(tuple(sorted(_readers(c, extra))) for c in changed),
    )


def _is_capped(place: Place) -> bool:
    return place.capacity is not None


def _always(i: int, t: Transition, index: Mapping[str, int]) -> set[int]:
    return {index[name] for name in t.resets if name in index} | ({i} if isinstance(t, Timed) else set())


def _readers(places: Iterable[str], by_place: Mapping[str, set[int]]) -> set[int]:
    return set().union(*(by_place[p] for p in places))


def reads(*nodes: Node) -> frozenset[str]:
    """The places that any of the expressions reads."""
    return frozenset().union(*(places_of(n) for n in nodes if not isinstance(n, Number)))
