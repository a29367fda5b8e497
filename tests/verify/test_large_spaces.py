"""State spaces of millions of markings: the published numbers, the rates by their sums, the memory. About a minute."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from spn.measure import FiringRate
from spn.net.model import Net
from spn.reach import explore
from tests.bench.bench_kanban import kanban
from tests.bench.statespace import LIMITS, NETS, bytes_of


@pytest.mark.parametrize(
    ("net", "markings", "rates"),
    [
        (kanban(3), 58_400, 446_400),  # Ciardo and Tilgner, ICASE report 96-35
        (kanban(4), 454_475, 3_979_850),
        (kanban(5), 2_546_432, 24_460_016),  # and the Model Checking Contest's Kanban-PT-00005
        (NETS["ring123"](), comb(127, 4), 5 * comb(126, 4)),  # a firing at each station that is not empty
        (NETS["asgd100"](), comb(103, 3), 4 * comb(102, 3)),
    ],
    ids=["kanban3", "kanban4", "kanban5", "ring123", "asgd100"],
)
def test_counts_and_rates(net: Net, markings: int, rates: int) -> None:
    space = explore(net, [FiringRate(t.name) for t in net.transitions], LIMITS)
    assert (space.n, len(space.rates.values), space.arcs) == (markings, rates, rates)
    assert not len(space.dead) and not len(space.stuck)
    total = np.add.reduceat(space.rates.values, space.rates.indptr[:-1])
    np.testing.assert_allclose(sum(space.rewards.values()), total, rtol=1e-12)
    assert bytes_of(space)[0] <= 8 and bytes_of(space)[1] <= 130
