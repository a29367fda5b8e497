"""The reference evaluator of expressions: exact where the numbers are exact.

Rational arithmetic stays rational (so that three times 0.1 s meets 0.3 s); roots, logarithms and exponentials give floats. Undefined
operations (division by zero, root of a negative number) raise :class:`Undefined`, whose text says what was undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ParamSpec

from spn.expr.nodes import Atom, Binary, BinaryOp, Call, Conditional, Exact, Function, Node, Number, Tokens, Unary, UnaryOp

MAX_BITS = 4096  # of an exact power; beyond it the power is a float


class Undefined(ArithmeticError):
    """An expression has no value: what was undefined is the message."""


def evaluate(node: Node, marking: Mapping[str, int]) -> Exact:
    """The value of a marking expression; conditions give 1 or 0. A place that the marking lacks is a KeyError."""

    def leaf(n: Node) -> Exact:
        assert isinstance(n, Tokens)
        return Fraction(marking[n.place])

    return arithmetic(node, leaf)


def truth(node: Node, marking: Mapping[str, int]) -> bool:
    return evaluate(node, marking) != 0


def arithmetic(node: Node, leaf: Callable[[Node], Exact]) -> Exact:
    """The value of a tree whose leaves other than numbers are valued by ``leaf``."""
    match node:
        case Number(value=v):
            return v
        case Tokens() | Atom():
            return leaf(node)
        case Unary(op=UnaryOp.NEGATE, operand=x):
            return -arithmetic(x, leaf)
        case Unary(operand=x):
            return Fraction(arithmetic(x, leaf) == 0)
        case Binary(op=BinaryOp.AND, left=a, right=b):
            return Fraction(arithmetic(a, leaf) != 0 and arithmetic(b, leaf) != 0)
        case Binary(op=BinaryOp.OR, left=a, right=b):
            return Fraction(arithmetic(a, leaf) != 0 or arithmetic(b, leaf) != 0)
        case Binary(op=op, left=a, right=b):
            return _within_range(binary, op, arithmetic(a, leaf), arithmetic(b, leaf))
        case Conditional(test=c, then=a, otherwise=b):
            return arithmetic(a if arithmetic(c, leaf) != 0 else b, leaf)
        case Call(function=f, arguments=args):
            return _within_range(function, f, [arithmetic(a, leaf) for a in args])
    raise TypeError(f"not an expression: {node!r}")


def binary(op: BinaryOp, a: Exact, b: Exact) -> Exact:
    """The value of ``a op b``; mixed exact and float arguments give a float."""
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.DIV:
            return _divide(a, b)
        case BinaryOp.IDIV:
            return _whole(_divide(a, b), math.floor)
        case BinaryOp.MOD:
            return a - b * _whole(_divide(a, b), math.floor)
        case BinaryOp.POW:
            return _power(a, b)
        case BinaryOp.EQ:
            return Fraction(a == b)
        case BinaryOp.NE:
            return Fraction(a != b)
        case BinaryOp.LT:
            return Fraction(a < b)
        case BinaryOp.LE:
            return Fraction(a <= b)
        case BinaryOp.GT:
            return Fraction(a > b)
        case BinaryOp.GE:
            return Fraction(a >= b)
        case BinaryOp.AND:
            return Fraction(a != 0 and b != 0)
        case BinaryOp.OR:
            return Fraction(a != 0 or b != 0)


def function(f: Function, args: Sequence[Exact]) -> Exact:
    match f:
        case Function.ABS:
            return args[0] if args[0] >= 0 else -args[0]
        case Function.FLOOR:
            return _whole(args[0], math.floor)
        case Function.CEIL:
            return _whole(args[0], math.ceil)
        case Function.MIN:
            return min(args)
        case Function.MAX:
            return max(args)
        case Function.SQRT:
            return _root(args[0])
        case Function.LN:
            if args[0] <= 0:
                raise Undefined(f"logarithm of {float(args[0]):g}")
            return math.log(args[0])
        case Function.EXP:
            return _overflow_is_infinite(math.exp, float(args[0]))


P = ParamSpec("P")


def _within_range(operation: Callable[P, Exact], *args: P.args, **kwargs: P.kwargs) -> Exact:
    """An exact number beyond the range of floats meets a float: there is no value to give."""
    try:
        return operation(*args, **kwargs)
    except OverflowError:
        raise Undefined("a number beyond 1e308") from None


def _divide(a: Exact, b: Exact) -> Exact:
    if b == 0:
        raise Undefined("division by zero")
    return a / b


def _whole(x: Exact, rounding: Callable[[Exact], int]) -> Exact:
    return Fraction(rounding(x)) if x - x == 0 else x


def _power(a: Exact, b: Exact) -> Exact:
    if a == 0 and b < 0:
        raise Undefined("zero to a negative power")
    if isinstance(a, Fraction) and isinstance(b, Fraction) and b.denominator == 1:
        bits = abs(b.numerator) * max(a.numerator.bit_length(), a.denominator.bit_length())
        return Fraction(a**b.numerator) if bits < MAX_BITS else _float_power(a, b)
    if a < 0 and b != int(b):
        raise Undefined(f"fractional power of {float(a):g}")
    return _float_power(a, b)


def _float_power(a: Exact, b: Exact) -> float:
    return _overflow_is_infinite(lambda x: math.pow(x, float(b)), float(a))


def _root(x: Exact) -> Exact:
    if x < 0:
        raise Undefined(f"square root of {float(x):g}")
    return math.sqrt(x)


def _overflow_is_infinite(f: Callable[[float], float], x: float) -> float:
    try:
        return f(x)
    except OverflowError:
        return math.inf


def fold(node: Node) -> Node:
    """The same tree with every constant part reduced to a number. Undefined constant parts are left as they are."""
    match node:
        case Unary(operand=x):
            folded: Node = replace(node, operand=fold(x))
        case Binary(left=a, right=b):
            folded = replace(node, left=fold(a), right=fold(b))
        case Conditional(test=c, then=a, otherwise=b):
            test = fold(c)
            if isinstance(test, Number):
                return fold(a if test.value != 0 else b)
            folded = replace(node, test=test, then=fold(a), otherwise=fold(b))
        case Call(arguments=args):
            folded = replace(node, arguments=tuple(fold(a) for a in args))
        case _:
            return node
    return _reduced(folded)


def _reduced(node: Node) -> Node:
    from spn.expr.nodes import children

    if not all(isinstance(c, Number) for c in children(node)):
        return node
    try:
        return Number(arithmetic(node, _no_leaf), span=getattr(node, "span", None))
    except Undefined:
        return node


def _no_leaf(node: Node) -> Exact:
    raise TypeError(f"not a constant: {node!r}")
