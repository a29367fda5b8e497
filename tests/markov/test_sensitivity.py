"""Derivatives of stationary rewards against closed forms and differences of whole solutions; weights of differences."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.markov import sensitivity, stationary
from spn.markov.sensitivity import DIRECT, adjoint, slope, weights
from spn.reach.space import Rates, compressed


def birth_death(n: int, birth: float, death: float) -> Rates:
    up = np.arange(n - 1)
    return compressed(n, np.r_[up, up + 1], np.r_[up + 1, up], np.r_[np.full(n - 1, birth), np.full(n - 1, death)])


def test_weights_of_differences_are_exact_for_polynomials() -> None:
    assert weights((-1, 1)) == (F(-1, 2), F(1, 2))
    assert weights((-2, -1, 1, 2)) == (F(1, 12), F(-2, 3), F(2, 3), F(-1, 12))
    for nodes in ((0, 1, 2, 3), (-4, -3, -2, -1, 1, 2, 3, 4), (0, -1, -2, -3, -4, -5)):
        for power in range(len(nodes)):
            assert sum(w * F(j) ** power for w, j in zip(weights(nodes), nodes, strict=True)) == (power == 1)


@pytest.mark.parametrize("direct", [DIRECT, 0])
def test_a_queue_against_its_closed_form(monkeypatch: pytest.MonkeyPatch, direct: int) -> None:
    """M/M/1/K: the loss probability is rho^K (1 - rho) / (1 - rho^(K + 1))."""
    monkeypatch.setattr(sensitivity, "DIRECT", direct)
    n, load = 31, 0.8
    rates = birth_death(n, load, 1.0)
    pi = stationary(rates).pi
    a = adjoint(rates, pi, np.eye(n)[-1], 1e-12)
    change = (rates.values == load).astype(float)  # by the arrival rate
    k = n - 1
    top, below = load**k - load ** (k + 1), 1 - load ** (k + 1)
    exact = ((k * load ** (k - 1) - (k + 1) * load**k) * below + top * (k + 1) * load**k) / below**2
    assert slope(rates, pi, a.values, change) == pytest.approx(exact, rel=1e-10)
    assert a.error < 1e-10
    assert abs(pi @ a.values) < 1e-12


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(3, 9), st.integers(0, 10**6))
def test_random_chains_against_differences_of_solutions(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.r_[np.arange(n), rng.integers(0, n, 2 * n)]
    columns = np.r_[(np.arange(n) + 1) % n, rng.integers(0, n, 2 * n)]
    rates = compressed(n, rows, columns, rng.uniform(0.1, 5, 3 * n))
    gains, change = rng.standard_normal(n), rng.uniform(-1, 1, len(rates.values)) * rates.values
    pi = stationary(rates).pi
    found = slope(rates, pi, adjoint(rates, pi, gains, 1e-12).values, change)
    h = 1e-3
    at = [stationary(replace(rates, values=rates.values + j * h * change)).pi @ gains for j in (-2, -1, 1, 2)]
    assert found == pytest.approx((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h), abs=1e-9)


def test_nothing_to_gain() -> None:
    rates = birth_death(4, 1.0, 2.0)
    pi = stationary(rates).pi
    assert adjoint(rates, pi, np.zeros(4), 1e-12).values.tolist() == [0, 0, 0, 0]
