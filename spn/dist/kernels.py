# mypy: disable-error-code="no-any-return"
"""The simulators' stream of random numbers and the draws of leaf laws, compiled: equal draw for draw to :class:`spn.dist.random.Random` and
:meth:`spn.dist.law.Law.draw`.

``d`` is the address of a stream: the four words of its state. ``p`` is the address of what :func:`spn.dist.leaves.encode` made of a leaf:
scale, shift, then the parameters of the family. Each branch draws in the very order of the family's own ``draw``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.dist.kinds import (
    BETA,
    COXIAN,
    EMPIRICAL,
    ERLANG,
    EXPONENTIAL,
    GAMMA,
    HYPEREXPONENTIAL,
    HYPOEXPONENTIAL,
    LOGNORMAL,
    NORMAL,
    PARETO,
    PHASE_TYPE,
    TRIANGULAR,
    UNIFORM,
    WEIBULL,
)
from spn.dist.random import NORMAL_TAIL, TAIL, normal_tables, tables
from spn.jit import getf, geti, helper, inlined, kernel, seti

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STEP = 1.0 / 9007199254740992.0  # 2^-53
BITS_62 = 2**62 - 1
BITS_61 = 2**61 - 1
BITS_53 = 2**53 - 1
WIDTHS, ACCEPT, HEIGHTS = (np.array(t) for t in tables())
NORMAL_WIDTHS, NORMAL_ACCEPT, NORMAL_HEIGHTS = (np.array(t) for t in normal_tables())


# --- the stream -----------------------------------------------------------------------------------------------------------


@inlined
def bits(d: int) -> int:
    """64 random bits (xoshiro256++)."""
    s0 = geti(d, 0)
    s1 = geti(d, 1)
    s2 = geti(d, 2)
    s3 = geti(d, 3)
    total = s0 + s3
    result = ((total << 23) | ((total >> 41) & 0x7FFFFF)) + s0
    s2 ^= s0
    s3 ^= s1
    seti(d, 0, s0 ^ s3)
    seti(d, 2, s2 ^ (s1 << 17))
    seti(d, 1, s1 ^ s2)
    seti(d, 3, (s3 << 45) | ((s3 >> 19) & 0x1FFFFFFFFFFF))
    return result


@inlined
def uniform(d: int) -> float:
    return ((bits(d) >> 11) & BITS_53) * STEP


@helper
def _exponential_edge(d: int, layer: int, x: float) -> float:
    """Off the common path: a value, or a negative number where it is refused."""
    if layer == 0:
        return TAIL - math.log1p(-uniform(d))
    low = HEIGHTS[layer]
    return x if (HEIGHTS[layer - 1] - low) * uniform(d) + low < math.exp(-x) else -1.0


@inlined
def exponential(d: int) -> float:
    """Exponential with mean 1."""
    while True:
        drawn = (bits(d) >> 3) & BITS_61
        layer = drawn & 0xFF
        steps = drawn >> 8
        x = steps * WIDTHS[layer]
        if steps < ACCEPT[layer]:
            return x
        x = _exponential_edge(d, layer, x)
        if x >= 0.0:
            return x


@helper
def _normal_edge(d: int, layer: int, x: float) -> float:
    if layer > 0:
        low = NORMAL_HEIGHTS[layer]
        return x if (NORMAL_HEIGHTS[layer - 1] - low) * uniform(d) + low < math.exp(-0.5 * x * x) else -1.0
    while True:
        x = exponential(d) / NORMAL_TAIL
        if 2.0 * exponential(d) > x * x:
            return NORMAL_TAIL + x


@inlined
def normal(d: int) -> float:
    """Normal with mean 0 and variance 1."""
    while True:
        drawn = (bits(d) >> 2) & BITS_62
        sign = 1.0 - 2.0 * (drawn & 1)
        layer = (drawn >> 1) & 0xFF
        steps = drawn >> 9
        x = steps * NORMAL_WIDTHS[layer]
        if steps < NORMAL_ACCEPT[layer]:
            return sign * x
        x = _normal_edge(d, layer, x)
        if x >= 0.0:
            return sign * x


@inlined
def gamma_above_one(d: int, shape: float) -> float:
    a = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * a)
    while True:
        x = normal(d)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(d)
        square = x * x
        if u < 1.0 - 0.0331 * (square * square) or math.log(u) < 0.5 * square + a * (1.0 - v + math.log(v)):
            return a * v


@helper
def gamma(d: int, shape: float) -> float:
    """Gamma with scale 1."""
    if shape > 1.0:
        return gamma_above_one(d, shape)
    if shape == 1.0:
        return exponential(d)
    drawn = gamma_above_one(d, shape + 1.0)
    return drawn * math.exp(-exponential(d) / shape)


# --- laws -----------------------------------------------------------------------------------------------------------------


@helper
def pick(sums: int, count: int, u: float) -> int:
    """The first i with u < sums[i], by bisection; ``count`` where there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if u < getf(sums, middle):
            high = middle
        else:
            low = middle + 1
    return low


