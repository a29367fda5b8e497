"""The direct method: kernel and reference draw for draw, and both against the general engine and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spn.errors import SpnError
from spn.expr.nodes import Number, conditional, equal, tokens
from spn.measure import FiringRate, RunningClocks, TimeAverage
from spn.net.model import INFINITE, Immediate, Memory, Net, Place, Timed
from spn.sim.direct.fast import CompiledDirect
from spn.sim.direct.layout import D_TREE
from spn.sim.direct.plan import obstacle, plan
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Ending
from spn.sim.fast import CompiledTrajectory
from spn.sim.layout import Z_DIRECT
from spn.sim.setup import prepare
from tests.sim.nets import det, exp, gives, primitives_of, random_nets, takes

FIRINGS = 150
CHUNK = 7  # a run is stopped and resumed, which must not matter
ERRORS = 4  # standard errors; with the seeds fixed, a false alarm has probability 6e-5 a comparison


def exponential_twin(net: Net) -> Net:
    """The same net with exponential laws, and without what the direct method does not take."""

    def twin(k: int, t: Timed) -> Timed:
        memory = Memory.RESTART if t.memory is Memory.REPEAT else t.memory
        return replace(t, law=exp([0.5, 1.0, 3.0][k % 3]), scale=Number(Fraction(1 + k % 2)), transfer=None, memory=memory)

    transitions = tuple(twin(k, t) if isinstance(t, Timed) else t for k, t in enumerate(net.transitions))
    return replace(net, transitions=transitions)


def pair(net: Net, seed: int) -> tuple[DirectTrajectory, CompiledDirect]:
    primitives = primitives_of(net)
    compiled = prepare(net, primitives)
    tables = plan(compiled)
    slow = DirectTrajectory(compiled, primitives, tables, np.random.default_rng(seed))
    return slow, CompiledDirect(compiled, primitives, tables, np.random.default_rng(seed))


def story(engine: DirectTrajectory | CompiledDirect, horizon: float) -> list[object]:
    """Everything observable along a run: markings and times, totals, and the state of the generator; or the error."""
    told: list[object] = []
    try:
        for _ in range(FIRINGS // CHUNK):
            ending = engine.run(CHUNK, horizon)
            told.append((ending, engine.firings, engine.marking, engine.time))
            if ending is not Ending.FIRINGS:
                horizon = 2 * horizon
        told += [engine.totals().tolist(), engine.rates().tolist(), engine.words, engine.drew]
    except SpnError as error:
        told.append([d.code for d in error.diagnostics])
    return told


def same(fast: list[object], slow: list[object]) -> None:
    assert len(fast) == len(slow)
    for a, b in zip(fast, slow, strict=True):
        if isinstance(a, tuple) and isinstance(b, tuple) and isinstance(a[0], Ending):
            assert a[:3] == b[:3]
            assert a[3] == pytest.approx(b[3], rel=1e-9)
        elif isinstance(a, list) and a and isinstance(a[0], float):
            assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
        else:
            assert a == b


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(random_nets().map(exponential_twin), st.integers(0, 2**32), st.sampled_from([math.inf, 3.0, 10.0]))
def test_kernel_and_reference_agree_on_random_nets(net: Net, seed: int, horizon: float) -> None:
    assert obstacle(net) == ""
    slow, fast = pair(net, seed)
    same(story(fast, horizon), story(slow, horizon))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(random_nets().map(exponential_twin), st.integers(0, 2**32))
def test_direct_method_and_clocks_have_equal_statistics(net: Net, seed: int) -> None:
    """Averages over [0, 20] by either method, 200 replications each, differ by less than 4 standard errors."""
    primitives = primitives_of(net)
    compiled = prepare(net, primitives)
    tables = plan(compiled)

    def averages(make: type[CompiledTrajectory]) -> np.ndarray:
        rows = []
        for k in range(200):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k, int(make is CompiledDirect))))
            engine = (
                CompiledDirect(compiled, primitives, tables, rng)
                if make is CompiledDirect
                else CompiledTrajectory(compiled, primitives, rng)
            )
            engine.run(2**62, 20.0)
            rows.append(engine.totals() / 20)
        return np.array(rows)

    try:
        direct, clocks = averages(CompiledDirect), averages(CompiledTrajectory)
    except SpnError:
        return  # a net that means nothing in some marking; the comparison above covers it
    error = np.sqrt((direct.var(axis=0) + clocks.var(axis=0)) / 200)
    assert (abs(direct.mean(axis=0) - clocks.mean(axis=0)) <= ERRORS * error + 1e-9).all()


def queue(rho: float, room: int) -> Net:
    return Net(
        places=(Place(name="q", capacity=room),),
        transitions=(Timed(name="arrive", law=exp(rho), arcs=(gives("q"),)), Timed(name="serve", law=exp(1.0), arcs=(takes("q"),))),
    )


def compiled_run(net: Net, primitives: tuple[TimeAverage | FiringRate | RunningClocks, ...], firings: int) -> np.ndarray:
    compiled = prepare(net, primitives)
    engine = CompiledDirect(compiled, primitives, plan(compiled), np.random.default_rng(3))
    engine.run(firings, math.inf)
    return engine.totals() / engine.time


def test_queue_against_its_closed_form() -> None:
    """M/M/1/10 at load 0.9: P(full) = (1-r) r^10 / (1-r^11), mean number r/(1-r) - 11 r^11/(1-r^11).
    (10^6 firings give a standard error of about 0.4 % of the mean.)"""
    r = 0.9
    full = (1 - r) * r**10 / (1 - r**11)
    mean = r / (1 - r) - 11 * r**11 / (1 - r**11)
    found = compiled_run(queue(r, 10), (TimeAverage(tokens("q")), FiringRate("serve"), TimeAverage(equal(tokens("q"), 10))), 1_000_000)
    assert found == pytest.approx([mean, r * (1 - full), full], rel=0.03)


def test_many_servers_and_a_speed_that_becomes_zero() -> None:
    """A closed loop of 10^9 tokens with infinitely many servers each way, rates 1 and 3: three quarters wait on the slow side. A
    transition whose speed is 0 wherever it is enabled never fires."""
    net = Net(
        places=(Place(name="a", initial=10**9), Place(name="b")),
        transitions=(
            Timed(name="go", law=exp(1.0), arcs=(takes("a"), gives("b")), servers=INFINITE),
            Timed(name="back", law=exp(3.0), arcs=(takes("b"), gives("a")), servers=INFINITE),
            Timed(name="never", law=exp(5.0), arcs=(takes("a"),), speed=conditional(tokens("a") > 0, 0, 1)),
        ),
    )
    found = compiled_run(net, (RunningClocks("go"), FiringRate("never")), 1000)
    assert found[0] == pytest.approx(1e9, rel=1e-5) and found[1] == 0


@pytest.mark.parametrize("change", ["law", "repeat", "scale", "none"])
def test_obstacles_are_told(change: str) -> None:
    t = Timed(name="t", law=exp(1.0), arcs=(takes("a"),))
    changed = {
        "law": replace(t, law=det(1)),
        "repeat": replace(t, memory=Memory.REPEAT),
        "scale": replace(t, scale=tokens("a") + 1),
        "none": Immediate(name="t", arcs=(takes("a"),)),
    }
    net = Net(places=(Place(name="a", initial=1),), transitions=(changed[change],))
    assert obstacle(net)
    assert not obstacle(replace(net, transitions=(t,)))


def test_rates_of_very_different_size_keep_their_sum() -> None:
    """Once a transition 10^20 times as fast has stopped, what is left of the sum is the slow one's rate to the last digit."""
    net = Net(
        places=(Place(name="fast", initial=1000), Place(name="slow", initial=1)),
        transitions=(Timed(name="quick", law=exp(1e10), arcs=(takes("fast"),)), Timed(name="rare", law=exp(1e-10), arcs=(takes("slow"),))),
    )
    slow, fast = pair_of(net)
    for engine in (slow, fast):
        assert engine.run(1000, 1.0) is Ending.FIRINGS
        assert engine.run(1, math.inf) is Ending.FIRINGS and engine.run(1, math.inf) is Ending.STILL
    assert fast.time == pytest.approx(slow.time, rel=1e-9) and slow.time > 1e8


