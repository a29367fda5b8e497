"""The method of simulation is chosen by the net alone, and told."""

from __future__ import annotations

import pytest

import spn
from spn.expr.nodes import tokens
from spn.measure import Average, Measure
from spn.net.model import Net, Place, Timed
from spn.sim.streams import Choice
from tests.sim.nets import exp, gives, takes


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_exponential_nets_go_the_direct_way(engine: Choice) -> None:
    result = spn.simulate(spn.load("basics/mm1k.spn"), seed=1, precision=0.2, engine=engine)
    assert result.details["method"] == "direct method (all laws are exponential)"


def test_other_laws_need_clocks() -> None:
    result = spn.simulate(spn.load("basics/md1k.spn"), seed=1, precision=0.2)
    assert result.details["method"] == "event queue (the law of serve is not exponential)"


@pytest.mark.parametrize(("transitions", "method"), [(40, "direct method"), (70, "event queue (70 transitions of one clock each")])
def test_many_single_exponential_clocks_are_queued(transitions: int, method: str) -> None:
    """A ring with one token in it, whose places it visits equally often by either method."""
    ring = range(transitions)
    places = tuple(Place(name=f"p{i}", initial=int(i == 0)) for i in ring)
    moves = tuple(Timed(name=f"t{i}", law=exp(1), arcs=(takes(f"p{i}"), gives(f"p{(i + 1) % transitions}"))) for i in ring)
    body = Average(tokens("p0") * transitions)
    model = spn.Model(name="ring", net=Net(places=places, transitions=moves), measures=(Measure(name="x", body=body),))
    result = spn.simulate(model, seed=1, precision=0.05, confidence=0.9999)
    assert result.details["method"].startswith(method)
    assert abs(result["x"] - 1) < (result.measures["x"].half_width or 0)


def test_python_and_kernel_give_one_answer() -> None:
    model = spn.load("basics/epidemic.spn")
    slow, fast = (spn.simulate(model, seed=4, precision=0.1, engine=engine) for engine in ("python", "compiled"))
    for name, value in slow.measures.items():
        assert (value.value, value.half_width) == pytest.approx((fast[name], fast.measures[name].half_width), rel=1e-9)
