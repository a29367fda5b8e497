"""Nets with one general clock: many random ones against their phase-type twins, a large one against a queue known in closed form."""

from __future__ import annotations

import pytest

from spn.dist.families import Erlang, Gamma
from spn.solvers import mrp, solve
from tests.bench.bench_regenerative import tandem
from tests.oracles.queues import arrivals, mg1k
from tests.solvers.nets import E, X, model
from tests.solvers.test_mrp import random_net


@pytest.mark.parametrize("seed", range(100, 300))
def test_random_nets_have_the_values_of_their_phase_type_twins(seed: int) -> None:
    asked = {"work": X("work"), "that": X("that"), "on": E("on"), "p0": E("p0"), "p2": E("p2"), "seen": X("t0")}
    general = mrp.compute(model(random_net(seed, Gamma(shape=2 + 1e-10, scale=0.5)), **asked))
    twin = solve(model(random_net(seed, Erlang(k=2, rate=2.0)), **asked), method="ctmc")
    assert general.converged
    for name in asked:
        assert general[name] == pytest.approx(twin[name], rel=2e-9, abs=1e-12), name


def test_a_hundred_thousand_markings() -> None:
    """The second queue of the tandem hardly ever fills up, so that the first one is M/D/1/315, as good as M/D/1."""
    result = mrp.compute(tandem(315))
    assert result.converged
    assert result.details["states"] == 316**2
    assert result.residual is not None and result.residual < 1e-11
    right = mg1k(0.9, 1.0, arrivals(0.9, None, 1.0, 0, 0, 120), 120)
    assert result["x"] == pytest.approx(0.9, rel=1e-10)
    assert result["l1"] == pytest.approx(sum(k * p for k, p in enumerate(right)), rel=1e-6)
    assert result["l1"] == pytest.approx(0.9 + 0.81 / (2 * 0.1), rel=1e-9)
