"""Typed trees of marking expressions.

The nodes are plain frozen data. ``+ - * / < <= > >=`` and ``&``, ``|``, ``~`` on them build larger trees, so that Python users can
write ``tokens("q") < 6``; equality is structural (``==`` compares trees), so an equation of markings is written
:func:`equal`. True is 1 and false is 0. Constants are exact (:class:`fractions.Fraction`) wherever the text they come from is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from spn.source import Span

Exact = Fraction | float


class UnaryOp(StrEnum):
    NEGATE = "-"
    NOT = "not"


class BinaryOp(StrEnum):
    OR = "or"
    AND = "and"
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    IDIV = "div"
    MOD = "mod"
    POW = "^"


class Function(StrEnum):
    ABS = "abs"
    FLOOR = "floor"
    CEIL = "ceil"
    MIN = "min"
    MAX = "max"
    SQRT = "sqrt"
    LN = "ln"
    EXP = "exp"


COMPARISONS = frozenset({BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE})
LOGICAL = frozenset({BinaryOp.AND, BinaryOp.OR})


class Operators:
    """Python operators that build trees; the mixin of every node, of measures too."""

    __slots__ = ()

    def __add__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.ADD, as_node(self), as_node(other))

    def __radd__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.ADD, as_node(other), as_node(self))

    def __sub__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.SUB, as_node(self), as_node(other))

    def __rsub__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.SUB, as_node(other), as_node(self))

    def __mul__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.MUL, as_node(self), as_node(other))

    def __rmul__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.MUL, as_node(other), as_node(self))

    def __truediv__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.DIV, as_node(self), as_node(other))

    def __rtruediv__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.DIV, as_node(other), as_node(self))

    def __floordiv__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.IDIV, as_node(self), as_node(other))

    def __mod__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.MOD, as_node(self), as_node(other))

    def __pow__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.POW, as_node(self), as_node(other))

    def __neg__(self) -> Unary:
        return Unary(UnaryOp.NEGATE, as_node(self))

    def __lt__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.LT, as_node(self), as_node(other))

    def __le__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.LE, as_node(self), as_node(other))

    def __gt__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.GT, as_node(self), as_node(other))

    def __ge__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.GE, as_node(self), as_node(other))

    def __and__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.AND, as_node(self), as_node(other))

    def __or__(self, other: Operand) -> Binary:
        return Binary(BinaryOp.OR, as_node(self), as_node(other))

    def __invert__(self) -> Unary:
        return Unary(UnaryOp.NOT, as_node(self))

    def __bool__(self) -> bool:
        raise TypeError("an expression over markings has no truth value in Python; use & | ~ and equal(a, b)")


@dataclass(frozen=True, slots=True)
class Number(Operators):
    value: Exact
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Tokens(Operators):
    """``#place``: the number of tokens in a place."""

    place: str
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Unary(Operators):
    op: UnaryOp
    operand: Node
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Binary(Operators):
    op: BinaryOp
    left: Node
    right: Node
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional(Operators):
    """``if(test, then, otherwise)``; only the branch taken is evaluated."""

    test: Node
    then: Node
    otherwise: Node
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Call(Operators):
    function: Function
    arguments: tuple[Node, ...]
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


class Atom(Operators):
    """Base of leaves that other layers add (the measures: throughput, P, E …)."""

    __slots__ = ()


Node = Number | Tokens | Unary | Binary | Conditional | Call | Atom
Operand = Operators | int | float | Fraction

ONE = Number(Fraction(1))


def as_node(value: Operand) -> Node:
    """A tree from a tree or a Python number; a float becomes the decimal fraction that Python prints for it."""
    if isinstance(value, Number | Tokens | Unary | Binary | Conditional | Call | Atom):
        return value
    if isinstance(value, bool | int | Fraction):
        return Number(Fraction(value))
    if isinstance(value, float):
        return Number(exact(value))
    raise TypeError(f"expected a number or an expression, found {type(value).__name__}")


def exact(value: float | int | Fraction) -> Exact:
    """The exact decimal that a float prints as (``0.1`` is 1/10); infinities and nan stay floats."""
    if isinstance(value, float):
        return Fraction(repr(value)) if value - value == 0 else value
    return Fraction(value)


def tokens(place: str) -> Tokens:
    """The marking of a place, for building expressions in Python: ``tokens("q") < 6``."""
    return Tokens(place)


def equal(left: Operand, right: Operand) -> Binary:
    """The condition that two expressions are equal (``==`` on trees compares the trees themselves)."""
    return Binary(BinaryOp.EQ, as_node(left), as_node(right))


def conditional(test: Operand, then: Operand, otherwise: Operand) -> Conditional:
    """``if(test, then, otherwise)``: only the branch taken is evaluated, so the other may be undefined in that marking."""
    return Conditional(as_node(test), as_node(then), as_node(otherwise))


def call(function: Function | str, *arguments: Operand) -> Call:
    """A function of the language by name: abs, floor, ceil, min, max, sqrt, ln or exp; ValueError for any other."""
    return Call(Function(function), tuple(as_node(a) for a in arguments))


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Call(arguments=arguments):
            return arguments
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(children(top)))


def places_of(node: Node) -> frozenset[str]:
    """The places whose marking an expression reads."""
    return frozenset(n.place for n in walk(node) if isinstance(n, Tokens))


def constant(node: Node) -> Exact | None:
    """The value of a bare constant, else None (see :func:`spn.expr.evaluate.fold` to reduce a tree first)."""
    return node.value if isinstance(node, Number) else None
