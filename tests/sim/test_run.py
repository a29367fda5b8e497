"""Whole runs: stopping, seeds, horizons, classes, interruption, refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from spn.dist.families import Uniform
from spn.errors import AnalysisError, SemanticsError, SpnError
from spn.expr.nodes import Node, as_node, tokens
from spn.measure import Average, FiringRate, Measure, Sojourn, Throughput, TimeAverage, Utilisation
from spn.model import Model
from spn.net.model import INFINITE, Immediate, Net, Place, Timed, Transition
from spn.sim import simulate, trajectory
from spn.sim.classes import closed_classes
from spn.sim.control import Progress
from spn.sim.engine import Ending, Engine
from spn.sim.fast import CompiledTrajectory
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare
from spn.sim.streams import generator, refuse_equal
from tests.sim.nets import det, exp, gives, inhibits, takes


def model(transitions: list[Transition], measures: dict[str, Node], **tokens_in: int) -> Model:
    net = Net(places=tuple(Place(name=n, initial=k) for n, k in tokens_in.items()), transitions=tuple(transitions))
    return Model(name="test", net=net, measures=tuple(Measure(name=n, body=b) for n, b in measures.items()))


def mm1k(rate: float = 0.8) -> Model:
    ts: list[Transition] = [
        Timed(name="in", law=exp(rate), arcs=(gives("q"), inhibits("q", 5))),
        Timed(name="out", law=exp(1), arcs=(takes("q"),)),
    ]
    return model(ts, {"x": Throughput("out"), "n": Average(tokens("q")), "w": Sojourn("q"), "u": Utilisation("out") * 2 + 1}, q=0)


def dying() -> Model:
    return model([Timed(name="t", law=exp(1), arcs=(takes("P"), gives("D")))], {"n": Average(tokens("P")), "x": Throughput("t")}, P=10, D=0)


def figures(result: Any) -> dict[str, tuple[float, float]]:
    return {name: (v.value, v.half_width) for name, v in result.measures.items()}


# --- equal seeds, equal results ---------------------------------------------------------------------------------------------


def test_workers_and_engine_do_not_change_the_result() -> None:
    runs = [
        simulate(mm1k(), seed=5, precision=0.05, workers=w, engine=e)
        for w, e in ((1, "python"), (1, "compiled"), (3, "compiled"), (2, "auto"))
    ]
    first = figures(runs[0])
    for other in runs[1:]:
        for name, pair in figures(other).items():
            assert pair == pytest.approx(first[name], rel=1e-9)
    assert figures(runs[1]) == figures(runs[2])
    assert len({r.details["firings"] for r in runs}) == 1


def test_replications_do_not_depend_on_workers() -> None:
    runs = [simulate(dying(), seed=5, precision=0.05, horizon=7.0, workers=w, engine="compiled") for w in (1, 3)]
    assert figures(runs[0]) == figures(runs[1])


def test_seeds_differ_and_the_one_used_is_told() -> None:
    a, b = simulate(mm1k(), precision=0.1), simulate(mm1k(), precision=0.1)
    assert a.provenance is not None and b.provenance is not None
    assert a.provenance.seed is not None
    assert a.provenance.seed != b.provenance.seed
    assert figures(simulate(mm1k(), precision=0.1, seed=a.provenance.seed)) == figures(a)
    json.dumps(a.to_dict())


def test_equal_streams_are_refused() -> None:
    with pytest.raises(AnalysisError, match="same stream"):
        refuse_equal([generator(1, 0), generator(1, 1), generator(1, 0)])
    refuse_equal([generator(1, k) for k in range(100)])


# --- precision and coverage -------------------------------------------------------------------------------------------------


def test_stops_at_the_precision_asked_for() -> None:
    wanted = (0.1, 0.02, 0.005)
    firings = []
    for precision in wanted:
        result = simulate(mm1k(), seed=3, precision=precision)
        assert result.converged
        assert all(v.half_width is not None and v.half_width <= precision * abs(v.value) for v in result.measures.values())
        firings.append(result.details["firings"])
    assert firings[0] < firings[1] < firings[2]


def test_intervals_cover_at_their_level() -> None:
    """60 runs at 90 % with the stopping rule on: fewer than 43 hits has probability 2e-5 at 90 %."""
    p = [0.8**k for k in range(6)]
    n = sum(k * v for k, v in enumerate(p)) / sum(p)
    hits = 0
    for seed in range(60):
        v = simulate(mm1k(), seed=seed, precision=0.04, confidence=0.9, engine="compiled").measures["n"]
        assert v.half_width is not None
        hits += abs(v.value - n) <= v.half_width
    assert hits >= 43


def test_warm_up_of_a_far_start_is_left_out() -> None:
    """2000 tokens drain through a server at load 1/2: without a cut the mean queue would be far above 1."""
    ts: list[Transition] = [Timed(name="in", law=exp(0.5), arcs=(gives("q"),)), Timed(name="out", law=exp(1), arcs=(takes("q"),))]
    result = simulate(model(ts, {"n": Average(tokens("q"))}, q=2000), seed=1, precision=0.02, confidence=0.9999)
    v = result.measures["n"]
    assert result.converged and v.half_width is not None
    assert result.details["warm_up"] > 1000
    assert abs(v.value - 1) <= v.half_width + 0.01


def test_given_warm_up_is_used() -> None:
    result = simulate(mm1k(), seed=1, precision=0.05, warmup=123.0)
    assert 123 <= result.details["warm_up"] < 1000


def test_a_deterministic_net_is_exact() -> None:
    ts: list[Transition] = [Timed(name="t", law=det("0.25"), arcs=(takes("a"), gives("a")))]
    v = simulate(model(ts, {"x": Throughput("t")}, a=1), seed=1).measures["x"]
    assert (v.value, v.half_width) == (pytest.approx(4.0), 0.0)


def test_limits_leave_it_unconverged() -> None:
    result = simulate(mm1k(), seed=1, precision=1e-6, max_firings=50_000)
    assert not result.converged
    assert result.details["firings"] <= 50_000
    timed = simulate(mm1k(), seed=1, precision=1e-9, max_seconds=2.0)
    assert not timed.converged
    assert any("2 s" in note for note in timed.notes)


def test_an_unstable_queue_does_not_converge() -> None:
    ts: list[Transition] = [Timed(name="in", law=exp(1.5), arcs=(gives("q"),)), Timed(name="out", law=exp(1), arcs=(takes("q"),))]
    result = simulate(model(ts, {"n": Average(tokens("q"))}, q=0), seed=1, max_firings=1e6)
    assert not result.converged
    assert any("no steady state" in note for note in result.notes)


def test_until_replaces_the_precision() -> None:
    calls: list[float] = []

    def enough(found: Any) -> bool:
        calls.append(found["n"].half_width)
        return bool(found["n"].half_width < 0.05)

    result = simulate(mm1k(), seed=1, until=enough)
    assert result.converged
    assert calls[-1] < 0.05 <= calls[0]


# --- horizons and absorbing markings ----------------------------------------------------------------------------------------


def test_net_that_dies_within_a_horizon() -> None:
    """10 deaths at rate 1 within 100 s, the state held to the horizon: the time average of #P is 0.55, not 5.5."""
    result = simulate(dying(), seed=1, horizon=100.0, precision=0.04, confidence=0.9999)
    n, x = result.measures["n"], result.measures["x"]
    assert n.half_width is not None
    assert abs(n.value - 0.55) <= n.half_width
    assert x.value == pytest.approx(0.1)
    path = trajectory(dying(), 100.0, 1)
    assert (path.firings, path.time, path.ending) == (10, 100.0, Ending.STILL)
    assert path.averages[FiringRate("t")] == pytest.approx(0.1)


