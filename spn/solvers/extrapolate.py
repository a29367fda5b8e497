"""The limit of values computed with k, 2k, 4k … phases, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

NEAR = 0.3  # relative, to 2^p: what the ratio of successive differences may be off for column p to count as regular
SLOW, FAST = 1.15, 20.0  # ratios between which a geometric series is summed
SAFETY = 2.0  # of the error of an extrapolated value, over its last change
STEADY = 0.1  # to which two ratios agree
SAME = 1e-13


@dataclass(frozen=True, slots=True)
class Limit:
    """``order``: the power of 1/k by which the values themselves approach it, nan where that cannot be told."""

    value: float
    error: float
    order: float = math.nan


def limit(values: Sequence[float]) -> Limit:
    """Extrapolation (L. F. Richardson 1911; W. Romberg 1955) column by column, as long as the differences of a column shrink by the ratio
    that an expansion in powers of 1/k has: 2 in the first, 4 in the second and so on. Where they do not (a law with corners or jumps that
    meets another one gives broken powers), the last regular column is summed as a geometric series.

    The error is twice the last difference of the column that is used (or what the one before lets expect), or of its sum; both are larger
    than what is left. Infinite for a single value."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return Limit(values[-1], 0.0 if len(values) > 1 and values[-2] == values[-1] else math.inf)
    column, ratio, order = list(values), 2.0, math.nan
    while len(column) > 2:
        found = _ratio(column)
        if math.isnan(order) and found > 0:
            order = math.log2(found)
        if _settled(column) or not ratio * (1 - NEAR) < found < ratio * (1 + NEAR):
            break
        column = [b + (b - a) / (ratio - 1) for a, b in pairwise(column)]
        ratio *= 2
    found = _ratio(column) if len(column) > 2 and not _settled(column) else math.nan
    rounding = SAME * abs(column[-1])
    if SLOW < found < FAST:
        value = _geometric(column)
        return Limit(value, SAFETY * _error_of_sum(column, value, found) + rounding, order)
    step = column[-1] - column[-2]
    before = (column[-2] - column[-3]) / (2 * ratio) if len(column) > 2 else 0.0  # what a step should be: one may be small by chance
    slow = 4.0 if found <= SLOW and not _settled(column) else SAFETY
    return Limit(column[-1], slow * max(abs(step), abs(before)) + rounding, order)


def _geometric(column: Sequence[float]) -> float:
    """The sum of a geometric series, from its last three partial sums (A. C. Aitken, Proc. R. Soc. Edinb. 46 (1926) 289)."""
    ratio = _ratio(column)
    return column[-1] + (column[-1] - column[-2]) / (ratio - 1)


def _error_of_sum(column: Sequence[float], value: float, ratio: float) -> float:
    """What is left out of the sum itself; less where the sum one step earlier says the same."""
    whole = max(abs(value - column[-1]), abs(column[-1] - column[-2]))
    if len(column) < 4 or not abs(_ratio(column[:-1]) / ratio - 1) < STEADY:
        return whole
    return min(whole, 3 * abs(value - _geometric(column[:-1])) + 0.1 * whole)


def _ratio(column: Sequence[float]) -> float:
    step = column[-1] - column[-2]
    return (column[-2] - column[-3]) / step if step else math.nan


def _settled(column: Sequence[float]) -> bool:
    """What is left is rounding."""
    return abs(column[-1] - column[-2]) <= 10 * SAME * abs(column[-1])
