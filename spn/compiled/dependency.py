"""Which transition's firing can change what: derived from the arcs and expressions, never supplied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spn.expr.nodes import Exact, Node, Number, constant, places_of
from spn.net.model import ArcKind, Net, Place, Timed, Transition

MOVES = frozenset({ArcKind.INPUT, ArcKind.OUTPUT, ArcKind.FLUSH})
CROWD = 16  # readers of a place from which on those that another place disables are left out when it changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The many timed, or the many immediate, transitions (``members``, ascending) that are enabled or not by one place (among others), by
    constants alone. When the place changes, only those members need a look that no other place disables."""

    place: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """By index of the fired transition, in ascending order: the timed transitions whose number of clocks may change (itself and
    those it resets included), the immediates whose enabling may change, and the extra readers whose value may change.

    ``near_timed`` and ``near_immediates`` are the same without those that are concerned as members of ``crowds`` only; ``crowds_met``
    are the crowds whose place a firing changes."""

    timed: tuple[tuple[int, ...], ...]
    immediates: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    near_timed: tuple[tuple[int, ...], ...]
    near_immediates: tuple[tuple[int, ...], ...]
    crowds: tuple[Crowd, ...]
    crowds_met: tuple[tuple[int, ...], ...]


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
    watching = frozenset(i for i, t in enumerate(net.transitions) if by_constants(t, capped))
    crowds = tuple(c for by_place in (timed, immediate) for c in _crowds(by_place, watching))
    changed = [changed_places(t) for t in net.transitions]
    always = [_always(i, t, index) for i, t in enumerate(net.transitions)]
    near_timed, near_immediate = (_without(by_place, crowds) for by_place in (timed, immediate))
    return Dependencies(
        timed=tuple(tuple(sorted(_readers(c, timed) | a)) for c, a in zip(changed, always, strict=True)),
        immediates=tuple(tuple(sorted(_readers(c, immediate))) for c in changed),
        readers=tuple(tuple(sorted(_readers(c, extra))) for c in changed),
        near_timed=tuple(tuple(sorted(_readers(c, near_timed) | a)) for c, a in zip(changed, always, strict=True)),
        near_immediates=tuple(tuple(sorted(_readers(c, near_immediate))) for c in changed),
        crowds=crowds,
        crowds_met=tuple(tuple(k for k, crowd in enumerate(crowds) if crowd.place in c) for c in changed),
    )


def by_constants(t: Transition, capped: frozenset[str]) -> bool:
    """Whether the enabling of a transition is a matter of constant bounds on the tokens of places (a capacity is one where the firing
    changes the marking by constants)."""
    flushes = any(a.kind is ArcKind.FLUSH for a in t.arcs)
    bounded = any(a.kind is ArcKind.OUTPUT and a.place in capped for a in t.arcs)
    read = [a for a in t.arcs if a.kind is not ArcKind.FLUSH and (bounded or a.kind is not ArcKind.OUTPUT)]
    return t.guard is None and all(_is_whole(constant(a.multiplicity)) for a in read) and not (bounded and flushes)


def _is_whole(k: Exact | None) -> bool:
    return k is not None and math.isfinite(k) and 0 <= k < 2**53 and k == int(k)


def _crowds(readers: Mapping[str, set[int]], watching: frozenset[int]) -> Iterable[Crowd]:
    for place, found in readers.items():
        members = found & watching
        if len(members) > CROWD:
            yield Crowd(place=place, members=tuple(sorted(members)))


def _without(readers: Mapping[str, set[int]], crowds: Iterable[Crowd]) -> dict[str, set[int]]:
    left = dict(readers)
    for crowd in crowds:
        left[crowd.place] = left[crowd.place] - set(crowd.members)
    return left


def _is_capped(place: Place) -> bool:
    return place.capacity is not None


def _always(i: int, t: Transition, index: Mapping[str, int]) -> set[int]:
    return {index[name] for name in t.resets if name in index} | ({i} if isinstance(t, Timed) else set())


def _readers(places: Iterable[str], by_place: Mapping[str, set[int]]) -> set[int]:
    return set().union(*(by_place[p] for p in places))


def reads(*nodes: Node) -> frozenset[str]:
    """The places that any of the expressions reads."""
    return frozenset().union(*(places_of(n) for n in nodes if not isinstance(n, Number)))