def pair_of(net: Net) -> tuple[DirectTrajectory, CompiledDirect]:
    compiled = prepare(net, ())
    tables = plan(compiled)
    slow = DirectTrajectory(compiled, (), tables, np.random.default_rng(1))
    return slow, CompiledDirect(compiled, (), tables, np.random.default_rng(1))


def test_sums_do_not_drift() -> None:
    """After a million firings with rates over twelve decades every sum is that of the rates in the marking, to the last bit."""
    places = tuple(Place(name=p, initial=k) for p, k in zip("abcde", (7, 0, 3, 0, 5), strict=True))
    transitions = tuple(
        Timed(name=f"t{i}", law=exp(0.1 * 300.0**i), arcs=(takes(p), gives(q)), servers=INFINITE if i % 2 else 2)
        for i, (p, q) in enumerate(zip("abcde", "bcdea", strict=True))
    )
    slow, fast = pair_of(Net(places=places, transitions=transitions))
    fast.run(1_000_000, math.inf)
    slow.marking = fast.marking
    slow.run(0, math.inf)
    begin = int(fast.state[Z_DIRECT]) + D_TREE
    assert fast.state[begin : begin + 2 * fast.plan.leaves].view(np.float64)[1:].tolist() == slow.sums[1:]


def refused(engine: DirectTrajectory | CompiledDirect) -> list[str]:
    with pytest.raises(SpnError) as caught:
        engine.run(1000, math.inf)
    return [d.code for d in caught.value.diagnostics]


