"""In the long run as many tokens flow into a bounded place as out of it, a flush counting what it took: on random nets."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from spn.errors import SemanticsError
from spn.expr.nodes import Node, tokens
from spn.measure import Average, Throughput
from spn.net.model import ArcKind, Net
from spn.solvers import solve
from tests.reach.test_explore import nets
from tests.solvers.nets import model


def flows(net: Net, place: str) -> tuple[Node, Node]:
    """Tokens per second into and out of a place. The nets have constant multiplicities."""
    into: Node = Throughput(net.transitions[0].name) * 0
    out = into
    for t in net.transitions:
        taken: Node = sum((a.multiplicity.value for a in t.arcs if a.kind is ArcKind.INPUT and a.place == place), 0)
        put = sum(a.multiplicity.value for a in t.arcs if a.kind is ArcKind.OUTPUT and a.place == place)
        into = into + Throughput(t.name) * put
        if any(a.kind is ArcKind.FLUSH and a.place == place for a in t.arcs):
            out = out + _flushed(t.name, place)
        else:
            out = out + Throughput(t.name) * taken
    return into, out


def _flushed(transition: str, place: str) -> Node:
    return Throughput(transition) * Average(tokens(place), transition)


@settings(max_examples=80, deadline=None)
@given(nets())
def test_flow_in_is_flow_out(net: Net) -> None:
    measures = {
        f"{place.name} {way}": flow for place in net.places for way, flow in zip(("in", "out"), flows(net, place.name), strict=True)
    }
    try:
        result = solve(model(net, **measures), method="ctmc")
    except SemanticsError:
        return
    assert result.converged
    assert sum(c.probability for c in result.classes) == pytest.approx(1 if result.classes else 0, rel=1e-12)
    for place in net.places:
        into, out = result[f"{place.name} in"], result[f"{place.name} out"]
        if not math.isnan(out):  # a flush that never fires averages over nothing
            assert into == pytest.approx(out, rel=1e-11, abs=1e-13)
