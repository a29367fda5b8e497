"""The direct method's stream of random numbers: the published sequence, the ziggurat's tables, and the law of what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from spn.dist.random import LAYERS, NORMAL_TAIL, Random, normal_tables, seeded, tables

ALARM = 1e-6  # probability at which a test of a law fails though the law is right; the seed is fixed


def test_xoshiro_by_hand() -> None:
    """From the definition, with the state 1, 2, 3, 4: rotl(s0 + s3, 23) + s0, and after the linear step (7, 0, 262146, 6 * 2^45)."""
    stream = Random((1, 2, 3, 4))
    assert stream.bits() == (5 << 23) + 1
    assert stream.words == (7, 0, 262146, 6 << 45)
    assert stream.bits() == (((7 + (6 << 45)) << 23) % 2**64 | (7 + (6 << 45)) >> 41) + 7


def test_tables_are_those_of_the_ziggurats() -> None:
    """Equal areas: each layer is as wide as the right end of the layer below is high, and numpy's tables (for numba) agree."""
    from numba.np.random import _constants as known

    for found, widths, heights, steps in (
        (tables(), known.we_double, known.fe_double, known.ke_double),
        (normal_tables(), known.wi_double, known.fi_double, known.ki_double),
    ):
        assert all(len(t) == LAYERS for t in found)
        unit = widths[0] / found[0][0]  # of numpy's normal law there are 2^52 steps
        assert unit == pytest.approx(round(unit), rel=1e-9)
        assert found[0] == pytest.approx((widths / unit).tolist(), rel=1e-9)
        assert found[2] == pytest.approx(heights.tolist(), rel=1e-9)
        assert [a / 2**53 for a in found[1]] == pytest.approx([float(a) * unit / 2**53 for a in steps.tolist()], abs=1e-9)


def test_laws_of_the_draws() -> None:
    stream = Random(seeded(np.random.SeedSequence(5)))
    drawn = [stream.standard_exponential() for _ in range(60_000)]
    assert stats.kstest(drawn, "expon").pvalue > ALARM
    assert stats.kstest([stream.random() for _ in range(60_000)], "uniform").pvalue > ALARM
    beyond = sum(x > 7.7 for x in drawn)  # the tail below the lowest layer
    assert stats.binomtest(beyond, len(drawn), math.exp(-7.7)).pvalue > ALARM


def test_normal_draws() -> None:
    """The law, and what is beyond the lowest layer: its number, and its law given that."""
    stream = Random(seeded(np.random.SeedSequence(6)))
    drawn = np.array([stream.standard_normal() for _ in range(100_000)])
    assert stats.kstest(drawn, "norm").pvalue > ALARM
    assert stats.binomtest(int((abs(drawn) > 3.0).sum()), len(drawn), 2 * stats.norm.sf(3.0)).pvalue > ALARM
    beyond = [stream._beyond() for _ in range(5000)]
    assert stats.kstest(beyond, lambda x: 1 - stats.norm.sf(x) / stats.norm.sf(NORMAL_TAIL)).pvalue > ALARM


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.3, 4.0, 250.0])
def test_gamma_draws(shape: float) -> None:
    stream = Random(seeded(np.random.SeedSequence(7)))
    drawn = [stream.standard_gamma(shape) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > ALARM


def test_compiled_draws_are_the_same() -> None:
    """A hundred thousand rows, so that every layer and both tails occur."""
    from spn.dist.kernels import basic_draws

    stream = Random(seeded(np.random.SeedSequence(8)))
    words = np.array(stream.words, dtype=np.uint64).view(np.int64)
    found = np.empty((100_000, 3))
    basic_draws(words, found)
    expected = [(stream.random(), stream.standard_exponential(), stream.standard_normal()) for _ in range(len(found))]
    assert found == pytest.approx(np.array(expected), rel=1e-14)
    assert tuple(words.view(np.uint64).tolist()) == stream.words


def test_streams_of_different_seeds_differ() -> None:
    assert len({seeded(np.random.SeedSequence(1, spawn_key=(k,))) for k in range(100)}) == 100
