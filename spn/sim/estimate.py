"""From batches or replications to values with confidence intervals.

A *sample* is an array of rows (weight, sums of the primitives): a batch's simulated time and its integrals, or a replication's 1 and its
averages. Primitives are ratios of column sums to the sum of weights, measures are functions of these: their standard errors come from
the jackknife over rows (Miller, The jackknife: a review, Biometrika 61, 1974), which is right for ratios and arithmetic too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spn.expr.nodes import Node
from spn.measure import Primitive, value
from spn.net.model import Net

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of the magnitude of its terms: what a measure may owe to rounding
NEARBY = 0.1  # of the magnitude of its terms: what a value that cannot be told from 0 counts as, when its half-width is judged
MSER = 5  # rows to a mean, for the marginal standard error rule
MOST_CORRELATED = 0.9  # of neighbouring rows: beyond, no correction is worth anything
UNLIKE = 4.0  # standard errors between a warm-up and the rest
Function = Callable[[Floats], float]  # of the averages of the primitives


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one independent source of randomness (the batches of one class, the classes in which runs end) adds to the variance of an
    estimate, with how many degrees of freedom that is known, the lag-1 autocorrelation of its rows, near 0 where they are independent,
    and the third central moment of the estimate, as far as its rows show it."""

    variance: float
    freedom: float
    correlation: float = 0.0
    third: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A Student-t confidence interval ``value`` ± ``half_width`` from ``samples`` rows. ``magnitude`` is that of the terms of a sum or
    difference, 0 where that is the value itself. ``parts``: the variance by independent sources."""

    value: float
    half_width: float
    confidence: float
    samples: int
    magnitude: float = 0.0
    parts: tuple[Part, ...] = ()

    @property
    def correlation(self) -> float:
        """The largest autocorrelation of the rows of any source."""
        return max((p.correlation for p in self.parts if p.variance > 0), default=0.0)

    @property
    def near_zero(self) -> bool:
        """A sum or difference that is not told from 0 beyond doubt, though not known to be 0. (Twice the half-width, since the run looks
        often and each look may err.)"""
        return self.magnitude > 0 and 0 < self.half_width < math.inf and abs(self.value) <= 2 * self.half_width

    def relative(self) -> float:
        """Half-width over the absolute value; over ``NEARBY`` of the magnitude where the value cannot be told from 0. 0 where there is
        no half-width, inf for 0 with a spread, or nan."""
        if self.half_width == 0:
            return 0.0
        size = max(abs(self.value), NEARBY * self.magnitude) if self.near_zero else abs(self.value)
        return self.half_width / size if size > 0 and math.isfinite(self.half_width) else math.inf

    def with_width(self, half_width: float) -> Interval:
        """The same with another half-width, whose sources are not known."""
        return replace(self, half_width=half_width, parts=())


def never_seen(confidence: float, exposure: float, streams: int) -> float:
    """The largest rate of an event that is not seen in ``exposure`` seconds but with probability 1 - ``confidence``: -ln(1 - confidence) /
    exposure, near 3 / exposure at 95 % (the rule of three: Hanley and Lippman-Hand, JAMA 249, 1983), if it comes at random; one that comes
    like clockwork is seen by then in every one of the ``streams``. inf without exposure."""
    return max(-math.log1p(-confidence), float(streams)) / exposure if exposure > 0 else math.inf


def unseen_chance(confidence: float, replications: int) -> float:
    """The largest chance of what happened in none of so many independent replications, but with probability 1 - ``confidence`` (the exact
    bound of Clopper and Pearson, Biometrika 26, 1934)."""
    return float(-math.expm1(math.log1p(-confidence) / replications))


def averages(rows: Floats) -> Floats:
    """The averages of the primitives: column sums over the sum of weights."""
    return np.asarray(rows[:, 1:].sum(axis=0) / rows[:, 0].sum())


def measure_function(body: Node, net: Net, primitives: Sequence[Primitive]) -> Function:
    """A measure as a function of the averages of the primitives; nan where it is undefined."""

    def function(known: Floats) -> float:
        return value(body, net, dict(zip(primitives, known.tolist(), strict=True)))

    return function


def interval(
    rows: Floats, function: Function, confidence: float, *, streams: int = 1, magnitude: float = 0.0, later: Floats | None = None
) -> Interval:
    """The jackknife interval of a function of the averages. ``rows`` (n >= 2) come from ``streams`` equally long independent runs, one
    after the other; autocorrelation is looked for within each. For ``later`` see :func:`jackknife`."""
    centre = function(averages(rows))
    part = jackknife(rows, function, centre, streams=streams, later=later)
    return combined(centre, (part,), confidence, samples=len(rows), magnitude=magnitude)


def jackknife(rows: Floats, function: Function, centre: float, *, streams: int = 1, later: Floats | None = None) -> Part:
    """The variance of ``function`` of the averages of the rows; ``centre`` is its value for all of them.

    ``later`` has the sums of the same runs begun a little later, a row for each beginning. Where something slow recurs like clockwork,
    every row holds as much of it as any other and shows no spread, while the estimate depends on where the runs begin and end. A change of
    the beginning that moves it by more than two standard errors, which for independent rows is out of the question, counts as two."""
    n = len(rows)
    if n < 2:
        return Part(variance=math.inf, freedom=1)
    total = rows.sum(axis=0)
    without = np.array([function((total - row)[1:] / (total - row)[0]) for row in rows])
    pseudo = n * centre - (n - 1) * without
    variance = float(np.var(pseudo, ddof=1)) / n
    if later is not None:
        moved = max((abs(function(row[1:] / row[0]) - centre) for row in later), default=0.0)
        variance = max(variance, (moved / 2) ** 2) if math.isfinite(moved) else variance
    correlation = _autocorrelation(pseudo.reshape(streams, -1))
    less = _as_independent(correlation, n)
    return Part(variance=variance / less, freedom=max(1.0, less * n - 1), correlation=correlation, third=_third(pseudo, variance))


def _as_independent(correlation: float, n: int) -> float:
    """What share of n rows with this lag-1 autocorrelation would say as much if they were independent: (1 - r) / (1 + r), as for an
    autoregression of the first order (Law and Kelton, Simulation Modeling and Analysis, section 4.4), where r is what exceeds the
    standard error of a correlation of independent rows."""
    r = min(MOST_CORRELATED, max(0.0, correlation - 1 / math.sqrt(n)))
    return (1 - r) / (1 + r)


def _third(pseudo: Floats, variance: float) -> float:
    """The third central moment of the mean of the pseudo-values, as far as it exceeds its own standard error for a normal law."""
    n = len(pseudo)
    if n < 3 or not 0 < variance < math.inf:
        return 0.0
    third = float(((pseudo - pseudo.mean()) ** 3).sum()) / (n * (n - 1) * (n - 2))
    return math.copysign(max(0.0, abs(third) - math.sqrt(6) / n * variance**1.5), third)


def combined(centre: float, parts: Sequence[Part], confidence: float, *, samples: int, magnitude: float = 0.0) -> Interval:
    """The interval about ``centre`` from independent sources of variance: they add; the degrees of freedom are those of Satterthwaite
    (Biometrics Bulletin 2, 1946). What rounding makes of terms that cancel is no spread and no value."""
    if not math.isfinite(centre):
        magnitude = 0.0
    elif abs(centre) <= ROUNDING * magnitude:
        centre = 0.0
    variance = math.fsum(p.variance for p in parts)
    spread = math.sqrt(variance)
    if not math.isfinite(spread):
        half = math.inf if math.isfinite(centre) else math.nan
    elif spread < 1e-13 * abs(centre) or spread <= ROUNDING * magnitude:
        half = 0.0
    else:
        freedom = 1 / math.fsum((p.variance / variance) ** 2 / p.freedom for p in parts)
        half = longer_side(student(confidence, freedom), math.fsum(p.third for p in parts) / spread**3) * spread
    return Interval(value=centre, half_width=half, confidence=confidence, samples=samples, magnitude=magnitude, parts=tuple(parts))


def student(confidence: float, freedom: float) -> float:
    """The two-sided Student-t quantile."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def longer_side(quantile: float, skewness: float) -> float:
    """By what to multiply the standard error of an estimate of this ``skewness`` instead of ``quantile``, for an interval that holds at
    its level: the longer side of the interval for the mean of a skewed law, from the first term of the Edgeworth expansion of Student's
    ratio (Hall, The Bootstrap and Edgeworth Expansion, 1992, section 2.6).

    What is skewed to the right is estimated too low together with its own spread, most of all by runs that end once the spread is small
    enough; an interval of the usual length then lies below the right value too often."""
    return quantile + abs(skewness) * (2 * quantile**2 + 1) / 6 if math.isfinite(skewness) else quantile


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
    """How many of the first rows of ``rates`` (batches, quantities) to leave out: MSER-5, the marginal standard error rule on means of five
    rows each (White, Cobb and Spratt, A comparison of five steady-state truncation heuristics, Winter Simulation Conference 2000).

    For each quantity the cut that minimises the squared standard error of the rest, at most half; of cuts within 5 % of the least the
    earliest, and only where what it leaves out has a mean unlike the rest (by ``UNLIKE`` standard errors); the latest over all
    quantities."""
    many = len(rates) // MSER
    if many < 4 or rates.shape[1] == 0:
        return 0
    return MSER * _least_error(rates[: many * MSER].reshape(many, MSER, -1).mean(axis=1))


