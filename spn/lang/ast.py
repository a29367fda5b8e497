"""The syntax tree of a model file: what was written, with the span of everything; nothing is resolved or computed yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from spn.expr.nodes import BinaryOp, UnaryOp
from spn.net.model import ArcKind
from spn.source import Source, Span

# --- expressions ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name:
    """A name, without its backquotes: of whatever the place where it stands asks for."""

    text: str
    span: Span = field(compare=False, repr=False)
    in_quotes: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the unit written right after it."""

    value: Fraction
    unit: Name
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A string in double quotes."""

    value: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Marking:
    """``#place``."""

    place: Name
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    op: UnaryOp
    operand: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinaryOp
    left: Expr
    right: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conditional:
    test: Expr
    then: Expr
    otherwise: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: ``value``, ``name = value``, ``weight : value`` or ``value | given``."""

    value: Expr
    span: Span = field(compare=False, repr=False)
    name: Name | None = None
    weight: Expr | None = None
    given: Name | None = None


@dataclass(frozen=True, slots=True)
class Call:
    function: Name
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False, repr=False)


Expr = Name | Number | Quantity | Truth | Text | Marking | Unary | Binary | Conditional | ListOf | Call


# --- statements -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    span: Span = field(compare=False, repr=False)
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsNone(Statement):
    """``units none``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Param(Statement):
    name: Name
    type: Expr
    default: Expr | None = None
    low: Expr | None = None
    high: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dist(Statement):
    name: Name
    law: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Statement):
    name: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a ``place`` statement."""

    name: Name
    initial: Expr | None = None
    capacity: Expr | None = None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places(Statement):
    items: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcItem:
    """An arc as listed: the factors before the place multiply."""

    kind: ArcKind
    factors: tuple[Expr, ...]
    place: Name
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """``word value``, ``resets names``; ``servers inf`` has no value."""

    word: str
    value: Expr | None = None
    names: tuple[Name, ...] = ()
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(Statement):
    """``law`` is None for an immediate transition; ``over`` lists the links of a transfer."""

    name: Name
    arcs: tuple[ArcItem, ...]
    law: Expr | None
    over: tuple[Name, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Statement):
    name: Name
    unit: Expr | None
    body: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Statement):
    left: Expr
    op: BinaryOp
    right: Expr
    tolerance: Expr | None
    absolute: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    source: Source
    statements: tuple[Statement, ...]
    doc: str = ""


# --- walking ----------------------------------------------------------------------------------------------------------------


def children(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case ListOf(items=items):
            return items
        case Call(arguments=arguments):
            return tuple(e for a in arguments for e in (a.weight, a.value) if e is not None)
        case _:
            return ()


def expressions(statement: Statement) -> Iterator[Expr]:
    """The expressions that stand directly in a statement."""
    found: list[Expr | None] = []
    match statement:
        case Param(type=kind, default=default, low=low, high=high):
            found = [kind, default, low, high]
        case Dist(law=law):
            found = [law]
        case Link(arguments=arguments):
            found = [a.value for a in arguments]
        case Places(items=items):
            found = [e for item in items for e in (item.initial, item.capacity)]
        case Transition(arcs=arcs, law=law, clauses=clauses):
            found = [*(f for a in arcs for f in a.factors), law, *(c.value for c in clauses)]
        case Measure(unit=unit, body=body):
            found = [unit, body]
        case Expect(left=left, right=right, tolerance=tolerance):
            found = [left, right, tolerance]
    return (e for e in found if e is not None)
