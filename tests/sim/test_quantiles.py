"""Quantiles by simulation: against closed forms and the exact method, coverage of the intervals, and what cannot be told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import AnalysisError
from spn.expr.nodes import Number, Tokens, conditional
from spn.loading import parse
from spn.result import Result
from spn.sim import simulate
from spn.sim.estimate import Interval
from spn.sim.quantiles import Support, crossing, integral, of_times, ranks
from spn.solvers import solve

QUEUE = """
units none
place q
timed arrive : -> q ~ exp(rate = 0.5)
timed serve : q -> ~ exp(rate = 1) servers 1
"""
POOL = """
units none
place up = 3, down
timed fail : up -> down ~ exp(rate = 1) servers inf
timed fix : down -> up ~ exp(rate = 1) servers 1
"""


def covers(result: Result, name: str, value: float) -> bool:
    """Within twice the half-width: false alarms below 1e-4 a value."""
    v = result.measures[name]
    assert v.half_width is not None
    return abs(v.value - value) <= 2 * v.half_width


# --- order statistics -----------------------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 400), level=st.floats(0.01, 0.99), confidence=st.floats(0.5, 0.999))
@settings(max_examples=60, deadline=None)
def test_ranks_have_the_binomial_coverage(n: int, level: float, confidence: float) -> None:
    """Each side misses with at most half of what the confidence leaves, and one rank closer would miss with more."""
    middle, low, high = ranks(n, level, confidence)
    chances = [math.comb(n, k) * level**k * (1 - level) ** (n - k) for k in range(n + 1)]
    rest = (1 - confidence) / 2
    assert 0 <= low <= middle <= high <= n + 1
    assert math.fsum(chances[:low]) <= rest + 1e-9
    assert math.fsum(chances[high:]) <= rest + 1e-9
    assert math.fsum(chances[: low + 1]) > rest - 1e-9 and math.fsum(chances[high - 1 :]) > rest - 1e-9


def test_known_ranks() -> None:
    """Of 100 independent values the 40th and the 61st enclose the median with 96.5 % (tables of order statistics)."""
    assert ranks(100, 0.5, 0.95) == (50, 40, 61)


def test_times_that_may_be_infinite() -> None:
    times = np.array([1.0] * 60 + [math.inf] * 40)
    assert of_times(times, 0.2, 0.95, float).half_width == 0
    middle = of_times(times, 0.55, 0.95, float)
    assert (middle.value, middle.low, middle.high, middle.half_width) == (1, 1, math.inf, math.inf)
    beyond = of_times(times, 0.9, 0.95, float)
    assert (beyond.value, beyond.half_width) == (math.inf, 0)
    few = of_times(np.array([1.0, 2.0]), 0.99, 0.95, float)
    assert (few.value, few.low, few.high) == (2, 2, math.inf)  # both below the quantile but for 2 %


def test_coverage_of_times() -> None:
    """95 % intervals for the 0.9 quantile of 200 exponential times: of 400 at least 365 cover (false alarm 1e-3 at exactly 95 %)."""
    rng = np.random.default_rng(5)
    right = -math.log(0.1)
    hits = 0
    for _ in range(400):
        i = of_times(rng.exponential(size=200), 0.9, 0.95, float)
        hits += i.low <= right <= i.high
    assert hits >= 365


# --- inversion ------------------------------------------------------------------------------------------------------------------------


def share(value: float, half_width: float) -> Interval:
    return Interval(value=value, half_width=half_width, confidence=0.95, samples=64)


def test_a_band_is_inverted() -> None:
    at = crossing((0, 1, 2, 3), [share(0.2, 0.01), share(0.48, 0.05), share(0.6, 0.05), share(1, 0)], 0.5)
    assert (at.at, at.before, at.below, at.reached) == (2, 1, 0, 2)
    assert crossing((0, 1), [share(0.2, 0.01), share(0.3, 0.01)], 0.5).at == math.inf


def test_possible_values() -> None:
    known = Support((0.0, 0.5, 2.0), whole=False, complete=True)
    assert known.inside(0, 2) == [0.5] and known.after(0.5) == 2 and known.after(2) == 2 and known.after(-math.inf) == 0
    whole = Support((3.0, 9.0), whole=True, complete=False)
    assert whole.inside(3, 6) == [4, 5] and whole.after(3) == 4
    beyond = whole.inside(8, math.inf)
    assert beyond[0] == 9 and beyond[-1] > 16 and all(x.is_integer() for x in beyond)


def test_whole_expressions() -> None:
    q = Tokens("q")
    assert integral(q * 2 + 1) and integral(conditional(q > 1, q, Number(4))) and integral(q > Number(0.5))
    assert not integral(q / 2) and not integral(q * Number(0.5)) and not integral(conditional(q > 1, q, Number(0.5)))


# --- models ---------------------------------------------------------------------------------------------------------------------------


def test_first_passage() -> None:
    """Two exponential steps of rates 1 and 2: F(t) = (1 - e^-t)^2; and the third failure of Poisson ones, against the exact method."""
    net = """
    units none place a = 1, b, c
    timed s : a -> b ~ exp(rate = 1) timed t : b -> c ~ exp(rate = 2)
    measure x = quantile(0.5, time until #c == 1)  measure y = quantile(0.9, time until #c == 1)
    measure mean = E(time until #c == 1)  measure rate = 1 / quantile(0.5, time until #c == 1)
    """
    found = simulate(parse(net), seed=2, replications=4000)
    right = {p: -math.log(1 - math.sqrt(p)) for p in (0.5, 0.9)}
    assert found["x"] == pytest.approx(right[0.5], rel=0.05) and covers(found, "x", right[0.5])
    assert found["y"] == pytest.approx(right[0.9], rel=0.05) and covers(found, "y", right[0.9])
    assert covers(found, "mean", 1.5) and found["rate"] == 1 / found["x"]
    assert 0 < (found.measures["x"].half_width or 0) < 0.06
    assert found.measures["x"].note.startswith("from ")


def test_a_condition_that_may_never_be_met() -> None:
    """Met with probability 0.6, at 1 s: quantiles below that are 1, those above infinite."""
    net = """
    units none place start = 1, a, b, c
    immediate left : start -> a weight 6  immediate right : start -> c weight 4
    timed t : a -> b ~ det(1)
    measure low = quantile(0.5, time until #b == 1)  measure high = quantile(0.7, time until #b == 1)
    """
    found = simulate(parse(net), seed=3, replications=600)
    assert (found["low"], found.measures["low"].half_width) == (1, 0)
    assert (found["high"], found.measures["high"].half_width) == (math.inf, 0)
    assert any("could never be met" in n for n in found.notes)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_queue(engine: str) -> None:
    """M/M/1 at load 1/2: P(q <= k) = 1 - 2^-(k + 1), at any time and as arrivals see it; a server's last customer too, shifted by one."""
    asked = "measure x = quantile(0.9, #q) measure y = quantile(0.9, #q | arrive) measure z = quantile(0.9, #q | serve)"
    found = simulate(parse(QUEUE + asked), seed=4, precision=0.01, engine=engine, max_firings=4e5, max_seconds=600)  # type: ignore[arg-type]
    assert [v.value for v in found.measures.values()] == [3, 3, 4]
    assert all(v.half_width == 0 for v in found.measures.values())
    assert found.converged


def test_values_far_apart_and_many() -> None:
    """1,001 markings, a thousand values, of which few are looked at; a random walk with two barriers is uniform in the long run."""
    net = """
    units none place q place f = 40
    timed up : f -> q ~ exp(rate = 1) servers 1  timed down : q -> f ~ exp(rate = 1) servers 1
    measure x = quantile(0.25, #q * 2.5)  measure y = quantile(0.9, #q * #f)
    """
    exact = solve(parse(net), method="ctmc")
    found = simulate(parse(net), seed=5, precision=0.1, max_firings=5e6, max_seconds=600)
    assert exact["x"] == 25
    for name in ("x", "y"):
        assert covers(found, name, exact[name]) and found[name] == pytest.approx(exact[name], rel=0.15)


def test_agreement_with_the_exact_method() -> None:
    levels = (0.05, 0.3, 0.5, 0.77, 0.99)
    asked = "".join(
        f" measure t{i} = quantile({p}, #up - 2 * #down) measure g{i} = quantile({p}, #up | fail)" for i, p in enumerate(levels)
    )
    exact = solve(parse(POOL + asked), method="ctmc")
    found = simulate(parse(POOL + asked), seed=6, precision=0.05, max_firings=4e5, max_seconds=600)
    assert {n: v.value for n, v in found.measures.items()} == {n: v.value for n, v in exact.measures.items()}


def test_a_level_that_is_hit_exactly_is_not_told_from_the_next_value() -> None:
    """One of two states half of the time: the median is 0 or 1, and the distribution function becomes as exact as is asked."""
    net = "units none place a = 1, b timed t : a -> b ~ exp(rate = 1) timed u : b -> a ~ exp(rate = 1) measure x = quantile(0.5, #b)"
    found = simulate(parse(net), seed=7, precision=0.02)
    assert found.converged and found.measures["x"].half_width == 1 and found["x"] in (0, 1)
    assert found.measures["x"].note == "from 0 to 1"


def test_where_runs_come_to_rest() -> None:
    """Ends in b with 1/4, in c with 3/4: the long-run distribution is that of the ends."""
    net = """
    units none place a = 1, b, c timed t : a -> b ~ exp(rate = 1) timed u : a -> c ~ exp(rate = 3)
    measure x = quantile(0.2, #c) measure y = quantile(0.3, #c)
    """
    found = simulate(parse(net), seed=8)
    assert (found["x"], found["y"]) == (0, 1) and found.converged


def test_over_a_horizon() -> None:
    """det(3) then at rest: of 10 s, 3 are in a."""
    net = "units none place a = 5, b timed t : 5*a -> 5*b ~ det(3) measure x = quantile(0.69, #b) measure y = quantile(0.29, #b)"
    found = simulate(parse(net), seed=9, horizon=10.0)
    assert (found["x"], found["y"]) == (5, 0)


def test_workers_and_engines_agree() -> None:
    asked = QUEUE + "measure x = quantile(0.7, #q)"
    one, two = (simulate(parse(asked), seed=10, precision=0.3, workers=w, max_firings=1e5, max_seconds=600) for w in (1, 2))
    assert one.measures == two.measures


def test_a_firing_that_is_never_seen() -> None:
    net = "units none place a = 1, b timed t : a -> a ~ exp(rate = 1) timed r : a -> b ~ exp(rate = 1e-12) timed s : b -> a ~ exp(rate = 1)"
    found = simulate(parse(f"{net} measure x = quantile(0.5, #a | r)"), seed=11, max_firings=3e4, max_seconds=600)
    assert math.isnan(found["x"]) and not found.converged


@pytest.mark.parametrize("question", ["quantile(0.5, #q) + quantile(0.7, #q)", "quantile(0.5, time until #q == 2) / E(time until #q == 2)"])
def test_quantiles_stand_alone(question: str) -> None:
    with pytest.raises(AnalysisError) as e:
        simulate(parse(f"{QUEUE} measure x = {question}"))
    assert {d.code for d in e.value.diagnostics} == {"E0623"}
