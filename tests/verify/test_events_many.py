"""The event queue at length: random nets with crowded places against the reference, and the link of a closed network over many firings."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.dist.families import Deterministic
from spn.measure import FiringRate
from spn.net.model import INFINITE, Link, Net, Place, Timed, Transfer
from spn.sim.fast import CompiledTrajectory
from spn.sim.setup import prepare
from tests.sim.nets import exp, gives, takes
from tests.sim.test_agreement import compare
from tests.sim.test_events import MEASURED, crowded_nets

BATCHES = 50
FIRINGS = 2_000_000  # a batch


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(crowded_nets(), st.integers(0, 2**32), st.sampled_from([math.inf, 5.0]))
def test_many_crowded_nets(net: Net, seed: int, horizon: float) -> None:
    compare(net, seed, horizon, MEASURED)


def test_a_link_over_a_hundred_million_firings() -> None:
    """4 jobs that think for a mean of 1 s and send a fixed size that takes 0.5 s alone on one link: 38/21 jobs/s by insensitivity, within
    4 standard errors (about 1e-4 of it) in the whole run and in its last half, so that nothing drifts. False alarms: 1.3e-4."""
    jobs = (Place(name="thinking", initial=4), Place(name="sending"))
    think = Timed(name="think", law=exp(1.0), arcs=(takes("thinking"), gives("sending")), servers=INFINITE)
    law, link = Deterministic(value=Fraction(1, 2)), Transfer(links=("up",))
    send = Timed(name="send", law=law, arcs=(takes("sending"), gives("thinking")), servers=INFINITE, transfer=link)
    net = Net(places=jobs, transitions=(think, send), links=(Link(name="up", capacity=1),))
    primitives = (FiringRate("send"),)
    engine = CompiledTrajectory(prepare(net, primitives), primitives, np.random.default_rng(12))
    rates = []
    before = np.zeros(2)
    for _ in range(BATCHES):
        engine.run(FIRINGS, math.inf)
        now = np.array([engine.time, engine.totals()[0]])
        rates.append((now - before)[1] / (now - before)[0])
        before = now
    for part in (rates, rates[BATCHES // 2 :]):
        assert abs(np.mean(part) - 38 / 21) < 4 * np.std(part, ddof=1) / math.sqrt(len(part))
