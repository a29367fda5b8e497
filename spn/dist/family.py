"""What the model language must know of a family: its name, its alternative parameter lists, and how to build the law.

A :class:`Family` has one or more :class:`Form`; the parameter names given decide which one is meant. Parameters are checked twice: here
for their names, and in the law's constructor for their values. Both raise :class:`ValueError` with a text for people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from spn.dist.law import FULL, Law, Style
from spn.expr.nodes import Exact

Argument = Exact | tuple[Exact, ...] | tuple[tuple[Exact, ...], ...]
Given = Mapping[str, Argument]


class Role(StrEnum):
    """What a parameter measures, relative to the unit of the work (time, or bytes for a transfer)."""

    WORK = "work"  # a time or a size
    RATE = "rate"  # 1 / work
    NUMBER = "number"
    LOG = "log"  # the logarithm of a work in base units; written as a bare number


class Shape(StrEnum):
    SCALAR = "scalar"
    LIST = "list"
    MATRIX = "matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a form. ``positional``: may be given without its name, in the order of the form; ``whole``: a whole number."""

    name: str
    role: Role = Role.NUMBER
    shape: Shape = Shape.SCALAR
    positional: bool = False
    required: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One parametrisation. ``build`` takes the parameters by name, in base units, and raises ValueError for values out of range."""

    parameters: tuple[Parameter, ...]
    build: Callable[[Given], Law]

    def signature(self) -> str:
        """The parameters as a user would list them: ``k, mean=``."""
        return ", ".join(p.name if p.positional else f"{p.name}=" for p in self.parameters)

    def takes(self, names: frozenset[str]) -> bool:
        known = {p.name for p in self.parameters}
        return names <= known and {p.name for p in self.parameters if p.required} <= names


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of laws under the name that the language gives it; ``summary`` is one line for documentation."""

    name: str
    law: type[Law]
    forms: tuple[Form, ...]
    summary: str

    def signatures(self) -> str:
        return " or ".join(f"{self.name}({form.signature()})" for form in self.forms)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name in any form, or None."""
        return next((p for form in self.forms for p in form.parameters if p.name == name), None)

    def form(self, names: Sequence[str]) -> Form:
        """The form that takes exactly these names; ValueError says which there are."""
        given = frozenset(names)
        for form in self.forms:
            if form.takes(given):
                return form
        listed = ", ".join(sorted(given)) or "nothing"
        raise ValueError(f"{self.name} takes {self.signatures()}; given {listed}")

    def build(self, parameters: Given) -> Law:
        """The law with these parameters in base units."""
        return self.form(tuple(parameters)).build(parameters)


def scalar(given: Given, name: str) -> Exact:
    value = given[name]
    if isinstance(value, tuple):
        raise ValueError(f"{name} is one number, not a list")
    return value


def vector(given: Given, name: str) -> tuple[Exact, ...]:
    value = given[name]
    if not isinstance(value, tuple) or any(isinstance(v, tuple) for v in value):
        raise ValueError(f"{name} is a list of numbers")
    return tuple(v for v in value if not isinstance(v, tuple))


def matrix(given: Given, name: str) -> tuple[tuple[Exact, ...], ...]:
    value = given[name]
    if not isinstance(value, tuple) or not all(isinstance(row, tuple) for row in value):
        raise ValueError(f"{name} is a list of rows, each a list of numbers")
    return tuple(row for row in value if isinstance(row, tuple))


def finite(name: str, value: Exact) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number:g}")
    return number


def positive(name: str, value: Exact) -> float:
    number = finite(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, not {number:g}")
    return number


def not_negative(name: str, value: Exact) -> float:
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, but is {number:g}")
    return number


def spread(name: str, value: Exact) -> float:
    """A coefficient of variation or standard deviation: positive, for without spread the law is a constant."""
    if value == 0:
        raise ValueError(f"{name} is 0: a constant is det(value)")
    return positive(name, value)


def probabilities(name: str, values: Sequence[Exact]) -> tuple[float, ...]:
    """Probabilities that sum to 1 (to rounding: 1e-9), scaled to sum to 1 exactly as floats do."""
    if not values:
        raise ValueError(f"{name} is empty")
    for value in values:
        not_negative(name, value)
    total = math.fsum(float(v) for v in values)
    if abs(total - 1) > 1e-9:
        raise ValueError(f"{name} must sum to 1, but sum to {total:.12g}")
    return tuple(float(v) / total for v in values)


def cumulative(probs: Sequence[float]) -> tuple[float, ...]:
    """Running sums, the last one exactly 1, for a choice by ``random() < sum``."""
    total, sums = 0.0, []
    for p in probs:
        total += p
        sums.append(total)
    sums[-1] = 1.0
    return tuple(sums)


def assign(law: Law, **values: object) -> None:
    """Set checked fields of a frozen law; for constructors alone."""
    for name, value in values.items():
        object.__setattr__(law, name, value)


def spell(family: str, style: Style, *terms: tuple[str, object, Role]) -> str:
    """``family(name=value, …)``; a term with an empty name is positional."""
    texts = (written(value, role, style) for _, value, role in terms)
    return f"{family}({', '.join(f'{name}={text}' if name else text for (name, _, _), text in zip(terms, texts, strict=True))})"


def written(value: object, role: Role, style: Style) -> str:
    """A number, list or matrix as the language writes it, with the unit that its role asks for."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(written(v, role, style) for v in value) + "]"
    assert isinstance(value, int | float | Fraction)
    units = {Role.WORK: f" {style.unit}", Role.RATE: f"/{style.unit}"} if style.unit else {}
    return digits(value, style.digits) + units.get(role, "")


def digits(value: Exact | int, count: int) -> str:
    """The decimal text of a number; the shortest that reads back the same float where ``count`` is ``FULL``."""
    text = repr(float(value)) if count >= FULL else format(float(value), f".{count}g")
    text = re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", text)
    return text[:-2] if text.endswith(".0") else text
