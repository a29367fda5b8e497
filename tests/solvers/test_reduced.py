"""Estimates with less variance: right values, gains, the twin, antithetic pairs, coverage, what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

import spn
from spn.dist.exponential import Exponential
from spn.errors import SpnError
from spn.expr.nodes import Tokens
from spn.measure import FiringRate, TimeAverage
from spn.model import Model
from spn.net.model import Memory, timed
from spn.solvers.averages import Averaged, exact_averages
from spn.solvers.twin import NoTwin, twin_net, twin_of

HORIZON, WARMUP = 40.0, 4.0


def queue(law: str, more: str = "") -> Model:
    return spn.parse(
        f"""
        units none
        place free = 6, q
        timed arrive : free -> q ~ exp(rate = 0.8) servers 1
        timed serve : q -> free ~ {law} servers 1
        {more}
        measure n = E(#q)
        measure rate = throughput(serve)
        measure wait = sojourn(q)
        measure busy = utilisation(serve)
        measure late = E(time until #q == 5)
        measure exact = E(#q) over {WARMUP}..{HORIZON}
        measure flow = throughput(serve) over {WARMUP}..{HORIZON}
        measure entered = throughput(arrive) over {WARMUP}..{HORIZON}
        """
    )


ERLANG = queue("erlang(3, mean = 1)")


def exactly() -> dict[str, float]:
    found = spn.solve(ERLANG, method="ctmc")
    return {"n": found["exact"], "rate": found["flow"], "wait": found["exact"] / found["entered"]}


@pytest.mark.parametrize(("control", "antithetic"), [("twin", False), ("works", False), ("twin", True), ("none", True)])
def test_right_values_with_less_variance(control: str, antithetic: bool) -> None:
    """Within twice the half-widths of the exact averages over the same time (false alarms below 1e-3 in all), and nearer than without."""
    found = spn.variance_reduced(ERLANG, horizon=HORIZON, warmup=WARMUP, seed=3, control=control, antithetic=antithetic)
    for name, right in exactly().items():
        assert abs(found[name].value - right) < 2 * found[name].half_width
        assert found[name].gain == pytest.approx((found[name].independent / found[name].half_width) ** 2, rel=0.25)
    least = {"twin": 5, "works": 1.3, "none": 1.2}[control]
    assert found["n"].gain > least
    assert found.rows == found.planned == (32 if antithetic else 64) and found.replications == 64
    assert found.cost == (1 if control != "twin" else pytest.approx(2, rel=0.2))
    assert ("E(#q) of the twin" in found["n"].controls) == (control == "twin")
    assert "late" in found.notes[0] and "gain" in repr(found)


def test_the_twin_of_an_exponential_net_is_the_net() -> None:
    found = spn.variance_reduced(queue("exp(mean = 1)"), horizon=HORIZON, warmup=WARMUP, seed=1, replications=16, control="twin")
    right = spn.solve(queue("exp(mean = 1)"), method="ctmc")["exact"]
    assert found["n"].value == pytest.approx(right, rel=1e-9) and found["n"].half_width == 0 and found["n"].gain == math.inf
    assert any("spn solve" in note for note in found.notes)


def test_auto_takes_what_is_worth_it() -> None:
    """Few pieces of work of little spread are like the twin's; a pilot that finds nothing useful leaves everything as it is."""
    assert spn.variance_reduced(ERLANG, horizon=100.0, warmup=WARMUP, seed=1, replications=24).control == "twin"
    unbounded = spn.parse("units none\nplace q\ntimed a : -> q ~ exp(rate = 0.5)\ntimed s : q -> ~ det(1)\nmeasure n = E(#q)")
    found = spn.variance_reduced(unbounded, horizon=100.0, seed=1, replications=16)
    assert found.control == "works" and found.reason.startswith("no exponential twin") and found["n"].controls == ("work of a",)
    clockwork = spn.parse("units none\nplace p = 1\ntimed a : p -> p ~ det(1)\nmeasure r = throughput(a)")
    still = spn.variance_reduced(clockwork, horizon=10.0, seed=1)
    assert (
        still.control == "none"
        and (still["r"].value, still["r"].half_width) == (pytest.approx(1, rel=1e-12), 0)
        and math.isnan(still["r"].gain)
    )


def test_exact_averages_of_primitives() -> None:
    """Sums of rewards over firings too: what serve takes off the queue in the marking before is E(#q | serve) times its rate."""
    reward = FiringRate("serve", Tokens("q"))
    known = exact_averages(queue("exp(mean = 1)"), (TimeAverage(reward.value), FiringRate("serve"), reward), Averaged(horizon=4000.0))
    model = queue("exp(mean = 1)", "measure before = E(#q | serve) * throughput(serve)")
    assert known[reward] == pytest.approx(spn.solve(model, method="ctmc")["before"], rel=2e-3)
    assert known[FiringRate("serve")] == pytest.approx(spn.solve(model, method="ctmc")["rate"], rel=2e-3)


def test_the_twin() -> None:
    model = queue("lognormal(mean = 1, cv = 2)", "place b = 1\ntimed r : b -> b ~ uniform(0, 2) memory repeat")
    like = twin_net(model.net)
    assert all(isinstance(t.law, Exponential) for t in timed(like)) and all(t.memory is not Memory.REPEAT for t in timed(like))
    assert [t.law.mean() for t in timed(like)] == pytest.approx([t.law.mean() for t in timed(model.net)])
    with pytest.raises(NoTwin, match="mean time of r is 0"):
        twin_net(queue("det(1)", "place b = 1\ntimed r : b -> b ~ det(0)").net)
    with pytest.raises(NoTwin, match="nothing of it is known"):
        twin_of(model, (), Averaged(horizon=1.0))


def test_mirrored_runs_are_opposite() -> None:
    """The works of a pair go to opposite sides of the mean: a uniform work and its mirror add up to exactly twice the mean."""
    one = spn.parse("units none\nplace p = 1\ntimed a : p -> p ~ uniform(1, 3)\nmeasure r = throughput(a)")
    found = spn.variance_reduced(one, horizon=100.0, seed=1, antithetic=True, control="none")
    assert found["r"].gain > 20


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"control": "all"}, "E0705"),
        ({"horizon": 0.0}, "E0705"),
        ({"warmup": 50.0}, "E0705"),
        ({"max_seconds": 0.0}, "E0706"),
        ({"replications": 2, "control": "none", "antithetic": True}, "E0706"),
    ],
)
def test_what_is_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(SpnError) as e:
        spn.variance_reduced(ERLANG, **{"horizon": HORIZON, **options})
    assert e.value.diagnostics[0].code == code


def test_no_twin_and_no_averages() -> None:
    with pytest.raises(SpnError, match="the mean time of serve is inf") as e:
        spn.variance_reduced(queue("pareto(alpha = 0.9, scale = 1)"), horizon=HORIZON, control="twin")
    assert e.value.diagnostics[0].code == "E0705"
    only = spn.Model(name="", net=ERLANG.net, measures=ERLANG.measures[4:])
    with pytest.raises(SpnError) as e:
        spn.variance_reduced(only, horizon=HORIZON)
    assert e.value.diagnostics[0].code == "E0624"
