"""The beta law on an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, assign, finite, not_negative, positive, scalar, spell
from spn.dist.law import ZERO, Floats, Law, Style
from spn.dist.random import Source

LEAST = 0.02  # shapes below it put all but rounding on the two ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Beta(Law):
    """low + (high - low) * B, B on [0, 1] with density proportional to x^(alpha-1) (1-x)^(beta-1).
    Draw: g = standard_gamma(alpha), h = standard_gamma(beta), B = g / (g + h); both again should both be 0."""

    alpha: float
    beta: float
    low: float
    high: float
    family: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        alpha, beta = positive("alpha", self.alpha), positive("beta", self.beta)
        if min(alpha, beta) < LEAST:
            raise ValueError(f"alpha and beta must be at least {LEAST:g}; a law on the two ends is mix(p: det(low), q: det(high))")
        low, high = not_negative("low", self.low), finite("high", self.high)
        if high <= low:
            raise ValueError(f"beta needs low < high, but {low:g} is not below {high:g}")
        assign(self, alpha=alpha, beta=beta, low=low, high=high)

    def mean(self) -> float:
        return self.low + (self.high - self.low) * self.alpha / (self.alpha + self.beta)

    def variance(self) -> float:
        total = self.alpha + self.beta
        return (self.high - self.low) ** 2 * self.alpha * self.beta / (total * total * (total + 1))

    def cdf(self, x: Floats | float) -> Floats:
        from scipy.special import betainc

        inside = np.clip((np.asarray(x, dtype=float) - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.asarray(betainc(self.alpha, self.beta, inside))

    def quantile(self, p: Floats | float) -> Floats:
        from scipy.special import betaincinv

        return np.asarray(self.low + (self.high - self.low) * betaincinv(self.alpha, self.beta, p))

    def draw(self, rng: Source) -> float:
        while True:
            g, h = rng.standard_gamma(self.alpha), rng.standard_gamma(self.beta)
            if g + h > 0:
                return self.low + (self.high - self.low) * (g / (g + h))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.BETA, (self.alpha, self.beta, self.low, self.high)

    def spelling(self, style: Style) -> str:
        bounds = tuple((n, getattr(self, n), Role.WORK) for n in ("low", "high"))
        return spell("beta", style, ("alpha", self.alpha, Role.NUMBER), ("beta", self.beta, Role.NUMBER), *bounds)


def _build(given: Given) -> Beta:
    low = scalar(given, "low") if "low" in given else ZERO
    shapes = {n: positive(n, scalar(given, n)) for n in ("alpha", "beta")}
    return Beta(**shapes, low=finite("low", low), high=finite("high", scalar(given, "high")))


FAMILY = Family(
    name="beta",
    law=Beta,
    summary="beta between low (0 unless said) and high",
    forms=(
        Form(
            parameters=(
                Parameter(name="alpha"),
                Parameter(name="beta"),
                Parameter(name="low", role=Role.WORK, required=False),
                Parameter(name="high", role=Role.WORK),
            ),
            build=_build,
        ),
    ),
)
