"""Derivatives by simulation against closed forms and the exact ones, at fixed seeds.

Estimates are compared at 4.5 times the standard error (half-width / 1.96): false alarm about 1e-5 each, where the interval is right."""

from __future__ import annotations

import math

import pytest

import spn
from spn.errors import AnalysisError
from spn.expr.evaluate import evaluate
from spn.net import semantics
from spn.net.model import Timed
from spn.sim.derivatives.perturbation import obstacles
from spn.sim.derivatives.run import Slope, slopes
from spn.sim.derivatives.scores import enabled, running

QUEUE = """
units none
param lam : number = 0.5
param mu : number = 1
place q
timed arrive : -> q ~ exp(rate = lam)
timed serve : q -> ~ {law}
measure n = E(#q)
measure idle = P(#q == 0)
measure x = mu * throughput(serve)
"""
EVERYTHING = """
units none
param a : number = 0.7
param b : number = 1.3
param w : number = 2
place p = 3
place q capacity 2
place r, s
timed go : p -> q ~ exp(rate = a) servers 2
timed on : q -> r ~ exp(rate = b * #q)
timed back : s -> p ~ exp(mean = 1 / a) servers inf
timed slow : 2*r, !3*s -> p, s ~ exp(rate = 0.5 + a * b / (1 + #p)) when #q < 2
immediate left : r -> s weight w when #r == 1
immediate right : r -> p weight 1 + #p when #r == 1
measure x = throughput(back)
measure y = E(#r) + a * P(#q == 0)
measure z = throughput(left) / throughput(go)
"""


def near(s: Slope, exact: float) -> bool:
    return abs(s.derivative - exact) <= 4.5 / 1.96 * s.half_width + 1e-12


@pytest.mark.parametrize(("estimator", "seed"), [("likelihood", 1), ("perturbation", 2)])
def test_a_queue_in_closed_form(estimator: str, seed: int) -> None:
    """M/M/1: E N = lam / (mu - lam), P(idle) = 1 - lam / mu; the last measure is mu * lam."""
    found = slopes(spn.parse(QUEUE.format(law="exp(rate = mu)")), estimator=estimator, seed=seed, precision=0.25)  # type: ignore[arg-type]
    exact = {"n": (4.0, -2.0), "idle": (-1.0, 0.5), "x": (1.0, 0.5)}
    assert found.converged
    for measure, (by_lam, by_mu) in exact.items():
        assert near(found[measure, "lam"], by_lam) and near(found[measure, "mu"], by_mu)
    assert near(found["n", "serve"], -2.0) and found["n", "serve"].half_width < 0.7
    assert found["n", "lam"].elasticity == pytest.approx(found["n", "lam"].derivative * 0.5 / found.values["n"])


def test_likelihood_ratios_against_the_exact_derivatives() -> None:
    """Several servers, rates that depend on markings and parameters, guards, inhibitors, capacities and weights of immediates."""
    model = spn.parse(EVERYTHING)
    exact, found = spn.sensitivity(model), spn.sensitivity(model, method="simulate", seed=3, precision=0.15)
    assert found.converged and "likelihood" in found.method
    for s in found.rows:
        assert near(s, exact[s.measure, s.parameter].derivative), (s, exact[s.measure, s.parameter])


def test_perturbation_analysis_of_a_queue_with_constant_service() -> None:
    """M/D/1: E N = rho + rho^2 / (2 (1 - rho)) with rho = lam d; d = 1 / mu = 1."""
    model = spn.parse(QUEUE.format(law="det(1 / mu)"))
    found = spn.sensitivity(model, method="simulate", seed=4, precision=0.4)
    rho = 0.5
    by_rho = 1 + rho * (2 - rho) / (2 * (1 - rho) ** 2)
    assert "perturbation" in found.method
    assert near(found["n", "lam"], by_rho) and near(found["n", "mu"], -rho * by_rho) and near(found["idle", "lam"], -1.0)


