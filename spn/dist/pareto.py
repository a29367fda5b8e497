"""The Pareto law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, assign, positive, scalar, spell
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto(Law):
    """P(X > x) = (scale/x)^alpha for x >= scale (Pareto of the first kind: ``scale`` is the smallest value). The mean is infinite for
    alpha <= 1, the variance for alpha <= 2. Draw: scale * exp(standard_exponential() / alpha)."""

    alpha: float
    scale: float
    family: ClassVar[str] = "pareto"

    def __post_init__(self) -> None:
        alpha = positive("alpha", self.alpha)
        if alpha < 0.1:
            raise ValueError(f"alpha must be at least 0.1, not {alpha:g}: draws would leave the range of numbers")
        assign(self, alpha=alpha, scale=positive("scale", self.scale))

    def mean(self) -> float:
        return math.inf if self.alpha <= 1 else self.alpha * self.scale / (self.alpha - 1)

    def variance(self) -> float:
        a = self.alpha
        return math.inf if a <= 2 else self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def cdf(self, x: Floats | float) -> Floats:
        return np.asarray(-np.expm1(-self.alpha * np.log(np.maximum(np.asarray(x, dtype=float), self.scale) / self.scale)))

    def quantile(self, p: Floats | float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * np.exp(-np.log1p(-np.asarray(p, dtype=float)) / self.alpha))

    def draw(self, rng: Source) -> float:
        return self.scale * math.exp(rng.standard_exponential() / self.alpha)

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.PARETO, (self.alpha, self.scale)

    def spelling(self, style: Style) -> str:
        return spell("pareto", style, ("alpha", self.alpha, Role.NUMBER), ("scale", self.scale, Role.WORK))


FAMILY = Family(
    name="pareto",
    law=Pareto,
    summary="P(X > x) = (scale/x)^alpha from the smallest value scale on",
    forms=(
        Form(
            parameters=(Parameter(name="alpha"), Parameter(name="scale", role=Role.WORK)),
            build=lambda given: Pareto(alpha=positive("alpha", scalar(given, "alpha")), scale=positive("scale", scalar(given, "scale"))),
        ),
    ),
)