@helper
def coxian(p: int, n: int, d: int) -> float:
    total = 0.0
    for i in range(n):
        total += exponential(d) / getf(p, i)
        if i < n - 1 and uniform(d) < getf(p, n + i):
            break
    return total


@helper
def phase_type(p: int, d: int) -> float:
    n = int(getf(p, 0))
    totals, jumps = 1 + n, p + 8 * (1 + 2 * n)
    total = 0.0
    phase = pick(p + 8, n, uniform(d))
    while phase < n:
        total += exponential(d) / getf(p, totals + phase)
        phase = pick(jumps + 8 * n * phase, n, uniform(d))
    return total


@helper
def triangular(low: float, mode: float, high: float, u: float) -> float:
    width, rise, fall = high - low, mode - low, high - mode
    if u * width < rise:
        return low + math.sqrt(u * width * rise)
    return high - math.sqrt((1 - u) * width * fall)


@helper
def beta(p: int, d: int) -> float:
    while True:
        g = gamma(d, getf(p, 0))
        h = gamma(d, getf(p, 1))
        if g + h > 0:
            return getf(p, 2) + (getf(p, 3) - getf(p, 2)) * (g / (g + h))


@inlined
def draw(kind: int, p: int, count: int, d: int) -> float:
    """One value of the leaf encoded at ``p`` (``count`` numbers), scale and shift applied."""
    return getf(p, 1) + getf(p, 0) * draw_base(kind, p + 16, count - 2, d)


@inlined
def draw_base(kind: int, p: int, count: int, d: int) -> float:
    """One value of the family itself, its ``count`` parameters at ``p``: the commonest families, and the others by a call."""
    if kind == EXPONENTIAL:
        return exponential(d) / getf(p, 0)
    if kind == LOGNORMAL:
        return math.exp(getf(p, 0) + getf(p, 1) * normal(d))
    if kind == GAMMA:
        return gamma(d, getf(p, 0)) * getf(p, 1)
    return draw_other(kind, p, count, d)


@helper
def draw_other(kind: int, p: int, count: int, d: int) -> float:
    if kind == UNIFORM:
        return getf(p, 0) + (getf(p, 1) - getf(p, 0)) * uniform(d)
    if kind == ERLANG:
        return gamma(d, getf(p, 0)) / getf(p, 1)
    if kind == WEIBULL:
        return getf(p, 1) * exponential(d) ** (1 / getf(p, 0))
    if kind == PARETO:
        return getf(p, 1) * math.exp(exponential(d) / getf(p, 0))
    if kind == NORMAL:
        x = -1.0
        while x < 0:
            x = getf(p, 0) + getf(p, 1) * normal(d)
        return x
    if kind == TRIANGULAR:
        return triangular(getf(p, 0), getf(p, 1), getf(p, 2), uniform(d))
    if kind == BETA:
        return beta(p, d)
    if kind == EMPIRICAL:
        return getf(p, count // 2 + pick(p, count // 2, uniform(d)))
    if kind == HYPEREXPONENTIAL:
        branch = pick(p, count // 2, uniform(d))
        return exponential(d) / getf(p, count // 2 + branch)
    if kind == HYPOEXPONENTIAL:
        total = 0.0
        for i in range(count):
            total += exponential(d) / getf(p, i)
        return total
    if kind == COXIAN:
        return coxian(p, count // 2, d)
    if kind == PHASE_TYPE:
        return phase_type(p, d)
    return getf(p, 0)  # DETERMINISTIC


# --- entry points that take arrays: for tests ------------------------------------------------------------------------------


@kernel
def draws_of(kind: int, parameters: Floats, words: Ints, out: Floats) -> None:
    """Fill ``out`` with values of an encoded leaf, drawn from the stream whose state is ``words``."""
    d = words.ctypes.data
    p = parameters.ctypes.data
    for i in range(len(out)):
        out[i] = draw(kind, p, len(parameters), d)


@kernel
def basic_draws(words: Ints, out: Floats) -> None:
    """Rows of a uniform, an exponential and a normal draw."""
    d = words.ctypes.data
    for i in range(len(out)):
        out[i, 0] = uniform(d)
        out[i, 1] = exponential(d)
        out[i, 2] = normal(d)
