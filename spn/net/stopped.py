"""A net that comes to rest where a condition holds: for first passage."""

from __future__ import annotations

from dataclasses import replace

from spn.expr.nodes import Binary, BinaryOp, Node, Unary, UnaryOp
from spn.net.model import Net, Timed, Transition


def stopped_when(net: Net, condition: Node) -> Net:
    """The same net, but in a tangible marking that meets the condition nothing happens any more.

    Only timed transitions are guarded, so that vanishing markings are passed through. Until the condition holds for the first time the net
    does what it did, draw for draw."""
    going = Unary(UnaryOp.NOT, condition)

    def guarded(t: Transition) -> Transition:
        if not isinstance(t, Timed):
            return t
        return replace(t, guard=going if t.guard is None else Binary(BinaryOp.AND, going, t.guard))

    return replace(net, transitions=tuple(guarded(t) for t in net.transitions))
