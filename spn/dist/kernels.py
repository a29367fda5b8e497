# mypy: disable-error-code="no-any-return"
"""Draws of leaf laws in compiled code, equal draw for draw to :meth:`spn.dist.law.Law.draw`.

``params[offset : offset + count]`` is what :func:`spn.dist.leaves.encode` made of a leaf: scale, shift, then the parameters of the family.
Each branch calls the generator in the very order of the family's own ``draw``.
"""

from __future__ import annotations

import math

import numpy as np

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
from spn.dist.law import Floats
from spn.jit import kernel


@kernel
def pick(sums: Floats, start: int, count: int, u: float) -> int:
    """The first i with u < sums[start + i], by bisection; ``count`` where there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if u < sums[start + middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def coxian(params: Floats, at: int, n: int, rng: np.random.Generator) -> float:
    total = 0.0
    for i in range(n):
        total += rng.standard_exponential() / params[at + i]
        if i < n - 1 and rng.random() < params[at + n + i]:
            break
    return total


@kernel
def phase_type(params: Floats, at: int, rng: np.random.Generator) -> float:
    n = int(params[at])
    totals, jumps = at + 1 + n, at + 1 + 2 * n
    total = 0.0
    phase = pick(params, at + 1, n, rng.random())
    while phase < n:
        total += rng.standard_exponential() / params[totals + phase]
        phase = pick(params, jumps + n * phase, n, rng.random())
    return total


@kernel
def triangular(low: float, mode: float, high: float, u: float) -> float:
    width, rise, fall = high - low, mode - low, high - mode
    if u * width < rise:
        return low + math.sqrt(u * width * rise)
    return high - math.sqrt((1 - u) * width * fall)


@kernel
def beta(params: Floats, at: int, rng: np.random.Generator) -> float:
    while True:
        g = rng.standard_gamma(params[at])
        h = rng.standard_gamma(params[at + 1])
        if g + h > 0:
            return params[at + 2] + (params[at + 3] - params[at + 2]) * (g / (g + h))


@kernel
def draw(kind: int, params: Floats, offset: int, count: int, rng: np.random.Generator) -> float:
    """One value of the leaf encoded at ``offset`` (``count`` numbers), scale and shift applied."""
    return params[offset + 1] + params[offset] * draw_base(kind, params, offset + 2, count - 2, rng)


@kernel
def draw_base(kind: int, params: Floats, at: int, count: int, rng: np.random.Generator) -> float:
    """One value of the family itself, its ``count`` parameters starting at ``at``."""
    if kind == EXPONENTIAL:
        return rng.standard_exponential() / params[at]
    if kind == UNIFORM:
        return params[at] + (params[at + 1] - params[at]) * rng.random()
    if kind == GAMMA:
        return rng.standard_gamma(params[at]) * params[at + 1]
    if kind == ERLANG:
        return rng.standard_gamma(params[at]) / params[at + 1]
    if kind == LOGNORMAL:
        return math.exp(params[at] + params[at + 1] * rng.standard_normal())
    if kind == WEIBULL:
        return params[at + 1] * rng.standard_exponential() ** (1 / params[at])
    if kind == PARETO:
        return params[at + 1] * math.exp(rng.standard_exponential() / params[at])
    if kind == NORMAL:
        x = -1.0
        while x < 0:
            x = params[at] + params[at + 1] * rng.standard_normal()
        return x
    if kind == TRIANGULAR:
        return triangular(params[at], params[at + 1], params[at + 2], rng.random())
    if kind == BETA:
        return beta(params, at, rng)
    if kind == EMPIRICAL:
        return params[at + count // 2 + pick(params, at, count // 2, rng.random())]
    if kind == HYPEREXPONENTIAL:
        branch = pick(params, at, count // 2, rng.random())
        return rng.standard_exponential() / params[at + count // 2 + branch]
    if kind == HYPOEXPONENTIAL:
        total = 0.0
        for i in range(count):
            total += rng.standard_exponential() / params[at + i]
        return total
    if kind == COXIAN:
        return coxian(params, at, count // 2, rng)
    if kind == PHASE_TYPE:
        return phase_type(params, at, rng)
    return params[at]  # DETERMINISTIC
