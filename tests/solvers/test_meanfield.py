"""Mean field against closed forms, and against exact solutions whose distance must shrink as the theory says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from spn.errors import AnalysisError
from spn.expr.nodes import Function, call, conditional, tokens
from spn.loading import load, parse
from spn.markov.jets import NotSmooth, Point
from spn.solvers import solve

ENGSET = """units none
param n : count = 100
place idle = n, busy
timed call : idle -> busy ~ exp(rate = 1) servers inf
timed hang : busy -> idle ~ exp(rate = 3) servers inf
measure mean   = E(#busy)
measure square = E(#busy^2)
measure calls  = throughput(call)
measure early  = E(#busy) at 0.2
measure soon   = throughput(hang) at 0.2
"""

INFECTION = """units none
param n : count = 100
place well = n, ill
timed fall    : well -> ill  ~ exp(rate = 0.2 + 2*#ill/n) servers inf
timed recover : ill  -> well ~ exp(rate = 1) servers inf
measure ill  = E(#ill)
measure rate = throughput(fall)
measure both = E(#well * #ill)/n
"""

REPAIRMAN = """units none
param machines  : count = 1000
param repairers : count = 100
place up = machines, down
timed fail : up   -> down ~ exp(rate = 0.3) servers inf
timed mend : down -> up   ~ exp(rate = 1)   servers repairers
measure working = E(#up)
measure rate    = throughput(mend)
measure used    = utilisation(mend)
"""


def fluid(text: str, compare: int = 0, **params):
    return solve(parse(text, params=params), method="meanfield", compare=compare)


def codes(text: str) -> list[str]:
    with pytest.raises(AnalysisError) as found:
        fluid(text)
    return [d.code for d in found.value.diagnostics]


# --- right values -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 100, 10**6])
def test_independent_sources_are_binomial(n: int):
    """All rates linear: mean, second moment and transient mean are exact, for every n."""
    r, p = fluid(ENGSET, n=n), 0.25
    assert r["mean"] == pytest.approx(n * p, rel=1e-10)
    assert r["square"] == pytest.approx(n * p * (1 - p) + (n * p) ** 2, rel=1e-10)
    assert r["calls"] == pytest.approx(0.75 * n, rel=1e-10)
    assert r["early"] == pytest.approx(n * p * (1 - math.exp(-0.8)), rel=1e-7)
    assert r["soon"] == pytest.approx(3 * n * p * (1 - math.exp(-0.8)), rel=1e-7)


def test_errors_shrink_as_they_must():
    """Per head, the fluid limit is off by c/N and the refined value by c/N^2 (Gast and Van Houdt 2017)."""
    plain, refined = [], []
    for n in (25, 50, 100, 200):
        exact = solve(parse(INFECTION, params={"n": n}), method="ctmc")
        r = fluid(INFECTION, n=n)
        limit = _infected(n)
        plain.append(abs(limit - exact["ill"]) / n)
        refined.append(abs(r["ill"] - exact["ill"]) / n)
    assert all(1.8 < a / b < 2.4 for a, b in itertools.pairwise(plain))
    assert all(3.4 < a / b < 6.0 for a, b in itertools.pairwise(refined))
    assert refined[-1] < 0.02 * plain[-1]


def _infected(n: int) -> float:
    """The root of (0.2 + 2 x)(1 - x) = x in heads."""
    return n * (0.8 + math.sqrt(0.64 + 1.6)) / 4


def test_products_and_rates_are_refined_too():
    n = 200
    exact = solve(parse(INFECTION, params={"n": n}), method="ctmc")
    r = fluid(INFECTION, compare=1000, n=n)
    for name in ("ill", "rate", "both"):
        assert r[name] == pytest.approx(exact[name], rel=1e-4)
        assert f"exact {exact[name]:.6g}"[:10] in r.measures[name].note and "fluid limit" in r.measures[name].note
    assert r["ill"] < _infected(n)


def test_a_million_heads():
    n = 10**6
    r = fluid(INFECTION, n=n)
    shift = fluid(INFECTION, n=1000)["ill"] - _infected(1000)
    assert r["ill"] - _infected(n) == pytest.approx(shift, rel=1e-4)  # the correction in heads does not depend on n
    assert r.residual < 1e-12 and r.converged


def test_repairers_far_from_the_switch():
    """All repairers are busy but for an exponentially small part of the time."""
    r = fluid(REPAIRMAN, compare=2000)
    assert r["rate"] == pytest.approx(100, rel=1e-9) and r["used"] == pytest.approx(1, rel=1e-9)
    assert r["working"] == pytest.approx(100 / 0.3, rel=1e-9)
    assert not any("standard deviations" in note for note in r.notes)
    exact = solve(parse(REPAIRMAN), method="ctmc")
    assert exact["working"] == pytest.approx(r["working"], rel=1e-6)


def test_near_and_on_the_switch():
    near = fluid(REPAIRMAN, repairers=260)  # 1000 * 0.3 / 1.3 = 230.8 down
    assert any("the correction is not to be relied on" in note for note in near.notes)
    on = fluid(REPAIRMAN, machines=1300, repairers=300)
    assert any("no correction is given" in note for note in on.notes)
    assert on["working"] == pytest.approx(1000, rel=1e-6)


WORKERS = """units none
param n : count = 24
link net(capacity = n/4)
component worker(net : link, law : dist) {
  place idle = 1
  place busy, sent
  timed go   : idle -> busy ~ exp(rate = 1)
  timed work : busy -> sent ~ law
  timed send : sent -> idle ~ exp(rate = 0.5) over net
}
dist job = LAW
use worker w[i in 1..n](net, job)
measure sending = E(sum(#w[i].sent for i in 1..n))
measure steps   = sum(throughput(w[i].send) for i in 1..n)
measure load    = utilisation(net)
measure first   = E(#w[1].idle + sum(#w[i].idle for i in 2..n))
"""


@pytest.mark.parametrize("law", ["exp(rate = 2)", "erlang(2, rate = 4)"])
def test_replicas_that_share_a_link(law: str):
    """Counts of replicas, phases and all; the link is full all the time but for a vanishing part."""
    text = WORKERS.replace("LAW", law)
    r = fluid(text)
    exact = solve(parse(text), method="ctmc")
    assert r["steps"] == pytest.approx(exact["steps"], rel=1e-5)
    assert r["sending"] == pytest.approx(exact["sending"], rel=1e-4)
    assert r["load"] == pytest.approx(1, rel=1e-9)
    assert r["first"] == pytest.approx(exact["first"], rel=1e-4)
    assert any("interchangeable replicas" in note for note in r.notes)


# --- where it goes ----------------------------------------------------------------------------------------------------------------

BISTABLE = """units none
param n : count = 200
place a = n - 20, b = 20
timed up   : a -> b ~ exp(rate = 0.1 + 4*(#b/n)^2) servers inf
timed down : b -> a ~ exp(rate = 0.1 + 4*(#a/n)^2) servers inf
measure b = E(#b)/n
"""


def test_several_fixed_points_are_said():
    r = fluid(BISTABLE.replace("measure b", "measure part"), compare=1000)
    root = (1 - math.sqrt(1 - 4 * 0.1 / 4)) / 2  # x (1 - x) = 0.1/4 off the middle
    assert r["part"] == pytest.approx(root, rel=0.03)
    assert any("several fixed points" in note for note in r.notes)
    assert "exact 0.5" in r.measures["part"].note


BRUSSELATOR = """units none
param n : count = 1000
param k : number = 3
place x = n, y = n
timed feed  : -> x   ~ exp(rate = n)
timed decay : x ->   ~ exp(rate = 1) servers inf
timed turn  : x -> y ~ exp(rate = k) servers inf
timed auto  : y -> x ~ exp(rate = (#x/n)^2) servers inf
measure mx   = E(#x)/n
measure fed  = throughput(feed)/n
measure back = throughput(auto)/n
"""


def test_a_limit_cycle():
    """The mean of x along the cycle is 1, since the sum of x and y comes back to where it was; what turns comes back."""
    r = fluid(BRUSSELATOR)
    assert r.converged and any("limit cycle" in note for note in r.notes)
    assert r["mx"] == pytest.approx(1, rel=1e-3) and r["back"] == pytest.approx(3, rel=1e-3)
    assert r.residual is None


def test_the_same_at_rest():
    r = fluid(BRUSSELATOR, k=1.5)
    assert r["mx"] == pytest.approx(1, rel=1e-9) and r["back"] == pytest.approx(1.5, rel=1e-6)
    assert not any("limit cycle" in note for note in r.notes)


# --- refusals ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "timed t : a -> b ~ exp(rate = 1) when #b < 5",
        "timed t : a, !3*b -> b ~ exp(rate = 1)",
        "timed t : a, ?b -> b ~ exp(rate = 1)",
        "timed t : (1 + #b)*a -> b ~ exp(rate = 1)",
        "immediate t : 90*a -> b",
        "timed t : a -> c ~ exp(rate = 1)",
        "timed t : a -> b ~ erlang(3, rate = 1)",
    ],
)
def test_no_fluid_limit(statement: str):
    net = "units none place a = 100, b place c capacity 3 timed back : b -> a ~ exp(rate = 1) servers inf"
    assert codes(f"{net} {statement} measure x = E(#a)") == ["E0650"]


def test_replicas_that_take_what_all_share():
    text = "units none place pool = 5 place a[i in 1..9] = 1, b[i in 1..9]"
    text += " timed take[i in 1..9] : pool, a[i] -> b[i] ~ exp(rate = 1) timed give[i in 1..9] : b[i] -> pool, a[i] ~ exp(rate = 1)"
    assert codes(f"{text} measure x = E(#pool)") == ["E0650"]


def test_a_law_that_is_no_phase_type_is_said_once():
    with pytest.raises(AnalysisError) as found:
        solve(load("models/sgd/async_ps_workers.spn"), method="meanfield")
    spans = [(d.code, d.span) for d in found.value.diagnostics]
    assert len(spans) == len(set(spans)) and spans[0][0] == "E0610"


def test_probabilities_have_none():
    assert codes(ENGSET.split("measure", maxsplit=1)[0] + "measure p = P(#busy > 3)") == ["E0651"]
    r = fluid(ENGSET + "measure p = P(#busy > 3)\nmeasure q = E(time until #busy > 3)")
    assert math.isnan(r["p"]) and "no fluid limit" in r.measures["p"].note and math.isnan(r["q"])


def test_a_blow_up():
    text = "units none place x = 10 timed grow : x -> 2*x ~ exp(rate = #x) servers inf measure m = E(#x)"
    assert codes(text) == ["E0652"]


def test_options():
    with pytest.raises(AnalysisError, match="compare is -1"):
        fluid(ENGSET, compare=-1)
    with pytest.raises(AnalysisError, match="tolerance is no option of method meanfield, but of ctmc"):
        solve(parse(ENGSET), method="meanfield", tolerance=1e-3)


# --- derivatives ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "node",
    [
        tokens("a") * tokens("b") / (1 + tokens("a")),
        (tokens("a") + 2) ** 3 - tokens("b") ** tokens("a"),
        call(Function.SQRT, tokens("a") * 3) + call(Function.LN, tokens("b")) * call(Function.EXP, -tokens("a")),
        call(Function.MIN, tokens("a"), 2 * tokens("b"), 7) * call(Function.MAX, tokens("a"), tokens("b")),
        conditional(tokens("a") > 1, tokens("b") ** 2, tokens("a")),
        call(Function.ABS, tokens("a") - tokens("b")) ** 2,
    ],
)
def test_derivatives_by_differences(node):
    x, h, index = np.array([1.7, 2.9]), 1e-4, {"a": 0, "b": 1}

    def f(*shift: float) -> float:
        return Point(index, x + np.array(shift), True).jet(node).value

    jet = Point(index, x).jet(node)
    assert jet.value == pytest.approx(f(0, 0))
    assert jet.slope == pytest.approx([(f(h, 0) - f(-h, 0)) / (2 * h), (f(0, h) - f(0, -h)) / (2 * h)], rel=1e-6, abs=1e-6)
    bend = [
        [(f(h, 0) - 2 * f(0, 0) + f(-h, 0)) / h**2, (f(h, h) - f(h, -h) - f(-h, h) + f(-h, -h)) / (4 * h**2)],
        [(f(h, h) - f(h, -h) - f(-h, h) + f(-h, -h)) / (4 * h**2), (f(0, h) - 2 * f(0, 0) + f(0, -h)) / h**2],
    ]
    assert jet.bend == pytest.approx(np.array(bend), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "node", [tokens("a") // 2, tokens("a") % 2, tokens("a") > 1, call(Function.FLOOR, tokens("a")), 1 / (tokens("a") - 1)]
)
def test_no_derivatives(node):
    with pytest.raises(NotSmooth):
        Point({"a": 0}, np.array([1.0])).jet(node)
