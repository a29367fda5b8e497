"""A law times a constant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from spn.dist.family import Role, assign, positive, written
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.leaves import ZERO, Leaf, draw, leaves
from spn.dist.random import Source
from spn.expr.nodes import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled(Law):
    """by * X, X drawn from ``law``, ``by`` a positive number. Draw: see :func:`spn.dist.leaves.draw`."""

    law: Law
    by: Exact
    leaves: tuple[Leaf, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        positive("the factor of scale", self.by)
        assign(self, leaves=leaves(self))

    def mean(self) -> float:
        return float(self.by) * self.law.mean()

    def variance(self) -> float:
        return float(self.by) ** 2 * self.law.variance()

    def cdf(self, x: Floats | float) -> Floats:
        return self.law.cdf(np.asarray(x, dtype=float) / float(self.by))

    def quantile(self, p: Floats | float) -> Floats:
        return float(self.by) * self.law.quantile(p)

    def draw(self, rng: Source) -> float:
        return draw(self.leaves, rng)

    def phase_type(self) -> PhaseType | None:
        chain = self.law.phase_type()
        if chain is None:
            return None
        by = float(self.by)
        return PhaseType(alpha=chain.alpha, generator=tuple(tuple(rate / by for rate in row) for row in chain.generator))

    def atoms(self) -> tuple[tuple[Exact, float], ...] | None:
        atoms = self.law.atoms()
        return None if atoms is None else tuple((self.by * value, p) for value, p in atoms)

    def components(self) -> tuple[tuple[float, Exact, Exact, Law], ...]:
        return ((1.0, self.by, ZERO, self.law),)

    def spelling(self, style: Style) -> str:
        return f"scale({self.law.spelling(style)}, {written(self.by, Role.NUMBER, style)})"
