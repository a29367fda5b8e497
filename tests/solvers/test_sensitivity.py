"""Sensitivities of whole models: against closed forms, differences of whole solutions, and what must hold of all elasticities."""

from __future__ import annotations

import math

import pytest

import spn
from spn.model import Model

QUEUE = """
param load : 1/s = 0.8/s in 0.1/s..2/s
param work : time = 1 s
param room : count = 5
param balk : probability = 0
place free = room
place queue
place gate
timed arrive : free -> gate ~ exp(rate = load)
immediate enter : gate -> queue weight 1
timed serve : queue -> free ~ exp(mean = work)
measure lost = P(#free == 0)
measure served in 1/s = throughput(serve)
measure late = E(#queue) at 3 s
"""

MIXED = """
param lam : 1/s = 0.3/s
param mu : time = 2 s
param p : probability = 0.25
param size : bytes = 3 MB
param fast : bool = true
place a = 3
place b
place c
place d
link wire(capacity = 1 MB/s)
timed t1 : a -> b ~ exp(rate = lam * exp(-(lam * 1 s)) * #a)
timed t2 : b -> c ~ erlang(k = 2, mean = mu)
timed t3 : d -> a ~ exp(mean = size) over wire
immediate yes : c -> a weight p
immediate no : c -> d weight 1 - p
measure x in 1/s = throughput(t1)
measure y = E(#b) / x
measure z = p * E(#d)^2
measure w = utilisation(wire)
"""


def moved(model: Model, name: str, relative: float) -> dict[str, float]:
    assert model.variant is not None
    (p,) = (p for p in model.parameters if p.name == name)
    made = model.variant({name: float(p.value) * (1 + relative)})
    return {n: v.value for n, v in spn.solve(made, method="ctmc", tolerance=1e-13).measures.items()}


def test_a_queue_against_its_closed_form() -> None:
    found = spn.sensitivity(spn.parse(QUEUE))
    rho, k = 0.8, 5
    top, below = rho**k - rho ** (k + 1), 1 - rho ** (k + 1)
    slope = ((k * rho ** (k - 1) - (k + 1) * rho**k) * below + top * (k + 1) * rho**k) / below**2
    lost = top / below
    assert found["lost", "load"].derivative == pytest.approx(slope, rel=1e-12)
    assert found["lost", "load"].elasticity == pytest.approx(slope * rho / lost, rel=1e-12)
    assert found["lost", "work"].elasticity == pytest.approx(slope * rho / lost, rel=1e-11)  # it depends on load * work alone
    assert found["served", "load"].derivative == pytest.approx(1 - lost - rho * slope, rel=1e-12)
    more = (rho**6 - rho**7) / (1 - rho**7)
    assert found["lost", "room"].kind == "difference"
    assert found["lost", "room"].derivative == pytest.approx(more - lost, rel=1e-12)
    assert found["lost", "room"].elasticity == pytest.approx(5 * (more - lost) / lost, rel=1e-12)
    assert math.isnan(found["lost", "balk"].derivative) and "0" in found["lost", "balk"].note
    assert found.converged and "late" not in found.result.measures


def test_every_way_a_parameter_enters_against_differences_of_solutions() -> None:
    """Through a function, a phase-type law, weights of immediates, a size sent over a link, and the measure itself."""
    model = spn.parse(MIXED)
    found = spn.sensitivity(model)
    h = 1e-3
    for name in ("lam", "mu", "p", "size"):
        ends = {j: moved(model, name, j * h) for j in (-2, -1, 1, 2)}
        for m in ("x", "y", "z", "w"):
            slope = (ends[-2][m] - 8 * ends[-1][m] + 8 * ends[1][m] - ends[2][m]) / (12 * h)
            s = found[m, name]
            assert s.elasticity * found.result[m] == pytest.approx(slope, abs=1e-9), (name, m)
            assert s.error < 1e-9


def test_elasticities_to_all_speeds_add_up() -> None:
    """All twice as fast is the same in half the time: throughputs have degree 1, times -1, averages and shares 0."""
    found = spn.sensitivity(spn.parse(MIXED))
    for measure, degree in {"x": 1, "y": -1, "z": 0, "w": 0}.items():
        assert math.fsum(s.elasticity for s in found.speeds if s.measure == measure) == pytest.approx(degree, abs=1e-11)


