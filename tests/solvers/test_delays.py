"""Times of tokens between two transitions: closed forms, exactly and by simulation."""

from __future__ import annotations

from math import exp, factorial, sqrt

import pytest

import spn
from spn.measure import Delay
from spn.sim import simulate
from spn.solvers.ctmc import compute

QUEUE = """units none place free = 5, q
    timed arrive : free -> q ~ exp(rate = 0.8)  timed serve : q -> free ~ {law}
    measure mean = E(time from arrive to serve)
    measure within = P(time from arrive to serve <= 3)
    measure beyond = P(time from arrive to serve > 3)
    measure high = quantile(0.9, time from arrive to serve)"""


def mm1k(t: float, load: float = 0.8, room: int = 5) -> float:
    """P(T <= t) in an M/M/1/K queue with mean service 1: an accepted token finds n with probability proportional to load^n and leaves after
    n + 1 services (Gross and Harris, Fundamentals of Queueing Theory, section 2.4)."""
    weights = [load**n for n in range(room)]
    stages = [1 - sum(exp(-t) * t**j / factorial(j) for j in range(n + 1)) for n in range(room)]
    return sum(w * s for w, s in zip(weights, stages, strict=True)) / sum(weights)


MEAN = sum((n + 1) * 0.8**n for n in range(5)) / sum(0.8**n for n in range(5))


def test_a_queue_exactly() -> None:
    found = compute(spn.parse(QUEUE.format(law="exp(rate = 1)")))
    assert found.converged
    assert found["mean"] == pytest.approx(MEAN, rel=1e-11)
    assert found["within"] == pytest.approx(mm1k(3), rel=1e-11)
    assert found["beyond"] == pytest.approx(1 - mm1k(3), rel=1e-11)
    assert mm1k(found["high"]) == pytest.approx(0.9, rel=1e-11)


def test_phases_and_immediates_on_the_way() -> None:
    """One token: an exponential stage, an immediate, and an Erlang stage of two phases; begun anew each time, whatever the rest of the
    cycle. The time is the sum: P(T <= t) by the hypoexponential law with rates 1, 4, 4."""
    text = """units none place a = 1, b, c, d
        timed go : a -> b ~ erlang(2, mean = 3)  timed one : b -> c ~ exp(rate = 1)  immediate pass : c -> d
        timed two : d -> a ~ erlang(2, rate = 4)
        measure x = P(time from go to two <= 1.5)  measure m = E(time from go to two)"""
    t = 1.5
    right = 1 - (16 / 9) * exp(-t) + exp(-4 * t) * (7 / 9 + 4 * t / 3)
    found = compute(spn.parse(text))
    assert found["x"] == pytest.approx(right, rel=1e-11)
    assert found["m"] == pytest.approx(1.5, rel=1e-11)


def test_a_cyclic_network() -> None:
    """Two tokens, two single servers with rates 1 and 2, each token in turn: what an arrival at the second finds is distributed as in the
    network with one token less (Sevcik and Mitrani, JACM 28, 1981): there alone with probability 1/3, else empty. So the time is
    exponential of rate 2 with probability 2/3, Erlang of two phases with 1/3."""
    text = """units none place a = 2, b timed first : a -> b ~ exp(rate = 1) timed second : b -> a ~ exp(rate = 2)
        measure x = P(time from first to second <= 1)"""
    right = 2 / 3 * (1 - exp(-2)) + 1 / 3 * (1 - exp(-2) * 3)
    assert compute(spn.parse(text))["x"] == pytest.approx(right, rel=1e-11)


def test_a_queue_by_simulation() -> None:
    """Each of the four within 99.99 % intervals: a false alarm has a probability below 4e-4."""
    result = simulate(spn.parse(QUEUE.format(law="exp(rate = 1)")), seed=2, precision=0.1, confidence=0.9999)
    rights = {"mean": MEAN, "within": mm1k(3), "beyond": 1 - mm1k(3), "high": 5.475337155}
    for name, right in rights.items():
        v = result.measures[name]
        assert v.half_width is not None and v.half_width > 0
        assert abs(v.value - right) <= v.half_width, name


def test_general_laws_by_simulation() -> None:
    """A token alone between two uniform stages: the sum is triangular, P(T <= 0.5) = 1/8, and its 0.9 quantile 2 - sqrt(0.2)."""
    text = """units none place a = 1, b, c
        timed go : a -> b ~ exp(rate = 1)  timed one : b -> c ~ uniform(0, 1)  timed two : c -> a ~ uniform(0, 1)
        measure x = P(time from go to two <= 0.5)  measure z = quantile(0.9, time from go to two)"""
    result = simulate(spn.parse(text), seed=4, precision=0.1, confidence=0.9999)
    for name, right in (("x", 0.125), ("z", 2 - sqrt(0.2))):
        v = result.measures[name]
        assert v.half_width is not None and abs(v.value - right) <= v.half_width


def test_a_constant_time_is_known() -> None:
    text = """units none place a = 1, b timed go : a -> b ~ exp(rate = 1) timed back : b -> a ~ det(2)
        measure z = quantile(0.5, time from go to back)"""
    v = simulate(spn.parse(text), seed=1, precision=0.1).measures["z"]
    assert v.value == pytest.approx(2, rel=1e-12)
    assert v.half_width == pytest.approx(0, abs=1e-9)


def test_engines_agree() -> None:
    model = spn.parse(QUEUE.format(law="uniform(0, 2)"))
    options = {"seed": 6, "precision": 0.3}
    slow, fast = (simulate(model, engine=engine, **options).measures for engine in ("python", "compiled"))  # type: ignore[arg-type]
    assert slow == fast


def test_where_runs_come_to_rest_there_are_no_times() -> None:
    text = """units none place a = 5, b, c timed t : a -> b ~ exp(rate = 1) timed u : b -> c ~ exp(rate = 1)
        measure x = P(time from t to u <= 1)"""
    with pytest.raises(spn.AnalysisError, match="E0628"):
        simulate(spn.parse(text))


def test_the_text_of_a_share() -> None:
    (measure,) = spn.parse(QUEUE.format(law="exp(rate = 1)").split("measure")[0] + "measure x = P(time from arrive to serve <= 3)").measures
    assert measure.body == Delay("arrive", "serve", None, 3)


@pytest.mark.parametrize(
    ("law", "arrival", "method", "code"), [("det(1)", "exp(rate = 0.8)", "mrp", "E0662"), ("det(1)", "det(2)", "schedule", "E0672")]
)
def test_methods_that_tell_the_mean_alone(law: str, arrival: str, method: str, code: str) -> None:
    """Shares and quantiles are refused with their lines, and simulated by auto."""
    model = spn.parse(QUEUE.format(law=law).replace("exp(rate = 0.8)", arrival))
    with pytest.raises(spn.AnalysisError) as refused:
        spn.solve(model, method=method)
    assert {d.code for d in refused.value.diagnostics} == {code}
    assert spn.solve(model, seed=1, precision=0.3).method == "simulate"
