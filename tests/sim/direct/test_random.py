"""The direct method's stream of random numbers: the published sequence, the ziggurat's tables, and the law of what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from spn.sim.direct.random import LAYERS, Random, seeded, tables

ALARM = 1e-6  # probability at which a test of a law fails though the law is right; the seed is fixed


def test_xoshiro_by_hand() -> None:
    """From the definition, with the state 1, 2, 3, 4: rotl(s0 + s3, 23) + s0, and after the linear step (7, 0, 262146, 6 * 2^45)."""
    stream = Random((1, 2, 3, 4))
    assert stream.bits() == (5 << 23) + 1
    assert stream.words == (7, 0, 262146, 6 << 45)
    assert stream.bits() == (((7 + (6 << 45)) << 23) % 2**64 | (7 + (6 << 45)) >> 41) + 7


def test_tables_are_those_of_the_exponential_ziggurat() -> None:
    """Equal areas: each layer is as wide as the right end of the layer below is high, and numpy's tables agree."""
    from spn.jit import EXP_ACCEPT, EXP_HEIGHTS, EXP_WIDTHS

    widths, accept, heights = tables()
    assert len(widths) == len(accept) == len(heights) == LAYERS
    assert widths == pytest.approx(EXP_WIDTHS.tolist(), rel=1e-9)
    assert heights == pytest.approx(EXP_HEIGHTS.tolist(), rel=1e-9)
    assert [a / 2**53 for a in accept] == pytest.approx([a / 2**53 for a in EXP_ACCEPT.tolist()], abs=1e-9)


def test_laws_of_the_draws() -> None:
    stream = Random(seeded(np.random.SeedSequence(5)))
    drawn = [stream.exponential() for _ in range(60_000)]
    assert stats.kstest(drawn, "expon").pvalue > ALARM
    assert stats.kstest([stream.random() for _ in range(60_000)], "uniform").pvalue > ALARM
    beyond = sum(x > 7.7 for x in drawn)  # the tail below the lowest layer
    assert stats.binomtest(beyond, len(drawn), math.exp(-7.7)).pvalue > ALARM


def test_streams_of_different_seeds_differ() -> None:
    assert len({seeded(np.random.SeedSequence(1, spawn_key=(k,))) for k in range(100)}) == 100
