"""Acyclic phase-type laws in canonical form: a chain of phases, entered anywhere, left at its end.

Every acyclic phase-type law has this form with ascending rates (A. Cumani, Microelectron. Reliab. 22 (1982) 583,
doi:10.1016/0026-2714(82)90033-6). It is no family of the language: approximations of other laws are made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spn.dist.family import Role, assign, positive, probabilities, spell
from spn.dist.law import Floats, Law, PhaseType, Style
from spn.dist.random import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Acyclic(Law):
    """Phase i is the first with probability ``alpha[i]``, is left at ``rates[i]`` for phase i + 1, and the last ends the law."""

    alpha: tuple[float, ...]
    rates: tuple[float, ...]
    family: ClassVar[str] = "acyclic"

    def __post_init__(self) -> None:
        assign(self, alpha=probabilities("alpha", self.alpha), rates=tuple(positive("a rate", r) for r in self.rates))
        if len(self.alpha) != len(self.rates):
            raise ValueError(f"alpha and rates must be of one length, not {len(self.alpha)} and {len(self.rates)}")

    def _moments(self) -> tuple[float, float]:
        """Of the time left from each phase, mixed: the mean and the second moment."""
        steps = 1 / np.array(self.rates)
        left = np.cumsum(steps[::-1])[::-1]
        squares = np.cumsum((steps**2)[::-1])[::-1]
        alpha = np.array(self.alpha)
        return float(alpha @ left), float(alpha @ (left**2 + squares))

    def mean(self) -> float:
        return self._moments()[0]

    def variance(self) -> float:
        first, second = self._moments()
        return max(0.0, second - first * first)

    def cdf(self, x: Floats | float) -> Floats:
        """By uniformisation: the phases at the steps of a Poisson process of the fastest rate."""
        from scipy.special import pdtr

        flat = np.maximum(np.ravel(np.asarray(x, dtype=float)), 0.0)
        fastest = max(self.rates)
        stay = 1 - np.array(self.rates) / fastest
        p, ended, total = np.array(self.alpha), np.zeros(len(flat)), 0.0
        steps, most = 0, _steps(fastest * float(flat.max(initial=0.0)))
        while steps < most and total < 1 - 1e-15:
            out = p * (1 - stay)
            p = p * stay
            p[1:] += out[:-1]
            steps += 1
            if out[-1]:
                ended += out[-1] * (1 - pdtr(steps - 1, fastest * flat))  # so many events have happened by then
                total += out[-1]
        return np.clip(ended, 0.0, 1.0).reshape(np.shape(x))

    def quantile(self, p: Floats | float) -> Floats:
        from spn.dist.invert import unbounded

        return unbounded(self.cdf, p)

    def draw(self, rng: Source) -> float:
        u, i = rng.random(), 0
        sums = np.cumsum(self.alpha)
        while i < len(sums) - 1 and u >= sums[i]:
            i += 1
        return float(sum(rng.standard_exponential() / r for r in self.rates[i:]))

    def phase_type(self) -> PhaseType:
        n = len(self.rates)
        rows = (tuple(-r if j == i else r if j == i + 1 else 0.0 for j in range(n)) for i, r in enumerate(self.rates))
        return PhaseType(alpha=self.alpha, generator=tuple(rows))

    def spelling(self, style: Style) -> str:
        return spell("acyclic", style, ("alpha", self.alpha, Role.NUMBER), ("rates", self.rates, Role.RATE))


def _steps(mean: float) -> int:
    """Of a Poisson process: more than this many events have a chance below 1e-16."""
    return int(mean + 10 * mean**0.5 + 50)
