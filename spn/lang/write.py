"""A syntax tree as text, for trees that no text holds: made in Python, or by unrolling. One rule for each kind of node, in RULES.

The text parses to the very same tree, with two exceptions: values that only expansion puts in are written as what has that value, and
names that cannot stand bare get backquotes. :mod:`spn.lang.format` makes it readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from spn.expr.dims import BANDWIDTH, DATA, NUMBER, RATE, TIME, Dimension
from spn.expr.nodes import COMPARISONS, BinaryOp, Exact, UnaryOp
from spn.lang import ast
from spn.lang.format import formatted
from spn.lang.words import AFTER_ARCS, RESERVED
from spn.net.model import ArcKind
from spn.source import Source

# How tightly a form binds; one that binds more loosely than its place asks for is put in parentheses.
_ANY, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)
_BINDS = {
    BinaryOp.OR: _OR,
    BinaryOp.AND: _AND,
    **dict.fromkeys(COMPARISONS, _COMPARE),
    **dict.fromkeys((BinaryOp.ADD, BinaryOp.SUB), _SUM),
    **dict.fromkeys((BinaryOp.MUL, BinaryOp.DIV, BinaryOp.IDIV, BinaryOp.MOD), _PRODUCT),
    BinaryOp.POW: _POWER,
}


def written(file: ast.File) -> str:
    """A file as canonical text."""
    return formatted(Source(file.source.name, write(file)))


def write(node: object) -> str:
    """A node as text, readable to the parser alone."""
    return RULES[type(node)](node)


def _at_least(node: ast.Expr, binding: int) -> str:
    return write(node) if _binding(node) >= binding else f"({write(node)})"


def _binding(node: ast.Expr) -> int:
    match node:
        case ast.Binary(op=op):
            return _BINDS[op]
        case ast.Unary(op=op):
            return _NOT if op is UnaryOp.NOT else _UNARY
        case ast.Value(value=value, dimension=dimension):
            return _value(value, dimension)[1]
        case ast.Until() | ast.FromTo():
            return _ANY
        case _:
            return _ATOM


def _list(nodes: Iterable[object]) -> str:
    return ", ".join(write(n) for n in nodes)


# --- expressions ----------------------------------------------------------------------------------------------------------------


def _name(n: ast.Name) -> str:
    if n.path:
        return ".".join(write(step) for step in n.path)
    return f"`{n.text}`" if n.in_quotes else n.text if n.text == "%" else _bare(n.text)


def _bare(name: str) -> str:
    """A name, in backquotes where it could not stand bare: ``w[2].idle`` as the name of one place, say."""
    return name if name.isidentifier() and name not in RESERVED else f"`{name}`"


def _step(s: ast.Step) -> str:
    return _bare(s.text) + (f"[{_list(s.indices)}]" if s.indices else "")


def decimal(value: Exact) -> str:
    """A number as an exact decimal; as a quotient in parentheses where there is none."""
    exact = Fraction(value)
    if exact < 0:
        return f"-{decimal(-exact)}"
    twos, rest = _power_of(2, exact.denominator)
    fives, rest = _power_of(5, rest)
    if rest != 1:
        return f"({exact.numerator}/{exact.denominator})"
    places = max(twos, fives)
    digits = str(exact.numerator * 10**places // exact.denominator).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    if part.startswith("0000") and whole == "0":
        return _scientific(part.lstrip("0"), places)
    shorter = whole.rstrip("0")
    if not part and len(whole) - len(shorter) > 6:
        return f"{shorter[0]}{'.' if len(shorter) > 1 else ''}{shorter[1:]}e{len(whole) - 1}"
    return f"{whole}.{part}" if part else whole


def _scientific(digits: str, places: int) -> str:
    """``digits`` times 10^-places, with one digit before the point."""
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e-{places - len(digits) + 1}"


def _power_of(base: int, number: int) -> tuple[int, int]:
    """How often a number can be divided by ``base``, and what remains."""
    count = 0
    while number % base == 0:
        number //= base
        count += 1
    return count, number


def _value(value: Exact, dimension: Dimension) -> tuple[str, int]:
    """A value in base units, and how tightly its text binds."""
    text = decimal(value)
    own = _UNARY if text.startswith("-") else _ATOM
    if dimension == NUMBER:
        return text, own
    if dimension in (TIME, DATA) and own == _ATOM and not text.startswith("("):
        return f"{text} {'s' if dimension == TIME else 'B'}", _ATOM
    over = {RATE: "/s", BANDWIDTH: " B/s"}.get(dimension)
    if over and not (text.startswith("(") and over[0] == " "):
        return text + over, _PRODUCT
    return f"{text} * {_unit(dimension)}", _PRODUCT


def _unit(dimension: Dimension) -> str:
    powers = [f"{unit}^({e})" for unit, e in (("B", dimension.data), ("s", dimension.time)) if e]
    return " * ".join(powers)


def _binary(b: ast.Binary) -> str:
    level = _BINDS[b.op]
    if b.op is BinaryOp.POW:
        return f"{_at_least(b.left, _ATOM)}^{_at_least(b.right, _UNARY)}"
    left = level + 1 if level == _COMPARE else level
    return f"{_at_least(b.left, left)} {b.op} {_at_least(b.right, level + 1)}"


def _unary(u: ast.Unary) -> str:
    if u.op is UnaryOp.NOT:
        return f"not {_at_least(u.operand, _NOT)}"
    return f"-{_at_least(u.operand, _UNARY)}"


def _argument(a: ast.Argument) -> str:
    if a.name is not None:
        return f"{write(a.name)} = {write(a.value)}"
    if a.weight is not None:
        return f"{write(a.weight)}: {write(a.value)}"
    return write(a.value) + (f" | {write(a.given)}" if a.given is not None else "")


def _time(node: ast.Expr) -> str:
    """A time after `at` and `over`: anything but a number, a quantity or a plain name in parentheses."""
    plain = isinstance(node, ast.Number | ast.Quantity) or (isinstance(node, ast.Name) and not node.path)
    if isinstance(node, ast.Quantity) and node.unit.text == "%":
        plain = False
    return write(node) if plain else f"({write(node)})"


def _timed(t: ast.Timed) -> str:
    if t.start is None:
        return f"{write(t.measure)} at {_time(t.end)}"
    return f"{write(t.measure)} {'total over' if t.total else 'over'} {_time(t.start)}..{_time(t.end)}"


def _until(u: ast.Until) -> str:
    bound = "" if u.op is None or u.bound is None else f" {u.op} {_at_least(u.bound, _SUM)}"
    return f"time until {write(u.condition)}{bound}"


def _from_to(n: ast.FromTo) -> str:
    bound = "" if n.op is None or n.bound is None else f" {n.op} {_at_least(n.bound, _SUM)}"
    return f"time from {write(n.first)} to {write(n.second)}{bound}"


def _range(r: ast.Range) -> str:
    return f"{write(r.variable)} in {_at_least(r.low, _SUM)}..{_at_least(r.high, _SUM)}"


# --- statements -----------------------------------------------------------------------------------------------------------------


def _documented(s: ast.Statement, text: str) -> str:
    return _doc(s.doc) + text


def _doc(doc: str) -> str:
    return "".join(f"/// {line}".rstrip() + "\n" for line in doc.split("\n")) if doc else ""


def _statement(s: ast.Statement) -> str:
    return _documented(s, write(s))


def _block(body: Iterable[ast.Statement]) -> str:
    return "{\n" + "".join(_statement(s) + "\n" for s in body) + "}"


def _file(f: ast.File) -> str:
    """The statements, with an empty line between those of different kinds."""
    first = f.statements[0].doc if f.statements else ""
    head = _doc(f.doc) or ("///\n" if first else "")  # the first documentation comment is that of the file
    found = [head]
    last: type | None = ast.File if head else None
    for s in f.statements:
        found.append(("\n" if last is not None and last is not type(s) else "") + _statement(s) + "\n")
        last = type(s)
    return "".join(found)


def _index(index: ast.Index) -> str:
    return f"[{_list(index)}]" if index else ""


def _param(p: ast.Param) -> str:
    default = "" if p.default is None else f" = {write(p.default)}"
    bounds = "" if p.low is None or p.high is None else f" in {_at_least(p.low, _SUM)}..{_at_least(p.high, _SUM)}"
    return f"param {write(p.name)} : {_at_least(p.type, _PRODUCT)}{default}{bounds}"


def _place(p: ast.Place) -> str:
    initial = "" if p.initial is None else f" = {write(p.initial)}"
    return write(p.name) + _index(p.index) + initial + ("" if p.capacity is None else f" capacity {write(p.capacity)}")


_MARKS = {ArcKind.INPUT: "", ArcKind.OUTPUT: "", ArcKind.TEST: "?", ArcKind.INHIBITOR: "!", ArcKind.FLUSH: "flush "}


def _arc(a: ast.ArcItem) -> str:
    return _MARKS[a.kind] + "".join(f"{_factor(f)}*" for f in a.factors) + write(a.place)


def _factor(node: ast.Expr) -> str:
    plain = isinstance(node, ast.Number | ast.Marking | ast.Call | ast.Reduction) or (isinstance(node, ast.Name) and not node.path)
    plain |= isinstance(node, ast.Value) and _value(node.value, node.dimension)[0].replace(".", "").isdigit()
    return write(node) if plain else f"({write(node)})"


def _arcs(arcs: Iterable[ast.ArcItem]) -> str:
    sides = [[a for a in arcs if (a.kind is ArcKind.OUTPUT) is output] for output in (False, True)]
    outputs = _list(sides[1])
    first = write(sides[1][0]) if sides[1] else ""
    if first in AFTER_ARCS:  # right after the arrow the grammar takes such a word for a clause
        outputs = f"`{first}`{outputs[len(first) :]}"
    return f"{_list(sides[0])} -> {outputs}"


def _clause(c: ast.Clause) -> str:
    if c.names:
        return f"{c.word} {_list(c.names)}"
    return f"{c.word} {'inf' if c.value is None else write(c.value)}"


def _transition(t: ast.Transition) -> str:
    law = "" if t.law is None else f" ~ {_law(t.law, t.over)}"
    clauses = "".join(f" {write(c)}" for c in t.clauses)
    keyword = "immediate" if t.law is None else "timed"
    return f"{keyword} {write(t.name)}{_index(t.index)} : {_arcs(t.arcs)}{law}{clauses}"


def _law(law: ast.Expr, over: tuple[ast.Name, ...]) -> str:
    """The law with the links it is over; a measure in it would take the `over` for its own."""
    text = write(law)
    if not over:
        return text
    return f"({text}) over {_list(over)}" if re.search(r"\b(P|E|throughput)\(", text) else f"{text} over {_list(over)}"


def _measure(m: ast.Measure) -> str:
    unit = "" if m.unit is None else f" in {_at_least(m.unit, _PRODUCT)}"
    return f"measure {write(m.name)}{unit} = {write(m.body)}"


def _expect(e: ast.Expect) -> str:
    tolerance = "" if e.tolerance is None else f" within {'abs ' if e.absolute else ''}{_tolerance(e)}"
    where = f" where {_list(e.where)}" if e.where else ""
    return f"expect {_at_least(e.left, _SUM)} {e.op} {_at_least(e.right, _SUM)}{tolerance}{where}"


def _tolerance(e: ast.Expect) -> str:
    assert e.tolerance is not None
    word = isinstance(e.tolerance, ast.Name | ast.Call) and not e.absolute
    text = _at_least(e.tolerance, _SUM)
    return f"({text})" if word and text.startswith("abs") else text


def _property(p: ast.Property) -> str:
    claim = write(p.claim)
    if p.called:
        return f"property {write(p.name)} : {claim}({_list(p.arguments)})"
    return f"property {write(p.name)} : {' '.join([claim, *map(write, p.arguments)])}"


def _axis(a: ast.Axis) -> str:
    return f"{write(a.name)} in {_at_least(a.low, _SUM)}" + ("" if a.high is None else f"..{_at_least(a.high, _SUM)}")


def _formal(f: ast.Formal) -> str:
    return f"{write(f.name)} : {_kind(f.type)}" + ("" if f.default is None else f" = {write(f.default)}")


def _kind(node: ast.Expr) -> str:
    """The type of a parameter; dist, place and link stand bare here."""
    keyword = isinstance(node, ast.Name) and node.text in ("dist", "place", "link") and not node.in_quotes
    return node.text if keyword and isinstance(node, ast.Name) else _at_least(node, _PRODUCT)


def _component(c: ast.Component) -> str:
    return f"component {write(c.name)}({_list(c.formals)}) {_block(c.body)}"


def _use(u: ast.Use) -> str:
    library = "" if u.library is None else f"{write(u.library)}."
    return f"use {library}{write(u.component)} {write(u.name)}{_index(u.index)}" + (f"({_list(u.arguments)})" if u.arguments else "")


def _if(s: ast.If) -> str:
    text = f"if {write(s.test)} {_block(s.then)}"
    if not s.otherwise:
        return text
    chained = len(s.otherwise) == 1 and isinstance(s.otherwise[0], ast.If) and not s.otherwise[0].doc
    return f"{text} else {write(s.otherwise[0]) if chained else _block(s.otherwise)}"


Rule = Callable[[Any], str]

RULES: dict[type, Rule] = {
    ast.Name: _name,
    ast.Step: _step,
    ast.Star: lambda n: "*",
    ast.Value: lambda n: _value(n.value, n.dimension)[0],
    ast.Range: _range,
    ast.Number: lambda n: decimal(n.value),
    ast.Quantity: lambda n: f"{decimal(n.value)} {write(n.unit)}",
    ast.Truth: lambda n: "true" if n.value else "false",
    ast.Text: lambda n: f'"{n.value}"',
    ast.Marking: lambda n: f"#{write(n.place)}",
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: lambda n: f"if({_list((n.test, n.then, n.otherwise))})",
    ast.ListOf: lambda n: f"[{_list(n.items)}]",
    ast.Argument: _argument,
    ast.Call: lambda n: f"{write(n.function)}({_list(n.arguments)})",
    ast.Reduction: lambda n: f"{write(n.function)}({write(n.body)} for {_list(n.ranges)})",
    ast.Timed: _timed,
    ast.Until: _until,
    ast.FromTo: _from_to,
    ast.UnitsNone: lambda s: "units none",
    ast.Param: _param,
    ast.Dist: lambda s: f"dist {write(s.name)} = {write(s.law)}",
    ast.Link: lambda s: f"link {write(s.name)}{_index(s.index)}({_list(s.arguments)})",
    ast.Place: _place,
    ast.Places: lambda s: f"place {_list(s.items)}",
    ast.ArcItem: _arc,
    ast.Clause: _clause,
    ast.Transition: _transition,
    ast.Measure: _measure,
    ast.Expect: _expect,
    ast.Setting: lambda n: f"{write(n.name)} = {write(n.value)}",
    ast.Property: _property,
    ast.Axis: _axis,
    ast.Sweep: lambda s: f"sweep {_list(s.axes)}",
    ast.Formal: _formal,
    ast.Component: _component,
    ast.Use: _use,
    ast.Import: lambda s: f"import {write(s.file)} as {write(s.name)}",
    ast.For: lambda s: f"for {write(s.range)} {_block(s.body)}",
    ast.If: _if,
    ast.Join: lambda s: f"join {write(s.transition)} : {_arcs(s.arcs)}" + "".join(f" {write(c)}" for c in s.clauses),
    ast.File: _file,
}
