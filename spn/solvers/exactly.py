"""Measures in rational arithmetic, for the methods whose answers are exact, and refusals without repetition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from spn.errors import Diagnostic
from spn.expr.evaluate import Undefined, arithmetic
from spn.expr.nodes import Atom, Exact, Node, exact
from spn.measure import Primitive, ratio
from spn.net.model import Net

LARGEST = 10**15  # denominators beyond this say little to a reader


def once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without what is said of the same place again: replicas share their text."""
    seen: dict[object, Diagnostic] = {}
    for d in found:
        seen.setdefault((d.code, d.span) if d.span is not None else d.message, d)
    return list(seen.values())


def rational(x: Exact) -> Fraction:
    """A finite number as a fraction, a float by its decimal digits."""
    found = exact(x)
    if not isinstance(found, Fraction):
        raise ValueError(f"{x} is no finite number")
    return found


def exact_value(body: Node, net: Net, known: Mapping[Primitive, Fraction | float]) -> Fraction | None:
    """The measure as a rational number; None where it is none, or has no finite value."""

    def leaf(atom: Node) -> Exact:
        assert isinstance(atom, Atom)
        r = ratio(atom, net)
        top = sum((known[p] for p in r.numerators), Fraction(0)) * _factor(r.factor)
        if r.denominators is None:
            return top
        bottom = sum((known[p] for p in r.denominators), Fraction(0))
        if not bottom:
            raise Undefined("a ratio of two values that are 0")
        return top / bottom

    try:
        found = arithmetic(body, leaf)
    except (Undefined, OverflowError):
        return None
    return found if isinstance(found, Fraction) else None


def _factor(f: float) -> Fraction:
    """One over a number of servers, or over a capacity."""
    return 1 / rational(1 / f) if f else Fraction(0)


def fraction_text(x: Fraction) -> str:
    """A fraction that a decimal of six digits does not give exactly, else nothing."""
    if x.denominator == 1 or x.denominator > LARGEST or (10**6 * x).denominator == 1:
        return ""
    return f"{x.numerator}/{x.denominator}"