def _least_error(rates: Floats) -> int:
    n = len(rates)
    cuts = np.arange(n // 2 + 1)
    left = (n - cuts)[:, None]
    sums = np.cumsum(rates[::-1], axis=0)[::-1][: n // 2 + 1]
    squares = np.cumsum((rates**2)[::-1], axis=0)[::-1][: n // 2 + 1]
    error = np.maximum(squares - sums**2 / left, 0.0) / left**2
    least = error.min(axis=0)
    tiny = 1e-24 * (rates**2).mean(axis=0) / n
    first = (error <= 1.05 * least + tiny).argmax(axis=0)
    return max((int(cut) for cut, series in zip(first, rates.T, strict=True) if cut and _unlike(series, int(cut))), default=0)


def halves(runs: Sequence[Floats]) -> float:
    """The check by halves: by how many standard errors the means of the first and of the second half of the rows, over all runs together,
    differ, for the primitive for which they differ most. Each run is an array of rows; what is left after the warm-up should give values
    of 3 or 4 at most."""
    middle = len(runs[0]) // 2
    if middle < 2 or runs[0].shape[1] == 1:
        return 0.0  # too little to compare, or nothing is measured
    rates = np.array([run[:, 1:] / run[:, :1] for run in runs])
    early, late = (part.reshape(-1, rates.shape[2]) for part in (rates[:, :middle], rates[:, -middle:]))
    error = np.sqrt((early.var(axis=0, ddof=1) + late.var(axis=0, ddof=1)) / len(early))
    moved = np.abs(early.mean(axis=0) - late.mean(axis=0))
    alive = error > 1e-10 * np.abs(late.mean(axis=0))
    return float(np.max(moved[alive] / error[alive], initial=0.0))


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
