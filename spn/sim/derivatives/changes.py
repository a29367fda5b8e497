"""What a parameter, or the speed of a transition, changes in a net: its laws, speeds and weights, never its structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.errors import SpnError
from spn.expr.nodes import Number
from spn.measure import primitives
from spn.model import Model, Parameter
from spn.net.model import Net, Timed, Transition

STEP = Fraction(1, 4096)  # of a parameter's value; rates and weights are differentiated by differences, whose error is its square


@dataclass(frozen=True, slots=True)
class Change:
    """A parameter (``kind`` ``"derivative"``) or a factor to the speed of a transition (``"speed"``), with the model at ``at`` ± ``step``;
    ``why``: why there is no derivative by it, empty where there may be."""

    name: str
    kind: str
    at: float
    plus: Model
    minus: Model
    step: float
    why: str = ""


def changes(model: Model) -> Iterator[Change]:
    """By every parameter and by the speed of every timed transition."""
    for p in model.parameters:
        yield _by_parameter(model, p)
    for t in model.net.transitions:
        if isinstance(t, Timed):
            plus, minus = (replace(model, net=_faster(model.net, t, 1 + s * STEP)) for s in (1, -1))
            yield Change(t.name, "speed", 1.0, plus, minus, float(STEP))


def _faster(net: Net, t: Timed, factor: Fraction) -> Net:
    faster = replace(t, speed=Number(factor) * t.speed)
    return replace(net, transitions=tuple(faster if x is t else x for x in net.transitions))


def _by_parameter(model: Model, p: Parameter) -> Change:
    def none(why: str) -> Change:
        return Change(p.name, "derivative", float(p.value), model, model, 1.0, why)

    if model.variant is None:
        return none("the model is not written in the language")
    if p.kind in ("count", "bool"):
        return none("a whole number has no derivative; the exact method gives the difference")
    if not p.value:
        return none("its value is 0: no relative step from there")
    try:
        plus, minus = (_like(model, model.variant({p.name: p.value * (1 + s * STEP)})) for s in (1, -1))
    except SpnError as error:
        return none(error.diagnostics[0].message)
    if not (_alike(model, plus) and _alike(model, minus)):
        return none("it changes the structure of the net, or what a measure reads")
    return Change(p.name, "derivative", float(p.value), plus, minus, float(p.value * STEP))


def _like(model: Model, other: Model) -> Model:
    """The other model with the same choice of measures."""
    made = {m.name: m for m in other.measures}
    return replace(other, measures=tuple(made.get(m.name, m) for m in model.measures))


def _alike(a: Model, b: Model) -> bool:
    """Whether two models differ in laws, speeds, scales and weights at most, and in constants of measures."""
    nets = (replace(a.net, transitions=()), replace(b.net, transitions=()))
    if nets[0] != nets[1] or len(a.net.transitions) != len(b.net.transitions):
        return False
    if not all(_same(s, t) for s, t in zip(a.net.transitions, b.net.transitions, strict=True)):
        return False
    return all(primitives(m.body, a.net) == primitives(n.body, b.net) for m, n in zip(a.measures, b.measures, strict=True))


def _same(s: Transition, t: Transition) -> bool:
    if isinstance(s, Timed) and isinstance(t, Timed):
        return s == replace(t, law=s.law, speed=s.speed, scale=s.scale, weight=s.weight)
    return type(s) is type(t) and s == replace(t, weight=s.weight)
