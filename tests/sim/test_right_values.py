"""Closed forms and hand-computed trajectories, by the kernel and where cheap by the reference too.

Every statistical test has a fixed seed and asks that the right value lies in a 99.99 % interval: a correct simulator fails a freshly
seeded one with probability 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from spn.dist.families import Empirical, Erlang, Gamma, Lognormal, Uniform, Weibull
from spn.dist.law import Law
from spn.expr.nodes import Node, Number, as_node, conditional, tokens
from spn.measure import Average, FiringRate, LinkRate, Measure, Primitive, RunningClocks, Throughput, TimeAverage, Utilisation
from spn.model import Model
from spn.net.model import INFINITE, Immediate, Link, Memory, Net, Place, Timed, Transfer, Transition
from spn.result import Result
from spn.sim import simulate
from spn.sim.engine import Engine
from spn.sim.fast import CompiledTrajectory
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare
from tests.sim.nets import checks, det, exp, flushes, gives, inhibits, takes

BOTH = pytest.mark.parametrize("make", [Trajectory, CompiledTrajectory])


def places(**tokens_in: int) -> tuple[Place, ...]:
    return tuple(Place(name=name, initial=k) for name, k in tokens_in.items())


def model(transitions: Iterable[Transition], measures: dict[str, Node], links: tuple[Link, ...] = (), **tokens_in: int) -> Model:
    net = Net(places=places(**tokens_in), links=links, transitions=tuple(transitions))
    return Model(name="test", net=net, measures=tuple(Measure(name=n, body=b) for n, b in measures.items()))


def estimates(m: Model, precision: float = 0.01, seed: int = 1) -> Result:
    return simulate(m, seed=seed, precision=precision, confidence=0.9999, max_firings=2e7)


def agrees(m: Model, precision: float = 0.01, **right: float) -> None:
    result = estimates(m, precision)
    assert result.converged
    for name, value in right.items():
        v = result.measures[name]
        assert v.half_width is not None
        assert abs(v.value - value) <= v.half_width + 1e-9 * abs(value), f"{name}: {v.value} ± {v.half_width}, right is {value}"


def run(make: type, net: Net, primitives: tuple[Primitive, ...], horizon: float, seed: int = 1) -> tuple[Engine, list[float]]:
    engine: Engine = make(prepare(net, primitives), primitives, np.random.default_rng(seed))
    engine.run(10**9, horizon)
    return engine, engine.totals().tolist()


# --- queues -----------------------------------------------------------------------------------------------------------------


def test_one_transition_with_two_servers() -> None:
    """M/M/2/3 with arrivals and servers at rate 1: p0 = 4/11, throughput 10/11."""
    ts = [Timed(name="in", law=exp(1), arcs=(gives("q"), inhibits("q", 3))), Timed(name="out", law=exp(1), arcs=(takes("q"),), servers=2)]
    agrees(
        model(ts, {"p0": Average(as_node(tokens("q") < 1)), "x": Throughput("out"), "u": Utilisation("out")}, q=0),
        p0=4 / 11,
        x=10 / 11,
        u=5 / 11,
    )


def test_two_transitions_with_one_server_each() -> None:
    """Both serve the same token: with one customer both run, so p0 = 8/15."""
    ts = [Timed(name="in", law=exp(1), arcs=(gives("q"), inhibits("q", 3)))]
    ts += [Timed(name=n, law=exp(1), arcs=(takes("q"),)) for n in ("out1", "out2")]
    agrees(model(ts, {"p0": Average(as_node(tokens("q") < 1))}, q=0), p0=8 / 15)


@pytest.mark.parametrize(
    "law", [Uniform(low=0, high=4), Lognormal(mu=0.2, sigma=1.0), Weibull(shape=0.7, scale=2.0), Gamma(shape=0.5, scale=3.0)]
)
def test_infinite_server_holds_the_arrival_rate_times_the_mean(law: Law) -> None:
    ts = [Timed(name="in", law=exp(3), arcs=(gives("q"),)), Timed(name="out", law=law, arcs=(takes("q"),), servers=INFINITE)]
    agrees(model(ts, {"n": Average(tokens("q"))}, q=0), precision=0.02, n=3 * law.mean())


def test_barrier_waits_for_the_largest_of_n_uniforms() -> None:
    """n workers, each uniform(0, 1), then all begin again: a cycle takes n / (n + 1)."""
    ts: list[Transition] = [
        Timed(name="work", law=Uniform(low=0, high=1), arcs=(takes("w"), gives("d")), servers=INFINITE),
        Immediate(name="barrier", arcs=(takes("d", 9), gives("w", 9))),
    ]
    agrees(model(ts, {"x": Throughput("barrier")}, w=9, d=0), x=10 / 9)


def test_two_servers_take_turns_at_constant_work() -> None:
    """M/D/2 with a closed population of 2 and no thinking is 2 / d per second."""
    ts = [Timed(name="work", law=det("0.25"), arcs=(takes("w"), gives("w")), servers=2)]
    _, (fired,) = run(CompiledTrajectory, model(ts, {}, w=5).net, (FiringRate("work"),), 10.0)
    assert fired == 80


# --- memory and aborting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory", "mean"), [(Memory.RESUME, 1.25), (Memory.RESTART, 1.6412941069), (Memory.REPEAT, 2.7431600618)])
def test_preempted_job(memory: Memory, mean: float) -> None:
    ts = [
        Timed(name="work", law=Uniform(low=0, high=2), arcs=(takes("up"), gives("up")), memory=memory),
        Timed(name="interrupt", law=exp(1), arcs=(takes("up"), gives("down"))),
        Timed(name="repair", law=exp(4), arcs=(takes("down"), gives("up"))),
    ]
    agrees(model(ts, {"x": Throughput("work")}, up=1, down=0), precision=0.015, x=1 / mean)


@BOTH
@pytest.mark.parametrize(("resets", "fired"), [(("work",), 0), ((), 100)])
def test_abort_in_one_instant(make: type, resets: tuple[str, ...], fired: int) -> None:
    ts: list[Transition] = [
        Timed(name="cut", law=det("0.6"), arcs=(takes("a"), gives("b"))),
        Immediate(name="back", arcs=(takes("b"), flushes("c"), gives("a"), gives("c")), resets=resets),
        Timed(name="work", law=det(1), arcs=(takes("c"), gives("c"))),
    ]
    _, totals = run(make, model(ts, {}, a=1, b=0, c=1).net, (FiringRate("work"), FiringRate("cut")), 100.0)
    assert totals == [fired, 166]


@BOTH
def test_reset_ends_all_clocks_of_several_servers(make: type) -> None:
    """Three clocks of 1 s are cut every 0.75 s and never finish; without the reset they do."""
    work = Timed(name="work", law=det(1), arcs=(takes("c"), gives("d")), servers=3)
    for resets, done in ((("work",), 0), ((), 3)):
        cut = Timed(name="cut", law=det("0.75"), arcs=(takes("a"), gives("a")), resets=resets)
        engine, totals = run(make, model([work, cut], {}, a=1, c=3, d=0).net, (FiringRate("work"),), 7.0)
        assert totals == [done]
        assert engine.marking == (1, 3 - done, done)


def test_one_of_the_clocks_is_stopped_uniformly() -> None:
    """Two clocks of 10 s began at 0 and 1; at 2 one token is taken. What is left finishes at 10 or 11, evenly: 400 coins, 6 sigma."""
    ts: list[Transition] = [
        Timed(name="second", law=det(1), arcs=(takes("s"), gives("w"))),
        Timed(name="take", law=det(2), arcs=(takes("k"), takes("w"))),
        Timed(name="work", law=det(10), arcs=(takes("w"), gives("d")), servers=INFINITE),
    ]
    net = model(ts, {}, s=1, k=1, w=1, d=0).net
    early = sum(run(CompiledTrajectory, net, (FiringRate("work"),), 10.5, seed)[1][0] for seed in range(400))
    assert abs(early - 200) <= 60


@BOTH
def test_resumed_work_is_exact_to_the_tick(make: type) -> None:
    """0.3 s of work, interrupted for 0.1 s after 0.2 s, ends at 0.4 s together with a clock of 0.4 s that has priority."""
    ts: list[Transition] = [
        Timed(name="off", law=det("0.2"), arcs=(takes("on"), gives("out"))),
        Timed(name="again", law=det("0.1"), arcs=(takes("out"), gives("late"))),
        Timed(name="work", law=det("0.3"), arcs=(takes("w"), gives("lost")), guard=tokens("out") < 1, memory=Memory.RESUME),
        Timed(name="first", law=det("0.4"), arcs=(takes("f"), takes("w"), gives("won")), priority=2),
    ]
    engine, _ = run(make, model(ts, {}, on=1, out=0, late=0, w=1, lost=0, f=1, won=0).net, (), 1.0)
    assert engine.marking == (0, 0, 1, 0, 0, 0, 1)


# --- ties -------------------------------------------------------------------------------------------------------------------


def test_weights_settle_a_tie() -> None:
    """Two det(1 s) from one token, weights 1:3, win 1/4 and 3/4 of the time."""
    ts = [
        Timed(name="rare", law=det(1), arcs=(takes("a"), gives("a"))),
        Timed(name="often", law=det(1), arcs=(takes("a"), gives("a")), weight=Number(Fraction(3)), resets=("rare",)),
    ]
    ts[0] = Timed(name="rare", law=det(1), arcs=(takes("a"), gives("a")), resets=("often",))
    agrees(model(ts, {"rare": Throughput("rare"), "often": Throughput("often")}, a=1), rare=0.25, often=0.75)


@BOTH
def test_three_tenths_meet(make: type) -> None:
    """det(0.1 s) three times in a row meets det(0.3 s), which has priority and takes the token away."""
    ts: list[Transition] = [
        Timed(name="step", law=det("0.1"), arcs=(takes("s"), gives("n"), gives("s"))),
        Timed(name="stop", law=det("0.3"), arcs=(takes("g"), takes("s")), priority=2),
    ]
    engine, _ = run(make, model(ts, {}, s=1, n=0, g=1).net, (), 1.0)
    assert engine.marking == (0, 2, 0)


@BOTH
def test_ties_meet_after_a_continuous_start(make: type) -> None:
    """Ticks count from the instant at which an exponential clock ended, too."""
    ts: list[Transition] = [
        Timed(name="begin", law=exp(1), arcs=(takes("z"), gives("s"), gives("g"))),
        Timed(name="step", law=det("0.1"), arcs=(takes("s"), gives("n"), gives("s"))),
        Timed(name="stop", law=det("0.7"), arcs=(takes("g"), takes("s")), priority=2),
    ]
    for seed in range(20):
        engine, _ = run(make, model(ts, {}, z=1, s=0, n=0, g=0).net, (), 50.0, seed)
        assert engine.marking == (0, 0, 6, 0)


@BOTH
def test_all_that_expire_at_one_instant_fire(make: type) -> None:
    ts = [Timed(name=f"t{i}", law=det(1), arcs=(takes("a"), gives("b"))) for i in range(3)]
    engine, _ = run(make, model(ts, {}, a=3, b=0).net, (), 1.0)
    assert engine.marking == (0, 3)


@BOTH
def test_no_drift_in_a_million_ticks(make: type) -> None:
    """A clock of 0.1 s and one of 0.7 s meet every 0.7 s for ever: the counter that resets the other always wins."""
    ts = [
        Timed(name="tick", law=det("0.1"), arcs=(takes("a"), gives("a"), gives("n"))),
        Timed(name="clear", law=det("0.7"), arcs=(takes("b"), gives("b"), flushes("n"))),
    ]
    horizon = 700.0 if make is Trajectory else 70_000.0
    _, totals = run(make, model(ts, {}, a=1, b=1, n=0).net, (FiringRate("tick"), FiringRate("clear")), horizon)
    assert totals == [horizon * 10, round(horizon / 0.7)]


def test_finest_ticks_are_moved_to_a_later_base() -> None:
    """Delays of 2**-40 s and 1024 s: ticks outgrow 2**50 after 1024 s, and the clocks still meet."""
    fine = Fraction(1, 2**40)
    ts = [
        Timed(name="slow", law=det(1024), arcs=(takes("a"), gives("a"), gives("n"))),
        Timed(name="slower", law=det(2048), arcs=(takes("b"), gives("b"), flushes("n")), priority=2),
        Timed(name="fine", law=Empirical(values=(fine, Fraction(3))), arcs=(takes("c"),)),
    ]
    for make in (Trajectory, CompiledTrajectory):
        compiled = prepare(model(ts, {}, a=1, b=1, c=1, n=0).net, ())
        assert compiled.ticks == 2**40
        engine: Engine = make(compiled, (), np.random.default_rng(1))
        engine.run(10**6, 2048.0 * 50)
        assert engine.marking[3] == 1


# --- speed and scale --------------------------------------------------------------------------------------------------------


@BOTH
def test_scale_is_read_at_the_draw(make: type) -> None:
    """Work of 1 s scaled by 1 + #x, x changing from 0 to 1 at 0.5 s: firings at 1, 3, 5 s."""
    ts = [
        Timed(name="more", law=det("0.5"), arcs=(takes("a"), gives("x"))),
        Timed(name="work", law=det(1), arcs=(takes("w"), gives("w"), gives("n")), scale=tokens("x") + 1),
    ]
    net = model(ts, {}, a=1, x=0, w=1, n=0).net
    for horizon, fired in ((0.99, 0), (1.0, 1), (2.99, 1), (3.0, 2), (5.0, 3)):
        assert run(make, net, (FiringRate("work"),), horizon)[1] == [fired]


