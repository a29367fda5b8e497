"""Mixtures of laws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from spn.dist.family import Role, assign, probabilities, written
from spn.dist.invert import invert
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.leaves import ONE, ZERO, Leaf, draw, leaves
from spn.dist.random import Source
from spn.expr.nodes import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture(Law):
    """Each law of ``parts`` with its probability. Draw: see :func:`spn.dist.leaves.draw`."""

    parts: tuple[tuple[float, Law], ...]
    leaves: tuple[Leaf, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "mix"

    def __post_init__(self) -> None:
        probs = probabilities("the probabilities of mix", [p for p, _ in self.parts])
        assign(self, parts=tuple((p, law) for p, (_, law) in zip(probs, self.parts, strict=True) if p > 0))
        assign(self, leaves=leaves(self))

    def mean(self) -> float:
        return math.fsum(p * law.mean() for p, law in self.parts)

    def variance(self) -> float:
        mean = self.mean()
        if not math.isfinite(mean):
            return math.inf
        return math.fsum(p * (law.variance() + (law.mean() - mean) ** 2) for p, law in self.parts)

    def cdf(self, x: Floats | float) -> Floats:
        return np.asarray(sum(p * law.cdf(x) for p, law in self.parts))

    def quantile(self, p: Floats | float) -> Floats:
        """Between the least and the greatest quantile of the parts, by bisection; an end that will do is taken as it is."""
        ends = np.array([law.quantile(p) for _, law in self.parts])
        low, high = ends.min(axis=0), ends.max(axis=0)
        enough = (self.cdf(low) >= p) | (low == high)
        between = invert(self.cdf, p, np.where(enough, high, low), high)
        return np.where(np.asarray(p) >= 1, high, np.where(enough, low, between))

    def draw(self, rng: Source) -> float:
        return draw(self.leaves, rng)

    def phase_type(self) -> PhaseType | None:
        """The chains of the parts side by side, where every part has one."""
        chains = [law.phase_type() for _, law in self.parts]
        known = [c for c in chains if c is not None]
        return _side_by_side([p for p, _ in self.parts], known) if len(known) == len(chains) else None

    def atoms(self) -> tuple[tuple[Exact, float], ...] | None:
        merged: dict[Exact, float] = {}
        for p, law in self.parts:
            atoms = law.atoms()
            if atoms is None:
                return None
            for value, q in atoms:
                merged[value] = merged.get(value, 0.0) + p * q
        return tuple(sorted(merged.items()))

    def components(self) -> tuple[tuple[float, Exact, Exact, Law], ...]:
        return tuple((p, ONE, ZERO, law) for p, law in self.parts)

    def spelling(self, style: Style) -> str:
        return "mix(" + ", ".join(f"{written(p, Role.NUMBER, style)}: {law.spelling(style)}" for p, law in self.parts) + ")"


def _side_by_side(probs: list[float], chains: list[PhaseType]) -> PhaseType:
    alpha = tuple(p * a for p, chain in zip(probs, chains, strict=True) for a in chain.alpha)
    rows, before = [], 0
    for chain in chains:
        after = len(alpha) - before - len(chain.alpha)
        rows += [(0.0,) * before + row + (0.0,) * after for row in chain.generator]
        before += len(chain.alpha)
    return PhaseType(alpha=alpha, generator=tuple(rows))
