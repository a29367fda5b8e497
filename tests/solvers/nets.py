"""Short ways to build the models of these tests."""

from __future__ import annotations

from spn.expr.nodes import Node, tokens
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.model import Net


def P(condition: Node) -> Average:
    return Average(condition)


def E(place: str) -> Average:
    return Average(tokens(place))


def X(transition: str) -> Throughput:
    return Throughput(transition)


def model(net: Net | NetBuilder, **measures: Node) -> Model:
    """A model with the given questions; names are the keywords."""
    built = net.build() if isinstance(net, NetBuilder) else net
    return Model(name=built.name, net=built, measures=tuple(Measure(name=n, body=b) for n, b in measures.items()), unitless=True)