@BOTH
def test_speed_is_read_continuously_and_zero_freezes(make: type) -> None:
    """3 units of work: 1 s at speed 1, 1 s frozen, then speed 2: done at 3 s; enabled (running) all the while."""
    rate = conditional(tokens("x") < 1, 1, conditional(tokens("x") < 2, 0, 2))
    ts = [
        Timed(name="tick", law=det(1), arcs=(takes("a"), gives("x"))),
        Timed(name="work", law=det(3), arcs=(takes("w"),), speed=rate),
    ]
    net = model(ts, {}, a=2, x=0, w=1).net
    _, totals = run(make, net, (RunningClocks("work"),), 10.0)
    assert totals == [3.0]
    assert run(make, net, (FiringRate("work"),), 2.999)[1] == [0]
    assert run(make, net, (FiringRate("work"),), 3.0)[1] == [1]


@BOTH
def test_clocks_at_a_variable_speed_tie_exactly(make: type) -> None:
    """Slowed to a third for 0.1 s: two clocks of one speed, 0.3 and 3 x 0.1, still meet."""
    rate = conditional(tokens("slow") > 0, Fraction(1, 3), 1)
    ts = [
        Timed(name="end", law=det("0.1"), arcs=(takes("slow"),)),
        Timed(name="step", law=det("0.1"), arcs=(takes("s"), gives("s"), gives("n")), speed=rate),
        Timed(name="stop", law=det("0.3"), arcs=(takes("g"), takes("s")), speed=rate, priority=2),
    ]
    engine, _ = run(make, model(ts, {}, slow=1, s=1, n=0, g=1).net, (), 5.0)
    assert engine.marking == (0, 0, 2, 0)


