"""The hypoexponential law: exponential stages in a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, Shape, assign, positive, spell, vector
from spn.dist.hyperexponential import positive_rates
from spn.dist.invert import unbounded
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.markovian import absorbed
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class HypoExponential(Law):
    """The sum of independent exponentials of the given ``rates``. Draw: standard_exponential() / rate for each in order, added up."""

    rates: tuple[float, ...]
    family: ClassVar[str] = "hypoexp"

    def __post_init__(self) -> None:
        assign(self, rates=positive_rates(self.rates))

    def mean(self) -> float:
        return math.fsum(1 / r for r in self.rates)

    def variance(self) -> float:
        return math.fsum(1 / r / r for r in self.rates)

    def cdf(self, x: Floats | float) -> Floats:
        return absorbed(self.phase_type(), x)

    def quantile(self, p: Floats | float) -> Floats:
        return unbounded(self.cdf, p)

    def draw(self, rng: Source) -> float:
        total = 0.0
        for rate in self.rates:
            total += rng.standard_exponential() / rate
        return total

    def phase_type(self) -> PhaseType:
        n, r = len(self.rates), self.rates
        rows = (tuple(-r[i] if j == i else r[i] if j == i + 1 else 0.0 for j in range(n)) for i in range(n))
        return PhaseType(alpha=(1.0,) + (0.0,) * (n - 1), generator=tuple(rows))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.HYPOEXPONENTIAL, self.rates

    def spelling(self, style: Style) -> str:
        return spell("hypoexp", style, ("rates", self.rates, Role.RATE))


def _by_means(given: Given) -> HypoExponential:
    return HypoExponential(rates=tuple(1 / positive("a mean", m) for m in vector(given, "means")))


FAMILY = Family(
    name="hypoexp",
    law=HypoExponential,
    summary="sum of exponential stages of different rates",
    forms=(
        Form(
            parameters=(Parameter(name="rates", role=Role.RATE, shape=Shape.LIST),),
            build=lambda given: HypoExponential(rates=positive_rates(vector(given, "rates"))),
        ),
        Form(parameters=(Parameter(name="means", role=Role.WORK, shape=Shape.LIST),), build=_by_means),
    ),
)
