"""Rare events by splitting: closed forms and the exact solver, at fixed seeds.

Estimates are compared at 4.5 times the standard error (half-width / 1.96): false alarm about 1e-5 each, where the interval is right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spn
from spn.errors import AnalysisError
from spn.measure import TimeAverage
from spn.sim.control import Control
from spn.sim.splitting import splitting
from spn.sim.splitting.crew import SplittingCrew
from spn.sim.splitting.importance import given
from spn.sim.splitting.restart import KernelRestart, Levels, PlainRestart

QUEUE = """
units none
param k : count = 30
place q capacity k
timed arrive : -> q ~ exp(rate = 0.5)
timed serve : q -> ~ exp(rate = 1)
"""
MACHINES = """
units none
place upa = 4
place upb = 3
place downa, downb
timed faila : upa -> downa ~ exp(rate = 0.002) servers inf
timed failb : upb -> downb ~ exp(rate = 0.001) servers inf
timed repa : downa -> upa ~ exp(rate = if(#downa > 0, 1, 0))
timed repb : downb -> upb ~ exp(rate = if(#downa > 0, 0, 1))
"""


def near(result: spn.Result, name: str, exact: float) -> bool:
    v = result.measures[name]
    assert v.half_width is not None
    return abs(v.value - exact) <= 4.5 / 1.96 * v.half_width and v.half_width < exact


@pytest.mark.parametrize(("k", "seed"), [(12, 1), (30, 2)])
def test_overflow_of_a_queue(k: int, seed: int) -> None:
    """M/M/1/K with load 1/2: P(q = K) = rho^K (1 - rho) / (1 - rho^(K+1)), 4.7e-10 for K = 30."""
    model = spn.parse(QUEUE + "measure full = P(#q >= k)\nmeasure again = throughput(arrive)", params={"k": k})
    exact = 0.5**k * 0.5 / (1 - 0.5 ** (k + 1))
    result = splitting(model, "#q", seed=seed, precision=0.15, max_seconds=120)
    assert result.converged and near(result, "full", exact)
    assert result["again"] == pytest.approx(0.5, rel=0.05)
    assert result.details["gain"] > (1e4 if k == 30 else 2)


def test_a_repairable_system_against_the_exact_solver() -> None:
    model = spn.parse(MACHINES + "measure down = P(#upa == 0)")
    exact = spn.solve(model, method="ctmc")["down"]
    result = splitting(model, seed=3, precision=0.15, max_seconds=120)
    assert exact < 1e-8 and result.converged and near(result, "down", exact)
    assert "derived from down" in result.reason


def test_first_passages_and_values_at_a_time_against_the_exact_solver() -> None:
    text = "measure fails = P(time until #upa == 0 <= 300)\nmeasure out = P(#upa <= 1) over 0..200\nmeasure at = P(#upa <= 1) at 5"
    model = spn.parse(MACHINES + text)
    exact = spn.solve(model, method="ctmc")
    result = splitting(model, seed=4, precision=0.3, max_seconds=120)
    assert exact["fails"] < 1e-5
    assert all(near(result, name, exact[name]) for name in ("fails", "out", "at"))


def test_a_queue_with_constant_service() -> None:
    """M/D/1/K, where copies go on with the rest of their clocks. Embedded chain of M/G/1/K: pi_j of the unlimited chain for j < K, and
    P(full) = 1 - 1 / (pi_0 + rho) with the pi normalised over j < K (Takagi, Queueing Analysis 2, 1993, section 5.1)."""
    model = spn.parse("""
units none
place q capacity 4
timed arrive : -> q ~ exp(rate = 0.2)
timed serve : q -> ~ det(1)
measure full = P(#q == 4)
""")
    result = splitting(model, seed=5, precision=0.5, max_seconds=100, engine="python")
    assert near(result, "full", full_md1k(0.2, 4))


def full_md1k(rho: float, k: int) -> float:
    a = [math.exp(-rho) * rho**j / math.factorial(j) for j in range(k + 1)]
    pi = [1.0]
    for j in range(k - 1):
        pi.append((pi[j] - pi[0] * a[j] - sum(pi[i] * a[j - i + 1] for i in range(1, j + 1))) / a[0])
    return 1 - 1 / (pi[0] / sum(pi) + rho)


def test_kernel_and_plain_python_agree_draw_for_draw() -> None:
    model = spn.parse(QUEUE + "measure full = P(#q >= k)\nmeasure lost = throughput(arrive)", params={"k": 9})
    wanted = (TimeAverage(model.measures[0].body.value),)  # type: ignore[union-attr]
    levels = Levels(thresholds=(2.0, 4.0, 5.0, 7.0), factors=(3, 4, 1, 5))
    found = []
    for engine, kind in (("python", PlainRestart), ("compiled", KernelRestart)):
        control = Control(workers=1, max_seconds=math.inf, max_firings=math.inf)
        crew = SplittingCrew(model.net, wanted, given(model, "#q"), 7, control, engine)  # type: ignore[arg-type]
        crew.set_levels(levels)
        run = crew.restart(0, crew.made)
        assert isinstance(run, kind)
        run.run(1000, math.inf)
        found.append((run, crew.tally))
    (a, s), (b, t) = found
    assert (a.time, a.firings, a.marking) == (b.time, b.firings, b.marking)
    assert np.allclose(a.totals(), b.totals(), rtol=1e-12) and np.allclose(s.sums, t.sums, rtol=1e-12)
    assert (s.hits.tolist(), s.roots.tolist(), s.count, s.made, s.original) == (
        t.hits.tolist(),
        t.roots.tolist(),
        t.count,
        t.made,
        t.original,
    )
    assert s.count > 20 and s.roots[-1] > 0


def test_wherever_it_is_split_the_mean_is_the_same() -> None:
    """Unbiased with thresholds that are crossed several at a time, at bulk arrivals, with factors that fit nothing."""
    model = spn.parse("""
units none
place q capacity 12
timed arrive : -> 3*q ~ exp(rate = 0.2)
timed serve : q -> ~ exp(rate = 1)
measure high = P(#q >= 9)
measure serves = throughput(serve)
""")
    exact = spn.solve(model, method="ctmc")
    result = splitting(model, "#q", levels=[1, 2, 3, 5, 6, 7, 8.5], seed=6, precision=0.03, max_seconds=60)
    assert near(result, "high", exact["high"]) and near(result, "serves", exact["serves"])


def test_the_mean_time_of_a_token_is_by_littles_law() -> None:
    """M/M/1/2 with load 1/2: E(#q) = 4/7, of which throughput 3/7 makes 4/3."""
    model = spn.parse(QUEUE + "measure stay = E(time from arrive to serve)", params={"k": 2})
    assert near(splitting(model, "#q", seed=7, precision=0.05, max_seconds=60), "stay", 4 / 3)


def test_the_pilot_may_set_as_many_thresholds_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a factor, though none was found to lead on to what is asked for; the estimate is unbiased still. Closed form: see above."""
    monkeypatch.setattr("spn.sim.splitting.pilot.MOST_LEVELS", 2)
    result = splitting(spn.parse(QUEUE + "measure full = P(#q >= k)", params={"k": 12}), "#q", seed=1, precision=0.15, max_seconds=120)
    assert len(result.details["levels"]) == 2 and near(result, "full", 0.5**13 / (1 - 0.5**13))
    assert any("2 thresholds, the most there may be" in n for n in result.notes)


def test_an_importance_that_leads_elsewhere_is_told() -> None:
    """Two queues, of which the wrong one is followed: nothing or little is met, and the result says that it is not to be trusted."""
    model = spn.parse("""
units none
place q capacity 20
place r capacity 20
timed arrive : -> q ~ exp(rate = 0.4)
timed serve : q -> ~ exp(rate = 1)
timed arrives : -> r ~ exp(rate = 0.4)
timed serves : r -> ~ exp(rate = 1)
measure full = P(#q >= 20)
""")
    result = splitting(model, "#r", seed=1, max_firings=3e6, max_seconds=60)
    assert not result.converged
    assert any("not to be trusted" in n for n in result.notes)


@pytest.mark.parametrize(
    ("measure", "options", "code"),
    [
        ("E(time until #q == k)", {}, "E0732"),
        ("quantile(0.9, time until #q == k)", {}, "E0732"),
        ("P(#q == k) over 2..3", {}, "E0732"),
        ("P(time from arrive to serve <= 2)", {"importance": "#q"}, "E0732"),
        ("quantile(0.9, time from arrive to serve)", {"importance": "#q"}, "E0732"),
        ("E(#q)", {}, "E0731"),
        ("P(#q == k)", {"importance": "E(#q)"}, "E0204"),
        ("P(#q == k)", {"levels": [3, 2]}, "E0705"),
        ("P(#q == k)", {"precision": -1}, "E0705"),
        ("P(#q == k)", {"engine": "fast"}, "E0705"),
    ],
)
def test_what_splitting_is_not_for_is_refused(measure: str, options: dict[str, object], code: str) -> None:
    with pytest.raises(spn.SpnError) as refused:
        splitting(spn.parse(QUEUE + f"measure x = {measure}"), **options)  # type: ignore[arg-type]
    assert refused.value.diagnostics[0].code == code


def test_a_net_that_comes_to_rest_has_no_long_run_to_split() -> None:
    model = spn.parse("units none\nplace a = 3\nplace b\ntimed t : a -> b ~ exp(rate = 1)\nmeasure x = P(#b == 3)")
    with pytest.raises(AnalysisError) as refused:
        splitting(model, seed=1)
    assert refused.value.diagnostics[0].code == "E0732"
