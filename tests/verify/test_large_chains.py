"""Long checks of the exact solver on large chains; not part of the normal run.

Right values: Kanban by two public solvers that agree to 9 digits, the closed network by 40-digit convolution.
"""

from __future__ import annotations

import numpy as np
import pytest

from spn.markov import long_run
from spn.measure import FiringRate
from spn.reach import Limits, explore
from spn.reach.graph import explore_graph
from tests.bench.bench_kanban import kanban


@pytest.mark.parametrize(("cards", "states", "throughput"), [(3, 58_400, 0.2330711660098), (4, 454_475, 0.2758897531051)])
def test_kanban(cards: int, states: int, throughput: float) -> None:
    space = explore(kanban(cards), [FiringRate("tin"), FiringRate("tout")])
    assert space.n == states
    solved = long_run(space.rates, space.initial)
    assert solved.converged
    for t in ("tin", "tout"):
        assert solved.pi @ space.rewards[FiringRate(t)] == pytest.approx(throughput, rel=1e-11)


def test_arrays_and_kernel_build_the_same_graph() -> None:
    net = kanban(3)
    arrays, kernel = explore_graph(net, Limits(), compiled=10**9), explore_graph(net, Limits(), compiled=0)
    for part in ("markings", "vanishing", "parent", "via", "source", "target", "transition", "weight"):
        np.testing.assert_array_equal(getattr(kernel, part), getattr(arrays, part), err_msg=part)
