"""Iterations: what they promise of the error, chains on which the naive ones fail, and the choice with its reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import AnalysisError
from spn.markov import long_run, stationary
from spn.markov import stationary as chosen
from spn.markov.gth import gth
from spn.markov.jumps import irreducible, jumps_of, unbalance
from spn.markov.krylov import by_idr, signs
from spn.markov.stationary import METHODS
from spn.markov.sweeps import by_power, by_sweeps
from spn.reach.space import Rates, compressed
from tests.bench.chains import product_form, ring
from tests.markov.test_stationary import failing_workers, tandem, triplets

SPEEDS = (1.0, 1.5, 2.0, 2.5, 3.0)
FEW = tuple(m for m in METHODS if m != "aggregation")


def cycle(n: int, seed: int = 5) -> tuple[Rates, np.ndarray]:
    rate = np.random.default_rng(seed).uniform(0.5, 2, n)
    return compressed(n, np.arange(n), (np.arange(n) + 1) % n, rate), 1 / rate / np.sum(1 / rate)


# --- the transposed jump chain ------------------------------------------------------------------------------------------------


def test_the_transposed_jump_chain() -> None:
    rates, _ = tandem(6, 3, (1.0, 2.0, 0.5))
    j = jumps_of(rates)
    dense = np.zeros((rates.n, rates.n))
    dense[rates.sources(), rates.columns] = rates.values
    right = (dense / dense.sum(axis=1)[:, None]).T
    found = np.zeros_like(right)
    found[np.repeat(np.arange(j.n), np.diff(j.starts)), j.sources] = j.values
    np.testing.assert_allclose(found, right, rtol=1e-15)
    assert all(np.all(np.diff(j.sources[a:b]) > 0) for a, b in zip(j.starts, j.starts[1:], strict=False))
    np.testing.assert_allclose(j.exits, dense.sum(axis=1))


def test_irreducible() -> None:
    assert irreducible(jumps_of(cycle(5)[0]))
    assert not irreducible(jumps_of(triplets(3, (0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0))))
    assert not irreducible(jumps_of(triplets(3, (0, 1, 1.0), (1, 0, 1.0), (2, 0, 1.0))))


def test_shadow_vectors_are_signs() -> None:
    drawn = signs(1001, np.random.default_rng(0))
    assert drawn.shape == (2, 1001) and set(np.unique(drawn)) == {-1, 1}
    assert abs(int(drawn.sum())) < 300


# --- errors ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [lambda r: by_idr(jumps_of(r), 1e-10), lambda r: by_sweeps(jumps_of(r), 1e-10)], ids=["IDR", "SOR"])
@pytest.mark.parametrize("tokens", [8, 25])
def test_the_error_stated_is_of_the_size_of_the_true_one(method, tokens: int) -> None:
    """A ring of stations, whose forward and backward sweeps converge at different speeds or go round in circles."""
    rates, states = ring(tokens, SPEEDS)
    found = method(rates)
    true = np.abs(found.pi - product_form(states, SPEEDS)).sum()
    assert true <= max(20 * found.error, 1e-13)
    assert found.error <= 1e-10 and true <= 1e-10


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 40), st.integers(0, 10**6), st.integers(0, 6))
def test_what_is_called_converged_is_right_on_any_chain(n: int, seed: int, decades: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.r_[np.arange(n), rng.integers(0, n, n)]
    columns = np.r_[(np.arange(n) + 1) % n, rng.integers(0, n, n)]
    rates = compressed(n, rows, columns, 10.0 ** rng.uniform(0, decades, 2 * n) if n > 1 else np.ones(2 * n))
    right = gth(rates)
    for solver in ("idr", "sor", "power", "lu"):
        found = stationary(rates, solver=solver)
        if found.converged:
            assert np.abs(found.pi - right).sum() < 1e-8, (solver, found)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_ring_that_one_direction_of_sweeps_never_solves(reverse: bool) -> None:
    rates, right = cycle(600)
    if reverse:
        sources = rates.sources()
        rates = compressed(600, 599 - sources, 599 - rates.columns, rates.values)
        right = right[::-1]
    found = by_sweeps(jumps_of(rates), 1e-10)
    np.testing.assert_allclose(found.pi, right, rtol=1e-9)
    assert found.error < 1e-10


def test_the_damped_power_method_on_a_periodic_chain() -> None:
    """A ring of 6 has period 6: undamped, the power method would never converge."""
    rates, right = cycle(6)
    found = by_power(rates, rates.exits(), 1e-11)
    assert found.error < 1e-11
    np.testing.assert_allclose(found.pi, right, rtol=1e-9)


# --- the choice -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", FEW)
def test_any_method_can_be_asked_for(solver: str) -> None:
    rates, states = ring(9, SPEEDS)
    found = stationary(rates, solver=solver)
    assert found.converged and found.reason.startswith("asked for")
    np.testing.assert_allclose(found.pi, product_form(states, SPEEDS), rtol=1e-7, atol=1e-12)


def test_the_reason_is_stated() -> None:
    small, _ = cycle(5)
    assert stationary(small).reason == "5 states, at most 500: eliminated without subtraction"
    large, states = ring(26, SPEEDS)
    found = stationary(large)
    assert (found.method, len(found.tried)) == ("IDR(2)", 1)
    assert "27,405 states: too many to eliminate" in found.reason
    assert np.abs(found.pi - product_form(states, SPEEDS)).sum() < 1e-10
    stiff, _ = failing_workers(210, 1e-9, 1e-7)
    assert stationary(stiff).reason == "22,366 states in 211 groups between which it seldom moves: 2 rounds"


def test_short_memory_takes_sweeps_then_the_power_method(monkeypatch: pytest.MonkeyPatch) -> None:
    rates, states = ring(22, SPEEDS)
    assert rates.n > chosen.__globals__["QUICK"]
    right = product_form(states, SPEEDS)
    between = 12.0 * len(rates.values) + 40.0 * rates.n  # room for the transposed chain, not for the vectors of IDR
    monkeypatch.setitem(chosen.__globals__, "_elimination", lambda *_: "")
    for memory, method in ((between / 0.8, "SOR"), (1e5, "damped power")):
        monkeypatch.setitem(chosen.__globals__, "available_memory", lambda memory=memory: memory)
        found = stationary(rates)
        assert (found.method, found.converged) == (method, True)
        assert np.abs(found.pi - right).sum() < 1e-9


def test_when_one_method_falls_short_the_next_is_tried() -> None:
    """Sparse LU loses the weights of the groups of a stiff chain, and says so."""
    rates, _ = failing_workers(40, 1e-9, 1e-7)
    found = stationary(rates)
    assert found.converged and found.method == "sparse GTH"
    assert [t.split(":")[0] for t in found.tried] == ["sparse LU", "sparse GTH"]
    assert np.abs(found.pi - gth(rates)).sum() < 1e-13


@pytest.mark.parametrize(("bad", "what"), [(np.inf, "inf"), (np.nan, "nan"), (0.0, "is 0"), (-1.0, "is -1")])
def test_rates_that_are_no_rates(bad: float, what: str) -> None:
    rates, _ = cycle(5)
    values = rates.values.copy()
    values[2] = bad
    with pytest.raises(AnalysisError, match=what):
        stationary(Rates(indptr=rates.indptr, columns=rates.columns, values=values))


def test_rates_beyond_double_precision_together() -> None:
    with pytest.raises(AnalysisError, match="out of double precision"):
        stationary(triplets(2, (0, 1, 1e-300), (1, 0, 1e300)))
    found = stationary(triplets(2, (0, 1, 1e-300), (1, 0, 1.0)))
    np.testing.assert_allclose(found.pi, [1.0, 1e-300], rtol=1e-14)


# --- reducible chains -----------------------------------------------------------------------------------------------------------


def test_a_large_walk_between_two_ends() -> None:
    """Gambler's ruin in a plane: the second coordinate moves for itself; 40,401 states, 402 of them absorbing in two sets of classes."""
    n, width = 200, 201
    x, y = (a.ravel() for a in np.meshgrid(np.arange(n + 1), np.arange(width), indexing="ij"))
    inside = (x > 0) & (x < n)
    at = np.arange(len(x))
    moves = ((inside, 1.0, width), (inside, 1.02, -width), (inside & (y < width - 1), 0.7, 1), (inside & (y > 0), 0.4, -1))
    rows = np.concatenate([at[can] for can, _, _ in moves])
    columns = np.concatenate([at[can] + step for can, _, step in moves])
    rates = compressed(len(x), rows, columns, np.concatenate([np.full(int(can.sum()), rate) for can, rate, _ in moves]))
    initial = np.zeros(len(x))
    initial[150 * width + 100] = 1
    found = long_run(rates, initial)
    assert found.converged and len(found.classes) == 2 * width
    won = sum(c.probability for c in found.classes if c.states[0] >= n * width)
    r = 1.02
    assert won == pytest.approx((r**150 - 1) / (r**200 - 1), rel=1e-8)


def test_the_residual_is_that_of_the_vector() -> None:
    rates, states = ring(12, SPEEDS)
    j = jumps_of(rates)
    right = product_form(states, SPEEDS)
    assert unbalance(j, right * j.exits) < 1e-14
    assert unbalance(j, np.ones(j.n)) > 0.01
