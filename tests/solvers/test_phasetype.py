"""General laws by phases against closed forms, the error that is stated, and the order of convergence measured."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from spn.dist.families import Deterministic, Erlang, Gamma, Lognormal, Pareto, Uniform, Weibull
from spn.errors import AnalysisError
from spn.expr.nodes import equal, tokens
from spn.measure import Horizon
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.solvers import solve
from spn.solvers.extrapolate import limit
from tests.solvers.nets import E, P, X, model


def queue(law, room: int, rate: float = 0.8) -> Model:
    b = NetBuilder("queue")
    b.place("free", room)
    b.place("q")
    b.timed("arrive", "free", "q", rate=rate)
    b.timed("serve", "q", "free", law=law)
    return model(b, **{f"p{k}": P(equal(tokens("q"), k)) for k in range(room + 1)}, mean=E("q"))


def within(result, right: dict[str, float]) -> None:
    """Every value lies within its stated error, and the error is small."""
    for name, value in right.items():
        v = result.measures[name]
        assert v.half_width is not None
        assert abs(v.value - value) <= v.half_width + 1e-9
        assert v.half_width <= 2e-5


def test_m_d_1_3() -> None:
    """Load 0.8, by the embedded chain."""
    result = solve(queue(Deterministic(value=F(1)), 3), method="phase-type")
    within(result, {"p0": 0.282639192, "p1": 0.346385898, "p2": 0.267675921, "p3": 0.103298990})
    assert result.converged
    assert "serve: det(1) by" in result.notes[0]


@pytest.mark.parametrize(
    "law", [Uniform(low=0.5, high=1.5), Gamma(shape=6.25, scale=0.16), Weibull(shape=2.0, scale=1.0), Lognormal(mu=-0.08, sigma=0.4)]
)
def test_m_g_1_with_room_enough(law) -> None:
    """Pollaczek and Khinchine: L = rho + lambda^2 E S^2 / (2 (1 - rho)). At load 0.3 the 21st customer is never met (1e-10)."""
    rate = 0.3
    rho, second = rate * law.mean(), law.variance() + law.mean() ** 2
    result = solve(queue(law, 20, rate), method="phase-type", accuracy=1e-5)
    within(result, {"mean": rho + rate**2 * second / (2 * (1 - rho)), "p0": 1 - rho})


def test_a_semi_markov_cycle_depends_on_means_alone() -> None:
    laws = [
        Uniform(low=1, high=3),
        Weibull(shape=2, scale=1),
        Lognormal(mu=0, sigma=0.5),
        Pareto(alpha=3, scale=1),
        Deterministic(value=F(1)),
    ]
    b = NetBuilder()
    for k in range(len(laws)):
        b.place(f"s{k}", int(k == 0))
    for k, law in enumerate(laws):
        b.timed(f"t{k}", f"s{k}", f"s{(k + 1) % len(laws)}", law=law)
    result = solve(model(b, x=X("t0")), method="phase-type", order=2)
    assert result["x"] == pytest.approx(1 / sum(law.mean() for law in laws), rel=1e-9)


def race(law) -> Model:
    """A law against exp(rate = 1): its chance is its Laplace transform at 1; each round takes a mean of (1 - L) and then 1 s."""
    b = NetBuilder()
    for name in ("s", "won", "lost"):
        b.place(name, int(name == "s"))
    b.timed("a", "s", "won", law=law)
    b.timed("other", "s", "lost", rate=1)
    b.timed("again", "won", "s", rate=1)
    b.timed("too", "lost", "s", rate=1)
    return model(b, a=X("a"), b=X("other"))


@pytest.mark.parametrize(
    "law", [Deterministic(value=F(1)), Uniform(low=0.5, high=1.5), Weibull(shape=3, scale=1), Lognormal(mu=0, sigma=0.3)]
)
def test_the_order_of_convergence_is_one_and_extrapolation_gains(law) -> None:
    u = (np.arange(400_000) + 0.5) / 400_000
    right = float(np.mean(np.exp(-law.quantile(u))))
    right = right / (1 - right + 1)
    result = solve(race(law), method="phase-type", accuracy=1e-8)
    course = [abs(v - right) for v in result.details["course"]["a"]]
    for k in range(2, len(course) - 1):
        assert math.log2(course[k] / course[k + 1]) == pytest.approx(1.0, abs=0.15)
    assert abs(result["a"] - right) < 1e-3 * course[-1] + 2e-8
    assert abs(result["a"] - right) <= result.measures["a"].half_width + 1e-7  # that of the average above


def test_two_clocks_at_once_state_an_error_that_holds() -> None:
    """U(0, 2) against U(1, 4): b wins with chance 1/12. Corners that meet break the powers of 1/k, and the error says so."""
    b = NetBuilder()
    for name in ("s", "x", "y"):
        b.place(name, int(name == "s"))
    b.timed("a", "s", "x", law=Uniform(low=0, high=2))
    b.timed("b", "s", "y", law=Uniform(low=1, high=4))
    b.timed("rx", "x", "s", rate=1)
    b.timed("ry", "y", "s", rate=1)
    result = solve(model(b, s=E("s"), a=X("a"), b=X("b")), method="phase-type", accuracy=1e-3, max_states=10_000)
    for name, right in (("s", 0.49295774647887325), ("a", 0.4647887323943662), ("b", 0.04225352112676056)):
        v = result.measures[name]
        assert abs(v.value - right) <= v.half_width <= 2e-3


def test_a_barrier_of_constants_converges_as_one_over_the_root() -> None:
    """Two constants of 1 s side by side: 1 round a second; Erlang laws apart give a mean maximum of 1 + c / sqrt(k)."""
    b = NetBuilder()
    for name in ("a", "b"):
        b.place(name, 1)
        b.place(f"{name}_done")
        b.timed(f"work_{name}", name, f"{name}_done", law=1)
    b.immediate("join", ["a_done", "b_done"], ["a", "b"])
    result = solve(model(b, x=X("join")), method="phase-type", max_states=2_000)
    v = result.measures["x"]
    assert abs(v.value - 1) <= v.half_width <= 0.3
    assert limit(result.details["course"]["x"]).order == pytest.approx(0.5, abs=0.2)
    assert not result.converged


@pytest.mark.parametrize(("phases", "n"), [("moments2", 3), ("moments3", 14), ("cdf", 6)])
def test_few_phases(phases: str, n: int) -> None:
    """uniform(0, 2) in an M/G/1/8 queue: near the limit of the converging ones; nothing is said of the error."""
    m = queue(Uniform(low=0, high=2), 8, 0.5)
    right = solve(m, method="phase-type")["mean"]
    result = solve(m, method="phase-type", phases=phases, **({"order": n} if phases == "cdf" else {}))
    assert result["mean"] == pytest.approx(right, rel=2e-2 if phases == "cdf" else 5e-3)
    assert result.details["phases"] == {"serve": n}
    assert result.measures["mean"].half_width is None
    assert any("nothing is known about its error" in note for note in result.notes)


def test_several_servers_and_resumed_work() -> None:
    """M/G/2/2 is insensitive (Erlang's loss formula); a constant work that is interrupted and resumed takes its work plus the stops."""
    b = NetBuilder()
    b.place("free", 2)
    b.place("q")
    b.timed("arrive", "free", "q", rate=1)
    b.timed("serve", "q", "free", law=Uniform(low=0.5, high=1.5), servers=2)
    b.place("job", 1)
    b.place("up", 1)
    b.place("down")
    b.timed("work", "job", "job", tests="up", law=2, memory="resume")
    b.timed("fail", "up", "down", rate=1)
    b.timed("mend", "down", "up", rate=3)
    result = solve(model(b, lost=P(equal(tokens("q"), 2))), method="phase-type", max_states=40_000, accuracy=1e-4)
    assert result["lost"] == pytest.approx(1 / 5, abs=1e-4)
    jobs = NetBuilder()
    for name, k in (("job", 1), ("up", 1), ("down", 0)):
        jobs.place(name, k)
    jobs.timed("work", "job", "job", tests="up", law=2, memory="resume")
    jobs.timed("fail", "up", "down", rate=1)
    jobs.timed("mend", "down", "up", rate=3)
    assert solve(model(jobs, x=X("work")), method="phase-type")["x"] == pytest.approx(3 / 4 / 2, rel=1e-9)


def test_at_a_time() -> None:
    """A constant of 1 s is over at 2 s, and not at 1/2 s; near the step itself the error says how little is known."""
    b = NetBuilder()
    b.place("a", 1)
    b.place("b")
    b.timed("t", "a", "b", law=1)
    m = model(b, early=Horizon(E("b"), None, F(1, 2)), late=Horizon(E("b"), None, F(2)), near=Horizon(E("b"), None, F("1.02")))
    result = solve(m, method="phase-type")
    assert result["early"] == pytest.approx(0, abs=1e-5)
    assert result["late"] == pytest.approx(1, abs=1e-5)
    assert result.measures["near"].half_width > 1e-2


def test_what_is_phase_type_is_exact() -> None:
    result = solve(queue(Erlang(k=2, rate=2.0), 3), method="phase-type")
    assert result.method == "ctmc"
    assert result["mean"] == solve(queue(Erlang(k=2, rate=2.0), 3), method="ctmc")["mean"]


def test_refusals() -> None:
    b = NetBuilder()
    b.place("a", 1)
    b.timed("t", "a", "a", law=Pareto(alpha=1.0, scale=1.0))
    b.timed("u", "a", "a", law=0)
    b.timed("v", "a", "a", law=1, memory="repeat")
    with pytest.raises(AnalysisError) as error:
        solve(model(b, x=X("t")), method="phase-type")
    assert sorted(d.code for d in error.value.diagnostics) == ["E0611", "E0675", "E0675"]
    with pytest.raises(AnalysisError) as error:
        solve(queue(Deterministic(value=F(1)), 3), method="phase-type", phases="moments2")
    assert error.value.diagnostics[0].code == "E0676"
    with pytest.raises(AnalysisError) as error:
        solve(queue(Deterministic(value=F(1)), 300), method="phase-type", max_states=20)
    assert error.value.diagnostics[0].code == "E0676"
    for options in ({"phases": "erlang"}, {"order": 0}, {"accuracy": -1}):
        with pytest.raises(AnalysisError):
            solve(queue(Deterministic(value=F(1)), 3), method="phase-type", **options)


# --- extrapolation ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0])
def test_the_limit_of_a_power_series(power: float) -> None:
    values = [1 + 0.3 / k**power + 0.1 / k ** (power + 1) for k in (2, 4, 8, 16, 32, 64)]
    found = limit(values)
    assert found.order == pytest.approx(power, abs=0.05)
    assert abs(found.value - 1) <= found.error < abs(values[-1] - 1) * 7
    assert abs(found.value - 1) < 0.1 * abs(values[-1] - 1)


def test_the_limit_of_little() -> None:
    assert limit([1.0]).error == math.inf
    assert limit([1.0, 1.0]).error < 1e-12
    assert limit([math.inf, math.inf]).error == 0
    assert limit([1.0, 1.1, 0.9]).error >= 0.2
