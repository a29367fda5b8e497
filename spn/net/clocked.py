"""Nets with one clock that is neither exponential nor phase-type, made fit for the exploration of their markings.

Phase-type laws are expanded exactly (:mod:`spn.net.expand`). A clock of any other law becomes an exponential one at rate 1, so that the
weight of its firing in a marking is the speed of the clock there. Whether a clock is alive shows in the marking, except where it may be
parked (`resume`) or is reset by other firings: then a place of its own holds 2 tokens in the marking in which it was drawn, and 1 as soon
as a transition has fired since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spn.dist.exponential import Exponential
from spn.expr.nodes import Call, Function, Tokens, as_node
from spn.net.expand import Expansion, expand, running_clocks
from spn.net.model import Arc, ArcKind, Immediate, Memory, Net, Place, Timed, Transition, timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocked:
    """``net`` has exponential laws only; ``expansion`` says what became of the phase-type laws. ``general`` are the transitions with
    another law, in the order of the net; ``place`` names the place of the clock of those that have one."""

    net: Net
    expansion: Expansion
    general: tuple[Timed, ...]
    place: Mapping[str, str]


def general(net: Net) -> tuple[Timed, ...]:
    """The timed transitions whose law is not phase-type."""
    return tuple(t for t in timed(net) if t.law.phase_type() is None)


def clocked(net: Net) -> Clocked:
    """The net made ready. Raises ValueError where :func:`spn.net.expand.expand` does."""
    chosen = general(net)
    names = {t.name for t in chosen}
    plain = tuple(_exponential(t) if isinstance(t, Timed) and t.name in names else t for t in net.transitions)
    expansion = expand(replace(net, transitions=plain))
    reset = {name for t in net.transitions for name in t.resets}
    kept = [t for t in chosen if t.memory is Memory.RESUME or t.name in reset]
    place = {t.name: _free(f"{t.name} clock", expansion.net) for t in kept}
    return Clocked(net=_with_places(net, expansion, kept, place), expansion=expansion, general=chosen, place=place)


def _exponential(t: Timed) -> Timed:
    return replace(t, law=Exponential(rate=1.0), scale=as_node(1), memory=Memory.RESTART)


def _free(name: str, net: Net) -> str:
    taken = {x.name for x in (*net.places, *net.transitions, *net.links)}
    while name in taken:
        name += "'"
    return name


def _with_places(net: Net, expansion: Expansion, kept: list[Timed], place: Mapping[str, str]) -> Net:
    if not kept:
        return expansion.net
    origin = {u: t for t, parts in expansion.completions.items() for u in parts}
    resets = {t.name: t.resets for t in net.transitions}
    changed = [_ageing(t, origin.get(t.name, t.name), resets, place) for t in expansion.net.transitions]
    adjusting = [a for t in kept for a in _adjustments(t, net, place[t.name])]
    return replace(
        expansion.net,
        places=expansion.net.places + tuple(Place(name=place[t.name], span=t.span) for t in kept),
        transitions=(*changed, *adjusting),
    )


def _ageing(t: Transition, origin: str, resets: Mapping[str, tuple[str, ...]], place: Mapping[str, str]) -> Transition:
    """A timed firing makes every clock an old one; the firing of the clock itself, and one that resets it, ends it. The immediates of the
    model come before the adjustments."""
    arcs: list[Arc] = []
    for owner, p in place.items():
        ended = origin == owner or owner in resets.get(origin, ())
        if ended or isinstance(t, Timed):
            arcs.append(Arc(kind=ArcKind.FLUSH, place=p))
        if isinstance(t, Timed) and not ended:
            arcs.append(Arc(kind=ArcKind.OUTPUT, place=p, multiplicity=Call(Function.MIN, (Tokens(p), as_node(1)))))
    if isinstance(t, Immediate):
        return replace(t, arcs=(*t.arcs, *arcs), priority=t.priority + 1)
    return replace(t, arcs=(*t.arcs, *arcs))


def _adjustments(t: Timed, net: Net, place: str) -> list[Immediate]:
    """What draws a clock where one is missing, and drops one that is stopped and has no memory."""
    wanted = running_clocks(t, net) > 0
    none, start = Arc(kind=ArcKind.INHIBITOR, place=place), Arc(kind=ArcKind.OUTPUT, place=place, multiplicity=as_node(2))
    found = [Immediate(name=f"{place} starts", arcs=(none, start), guard=wanted, span=t.span)]
    if t.memory is Memory.RESTART:
        stop = (Arc(kind=ArcKind.TEST, place=place), Arc(kind=ArcKind.FLUSH, place=place))
        found.append(Immediate(name=f"{place} stops", arcs=stop, guard=~wanted, span=t.span))
    return found
