"""The hyperexponential law: a mixture of exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import (
    Family,
    Form,
    Given,
    Parameter,
    Role,
    Shape,
    assign,
    cumulative,
    positive,
    probabilities,
    scalar,
    spell,
    spread,
    vector,
)
from spn.dist.invert import unbounded
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source
from spn.expr.nodes import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperExponential(Law):
    """Exponential of ``rates[i]`` with probability ``probs[i]``. Draw: random() picks the branch, then standard_exponential() / rate."""

    probs: tuple[float, ...]
    rates: tuple[float, ...]
    sums: tuple[float, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "hyperexp"

    def __post_init__(self) -> None:
        probs, rates = probabilities("probs", self.probs), positive_rates(self.rates)
        if len(probs) != len(rates):
            raise ValueError(f"probs and rates must be of one length, not {len(probs)} and {len(rates)}")
        assign(self, probs=probs, rates=rates, sums=cumulative(probs))

    def mean(self) -> float:
        return math.fsum(p / r for p, r in zip(self.probs, self.rates, strict=True))

    def variance(self) -> float:
        mean = self.mean()
        return math.fsum(p * (1 / r**2 + (1 / r - mean) ** 2) for p, r in zip(self.probs, self.rates, strict=True))

    def cdf(self, x: Floats | float) -> Floats:
        at = np.maximum(np.asarray(x, dtype=float), 0.0)
        return np.asarray(sum(-p * np.expm1(-r * at) for p, r in zip(self.probs, self.rates, strict=True)))

    def quantile(self, p: Floats | float) -> Floats:
        return unbounded(self.cdf, p)

    def draw(self, rng: Source) -> float:
        u = rng.random()
        rate = next(r for s, r in zip(self.sums, self.rates, strict=True) if u < s)
        return rng.standard_exponential() / rate

    def phase_type(self) -> PhaseType:
        n = len(self.rates)
        return PhaseType(alpha=self.probs, generator=tuple(tuple(-self.rates[i] if i == j else 0.0 for j in range(n)) for i in range(n)))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.HYPEREXPONENTIAL, self.sums + self.rates

    def spelling(self, style: Style) -> str:
        return spell("hyperexp", style, ("probs", self.probs, Role.NUMBER), ("rates", self.rates, Role.RATE))


def positive_rates(rates: Sequence[Exact]) -> tuple[float, ...]:
    if not rates:
        raise ValueError("rates is empty")
    return tuple(positive("a rate", r) for r in rates)


def balanced(mean: float, cv: float) -> HyperExponential:
    """Two branches of equal share of the mean (p1/r1 = p2/r2) with this mean and cv >= 1."""
    if cv < 1:
        raise ValueError(f"hyperexp needs cv of at least 1, not {cv:g}; below 1 use erlang, gamma or lognormal")
    p = (1 + math.sqrt((cv * cv - 1) / (cv * cv + 1))) / 2
    q = 1 / (cv * cv + 1) / (2 * p)  # 1 - p without cancellation: p (1 - p) = 1 / (2 (cv^2 + 1))
    return HyperExponential(probs=(p, q), rates=(2 * p / mean, 2 * q / mean))


def _by_moments(given: Given) -> HyperExponential:
    return balanced(positive("mean", scalar(given, "mean")), spread("cv", scalar(given, "cv")))


def _by_rates(given: Given) -> HyperExponential:
    return HyperExponential(probs=probabilities("probs", vector(given, "probs")), rates=positive_rates(vector(given, "rates")))


FAMILY = Family(
    name="hyperexp",
    law=HyperExponential,
    summary="mixture of exponentials; mean= and cv= (at least 1) give two branches of balanced means",
    forms=(
        Form(
            parameters=(Parameter(name="probs", shape=Shape.LIST), Parameter(name="rates", role=Role.RATE, shape=Shape.LIST)),
            build=_by_rates,
        ),
        Form(parameters=(Parameter(name="mean", role=Role.WORK), Parameter(name="cv")), build=_by_moments),
    ),
)