def test_transient_average() -> None:
    """Over [0, 10] the same average is 5.2084801249."""
    v = simulate(dying(), seed=1, horizon=10.0, precision=0.04, confidence=0.9999).measures["n"]
    assert v.half_width is not None
    assert abs(v.value - 5.2084801249) <= v.half_width


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_horizon_includes_what_happens_at_it(engine: Any) -> None:
    ts: list[Transition] = [Timed(name="t", law=det("0.1"), arcs=(takes("a"), gives("a")))]
    net = model(ts, {"x": Throughput("t")}, a=1)
    for horizon, fired in ((0.3, 3), (0.7, 7), (0.29999, 2)):
        path = trajectory(net, horizon, 1, engine=engine)
        assert (path.firings, path.time) == (fired, horizon)
    assert trajectory(net, 5000.0, 1, engine=engine).firings == 50_000


def test_long_run_of_a_net_that_dies() -> None:
    result = simulate(dying(), seed=1)
    assert figures(result) == {"n": (0.0, 0.0), "x": (0.0, 0.0)}
    assert result.converged
    (only,) = result.classes
    assert (only.kind, only.probability, only.marking) == ("dead", 1.0, {"D": 10})


def test_classes_are_mixed_with_their_probabilities() -> None:
    """1/4 end in a ring at 2 per second, 3/4 in a dead marking with 8 tokens."""
    ts: list[Transition] = [
        Immediate(name="left", arcs=(takes("s"), gives("a"))),
        Immediate(name="right", arcs=(takes("s"), gives("d", 8)), weight=as_node(3)),
        Timed(name="ring", law=exp(2), arcs=(takes("a"), gives("a"))),
    ]
    m = model(ts, {"x": Throughput("ring"), "d": Average(tokens("d"))}, s=1, a=0, d=0)
    result = simulate(m, seed=1, precision=0.2, confidence=0.999)
    for name, right in (("x", 0.5), ("d", 6.0)):
        v = result.measures[name]
        assert v.half_width is not None
        assert abs(v.value - right) <= v.half_width
    kinds = {c.kind: c for c in result.classes}
    assert kinds["dead"].probability == pytest.approx(0.75, abs=0.1)
    assert kinds["recurrent"].measures["x"] == pytest.approx(2.0, rel=0.05)
    assert kinds["dead"].measures == {"x": 0.0, "d": 8.0}


