"""Jumps of a Poisson process within a random time, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spn.dist.families import (
    Beta,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Scaled,
    Shifted,
    Triangular,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from spn.markov.counts import counts

LAWS = [
    Deterministic(value=1.5),
    Uniform(low=0.5, high=2.5),
    Triangular(low=0.2, mode=0.9, high=2.0),
    Weibull(shape=0.6, scale=1.0),
    Weibull(shape=3.0, scale=1.0),
    Lognormal(mu=0.0, sigma=0.4),
    Lognormal(mu=0.0, sigma=1.2),
    Gamma(shape=0.4, scale=2.0),
    Beta(alpha=0.5, beta=0.5, low=0.0, high=2.0),
    TruncatedNormal(mu=1.0, sigma=0.5),
    Empirical(values=(0.1, 0.7, 3.0), weights=(1, 2, 1)),
    Shifted(law=Gamma(shape=2.5, scale=0.3), by=0.5),
    Mixture(parts=((0.3, Deterministic(value=0.5)), (0.7, Scaled(law=Uniform(low=0.0, high=1.0), by=2)))),
]


@pytest.mark.parametrize("q", [1e-4, 0.3, 7.0, 400.0])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_the_counts_are_a_distribution_of_the_right_mean_and_variance(law, q) -> None:
    c = counts(law, q)
    k = np.arange(len(c.exactly))
    assert math.fsum(c.exactly) == pytest.approx(1, abs=1e-12)
    assert math.fsum(c.beyond) + c.later == pytest.approx(q * law.mean(), rel=1e-12)
    assert c.rest < 1e-5 and c.later <= 1e-4 * q * law.mean()
    mean, square = q * law.mean(), float(c.exactly @ (k * k))
    assert square == pytest.approx(mean + q * q * law.variance() + mean * mean, rel=1e-8 if c.rest == 0 else 0.01)


@pytest.mark.parametrize("q", [0.02, 1.0, 90.0])
@pytest.mark.parametrize("shape", [0.4, 1.0, 2.5, 30.0])
def test_within_a_gamma_time_jumps_are_negative_binomial(shape: float, q: float) -> None:
    found = counts(Gamma(shape=shape, scale=0.7), q).exactly
    p = 0.7 * q / (1 + 0.7 * q)
    k = np.arange(len(found))
    log = np.array([math.lgamma(shape + i) - math.lgamma(i + 1) - math.lgamma(shape) for i in k.tolist()])
    assert found == pytest.approx(np.exp(log + shape * math.log1p(-p) + k * math.log(p)), abs=3e-13)


def test_within_an_exponential_time_jumps_are_geometric() -> None:
    found = counts(Exponential(rate=2.0), 3.0)
    assert found.exactly[:40] == pytest.approx(0.4 * 0.6 ** np.arange(40), rel=1e-11, abs=1e-15)
    assert found.beyond[:40] == pytest.approx(0.6 ** (1 + np.arange(40)), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("q", [0.5, 20.0])
def test_within_a_uniform_time(q: float) -> None:
    """P(N = k) = (P(G <= q b) - P(G <= q a)) / (q (b - a)), G gamma of shape k + 1."""
    from scipy.special import gammainc

    found = counts(Uniform(low=0.5, high=2.5), q).exactly
    k = np.arange(len(found))
    assert found == pytest.approx((gammainc(k + 1, 2.5 * q) - gammainc(k + 1, 0.5 * q)) / (2 * q), abs=1e-14)


def test_a_heavy_tail_is_cut_off_and_said() -> None:
    c = counts(Pareto(alpha=1.2, scale=1.0), 50.0)
    assert 0 < c.rest < 1e-3
    assert c.later > 0
    assert math.fsum(c.beyond) + c.later == pytest.approx(50 * Pareto(alpha=1.2, scale=1.0).mean(), rel=1e-9)
