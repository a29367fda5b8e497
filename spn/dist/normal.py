"""The normal law cut at 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, assign, finite, scalar, spell, spread
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source

LEAST_SHARE = 1e-3  # of draws that are not negative: below it resampling is hopeless, and so is the model


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedNormal(Law):
    """A normal of mean ``mu`` and deviation ``sigma`` given that it is not negative: negative draws are drawn again. The resulting
    :meth:`mean` is above ``mu``. Draw: mu + sigma * standard_normal(), again while negative."""

    mu: float
    sigma: float
    family: ClassVar[str] = "normal"

    def __post_init__(self) -> None:
        mu, sigma = finite("mean", self.mu), spread("sd", self.sigma)
        share = math.erfc(-mu / sigma / math.sqrt(2)) / 2
        if share < LEAST_SHARE:
            raise ValueError(f"normal(mean={mu:g}, sd={sigma:g}) is negative with probability {1 - share:.6g}: it cannot be a duration")
        assign(self, mu=mu, sigma=sigma)

    def mean(self) -> float:
        return self.mu + self.sigma * self._hazard()

    def variance(self) -> float:
        h = self._hazard()
        return self.sigma**2 * (1 - h * (h + self.mu / self.sigma))

    def cdf(self, x: Floats | float) -> Floats:
        from scipy.special import ndtr

        below = ndtr(-self.mu / self.sigma)
        inside = (ndtr((np.asarray(x, dtype=float) - self.mu) / self.sigma) - below) / (1 - below)
        return np.asarray(np.clip(inside, 0.0, 1.0))

    def quantile(self, p: Floats | float) -> Floats:
        from scipy.special import ndtr, ndtri

        # from above, so that the far tail keeps its digits
        above = (1 - np.asarray(p, dtype=float)) * ndtr(self.mu / self.sigma)
        return np.asarray(np.maximum(self.mu - self.sigma * ndtri(above), 0.0))

    def draw(self, rng: Source) -> float:
        while True:
            x = self.mu + self.sigma * rng.standard_normal()
            if x >= 0:
                return x

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.NORMAL, (self.mu, self.sigma)

    def spelling(self, style: Style) -> str:
        return spell("normal", style, ("mean", self.mu, Role.WORK), ("sd", self.sigma, Role.WORK))

    def _hazard(self) -> float:
        """Density over tail probability of the standard normal at the cut."""
        z = -self.mu / self.sigma
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (math.erfc(z / math.sqrt(2)) / 2)


FAMILY = Family(
    name="normal",
    law=TruncatedNormal,
    summary="normal cut at 0 by drawing again; the mean that results is reported",
    forms=(
        Form(
            parameters=(Parameter(name="mean", role=Role.WORK), Parameter(name="sd", role=Role.WORK)),
            build=lambda given: TruncatedNormal(mu=finite("mean", scalar(given, "mean")), sigma=spread("sd", scalar(given, "sd"))),
        ),
    ),
)