def test_stuck_is_not_dead() -> None:
    """Speed 0 in the marking reached: enabled, but nothing will ever happen."""
    ts: list[Transition] = [Timed(name="t", law=exp(1), arcs=(takes("a"), gives("b")), speed=as_node(tokens("a") > 1) * 1)]
    result = simulate(model(ts, {"a": Average(tokens("a"))}, a=3, b=0), seed=1)
    (only,) = result.classes
    assert (only.kind, only.marking) == ("stuck", {"a": 1, "b": 2})
    assert result["a"] == 1.0


def test_runs_that_come_to_rest_unexpectedly_are_replicated() -> None:
    """Too many markings to see beforehand (two open queues), yet every run ends: a timer stops the arrivals."""
    ts: list[Transition] = [
        Timed(name="in", law=exp(50), arcs=(takes("on"), gives("on"), gives("q"))),
        Timed(name="off", law=Uniform(low=0, high=2), arcs=(takes("on"),)),
        Timed(name="out", law=exp(30), arcs=(takes("q"), gives("sum")), servers=INFINITE),
    ]
    m = model(ts, {"sum": Average(tokens("sum"))}, on=1, q=0, sum=0)
    result = simulate(m, seed=1, precision=0.05, confidence=0.999)
    assert "came to rest" in result.reason
    v = result.measures["sum"]
    assert v.half_width is not None
    assert abs(v.value - 50) <= v.half_width  # 50/s for 1 s on average


def test_fixed_replications() -> None:
    result = simulate(mm1k(), seed=1, replications=10, horizon=50.0)
    assert result.details["replications"] == 10
    assert {v.samples for v in result.measures.values()} == {10}


def test_closed_classes() -> None:
    ring = closed_classes(mm1k().net)
    assert ring is not None
    assert [(len(c.markings), c.absorbing) for c in ring] == [(6, False)]
    dead = closed_classes(dying().net)
    assert dead is not None
    assert [(c.markings, c.absorbing) for c in dead] == [(frozenset({(0, 10)}), True)]
    opened = model([Timed(name="in", law=exp(1), arcs=(gives("q"),))], {}, q=0)
    assert closed_classes(opened.net) is None


# --- interruption and refusals ----------------------------------------------------------------------------------------------


