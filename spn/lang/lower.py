"""Checked expressions to trees of numbers and markings, in base units, with the values of parameters put in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from spn.expr.evaluate import Undefined, arithmetic, fold
from spn.expr.nodes import ONE, Binary, BinaryOp, Call, Conditional, Exact, Function, Node, Number, Tokens, Unary, children
from spn.lang import ast
from spn.lang.scope import Report
from spn.lang.units import UNITS
from spn.measure import Average, Delay, Horizon, Passage, Quantile, Sojourn, Throughput, Utilisation, expressions_in
from spn.source import Span

LARGEST = 10**300
MAX_BITS = 4096  # of numerator and denominator; a longer constant is rounded to a float


class Missing(Exception):
    """A value that an expression needs could not be computed; the reason is already reported."""


@dataclass(slots=True)
class Values:
    """What names stand for: parameters for numbers, measures for their bodies."""

    numbers: dict[str, Exact] = field(default_factory=dict)
    bodies: dict[str, Node] = field(default_factory=dict)


def lower(node: ast.Expr, values: Values) -> Node:
    """The tree of an expression that :mod:`spn.lang.infer` found right."""
    match node:
        case ast.Number(value=value, span=span):
            return Number(value, span=span)
        case ast.Value(value=value, span=span):
            return Number(value, span=span)
        case ast.Truth(value=value, span=span):
            return Number(Fraction(value), span=span)
        case ast.Quantity(value=value, unit=unit, span=span):
            return Number(value * UNITS[unit.text][1], span=span)
        case ast.Name():
            return _named(node, values)
        case ast.Marking(place=place, span=span):
            return Tokens(place.text, span=span)
        case ast.Unary(op=op, operand=operand, span=span):
            return Unary(op, lower(operand, values), span=span)
        case ast.Binary(op=op, left=left, right=right, span=span):
            return Binary(op, lower(left, values), lower(right, values), span=span)
        case ast.Conditional(test=test, then=then, otherwise=otherwise, span=span):
            return Conditional(lower(test, values), lower(then, values), lower(otherwise, values), span=span)
        case ast.Call():
            return _call(node, values)
        case ast.Timed(measure=measure, start=start, end=end, total=total, span=span):
            asked = _call(measure, values)
            assert isinstance(asked, Average | Throughput)
            return Horizon(asked, None if start is None else _exactly(start, values), _exactly(end, values), total, span=span)
    raise Missing


def _named(name: ast.Name, values: Values) -> Node:
    if name.text in UNITS and not name.in_quotes:
        return Number(UNITS[name.text][1], span=name.span)
    if name.text in values.numbers:
        return Number(values.numbers[name.text], span=name.span)
    if name.text in values.bodies:
        return values.bodies[name.text]
    raise Missing


def _call(node: ast.Call, values: Values) -> Node:
    first = node.arguments[0]
    match node.function.text:
        case "P" | "E" if isinstance(first.value, ast.Until | ast.FromTo):
            return _waiting(node, first.value, None, values)
        case "quantile":
            level, second = _exactly(first.value, values), node.arguments[1]
            if isinstance(second.value, ast.Until | ast.FromTo):
                return _waiting(node, second.value, level, values)
            return Quantile(level, fold(lower(second.value, values)), second.given.text if second.given else None, span=node.span)
        case "P" | "E":
            given = first.given.text if first.given else None
            return Average(fold(lower(first.value, values)), given, span=node.span)
        case "throughput":
            return Throughput(_target(first), span=node.span)
        case "utilisation":
            return Utilisation(_target(first), span=node.span)
        case "sojourn":
            return Sojourn(_target(first), span=node.span)
        case name:
            return Call(Function(name), tuple(lower(a.value, values) for a in node.arguments), span=node.span)


def _waiting(node: ast.Call, time: ast.Until | ast.FromTo, level: Exact | None, values: Values) -> Node:
    """The mean, the probability or a quantile of a time until, or from one transition to another."""
    within = None if time.bound is None else _exactly(time.bound, values)
    if isinstance(time, ast.FromTo):
        asked: Node = Delay(time.first.text, time.second.text, level, within, span=node.span)
    else:
        asked = Passage(fold(lower(time.condition, values)), within, level, span=node.span)
    return Binary(BinaryOp.SUB, ONE, asked, span=node.span) if time.op is BinaryOp.GT else asked


def _exactly(node: ast.Expr, values: Values) -> Exact:
    """The value of a constant inside a question."""
    found = fold(lower(node, values))
    if not isinstance(found, Number):
        raise Undefined("not a constant")
    return shortened(found.value)


def _target(argument: ast.Argument) -> str:
    assert isinstance(argument.value, ast.Name)
    return argument.value.text


def folded(node: ast.Expr, values: Values, report: Report, what: str) -> Node:
    """The tree with constants reduced; a constant part that is undefined or out of range is an error, then :class:`Missing`."""
    try:
        tree = fold(lower(node, values))
    except ArithmeticError:
        report.error("E0408", f"{what} is out of range", node.span)
        raise Missing from None
    if not finite(tree, node.span, report, what):
        raise Missing
    return tree


def finite(tree: Node, span: Span, report: Report, what: str) -> bool:
    """Is every constant part of a folded tree a number that an engine can hold? Reports the first that is not."""
    stack = [tree]
    while stack:
        node = stack.pop()
        below = expressions_in(node) or children(node)
        problem = _problem(node) if isinstance(node, Number) else _undefined(node) if children(node) else ""
        if problem:
            report.error("E0408", f"{what} {problem}", getattr(node, "span", None) or span)
            return False
        stack.extend(below)
    return True


def _undefined(node: Node) -> str:
    if not all(isinstance(c, Number) for c in children(node)):
        return ""
    try:
        arithmetic(node, lambda n: Fraction(0))
    except Undefined as e:
        return f"is undefined: {e}"
    except ArithmeticError:
        return "is out of range"
    return ""


def _problem(number: Number) -> str:
    value = number.value
    if isinstance(value, float):
        if not math.isfinite(value):
            return "is undefined: not a number" if math.isnan(value) else "is out of range: infinite"
    elif abs(value) > LARGEST:
        return "is out of range: above 1e300"
    elif value != 0 and abs(value) < Fraction(1, LARGEST):
        return "is out of range: below 1e-300"
    return ""


def constant(node: ast.Expr, values: Values, report: Report, what: str) -> Exact:
    """The value of an expression without markings."""
    tree = folded(node, values, report, what)
    if not isinstance(tree, Number):
        report.error("E0408", f"{what} is no constant", node.span)
        raise Missing
    return shortened(tree.value)


def shortened(value: Exact) -> Exact:
    """The value, as a float where its exact form has grown beyond use."""
    long = isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS
    return float(value) if long else value
