"""Siphons and traps.

A *siphon* is a set of places that no firing puts tokens into without needing a token in it: once empty it stays empty, and every transition
that needs a token in it is dead from then on. A *trap* is a set of places that no firing takes tokens from without putting some into it:
once marked it stays marked. Both hold with weights, inhibitors, test arcs (a test needs a token), guards, capacities and priorities, which
only disable firings. A multiplicity that depends on the marking may be 0, so it is never relied upon as a need or as a gain, and always
counted as an effect. A flush arc takes.

Minimal siphons are enumerated by partition of the problem (Cordone, Ferrarini and Piroddi 2005, IEEE Trans. SMC-A 35, 785).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spn.net.model import ArcKind, Net, Transition, place_index
from spn.structural.algebra import Clock, TooLong
from spn.structural.incidence import constant
from spn.structural.semiflows import Limits

Places = frozenset[int]


@dataclass(frozen=True, slots=True)
class Sets:
    """Minimal sets found; ``stopped`` says why the search ended before all were found, empty where all are."""

    sets: tuple[Places, ...]
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a transition does to siphons: the places it surely needs a token of, and those it may put tokens into; of traps: the places it
    surely puts tokens into, and those it may take from. So a trap is a siphon of the reversed net."""

    needs: Places
    gives: Places


def minimal_siphons(net: Net, limits: Limits) -> Sets:
    """The minimal siphons that are not empty, as sets of indices of places."""
    return _minimal(_siphon_effects(net), len(net.places), limits)


def minimal_traps(net: Net, limits: Limits) -> Sets:
    return _minimal(_trap_effects(net), len(net.places), limits)


def maximal_siphon(net: Net, within: Places) -> Places:
    """The union of all siphons among some places."""
    return _maximal(_siphon_effects(net), within)


def maximal_trap(net: Net, within: Places) -> Places:
    """The union of all traps among some places."""
    return _maximal(_trap_effects(net), within)


def is_siphon(net: Net, places: Places) -> bool:
    return all(not e.gives & places or e.needs & places for e in _siphon_effects(net))


def is_trap(net: Net, places: Places) -> bool:
    return all(not e.gives & places or e.needs & places for e in _trap_effects(net))


def _siphon_effects(net: Net) -> list[_Effect]:
    index = place_index(net)
    return [_Effect(_of(t, index, (ArcKind.INPUT, ArcKind.TEST), sure=True), _of(t, index, (ArcKind.OUTPUT,))) for t in net.transitions]


def _trap_effects(net: Net) -> list[_Effect]:
    index = place_index(net)
    takes = (ArcKind.INPUT, ArcKind.FLUSH)
    return [_Effect(_of(t, index, (ArcKind.OUTPUT,), sure=True), _of(t, index, takes)) for t in net.transitions]


def _of(t: Transition, index: Mapping[str, int], kinds: tuple[ArcKind, ...], *, sure: bool = False) -> Places:
    return frozenset(index[a.place] for a in t.arcs if a.kind in kinds and (not sure or (constant(a) or 0) > 0))


# --- search -----------------------------------------------------------------------------------------------------------------------


def _maximal(effects: list[_Effect], within: Places) -> Places:
    """The largest siphon among some places: whatever a firing can fill without need of another of them goes, until nothing does."""
    left = set(within)
    needed_by: dict[int, list[int]] = {}
    counts = []
    for k, e in enumerate(effects):
        counts.append(len(e.needs & left))
        for p in e.needs:
            needed_by.setdefault(p, []).append(k)
    waiting = [k for k, n in enumerate(counts) if n == 0]
    while waiting:
        for p in effects[waiting.pop()].gives & left:
            left.discard(p)
            for k in needed_by.get(p, ()):
                counts[k] -= 1
                if counts[k] == 0:
                    waiting.append(k)
    return frozenset(left)


def _minimal(effects: list[_Effect], n: int, limits: Limits) -> Sets:
    clock = Clock(limits.seconds)
    found: list[Places] = []
    try:
        for siphon in _enumerated(effects, frozenset(range(n)), clock):
            found = [s for s in found if not siphon < s]
            found.append(siphon)
            if len(found) > limits.most:
                return Sets(_ordered(found[: limits.most]), f"more than {limits.most:,} of them")
    except TooLong:
        return Sets(_ordered(found), f"not all found in {limits.seconds:g} s")
    return Sets(_ordered(found))


def _enumerated(effects: list[_Effect], places: Places, clock: Clock) -> Iterator[Places]:
    """All minimal siphons, and some that hold one given later."""
    known: list[Places] = []
    stack: list[tuple[Places, Places]] = [(places, frozenset())]
    while stack:
        clock.check()
        allowed, wanted = stack.pop()
        largest = _maximal(effects, allowed)
        if not largest or not wanted <= largest or any(s <= wanted for s in known):
            continue
        siphon = _shrunk(effects, largest, wanted, clock)
        if not any(s <= siphon for s in known):
            known.append(siphon)
            yield siphon
        choices = sorted(siphon - wanted)
        for k, p in enumerate(choices):
            stack.append((largest - {p}, wanted | frozenset(choices[:k])))


def _shrunk(effects: list[_Effect], siphon: Places, wanted: Places, clock: Clock) -> Places:
    """A siphon within another that holds the places wanted, and no smaller one that does."""
    for p in sorted(siphon - wanted):
        clock.check()
        if p in siphon:
            smaller = _maximal(effects, siphon - {p})
            if smaller and wanted <= smaller:
                siphon = smaller
    return siphon


def _ordered(sets: list[Places]) -> tuple[Places, ...]:
    return tuple(sorted(sets, key=lambda s: (len(s), sorted(s))))
