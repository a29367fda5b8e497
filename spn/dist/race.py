"""Independent times that start together: which is over first, when, and with what probability.

With S the chance that none of the others is over, P(i first, by t) = E[S(X_i); X_i <= t]: an integral over the probability of X_i, by Gauss
rules between the places where a law has a jump or a kink, or a sum over its atoms. Exponential clocks count together, as one rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spn.dist.extremes import breakpoints, integrate
from spn.dist.law import Floats, Law
from spn.dist.leaves import Leaf, leaves

DOUBLINGS = 200
NEGLIGIBLE = 1e-16
RATES = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 38.0])  # of means of the exponential, where its course is looked at
NODES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A time ``factor`` times a draw of ``law``."""

    law: Law
    factor: float = 1.0

    def cdf(self, t: Floats) -> Floats:
        return np.asarray(self.law.cdf(t / self.factor))

    def atoms(self) -> list[tuple[float, float]]:
        """The times of positive probability, with it, of all leaves."""
        found: list[tuple[float, float]] = []
        for leaf in leaves(self.law):
            for v, p in leaf.law.atoms() or ():
                found.append((self.factor * (float(leaf.shift) + float(leaf.scale) * float(v)), leaf.prob * p))
        return found

    def kinks(self) -> list[float]:
        """Where the support of a leaf without atoms begins and ends."""
        found = [(leaf, float(x)) for leaf in self.smooth() for x in leaf.law.quantile(np.array([0.0, 1.0])) if np.isfinite(x)]
        return [self.factor * (float(leaf.shift) + float(leaf.scale) * x) for leaf, x in found]

    def smooth(self) -> list[Leaf]:
        """The leaves without atoms."""
        return [leaf for leaf in leaves(self.law) if leaf.law.atoms() is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """``runners`` and, beside them, exponential clocks of ``rate`` in all, 0 for none. No two runners may have an atom in common."""

    runners: tuple[Runner, ...]
    rate: float = 0.0

    def ties(self) -> bool:
        """Whether two runners may arrive at the same time with positive probability."""
        seen: set[float] = set()
        for r in self.runners:
            own = {round(t, 15 - math.ceil(math.log10(t))) if t else 0.0 for t, p in r.atoms() if p}
            if seen & own:
                return True
            seen |= own
        return False

    def survival(self, t: Floats, but: int | None = None) -> Floats:
        """P(none is over at t), one of them left out."""
        found = np.exp(-self.rate * t)
        for k, r in enumerate(self.runners):
            if k != but:
                found = found * (1.0 - r.cdf(t))
        return np.asarray(found)

    def corners(self) -> Floats:
        """Places between which the survival is smooth, ascending from 0, as far as it is not negligible."""
        own = [r.factor * breakpoints([r.law]) for r in self.runners]
        found = np.unique(np.concatenate([*own, RATES / self.rate if self.rate else np.zeros(0), np.zeros(1)]))
        end = float(found[-1]) or 1.0
        further: list[float] = []
        while len(further) < DOUBLINGS and float(self.survival(np.array([end]))[0]) * end > NEGLIGIBLE * self._scale():
            end *= 2
            further.append(end)
        return np.append(found, further)

    def _scale(self) -> float:
        return min([1 / self.rate if self.rate else math.inf, *(r.factor * r.law.mean() for r in self.runners)])

    def mean(self) -> tuple[float, float]:
        """The mean time until the first is over, and the estimated error."""
        if len(self.runners) == 1 and not self.rate:
            return self.runners[0].factor * self.runners[0].law.mean(), 0.0
        if not self.runners:
            return (1 / self.rate if self.rate else math.inf), 0.0
        total, error = integrate(lambda t: self.survival(t)[None, :], self.corners())
        return float(total[0]), float(error[0])

    def first(self) -> tuple[Floats, float]:
        """For each runner the probability that it is over first, and the largest estimated error."""
        if len(self.runners) == 1 and not self.rate:
            return np.ones(1), 0.0
        found = [self._first(k) for k in range(len(self.runners))]
        return np.array([p for p, _ in found]), max((e for _, e in found), default=0.0)

    def _first(self, k: int) -> tuple[float, float]:
        runner = self.runners[k]
        atoms = runner.atoms()
        times = np.array([t for t, _ in atoms])
        total = float(np.array([p for _, p in atoms]) @ self.survival(times, k)) if atoms else 0.0
        error = 0.0
        for leaf in runner.smooth():
            chances = np.unique(np.clip(leaf.law.cdf(_inside(self.corners(), runner, leaf)), 0.0, 1.0))
            points = np.unique(np.concatenate([[0.0], chances, [1.0]]))
            part, off = integrate(lambda u, leaf=leaf: self.survival(_time(u, runner, leaf), k)[None, :], points)  # type: ignore[misc]  # a lambda's defaults have no types
            total, error = total + leaf.prob * float(part[0]), error + leaf.prob * float(off[0])
        return total, error

    def steps(self, grid: Floats) -> tuple[Floats, Floats]:
        """For each runner, and last for the exponential clocks, the probability to be over first within each cell (runners + 1, cells) of
        an ascending grid, without its atoms; and that of its atoms at each point (runners + 1, points), which are to be on the grid."""
        low, high = grid[:-1], grid[1:]
        smooth, jumps = np.zeros((len(self.runners) + 1, len(low))), np.zeros((len(self.runners) + 1, len(grid)))
        for k, runner in enumerate(self.runners):
            for t, p in runner.atoms():
                if t <= grid[-1] * (1 + 1e-12):
                    jumps[k, int(np.argmin(np.abs(grid - t)))] += p * float(self.survival(np.array([t]), k)[0])
            for leaf in runner.smooth():
                a, b = (np.asarray(leaf.law.cdf(np.maximum(_inside(x, runner, leaf), 0.0))) for x in (low, high))
                smooth[k] += leaf.prob * _cells(lambda u, k=k, r=runner, leaf=leaf: self.survival(_time(u, r, leaf), k), a, b)  # type: ignore[misc]  # as above
        if self.rate:
            smooth[-1] = self.rate * _cells(self.survival, low, high)
        return smooth, jumps


def _inside(t: Floats, runner: Runner, leaf: Leaf) -> Floats:
    return np.asarray((t / runner.factor - float(leaf.shift)) / float(leaf.scale))


def _time(u: Floats, runner: Runner, leaf: Leaf) -> Floats:
    inner = leaf.law.quantile(np.clip(u, 0.0, np.nextafter(1.0, 0.0)))
    return np.asarray(runner.factor * (float(leaf.shift) + float(leaf.scale) * inner))


def _cells(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Integrals over cells by one Gauss rule each; empty ones are 0."""
    found = np.zeros(len(low))
    some = high > low
    if some.any():
        x, w = np.polynomial.legendre.leggauss(NODES)
        half = (high[some] - low[some]) / 2
        at = (low[some] + half)[:, None] + half[:, None] * x
        found[some] = (np.asarray(f(at.ravel())).reshape(at.shape) @ w) * half
    return found
