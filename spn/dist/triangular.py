"""The triangular law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Parameter, Role, assign, finite, not_negative, scalar, spell
from spn.dist.law import Floats, Law, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Triangular(Law):
    """Density rising from ``low`` to ``mode`` and falling to ``high``, 0 <= low <= mode <= high, low < high.
    Draw: the quantile at random()."""

    low: float
    mode: float
    high: float
    family: ClassVar[str] = "triangular"

    def __post_init__(self) -> None:
        low, mode, high = not_negative("low", self.low), finite("mode", self.mode), finite("high", self.high)
        if not low <= mode <= high or low == high:
            raise ValueError(f"triangular needs low <= mode <= high and low < high, not {low:g}, {mode:g}, {high:g}")
        assign(self, low=low, mode=mode, high=high)

    def mean(self) -> float:
        return (self.low + self.mode + self.high) / 3

    def variance(self) -> float:
        rise, width = self.mode - self.low, self.high - self.low
        return (width * width - rise * width + rise * rise) / 18

    def cdf(self, x: Floats | float) -> Floats:
        at = np.clip(np.asarray(x, dtype=float), self.low, self.high)
        width = self.high - self.low
        rise, fall = max(self.mode - self.low, 5e-324), max(self.high - self.mode, 5e-324)
        left = ((at - self.low) / width) * (np.minimum(at - self.low, rise) / rise)
        right = 1 - ((self.high - at) / width) * (np.minimum(self.high - at, fall) / fall)
        return np.asarray(np.where(at < self.mode, left, right))

    def quantile(self, p: Floats | float) -> Floats:
        u = np.asarray(p, dtype=float)
        width, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        return np.asarray(np.where(u * width < rise, self.low + np.sqrt(u * width * rise), self.high - np.sqrt((1 - u) * width * fall)))

    def draw(self, rng: Source) -> float:
        u = rng.random()
        width, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        if u * width < rise:
            return self.low + math.sqrt(u * width * rise)
        return self.high - math.sqrt((1 - u) * width * fall)

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.TRIANGULAR, (self.low, self.mode, self.high)

    def spelling(self, style: Style) -> str:
        return spell("triangular", style, *((n, getattr(self, n), Role.WORK) for n in ("low", "mode", "high")))


FAMILY = Family(
    name="triangular",
    law=Triangular,
    summary="density of a triangle with its top at the mode",
    forms=(
        Form(
            parameters=tuple(Parameter(name=n, role=Role.WORK) for n in ("low", "mode", "high")),
            build=lambda given: Triangular(**{n: finite(n, scalar(given, n)) for n in ("low", "mode", "high")}),
        ),
    ),
)