# --- links ------------------------------------------------------------------------------------------------------------------


def transfer(*links: str, **kw: object) -> Transfer:
    return Transfer(links=links, **kw)  # type: ignore[arg-type]


def test_shared_link_of_fixed_sizes() -> None:
    """4 jobs, thinking exp(mean 1 s), a fixed size that takes 0.5 s alone: 38/21 per second, by insensitivity."""
    ts = [
        Timed(name="think", law=exp(1), arcs=(takes("idle"), gives("ready")), servers=INFINITE),
        Timed(name="send", law=det(50), arcs=(takes("ready"), gives("idle")), servers=INFINITE, transfer=transfer("net")),
    ]
    m = model(ts, {"x": Throughput("send"), "u": Utilisation("net")}, (Link(name="net", capacity=Fraction(100)),), idle=4, ready=0)
    agrees(m, precision=0.005, x=38 / 21, u=19 / 21)


def test_first_model_of_the_language() -> None:
    """Asynchronous SGD with one parameter server: 8.27 steps a second within 1 %."""
    sigma = math.sqrt(math.log(1 + 0.08**2))
    size, nic = det(int(97.5 * 2**20)), Fraction(10**10, 8)
    ts = [
        Timed(name="pull", law=size, arcs=(takes("idle"), gives("fetched")), servers=INFINITE, transfer=transfer("down")),
        Timed(
            name="compute",
            law=Lognormal(mu=math.log(0.18) - sigma**2 / 2, sigma=sigma),
            arcs=(takes("fetched"), gives("computed")),
            servers=INFINITE,
        ),
        Timed(name="push", law=size, arcs=(takes("computed"), gives("received")), servers=INFINITE, transfer=transfer("up")),
        Timed(name="update", law=Erlang(k=4, rate=4 / 0.012), arcs=(takes("received"), gives("idle"))),
    ]
    links = (Link(name="down", capacity=nic), Link(name="up", capacity=nic))
    m = model(ts, {"steps": Throughput("update")}, links, idle=4, fetched=0, computed=0, received=0)
    result = estimates(m, precision=0.004)
    assert result["steps"] == pytest.approx(8.27, rel=0.01)
    half_width = result.measures["steps"].half_width
    assert half_width is not None and half_width < 0.01 * 8.27


