"""Transient distributions and first passage against closed forms and against matrix exponentials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from spn.markov import stationary
from spn.markov.passage import Passage
from spn.markov.rational import Unfit, advance, order_of
from spn.markov.transient import Walk, course, poisson
from spn.reach.space import Floats, Rates, compressed


def chain(n: int, arcs: list[tuple[int, int, float]]) -> Rates:
    rows, columns, values = (np.array(x) for x in zip(*arcs, strict=True))
    return compressed(n, rows, columns, values.astype(float))


def start(n: int, state: int = 0) -> Floats:
    p = np.zeros(n)
    p[state] = 1
    return p


@pytest.mark.parametrize("mean", [1e-9, 0.3, 1.0, 17.5, 1000.0, 3e6])
def test_poisson_weights(mean: float) -> None:
    first, weights = poisson(mean)
    ks = first + np.arange(len(weights))
    assert math.fsum(weights.tolist()) == pytest.approx(1, abs=1e-14)
    assert float(ks @ weights) == pytest.approx(mean, rel=1e-12)
    assert float((ks - mean) ** 2 @ weights) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("time", [0.0, 0.1, 1.0, 5.0, 20.0, 1e4, 1e7])
def test_two_states(time: float) -> None:
    """Failures at 0.02, repairs at 0.5: A(t) = 25/26 + e^(-0.52 t) / 26."""
    found = course(chain(2, [(0, 1, 0.02), (1, 0, 0.5)]), start(2), [time])
    assert found.at[0, 0] == pytest.approx(25 / 26 + math.exp(-0.52 * time) / 26, rel=1e-12)
    assert found.spent[0, 0] == pytest.approx(25 / 26 * time + -math.expm1(-0.52 * time) / 26 / 0.52, rel=1e-11)
    assert found.residual < 1e-12


def test_small_probabilities_are_exact_to_the_last_digits() -> None:
    """No subtraction: a Poisson count of 30 after a time in which 0.01 are expected."""
    rates = chain(31, [(k, k + 1, 1.0) for k in range(30)])
    found = course(rates, start(31), [0.01]).at[0]
    for k in (0, 5, 12):
        assert found[k] == pytest.approx(math.exp(-0.01) * 0.01**k / math.factorial(k), rel=1e-12)


def test_a_fast_chain_over_a_long_time_is_squared() -> None:
    """Rates 1e6 apart: 1e10 steps. The slow state decays as it does when the fast pair is in balance."""
    rates = chain(3, [(0, 1, 1e6), (1, 0, 1e6), (1, 2, 1e-3)])
    p = course(rates, start(3), [1000.0]).at[0]
    assert p[2] == pytest.approx(-math.expm1(-0.5), rel=1e-8)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(0.01, 30))
def test_any_chain_against_the_matrix_exponential(n: int, seed: int, time: float) -> None:
    rng = np.random.default_rng(seed)
    q = rng.exponential(size=(n, n)) * (rng.random((n, n)) < 0.6)
    np.fill_diagonal(q, 0)
    q[0, 1] += 0.1
    rows, columns = np.nonzero(q)
    rates = compressed(n, rows, columns, q[rows, columns])
    np.fill_diagonal(q, -q.sum(axis=1))
    whole = np.block([[q, np.eye(n)], [np.zeros((n, n)), np.zeros((n, n))]])
    e = expm(whole * time)
    found = course(rates, start(n), [time / 3, time])
    assert found.at[1] == pytest.approx(e[0, :n], abs=1e-10)
    assert found.spent.sum(axis=0) == pytest.approx(e[0, n:], abs=1e-9 * max(1, time))


def test_large_chains_by_sparse_products() -> None:
    n = 400
    rates = chain(n, [(k, k + 1, 2.0) for k in range(n - 1)])
    p = course(rates, start(n), [50.0]).at[0]
    assert p[100] == pytest.approx(math.exp(-100 + 100 * math.log(100) - math.lgamma(101)), rel=1e-10)


# --- first passage --------------------------------------------------------------------------------------------------------------------


def test_stages_in_a_row() -> None:
    """Exponential stages at rates 1, 2, 5: mean 1.7, and the distribution function of the hypoexponential law."""
    rates = chain(4, [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 5.0)])
    time = Passage(rates, start(4), np.arange(4) == 3)
    assert (time.chance, time.mean()) == (1, pytest.approx(1.7, rel=1e-14))
    for t, p in ((0.2, 0.009059953835870467), (1.0, 0.3047372112992344), (10.0, 0.9998865036108499)):
        assert time.within(t) == pytest.approx(p, rel=1e-12)
        assert time.quantile(p) == pytest.approx(t, rel=1e-9)


def test_a_target_that_may_be_missed() -> None:
    rates = chain(3, [(0, 1, 1.0), (0, 2, 3.0)])
    time = Passage(rates, start(3), np.arange(3) == 1)
    assert time.chance == pytest.approx(0.25)
    assert time.mean() == math.inf
    assert time.quantile(0.3) == math.inf
    assert time.quantile(0.125) == pytest.approx(math.log(2) / 4)
    assert Passage(rates, start(3), np.zeros(3, dtype=bool)).mean() == math.inf


def test_a_target_met_at_once() -> None:
    rates = chain(3, [(0, 1, 2.0), (2, 1, 1.0)])
    half = np.array([0.5, 0.5, 0.0])
    time = Passage(rates, half, np.arange(3) == 1)
    assert time.mean() == pytest.approx(0.25)
    assert time.quantile(0.5) == 0
    assert time.within(0) == 0.5
    assert Passage(rates, start(3, 1), np.arange(3) == 1).mean() == 0


def test_a_rare_target() -> None:
    """Two of three parts down before the first is mended: no digit is lost however rare that is."""
    slow, fast = 1e-9, 1.0
    rates = chain(3, [(0, 1, 3 * slow), (1, 0, fast), (1, 2, 2 * slow)])
    exact = (3 * slow + fast + 2 * slow) / (6 * slow**2)
    time = Passage(rates, start(3), np.arange(3) == 2)
    assert time.mean() == pytest.approx(exact, rel=1e-12)
    assert time.within(1e9) == pytest.approx(-math.expm1(-1e9 / exact), rel=1e-6)


def test_nothing_moves() -> None:
    still = Walk(compressed(2, np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([])))
    p, spent = still.go(start(2), 3.0)
    assert p.tolist() == [1, 0] and spent.tolist() == [3, 0]


# --- stiff chains ---------------------------------------------------------------------------------------------------------------------


def machines_and_queue(machines: int, room: int, fail: float, repair: float, arrive: float, serve: float) -> Rates:
    """Independent machines beside a queue that knows nothing of them: state (failed, queued)."""
    f, q = (a.ravel() for a in np.meshgrid(np.arange(machines + 1), np.arange(room + 1), indexing="ij"))
    width = room + 1
    moves = (
        (f < machines, (machines - f) * fail, width),
        (f > 0, f * repair, -width),
        (q < room, np.full(len(q), arrive), 1),
        (q > 0, np.full(len(q), serve), -1),
    )
    at = np.arange(len(f))
    rows = np.concatenate([at[can] for can, _, _ in moves])
    columns = np.concatenate([at[can] + step for can, _, step in moves])
    return compressed(len(f), rows, columns, np.concatenate([rate[can] for can, rate, _ in moves]))


@pytest.mark.parametrize("time", [1e4, 1e5, 1e7])
def test_a_large_stiff_chain_over_a_long_time(time: float) -> None:
    """The number of failed machines is binomial at any time; q t is up to 1.8e10."""
    machines, fail, repair = 40, 1e-6, 1e-5
    rates = machines_and_queue(machines, 30, fail, repair, 800.0, 1000.0)
    found = course(rates, start(rates.n), [time])
    down = fail / (fail + repair) * -math.expm1(-(fail + repair) * time)
    binomial = [math.comb(machines, k) * down**k * (1 - down) ** (machines - k) for k in range(machines + 1)]
    assert "rational Krylov" in found.method
    assert np.abs(found.at[0].reshape(machines + 1, -1).sum(axis=1) - binomial).sum() < 1e-10
    spent = fail / (fail + repair) * (time + math.expm1(-(fail + repair) * time) / (fail + repair))
    failed = np.repeat(np.arange(machines + 1), 31)
    assert found.spent[0] @ failed == pytest.approx(machines * spent, rel=1e-9)
    assert found.residual < 1e-10


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(3, 12), st.integers(0, 10**6), st.floats(0.1, 30), st.integers(0, 8))
def test_rational_spaces_against_the_matrix_exponential(n: int, seed: int, time: float, decades: int) -> None:
    rng = np.random.default_rng(seed)
    q = rng.exponential(size=(n, n)) * (rng.random((n, n)) < 0.5) * 10.0 ** rng.integers(0, decades + 1, (n, n))
    q[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    np.fill_diagonal(q, 0)
    rows, columns = np.nonzero(q)
    rates = compressed(n, rows, columns, q[rows, columns])
    try:
        found = advance(order_of(rates), start(n), time)
    except Unfit:
        return  # said, not wrong; that it works at all is tested above
    squared = Walk(rates)
    after, spent = squared._squares(start(n), time)
    assert np.abs(found.after - after).sum() < 1e-9
    assert np.abs(found.spent - spent).sum() < 1e-9 * time


def test_uniformisation_over_a_million_steps() -> None:
    """q t = 1e6 without a steady state on the way: a Poisson count, in a chain with one fast state that is hardly reached."""
    n = 210
    rates = chain(n, [(k, k + 1, 0.1) for k in range(n - 1)] + [(n - 1, 0, 1e3)])
    walk = Walk(rates)
    after, spent = walk.go(start(n), 1000.0)
    assert walk.used == {"uniformisation": pytest.approx(1.01e6)}
    assert math.fsum(after.tolist()) == pytest.approx(1, abs=1e-12)
    assert math.fsum(spent.tolist()) == pytest.approx(1000, rel=1e-12)
    for k in (60, 100, 140):
        assert after[k] == pytest.approx(math.exp(-100 + k * math.log(100) - math.lgamma(k + 1)), rel=1e-9)


def test_the_steady_state_is_noticed() -> None:
    """Of 2e7 steps a few thousand are made; the distribution and the time spent are those of the steady state all the same."""
    n = 300
    rates = chain(n, [(k, (k + 1) % n, 1.0) for k in range(n)] + [(k, (k * 7 + 3) % n, 2.0) for k in range(n) if (k * 7 + 3) % n != k])
    after, spent = Walk(rates).go(start(n), 1e5)
    right = stationary(rates).pi
    np.testing.assert_allclose(after, right, atol=1e-13)
    assert np.abs(spent / 1e5 - right).sum() < 1e-4
    assert math.fsum(spent.tolist()) == pytest.approx(1e5, rel=1e-12)
