"""Thousands of random nets: the kernel follows the reference draw for draw. Long; not part of the fast suite."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.net.model import Net
from tests.sim.nets import random_nets
from tests.sim.test_agreement import compare


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_nets(), st.integers(0, 2**32), st.sampled_from([float("inf"), 3.0, 10.0]))
def test_many_random_nets(net: Net, seed: int, horizon: float) -> None:
    compare(net, seed, horizon)