CAPACITY = Fraction(12)


def sender(name: str, *links: str, size: int = 12, **kw: object) -> Timed:
    return Timed(name=name, law=det(size), arcs=(takes(name), gives("done_" + name)), servers=INFINITE, transfer=transfer(*links, **kw))


def finishing_times(make: type, senders: list[Timed], links: dict[str, int]) -> dict[str, float]:
    """When each of several transfers that start together at 0 ends."""
    names = [s.name for s in senders]
    net = Net(
        places=tuple(Place(name=n, initial=1) for n in names) + tuple(Place(name="done_" + n) for n in names),
        links=tuple(Link(name=n, capacity=Fraction(c)) for n, c in links.items()),
        transitions=tuple(senders),
    )
    primitives = tuple(TimeAverage(tokens(n)) for n in names)
    _, totals = run(make, net, primitives, 1000.0)
    return dict(zip(names, totals, strict=True))


@BOTH
def test_equal_shares_then_more_for_who_stays(make: type) -> None:
    """Sizes 12 and 24 on a link of 12: 6 each until 2 s, then 12 for the rest, 12 more: 3 s."""
    times = finishing_times(make, [sender("a", "x"), sender("b", "x", size=24)], {"x": 12})
    assert times == pytest.approx({"a": 2.0, "b": 3.0})


