"""Values at times, first passages and quantiles: closed forms, the exact method against simulation, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from spn.errors import AnalysisError, SpnError
from spn.loading import parse
from spn.model import Model
from spn.sim import simulate
from spn.solvers import solve
from spn.solvers.sweep import open_sweeps, sweep

AVAILABILITY = """
units none
place up = 1, down
timed fail : up -> down ~ exp(rate = 0.02)
timed repair : down -> up ~ exp(rate = 0.5)
"""
HYPO = """
units none
place a = 1, b, c, end
timed t1 : a -> b ~ exp(rate = 1)
timed t2 : b -> c ~ exp(rate = 2)
timed t3 : c -> end ~ exp(rate = 5)
"""
POISSON = "units none place count timed ev : !6*count -> count ~ exp(rate = 2)"
TMR = "units none place up = 3, failed timed fail : up, !2*failed -> failed ~ exp(rate = 0.001) servers inf"

RIGHT = [
    (AVAILABILITY, "P(#up == 1) at 0.1", 0.998051110263188),
    (AVAILABILITY, "P(#up == 1) at 1", 0.9844046364603921),
    (AVAILABILITY, "P(#up == 1) at 5", 0.9643951376236283),
    (AVAILABILITY, "P(#up == 1) at 20", 0.9615396320185773),
    (AVAILABILITY, "P(#up == 1) over 0..10", 0.9688941082513257),
    (AVAILABILITY, "P(#up == 1) total over 0..10", 9.688941082513257),
    (AVAILABILITY, "throughput(fail) total over 0..10", 0.02 * 9.688941082513257),
    (AVAILABILITY, "throughput(fail) over 0..10", 0.02 * 0.9688941082513257),
    (AVAILABILITY, "throughput(fail) at 5", 0.02 * 0.9643951376236283),
    (AVAILABILITY, "P(#up == 1) at 0", 1),
    (AVAILABILITY, "P(#up == 1) at 1 - P(#up == 1)", 0.9844046364603921 - 25 / 26),
    (HYPO, "P(#end == 1) at 0.2", 0.009059953835870467),
    (HYPO, "P(#end == 1) at 1", 0.3047372112992344),
    (HYPO, "P(#end == 1) at 3", 0.8796635317243974),
    (HYPO, "P(time until #end == 1 <= 10)", 0.9998865036108499),
    (HYPO, "P(time until #end == 1 > 1)", 1 - 0.3047372112992344),
    (HYPO, "E(time until #end == 1)", 1.7),
    (HYPO, "E(time until #a == 1)", 0),
    (HYPO, "quantile(0.3047372112992344, time until #end == 1)", 1),
    (HYPO, "E(time until #a == 2)", math.inf),
    (POISSON, "P(#count == 0) at 0.5", math.exp(-1)),
    (POISSON, "P(#count == 5) at 0.5", 0.003065662009762019),
    (POISSON, "P(#count == 5) at 3", 0.16062314104798003),
    (POISSON, "P(#count == 6) at 2", 0.2148696129695948),
    (TMR, "P(#failed < 2) at 100", 0.9745558178705098),
    (TMR, "P(#failed < 2) at 2000", 0.049989412312869824),
    (TMR, "E(time until #failed == 2)", 833.3333333333334),
    (TMR, "quantile(0.5, time until #failed == 2)", math.log(2) / 0.001),
    (AVAILABILITY, "quantile(0.03, #up)", 0),
    (AVAILABILITY, "quantile(0.04, #up)", 1),
    (AVAILABILITY, "quantile(0.5, #up | repair)", 0),
]


@pytest.mark.parametrize(("net", "question", "value"), RIGHT, ids=[q for _, q, _ in RIGHT])
def test_right_values(net: str, question: str, value: float) -> None:
    result = solve(parse(f"{net} measure x = {question}"), method="ctmc")
    assert result["x"] == pytest.approx(value, rel=1e-9)
    assert result.converged and result.residual is not None and result.residual < 1e-10


def test_an_initial_vanishing_marking() -> None:
    """Weights 1 : 3 into a and b: the distribution at 0, and a passage that is 0 with probability 3/4."""
    net = """
    units none place start = 1, a, b
    immediate left : start -> a weight 1  immediate right : start -> b weight 3
    timed go : a -> b ~ exp(rate = 2)
    measure x = P(#a == 1) at 0  measure y = E(time until #b == 1)  measure z = P(time until #b == 1 <= 0)
    measure never = E(time until #start == 1)
    """
    result = solve(parse(net), method="ctmc")
    assert (result["x"], result["y"], result["z"]) == pytest.approx((0.25, 0.125, 0.75), rel=1e-12)
    assert result["never"] == math.inf  # it holds in a vanishing marking only
    assert any("#start == 1" in note and "probability 0" in note for note in result.notes)


def test_a_passage_of_an_unbounded_net_is_exact() -> None:
    """An empty queue (arrivals 1, service 2) reaches 3: means 1, 1 + 3, 1 + 3 + 7, by the recursion h(k) = (1 + 2 h(k - 1)) / 1."""
    net = "units none place q timed arrive : -> q ~ exp(rate = 1) timed serve : q -> ~ exp(rate = 2) servers 1"
    result = solve(parse(f"{net} measure x = E(time until #q == 3)"))
    assert result.method == "ctmc"
    assert result["x"] == pytest.approx(1 + 3 + 7, rel=1e-12)


def test_phases_are_seen_through() -> None:
    """Erlang(3) of mean 3: P(T <= 2) = 1 - e^-2 (1 + 2 + 2)."""
    net = "units none place a = 1, b timed t : a -> b ~ erlang(3, mean = 3)"
    result = solve(parse(f"{net} measure x = P(time until #b == 1 <= 2)  measure y = P(#b == 1) at 2  measure z = E(time until #b == 1)"))
    assert result["x"] == pytest.approx(1 - math.exp(-2) * 5, rel=1e-12)
    assert result["y"] == pytest.approx(result["x"], rel=1e-12)
    assert result["z"] == pytest.approx(3, rel=1e-12)


def test_long_run_and_times_in_one_result() -> None:
    result = solve(parse(f"{AVAILABILITY} measure a = P(#up == 1) measure b = P(#up == 1) at 1 measure c = a / b"))
    assert result["c"] == pytest.approx(25 / 26 / 0.9844046364603921)


# --- simulation -----------------------------------------------------------------------------------------------------------------------


MIXED = """
units none
place up = 2, down
timed fail : up -> down ~ exp(rate = 1) servers inf
timed fix : down -> up ~ exp(rate = 1) servers 1
measure m1 = P(#up == 1) at 0.5
measure m2 = E(#up) over 0..3
measure m3 = throughput(fail) total over 1..2
measure m4 = E(time until #up < 1)
measure m5 = P(time until #up < 1 <= 1)
"""


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_estimates_agree_with_exact_values(engine: str) -> None:
    """Within 4 standard errors: false alarms below 1e-4 a value; seeds are fixed."""
    model = parse(MIXED)
    exact = solve(model, method="ctmc")
    found = simulate(model, seed=7, replications=640, engine=engine, max_seconds=600)  # type: ignore[arg-type]
    assert list(found.measures) == list(exact.measures)
    for name, value in found.measures.items():
        assert value.half_width is not None
        assert abs(value.value - exact[name]) < 4 * value.half_width / 1.96, name


def test_all_sorts_in_one_result() -> None:
    model = parse(f"{MIXED} measure m6 = E(#up)")
    found = simulate(model, seed=7, precision=0.1)
    assert list(found.measures) == [m.name for m in model.measures]
    assert found.converged and found["m6"] == pytest.approx(0.8, rel=0.2)
    assert found.details["replications"] > 0 and found.details["batches"] > 0


def test_constants_at_times() -> None:
    """det(2) races exp(0.5): what happens at a time has happened then."""
    net = "units none place a = 1, b, c timed d : a -> b ~ det(2) timed e : a -> c ~ exp(rate = 0.5)"
    asked = "measure x = P(#a == 1) at 1.999 measure y = P(#b == 1) at 2 measure z = P(time until #b == 1 <= 2) measure w = P(#a == 0) at 2"
    result = simulate(parse(f"{net} {asked}"), seed=3, replications=2000)
    assert result["x"] == pytest.approx(0.3680634268846233, abs=0.045)
    assert result["y"] == pytest.approx(math.exp(-1), abs=0.045)
    assert result["z"] == pytest.approx(result["y"], abs=0.06)
    assert result["w"] == 1 and result.measures["w"].half_width == pytest.approx(1 - 0.05 ** (1 / 2000))  # none of 2000 was otherwise


def test_what_draws_nothing_is_exact() -> None:
    net = "units none place a = 1, b, c timed d : a -> b ~ det(2) timed e : b -> c ~ det(1)"
    asked = "measure x = P(#b == 1) at 2 measure y = P(time until #c == 1 <= 2) measure z = E(time until #c == 1) measure w = P(#c == 1)"
    result = simulate(parse(f"{net} {asked}"), seed=3)
    assert [(v.value, v.half_width) for v in result.measures.values()] == [(1, 0), (0, 0), (3, 0), (1, 0)]


def test_a_chance_that_was_never_seen_is_not_taken_for_none() -> None:
    """The condition is met within 10 s but for e^-40; a firing in the first 1e-9 s was not seen, yet is possible."""
    net = "units none place a = 1, b timed t : a -> b ~ exp(rate = 4)"
    asked = "measure x = P(time until #b == 1 <= 10) measure y = throughput(t) total over 0..1e-9 measure z = E(#b) total over 0..1e-9"
    result = simulate(parse(f"{net} {asked}"), seed=3, replications=1000)
    n = 1 - 0.05 ** (1 / 1000)
    assert [v.value for v in result.measures.values()] == [1, 0, 0]
    assert result.measures["x"].half_width == pytest.approx(n)
    assert result.measures["y"].half_width == pytest.approx(-math.log(0.05) / 1000)
    assert result.measures["z"].half_width == pytest.approx(n * 1e-9)


def test_a_condition_that_may_never_be_met_has_an_infinite_mean() -> None:
    net = "units none place a = 1, b, c timed d : a -> b ~ det(2) timed e : a -> c ~ uniform(1, 4) timed on : c -> c ~ det(1)"
    result = simulate(parse(f"{net} measure x = E(time until #b == 1) measure y = P(time until #b == 1 <= 3)"), seed=3, replications=400)
    assert result["x"] == math.inf
    assert result["y"] == pytest.approx(2 / 3, abs=0.1)
    assert any("could never be met" in note for note in result.notes)


def test_auto_is_exact_with_one_general_clock_and_simulates_with_two() -> None:
    one = "units none place a = 1, b timed d : a -> b ~ uniform(1, 3)"
    two = "units none place a = 1, b, c timed d : a -> b ~ det(2) timed e : a -> c ~ uniform(3, 4)"
    for net, method in ((one, "mrp"), (two, "simulate")):
        result = solve(parse(f"{net} measure x = E(time until #b == 1)"), seed=1)
        assert result.method == method
        assert result["x"] == pytest.approx(2, rel=0.05 if method == "simulate" else 1e-9)


# --- refusals -------------------------------------------------------------------------------------------------------------------------


def refused(model: Model, method: str) -> list[tuple[str, str]]:
    with pytest.raises(AnalysisError) as e:
        simulate(model) if method == "simulate" else solve(model, method=method)
    return [(d.code, d.span.text if d.span else "") for d in e.value.diagnostics]


EXPONENTIAL = "units none place a = 1, b timed t : a -> b ~ exp(rate = 1) immediate u : b -> "
EXPONENTIAL += "place c = 3, d timed lots : c -> d ~ exp(rate = 1) timed one : d -> c ~ exp(rate = 1) servers inf "
EXPONENTIAL += "place e = 1, f, g immediate now : e -> f timed later : f -> g ~ exp(rate = 1) timed back : g -> e ~ exp(rate = 1) "


@pytest.mark.parametrize(
    ("question", "method", "code"),
    [
        ("E(time from u to t)", "auto", "E0621"),
        ("E(time from u to t)", "ctmc", "E0621"),
        ("E(time from u to t)", "simulate", "E0621"),
        ("P(time from lots to one <= 1)", "auto", "E0626"),
        ("quantile(0.5, time from lots to one)", "simulate", "E0626"),
        ("P(time from now to later <= 1)", "ctmc", "E0627"),
        ("quantile(0.5, #a | u)", "ctmc", "E0622"),
        ("throughput(t) at 1", "simulate", "E0625"),
    ],
)
def test_what_a_method_cannot_answer_points_at_the_question(question: str, method: str, code: str) -> None:
    assert (code, question) in refused(parse(f"{EXPONENTIAL} measure x = {question}"), method)


def test_what_neither_method_answers_says_why_of_both() -> None:
    net = "units none place a = 1, b place c = 1, d timed t : a -> b ~ uniform(0, 1) timed u : c -> d ~ uniform(0, 1)"
    found = refused(parse(f"{net} measure x = 1 / quantile(0.5, time until #b > 0) + E(time until #b > 0)"), "auto")
    assert [code for code, _ in found] == ["E0623", "E0610", "E0610"]


def test_sorts_do_not_mix_in_an_estimate() -> None:
    assert ("E0624", "measure x = P(#a == 1) at 1 - P(#a == 1)") in refused(
        parse(f"{EXPONENTIAL} measure x = P(#a == 1) at 1 - P(#a == 1)"), "simulate"
    )


# --- sweeps ---------------------------------------------------------------------------------------------------------------------------

SWEPT = """
param n : count = 2 in 1..9  param m : count = 1
place up = n, down = m
timed fail : up -> down ~ exp(mean = 1 h) servers inf
timed fix : down -> up ~ exp(mean = 1 h) servers inf
measure x = E(#up)
property all : always #up + #down == n + m
sweep n in 1..3, m in [0, n]
"""


def test_every_point_is_solved() -> None:
    (table,) = sweep(parse(SWEPT))
    assert table.complete and table.names == ("n", "m")
    found = [(float(r.parameters["n"]), float(r.parameters["m"]), r.result["x"]) for r in table.rows]
    assert found == [(n, m, pytest.approx((n + m) / 2)) for n in (1, 2, 3) for m in (0, n)]
    assert all(r.result.properties["all"].holds for r in table.rows)
    assert [row["parameters"] for row in table.to_dict()["rows"]][1] == {"n": 1.0, "m": 1.0}
    assert "3" in repr(table) and "holds" in repr(table)


def test_a_parameter_that_is_given_is_not_swept() -> None:
    (found,) = open_sweeps(parse(SWEPT, n=2))
    assert (found.names, [float(p[0]) for p in found.points]) == (("m",), [0, 2])
    assert list(open_sweeps(parse(SWEPT, n=2, m=2))) == []


def test_a_net_built_by_hand_cannot_be_swept() -> None:
    with pytest.raises(AnalysisError) as e:
        sweep(replace(parse(SWEPT), variant=None))
    assert e.value.diagnostics[0].code == "E0631"


def test_times_beyond_all_numbers() -> None:
    """Rates and times whose product is no number any more: the chain has long come to rest."""
    net = "place a = 1, b timed t : a -> b ~ exp(rate = 3e10/s) timed u : b -> a ~ exp(rate = 1e10/s)"
    result = solve(parse(f"{net} measure x = P(#b == 1) at 1e299 s measure y = E(#b) total over 0 s..1e299 s"), method="ctmc")
    assert result["x"] == pytest.approx(0.75, rel=1e-12) and result["y"] == pytest.approx(7.5e298, rel=1e-12)


@pytest.mark.parametrize("time", [1.0, 1e3, 1e7])
def test_a_long_time_by_doubled_steps(time: float) -> None:
    """Two states with rates 3 and 1: P(b at t) = 3/4 (1 - e^(-4t)), and its integral."""
    net = "units none place a = 1, b timed t : a -> b ~ exp(rate = 3) timed u : b -> a ~ exp(rate = 1)"
    result = solve(parse(f"{net} measure x = P(#b == 1) at {time} measure y = E(#b) total over 0..{time}"), method="ctmc")
    assert result["x"] == pytest.approx(-0.75 * math.expm1(-4 * time), rel=1e-12)
    assert result["y"] == pytest.approx(0.75 * (time + math.expm1(-4 * time) / 4), rel=1e-12)


def test_replicas_in_the_condition_of_a_first_passage() -> None:
    """Two machines that fail at rate 1: the first to fail, and both."""
    net = "place a[i in 1..2] = 1 timed t[i in 1..2] : a[i] -> ~ exp(rate = 1/s)"
    asked = "measure f = P(time until any(#a[i] == 0 for i in 1..2) <= 1 s) measure g = P(time until all(#a[i] == 0 for i in 1..2) <= 1 s)"
    result = solve(parse(f"{net} {asked}"), method="ctmc")
    assert result["f"] == pytest.approx(-math.expm1(-2)) and result["g"] == pytest.approx(math.expm1(-1) ** 2)


def test_an_error_in_a_sweep_says_at_which_point() -> None:
    net = "place a = 1, b timed t : a -> b ~ exp(rate = 1/s / abs(n - 2)) timed u : b -> a ~ exp(rate = 1/s)"
    text = f"param n : count = 1 {net} sweep n in 0..3"
    with pytest.raises(SpnError) as e:
        sweep(parse(f"{text} measure x = throughput(u)"))
    assert e.value.diagnostics[0].notes[-1] == "at n = 2 of the sweep"


def test_what_is_said_of_single_points_is_shown_under_the_table() -> None:
    text = "param n : count = 1 place a = n, b timed t : a -> b ~ exp(rate = 1/s) timed u : b -> a ~ exp(rate = 1/s) sweep n in 0..2"
    (table,) = sweep(parse(f"{text} measure so = sojourn(a)"))
    assert "at n = 0: so: undefined, a division by 0 or the like" in repr(table)
