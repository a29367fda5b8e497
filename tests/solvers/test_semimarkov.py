"""Semi-Markov processes: races by closed forms, values at times against chains, by hand, and against the simulator."""

from __future__ import annotations

import math

import pytest

from spn.errors import AnalysisError
from spn.loading import parse
from spn.sim import simulate
from spn.solvers import semimarkov, solve

RACE = """units none
place s = 1, x, y
timed a : s -> x ~ {}
timed b : s -> y ~ {}
timed back : x -> s ~ {}
timed again : y -> s ~ exp(rate = 1)
measure first = throughput(a)
measure second = throughput(b)
measure here = E(#s)
"""
CYCLE = """units none
place a = 1, b
timed f : a -> b ~ {}
timed g : b -> a ~ {}
measure early = P(#a == 1) at 0.5
measure late  = P(#a == 1) at 3
measure spent = E(#a) over 0 .. 3
"""


def values(result) -> dict[str, float]:
    return {n: v.value for n, v in result.measures.items()}


def test_two_uniform_clocks() -> None:
    """U(0, 2) against U(1, 4): the second is first with probability 1/12; E[min] = 35/36 by hand."""
    result = solve(parse(RACE.format("uniform(0, 2)", "uniform(1, 4)", "exp(rate = 1)")))
    mean = 35 / 36
    assert result.method == "semi-markov"
    assert values(result) == pytest.approx(
        {"first": 11 / 12 / (1 + mean), "second": 1 / 12 / (1 + mean), "here": mean / (1 + mean)}, rel=1e-12
    )


def test_two_weibull_clocks_and_constants_between() -> None:
    """Of one shape k the chance is that of rates scale^-k, and the least has the sum of them."""
    k, slow, fast = 1.7, 2.0, 1.0
    rates = slow**-k, fast**-k
    mean = sum(rates) ** (-1 / k) * math.gamma(1 + 1 / k)
    result = solve(parse(RACE.format(f"weibull(shape = {k}, scale = {slow})", f"weibull(shape = {k}, scale = {fast})", "det(0.5)")))
    chance = rates[0] / sum(rates)
    cycle = mean + 0.5 * chance + (1 - chance)
    assert values(result) == pytest.approx({"first": chance / cycle, "second": (1 - chance) / cycle, "here": mean / cycle}, rel=1e-10)


def test_a_constant_against_a_uniform_clock() -> None:
    result = solve(parse(RACE.format("det(0.5)", "uniform(0, 2)", "det(1)")), method="semi-markov")
    mean = 0.5 - 0.5**2 / 4
    assert values(result) == pytest.approx({"first": 0.75 / (1 + mean), "second": 0.25 / (1 + mean), "here": mean / (1 + mean)}, rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second"), [("exp(rate = 1)", "exp(rate = 2)"), ("erlang(2, mean = 1)", "erlang(3, mean = 2)")], ids=["exp", "erlang"]
)
def test_values_at_times_as_by_the_chain_of_phases(first: str, second: str) -> None:
    model = parse(CYCLE.format(first, second))
    ours, chain = solve(model, method="semi-markov"), solve(model, method="ctmc")
    for name, v in ours.measures.items():
        assert v.half_width is not None and v.half_width < 1e-8
        assert abs(v.value - chain[name]) <= v.half_width + 1e-12


def test_values_at_times_by_hand() -> None:
    """a for U(0, 1), b for 1: at 1.5 those are in a that came after 1 and have not left: the integral of 1 - x over (0, 1/2)."""
    text = CYCLE.format("uniform(0, 1)", "det(1)").replace("at 3", "at 1.5").replace("0 .. 3", "0 .. 1.5")
    result = solve(parse(text))
    assert result.method == "semi-markov"
    spent = 0.5 + 0.125 - 1 / 48
    assert values(result) == pytest.approx({"early": 0.5, "late": 0.375, "spent": spent / 1.5}, abs=1e-12)


def test_a_first_passage_within_a_time() -> None:
    """Two uniform times in a row: P(U + V <= 1/2) = 1/8."""
    text = "units none\nplace a = 2, b\ntimed f : a -> b ~ uniform(0, 1)\nmeasure m = P(time until #b == 2 <= 0.5)\n"
    assert solve(parse(text))["m"] == pytest.approx(1 / 8, abs=1e-9)


def test_the_simulator_agrees_on_laws_without_a_closed_form() -> None:
    """At 99.99 %: a false alarm 1 in 3,000 at most."""
    model = parse(CYCLE.format("lognormal(mean = 1, cv = 0.5)", "weibull(shape = 0.7, scale = 1)"))
    exact, drawn = solve(model), simulate(model, seed=5, precision=0.05, confidence=0.9999)
    assert exact.method == "semi-markov"
    for name, v in drawn.measures.items():
        assert abs(v.value - exact[name]) <= v.half_width + exact.measures[name].half_width


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("place a = 1, b = 1\ntimed s : a -> a ~ uniform(0, 1)\ntimed t : b -> b ~ uniform(0, 2)\n", "goes on when"),
        ("place a = 2\ntimed s : a -> a ~ uniform(0, 1) servers 2\n", "several clocks of s"),
        ("place a = 1, b, c\ntimed s : a -> b ~ det(1)\ntimed t : a -> c ~ empirical([1, 2])\n", "expire together"),
        ("place a = 1\ntimed s : a -> a ~ uniform(0, 1) memory resume\n", "has memory resume"),
    ],
    ids=["outlives", "several", "together", "resume"],
)
def test_other_nets_are_refused(text: str, said: str) -> None:
    with pytest.raises(AnalysisError, match=said) as error:
        semimarkov.compute(parse(f"units none\n{text}measure m = throughput(s)\n"))
    assert error.value.diagnostics[0].code == "E0683"