@BOTH
def test_weights_and_caps(make: type) -> None:
    """Shares 1:2:1 of 12, the second capped at 4: rates 4, 4, 4. Then a and c on their own."""
    senders = [sender("a", "x", size=20), sender("b", "x", size=12, share=as_node(2), cap=Fraction(4)), sender("c", "x", size=12)]
    assert finishing_times(make, senders, {"x": 12}) == pytest.approx({"a": 3 + 8 / 12, "b": 3.0, "c": 3.0})


@BOTH
def test_two_links_max_min(make: type) -> None:
    """The textbook line: a over x and y, b over x, c over y, capacities 10 and 4. a and c get 2, b gets 8.

    b (16) ends at 2; a and c (8 each) at 4."""
    senders = [sender("a", "x", "y", size=8), sender("b", "x", size=16), sender("c", "y", size=8)]
    assert finishing_times(make, senders, {"x": 10, "y": 4}) == pytest.approx({"a": 4.0, "b": 2.0, "c": 4.0})


@BOTH
def test_latency_takes_no_capacity(make: type) -> None:
    """b enters the link 1 s late: a has 12 of its 18 by then, both get 6 until 2 s, then b has 18 - 6 left at 12."""
    senders = [sender("a", "x", size=18), sender("b", "x", size=18, latency=Fraction(1))]
    assert finishing_times(make, senders, {"x": 12}) == pytest.approx({"a": 2.0, "b": 3.0})


