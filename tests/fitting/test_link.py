"""Links from bytes and seconds: known lines, with and without outliers."""

from __future__ import annotations

import numpy as np
import pytest

from spn.errors import DataError
from spn.fitting.link import fit_link

SIZES = np.linspace(1e4, 1e7, 50)


def test_an_exact_line_is_given_back():
    found = fit_link(SIZES, 0.002 + SIZES / 25e6)
    assert found.capacity == pytest.approx(25e6) and found.latency == pytest.approx(0.002)


def test_outliers_do_not_move_it():
    noise = np.random.default_rng(1).normal(1, 0.01, len(SIZES))
    seconds = (0.002 + SIZES / 25e6) * noise
    seconds[::10] *= 8
    found = fit_link(SIZES, seconds)
    assert found.capacity == pytest.approx(25e6, rel=0.03)
    assert found.outliers >= 5


def test_equal_sizes_tell_no_latency():
    found = fit_link([1e6] * 5, [0.04] * 4 + [0.4])
    assert found.capacity == pytest.approx(25e6) and found.latency is None and found.outliers == 1


def test_what_is_no_link_is_refused():
    with pytest.raises(DataError, match="pairs"):
        fit_link([], [])
    with pytest.raises(DataError, match="positive"):
        fit_link([1.0], [0.0])
    with pytest.raises(DataError, match="do not grow"):
        fit_link([1, 2, 3], [3, 2, 1e-9])
