"""Numbers of phase-type laws: distribution function, moments, and the walk through the phases."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from spn.dist.invert import unbounded
from spn.dist.law import Floats, Law, PhaseType

BLOCK = 1 << 20  # numbers of a stack of matrices that are exponentiated at once
EXIT_ROUNDING = 1e-12  # an exit rate below this share of the total is rounding of a row that sums to 0


def absorbed(chain: PhaseType, x: Floats | float) -> Floats:
    """P(absorbed by x) = 1 - alpha exp(T x) 1, elementwise, by the matrix exponential."""
    from scipy.linalg import expm

    alpha, generator = np.array(chain.alpha), np.array(chain.generator)
    # far beyond any time scale of the chain all is absorbed; the cut keeps T x finite
    flat = np.minimum(np.maximum(np.ravel(np.asarray(x, dtype=float)), 0.0), 1e18 / np.abs(generator).max())
    result = np.empty(flat.shape)
    step = max(1, BLOCK // generator.size)
    for start in range(0, len(flat), step):
        times = flat[start : start + step]
        result[start : start + step] = 1 - expm(generator * times[:, None, None]).sum(axis=2) @ alpha
    result[flat == 0] = 0.0
    return np.clip(result, 0.0, 1.0).reshape(np.shape(x))


def moments(chain: PhaseType) -> tuple[float, float]:
    """Mean and variance: m_k = k! alpha (-T)^-k 1."""
    inverse = np.array(chain.generator)
    first = np.linalg.solve(-inverse, np.ones(len(chain.alpha)))
    second = np.linalg.solve(-inverse, first)
    mean = float(np.dot(chain.alpha, first))
    return mean, max(0.0, 2 * float(np.dot(chain.alpha, second)) - mean * mean)


class Markovian(Law):
    """A law without formulas of its own: all its figures are those of its phase-type representation."""

    __slots__ = ()

    @abstractmethod
    def phase_type(self) -> PhaseType: ...

    def mean(self) -> float:
        return moments(self.phase_type())[0]

    def variance(self) -> float:
        return moments(self.phase_type())[1]

    def cdf(self, x: Floats | float) -> Floats:
        return absorbed(self.phase_type(), x)

    def quantile(self, p: Floats | float) -> Floats:
        return unbounded(self.cdf, p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Tables for drawing: running sums of ``alpha``, the total rate of each phase, and running sums of the jump probabilities of each
    phase (row by row); what a row leaves up to 1 is absorption."""

    first: tuple[float, ...]
    totals: tuple[float, ...]
    jumps: tuple[tuple[float, ...], ...]


def walk(chain: PhaseType) -> Walk:
    totals, jumps = [], []
    for i, row in enumerate(chain.generator):
        total = -row[i]
        sums, running = [], 0.0
        for j, rate in enumerate(row):
            running += 0.0 if j == i else rate / total
            sums.append(running)
        never_absorbed = 1 - running < EXIT_ROUNDING
        totals.append(total)
        jumps.append(tuple(1.0 if never_absorbed and s == running else s for s in sums))
    first = list(np.cumsum(chain.alpha))
    last = max(i for i, a in enumerate(chain.alpha) if a > 0)
    return Walk(first=tuple(float(s) for s in first[:last]) + (1.0,) * (len(first) - last), totals=tuple(totals), jumps=tuple(jumps))


def reaches_end(chain: PhaseType) -> bool:
    """Whether every phase leads to absorption."""
    exits = chain.exits()
    done = {i for i, e in enumerate(exits) if e > EXIT_ROUNDING * -chain.generator[i][i]}
    while True:
        more = {i for i, row in enumerate(chain.generator) if i not in done and any(row[j] > 0 for j in done)}
        if not more:
            return len(done) == len(exits)
        done |= more
