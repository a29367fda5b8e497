"""Marking expressions back to the text of the model language, with no parentheses that the grammar does not need.

Constants are in base units, as the nodes hold them. A constant that no finite decimal states (1/3) is written as a quotient,
and a negative one with a minus sign, so these two read back as the operation on plain numbers: equal in value, not in shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from spn.expr.nodes import Atom, Binary, BinaryOp, Call, Conditional, Exact, Node, Number, Tokens, Unary, UnaryOp

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*(?:\[-?\d+(?:,\d+)*\])?(?:\.[^\W\d]\w*(?:\[-?\d+(?:,\d+)*\])?)*\Z")
_RESERVED: Final = frozenset(
    {"param", "dist", "link", "place", "timed", "immediate", "component", "use", "import", "for", "if", "else", "measure", "expect"}
    | {"property", "sweep", "units", "flush", "join", "when", "weight", "priority", "resets", "in", "and", "or", "not", "mod", "div"}
    | {"true", "false"}
)

# How tightly each form binds; a child that binds more loosely than its place asks for is put in parentheses.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _NEGATE, _POWER, _ATOM = range(9)

_BINDING: Final = {
    BinaryOp.OR: _OR,
    BinaryOp.AND: _AND,
    BinaryOp.EQ: _COMPARE,
    BinaryOp.NE: _COMPARE,
    BinaryOp.LT: _COMPARE,
    BinaryOp.LE: _COMPARE,
    BinaryOp.GT: _COMPARE,
    BinaryOp.GE: _COMPARE,
    BinaryOp.ADD: _SUM,
    BinaryOp.SUB: _SUM,
    BinaryOp.MUL: _PRODUCT,
    BinaryOp.DIV: _PRODUCT,
    BinaryOp.IDIV: _PRODUCT,
    BinaryOp.MOD: _PRODUCT,
    BinaryOp.POW: _POWER,
}

Leaf = Callable[[Atom], str]


def to_text(node: Node, leaf: Leaf | None = None) -> str:
    """The expression as the language writes it, for instance ``2 * #queue + 1``.

    ``leaf`` writes leaves that other layers add (the measures); without it such a leaf is a TypeError.
    """
    return _write(node, leaf)[0]


def name(text: str) -> str:
    """A name as the language writes it: in backquotes unless it is a plain word, possibly indexed or dotted."""
    return text if _IDENTIFIER.match(text) and text not in _RESERVED else f"`{text}`"


def decimal(value: Exact) -> str:
    """A constant: the shortest decimal that is exactly it, else a quotient of whole numbers; floats as Python prints them."""
    if isinstance(value, float):
        return repr(value).replace("e+", "e")
    if value.denominator == 1:
        return str(value.numerator)
    places = _decimal_places(value.denominator)
    if places is None or places > 30:
        return f"{value.numerator} / {value.denominator}"
    return _point(value, places)


def _point(value: Fraction, places: int) -> str:
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    leading = len(digits) - places
    if places > 6 and digits[:leading] == "0":  # 4.2e-9 reads better than a row of noughts
        significant = digits.lstrip("0")
        mantissa = significant[0] + ("." + significant[1:] if len(significant) > 1 else "")
        return f"{sign}{mantissa}e-{places - len(significant) + 1}"
    return f"{sign}{digits[:leading]}.{digits[leading:]}"


def _decimal_places(denominator: int) -> int | None:
    """How many decimals a fraction in lowest terms needs, or None where no number of them does."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator //= 2
        twos += 1
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    return max(twos, fives) if denominator == 1 else None


def _write(node: Node, leaf: Leaf | None) -> tuple[str, int]:
    """The text of a node and how tightly its outermost form binds."""
    match node:
        case Number(value=value):
            return _constant(value)
        case Tokens(place=place):
            return f"#{name(place)}", _ATOM
        case Unary(op=UnaryOp.NEGATE, operand=x):
            return f"-{_at_least(x, _NEGATE, leaf)}", _NEGATE
        case Unary(operand=x):
            return f"not {_at_least(x, _NOT, leaf)}", _NOT
        case Binary(op=op, left=a, right=b):
            return _binary(op, a, b, leaf), _BINDING[op]
        case Conditional(test=c, then=a, otherwise=b):
            return f"if({', '.join(_write(x, leaf)[0] for x in (c, a, b))})", _ATOM
        case Call(function=f, arguments=arguments):
            return f"{f.value}({', '.join(_write(x, leaf)[0] for x in arguments)})", _ATOM
    if leaf is None:
        raise TypeError(f"not a marking expression: {node!r}")
    return leaf(node), _ATOM


def _constant(value: Exact) -> tuple[str, int]:
    text = decimal(value)
    if "/" in text:
        return text, _PRODUCT
    return text, _NEGATE if text.startswith("-") else _ATOM


def _binary(op: BinaryOp, a: Node, b: Node, leaf: Leaf | None) -> str:
    """Sums and products group to the left, powers to the right, comparisons not at all."""
    level = _BINDING[op]
    left = level + 1 if op is BinaryOp.POW or level == _COMPARE else level
    right = _NEGATE if op is BinaryOp.POW else level + 1
    return f"{_at_least(a, left, leaf)} {op.value} {_at_least(b, right, leaf)}"


def _at_least(node: Node, binding: int, leaf: Leaf | None) -> str:
    text, own = _write(node, leaf)
    return text if own >= binding else f"({text})"
