"""The lognormal law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, assign, finite, positive, scalar, spell, spread
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source

MAX_SIGMA = 18.0  # beyond it the mean overflows


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal(Law):
    """exp(mu + sigma * Z), Z standard normal; ``mu`` is the logarithm of the median in base units.
    Draw: exp(mu + sigma * standard_normal())."""

    mu: float
    sigma: float
    family: ClassVar[str] = "lognormal"

    def __post_init__(self) -> None:
        mu, sigma = finite("mu", self.mu), spread("sigma", self.sigma)
        if abs(mu) > 600 or sigma > MAX_SIGMA:
            raise ValueError(
                f"lognormal(mu={mu:g}, sigma={sigma:g}) leaves the range of numbers; mu is ln(median), sigma at most {MAX_SIGMA:g}"
            )
        assign(self, mu=mu, sigma=sigma)

    def mean(self) -> float:
        return _exp(self.mu + self.sigma**2 / 2)

    def variance(self) -> float:
        return math.expm1(self.sigma**2) * _exp(2 * self.mu + self.sigma**2)

    def cdf(self, x: Floats | float) -> Floats:
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(np.maximum(np.asarray(x, dtype=float), 0.0)) - self.mu) / self.sigma))

    def quantile(self, p: Floats | float) -> Floats:
        from scipy.special import ndtri

        return np.exp(self.mu + self.sigma * np.asarray(ndtri(p)))

    def draw(self, rng: Source) -> float:
        return math.exp(self.mu + self.sigma * rng.standard_normal())

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.LOGNORMAL, (self.mu, self.sigma)

    def spelling(self, style: Style) -> str:
        if not math.isfinite(self.variance()):
            return spell("lognormal", style, ("mu", self.mu, Role.LOG), ("sigma", self.sigma, Role.NUMBER))
        return spell("lognormal", style, ("mean", self.mean(), Role.WORK), ("cv", math.sqrt(math.expm1(self.sigma**2)), Role.NUMBER))


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _by_moments(given: Given) -> Lognormal:
    mean, cv = positive("mean", scalar(given, "mean")), spread("cv", scalar(given, "cv"))
    square = math.log1p(cv * cv)
    return Lognormal(mu=math.log(mean) - square / 2, sigma=math.sqrt(square))


FAMILY = Family(
    name="lognormal",
    law=Lognormal,
    summary="exponential of a normal, by its own mean and coefficient of variation or by mu and sigma of the logarithm",
    forms=(
        Form(parameters=(Parameter(name="mean", role=Role.WORK), Parameter(name="cv")), build=_by_moments),
        Form(
            parameters=(Parameter(name="mu", role=Role.LOG), Parameter(name="sigma")),
            build=lambda given: Lognormal(mu=finite("mu", scalar(given, "mu")), sigma=spread("sigma", scalar(given, "sigma"))),
        ),
    ),
)
