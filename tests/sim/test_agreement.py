"""The kernel follows the reference draw for draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.errors import SpnError
from spn.measure import Primitive
from spn.net.model import Net
from spn.sim.fast import CompiledTrajectory
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare
from tests.sim.nets import primitives_of, random_nets

FIRINGS = 150
CHUNK = 7  # the kernel is stopped and resumed, which must not matter


def story(engine: Trajectory | CompiledTrajectory, chunk: int, horizon: float) -> list[object]:
    """Everything observable along a run: markings and times, then totals, and the state of the stream; or the error."""
    told: list[object] = []
    try:
        for _ in range(FIRINGS // chunk):
            ending = engine.run(chunk, horizon)
            told.append((ending, engine.firings, engine.marking, engine.time))
            if ending != "firings":
                break
        told.append(engine.totals().tolist())
        told.append(engine.random.words if isinstance(engine, Trajectory) else engine.words)
        told.append(engine.drew)
    except SpnError as error:
        told.append([d.code for d in error.diagnostics])
    return told


def pair(net: Net, seed: int, measured: Sequence[Primitive] = ()) -> tuple[CompiledTrajectory, Trajectory]:
    """Both engines on a net; measured is what :func:`tests.sim.nets.primitives_of` says where nothing else is given."""
    primitives = tuple(measured) or primitives_of(net)
    compiled = prepare(net, primitives)
    fast, slow = (make(compiled, primitives, np.random.default_rng(seed)) for make in (CompiledTrajectory, Trajectory))
    assert isinstance(fast, CompiledTrajectory) and isinstance(slow, Trajectory)
    return fast, slow


def compare(net: Net, seed: int, horizon: float, measured: Sequence[Primitive] = ()) -> None:
    fast, slow = pair(net, seed, measured)
    same(story(fast, CHUNK, horizon), story(slow, CHUNK, horizon))


def same(fast: list[object], slow: list[object]) -> None:
    assert len(fast) == len(slow)
    for a, b in zip(fast, slow, strict=True):
        if isinstance(a, tuple):
            assert a[:3] == b[:3]
            assert a[3] == pytest.approx(b[3], rel=1e-9)
        elif isinstance(a, list) and a and isinstance(a[0], float):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
        else:
            assert a == b


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(random_nets(), st.integers(0, 2**32), st.sampled_from([float("inf"), 3.0, 10.0]))
def test_kernel_and_reference_agree_on_random_nets(net: Net, seed: int, horizon: float) -> None:
    compare(net, seed, horizon)
