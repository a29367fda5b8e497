"""Values with first and second derivatives of marking expressions, markings taken as real numbers.

Where an expression is not smooth (a minimum of equal arguments, a condition on the marking) the derivatives are those of the branch taken,
and the *switch*, the difference that decides the branch, is recorded with its gradient, so that the caller can tell how near it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spn.expr.nodes import Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, Unary, UnaryOp, places_of

Floats = NDArray[np.float64]


class NotSmooth(Exception):
    """An expression has no derivatives, or jumps: the message says why."""


_NO_SLOPE: Floats = np.zeros(0)
_NO_BEND: Floats = np.zeros((0, 0))


@dataclass(frozen=True, slots=True)
class Jet:
    """A value, its gradient (d) and its second derivatives (d, d); both empty where they are not wanted."""

    value: float
    slope: Floats
    bend: Floats

    def __add__(self, other: Jet) -> Jet:
        if not self.slope.size:
            return Jet(self.value + other.value, _NO_SLOPE, _NO_BEND)
        return Jet(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    def __sub__(self, other: Jet) -> Jet:
        return self + other.times(-1.0)

    def __mul__(self, other: Jet) -> Jet:
        if not self.slope.size:
            return Jet(self.value * other.value, _NO_SLOPE, _NO_BEND)
        cross = np.outer(self.slope, other.slope)
        return Jet(
            self.value * other.value,
            self.value * other.slope + other.value * self.slope,
            self.value * other.bend + other.value * self.bend + cross + cross.T,
        )

    def times(self, factor: float) -> Jet:
        """The jet multiplied by a number."""
        if not self.slope.size:
            return Jet(factor * self.value, _NO_SLOPE, _NO_BEND)
        return Jet(factor * self.value, factor * self.slope, factor * self.bend)

    def through(self, value: float, first: float, second: float) -> Jet:
        """The jet of f(self), from the value and the two derivatives of f there."""
        if not self.slope.size:
            return Jet(value, _NO_SLOPE, _NO_BEND)
        return Jet(value, first * self.slope, first * self.bend + second * np.outer(self.slope, self.slope))


@dataclass(frozen=True, slots=True)
class Switch:
    """Where an expression changes its branch: at ``gap`` 0."""

    gap: Jet


@dataclass(slots=True)
class Point:
    """A real marking, ``x`` (d) in the order of ``index``, and the switches met while expressions were evaluated there. ``plain`` wants
    values only, no derivatives and no switches."""

    index: Mapping[str, int]
    x: Floats
    plain: bool = False
    switches: list[Switch] = field(default_factory=list)

    def number(self, value: float) -> Jet:
        """A constant."""
        if self.plain:
            return Jet(value, _NO_SLOPE, _NO_BEND)
        d = len(self.x)
        return Jet(value, np.zeros(d), np.zeros((d, d)))

    def place(self, name: str) -> Jet:
        """The tokens of a place."""
        if self.plain:
            return Jet(float(self.x[self.index[name]]), _NO_SLOPE, _NO_BEND)
        d = len(self.x)
        slope = np.zeros(d)
        slope[self.index[name]] = 1.0
        return Jet(float(self.x[self.index[name]]), slope, np.zeros((d, d)))

    def least(self, a: Jet, b: Jet) -> Jet:
        """The smaller of two."""
        if not self.plain and (np.any(a.slope != b.slope) or np.any(a.bend != b.bend)):
            self.switches.append(Switch(a - b))
        return a if a.value <= b.value else b

    def jet(self, node: Node) -> Jet:
        """An expression with its derivatives. NotSmooth for floors, remainders, and conditions that are asked for as numbers."""
        match node:
            case Number(value=v):
                return self.number(float(v))
            case Tokens(place=p):
                return self.place(p)
            case _ if not places_of(node):
                return self.number(_constant(node))
            case Binary(op=BinaryOp.IDIV, left=Tokens(place=p), right=Number(value=v)) if v == 1:
                return self.place(p)
            case Unary(op=UnaryOp.NEGATE, operand=x):
                return self.jet(x).times(-1.0)
            case Binary(op=op, left=a, right=b) if op in _ARITHMETIC:
                return _ARITHMETIC[op](self.jet(a), self.jet(b))
            case Conditional(test=c, then=a, otherwise=b):
                return self.jet(a) if self.holds(c) else self.jet(b)
            case Call(function=Function.MIN, arguments=arguments):
                found = self.jet(arguments[0])
                for argument in arguments[1:]:
                    found = self.least(found, self.jet(argument))
                return found
            case Call(function=Function.MAX, arguments=arguments):
                found = self.jet(arguments[0]).times(-1.0)
                for argument in arguments[1:]:
                    found = self.least(found, self.jet(argument).times(-1.0))
                return found.times(-1.0)
            case Call(function=f, arguments=(argument,)) if f in _SMOOTH:
                return _SMOOTH[f](self.jet(argument))
            case Call(function=Function.ABS, arguments=(argument,)):
                found = self.jet(argument)
                return self.least(found, found.times(-1.0)).times(-1.0)
        raise NotSmooth("it jumps with the marking")

    def holds(self, node: Node) -> bool:
        """Whether a condition holds, its switch recorded."""
        match node:
            case Unary(op=UnaryOp.NOT, operand=x):
                return not self.holds(x)
            case Binary(op=BinaryOp.AND, left=a, right=b):
                return self.holds(a) and self.holds(b)
            case Binary(op=BinaryOp.OR, left=a, right=b):
                return self.holds(a) or self.holds(b)
            case Binary(op=op, left=a, right=b) if op in _COMPARED:
                gap = self.jet(a) - self.jet(b)
                if not self.plain and places_of(node):
                    self.switches.append(Switch(gap))
                return _COMPARED[op](gap.value)
        found = self.jet(node)
        if not self.plain:
            self.switches.append(Switch(found))
        return found.value != 0


def _constant(node: Node) -> float:
    from spn.expr.evaluate import Undefined, evaluate

    try:
        return float(evaluate(node, {}))
    except (Undefined, OverflowError) as error:
        raise NotSmooth(f"it is undefined ({error})") from None


def _power(a: Jet, b: Jet) -> Jet:
    if np.any(b.slope) or np.any(b.bend):
        if a.value <= 0:
            raise NotSmooth("it is a power of 0 with an exponent that depends on the marking")
        return _exp(_ln(a) * b)
    k, v = b.value, a.value
    if v == 0 and k not in (0, 1) and k < 2:
        raise NotSmooth("it is a root of 0")
    return a.through(v**k, k * v ** (k - 1) if k else 0.0, k * (k - 1) * v ** (k - 2) if k not in (0, 1) else 0.0)


def _divided(a: Jet, b: Jet) -> Jet:
    if b.value == 0:
        raise NotSmooth("it is a division by 0")
    return a * b.through(1 / b.value, -1 / b.value**2, 2 / b.value**3)


def _ln(a: Jet) -> Jet:
    if a.value <= 0:
        raise NotSmooth("it is the logarithm of 0")
    return a.through(math.log(a.value), 1 / a.value, -1 / a.value**2)


def _sqrt(a: Jet) -> Jet:
    if a.value <= 0:
        raise NotSmooth("it is the root of 0")
    root = math.sqrt(a.value)
    return a.through(root, 0.5 / root, -0.25 / root**3)


def _exp(a: Jet) -> Jet:
    value = math.exp(min(a.value, 700.0))
    return a.through(value, value, value)


_ARITHMETIC: Mapping[BinaryOp, Callable[[Jet, Jet], Jet]] = {
    BinaryOp.ADD: Jet.__add__,
    BinaryOp.SUB: Jet.__sub__,
    BinaryOp.MUL: Jet.__mul__,
    BinaryOp.DIV: _divided,
    BinaryOp.POW: _power,
}
_SMOOTH: Mapping[Function, Callable[[Jet], Jet]] = {Function.SQRT: _sqrt, Function.LN: _ln, Function.EXP: _exp}
_COMPARED: Mapping[BinaryOp, Callable[[float], bool]] = {
    BinaryOp.EQ: lambda gap: gap == 0,
    BinaryOp.NE: lambda gap: gap != 0,
    BinaryOp.LT: lambda gap: gap < 0,
    BinaryOp.LE: lambda gap: gap <= 0,
    BinaryOp.GT: lambda gap: gap > 0,
    BinaryOp.GE: lambda gap: gap >= 0,
}
