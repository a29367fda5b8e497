"""The constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, not_negative, scalar, spell
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source
from spn.expr.nodes import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Deterministic(Law):
    """Always ``value`` >= 0, kept exact, so that delays add up to equal sums. A draw takes nothing from the generator."""

    value: Exact
    family: ClassVar[str] = "det"

    def __post_init__(self) -> None:
        not_negative("the value of det", self.value)

    def mean(self) -> float:
        return float(self.value)

    def variance(self) -> float:
        return 0.0

    def cdf(self, x: Floats | float) -> Floats:
        return (np.asarray(x, dtype=float) >= float(self.value)).astype(float)

    def quantile(self, p: Floats | float) -> Floats:
        return np.full(np.shape(p), float(self.value))

    def draw(self, rng: Source) -> float:
        return float(self.value)

    def atoms(self) -> tuple[tuple[Exact, float], ...]:
        return ((self.value, 1.0),)

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.DETERMINISTIC, (float(self.value),)

    def spelling(self, style: Style) -> str:
        return spell("det", style, ("", self.value, Role.WORK))


FAMILY = Family(
    name="det",
    law=Deterministic,
    summary="a constant",
    forms=(
        Form(
            parameters=(Parameter(name="value", role=Role.WORK, positional=True),),
            build=lambda given: Deterministic(value=scalar(given, "value")),
        ),
    ),
)
