"""A net in which one token is followed from the firing that brings it to the firing that takes it away."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spn.expr.nodes import Binary, BinaryOp, Node, call, equal, tokens
from spn.net.model import Arc, ArcKind, Immediate, Net, Place, Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """``free`` holds a token until one of the net is followed; ``ahead`` then counts the tokens on the way up to and with it, those behind
    not; ``over`` is the condition that it has left."""

    net: Net
    free: str
    ahead: str
    over: Node


def tagged(net: Net, first: str, second: str, held: Node) -> Tagged:
    """The net that may begin, after any firing of ``first``, to follow the token brought: an immediate of the highest priority decides
    with probability 1/2, once for all. ``held`` is the number of tokens on the way, which keep their order, so that each firing of
    ``second`` takes the foremost. Nothing of what happened before is changed, in markings or in clocks: a passing vanishing marking
    disturbs none, and the new arc of ``second`` is there only while a token is followed."""
    taken = {x.name for x in (*net.places, *net.transitions, *net.links)}
    brought, free, ahead, follow, skip = (_fresh(name, taken) for name in ("brought", "free", "ahead", "follow", "skip"))
    priority = 1 + max((t.priority for t in net.transitions if isinstance(t, Immediate)), default=0)

    def joined(t: Transition) -> Transition:
        if t.name == first:
            return replace(t, arcs=(*t.arcs, Arc(kind=ArcKind.OUTPUT, place=brought)))
        if t.name == second:
            return replace(t, arcs=(*t.arcs, Arc(kind=ArcKind.INPUT, place=ahead, multiplicity=call("min", 1, tokens(ahead)))))
        return t

    taking = Arc(kind=ArcKind.INPUT, place=brought)
    begins = (taking, Arc(kind=ArcKind.INPUT, place=free), Arc(kind=ArcKind.OUTPUT, place=ahead, multiplicity=held))
    return Tagged(
        net=replace(
            net,
            places=(*net.places, Place(name=brought), Place(name=free, initial=1), Place(name=ahead)),
            transitions=(
                *map(joined, net.transitions),
                Immediate(name=follow, arcs=begins, priority=priority),
                Immediate(name=skip, arcs=(taking,), priority=priority),
            ),
            replicas=(),
        ),
        free=free,
        ahead=ahead,
        over=Binary(BinaryOp.AND, equal(tokens(free), 0), equal(tokens(ahead), 0)),
    )


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
