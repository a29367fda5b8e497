"""The empirical law: values with weights."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from typing import ClassVar

import numpy as np

from spn.dist import kinds
from spn.dist.family import Family, Form, Given, Parameter, Role, Shape, assign, finite, not_negative, spell, vector, written
from spn.dist.law import FULL, Floats, Law, Style
from spn.dist.random import Source
from spn.expr.nodes import Exact

SHOWN = 6  # values that a short description lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical(Law):
    """One of ``values`` (kept exact, sorted, equal ones merged) with probability in proportion to ``weights`` (all 1 if none are given;
    they are kept as probabilities). Draw: random() picks by the running sums of the weights."""

    values: tuple[Exact, ...]
    weights: tuple[float, ...] = ()
    sums: tuple[float, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "empirical"

    def __post_init__(self) -> None:
        merged = _merged(self.values, self.weights)
        total = math.fsum(merged.values())
        if total <= 0:
            raise ValueError("the weights of empirical sum to 0")
        kept = {v: w for v, w in merged.items() if w > 0}
        sums = [s / total for s in accumulate(kept.values())]
        assign(self, values=tuple(kept), weights=tuple(w / total for w in kept.values()), sums=(*sums[:-1], 1.0))

    def mean(self) -> float:
        return math.fsum(w * float(v) for v, w in zip(self.values, self.weights, strict=True))

    def variance(self) -> float:
        mean = self.mean()
        return math.fsum(w * (float(v) - mean) ** 2 for v, w in zip(self.values, self.weights, strict=True))

    def cdf(self, x: Floats | float) -> Floats:
        return np.concatenate(([0.0], self.sums))[np.searchsorted(self._floats(), np.asarray(x, dtype=float), side="right")]

    def quantile(self, p: Floats | float) -> Floats:
        return np.asarray(self._floats()[np.searchsorted(self.sums, np.asarray(p, dtype=float), side="left")])

    def draw(self, rng: Source) -> float:
        return float(self.values[bisect_right(self.sums, rng.random())])

    def atoms(self) -> tuple[tuple[Exact, float], ...]:
        return tuple(zip(self.values, self.weights, strict=True))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        return kinds.EMPIRICAL, self.sums + tuple(float(v) for v in self.values)

    def spelling(self, style: Style) -> str:
        if style.digits < FULL and len(self.values) > SHOWN:
            low, high = (written(v, Role.WORK, style) for v in (self.values[0], self.values[-1]))
            return f"empirical({len(self.values)} values from {low} to {high})"
        weights = () if len(set(self.weights)) == 1 else (("weights", self.weights, Role.NUMBER),)
        return spell("empirical", style, ("", self.values, Role.WORK), *weights)

    def _floats(self) -> Floats:
        return np.array(self.values, dtype=float)


def _merged(values: Sequence[Exact], weights: Sequence[float]) -> dict[Exact, float]:
    """Weight of each distinct value, in order of the values."""
    if not values:
        raise ValueError("empirical needs at least one value")
    if weights and len(weights) != len(values):
        raise ValueError(f"empirical has {len(values)} values but {len(weights)} weights")
    merged: dict[Exact, float] = {}
    for value, weight in sorted(zip(values, weights or repeat(1.0), strict=False), key=lambda pair: float(pair[0])):
        not_negative("a value of empirical", value)
        merged[value] = merged.get(value, 0.0) + not_negative("a weight", weight)
    return merged


def _build(given: Given) -> Empirical:
    weights = tuple(finite("a weight", w) for w in vector(given, "weights")) if "weights" in given else ()
    return Empirical(values=vector(given, "values"), weights=weights)


FAMILY = Family(
    name="empirical",
    law=Empirical,
    summary="one of the listed values, equally likely or by weights",
    forms=(
        Form(
            parameters=(
                Parameter(name="values", role=Role.WORK, shape=Shape.LIST, positional=True),
                Parameter(name="weights", shape=Shape.LIST, required=False),
            ),
            build=_build,
        ),
    ),
)
