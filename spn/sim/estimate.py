"""From batches or replications to values with confidence intervals.

A *sample* is an array of rows (weight, sums of the primitives): a batch's simulated time and its integrals, or a replication's 1 and its
averages. Primitives are ratios of column sums to the sum of weights, measures are functions of these: their standard errors come from
the jackknife over rows (Miller, The jackknife: a review, Biometrika 61, 1974), which is right for ratios and arithmetic too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.expr.evaluate import Undefined
from spn.expr.nodes import Node
from spn.measure import Primitive, value
from spn.net.model import Net

Floats = NDArray[np.float64]
UNLIKE = 4.0  # standard errors between a warm-up and the rest
Function = Callable[[Floats], float]  # of the averages of the primitives


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A Student-t confidence interval ``value`` ± ``half_width`` from ``samples`` rows; ``correlation`` is the lag-1 autocorrelation of
    the pseudo-values, near 0 where the rows are independent."""

    value: float
    half_width: float
    confidence: float
    samples: int
    correlation: float = 0.0

    def relative(self) -> float:
        """Half-width over the absolute value; 0 where both are 0, inf for 0 with a spread or nan."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.value) if self.value and math.isfinite(self.half_width) else math.inf


def averages(rows: Floats) -> Floats:
    """The averages of the primitives: column sums over the sum of weights."""
    return np.asarray(rows[:, 1:].sum(axis=0) / rows[:, 0].sum())


def measure_function(body: Node, net: Net, primitives: Sequence[Primitive]) -> Function:
    """A measure as a function of the averages of the primitives; nan where it is undefined."""

    def function(known: Floats) -> float:
        try:
            return value(body, net, dict(zip(primitives, known.tolist(), strict=True)))
        except (Undefined, OverflowError):
            return math.nan

    return function


def interval(rows: Floats, function: Function, confidence: float, *, streams: int = 1) -> Interval:
    """The jackknife interval of a function of the averages. ``rows`` (n >= 2) come from ``streams`` equally long independent runs, one
    after the other; autocorrelation is looked for within each."""
    n = len(rows)
    centre = function(averages(rows))
    if n < 2:
        return Interval(value=centre, half_width=math.inf, confidence=confidence, samples=n)
    total = rows.sum(axis=0)
    without = np.array([function((total - row)[1:] / (total - row)[0]) for row in rows])
    pseudo = n * centre - (n - 1) * without
    spread = float(np.std(pseudo, ddof=1)) / math.sqrt(n)
    if spread < 1e-13 * abs(centre):
        spread = 0.0  # rounding
    half = student(confidence, n - 1) * spread if spread else 0.0
    return Interval(
        value=centre,
        half_width=half,
        confidence=confidence,
        samples=n,
        correlation=_autocorrelation(pseudo.reshape(streams, -1)),
    )


def student(confidence: float, freedom: float) -> float:
    """The two-sided Student-t quantile."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def _autocorrelation(series: Floats) -> float:
    """Lag-1 autocorrelation, pooled over the rows of ``series`` about the common mean; 0 for a constant."""
    centred = series - series.mean()
    square = float((centred**2).sum())
    return float((centred[:, 1:] * centred[:, :-1]).sum()) / square if square > 0 else 0.0


def regroup(rows: Floats, count: int) -> Floats:
    """Consecutive rows summed into ``count`` equal groups; the first few that do not fit are left out."""
    size = len(rows) // count
    kept = rows[len(rows) - size * count :]
    return np.asarray(kept.reshape(count, size, rows.shape[1]).sum(axis=1))


def warm_up(rates: Floats) -> int:
    """How many of the first rows of ``rates`` (batches, quantities) to leave out: the marginal standard error rule.

    For each quantity the cut that minimises the squared standard error of the rest (White, An effective truncation heuristic for bias
    reduction in simulation output, Simulation 69, 1997), at most half; of cuts within 5 % of the least the earliest, and only where what it
    leaves out has a mean unlike the rest (by ``UNLIKE`` standard errors); the latest over all quantities."""
    n = len(rates)
    if n < 4 or rates.shape[1] == 0:
        return 0
    cuts = np.arange(n // 2 + 1)
    left = (n - cuts)[:, None]
    sums = np.cumsum(rates[::-1], axis=0)[::-1][: n // 2 + 1]
    squares = np.cumsum((rates**2)[::-1], axis=0)[::-1][: n // 2 + 1]
    error = np.maximum(squares - sums**2 / left, 0.0) / left**2
    least = error.min(axis=0)
    tiny = 1e-24 * (rates**2).mean(axis=0) / n
    first = (error <= 1.05 * least + tiny).argmax(axis=0)
    return max((int(cut) for cut, series in zip(first, rates.T, strict=True) if cut and _unlike(series, int(cut))), default=0)


def _unlike(series: Floats, cut: int) -> bool:
    """Whether the mean of the first ``cut`` values differs from that of the rest by more than chance."""
    early, rest = series[:cut], series[cut:]
    error = float(rest.std(ddof=1)) * math.sqrt(1 / len(early) + 1 / len(rest))
    return abs(float(early.mean() - rest.mean())) > UNLIKE * error


def disagreement(streams: Sequence[Floats]) -> float:
    """How unlikely it is that independent runs have one and the same mean: the least p-value, over the primitives, of the F test of
    one-way analysis of variance, times their number (Bonferroni). Each stream is an array of rows."""
    from scipy.special import fdtrc

    k, n = len(streams), len(streams[0])
    if k < 2 or n < 2:
        return 1.0
    rates = np.array([s[:, 1:] / s[:, :1] for s in streams])
    means = rates.mean(axis=1)
    between = n * means.var(axis=0, ddof=1)
    within = rates.var(axis=1, ddof=1).mean(axis=0)
    scale = (rates**2).mean(axis=(0, 1))
    alive = between > 1e-20 * scale
    if not alive.any():
        return 1.0
    with np.errstate(divide="ignore"):
        ratio = between[alive] / within[alive]
    return float(min(1.0, alive.sum() * np.min(fdtrc(k - 1, k * (n - 1), ratio))))