def test_a_sum_of_rates_beyond_double_precision_is_an_error() -> None:
    t = Timed(name="t", law=exp(1e308), arcs=(takes("a"), gives("a")), servers=INFINITE)
    for engine in pair_of(Net(places=(Place(name="a", initial=100),), transitions=(t,))):
        assert refused(engine) == ["E0703"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_loop_of_immediates_is_an_error(at_once: bool) -> None:
    """Met in the initial marking, or after a firing."""
    net = Net(
        places=(Place(name="a", initial=1), Place(name="b", initial=int(at_once)), Place(name="c")),
        transitions=(
            Timed(name="t", law=exp(1.0), arcs=(takes("a"), gives("b"))),
            Immediate(name="there", arcs=(takes("b"), gives("c"))),
            Immediate(name="back", arcs=(takes("c"), gives("b"))),
        ),
    )
    for engine in pair_of(net):
        assert refused(engine) == ["E0701"]


def test_a_long_chain_of_immediates_reads_every_rate_again() -> None:
    """One firing lets 40 tokens through, more than the kernel keeps a list of; the rates after it are those of the marking."""
    net = Net(
        places=(Place(name="a", initial=2), Place(name="b"), Place(name="c")),
        transitions=(
            Timed(name="t", law=exp(1.0), arcs=(takes("a"), gives("b", 40))),
            Immediate(name="pass", arcs=(takes("b"), gives("c"))),
            Timed(name="u", law=exp(0.01), arcs=(takes("c"),), servers=INFINITE),
        ),
    )
    slow, fast = pair(net_with_places(net), 2)
    same(story(fast, math.inf), story(slow, math.inf))


def net_with_places(net: Net) -> Net:
    """With the places that :func:`primitives_of` measures."""
    names = {p.name for p in net.places}
    return replace(net, places=net.places + tuple(Place(name=p) for p in "abcd" if p not in names))


def test_every_firing_can_be_listened_to() -> None:
    slow, fast = pair_of(queue(0.9, 10))
    heard: list[tuple[int, tuple[int, ...], float]] = []
    slow.on_firing = lambda t, marking, time: heard.append((t, marking, time))
    slow.run(50, math.inf)
    for t, marking, time in heard:
        before = fast.marking
        fast.run(1, math.inf)
        assert (fast.marking, fast.time) == (marking, pytest.approx(time, rel=1e-12))
        assert marking[0] - before[0] == (1, -1)[t]
    assert len(heard) == 50


def test_nothing_is_drawn_in_a_dead_net() -> None:
    net = Net(places=(Place(name="a"),), transitions=(Timed(name="t", law=exp(1.0), arcs=(takes("a"),)),))
    for engine in pair_of(net):
        assert engine.run(10, 5.0) is Ending.STILL
        assert engine.time == 5.0 and not engine.drew
