"""Likelihood ratios of nets whose timed laws are all exponential: the score as sums over firings and time.

A firing of t in marking m adds d ln rate(t, m) to the score, the time in m takes away d rate(t, m) for every t, and a choice among
immediates adds d ln of its probability: the derivative of the logarithm of the path's density (M. I. Reiman and A. Weiss, Sensitivity
analysis for simulations via likelihood ratios, Operations Research 37, 1989, doi:10.1287/opre.37.5.830; P. W. Glynn, Likelihood ratio
gradient estimation for stochastic systems, Comm. ACM 33, 1990, doi:10.1145/84537.84552). All of it is linear in primitives that any
trajectory carries, so that the compiled kernel computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from spn.expr.evaluate import fold
from spn.expr.nodes import ONE, Binary, BinaryOp, Node, Tokens, as_node, call, conditional
from spn.measure import FiringRate, Primitive, RunningClocks, TimeAverage
from spn.net.model import INFINITE, ArcKind, Immediate, Net, Timed, Transition
from spn.sim.derivatives.changes import Change
from spn.sim.direct.plan import Plan, plan
from spn.sim.setup import prepare

Score = Mapping[Primitive, float]  # the coefficients of primitives
MANY = 2**31


def score(net: Net, change: Change) -> Score:
    """The score by a change of a net without an obstacle to the direct method."""
    own, plus, minus = (plan(prepare(n, ())) for n in (net, change.plus.net, change.minus.net))
    found: dict[Primitive, float] = {}

    def add(p: Primitive, coefficient: float) -> None:
        if coefficient:
            found[p] = found.get(p, 0.0) + coefficient

    for k, i in enumerate(own.slots):
        for p, c in _of_slot(net, change, (own, plus, minus), k, i):
            add(p, c)
    for p, c in _of_choices(net, change):
        add(p, c)
    return found


def _of_slot(net: Net, change: Change, plans: tuple[Plan, Plan, Plan], k: int, i: int) -> Iterator[tuple[Primitive, float]]:
    own, plus, minus = plans
    t = net.transitions[i]
    assert isinstance(t, Timed)
    c = (math.log(plus.rates[k]) - math.log(minus.rates[k])) / (2 * change.step)
    if not own.moving[k]:
        yield FiringRate(t.name), c
        yield RunningClocks(t.name), -c * own.rates[k]
        return
    work = fold(running(t, net) * t.speed)
    yield FiringRate(t.name), c
    if c:
        yield TimeAverage(work), -c * own.rates[k]
    speeds = [_speed(m, i) for m in (change.plus.net, change.minus.net)]
    if speeds[0] != speeds[1]:
        slope = (speeds[0] - speeds[1]) / as_node(2 * change.step)
        yield FiringRate(t.name, _over(slope, t.speed)), 1.0
        yield TimeAverage(fold(running(t, net) * slope)), -own.rates[k]


def _speed(net: Net, i: int) -> Node:
    t = net.transitions[i]
    assert isinstance(t, Timed)
    return t.speed


def _of_choices(net: Net, change: Change) -> Iterator[tuple[Primitive, float]]:
    """Choices among immediates whose weights change."""
    rows = [
        (a, b, c)
        for a, b, c in zip(net.transitions, change.plus.net.transitions, change.minus.net.transitions, strict=True)
        if isinstance(a, Immediate)
    ]
    slopes = {a.name: fold((b.weight - c.weight) / as_node(2 * change.step)) for a, b, c in rows if b.weight != c.weight}
    for priority in sorted({a.priority for a, _, _ in rows if a.name in slopes}):
        level = [a for a, _, _ in rows if a.priority == priority]
        moved = [conditional(enabled(a, net), slopes[a.name], 0) for a in level if a.name in slopes]
        weights = [conditional(enabled(a, net), a.weight, 0) for a in level]
        mean = _over(_sum(moved), _sum(weights))
        for a in level:
            own = _over(slopes[a.name], a.weight) if a.name in slopes else as_node(0)
            yield FiringRate(a.name, fold(own - mean)), 1.0


def _over(top: Node, bottom: Node) -> Node:
    """The quotient, 0 where the denominator is: rewards are read in markings too in which nothing fires for them."""
    return fold(conditional(bottom > 0, top / bottom, 0))


def _sum(nodes: Sequence[Node]) -> Node:
    return reduce(lambda a, b: a + b, nodes)


def enabled(t: Transition, net: Net) -> Node:
    """The condition that a transition is enabled, as an expression over markings."""
    takes = _inputs(t)
    parts: list[Node] = [] if t.guard is None else [t.guard]
    parts += [Tokens(p) >= a for p, a in takes.items()]
    for arc in t.arcs:
        if arc.kind is ArcKind.TEST:
            parts.append(Tokens(arc.place) >= arc.multiplicity)
        elif arc.kind is ArcKind.INHIBITOR:
            parts.append((Tokens(arc.place) < arc.multiplicity) | (arc.multiplicity <= 0))
    capacities = {p.name: p.capacity for p in net.places if p.capacity is not None}
    flushed = {arc.place for arc in t.arcs if arc.kind is ArcKind.FLUSH}
    for p, b in _summed(t, ArcKind.OUTPUT).items():
        if p in capacities:
            left: Node = as_node(0) if p in flushed else Tokens(p) - takes.get(p, as_node(0))
            parts.append(left + b <= capacities[p])
    return reduce(lambda a, b: Binary(BinaryOp.AND, a, b), parts) if parts else ONE


def running(t: Timed, net: Net) -> Node:
    """The number of running clocks of a transition, as an expression over markings."""
    most = MANY if t.servers == INFINITE else t.servers
    limits = [conditional(a > 0, Tokens(p) // call("max", a, 1), most) for p, a in _inputs(t).items()]
    degree = call("min", most, *limits) if limits else ONE
    return conditional(enabled(t, net), degree, 0)


def _inputs(t: Transition) -> dict[str, Node]:
    return _summed(t, ArcKind.INPUT)


def _summed(t: Transition, kind: ArcKind) -> dict[str, Node]:
    """The multiplicities of a transition's arcs of one kind by place; several add."""
    found: dict[str, Node] = {}
    for arc in t.arcs:
        if arc.kind is kind:
            found[arc.place] = found[arc.place] + arc.multiplicity if arc.place in found else arc.multiplicity
    return found
