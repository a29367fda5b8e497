"""Stationary vectors by every method, against closed forms and exact rational elimination; and the honesty of the residual."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.markov import long_run, stationary
from spn.markov.balance import aggregate_imbalance, imbalance
from spn.markov.direct import by_lu
from spn.markov.gth import gth
from spn.markov.jumps import jumps_of
from spn.markov.krylov import by_idr
from spn.markov.reduction import by_reduction
from spn.markov.stationary import DENSE, QUICK, SPARSE, residual_of
from spn.markov.sweeps import by_sweeps
from spn.reach import explore
from spn.reach.space import Rates, compressed
from tests.bench.bench_stationary import workers
from tests.oracles import chains

TOLERANCE = 1e-10
METHODS = {
    "GTH": gth,
    "sparse LU": lambda r: by_lu(r).pi,
    "sparse GTH": lambda r: by_reduction(r, 1e12),
    "IDR": lambda r: by_idr(jumps_of(r), TOLERANCE).pi,
    "SOR": lambda r: by_sweeps(jumps_of(r), TOLERANCE).pi,
}


def triplets(n: int, *arcs: tuple[int, int, float]) -> Rates:
    rows, columns, values = zip(*arcs, strict=True)
    return compressed(n, np.array(rows), np.array(columns), np.array(values, dtype=float))


def ring(n: int, seed: int = 0) -> tuple[Rates, np.ndarray]:
    rate = np.random.default_rng(seed).uniform(0.1, 10, n)
    return compressed(n, np.arange(n), (np.arange(n) + 1) % n, rate), 1 / rate / np.sum(1 / rate)


def birth_death(n: int, load: float, order: np.ndarray | None = None) -> tuple[Rates, np.ndarray]:
    """M/M/1/n-1, its states renumbered by ``order``."""
    name = np.arange(n) if order is None else order
    low, high = name[:-1], name[1:]
    values = np.r_[np.full(n - 1, load), np.ones(n - 1)]
    logs = np.arange(n) * np.log(load)
    weights = np.exp(logs - logs.max())
    pi = np.empty(n)
    pi[name] = weights / weights.sum()
    return compressed(n, np.r_[low, high], np.r_[high, low], values), pi


def tandem(jobs: int, stations: int, rates: tuple[float, ...]) -> tuple[Rates, np.ndarray]:
    """Closed tandem of single servers: product form (Gordon and Newell)."""
    states = [()]
    for _ in range(stations - 1):
        states = [(*s, k) for s in states for k in range(jobs - sum(s) + 1)]
    full = [(*s, jobs - sum(s)) for s in states]
    index = {s: i for i, s in enumerate(full)}
    arcs = []
    for s, i in index.items():
        for k in range(stations):
            if s[k]:
                to = list(s)
                to[k] -= 1
                to[(k + 1) % stations] += 1
                arcs.append((i, index[tuple(to)], rates[k]))
    logs = np.array(full) @ -np.log(np.array(rates))
    weights = np.exp(logs - logs.max())
    return triplets(len(full), *arcs), weights / weights.sum()


def failing_workers(workers: int, fail: float, repair: float) -> tuple[Rates, np.ndarray]:
    """Workers that fail rarely and are repaired slowly beside a fast queue: state (failed, queued). Given with the right distribution of
    the number of failed, which is that of a birth-death chain of its own because failures do not depend on the queue."""
    states = [(f, q) for f in range(workers + 1) for q in range(workers - f + 1)]
    index = {s: i for i, s in enumerate(states)}
    arcs = []
    for (f, q), i in index.items():
        up = workers - f - q
        moves = [
            (up * 1.0, (f, q + 1)),
            (10.0 * (q > 0), (f, q - 1)),
            (up * fail, (f + 1, q)),
            (q * fail, (f + 1, q - 1)),
            (repair * (f > 0), (f - 1, q)),
        ]
        arcs += [(i, index[to], rate) for rate, to in moves if rate]
    failed = np.ones(workers + 1)
    for f in range(workers):
        failed[f + 1] = failed[f] * (workers - f) * fail / repair
    return triplets(len(states), *arcs), failed / failed.sum()


def marginal(workers: int, pi: np.ndarray) -> np.ndarray:
    ends = np.cumsum([0] + [workers - f + 1 for f in range(workers + 1)])
    return np.add.reduceat(pi, ends[:-1])


# --- every method on chains with known answers --------------------------------------------------------------------------------


@st.composite
def irreducible(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    n = draw(st.integers(2, 7))
    rate = st.sampled_from([1, 2, 7, 10**6, 10**12])
    extra = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), rate), max_size=10))
    return n, [(i, (i + 1) % n, draw(rate)) for i in range(n)] + [e for e in extra if e[0] != e[1]]


@settings(max_examples=80, deadline=None)
@given(irreducible())
def test_elimination_has_relative_accuracy_on_random_stiff_chains(case):
    n, arcs = case
    right = chains.stationary(0, lambda s: [(F(rate), to) for i, to, rate in arcs if i == s])
    expected = [float(right[s]) for s in range(n)]
    rates = triplets(n, *arcs)
    for method in ("GTH", "sparse GTH"):
        np.testing.assert_allclose(METHODS[method](rates), expected, rtol=1e-13, err_msg=method)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_on_a_product_form(method):
    rates, right = tandem(12, 4, (1.0, 1.5, 2.0, 0.9))
    np.testing.assert_allclose(METHODS[method](rates), right, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_on_a_ring(method):
    rates, right = ring(300)
    np.testing.assert_allclose(METHODS[method](rates), right, rtol=1e-11)


def test_stiffness_over_27_orders():
    rates = triplets(3, (0, 1, 1e-8), (1, 2, 1e6), (2, 0, 0.1))
    right = np.array([1, 1e-14, 1e-7]) / (1 + 1e-14 + 1e-7)
    for method in ("GTH", "sparse GTH"):
        np.testing.assert_allclose(METHODS[method](rates), right, rtol=1e-15)


def test_probabilities_beyond_the_range_of_doubles():
    """Load 10 over 700 states: the least probability is 1e-699 of the largest."""
    rates, right = birth_death(700, 10.0)
    for method in ("GTH", "sparse GTH"):
        np.testing.assert_allclose(METHODS[method](rates), right, rtol=1e-12, atol=1e-300)


# --- the choice ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [DENSE, QUICK, SPARSE + 5000])
@pytest.mark.parametrize("load", [0.5, 0.999, 1.2])
def test_birth_and_death_of_any_size(n, load):
    rates, right = birth_death(n, load, np.random.default_rng(3).permutation(n))
    found = stationary(rates)
    assert found.converged
    np.testing.assert_allclose(found.pi, right, rtol=1e-8, atol=1e-15)


def test_a_large_ring():
    rates, right = ring(30_000)
    found = stationary(rates)
    assert found.converged
    np.testing.assert_allclose(found.pi, right, rtol=1e-12)


def test_a_large_chain_in_three_dimensions_by_iteration():
    rates, right = tandem(48, 4, (1.0, 1.1, 0.95, 1.3))
    assert rates.n > SPARSE
    found = stationary(rates)
    assert found.converged and found.method.startswith("IDR")
    np.testing.assert_allclose(found.pi, right, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("workers", [40, 210])
@pytest.mark.parametrize(("fail", "repair"), [(1e-9, 1e-7), (1e-4, 1e-2)])
def test_rare_failures_beside_a_fast_queue(workers, fail, repair):
    rates, right = failing_workers(workers, fail, repair)
    found = stationary(rates)
    assert found.converged
    np.testing.assert_allclose(marginal(workers, found.pi), right, rtol=1e-10, atol=1e-16)


def test_aggregation_finds_the_weights_of_the_groups():
    workers = 40
    rates, right = failing_workers(workers, 1e-9, 1e-7)
    found = stationary(rates, TOLERANCE, solver="aggregation")
    assert found.converged
    pi = found.pi
    np.testing.assert_allclose(marginal(workers, pi), right, rtol=1e-7, atol=1e-12)


# --- honesty ------------------------------------------------------------------------------------------------------------------


def test_the_residual_sees_wrong_weights_of_the_groups_of_a_stiff_chain():
    """Two fast pairs joined at rate 1e-12: with weights 0.6 and 0.4 in place of 0.5 the global residual is 1e-13, the stated one is not."""
    rates = triplets(4, (0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0), (1, 2, 1e-12), (2, 1, 1e-12))
    wrong = np.array([0.3, 0.3, 0.2, 0.2])
    assert imbalance(rates, wrong) < 1e-12
    assert aggregate_imbalance(rates, wrong) == pytest.approx(1 / 3)
    assert residual_of(rates, wrong) > 0.3
    assert residual_of(rates, np.full(4, 0.25)) < 1e-15


@pytest.mark.parametrize("bad", [np.nan, -0.5, np.inf])
def test_a_vector_that_is_no_distribution_has_an_infinite_residual(bad):
    rates, right = ring(5)
    right = right.copy()
    right[2] = bad
    assert residual_of(rates, right) == np.inf


def test_what_does_not_converge_says_so():
    rates, _ = birth_death(50, 0.9)
    found = stationary(rates, tolerance=1e-30)
    assert not found.converged and found.residual > 1e-30


# --- long run -----------------------------------------------------------------------------------------------------------------


def test_absorption_and_classes():
    """Gambler's ruin from 2 of 5, p = 1/3: ruin with probability (2^5 - 2^2) / (2^5 - 1); a transient state leads into a pair as well."""
    arcs = [(k, k + 1, 1.0) for k in range(1, 5)] + [(k, k - 1, 2.0) for k in range(1, 5)]
    rates = triplets(8, *arcs, (6, 2, 3.0), (6, 7, 1.0), (7, 5, 1e-9))
    initial = np.eye(8)[2]
    found = long_run(rates, initial)
    assert found.converged
    assert [c.states.tolist() for c in found.classes] == [[0], [5]]
    assert [c.probability for c in found.classes] == pytest.approx([28 / 31, 3 / 31], rel=1e-14)
    np.testing.assert_allclose(found.pi, np.eye(8)[0] * 28 / 31 + np.eye(8)[5] * 3 / 31, rtol=1e-13)


