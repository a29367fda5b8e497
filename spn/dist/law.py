"""What every distribution of durations (or sizes) can do.

A law is a frozen record of numbers in base units: seconds for durations, bytes for sizes that travel over a link. It holds numbers
only: where time depends on the marking, the transition's ``speed`` and ``scale`` say so. One family is one file; :mod:`spn.dist.families`
is the one table of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from spn.dist.random import Source

if TYPE_CHECKING:
    from spn.expr.nodes import Exact

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseType:
    """A phase-type representation: the time to absorption of a Markov chain on n phases.

    ``alpha`` (n): probabilities of the first phase, summing to 1 (no mass at zero). ``generator`` (n, n): rates between phases per
    unit of work, the diagonal making each row sum to minus its exit rate.
    """

    alpha: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]

    def exits(self) -> tuple[float, ...]:
        """Rate of completion from each phase."""
        return tuple(max(0.0, -sum(row)) for row in self.generator)


FULL = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How to write a law: ``unit`` of its work ("" writes bare numbers) and significant digits (``FULL``: all of them)."""

    unit: str = ""
    digits: int = 6


class Law(ABC):
    """A distribution on [0, inf). Subclasses are frozen, slotted, keyword-only dataclasses."""

    __slots__ = ()
    family: ClassVar[str]

    @abstractmethod
    def mean(self) -> float:
        """The mean; ``inf`` where it does not exist."""

    @abstractmethod
    def variance(self) -> float:
        """The variance; ``inf`` where it does not exist."""

    @abstractmethod
    def cdf(self, x: Floats | float) -> Floats:
        """P(X <= x), elementwise."""

    @abstractmethod
    def quantile(self, p: Floats | float) -> Floats:
        """The smallest x with cdf(x) >= p, elementwise, for 0 <= p <= 1."""

    @abstractmethod
    def draw(self, rng: Source) -> float:
        """One value, by the very same use of the generator and the same arithmetic as the kernel (:mod:`spn.dist.kernels`)."""

    def phase_type(self) -> PhaseType | None:
        """The exact phase-type representation, or None where the family has none."""
        return None

    def atoms(self) -> tuple[tuple[Exact, float], ...] | None:
        """``(value, probability)`` pairs of a discrete law, values exact as written, or None for a continuous one."""
        return None

    def components(self) -> tuple[tuple[float, Exact, Exact, Law], ...] | None:
        """For a law made of others: ``(probability, scale, shift, law)``, meaning shift + scale * X with that probability. None for a
        family of its own (a *leaf*, see :mod:`spn.dist.leaves`)."""
        return None

    def describe(self) -> str:
        """The law as the model language writes it in base units, for instance ``lognormal(mean=0.18, cv=0.08)``; six digits."""
        return self.spelling(Style())

    def literal(self, unit: str = "") -> str:
        """The law as text that the model language reads back to the last digit; ``unit`` is "s", "B" or "" for ``units none``."""
        return self.spelling(Style(unit=unit, digits=FULL))

    def encoded(self) -> tuple[int, tuple[float, ...]]:
        """Kind (:mod:`spn.dist.kinds`) and parameters by which a kernel draws from a leaf law; a law made of others has none."""
        raise NotImplementedError(f"{self.family} is made of other laws; encode its leaves")

    @abstractmethod
    def spelling(self, style: Style) -> str:
        """The law as the model language writes it, in the given style."""

    def cv(self) -> float:
        """Coefficient of variation, standard deviation over mean; 0 for a constant, nan where undefined."""
        mean, variance = self.mean(), self.variance()
        if variance == 0:
            return 0.0
        return float("nan") if not np.isfinite(mean) or not np.isfinite(variance) else float(np.sqrt(variance) / mean)


ZERO = Fraction(0)
