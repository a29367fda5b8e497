"""The Erlang law: a whole number of exponential stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, assign, positive, scalar, spell
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source
from spn.expr.nodes import Exact

MAX_PHASES = 2000  # a dense generator beyond this many phases serves no solver


@dataclass(frozen=True, slots=True, kw_only=True)
class Erlang(Law):
    """The sum of ``k`` exponentials of one ``rate``; mean k / rate. Draw: standard_gamma(k) / rate."""

    k: int
    rate: float
    family: ClassVar[str] = "erlang"

    def __post_init__(self) -> None:
        assign(self, k=stage_count(self.k), rate=positive("rate", self.rate))

    def mean(self) -> float:
        return self.k / self.rate

    def variance(self) -> float:
        return self.k / self.rate / self.rate

    def cdf(self, x: Floats | float) -> Floats:
        from scipy.special import gammainc

        return np.asarray(gammainc(self.k, np.maximum(np.asarray(x, dtype=float), 0.0) * self.rate))

    def quantile(self, p: Floats | float) -> Floats:
        from scipy.special import gammaincinv

        return np.asarray(gammaincinv(self.k, p) / self.rate)

    def draw(self, rng: Source) -> float:
        return rng.standard_gamma(float(self.k)) / self.rate

    def phase_type(self) -> PhaseType | None:
        return stages(self.k, self.rate) if self.k <= MAX_PHASES else None

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.ERLANG, (float(self.k), self.rate)

    def spelling(self, style: Style) -> str:
        return spell("erlang", style, ("", self.k, Role.NUMBER), ("mean", self.mean(), Role.WORK))


def stage_count(k: Exact | int) -> int:
    if not k >= 1 or k != int(k):
        raise ValueError(f"the number of stages k must be a whole number from 1, not {float(k):g}")
    return int(k)


def stages(k: int, rate: float) -> PhaseType:
    """The chain of k phases, each left at ``rate``."""
    rows = (tuple(-rate if j == i else rate if j == i + 1 else 0.0 for j in range(k)) for i in range(k))
    return PhaseType(alpha=(1.0,) + (0.0,) * (k - 1), generator=tuple(rows))


def _by_mean(given: Given) -> Erlang:
    k = stage_count(scalar(given, "k"))
    return Erlang(k=k, rate=k / positive("mean", scalar(given, "mean")))


_K = Parameter(name="k", positional=True, whole=True)

FAMILY = Family(
    name="erlang",
    law=Erlang,
    summary="sum of k exponential stages of one rate; mean= is that of the sum, rate= that of one stage",
    forms=(
        Form(parameters=(_K, Parameter(name="mean", role=Role.WORK)), build=_by_mean),
        Form(
            parameters=(_K, Parameter(name="rate", role=Role.RATE)),
            build=lambda given: Erlang(k=stage_count(scalar(given, "k")), rate=positive("rate", scalar(given, "rate"))),
        ),
    ),
)