def test_perturbation_analysis_of_a_cycle_with_general_laws() -> None:
    """Two stations of Erlang laws, exactly by phases; the capacities' markings are looked through for the commuting condition."""
    text = """
units none
param m : number = 0.8
param v : number = 1
place a = 3
place b capacity 2
timed first : a -> b ~ erlang(3, mean = m)
timed second : b -> a ~ erlang(2, mean = v)
measure x = throughput(first)
measure n = E(#b)
"""
    model = spn.parse(text)
    exact, found = spn.sensitivity(model), spn.sensitivity(model, method="simulate", seed=5, precision=0.1)
    assert "perturbation" in found.method
    for s in found.rows:
        assert near(s, exact[s.measure, s.parameter].derivative)


def test_the_expressions_of_enabling_are_those_of_the_semantics() -> None:
    net = spn.parse(EVERYTHING).net
    r = semantics.rules(net)
    names = [p.name for p in net.places]
    seen = 0
    for p in range(4):
        for q in range(3):
            for one in range(4):
                for s in range(4):
                    m = (p, q, one, s)
                    marking = dict(zip(names, m, strict=True))
                    for i, t in enumerate(net.transitions):
                        degree = semantics.enabling_degree(r, i, m)
                        assert (evaluate(enabled(t, net), marking) != 0) == (degree > 0)
                        if isinstance(t, Timed):
                            assert evaluate(running(t, net), marking) == semantics.running_clocks(r, i, m)
                            seen += degree > 0
    assert seen > 100


RACE = """
units none
param hh : number = 1
place a = 1
place b
timed slow : a -> b ~ {slow}
timed fast : a -> b ~ exp(rate = 1)
timed back : b -> a ~ exp(rate = 1)
measure x = throughput(back)
"""
CHANCE = """
units none
param hh : number = 1
place a = 1
place c
timed t : a -> c ~ det(hh)
immediate left : c -> a when #c > 0
immediate right : c -> a when #c > 0
measure x = throughput(left)
"""

PAIR = """
units none
param hh : number = 1
place a = 2
place b
timed t : a -> b ~ {t}
timed s : b -> a ~ {s}
measure x = P(#a == 0)
"""


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (RACE.format(slow="det(hh)"), 6, "stops"),
        (RACE.format(slow="uniform(0, hh)"), 6, "stops"),
        (CHANCE, 5, "chance"),
        (PAIR.format(t="det(hh)", s="det(1)"), 6, "coincide"),
        (PAIR.format(t="det(hh) speed #a", s="exp(rate = 1)"), 6, "depends on the marking"),
        ("units none\nplace a = 2\nplace b\ntimed t : a -> b ~ exp(rate = 1)\nmeasure x = P(#a == 0)", 0, "rest"),
    ],
)  # fmt: skip
def test_where_no_estimator_is_valid_it_says_why_and_where(text: str, line: int, words: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        slopes(spn.parse(text))
    found = refused.value.diagnostics
    assert {d.code for d in found} == {"E0733"} and any(words in d.message for d in found)
    assert line == 0 or any(d.span is not None for d in found)


def test_what_is_no_scale_and_what_is_no_number_have_no_derivative_and_say_so() -> None:
    text = """
units none
param k : count = 3
param cv : number = 0.5
param z : number = 0
place a = k
place b
timed t : a -> b ~ gamma(mean = 1 + z, cv = cv)
timed s : b -> a ~ gamma(mean = 1, cv = 0.4)
measure x = throughput(t)
"""
    found = slopes(spn.parse(text), seed=6, precision=0.5)
    notes = {s.parameter: s.note for s in found.rows}
    assert "whole number" in notes["k"] and "shape" in notes["cv"] and "value is 0" in notes["z"]
    assert math.isnan(found["x", "cv"].derivative) and not math.isnan(found["x", "t"].derivative)


def test_the_speeds_of_a_closed_net_add_up() -> None:
    """Twice as fast all over is twice the throughput: its elasticities by the speeds sum to 1, whatever is drawn."""
    text = (
        "units none\nplace a = 2\nplace b\ntimed t : a -> b ~ lognormal(mean = 1, cv = 1)\ntimed s : b -> a ~ weibull(shape = 2, scale = 1)"
    )
    model = spn.parse(text + "\nmeasure x = throughput(t)")
    assert list(obstacles(model.net)) == []
    found = slopes(model, seed=7, precision=0.9)
    assert sum(s.elasticity for s in found.rows) == pytest.approx(1.0, abs=1e-6)
