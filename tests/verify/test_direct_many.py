"""The direct method at length: thousands of random nets against the reference, and a thousand million firings against a closed form."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.expr.nodes import tokens
from spn.measure import FiringRate, TimeAverage
from spn.net.model import Net
from spn.sim.direct.fast import CompiledDirect
from spn.sim.direct.plan import plan
from spn.sim.setup import prepare
from tests.sim.direct.test_direct import exponential_twin, pair, queue, same, story
from tests.sim.nets import random_nets

BATCHES = 100
FIRINGS = 10_000_000  # a batch


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_nets().map(exponential_twin), st.integers(0, 2**32), st.sampled_from([math.inf, 3.0, 10.0]))
def test_many_random_nets(net: Net, seed: int, horizon: float) -> None:
    slow, fast = pair(net, seed)
    same(story(fast, horizon), story(slow, horizon))


def test_a_thousand_million_firings() -> None:
    """M/M/1/10 at load 0.9: mean number and throughput within 4 standard errors (about 3e-4 of the mean) over 10^9 firings, and as many
    arrivals as services but for the tokens that are there. False alarms: 1.3e-4."""
    r = 0.9
    full = (1 - r) * r**10 / (1 - r**11)
    right = np.array([r / (1 - r) - 11 * r**11 / (1 - r**11), r * (1 - full)])
    primitives = (TimeAverage(tokens("q")), FiringRate("serve"), FiringRate("arrive"))
    compiled = prepare(queue(r, 10), primitives)
    engine = CompiledDirect(compiled, primitives, plan(compiled), np.random.default_rng(11))
    rows = []
    before = np.zeros(4)
    for _ in range(BATCHES):
        engine.run(FIRINGS, math.inf)
        now = np.array([engine.time, *engine.totals()])
        rows.append((now - before)[1:3] / (now - before)[0])
        before = now
    error = np.std(rows, axis=0, ddof=1) / math.sqrt(BATCHES)
    assert (abs(np.mean(rows, axis=0) - right) < 4 * error).all()
    served, arrived = engine.totals()[1:]
    assert arrived - served == engine.marking[0] and arrived + served == BATCHES * FIRINGS
