"""The uniform law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, assign, finite, not_negative, scalar, spell
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(Law):
    """Constant density on [low, high], 0 <= low < high. Draw: low + (high - low) * random()."""

    low: float
    high: float
    family: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        low, high = not_negative("low", self.low), finite("high", self.high)
        if high <= low:
            raise ValueError(f"uniform needs low < high, but {low:g} is not below {high:g}")
        assign(self, low=low, high=high)

    def mean(self) -> float:
        return (self.low + self.high) / 2

    def variance(self) -> float:
        return (self.high - self.low) ** 2 / 12

    def cdf(self, x: Floats | float) -> Floats:
        return np.clip((np.asarray(x, dtype=float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def quantile(self, p: Floats | float) -> Floats:
        return self.low + (self.high - self.low) * np.asarray(p, dtype=float)

    def draw(self, rng: Source) -> float:
        return self.low + (self.high - self.low) * rng.random()

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.UNIFORM, (self.low, self.high)

    def spelling(self, style: Style) -> str:
        return spell("uniform", style, ("", self.low, Role.WORK), ("", self.high, Role.WORK))


FAMILY = Family(
    name="uniform",
    law=Uniform,
    summary="constant density between two bounds",
    forms=(
        Form(
            parameters=(Parameter(name="low", role=Role.WORK, positional=True), Parameter(name="high", role=Role.WORK, positional=True)),
            build=lambda given: Uniform(low=finite("low", scalar(given, "low")), high=finite("high", scalar(given, "high"))),
        ),
    ),
)
