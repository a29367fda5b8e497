"""The direct method's own stream of random numbers, in plain Python: xoshiro256++ and a ziggurat for the exponential law.

xoshiro256++ (D. Blackman and S. Vigna, ACM Trans. Math. Softw. 47(4), 2021; period 2^256 - 1). The ziggurat has 256 layers of equal area
(G. Marsaglia and W. W. Tsang, J. Statist. Softw. 5(8), 2000), with 53 bits for the place in a layer and 8 others for the layer, so that
the two are independent (J. A. Doornik's remark on the original, 2005).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from spn.sim.direct.layout import TAIL

LAYERS = 256
UNIT = 2**53
_WORD = 2**64 - 1

Tables = tuple[tuple[float, ...], tuple[int, ...], tuple[float, ...]]


@cache
def tables() -> Tables:
    """Of each layer: the width of one of 2^53 steps, the steps that need no look at the density, and the density at its right end."""
    area = TAIL * math.exp(-TAIL) + math.exp(-TAIL)
    ends = [0.0] * LAYERS
    ends[LAYERS - 1] = TAIL
    for i in range(LAYERS - 2, 0, -1):
        ends[i] = -math.log(area / ends[i + 1] + math.exp(-ends[i + 1]))
    lowest = area * math.exp(TAIL)
    widths = (lowest / UNIT, *(x / UNIT for x in ends[1:]))
    accept = (int(TAIL / lowest * UNIT), 0, *(int(ends[i - 1] / ends[i] * UNIT) for i in range(2, LAYERS)))
    return widths, accept, tuple(math.exp(-x) for x in ends)


def seeded(sequence: np.random.SeedSequence) -> tuple[int, int, int, int]:
    """The four words a stream begins with; never all 0."""
    a, b, c, d = (int(w) for w in sequence.generate_state(4, np.uint64))
    return (a, b, c, d) if a | b | c | d else (1, 0, 0, 0)


class Random:
    """A stream. ``words`` is its state: four whole numbers below 2^64."""

    def __init__(self, words: tuple[int, int, int, int]) -> None:
        self.words = words
        self._widths, self._accept, self._heights = tables()

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

    def exponential(self) -> float:
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
