"""When a run has seen enough: values near 0, events that were never seen, undefined values, and classes in which runs end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spn
from spn.cli.expectations import Outcome, by_method, judge
from spn.errors import AnalysisError
from spn.expr.nodes import call, tokens
from spn.measure import Average, Sojourn, Throughput, Utilisation
from spn.sim import simulate
from spn.sim.chances import chances
from spn.sim.classes import marking_graph
from spn.sim.estimate import NEARBY, Part, combined, interval, never_seen
from spn.sim.magnitude import magnitude
from spn.sim.proof import FEW

RENEWAL = """
    units none
    place a = 1  place b
    timed t : a -> b ~ uniform(0.5, 1.5)
    timed u : b -> a ~ uniform(0.5, 1.5)
"""


# --- the magnitude of terms -------------------------------------------------------------------------------------------------


def test_magnitude_is_that_of_the_largest_term() -> None:
    x, y = Throughput("x"), Throughput("y")
    assert magnitude(x) is None
    assert magnitude(2 * x / y) is None
    assert magnitude(x - y) == call("max", call("abs", x), call("abs", y))
    assert magnitude(3 * (x - y)) == 3 * call("max", call("abs", x), call("abs", y)) or magnitude(3 * (x - y)) is not None


def test_time_averages_that_are_added_are_one_time_average() -> None:
    """So 1 - P(up) is no difference of large terms, and a rare failure keeps its relative precision."""
    up = Average(tokens("up") > 0)
    assert magnitude(1 - up) == Average(call("abs", 1 - (tokens("up") > 0)))
    assert magnitude((Average(tokens("a")) - Average(tokens("b"))) / 2) is not None
    assert magnitude(Average(tokens("a") - tokens("b"))) == Average(call("abs", tokens("a") - tokens("b")))
    assert magnitude(Average(tokens("a") - 1 > 0)) is None  # a condition is never negative
    assert magnitude(Average(tokens("a"), given="t")) is None
    assert magnitude(Utilisation("x") * Sojourn("p")) is None


def test_near_zero_a_width_is_judged_by_the_terms() -> None:
    part = Part(variance=1e-8, freedom=60)
    difference = combined(1e-5, (part,), 0.95, samples=64, magnitude=2.0)
    assert difference.near_zero
    assert difference.relative() == pytest.approx(difference.half_width / (NEARBY * 2.0))
    alone = combined(1e-5, (part,), 0.95, samples=64)
    assert alone.relative() == pytest.approx(difference.half_width / 1e-5)
    clear = combined(1.0, (part,), 0.95, samples=64, magnitude=2.0)
    assert not clear.near_zero and clear.relative() == pytest.approx(clear.half_width)


def test_rounding_of_terms_that_cancel_is_nothing() -> None:
    rows = np.column_stack([np.ones(10), np.linspace(1, 2, 10)])
    found = interval(rows, lambda a: float((a[0] + 1e8) - a[0] - 1e8), 0.95, magnitude=1e8)
    assert (found.value, found.half_width) == (0.0, 0.0)


def test_a_value_of_0_does_not_run_on() -> None:
    """Two equal renewal processes: the difference of their throughputs is 0."""
    twice = RENEWAL + "place c = 1  place d  timed v : c -> d ~ uniform(0.5, 1.5)  timed w : d -> c ~ uniform(0.5, 1.5)"
    model = spn.parse(twice + "measure gap = throughput(t) - throughput(v)  measure rate = throughput(t)")
    result = simulate(model, seed=1, max_firings=3e7)
    gap = result.measures["gap"]
    assert result.converged
    assert gap.half_width is not None and gap.half_width <= 0.01 * NEARBY * result["rate"]
    assert abs(gap.value) <= 2 * gap.half_width
    assert gap.note


def test_a_rare_event_keeps_its_relative_precision() -> None:
    """An outage of 0.001 in 1.001 s, however it is asked for."""
    model = spn.parse("""
        units none
        place up = 1  place down
        timed fail : up -> down ~ uniform(0.5, 1.5)
        timed mend : down -> up ~ uniform(0.0005, 0.0015)
        measure direct = P(#down == 1)
        measure inverse = 1 - P(#up == 1)
    """)
    result = simulate(model, seed=1, precision=0.02)
    for v in result.measures.values():
        assert v.half_width is not None and v.half_width <= 0.02 * v.value
        assert v.value == pytest.approx(0.001 / 1.001, rel=0.05)


def test_staleness_of_a_single_worker_is_0_at_once() -> None:
    result = simulate(spn.load("models/sgd/async_ps.spn", workers=1), seed=1, max_firings=2e6)
    staleness = result.measures["staleness"]
    assert result.converged
    assert (staleness.value, staleness.half_width) == (0.0, 0.0)


# --- what was never seen ----------------------------------------------------------------------------------------------------


NEVER = """
    units none
    place a = 1  place b
    timed soon : a -> b ~ det(1)
    timed late : a -> b ~ det(2)
    timed back : b -> a ~ exp(rate = 1)
    measure never = throughput(late)
    measure share = P(#b <= 1)
    measure twice = E(#a | late)
    measure rate  = throughput(back)
"""


def test_what_was_never_seen_is_not_called_impossible() -> None:
    """The second delay is longer than the first: its transition can fire by the marking, yet never does."""
    result = simulate(spn.parse(NEVER), seed=1)
    never, share, twice = (result.measures[n] for n in ("never", "share", "twice"))
    assert result.converged and result.details["firings"] >= FEW
    assert never.value == 0.0 and never.note
    exposure = result.details["firings"] / 2 * 2  # a cycle of two firings takes 2 s
    assert never.half_width == pytest.approx(4 / exposure, rel=0.1)  # at 95 % the four streams weigh more than the rule of three
    assert share.value == pytest.approx(1.0) and share.half_width == 0.0  # no marking has more
    assert math.isnan(twice.value)
    assert any("never" in note and "seen" in note for note in result.notes)


def test_the_rule_of_three() -> None:
    assert never_seen(0.95, 1000.0, 1) == pytest.approx(0.0029957, rel=1e-4)
    assert never_seen(0.95, 1000.0, 4) == 0.004
    assert never_seen(0.95, 0.0, 1) == math.inf


def test_a_time_average_that_never_varied_has_no_interval() -> None:
    model = spn.parse(NEVER.replace("late : a -> b", "late : a -> b, c") + "place c  measure none = P(#c > 0)")
    none = simulate(model, seed=1).measures["none"]
    assert (none.value, none.half_width) == (0.0, math.inf)


def test_expectations_of_what_never_happens(tmp_path: Path) -> None:
    """Decided as soon as the run is long enough to have seen it; not before."""
    file = tmp_path / "never.spn"
    file.write_text(NEVER + "expect never == 0 within abs 1e-4  expect never < 1e-3")
    assert [v.outcome for v in judge(spn.load(file), by_method("simulate", 1))] == [Outcome.PASS, Outcome.PASS]
    file.write_text(NEVER + "expect never == 1e-9 within 1 %")
    assert [v.outcome for v in judge(spn.load(file), by_method("simulate", 1, max_seconds=5.0))] == [Outcome.UNDECIDED]


def test_what_cannot_vary_is_exact_at_once() -> None:
    model = spn.parse(
        RENEWAL
        + "place p = 7  place z  timed x : 8*p -> z ~ det(1)  timed y : z -> 8*p ~ det(1)"
        + "measure none = throughput(x)  measure seven = E(#p)  measure all = P(#a + #b == 1)"
    )
    result = simulate(model, seed=1, max_firings=100_000)
    assert [result[n] for n in ("none", "seven", "all")] == pytest.approx([0, 7, 1])
    assert all(v.half_width == 0 for v in result.measures.values())
    assert result.converged


def test_a_rare_event_is_not_taken_for_impossible() -> None:
    """First seen after thousands of firings: an early batch without it must not end the run."""
    model = spn.parse(RENEWAL + "place c = 1  place d  timed v : c -> d ~ det(2000)  timed w : d -> c ~ det(1)  measure m = throughput(v)")
    result = simulate(model, seed=1)
    assert result["m"] == pytest.approx(1 / 2001, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_what_recurs_like_clockwork_shows_its_spread(seed: int) -> None:
    """Once in 2001 s, with faster noise beside it: batches that each hold the event once say nothing about how often it comes. Intervals
    at 99 %; what is deterministic misses none."""
    model = spn.parse(
        RENEWAL
        + "place c = 1  place d  timed v : c -> d ~ det(2000)  timed w : d -> c ~ det(1)"
        + "measure often = throughput(v)  measure share = P(#d == 1)"
    )
    result = simulate(model, seed=seed, confidence=0.99)
    for v in result.measures.values():
        assert v.half_width is not None
        assert abs(v.value - 1 / 2001) <= v.half_width


def test_an_undefined_measure_ends_the_run() -> None:
    text = RENEWAL + "place z  place y  timed never : 2*a, z -> y ~ det(1)  timed fill : 3*a -> z ~ det(1)"
    model = spn.parse(text + "measure m = E(#a | never)  measure n = throughput(never) / throughput(never)  measure o = sojourn(y)")
    result = simulate(model, seed=1, max_firings=100_000)
    assert all(math.isnan(v.value) for v in result.measures.values())
    assert result.converged
    assert any("undefined" in note for note in result.notes)


# --- classes ----------------------------------------------------------------------------------------------------------------

RACE = """
    units none
    place s = 1  place a  place b  place c
    timed x : s -> a ~ {law}
    timed y : s -> b ~ exp(rate = 2)
    timed p : a -> c ~ lognormal(mean = 2, cv = 1)
    timed q : c -> a ~ det(1)
    timed r : b -> 2*b ~ exp(rate = 1) when #b < 3
    measure rate = throughput(p)
    measure left = E(#b)
"""


def test_chances_are_exact_where_only_memoryless_clocks_race() -> None:
    """exp(2) against exp(2), then a chain in one of the classes; markings on the way with one candidate of any law are no obstacle."""
    graph = marking_graph(spn.parse(RACE.format(law="exp(rate = 2)")).net)
    assert graph is not None
    found = chances(graph)
    assert found is not None and sorted(found) == pytest.approx([0.5, 0.5])
    erlang = marking_graph(spn.parse(RACE.format(law="erlang(2, mean = 1)")).net)
    assert erlang is not None and chances(erlang) is None


def test_chances_through_a_loop_on_the_way() -> None:
    """A walk on 0..4 from 1, up with 2/3: ruin has probability ((1/2)^1 - (1/2)^4) / (1 - (1/2)^4)."""
    graph = marking_graph(
        spn.parse("""
        units none
        place n = 1  place on = 1  place off
        timed up   : n, on -> 2*n, off ~ exp(rate = 2) when #n > 0 and #n < 4
        timed down : n, on -> off      ~ exp(rate = 1) when #n > 0 and #n < 4
        timed next : off -> on         ~ lognormal(mean = 1, cv = 1)
        """).net
    )
    assert graph is not None
    found = chances(graph)
    assert found is not None
    ruined = next(p for p, c in zip(found, graph.closed, strict=True) if next(iter(c.markings))[0] == 0)
    assert ruined == pytest.approx((0.5 - 0.5**4) / (1 - 0.5**4), rel=1e-12)


def test_exact_chances_leave_only_the_long_runs_to_estimate() -> None:
    result = simulate(spn.parse(RACE.format(law="exp(rate = 2)")), seed=1)
    assert result.converged
    assert "exact chances" in result.reason
    assert result.measures["left"].half_width == 0.0 and result["left"] == pytest.approx(1.5)
    assert result["rate"] == pytest.approx(0.5 / 3, rel=0.02)
    assert result.details["firings"] < 1e6
    assert [(c.kind, c.probability) for c in result.classes] == [("dead", pytest.approx(0.5)), ("recurrent", pytest.approx(0.5))]


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_chances_by_many_short_runs(engine: Any) -> None:
    """erlang(2, mean 1) is before exp(2) with probability 1/4."""
    result = simulate(spn.parse(RACE.format(law="erlang(2, mean = 1)")), seed=2, precision=0.1, confidence=0.999, engine=engine)
    assert result.converged
    assert "short runs" in result.reason
    for name, right in (("rate", 0.25 / 3), ("left", 0.75 * 3)):
        v = result.measures[name]
        assert v.half_width is not None
        assert abs(v.value - right) <= v.half_width


def test_engines_and_workers_agree_on_classes() -> None:
    model = spn.parse(RACE.format(law="erlang(2, mean = 1)"))
    first, *others = [
        simulate(model, seed=3, precision=0.2, workers=w, engine=e).measures for w, e in ((1, "python"), (1, "compiled"), (3, "compiled"))
    ]
    for other in others:
        for name, v in other.items():
            assert (v.value, v.half_width) == pytest.approx((first[name].value, first[name].half_width), rel=1e-9)


def test_mixed_intervals_cover_at_their_level() -> None:
    """60 runs at 90 %, both sources of variance at work: fewer than 43 hits has probability 2e-5 at 90 %."""
    model = spn.parse(RACE.format(law="erlang(2, mean = 1)") + "measure both = (throughput(p) + 1) * E(#b)")
    right = (0.25 / 3 + 1) * 2.25
    hits = 0
    for seed in range(60):
        v = simulate(model, seed=seed, precision=0.15, confidence=0.9, engine="compiled").measures["both"]
        assert v.half_width is not None
        hits += abs(v.value - right) <= v.half_width
    assert hits >= 43


def test_a_class_of_tiny_chance_has_its_exact_weight() -> None:
    text = "units none  place s = 1  place a  place b  timed x : s -> a ~ exp(rate = 1)  timed y : s -> b ~ exp(rate = 1e-7)"
    text += "  timed p : a -> a ~ exp(rate = 3)  timed q : b -> b ~ lognormal(mean = 2, cv = 1)  measure rare = throughput(q)"
    result = simulate(spn.parse(text), seed=1)
    assert result.converged
    assert result["rare"] == pytest.approx(0.5e-7, rel=0.03)


def test_an_absorbing_marking_needs_no_run() -> None:
    """Absorption after e^20 cycles on average; nothing but the marking where it ends matters."""
    model = spn.parse("""
        units none
        place n = 20  place dead
        timed up   : n -> 2*n ~ exp(rate = 100) when #n > 0 and #n < 40
        timed down : n ->     ~ exp(rate = 1)
        immediate die : !n, !dead -> dead
        measure gone = P(#dead == 1)
    """)
    result = simulate(model, seed=1, max_firings=1000)
    assert result.converged and result["gone"] == 1.0
    (only,) = result.classes
    assert (only.kind, only.probability) == ("dead", 1.0)


# --- clocks without number --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_more_clocks_than_memory_is_an_error(engine: Any) -> None:
    model = spn.parse("units none  place a = 10000000000  timed t : a -> ~ erlang(k = 2, rate = 1) servers inf  measure m = throughput(t)")
    with pytest.raises(AnalysisError, match=r"E0707.*10,000,000,000 clocks of t"):
        simulate(model, seed=1, horizon=1.0, engine=engine)


def test_compiling_a_kernel_costs_the_run_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import time

    from spn.sim import streams
    from spn.sim.control import Control

    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(streams, "import_module", lambda name: clock.__setitem__(0, clock[0] + 50.0))
    monkeypatch.delitem(sys.modules, streams.DIRECT_KERNELS, raising=False)
    control = Control(workers=1, max_seconds=1.0, max_firings=1e9, started=0.0)
    crew = streams.Crew(spn.load("basics/mm1k.spn").net, (), 1, control)
    assert crew.use_kernel(10**9)
    assert (clock[0], control.seconds(), control.exhausted()) == (50.0, 0.0, "")


EVADED = """units none place a = 2, b, c
    timed t : a, !2*b -> b ~ det(3)  timed u : b -> c ~ det(2) servers 2  timed v : c, ?b -> a ~ det(1)
    measure rate = throughput(v)  measure idle = E(#a)"""


def test_a_dead_marking_that_times_exclude() -> None:
    """Two tokens in c are dead, but the constant delays never let both get there: the net goes round for ever, t every 4."""
    model = spn.parse(EVADED)
    graph = marking_graph(model.net)
    assert graph is not None and graph.evadable and [c.absorbing for c in graph.closed] == [True]
    exact = spn.solve(model, method="schedule")
    found = simulate(model, seed=1)
    assert found.converged and exact["rate"] == pytest.approx(0.25)
    for name, v in found.measures.items():
        assert v.value == pytest.approx(exact[name], abs=(v.half_width or 0) + 1e-12)
    shares = {b.low: b.share for b in spn.histogram(model, "#a", seed=1).bins}
    assert sum(n * p for n, p in shares.items()) == pytest.approx(exact["idle"], abs=1e-2)
    assert not marking_graph(spn.parse(EVADED.replace("det(3)", "exp(mean = 3)").replace("det(2)", "exp(mean = 2)")).net).evadable


def test_replications_without_chance_do_not_take_a_cut_period_for_certain() -> None:
    """10,000 firings are no whole number of rounds of three: each of the equal replications is off by the same."""
    round_ = "place a = 1, b, c timed t : a -> b ~ det(3) timed u : b -> c ~ det(2) timed v : c -> a ~ det(1)"
    more = "place d = 1, e timed w : d -> e ~ det(0.7) timed x : e -> d ~ det(0.4)"
    for net in (round_, f"{round_} {more}"):
        found = simulate(spn.parse(f"units none {net} measure rate = throughput(t) measure share = P(#a > 0)"), seed=1, replications=8)
        for name, right in (("rate", 1 / 6), ("share", 0.5)):
            v = found.measures[name]
            assert abs(v.value - right) <= (v.half_width or 0) + 1e-12
