"""Importance functions: how near a marking is to a rare condition. Given by the user, or derived from the condition.

The derived one is minus the *token deficit* of the condition: a distance that is 0 exactly where it holds. Of a comparison it is by how
much it fails, of ``and`` the sum, of ``or`` the smallest of the parts; ``not`` is moved inwards. For the firings of a transition it is the
deficit of its enabling: missing tokens of inputs and tests, tokens too many for inhibitors, the deficit of its guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from spn.errors import AnalysisError, SpnError, refuse
from spn.expr.evaluate import fold
from spn.expr.nodes import (
    COMPARISONS,
    ONE,
    Binary,
    BinaryOp,
    Call,
    Function,
    Node,
    Operators,
    Tokens,
    Unary,
    UnaryOp,
    call,
    conditional,
    equal,
)
from spn.expr.text import to_text
from spn.measure import Average, FiringRate, Horizon, Measure, Passage, TimeAverage, primitives, ratio
from spn.model import Model
from spn.net import semantics
from spn.net.model import ArcKind, Net, initial_marking
from spn.sim.questions import mean_of

_OPPOSITE = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """``node``: the expression, larger where the rare event is nearer. ``how``: where it comes from, in words."""

    node: Node
    how: str


def given(model: Model, of: str | Operators) -> Importance:
    """The user's own: a text in the model's language, or a tree. AnalysisError where it is no expression over markings."""
    body = mean_of(model, of)
    if not isinstance(body, Average) or body.given is not None:
        help = "for instance '#q', or '#q1 + 2*#q2'"
        raise refuse(AnalysisError, "E0731", f"importance is an expression over markings, not {of!r}", help=help)
    return Importance(node=fold(body.value), how=f"{of if isinstance(of, str) else to_text(body.value)}, as given")


def derived(measure: Measure, net: Net) -> Importance:
    """Minus the token deficit of what a measure asks about; where it asks about several things, of what is farthest from the initial
    marking. AnalysisError where it asks for no condition and no firing (E0731)."""
    found = [(c, d) for c in _conditions(measure, net) if (d := deficit(c)) is not None]
    if not found:
        help = "give an importance: an expression over markings that is larger the nearer the rare event is, such as '#q'"
        message = f"no importance can be derived for {measure.name}: it asks about no condition and no firing"
        raise refuse(AnalysisError, "E0731", message, span=measure.span, help=help)
    condition, distance = max(found, key=lambda pair: _initially(pair[1], net))
    how = f"minus the distance {to_text(distance)} to {to_text(condition)}, derived from {measure.name}"
    return Importance(node=fold(Unary(UnaryOp.NEGATE, distance)), how=how)


def _initially(distance: Node, net: Net) -> float:
    try:
        return float(semantics.value(semantics.rules(net), distance, initial_marking(net)))
    except (SpnError, ArithmeticError):
        return 0.0


def _conditions(measure: Measure, net: Net) -> Iterator[Node]:
    """What the measure's primitives wait for."""
    for p in primitives(measure.body, net):
        inner = ratio(p.measure, net).numerators if isinstance(p, Horizon) else (p,)
        for q in inner:
            match q:
                case TimeAverage(value=v):
                    yield v
                case FiringRate(transition=t):
                    yield _enabled(t, net)
                case Passage(condition=c):
                    yield c


def _enabled(name: str, net: Net) -> Node:
    """The condition that a transition is enabled (capacities of places left aside)."""
    t = next(t for t in net.transitions if t.name == name)
    parts: list[Node] = [] if t.guard is None else [t.guard]
    for arc in t.arcs:
        tokens = Tokens(arc.place)
        if arc.kind in (ArcKind.INPUT, ArcKind.TEST):
            parts.append(tokens >= arc.multiplicity)
        elif arc.kind is ArcKind.INHIBITOR:
            parts.append(tokens < arc.multiplicity)
    return reduce(lambda a, b: Binary(BinaryOp.AND, a, b), parts) if parts else ONE


def deficit(condition: Node) -> Node | None:
    """A distance to a condition: 0 exactly where it holds; None where it is no condition (a number, such as ``#q``)."""
    match condition:
        case Binary(op=op) if op in COMPARISONS:
            return fold(_of_comparison(condition))
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=a, right=b):
            left, right = deficit(a), deficit(b)
            if left is None or right is None:
                return None
            return fold(left + right if op is BinaryOp.AND else call("min", left, right))
        case Unary(op=UnaryOp.NOT, operand=x):
            opposite = _negated(x)
            return None if opposite is None else deficit(opposite)
    return None


def _of_comparison(c: Binary) -> Node:
    a, b = c.left, c.right
    match c.op:
        case BinaryOp.GE:
            return _above_zero(b - a)
        case BinaryOp.LE:
            return _above_zero(a - b)
        case BinaryOp.GT:
            return conditional(c, 0, b - a + 1)
        case BinaryOp.LT:
            return conditional(c, 0, a - b + 1)
        case BinaryOp.EQ:
            return Call(Function.ABS, (fold(a - b),))
    return conditional(equal(a, b), 1, 0)


def _above_zero(x: Node) -> Node:
    return call("max", 0, x)


def _negated(x: Node) -> Node | None:
    match x:
        case Unary(op=UnaryOp.NOT, operand=inner):
            return inner
        case Binary(op=op, left=a, right=b) if op in _OPPOSITE:
            return Binary(_OPPOSITE[op], a, b)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=a, right=b):
            left, right = _negated(a), _negated(b)
            if left is None or right is None:
                return None
            return Binary(BinaryOp.OR if op is BinaryOp.AND else BinaryOp.AND, left, right)
    return None
