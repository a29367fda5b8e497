"""The magnitude of a measure's terms: what is small beside them is small.

The value of a sum or difference may be 0, or so near to it that no simulation gets its half-width down to 1 % of the value. What matters
then is how the half-width compares with the terms. A magnitude is a measure again: the largest of the terms of a sum, each by its absolute
value. Time averages and constants that are added are joined first: ``1 - P(up)`` is the time average of ``1 - up``, which is no
difference of large terms, so that a rare event keeps its relative precision however it is written.
"""

from __future__ import annotations

from spn.expr.evaluate import fold
from spn.expr.nodes import (
    COMPARISONS,
    LOGICAL,
    Atom,
    Binary,
    BinaryOp,
    Call,
    Conditional,
    Function,
    Node,
    Number,
    Unary,
    UnaryOp,
    call,
    walk,
)
from spn.measure import Average

SUMS = frozenset({BinaryOp.ADD, BinaryOp.SUB})


def magnitude(body: Node) -> Node | None:
    """The magnitude of the terms of a measure, as a measure; None where it has no sums: its magnitude is its value then."""
    summing = any(
        (isinstance(n, Binary) and n.op in SUMS) or (isinstance(n, Average) and n.given is None and _may_be_negative(n.value))
        for n in walk(body)
    )
    return fold(_magnitude(body)) if summing else None


def _magnitude(n: Node) -> Node:
    match n:
        case Average(value=v, given=None) if _may_be_negative(v):
            return Average(call(Function.ABS, v))
        case Unary(op=UnaryOp.NEGATE, operand=x) | Call(function=Function.ABS, arguments=(x,)):
            return _magnitude(x)
        case Binary(op=op, left=a, right=b) if op in SUMS:
            joined = _time_average_of(n)
            return call(Function.MAX, _magnitude(a), _magnitude(b)) if joined is None else _magnitude(Average(fold(joined)))
        case Binary(op=BinaryOp.MUL, left=a, right=b):
            return _magnitude(a) * _magnitude(b)
        case Binary(op=BinaryOp.DIV, left=a, right=b):
            return _magnitude(a) / call(Function.ABS, b)
        case _:
            return call(Function.ABS, n)


def _time_average_of(n: Node) -> Node | None:
    """The marking expression whose time average ``n`` is, where ``n`` is linear in time averages; None otherwise."""
    match n:
        case Number():
            return n
        case Average(value=v, given=None):
            return v
        case Unary(op=UnaryOp.NEGATE, operand=x):
            inner = _time_average_of(x)
            return None if inner is None else -inner
        case Binary(op=op, left=a, right=b) if op in SUMS or (op is BinaryOp.MUL and _one_is_constant(a, b)) or _divides(op, b):
            left, right = _time_average_of(a), _time_average_of(b)
            return None if left is None or right is None else Binary(op, left, right)
    return None


def _one_is_constant(a: Node, b: Node) -> bool:
    return not (_has_atoms(a) and _has_atoms(b))


def _divides(op: BinaryOp, b: Node) -> bool:
    return op is BinaryOp.DIV and not _has_atoms(b)


def _has_atoms(n: Node) -> bool:
    return any(isinstance(x, Atom) for x in walk(n))


def _may_be_negative(n: Node) -> bool:
    """Whether a marking expression might take negative values, by its look."""
    match n:
        case Number(value=v):
            return v < 0
        case Unary(op=op):
            return op is UnaryOp.NEGATE
        case Binary(op=op, left=a, right=b):
            return op is BinaryOp.SUB or (op not in COMPARISONS | LOGICAL and (_may_be_negative(a) or _may_be_negative(b)))
        case Conditional(then=a, otherwise=b):
            return _may_be_negative(a) or _may_be_negative(b)
        case Call(function=f, arguments=args):
            return f is Function.LN or (f is not Function.ABS and any(_may_be_negative(a) for a in args))
    return False
