"""Control variates by regression: against the closed form, the loss factor, exact coverage, the choice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spn.sim.regression import chosen, pseudo_values, regressed, residual_variance


def test_one_control_by_hand() -> None:
    """y = 1, 2, 4 and c = -1, 0, 1: slope 3/2, intercept 7/3, residuals 1/6, -1/3, 1/6, so variance 1/6 / 3."""
    found = regressed(np.array([1.0, 2.0, 4.0]), np.array([[-1.0], [0.0], [1.0]]))
    assert (found.value, found.variance, found.freedom) == (pytest.approx(7 / 3), pytest.approx(1 / 18), 1)


def test_without_controls_it_is_the_mean() -> None:
    y = np.array([1.0, 2.0, 4.0, 9.0])
    found = regressed(y, np.zeros((4, 0)))
    assert (found.value, found.variance, found.freedom) == (pytest.approx(4), pytest.approx(np.var(y, ddof=1) / 4), 3)


def test_coverage_is_exact_for_normal_rows() -> None:
    """12 rows and 2 controls, correlated with the values: of 1000 intervals at 90 % between 868 and 931 hold the mean (binomial(1000, 0.9):
    false alarm 2e-3)."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        c = rng.standard_normal((12, 2))
        y = 5 + 2 * c[:, 0] - c[:, 1] + rng.standard_normal(12)
        found = regressed(y, c)
        hits += abs(found.value - 5) <= found.half_width(0.9)
    assert 868 <= hits <= 931


def test_the_loss_factor() -> None:
    """Over many samples the variance of the corrected mean is (n - 2) / (n - q - 2) times what known coefficients would give (within 15 %;
    the spread of a variance from 4000 samples is 2.2 %)."""
    rng = np.random.default_rng(2)
    n, q = 10, 3
    means = []
    for _ in range(4000):
        c = rng.standard_normal((n, q))
        means.append(regressed(c.sum(axis=1) + rng.standard_normal(n), c).value)
    assert np.var(means) == pytest.approx((n - 2) / (n - q - 2) / n, rel=0.15)


def test_the_choice() -> None:
    rng = np.random.default_rng(3)
    c = rng.standard_normal((40, 5))
    y = 3 * c[:, 2] + c[:, 4] + 0.5 * rng.standard_normal(40)
    kept, left = chosen(y, c, 64)
    assert list(kept) == [2, 4] and left == pytest.approx(0.25, rel=0.6)
    assert list(chosen(y, c[:, [0]], 64)[0]) == []
    assert residual_variance(y, c, 6) == math.inf  # too few rows to estimate five coefficients


def test_pseudo_values_take_the_bias_off_a_ratio() -> None:
    """E of the ratio of means of 8 pairs (1 + e, 1 + d), e and d independent of variance v, is 1 + v/8: the jackknife's is nearer to 1."""
    rng = np.random.default_rng(4)
    plain, jackknifed = [], []
    for _ in range(4000):
        rows = np.column_stack([np.ones(8), 1 + 0.3 * rng.standard_normal((8, 2))])
        plain.append(rows[:, 1].mean() / rows[:, 2].mean())
        jackknifed.append(pseudo_values(rows, lambda a: float(a[0] / a[1])).mean())
    assert np.mean(plain) - 1 == pytest.approx(0.09 / 8, abs=0.008)
    assert abs(np.mean(jackknifed) - 1) < 0.008