def test_what_does_not_matter_is_exactly_nothing() -> None:
    assert spn.sensitivity(spn.parse(MIXED))["x", "fast"].derivative == 0


def test_the_bottleneck_is_named() -> None:
    net = "place a = 4 place b timed slow : a -> b ~ exp(mean = 10 s) timed quick : b -> a ~ exp(mean = 1 s) measure x = throughput(slow)"
    found = spn.sensitivity(spn.parse(net))
    assert found.bottleneck == {"x": "slow"}
    assert "slow" in repr(found)
    assert found.to_dict()["bottleneck"] == {"x": "slow"}


def test_the_end_of_a_range_is_differentiated_from_inside() -> None:
    text = """param r : 1/s = 2/s in 0.5/s..2/s  place a = 1  place b
    timed t : a -> b ~ exp(rate = r)  timed u : b -> a ~ exp(rate = 1/s)  measure x = P(#a == 1)"""
    assert spn.sensitivity(spn.parse(text))["x", "r"].derivative == pytest.approx(-1 / 9, rel=1e-9)


def test_a_kink_has_no_derivative() -> None:
    text = """param r : 1/s = 2/s  place a = 1  place b
    timed t : a -> b ~ exp(rate = min(r, 2/s))  timed u : b -> a ~ exp(rate = 1/s)  measure x = P(#a == 1)"""
    found = spn.sensitivity(spn.parse(text))["x", "r"]
    assert math.isnan(found.derivative) and "smooth" in found.note


def test_a_parameter_that_changes_the_states_is_named() -> None:
    text = """param r : number = 2  place a = 3  place b
    timed t : a -> b ~ exp(rate = 1/s) when #b < r  timed u : b -> a ~ exp(rate = 1/s)  measure x = E(#a)"""
    found = spn.sensitivity(spn.parse(text))["x", "r"]
    assert math.isnan(found.derivative) and "state space" in found.note


def test_refusals() -> None:
    split = "place a = 1 place b place c timed t : a -> b ~ exp(mean = 1 s) timed u : a -> c ~ exp(mean = 1 s) measure x = P(#b == 1)"
    for text, measures, code in ((split, None, "E0641"), (QUEUE, ["late"], "E0642"), (QUEUE, ["lots"], "E0642")):
        with pytest.raises(spn.AnalysisError) as caught:
            spn.sensitivity(spn.parse(text), measures)
        assert caught.value.diagnostics[0].code == code


def test_a_difference_that_is_0_has_no_elasticity_and_constants_no_bottleneck() -> None:
    """The flows into and out of a place are equal, the tokens of a closed net constant: what rounding leaves of either says nothing."""
    text = """
    place a = 2, q
    timed t : a -> q ~ exp(rate = 2/s) servers inf
    timed u : q -> a ~ exp(rate = 2.5/s) servers 1
    measure y = throughput(u) - throughput(t)
    measure c = E(#a) + E(#q)
    measure x = throughput(u)
    """
    found = spn.sensitivity(spn.parse(text))
    assert all(math.isnan(found["y", t].elasticity) and found["y", t].note == "the measure is 0" for t in ("t", "u"))
    assert list(found.bottleneck) == ["x"]


def test_equal_elasticities_stay_in_the_order_of_the_net() -> None:
    text = """
    place p[i in 1..4] = if(i == 1, 3, 0)
    timed t[i in 1..4] : p[i] -> p[i mod 4 + 1] ~ exp(rate = 1/s) servers 1
    measure x = throughput(t[1])
    """
    found = spn.sensitivity(spn.parse(text))
    assert [s.parameter for s in found.speeds] == [f"t[{i}]" for i in range(1, 5)]
    assert "the speeds of t[1], t[2], t[3] and t[4], each alike" in repr(found)


@pytest.mark.filterwarnings("error")
def test_numbers_near_the_end_of_their_range_give_no_warning() -> None:
    text = """
    place a = 1, b
    timed t : a -> b ~ exp(mean = 1e300 s)
    timed u : b -> a ~ exp(mean = 1e300 s)
    measure x = throughput(u)
    measure so = sojourn(a)
    """
    assert repr(spn.sensitivity(spn.parse(text)))
