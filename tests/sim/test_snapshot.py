"""A restored trajectory goes on exactly as the original."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.compiled import CompiledNet
from spn.errors import SpnError
from spn.expr.nodes import tokens
from spn.measure import FiringRate, Primitive, TimeAverage
from spn.net.model import Net
from spn.sim.direct.fast import CompiledDirect
from spn.sim.direct.plan import plan
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Engine
from spn.sim.fast import CompiledTrajectory
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare
from spn.sim.snapshot import Snapshot
from tests.sim.direct.test_direct import exponential_twin, queue
from tests.sim.nets import primitives_of, random_nets

Make = Callable[[CompiledNet, tuple[Primitive, ...], np.random.Generator], Engine]
CHUNK = 11


def by_plan(engine: type[DirectTrajectory] | type[CompiledDirect]) -> Make:
    return lambda compiled, primitives, rng: engine(compiled, primitives, plan(compiled), rng)


def through_text(s: Snapshot) -> Snapshot:
    """As it comes back from a file without pickled parts."""
    arrays = {name: np.frombuffer(a.tobytes(), dtype=a.dtype).copy() for name, a in s.arrays.items()}
    return Snapshot(s.engine, s.firings, arrays, json.loads(json.dumps(s.rest)))


def through_pickle(s: Snapshot) -> Snapshot:
    return pickle.loads(pickle.dumps(s))


def story(engine: Engine, horizon: float) -> list[object]:
    """All there is to see of the next firings, of the generator too; exact."""
    told: list[object] = []
    try:
        for _ in range(6):
            ending = engine.run(CHUNK, horizon)
            told += [ending, engine.firings, engine.marking, engine.time, engine.totals().tolist(), engine.rates().tolist()]
            told.append(engine.rng.bit_generator.state)
            told.append(getattr(engine, "words", None))
    except SpnError as error:
        told.append([str(d) for d in error.diagnostics])
    return told


def check(make: Make, net: Net, seed: int, before: int, horizon: float) -> None:
    primitives = primitives_of(net)
    compiled = prepare(net, primitives)
    original = make(compiled, primitives, np.random.default_rng(seed))
    try:
        original.run(before, horizon)
    except SpnError:
        return  # nothing goes on from there
    taken = original.snapshot()
    expected = story(original, horizon)
    elsewhere = make(compiled, primitives, np.random.default_rng(seed))
    for through in (through_text, through_pickle):
        elsewhere.restore(through(taken))  # the second time over a trajectory that is further on
        assert story(elsewhere, horizon) == expected
    original.restore(taken)
    assert story(original, horizon) == expected


SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
HORIZONS = st.sampled_from([math.inf, 3.0, 10.0])


@pytest.mark.parametrize("make", [Trajectory, CompiledTrajectory])
@SETTINGS
@given(net=random_nets(), seed=st.integers(0, 2**32), before=st.integers(0, 60), horizon=HORIZONS)
def test_clocks(make: Make, net: Net, seed: int, before: int, horizon: float) -> None:
    check(make, net, seed, before, horizon)


@pytest.mark.parametrize("make", [by_plan(DirectTrajectory), by_plan(CompiledDirect)], ids=["python", "kernel"])
@SETTINGS
@given(net=random_nets().map(exponential_twin), seed=st.integers(0, 2**32), before=st.integers(0, 60), horizon=HORIZONS)
def test_direct_method(make: Make, net: Net, seed: int, before: int, horizon: float) -> None:
    check(make, net, seed, before, horizon)


def by_library(compiled: CompiledNet, primitives: tuple[Primitive, ...], rng: np.random.Generator) -> Trajectory:
    return Trajectory(compiled, primitives, rng, library=True)


@SETTINGS
@given(net=random_nets(), seed=st.integers(0, 2**32), before=st.integers(0, 60), horizon=HORIZONS)
def test_clocks_with_numpys_generator(net: Net, seed: int, before: int, horizon: float) -> None:
    check(by_library, net, seed, before, horizon)


ALL: list[Make] = [Trajectory, CompiledTrajectory, by_plan(DirectTrajectory), by_plan(CompiledDirect)]


@pytest.mark.parametrize("make", ALL, ids=["clocks", "clocks-kernel", "direct", "direct-kernel"])
def test_other_random_numbers_from_one_point(make: Make) -> None:
    """Copies with generators of their own part ways, and equal generators lead to equal ways."""
    net = queue(0.9, 10)
    primitives = (TimeAverage(tokens("q")), FiringRate("serve"))
    compiled = prepare(net, primitives)
    original = make(compiled, primitives, np.random.default_rng(1))
    original.run(100, math.inf)
    taken = original.snapshot()
    copy = make(compiled, primitives, np.random.default_rng(2))

    def on(seed: int) -> list[float]:
        copy.restore(taken)
        copy.reseed(np.random.default_rng(seed))
        assert (copy.time, copy.firings, copy.marking) == (original.time, original.firings, original.marking)
        copy.run(50, math.inf)
        return [copy.time, *copy.totals()]

    assert on(5) == on(5)
    assert on(5) != on(6)


def test_a_snapshot_of_another_kind_is_refused() -> None:
    net = queue(0.9, 10)
    compiled = prepare(net, ())
    kernel, plain = (make(compiled, (), np.random.default_rng(1)) for make in (CompiledTrajectory, Trajectory))
    with pytest.raises(ValueError, match="CompiledTrajectory cannot be restored into a Trajectory"):
        plain.restore(kernel.snapshot())
