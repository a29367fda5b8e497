"""The gamma law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.erlang import MAX_PHASES, stages
from spn.dist.family import Family, Form, Given, Parameter, Role, assign, positive, scalar, spell, spread
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Gamma(Law):
    """Density proportional to x^(shape-1) exp(-x/scale); mean shape * scale. Draw: standard_gamma(shape) * scale."""

    shape: float
    scale: float
    family: ClassVar[str] = "gamma"

    def __post_init__(self) -> None:
        assign(self, shape=positive("shape", self.shape), scale=positive("scale", self.scale))

    def mean(self) -> float:
        return self.shape * self.scale

    def variance(self) -> float:
        return self.shape * self.scale * self.scale

    def cdf(self, x: Floats | float) -> Floats:
        from scipy.special import gammainc

        return np.asarray(gammainc(self.shape, np.maximum(np.asarray(x, dtype=float), 0.0) / self.scale))

    def quantile(self, p: Floats | float) -> Floats:
        from scipy.special import gammaincinv

        return np.asarray(gammaincinv(self.shape, p) * self.scale)

    def draw(self, rng: Source) -> float:
        return rng.standard_gamma(self.shape) * self.scale

    def phase_type(self) -> PhaseType | None:
        """Erlang's stages where the shape is a whole number."""
        return stages(int(self.shape), 1 / self.scale) if self.shape == int(self.shape) and self.shape <= MAX_PHASES else None

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.GAMMA, (self.shape, self.scale)

    def spelling(self, style: Style) -> str:
        return spell("gamma", style, ("mean", self.mean(), Role.WORK), ("cv", self.cv(), Role.NUMBER))


def by_moments(given: Given) -> Gamma:
    mean, cv = positive("mean", scalar(given, "mean")), spread("cv", scalar(given, "cv"))
    return Gamma(shape=1 / cv**2, scale=mean * cv**2)


FAMILY = Family(
    name="gamma",
    law=Gamma,
    summary="gamma, by mean and coefficient of variation or by shape and scale",
    forms=(
        Form(parameters=(Parameter(name="mean", role=Role.WORK), Parameter(name="cv")), build=by_moments),
        Form(
            parameters=(Parameter(name="shape"), Parameter(name="scale", role=Role.WORK)),
            build=lambda given: Gamma(shape=positive("shape", scalar(given, "shape")), scale=positive("scale", scalar(given, "scale"))),
        ),
    ),
)
