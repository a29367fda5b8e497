"""Bounds on throughput hold the exact values: on every shipped model that is solved exactly, and on random nets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from spn.errors import AnalysisError, SpnError
from spn.expr.nodes import tokens
from spn.loading import load, parse
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.net.model import Net, timed
from spn.solvers import may_solve, solve
from spn.structural.analysis import bounds
from spn.structural.bottleneck import asymptotic
from spn.structural.throughput import throughput_bounds, violation
from tests.structural.nets import conserving

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").rglob("*.spn"))
SLACK = 1e-6


def exact(model: Model) -> tuple[dict[str, float], dict[str, float]] | None:
    """Throughputs and mean tokens by the exact method; None where it does not apply."""
    rates = tuple(Measure(name=f"x {t.name}", body=Throughput(t.name)) for t in model.net.transitions)
    means = tuple(Measure(name=f"m {p.name}", body=Average(tokens(p.name))) for p in model.net.places)
    asked = replace(model, measures=rates + means, properties=(), sweeps=(), expectations=())
    if may_solve(asked):
        return None
    try:
        result = solve(asked, method="ctmc")
    except SpnError as error:
        assert error.diagnostics[0].code != "E0680", error
        return None
    assert result.converged
    return {t.name: result[f"x {t.name}"] for t in model.net.transitions}, {p.name: result[f"m {p.name}"] for p in model.net.places}


@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_they_hold_the_exact_values_of_the_models(path: Path) -> None:
    model = load(path)
    found = bounds(model)
    assert [b.transition for b in found] == [t.name for t in model.net.transitions]
    values = exact(model)
    for b in found:
        assert 0 <= b.lower <= b.upper * (1 + SLACK) + SLACK
        if values is not None:
            assert b.lower * (1 - SLACK) - SLACK <= values[0][b.transition] <= b.upper * (1 + SLACK) + SLACK
    if values is not None:
        assert (violation(model.net, *values) or 0.0) < SLACK


@settings(max_examples=60, deadline=None)
@given(conserving())
def test_they_hold_the_exact_values_of_random_nets(net: Net) -> None:
    if not timed(net):
        return
    values = exact(Model(name="random", net=net))
    if values is None:
        return
    for b in bounds(net):
        assert b.lower * (1 - SLACK) - SLACK <= values[0][b.transition] <= b.upper * (1 + SLACK) + SLACK
    gap = violation(net, *values)
    assert gap is None or gap < SLACK


def of(text: str) -> dict[str, tuple[float, float]]:
    return {b.transition: (b.lower, b.upper) for b in bounds(parse(text))}


def test_closed_forms() -> None:
    cycle = "place a = {n}, b timed t : a -> b ~ exp(mean = 2 s) servers 1 timed u : b -> a ~ exp(mean = 1 s) servers 1"
    assert of(cycle.format(n=1))["t"] == pytest.approx((1 / 3, 1 / 3))
    assert of(cycle.format(n=4))["u"][1] == pytest.approx(1 / 2)  # the bottleneck
    two = of("place up = 3, down timed f : up -> down ~ erlang(3, mean = 9 s) servers inf timed r : down -> up ~ det(1 s) servers inf")
    assert two["f"] == pytest.approx((0.3, 0.3))  # Little: three tokens, ten seconds round
    fork = of(
        "place a = 1, b, c, d, e timed f : a -> b, c ~ exp(mean = 1 s) timed g : b -> d ~ exp(mean = 2 s) "
        "timed h : c -> e ~ exp(mean = 5 s) immediate j : d, e -> a"
    )
    assert fork["j"][1] == pytest.approx(1 / 6)  # the longer branch
    assert fork["j"][0] <= 1 / 6.57  # the exact one: 1 + 2 + 5 - 10/7 s a round
    routed = of(
        "place a = 1, b, c timed t : a -> b ~ exp(mean = 1 s) immediate x : b -> a weight 3 immediate y : b -> c "
        "timed v : c -> a ~ det(4 s)"
    )
    assert routed["t"] == pytest.approx((1 / 2, 1 / 2)) and routed["v"] == pytest.approx((1 / 8, 1 / 8))


def test_general_times_that_are_interrupted_give_no_relation() -> None:
    text = "place a = 1, b = 1 timed t : a -> a ~ {law} servers 1 timed u : a, b -> a, b ~ exp(mean = 1 s) servers 1"
    heavy = of(text.format(law="hyperexp(mean = 10 s, cv = 3)"))
    assert heavy["t"][1] == float("inf")  # starting anew may well be faster than waiting
    assert of(text.format(law="det(3 s)"))["t"] == pytest.approx((0, 1 / 3))


def test_links_are_shared() -> None:
    model = parse(
        "place a = 8, b link l(capacity = 1 MB/s) timed t : a -> b ~ exp(mean = 2 MB) over l timed u : b -> a ~ exp(mean = 1 s) servers inf"
    )
    t = {b.transition: b for b in bounds(model)}["t"]
    assert t.upper == pytest.approx(0.5) and "the capacity of l" in t.limits


def test_an_unknown_transition_is_refused() -> None:
    with pytest.raises(AnalysisError, match="did you mean serve"):
        throughput_bounds(load("models/basics/mm1k.spn").net, ("servee",))


def test_wrong_values_are_seen() -> None:
    model = load("models/basics/central_server.spn")
    values = exact(model)
    assert values is not None
    rates, means = values
    assert violation(model.net, {"think": rates["think"] * 1.2}, {}) > 0.05  # type: ignore[operator]
    assert violation(model.net, rates, {p: m * 1.01 for p, m in means.items()}) > 1e-3  # type: ignore[operator]
    assert violation(model.net, {**rates, "think": rates["think"] * 1.001}, means) > 1e-4  # type: ignore[operator]


def test_a_result_outside_its_bounds_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from spn.solvers import ctmc

    right = ctmc.average
    monkeypatch.setattr(ctmc, "average", lambda reward, pi: 1.5 * right(reward, pi))
    with pytest.raises(AnalysisError, match="internal error: the values found lie outside their bounds"):
        solve(load("models/basics/central_server.spn"), method="ctmc")


# --- asymptotic bounds ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_linear_program_is_as_sharp_as_the_asymptotic_bounds(path: Path) -> None:
    net = load(path).net
    found = asymptotic(net)
    if found is not None:
        (lp,) = throughput_bounds(net, (found.reference,))
        assert lp.upper <= found.upper * (1 + SLACK)


@settings(max_examples=40, deadline=None)
@given(conserving())
def test_asymptotic_bounds_hold_the_exact_values_of_random_nets(net: Net) -> None:
    found = asymptotic(net) if timed(net) else None
    values = exact(Model(name="random", net=net)) if found is not None else None
    if found is None or values is None:
        return
    x = values[0][found.reference]
    assert x <= found.upper * (1 + SLACK) + SLACK
    for t, v in found.visits.items():
        assert values[0][t] == pytest.approx(v * x, rel=1e-6, abs=1e-9)


def test_the_bottleneck_of_a_closed_network() -> None:
    found = asymptotic(load("models/basics/closed_network.spn").net)
    assert found is not None and (found.reference, found.bottleneck) == ("s1", "s1")
    assert found.visits["to2"] == pytest.approx(0.5) and found.saturation == pytest.approx(1.0)
    assert found.populations[0].upper == pytest.approx(5 / sum(found.demands[s] for s in ("s1", "s2", "s3")))


def test_no_fixed_ratios_no_asymptotic_bounds() -> None:
    assert asymptotic(parse("place q timed t : -> q ~ exp(rate = 1/s) timed u : q -> ~ exp(rate = 1/s)").net) is None
    two = "place a = 1, b = 1 timed t : a -> a ~ exp(rate = 1/s) timed u : b -> b ~ exp(rate = 1/s)"
    assert asymptotic(parse(two).net) is None
