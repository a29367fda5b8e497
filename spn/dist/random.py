"""The simulators' own stream of random numbers, in plain Python: xoshiro256++, and ziggurats for the exponential and the normal law.

xoshiro256++ (D. Blackman and S. Vigna, ACM Trans. Math. Softw. 47(4), 2021; period 2^256 - 1). The ziggurats have 256 layers of equal
area (G. Marsaglia and W. W. Tsang, J. Statist. Softw. 5(8), 2000), with 53 bits for the place in a layer and 8 others for the layer, so
that the two are independent (J. A. Doornik's remark on the original, 2005). Gamma draws are those of G. Marsaglia and W. W. Tsang (ACM
Trans. Math. Softw. 26(3), 2000). :mod:`spn.dist.kernels` draws the same, compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Protocol

import numpy as np

LAYERS = 256
UNIT = 2**53
TAIL = 7.69711747013104972  # of the exponential law: where the ziggurat's lowest layer turns into the tail, for 256 layers
NORMAL_TAIL = 3.6541528853610088  # the same of the normal law
_WORD = 2**64 - 1

Words = tuple[int, int, int, int]
Tables = tuple[tuple[float, ...], tuple[int, ...], tuple[float, ...]]


class Source(Protocol):
    """What laws draw from: a :class:`Random`, or numpy's ``Generator``, which has the same methods."""

    def random(self) -> float:
        """Uniform on [0, 1), a multiple of 2^-53."""
        ...

    def standard_exponential(self) -> float:
        """Exponential with mean 1."""
        ...

    def standard_normal(self) -> float:
        """Normal with mean 0 and variance 1."""
        ...

    def standard_gamma(self, shape: float) -> float:
        """Gamma with the given shape (> 0) and scale 1."""
        ...


def _tables(tail: float, area: float, density: Callable[[float], float], inverse: Callable[[float], float]) -> Tables:
    """Of each layer: the width of one of 2^53 steps, the steps that need no look at the density, and the density at its right end."""
    ends = [0.0] * LAYERS
    ends[LAYERS - 1] = tail
    for i in range(LAYERS - 2, 0, -1):
        ends[i] = inverse(area / ends[i + 1] + density(ends[i + 1]))
    lowest = area / density(tail)
    widths = (lowest / UNIT, *(x / UNIT for x in ends[1:]))
    accept = (int(tail / lowest * UNIT), 0, *(int(ends[i - 1] / ends[i] * UNIT) for i in range(2, LAYERS)))
    return widths, accept, tuple(density(x) for x in ends)


@cache
def tables() -> Tables:
    """The ziggurat of the exponential law."""
    return _tables(TAIL, TAIL * math.exp(-TAIL) + math.exp(-TAIL), lambda x: math.exp(-x), lambda y: -math.log(y))


@cache
def normal_tables() -> Tables:
    """The ziggurat of one half of the normal law."""
    area = NORMAL_TAIL * math.exp(-0.5 * NORMAL_TAIL**2) + math.sqrt(math.pi / 2) * math.erfc(NORMAL_TAIL / math.sqrt(2))
    return _tables(NORMAL_TAIL, area, lambda x: math.exp(-0.5 * x * x), lambda y: math.sqrt(-2 * math.log(y)))


def seeded(sequence: np.random.SeedSequence) -> Words:
    """The four words a stream begins with; never all 0."""
    a, b, c, d = (int(w) for w in sequence.generate_state(4, np.uint64))
    return (a, b, c, d) if a | b | c | d else (1, 0, 0, 0)


def seeds_of(rng: np.random.Generator) -> Words:
    """The words with which the stream begins that has the seed of a generator of numpy's; that is not drawn from."""
    sequence = rng.bit_generator.seed_seq
    assert isinstance(sequence, np.random.SeedSequence)
    return seeded(sequence)


class Random:
    """A stream. ``words`` is its state: four whole numbers below 2^64."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._begun = words
        self._widths, self._accept, self._heights = tables()
        self._normal_widths, self._normal_accept, self._normal_heights = normal_tables()

    @property
    def drew(self) -> bool:
        """Whether anything was drawn."""
        return self.words != self._begun

    def bits(self) -> int:
        """64 random bits."""
        a, b, c, d = self.words
        total = (a + d) & _WORD
        result = (((total << 23) & _WORD | total >> 41) + a) & _WORD
        c, d = c ^ a, d ^ b
        self.words = a ^ d, b ^ c, c ^ ((b << 17) & _WORD), ((d << 45) & _WORD) | d >> 19
        return result

    def random(self) -> float:
        """Uniform on [0, 1), a multiple of 2^-53."""
        return (self.bits() >> 11) * (1.0 / UNIT)

    def standard_exponential(self) -> float:
        """Exponential with mean 1."""
        while True:
            bits = self.bits() >> 3
            layer, steps = bits & 0xFF, bits >> 8
            x = steps * self._widths[layer]
            if steps < self._accept[layer]:
                return x
            if layer == 0:
                return TAIL - math.log1p(-self.random())
            low = self._heights[layer]
            if (self._heights[layer - 1] - low) * self.random() + low < math.exp(-x):
                return x

    def standard_normal(self) -> float:
        """Normal with mean 0 and variance 1; its tail by exponential draws."""
        while True:
            bits = self.bits() >> 2
            sign, layer, steps = 1.0 - 2.0 * (bits & 1), bits >> 1 & 0xFF, bits >> 9
            x = steps * self._normal_widths[layer]
            if steps < self._normal_accept[layer]:
                return sign * x
            if layer == 0:
                return sign * self._beyond()
            low = self._normal_heights[layer]
            if (self._normal_heights[layer - 1] - low) * self.random() + low < math.exp(-0.5 * x * x):
                return sign * x

    def _beyond(self) -> float:
        """The normal law given that it is beyond its tail's beginning (G. Marsaglia, Technometrics 6(1), 1964)."""
        while True:
            x = self.standard_exponential() / NORMAL_TAIL
            if 2 * self.standard_exponential() > x * x:
                return NORMAL_TAIL + x

    def standard_gamma(self, shape: float) -> float:
        """Gamma with the given shape and scale 1; shapes below 1 from the next shape and one exponential draw."""
        if shape < 1:
            drawn = self.standard_gamma(shape + 1)
            return drawn * math.exp(-self.standard_exponential() / shape)
        if shape == 1:
            return self.standard_exponential()
        d = shape - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.standard_normal()
            v = 1.0 + c * x
            if v <= 0.0:
                continue
            v = v * v * v
            u = 1.0 - self.random()
            square = x * x
            if u < 1.0 - 0.0331 * (square * square) or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
                return d * v
