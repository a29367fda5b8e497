"""Physical dimensions: products of powers of time (seconds) and data (bytes)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Dimension:
    """``seconds**time * bytes**data``; both exponents 0 is a plain number."""

    time: Fraction = Fraction(0)
    data: Fraction = Fraction(0)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(self.time + other.time, self.data + other.data)

    def __truediv__(self, other: Dimension) -> Dimension:
        return Dimension(self.time - other.time, self.data - other.data)

    def __pow__(self, exponent: Fraction | int) -> Dimension:
        return Dimension(self.time * exponent, self.data * exponent)

    def __str__(self) -> str:
        over = [_power(u, e) for u, e in (("bytes", self.data), ("s", self.time)) if e > 0]
        under = [_power(u, -e) for u, e in (("bytes", self.data), ("s", self.time)) if e < 0]
        if not over and not under:
            return "number"
        return "*".join(over or ["1"]) + "".join("/" + u for u in under)


def _power(unit: str, exponent: Fraction) -> str:
    return unit if exponent == 1 else f"{unit}^{exponent}"


NUMBER = Dimension()
TIME = Dimension(time=Fraction(1))
DATA = Dimension(data=Fraction(1))
RATE = NUMBER / TIME
BANDWIDTH = DATA / TIME

_BASE_UNITS = {NUMBER: "", TIME: "s", DATA: "B", RATE: "1/s", BANDWIDTH: "B/s"}


def base_unit(dimension: Dimension) -> str:
    """The name of a dimension's base unit, empty for plain numbers."""
    return _BASE_UNITS.get(dimension, str(dimension))
