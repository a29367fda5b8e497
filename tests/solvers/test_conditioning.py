"""Repeated work against closed forms: with failures at rate r during work w the mean time is E(e^(r W) - 1) (1/r + 1/m)."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from spn.dist.families import Deterministic, Empirical, Erlang, Exponential, Gamma, HyperExponential, Lognormal, Mixture, Pareto, Uniform
from spn.errors import AnalysisError
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.sim import simulate
from spn.solvers import solve
from tests.solvers.nets import E, X, model


def job(law, fail: float = 0.4, mend: float = 2.0, **options) -> NetBuilder:
    b = NetBuilder()
    for name, k in (("job", 1), ("up", 1), ("down", 0)):
        b.place(name, k)
    b.timed("work", ["job", "up"], ["job", "up"], law=law, memory="repeat", **options)
    b.timed("fail", ["job", "up"], ["job", "down"], rate=fail)
    b.timed("fix", "down", "up", rate=mend)
    return b


@pytest.mark.parametrize(
    ("law", "transform"),
    [
        (Exponential(rate=1.0), 1 / 0.6),
        (Erlang(k=3, rate=2.0), (2 / 1.6) ** 3),
        (Gamma(shape=2.5, scale=0.4), (1 - 0.16) ** -2.5),
        (Uniform(low=0.5, high=2.5), (math.exp(1.0) - math.exp(0.2)) / 0.8),
        (Deterministic(value=F(3, 2)), math.exp(0.6)),
        (Empirical(values=(F(1), F(2), F(4))), (math.exp(0.4) + math.exp(0.8) + math.exp(1.6)) / 3),
        (Mixture(parts=((0.25, Deterministic(value=F(1))), (0.75, Exponential(rate=2.0)))), 0.25 * math.exp(0.4) + 0.75 * 2 / 1.6),
        (HyperExponential(probs=(0.5, 0.5), rates=(1.0, 3.0)), 0.5 / 0.6 + 1.5 / 2.6),
    ],
    ids=lambda x: x.describe() if hasattr(x, "describe") else "",
)
def test_completion_time(law, transform: float) -> None:
    time = (transform - 1) * (1 / 0.4 + 1 / 2)
    result = solve(model(job(law), x=X("work"), down=E("down")), method="conditioning")
    assert result["x"] == pytest.approx(1 / time, rel=1e-10)
    assert result["down"] == pytest.approx(0.5 / 3.0, rel=1e-10)  # failures and repairs alternate, whatever the work
    assert abs(result["x"] - 1 / time) <= result.measures["x"].half_width


def test_scale_and_speed_are_constants() -> None:
    result = solve(model(job(Uniform(low=0.5, high=2.5), scale=4, speed=8), x=X("work")), method="conditioning")
    time = ((math.exp(0.5) - math.exp(0.1)) / 0.4 - 1) * 3
    assert result["x"] == pytest.approx(1 / time, rel=1e-10)


@pytest.mark.parametrize("law", [Exponential(rate=0.4), Exponential(rate=0.1), Lognormal(mu=0.0, sigma=0.3), Pareto(alpha=3.0, scale=1.0)])
def test_an_infinite_mean_is_recognised(law) -> None:
    for method in ("conditioning", "auto"):
        with pytest.raises(AnalysisError) as error:
            solve(model(job(law), x=X("work")), method=method)
        assert error.value.diagnostics[0].code == "E0678"
        assert "work" in error.value.diagnostics[0].message


def richer() -> Model:
    """Preempted by urgent work that queues; with an idle time after completion, erlang repairs, and an immediate choice."""
    b = NetBuilder()
    for name, k in (("job", 1), ("idle", 0), ("seen", 0), ("urgent", 0), ("room", 2)):
        b.place(name, k)
    b.timed("work", "job", "seen", law=Uniform(low=0.2, high=1.2), memory="repeat", inhibitors="urgent")
    b.immediate("good", "seen", "idle", weight=3)
    b.immediate("bad", "seen", "job", weight=1)
    b.timed("next", "idle", "job", rate=2)
    b.timed("come", "room", "urgent", rate=F(1, 2))
    b.timed("serve", "urgent", "room", law=Erlang(k=2, rate=4.0))
    return model(b, x=X("work"), good=X("good"), idle=E("idle"), urgent=E("urgent"), both=X("good") / X("work"))


def test_against_the_simulator() -> None:
    """Within the interval of 4 standard errors (false alarm 6.4e-5 a value)."""
    result = solve(richer())
    assert result.method == "conditioning"
    other = simulate(richer(), seed=3, precision=0.01, confidence=0.99993666)
    for name, v in other.measures.items():
        assert v.half_width is not None
        assert abs(result[name] - v.value) <= v.half_width + 1e-12
    assert result["both"] == pytest.approx(3 / 4, rel=1e-12)


def test_refusals_name_the_transition() -> None:
    b = job(Exponential(rate=1.0), servers=2)
    b.timed("also", "job", "job", rate=1, memory="repeat")
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=X("work")), method="conditioning")
    assert [d.message.split()[0] for d in error.value.diagnostics] == ["work", "also"]
    for change in ({"servers": 2}, {"speed": E("up").value}):
        with pytest.raises(AnalysisError) as error:
            solve(model(job(Exponential(rate=1.0), **change), x=X("work")), method="conditioning")
        assert error.value.diagnostics[0].code == "E0677"


def test_stopped_for_good() -> None:
    b = NetBuilder()
    for name, k in (("job", 1), ("up", 1)):
        b.place(name, k)
    b.timed("work", "job", "job", tests="up", law=1, memory="repeat")
    b.timed("fail", "up", (), rate=1)
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=X("work")), method="conditioning")
    assert error.value.diagnostics[0].code == "E0679"
