"""Numbers and quantities as people read them: the one place that decides digits and units.

Values come in base units (seconds, bytes). Exact quantities, which are somebody's inputs, get the unit in which
they are shortest (``97.5 MiB``, not ``102.23616 MB``); results get a number of significant digits, and an estimate only as many as
its interval supports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from spn.expr.dims import BANDWIDTH, DATA, NUMBER, RATE, TIME, Dimension
from spn.expr.nodes import Exact
from spn.expr.text import decimal

DIGITS: Final = 6

_ONE, _KILO = Fraction(1), Fraction(1000)
_HUGE = Fraction(10**30)


@dataclass(frozen=True, slots=True)
class _Scale:
    """A unit, its size in the base unit, and the range of numbers that read well in it."""

    unit: str
    size: Fraction
    low: Fraction = _ONE
    high: Fraction = _KILO


_TIME: Final = (
    _Scale("s", _ONE, high=Fraction(10**4)),
    *(_Scale(unit, Fraction(1, 1000**k)) for k, unit in enumerate(("ms", "us", "ns"), 1)),
    _Scale("min", Fraction(60), high=Fraction(300)),
    _Scale("h", Fraction(3600)),
    _Scale("d", Fraction(86400)),
)
_DATA: Final = (
    *(_Scale(unit, Fraction(1000**k)) for k, unit in enumerate(("B", "kB", "MB", "GB", "TB"))),
    *(_Scale(unit, Fraction(1024**k)) for k, unit in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)),
)
_PER_TIME: Final = (
    _Scale("/s", _ONE, low=Fraction(1, 1000), high=_HUGE),
    *(_Scale(f"/{unit}", 1 / Fraction(size), low=Fraction(1, 10)) for unit, size in (("min", 60), ("h", 3600), ("d", 86400))),
)
_BANDWIDTH: Final = (
    *(_Scale(unit, Fraction(1000**k, 8)) for k, unit in enumerate(("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"))),
    *(_Scale(f"{data.unit}/s", data.size) for data in _DATA),
)
_SCALES: Final = {TIME: _TIME, DATA: _DATA, RATE: _PER_TIME, BANDWIDTH: _BANDWIDTH}


def number(value: float, digits: int = DIGITS) -> str:
    """A value to ``digits`` significant digits, without trailing noughts; plain notation from 1e-4 to 1e9, ``inf`` and ``nan`` by name."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -5 < exponent < 9:
        return _scientific(value, digits)
    text = f"{value:.{max(0, digits - 1 - exponent)}f}"
    return _trimmed(text)


def _scientific(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{_trimmed(mantissa)}e{int(exponent)}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def estimate(value: float, half_width: float | None, digits: int = DIGITS) -> tuple[str, str]:
    """The texts of a value and of its half-width; the half-width has two significant digits and the value as many decimals.

    Without a half-width the value has ``digits`` significant digits and the second text is empty.
    """
    if half_width is None:
        return number(value, digits), ""
    if not (math.isfinite(half_width) and math.isfinite(value)):
        return number(value, digits), number(half_width, 2)
    if half_width == 0:
        return number(value, digits), "0"
    decimals = 1 - math.floor(math.log10(abs(half_width)))
    largest = max(abs(value), half_width)
    if decimals > 9 or largest >= 1e9:
        return number(value, digits), number(half_width, 2)
    return f"{value:.{max(0, decimals)}f}", f"{half_width:.{max(0, decimals)}f}"


def percent(share: float, digits: int = 3) -> str:
    """A share as a percentage: ``98.7 %``."""
    return f"{number(100 * share, digits)} %"


def count(n: int, noun: str, plural: str = "") -> str:
    """``1 place``, ``1,771 markings``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """How long something took: ``3 ms``, ``4.2 s``, ``2 min 5 s``."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms" if seconds >= 0.0095 else f"{seconds * 1e3:.1f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def quantity(value: Exact, dimension: Dimension, digits: int = DIGITS) -> str:
    """An input with the unit that makes it shortest: ``180 ms``, ``97.5 MiB``, ``10 Gbit/s``, ``4/s``; a plain number without a unit.

    Rounded to ``digits`` significant digits; exact text wins over rounded, then shorter over longer, then the more common unit.
    """
    scales = _SCALES.get(dimension)
    if scales is None:
        return constant(value, digits) if dimension == NUMBER else f"{number(float(value), digits)} {dimension}"
    if value == 0 or (isinstance(value, float) and not math.isfinite(value)):
        return _joined(number(float(value)), scales[0].unit)
    return min(_candidate(Fraction(value), scale, order, digits) for order, scale in enumerate(scales))[-1]


def common_unit(values: Iterable[float], dimension: Dimension) -> tuple[str, float]:
    """A unit in which all of the values read well, and its size in the base unit: that of the largest; no unit for pure numbers."""
    scales = _SCALES.get(dimension)
    if scales is None:
        return ("" if dimension == NUMBER else str(dimension)), 1.0
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if not largest:
        return ("1" if scales[0].unit.startswith("/") else "") + scales[0].unit, 1.0
    order = min(range(len(scales)), key=lambda i: _candidate(Fraction(largest), scales[i], i, DIGITS))
    chosen = scales[order]
    return ("1" if chosen.unit.startswith("/") else "") + chosen.unit, float(chosen.size)


def is_short(value: Exact, dimension: Dimension, digits: int = DIGITS) -> bool:
    """Whether :func:`quantity` states the value without rounding (to within what a double holds)."""
    scales = _SCALES.get(dimension)
    if scales is None or value == 0 or (isinstance(value, float) and not math.isfinite(value)):
        return True
    return not min(_candidate(Fraction(value), scale, order, digits) for order, scale in enumerate(scales))[1]


def _candidate(value: Fraction, scale: _Scale, order: int, digits: int) -> tuple[bool, bool, int, int, str]:
    """How badly a unit suits (unhandy, rounded, length with a bonus for the base unit and for whole minutes, hours and days, rank) and
    the text in it."""
    scaled = value / scale.size
    text = number(float(scaled), digits)
    natural = scale.unit in ("min", "h", "d") and text.isdecimal()
    rounded = abs(Fraction(text) - scaled) > abs(scaled) * Fraction(1, 10**12)
    return not scale.low <= abs(scaled) < scale.high, rounded, len(text) + 2 * (order > 0 and not natural), order, _joined(text, scale.unit)


def _joined(text: str, unit: str) -> str:
    return text + unit if unit.startswith("/") else f"{text} {unit}"


def with_unit(text: str, unit: str) -> str:
    """A number's text and a unit's name: ``4/s``, ``12 ms``, and the bare number where there is no unit."""
    if unit.startswith("1/"):
        return text + unit[1:]
    return _joined(text, unit) if unit else text


def constant(value: Exact, digits: int = DIGITS) -> str:
    """A pure number among labels: exact when short, rounded otherwise."""
    if isinstance(value, float):
        return number(value, digits)
    exact = decimal(value)
    return exact if len(exact) <= digits + 1 else number(float(value), digits)
