"""The exponential law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, assign, positive, scalar, spell
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential(Law):
    """P(X > x) = exp(-rate * x). Draw: standard_exponential() / rate."""

    rate: float
    family: ClassVar[str] = "exp"

    def __post_init__(self) -> None:
        assign(self, rate=positive("rate", self.rate))

    def mean(self) -> float:
        return 1 / self.rate

    def variance(self) -> float:
        return 1 / self.rate / self.rate

    def cdf(self, x: Floats | float) -> Floats:
        return np.asarray(-np.expm1(-self.rate * np.maximum(np.asarray(x, dtype=float), 0.0)))

    def quantile(self, p: Floats | float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(np.log1p(-np.asarray(p, dtype=float))) / self.rate)

    def draw(self, rng: Source) -> float:
        return rng.standard_exponential() / self.rate

    def phase_type(self) -> PhaseType:
        return PhaseType(alpha=(1.0,), generator=((-self.rate,),))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.EXPONENTIAL, (self.rate,)

    def spelling(self, style: Style) -> str:
        return spell("exp", style, ("rate", self.rate, Role.RATE))


FAMILY = Family(
    name="exp",
    law=Exponential,
    summary="exponential: no memory",
    forms=(
        Form(
            parameters=(Parameter(name="mean", role=Role.WORK),),
            build=lambda given: Exponential(rate=1 / positive("mean", scalar(given, "mean"))),
        ),
        Form(
            parameters=(Parameter(name="rate", role=Role.RATE),),
            build=lambda given: Exponential(rate=positive("rate", scalar(given, "rate"))),
        ),
    ),
)