def test_rare_absorption_keeps_relative_accuracy():
    rates = triplets(3, (0, 1, 1e-13), (0, 2, 1e7))
    found = long_run(rates, np.array([1.0, 0, 0]))
    assert [c.probability for c in found.classes] == pytest.approx([1e-20, 1.0], rel=1e-12)


def test_an_initial_distribution_inside_two_classes():
    rates = triplets(4, (0, 1, 1.0), (1, 0, 3.0), (2, 3, 1.0), (3, 2, 1.0))
    found = long_run(rates, np.array([0.25, 0, 0, 0.75]))
    np.testing.assert_allclose(found.pi, [0.25 * 0.75, 0.25 * 0.25, 0.375, 0.375], rtol=1e-14)


def test_a_single_state():
    found = long_run(compressed(1, np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0)), np.ones(1))
    assert (found.pi.tolist(), found.residual, found.converged) == ([1.0], 0.0, True)


@pytest.mark.parametrize(("fail", "repair"), [(1e-9, 1e-9), (1e-7, 1e-5)])
def test_workers_that_compute_send_and_fail(fail, repair):
    """Against dense elimination without subtraction on a twin small enough for it; rates up to 1e10 apart."""
    space = explore(workers(11, fail, repair))
    right = gth(space.rates)
    for solver in ("aggregation", "sparse-gth"):
        found = stationary(space.rates, solver=solver)
        assert found.converged
        assert np.abs(found.pi - right).sum() < 1e-12
        np.testing.assert_allclose(found.pi, right, rtol=1e-6)