def test_interruption_keeps_what_there_is() -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        assert "firings" in str(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    result = simulate(mm1k(), seed=1, precision=1e-6, progress=interrupt)
    assert result.details["interrupted"]
    assert not result.converged
    assert "interrupted" in result.notes
    v = result.measures["n"]
    assert v.half_width is not None and math.isfinite(v.half_width)


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("kind", ["immediate", "det"])
def test_zero_time_loops_name_their_transitions(engine: Any, kind: str) -> None:
    ping, pong = (takes("a"), gives("b")), (takes("b"), gives("a"))
    if kind == "immediate":
        loop: list[Transition] = [Immediate(name="ping", arcs=ping), Immediate(name="pong", arcs=pong)]
    else:
        loop = [Timed(name="ping", law=det(0), arcs=ping), Timed(name="pong", law=det(0), arcs=pong)]
    begin = Timed(name="begin", law=exp(1), arcs=(takes("s"), gives("a")))
    m = model([begin, *loop], {"x": Throughput("begin")}, s=1, a=0, b=0)
    with pytest.raises(SemanticsError, match="ping, pong") as caught:
        simulate(m, seed=1, engine=engine, horizon=100.0)
    assert "begin" not in str(caught.value)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_zero_time_loop_is_told_in_replications_too(engine: Any) -> None:
    """Their stretches are shorter than the limit at which a loop is called one: no average over no time."""
    loop = [Timed(name="ping", law=det(0), arcs=(takes("a"), gives("b"))), Timed(name="pong", law=det(0), arcs=(takes("b"), gives("a")))]
    with pytest.raises(SemanticsError, match="ping, pong"):
        simulate(model(loop, {"x": Throughput("ping")}, a=1, b=0), seed=1, replications=4, engine=engine)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("speed", {"speed": tokens("a") * 2 - 5}, "speed"),
    ("scale", {"scale": tokens("a") - 2}, "scale"),
    ("multiplicity", {"arcs": (takes("a"), gives("b", tokens("a") / 2))}, "whole"),
    ("guard", {"guard": as_node(1) / (tokens("a") - 1) > 0}, "division by zero"),
]


@pytest.mark.parametrize("make", [Trajectory, CompiledTrajectory])
@pytest.mark.parametrize(("name", "change", "text"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong_quantities_name_transition_and_marking(make: Any, name: str, change: dict[str, Any], text: str) -> None:
    fields: dict[str, Any] = {"arcs": (takes("a"), gives("b")), **change}
    ts: list[Transition] = [Timed(name="bad", law=exp(1), **fields)]
    net = model(ts, {}, a=3, b=0).net
    engine: Engine = make(prepare(net, ()), (), np.random.default_rng(1))
    with pytest.raises(SemanticsError) as caught:
        engine.run(100, math.inf)
    assert text in str(caught.value)
    assert "bad" in str(caught.value) and "a=" in str(caught.value)


@pytest.mark.parametrize("make", [Trajectory, CompiledTrajectory])
def test_weights_that_sum_to_zero(make: Any) -> None:
    ts: list[Transition] = [
        Timed(name="in", law=exp(1), arcs=(gives("v"),)),
        Immediate(name="a", arcs=(takes("v"),), weight=tokens("v") - 1),
    ]
    engine: Engine = make(prepare(model(ts, {}, v=0).net, ()), (), np.random.default_rng(1))
    with pytest.raises(SemanticsError, match="sum to 0"):
        engine.run(100, math.inf)


@pytest.mark.parametrize("make", [Trajectory, CompiledTrajectory])
def test_undefined_measures_are_refused(make: Any) -> None:
    primitives = (TimeAverage(as_node(1) / tokens("q")),)
    engine: Engine = make(prepare(mm1k().net, primitives), primitives, np.random.default_rng(1))
    with pytest.raises(SemanticsError, match="division by zero"):
        engine.run(100, math.inf)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 0},
        {"precision": math.nan},
        {"confidence": 1.0},
        {"replications": 1},
        {"horizon": -1.0},
        {"warmup": 5.0, "horizon": 4.0},
    ],
)
def test_options_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(SpnError, match="E0705"):
        simulate(mm1k(), seed=1, **options)


def test_nothing_estimated_is_an_error() -> None:
    with pytest.raises(AnalysisError, match="before there was anything"):
        simulate(mm1k(), seed=1, horizon=1e9, max_firings=1000, engine="python")
