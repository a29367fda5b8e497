"""The exponential twin of a net: the same net with exponential laws of the same means, which the exact method can solve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.dist.exponential import Exponential
from spn.errors import SpnError
from spn.expr.text import name, to_text
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.model import Model
from spn.net.model import Memory, Net, Timed, Transition
from spn.solvers.averages import Averaged, exact_averages, why_not


class NoTwin(Exception):
    """Why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """The twin's model, and quantities of it that are simulated beside those of the net, with their exact means over the time."""

    model: Model
    primitives: tuple[Primitive, ...]
    means: tuple[float, ...]
    names: tuple[str, ...]


def twin_of(model: Model, wanted: Sequence[Primitive], over: Averaged) -> Twin:
    """The twin of a model for the primitives that are estimated. It only has to be like the net, not to be right: repeated work is drawn
    anew, transfers have no latency. :class:`NoTwin` where the exact method does not take it."""
    like = replace(model, net=twin_net(model.net), measures=(), properties=())
    try:
        means = exact_averages(like, _beside(wanted, model.net), over)
    except SpnError as error:
        raise NoTwin(f"no exponential twin: {why_not(error)}") from None
    known = {p: m for p, m in means.items() if math.isfinite(m)}
    if not known:
        raise NoTwin("no exponential twin: nothing of it is known exactly that is like the measures")
    return Twin(model=like, primitives=tuple(known), means=tuple(known.values()), names=tuple(f"{described(p)} of the twin" for p in known))


def twin_net(net: Net) -> Net:
    """The net with exponential laws of the same means."""
    return replace(net, transitions=tuple(_like(t) for t in net.transitions))


def _like(t: Transition) -> Transition:
    if not isinstance(t, Timed):
        return t
    mean = t.law.mean()
    if not 0 < mean < math.inf:
        raise NoTwin(f"no exponential twin: the mean time of {t.name} is {mean:g}")
    memory = Memory.RESTART if t.memory is Memory.REPEAT else t.memory
    transfer = None if t.transfer is None else replace(t.transfer, latency=Fraction(0))
    law = t.law if isinstance(t.law, Exponential) else Exponential(rate=1 / mean)
    return replace(t, law=law, memory=memory, transfer=transfer)


def _beside(wanted: Sequence[Primitive], net: Net) -> tuple[Primitive, ...]:
    """What the twin is asked for: the same, and for what is not answered over a time the flows that go with it."""
    found: dict[Primitive, None] = {}
    for p in wanted:
        match p:
            case RunningClocks(transition=t):
                found[FiringRate(t)] = None
            case LinkRate(link=link):
                users = (t for t in net.transitions if isinstance(t, Timed) and t.transfer is not None and link in t.transfer.links)
                found.update({FiringRate(t.name): None for t in users})
            case _:
                found[p] = None
    return tuple(found)


def described(p: Primitive) -> str:
    """A primitive as the language has it."""
    match p:
        case TimeAverage(value=v):
            return f"E({to_text(v)})"
        case FiringRate(transition=t):
            return f"throughput({name(t)})"
    return "a quantity"
