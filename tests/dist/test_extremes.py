"""The mean of the largest of independent variables against closed forms and an integral by another method."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spn.dist.extremes import mean_of_largest
from spn.dist.families import (
    Beta,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Shifted,
    Triangular,
    Uniform,
    Weibull,
)

LAWS = [
    Erlang(k=4, rate=2.0),
    Gamma(shape=0.3, scale=2.0),
    Lognormal(mu=0.0, sigma=1.5),
    Weibull(shape=0.6, scale=1.0),
    Triangular(low=1.0, mode=1.2, high=4.0),
    Beta(alpha=0.5, beta=3.0, low=0.0, high=2.0),
    Mixture(parts=((0.3, Deterministic(value=2.0)), (0.7, Exponential(rate=1.0)))),
    Shifted(law=Gamma(shape=2.0, scale=0.5), by=1.5),
]


@pytest.mark.parametrize("n", [1, 2, 8, 64, 1000])
def test_exponential_and_uniform(n):
    harmonic = math.fsum(1 / k for k in range(1, n + 1))
    assert mean_of_largest([(Exponential(rate=2.0), n)])[0] == pytest.approx(harmonic / 2, rel=1e-12)
    assert mean_of_largest([(Uniform(low=0.5, high=1.5), n)])[0] == pytest.approx(0.5 + n / (n + 1), rel=1e-12)


@pytest.mark.parametrize("n", [2, 64])
def test_pareto(n):
    """E[max] = x n B(n, 1 - 1/a), a heavy tail."""
    a = 1.5
    right = 2.0 * n * math.exp(math.lgamma(n) + math.lgamma(1 - 1 / a) - math.lgamma(n + 1 - 1 / a))
    value, error = mean_of_largest([(Pareto(alpha=a, scale=2.0), n)])
    assert value == pytest.approx(right, rel=1e-6)
    assert error < 1e-8


def test_weibull():
    n, shape = 5, 2.0
    right = n * math.gamma(1 + 1 / shape) * math.fsum((-1) ** k * math.comb(n - 1, k) * (k + 1) ** (-1 - 1 / shape) for k in range(n))
    assert mean_of_largest([(Weibull(shape=shape, scale=1.0), n)])[0] == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.family)
def test_the_quantile_function_gives_the_same(law):
    """E[max] = integral of Q(u^(1/n)) over u, by the double exponential rule."""
    n = 16
    s = np.linspace(-4.5, 4.5, 40_001)
    u = 0.5 * (1 + np.tanh(np.pi / 2 * np.sinh(s)))
    w = np.pi / 4 * np.cosh(s) / np.cosh(np.pi / 2 * np.sinh(s)) ** 2 * (s[1] - s[0])
    inside = (u > 0) & (u ** (1 / n) < 1)
    right = float(law.quantile(u[inside] ** (1 / n)) @ w[inside])
    assert mean_of_largest([(law, n)])[0] == pytest.approx(right, rel=2e-5)


def test_different_laws_and_constants():
    value, _ = mean_of_largest([(Deterministic(value=2.0), 1), (Exponential(rate=0.75), 1)])
    assert value == pytest.approx(2 + math.exp(-1.5) / 0.75, rel=1e-13)
    value, _ = mean_of_largest([(Exponential(rate=1.0), 1), (Exponential(rate=2.0), 1)])
    assert value == pytest.approx(1 + 1 / 2 - 1 / 3, rel=1e-12)


def test_recorded_values():
    rng = np.random.default_rng(5)
    values = rng.gamma(4.0, 1.0, 500)
    law = Empirical(values=tuple(values.tolist()))
    ranked = np.sort(values)
    steps = np.arange(501) / 500
    assert mean_of_largest([(law, 7)])[0] == pytest.approx(float(ranked @ np.diff(steps**7)), rel=1e-12)


def test_no_mean():
    assert mean_of_largest([(Pareto(alpha=1.0, scale=1.0), 3)]) == (math.inf, 0.0)
