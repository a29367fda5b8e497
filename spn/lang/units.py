"""The unit words of the language, and unit expressions such as ``Gbit/s`` or ``1/s``."""

from __future__ import annotations

from fractions import Fraction

from spn.expr.dims import BANDWIDTH, DATA, NUMBER, RATE, TIME, Dimension
from spn.expr.nodes import BinaryOp
from spn.lang import ast

Unit = tuple[Dimension, Fraction]

_TIMES = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_BYTES = {
    "B": Fraction(1),
    "bytes": Fraction(1),
    **{prefix + "B": Fraction(1000**n) for n, prefix in enumerate(("k", "M", "G", "T"), start=1)},
    **{prefix + "iB": Fraction(1024**n) for n, prefix in enumerate(("K", "M", "G", "T"), start=1)},
    **{prefix + "bit": Fraction(1000**n, 8) for n, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{prefix + "ibit": Fraction(1024**n, 8) for n, prefix in enumerate(("K", "M", "G", "T"), start=1)},
}

PERCENT = "%"

UNITS: dict[str, Unit] = {
    **{word: (TIME, factor) for word, factor in _TIMES.items()},
    **{word: (DATA, factor) for word, factor in _BYTES.items()},
    PERCENT: (NUMBER, Fraction(1, 100)),
}

_PROPOSED = {TIME: "s", DATA: "bytes", RATE: "/s", BANDWIDTH: "bytes/s", NUMBER / DATA: "/bytes"}
MAX_POWER = 8  # of a unit, in a unit expression


def is_unit(word: str) -> bool:
    return word in UNITS


def proposed(dimension: Dimension, number: str) -> str:
    """How a bare number would be written with a unit of this dimension: ``3`` and time give ``3 s``, and a rate ``3/s``; a unit stands
    right after a literal only, so ``n`` gives ``n * s``."""
    unit = _PROPOSED.get(dimension, str(dimension))
    if unit.startswith("/"):
        return f"{number}{unit}"
    return f"{number} {unit}" if number[:1].isdigit() else f"{number} * {unit}"


def unit_of(node: ast.Expr) -> Unit | None:
    """Dimension and factor to base units of a unit expression: unit words and 1 under ``* / ^``; None for anything else."""
    match node:
        case ast.Number(value=value):
            return (NUMBER, Fraction(1)) if value == 1 else None
        case ast.Name(text=word, in_quotes=False):
            return UNITS.get(word)
        case ast.Quantity(value=value, unit=ast.Name(text=word)):
            return UNITS.get(word) if value == 1 else None
        case ast.Binary(op=BinaryOp.MUL | BinaryOp.DIV as op, left=left, right=right):
            return _combined(op, unit_of(left), unit_of(right))
        case ast.Binary(op=BinaryOp.POW, left=left, right=ast.Number(value=power)):
            base = unit_of(left)
            small = power.denominator == 1 and abs(power) <= MAX_POWER
            return (base[0] ** power, Fraction(base[1] ** power.numerator)) if base and small else None
    return None


def _combined(op: BinaryOp, left: Unit | None, right: Unit | None) -> Unit | None:
    if left is None or right is None:
        return None
    if op is BinaryOp.MUL:
        return left[0] * right[0], left[1] * right[1]
    return left[0] / right[0], left[1] / right[1]
