"""The syntax tree of a model file: what was written, with the span of everything; nothing is resolved or computed yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from spn.expr.dims import Dimension
from spn.expr.nodes import BinaryOp, Exact, UnaryOp
from spn.net.model import ArcKind
from spn.source import Source, Span

# --- expressions ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name:
    """A name, without its backquotes: of whatever the place where it stands asks for.

    A qualified or indexed one, ``w[2].idle``, has its steps in ``path``, and ``text`` as written; expansion makes plain names of them.
    """

    text: str
    span: Span = field(compare=False, repr=False)
    in_quotes: bool = False
    path: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a path: ``w[2]`` and ``idle`` in ``w[2].idle``."""

    text: str
    indices: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Star:
    """``*`` as an index: every one there is."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in base units, put in for a name by expansion; it is never written."""

    value: Exact
    dimension: Dimension
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Range:
    """``variable in low..high``, both ends included."""

    variable: Name
    low: Expr
    high: Expr
    span: Span = field(compare=False, repr=False)


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


@dataclass(frozen=True, slots=True)
class Reduction:
    """``sum(body for i in 1..n, …)``; likewise min, max, all, any."""

    function: Name
    body: Expr
    ranges: tuple[Range, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Timed:
    """A measure at a time: ``P(…) at 10 s`` (``start`` is None), ``over start..end``, or with ``total`` the sum over it."""

    measure: Call
    start: Expr | None
    end: Expr
    total: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Until:
    """``time until condition``, and in P(…) ``time until condition <= bound``."""

    condition: Expr
    op: BinaryOp | None
    bound: Expr | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromTo:
    """``time from t1 to t2``, of tokens, or with ``op`` and ``bound`` a comparison of it."""

    first: Name
    second: Name
    op: BinaryOp | None
    bound: Expr | None
    span: Span = field(compare=False, repr=False)


Written = Name | Number | Quantity | Truth | Text | Marking | Unary | Binary | Conditional | ListOf | Call | Timed | Until | FromTo
Expr = Written | Reduction | Star | Value


# --- statements -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    span: Span = field(compare=False, repr=False)
    doc: str = ""


Index = tuple[Range | Expr, ...]  # after the name of what is declared: w[i in 1..n], and in `for` w[i]


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
    index: Index = ()
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a ``place`` statement."""

    name: Name
    index: Index = ()
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
    index: Index = ()
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
    where: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """``parameter = value`` after ``where``."""

    name: Name
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property(Statement):
    """``claim`` is the word: ``always`` and ``invariant`` with one expression, ``live`` … with none, ``home`` and ``leads`` called."""

    name: Name
    claim: Name
    arguments: tuple[Expr, ...]
    called: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """``parameter in low..high`` or ``parameter in [values]``, the list being ``low`` then."""

    name: Name
    low: Expr
    high: Expr | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(Statement):
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formal:
    """A parameter of a component; ``type`` is the type of a ``param``, or one of the words dist, place, link, transition."""

    name: Name
    type: Expr
    default: Expr | None = None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Component(Statement):
    name: Name
    formals: tuple[Formal, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Statement):
    """``use library.component name[index](arguments)``."""

    library: Name | None
    component: Name
    name: Name
    index: Index = ()
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Import(Statement):
    """``import "file" as name``."""

    file: Text
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class For(Statement):
    range: Range
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class If(Statement):
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Statement):
    """The rest of a transition that a component was given."""

    transition: Name
    arcs: tuple[ArcItem, ...]
    clauses: tuple[Clause, ...]


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
        case Name(path=path) | Marking(place=Name(path=path)):
            return tuple(i for step in path for i in step.indices)
        case Reduction(body=body, ranges=ranges):
            return (body, *(e for r in ranges for e in (r.low, r.high)))
        case Timed(measure=measure, start=start, end=end):
            return tuple(e for e in (measure, start, end) if e is not None)
        case Until(condition=condition, bound=bound):
            return (condition,) if bound is None else (condition, bound)
        case _:
            return ()


def walk(node: Expr) -> Iterator[Expr]:
    """The node and all below it."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(children(top))


def expressions(statement: Statement) -> Iterator[Expr]:
    """The expressions that stand directly in a statement."""
    found: list[Expr | None] = []
    match statement:
        case Param(type=kind, default=default, low=low, high=high):
            found = [kind, default, low, high]
        case Dist(law=law):
            found = [law]
        case Link(index=index, arguments=arguments):
            found = [*_index(index), *(a.value for a in arguments)]
        case Places(items=items):
            found = [e for item in items for e in (item.initial, item.capacity, *_index(item.index))]
        case Transition(index=index, arcs=arcs, law=law, over=over, clauses=clauses):
            found = [*_index(index), *_of_arcs(arcs), law, *_paths(over), *_of_clauses(clauses)]
        case Join(transition=transition, arcs=arcs, clauses=clauses):
            found = [*_paths((transition,)), *_of_arcs(arcs), *_of_clauses(clauses)]
        case Component(formals=formals):
            found = [e for f in formals for e in (f.type, f.default)]
        case Use(index=index, arguments=arguments):
            found = [*_index(index), *(a.value for a in arguments)]
        case For(range=each):
            found = [each.low, each.high]
        case If(test=test):
            found = [test]
        case Measure(unit=unit, body=body):
            found = [unit, body]
        case Expect(left=left, right=right, tolerance=tolerance, where=where):
            found = [left, right, tolerance, *(s.value for s in where)]
        case Property(arguments=arguments):
            found = list(arguments)
        case Sweep(axes=axes):
            found = [e for a in axes for e in (a.low, a.high)]
    return (e for e in found if e is not None)


def _index(index: Index) -> list[Expr]:
    return [e for slot in index for e in ((slot.low, slot.high) if isinstance(slot, Range) else (slot,))]


def _of_arcs(arcs: tuple[ArcItem, ...]) -> list[Expr]:
    return [e for a in arcs for e in (*a.factors, *_paths((a.place,)))]


def _of_clauses(clauses: tuple[Clause, ...]) -> list[Expr]:
    return [e for c in clauses for e in (c.value, *_paths(c.names)) if e is not None]


def _paths(names: tuple[Name, ...]) -> list[Expr]:
    return [n for n in names if n.path]


def nested(statement: Statement) -> tuple[Statement, ...]:
    """The statements in the braces of a statement."""
    match statement:
        case Component(body=body) | For(body=body):
            return body
        case If(then=then, otherwise=otherwise):
            return (*then, *otherwise)
        case _:
            return ()
