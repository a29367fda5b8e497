"""The Weibull law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, assign, positive, scalar, spell, spread
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source

LOW_CV, HIGH_CV = 1e-4, 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull(Law):
    """P(X > x) = exp(-(x/scale)^shape). Draw: scale * standard_exponential() ** (1/shape)."""

    shape: float
    scale: float
    family: ClassVar[str] = "weibull"

    def __post_init__(self) -> None:
        assign(self, shape=positive("shape", self.shape), scale=positive("scale", self.scale))

    def mean(self) -> float:
        return self.scale * _exp(math.lgamma(1 + 1 / self.shape))

    def variance(self) -> float:
        mean = self.mean()
        return mean * mean * _exp_minus_1(log_second_ratio(self.shape))

    def cdf(self, x: Floats | float) -> Floats:
        return np.asarray(-np.expm1(-((np.maximum(np.asarray(x, dtype=float), 0.0) / self.scale) ** self.shape)))

    def quantile(self, p: Floats | float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * np.abs(np.log1p(-np.asarray(p, dtype=float))) ** (1 / self.shape))

    def draw(self, rng: Source) -> float:
        return float(self.scale * rng.standard_exponential() ** (1 / self.shape))

    def phase_type(self) -> PhaseType | None:
        """The exponential law where the shape is 1."""
        return PhaseType(alpha=(1.0,), generator=((-1 / self.scale,),)) if self.shape == 1 else None

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.WEIBULL, (self.shape, self.scale)

    def spelling(self, style: Style) -> str:
        return spell("weibull", style, ("shape", self.shape, Role.NUMBER), ("scale", self.scale, Role.WORK))


def log_second_ratio(shape: float) -> float:
    """ln(E X^2 / (E X)^2) of a Weibull law."""
    return math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _exp_minus_1(x: float) -> float:
    return math.expm1(x) if x < 709 else math.inf


def _shape_of(cv: float) -> float:
    """The shape with this coefficient of variation, by bisection of its logarithm (the ratio of moments falls with the shape)."""
    target = math.log1p(cv * cv)
    low, high = math.log(0.02), math.log(1e6)
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return math.exp(middle)
        if log_second_ratio(math.exp(middle)) > target:
            low = middle
        else:
            high = middle


def _by_moments(given: Given) -> Weibull:
    mean, cv = positive("mean", scalar(given, "mean")), spread("cv", scalar(given, "cv"))
    if not LOW_CV <= cv <= HIGH_CV:
        raise ValueError(f"weibull(mean=, cv=) takes cv from {LOW_CV:g} to {HIGH_CV:g}, not {cv:g}; give shape= and scale=")
    shape = _shape_of(cv)
    return Weibull(shape=shape, scale=mean / math.exp(math.lgamma(1 + 1 / shape)))


FAMILY = Family(
    name="weibull",
    law=Weibull,
    summary="P(X > x) = exp(-(x/scale)^shape)",
    forms=(
        Form(
            parameters=(Parameter(name="shape"), Parameter(name="scale", role=Role.WORK)),
            build=lambda given: Weibull(shape=positive("shape", scalar(given, "shape")), scale=positive("scale", scalar(given, "scale"))),
        ),
        Form(parameters=(Parameter(name="mean", role=Role.WORK), Parameter(name="cv")), build=_by_moments),
    ),
)
