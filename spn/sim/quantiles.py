"""Quantiles with confidence intervals, by inversion of a band of the distribution function.

*Independent times*: order statistics, whose ranks are those of the binomial law (David and Nagaraja, Order Statistics, 3rd ed., 2003,
section 7.1); the interval holds for every law, also one with atoms and one that is infinite with some probability.

*Long-run distributions*: the fraction of time (or of firings) at or below each of some *cuts*, each with its Student interval over
batches or replications. The quantile is above every cut whose whole interval is below the level, and at most the first cut whose whole
interval is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spn.expr.evaluate import fold
from spn.expr.nodes import COMPARISONS, LOGICAL, Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, Unary
from spn.sim.engine import Floats
from spn.sim.estimate import Interval, student

SLACK = 1e-12  # of a distribution function, which a quantile must not depend on
MOST_CUTS = 24  # of the distribution function of one expression in one run
WHOLE = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.IDIV, *COMPARISONS, *LOGICAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileInterval(Interval):
    """A quantile between ``low`` and ``high``; ``half_width`` is the longer of the two sides. ``share``: where nothing but two
    neighbouring values is left, how well the distribution function is known there, relative to the smaller of level and 1 - level (a
    quantile at which it hits the level exactly is never told from the next value); else inf."""

    low: float
    high: float
    share: float = math.inf

    def relative(self) -> float:
        """As that of every interval, or ``share`` where that is less."""
        return min(Interval.relative(self), self.share)


def between(
    value: float, ends: Iterable[float], *, confidence: float, samples: int, share: float = math.inf, source: Interval | None = None
) -> QuantileInterval:
    """The interval that spans the ``ends``; ``source`` tells how the variance comes about."""
    known = [*ends, value]
    low, high = (min(known), max(known)) if not any(math.isnan(x) for x in known) else (math.nan, math.nan)
    sides = [abs(value - x) if value != x else 0.0 for x in (low, high)]
    return QuantileInterval(
        value=value,
        half_width=max(sides),
        confidence=confidence,
        samples=samples,
        parts=source.parts if source is not None else (),
        low=low,
        high=high,
        share=share,
    )


# --- independent times ------------------------------------------------------------------------------------------------------------


def ranks(n: int, level: float, confidence: float) -> tuple[int, int, int]:
    """Which order statistics (from 1 on) of ``n`` are the quantile and the ends of its interval; 0 and n + 1 where there is none.

    The interval from rank l to rank u misses the quantile below with probability P(B < l) and above with P(B >= u), B binomial(n, level):
    each is at most half of what ``confidence`` leaves."""
    from scipy.special import bdtr

    below = bdtr(np.arange(n + 1), n, level)  # P(B <= k)
    rest = (1 - confidence) / 2
    low = int(np.searchsorted(below, rest, side="right"))
    high = int(np.searchsorted(below, 1 - rest, side="left")) + 1
    return min(n, max(1, math.ceil(n * level * (1 - SLACK)))), low, high


def of_times(times: Floats, level: float, confidence: float, function: Callable[[float], float]) -> QuantileInterval:
    """A function of a quantile of independent times, none below 0, infinite ones among them: an interval for the values that it takes
    between the ends of the quantile's."""
    n, ordered = len(times), np.sort(times)
    middle, low, high = ranks(n, level, confidence)
    inside = np.unique(ordered[max(low, 1) - 1 : min(high, n)]).tolist()
    outside = [0.0] * (low < 1) + [math.inf] * (high > n)
    known = math.inf
    if len(inside) <= 2 and not outside:
        known = student(confidence, math.inf) * math.sqrt(level * (1 - level) / n) / min(level, 1 - level)
    ends = [function(x) for x in (*outside, *inside)]
    return between(function(float(ordered[middle - 1])), ends, confidence=confidence, samples=n, share=known)


# --- long-run distributions -------------------------------------------------------------------------------------------------------


def integral(node: Node) -> bool:
    """Whether an expression over markings certainly has whole values only."""
    match fold(node):
        case Number(value=v):
            return float(v).is_integer()
        case Tokens():
            return True
        case Unary(operand=x):
            return integral(x)
        case Binary(op=op, left=a, right=b):
            return op in COMPARISONS or op in LOGICAL or (op in WHOLE and integral(a) and integral(b))
        case Conditional(then=a, otherwise=b):
            return integral(a) and integral(b)
        case Call(function=f, arguments=args):
            return f in (Function.FLOOR, Function.CEIL) or (f in (Function.ABS, Function.MIN, Function.MAX) and all(map(integral, args)))
    return False


@dataclass(frozen=True, slots=True)
class Support:
    """The values that an expression can have: ``values`` are all of them (``complete``), or those seen so far; ``whole``: between and
    beyond those there may be any whole number."""

    values: tuple[float, ...]
    whole: bool
    complete: bool

    def inside(self, low: float, high: float) -> list[float]:
        """At most ``MOST_CUTS`` possible values above ``low`` and below ``high``, which may be infinite; evenly spread if there are more,
        ever further apart where there is no end."""
        if self.complete or not self.whole:
            return _thinned([x for x in self.values if low < x < high])
        known = [x for x in self.values if low < x < high]
        first = low + 1 if math.isfinite(low) else min(known, default=high)
        last = high - 1 if math.isfinite(high) else max(known, default=low)
        found = _thinned([float(x) for x in np.unique(np.round(np.linspace(first, last, MOST_CUTS)))]) if first <= last else []
        steps = [math.ceil(max(1.0, last - first, abs(last) / 4) * 2**k) for k in range(4)]
        below = [first - s for s in reversed(steps)] if math.isinf(low) else []
        return below + found + ([last + s for s in steps] if math.isinf(high) else [])

    def after(self, x: float) -> float:
        """The next possible value above ``x`` (``x`` itself where there is none); for -inf the least."""
        if self.whole and not self.complete and math.isfinite(x):
            return x + 1
        return next((v for v in self.values if v > x), x)


def _thinned(values: Sequence[float]) -> list[float]:
    if len(values) <= MOST_CUTS:
        return list(values)
    return [values[i] for i in sorted({round(k) for k in np.linspace(0, len(values) - 1, MOST_CUTS)})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where a band of a distribution function crosses a level: the first cut at which the estimate has reached it (inf: none), the last
    cut that is certainly below (-inf: none), the first that certainly is not (inf: none)."""

    at: float
    before: float
    below: float
    reached: float


def crossing(cuts: Sequence[float], shares: Sequence[Interval], level: float) -> Crossing:
    """``shares``: of the distribution function at each of the rising ``cuts``."""
    pairs = list(zip(cuts, shares, strict=True))
    wanted = level - SLACK
    at = next((x for x, s in pairs if s.value >= wanted), math.inf)
    reached = next((x for x, s in pairs if s.value - s.half_width >= wanted), math.inf)
    return Crossing(
        at=at,
        before=max((x for x in cuts if x < at), default=-math.inf),
        below=max((x for x, s in pairs if s.value + s.half_width < wanted and x < at), default=-math.inf),
        reached=reached,
    )