@BOTH
def test_frozen_transfers_take_no_share_and_speed_multiplies(make: type) -> None:
    """a is frozen until `go` at 1 s, b alone till then (12 of 18); then 6 each, a twice as fast (12/s of its 18): 2 s and 2.25 s."""
    a = sender("a", "x", size=18)
    a = Timed(name="a", law=a.law, arcs=a.arcs, servers=INFINITE, transfer=a.transfer, speed=tokens("on") * 2)
    go = Timed(name="go", law=det(1), arcs=(takes("off"), gives("on")))
    net = Net(
        places=places(a=1, b=1, done_a=0, done_b=0, off=1, on=0),
        links=(Link(name="x", capacity=CAPACITY),),
        transitions=(a, sender("b", "x", size=18), go),
    )
    _, totals = run(make, net, (TimeAverage(tokens("a")), TimeAverage(tokens("b")), LinkRate("x")), 10.0)
    assert totals == pytest.approx([2.25, 2.0, 12 + 12 + 0.25 * 12])


@BOTH
def test_equal_transfers_started_together_end_together(make: type) -> None:
    """Two transitions, equal sizes, one shared link with a third transfer of another size: the one with priority takes both tokens."""
    first = Timed(name="first", law=det(7), arcs=(takes("p"), takes("q"), gives("won")), transfer=transfer("x"), priority=2)
    second = Timed(name="second", law=det(7), arcs=(takes("q"), gives("lost")), transfer=transfer("x"))
    other = Timed(name="other", law=det(1), arcs=(takes("o"), gives("o")), transfer=transfer("x"))
    start = Timed(name="start", law=Uniform(low=0, high=1), arcs=(takes("z"), gives("p"), gives("q")))
    net = Net(
        places=places(z=1, p=0, q=0, won=0, lost=0, o=1),
        links=(Link(name="x", capacity=Fraction(3)),),
        transitions=(first, second, other, start),
    )
    for seed in range(30):
        engine, _ = run(make, net, (), 50.0, seed)
        assert engine.marking[3:5] == (1, 0)


# --- arcs, capacity, immediates -------------------------------------------------------------------------------------------


@BOTH
def test_capacity_disables_and_never_clips(make: type) -> None:
    """Two tokens a second into a place of 5: 4 fit, then nothing; the reader of one makes room for two only after two."""
    net = Net(
        places=(Place(name="buf", capacity=5), Place(name="src", initial=100)),
        transitions=(Timed(name="put", law=det(1), arcs=(takes("src"), gives("buf", 2))),),
    )
    engine, totals = run(make, net, (FiringRate("put"),), 10.0)
    assert engine.marking == (4, 98)
    assert totals == [2]


@BOTH
def test_flush_takes_what_the_inputs_leave(make: type) -> None:
    ts = [Timed(name="t", law=det(1), arcs=(takes("a", 2), flushes("a"), gives("b", tokens("a"))))]
    engine, _ = run(make, model(ts, {}, a=7, b=0).net, (), 1.0)
    assert engine.marking == (0, 7)


@BOTH
def test_test_and_inhibitor_arcs(make: type) -> None:
    ts = [Timed(name="t", law=det(1), arcs=(takes("a"), gives("b"), checks("a", 3), inhibits("b", 5)))]
    engine, _ = run(make, model(ts, {}, a=9, b=0).net, (), 20.0)
    assert engine.marking == (4, 5)
    engine, _ = run(make, model(ts, {}, a=4, b=0).net, (), 20.0)
    assert engine.marking == (2, 2)


def test_immediates_by_weight_and_priority() -> None:
    ts: list[Transition] = [
        Timed(name="in", law=exp(1), arcs=(gives("v"),)),
        Immediate(name="one", arcs=(takes("v"), gives("a"))),
        Immediate(name="three", arcs=(takes("v"), gives("b")), weight=as_node(3)),
        Immediate(name="first", arcs=(takes("a", 2),), priority=2),
        Immediate(name="clear", arcs=(takes("b"),)),
    ]
    m = model(ts, {"a": Average(tokens("a")), "one": Throughput("one"), "first": Throughput("first")}, v=0, a=0, b=0)
    agrees(m, a=0.5, one=0.25, first=0.125)
