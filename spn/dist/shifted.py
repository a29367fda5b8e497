"""A law with a constant added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from spn.dist.family import Role, assign, finite, written
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.leaves import ONE, Leaf, draw, leaves
from spn.dist.random import Source
from spn.expr.nodes import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted(Law):
    """by + X, X drawn from ``law``. ``by`` may be negative as long as no value becomes so. Draw: see :func:`spn.dist.leaves.draw`."""

    law: Law
    by: Exact
    leaves: tuple[Leaf, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "shift"

    def __post_init__(self) -> None:
        least = finite("the shift", self.by) + float(self.law.quantile(0.0))
        if least < 0:
            raise ValueError(f"shift by {float(self.by):g} makes values negative, down to {least:g}")
        assign(self, leaves=leaves(self))

    def mean(self) -> float:
        return float(self.by) + self.law.mean()

    def variance(self) -> float:
        return self.law.variance()

    def cdf(self, x: Floats | float) -> Floats:
        return self.law.cdf(np.asarray(x, dtype=float) - float(self.by))

    def quantile(self, p: Floats | float) -> Floats:
        return float(self.by) + self.law.quantile(p)

    def draw(self, rng: Source) -> float:
        return draw(self.leaves, rng)

    def phase_type(self) -> PhaseType | None:
        return self.law.phase_type() if self.by == 0 else None

    def atoms(self) -> tuple[tuple[Exact, float], ...] | None:
        atoms = self.law.atoms()
        return None if atoms is None else tuple((self.by + value, p) for value, p in atoms)

    def components(self) -> tuple[tuple[float, Exact, Exact, Law], ...]:
        return ((1.0, ONE, self.by, self.law),)

    def spelling(self, style: Style) -> str:
        return f"shift({self.law.spelling(style)}, {written(self.by, Role.WORK, style)})"
