"""Measures: arithmetic over long-run averages, and the primitives that engines compute.

A measure is an expression tree (:mod:`spn.expr.nodes`) whose leaves are the atoms below. Every atom is a ratio of *primitives*; an
engine computes the primitives asked for and :func:`value` does the arithmetic on the final values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spn.errors import Diagnostic, nearest
from spn.expr.dims import NUMBER, Dimension
from spn.expr.evaluate import Undefined, arithmetic
from spn.expr.nodes import ONE, Atom, Exact, Node, Tokens, places_of, walk
from spn.net.model import INFINITE, ArcKind, Net, Timed
from spn.source import Span


@dataclass(frozen=True, slots=True)
class Average(Atom):
    """``E(value)``: time average of a marking expression; ``given`` names a transition for ``E(value | t)``, the average over its
    firings in the marking just before. ``P(condition)`` is the average of the condition."""

    value: Node
    given: str | None = None
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Throughput(Atom):
    """Mean firings of a transition per second; immediates too."""

    transition: str
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Utilisation(Atom):
    """Of a transition: mean running clocks over servers. Of a link: mean rate used over capacity. Transitions first, then links."""

    target: str
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Sojourn(Atom):
    """Mean time a token stays in a place, by Little's law: E(#place) over the flow of tokens into it."""

    place: str
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Horizon(Atom):
    """A value at a time instead of in the long run: ``measure at end`` (``start`` None: right-continuous, what happens at ``end`` has
    happened), the average ``over start..end``, or with ``total`` the integral (of a throughput: the mean number of firings) over it."""

    measure: Average | Throughput
    start: Exact | None
    end: Exact
    total: bool = False
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Passage(Atom):
    """The first time at which ``condition`` holds in a tangible marking, 0 if at once: its mean (infinite where it may never hold), with
    ``within`` the probability that it is at most that, with ``quantile`` that quantile."""

    condition: Node
    within: Exact | None = None
    quantile: Exact | None = None
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Delay(Atom):
    """``E(time from first to second)``: the mean time of a token from the firing of one transition that brought it to the firing of
    another that takes it away, over all tokens in the long run; with ``within`` the share of tokens that take at most that, with
    ``quantile`` that quantile. Which places are between, and whether tokens keep their order, says :mod:`spn.structural.way`."""

    first: str
    second: str
    quantile: Exact | None = None
    within: Exact | None = None
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Quantile(Atom):
    """The smallest x such that a marking expression is at most x for a fraction ``level`` of the time, or of the firings of ``given``."""

    level: Exact
    value: Node
    given: str | None = None
    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)


Special = Horizon | Passage | Delay | Quantile  # no ratio of long-run averages: engines answer each as a whole


def expressions_in(atom: Node) -> tuple[Node, ...]:
    """The marking expressions that an atom reads."""
    match atom:
        case Average(value=v) | Quantile(value=v):
            return (v,)
        case Horizon(measure=m):
            return expressions_in(m)
        case Passage(condition=c):
            return (c,)
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A named question. ``dimension`` is that of the value; ``unit`` and ``unit_factor`` how to show it (value / unit_factor unit),
    unit "" for the base unit of the dimension."""

    name: str
    body: Node
    dimension: Dimension = NUMBER
    unit: str = ""
    unit_factor: Exact = 1.0
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """``expect left == right within tolerance``: an equation or inequality of measures that `spn test` checks.

    ``op`` is one of == < <= > >=; ``tolerance`` applies to ==, relative to ``right`` unless ``absolute``. ``where`` are the values of
    parameters for which it is meant, in base units: the model made with them is the one to ask. ``unit`` and ``unit_factor`` say how to
    show the sides: as the measure that ``left`` names, if it names one."""

    left: Node
    op: str
    right: Node
    tolerance: Exact
    absolute: bool = False
    where: tuple[tuple[str, Exact], ...] = ()
    unit: str = field(default="", compare=False)
    unit_factor: Exact = field(default=1.0, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


# --- primitives -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimeAverage:
    """Time average of a marking expression over tangible markings."""

    value: Node


@dataclass(frozen=True, slots=True)
class FiringRate:
    """Mean of the sum of ``value`` (read in the marking just before) over the firings of ``transition``, per second."""

    transition: str
    value: Node = ONE


@dataclass(frozen=True, slots=True)
class RunningClocks:
    """Time average of the number of running clocks of a timed transition, min(servers, enabling degree)."""

    transition: str


@dataclass(frozen=True, slots=True)
class LinkRate:
    """Time average of the rate used on a link, bytes/s."""

    link: str


Primitive = TimeAverage | FiringRate | RunningClocks | LinkRate | Horizon | Passage | Delay | Quantile


@dataclass(frozen=True, slots=True)
class Ratio:
    """An atom in terms of primitives: factor * sum(numerators) / sum(denominators); ``denominators`` None means it is no ratio, while an
    empty sum is 0 (the sojourn in a place that nothing flows into)."""

    numerators: tuple[Primitive, ...]
    denominators: tuple[Primitive, ...] | None = None
    factor: float = 1.0


def ratio(atom: Atom, net: Net) -> Ratio:
    """The primitives behind an atom. Names are assumed checked; utilisation of an infinite-server transition is a ValueError."""
    match atom:
        case Average(value=v, given=None):
            return Ratio((TimeAverage(v),))
        case Average(value=v, given=str(t)):
            return Ratio((FiringRate(t, v),), (FiringRate(t),))
        case Throughput(transition=t):
            return Ratio((FiringRate(t),))
        case Utilisation(target=name):
            return _utilisation(name, net)
        case Sojourn(place=p):
            return Ratio((TimeAverage(Tokens(p)),), _inflow(p, net))
        case Horizon() | Passage() | Delay() | Quantile():
            return Ratio((atom,))
    raise TypeError(f"not a measure: {atom!r}")


def _utilisation(name: str, net: Net) -> Ratio:
    for t in net.transitions:
        if t.name == name:
            if not isinstance(t, Timed) or t.servers == INFINITE:
                raise ValueError(f"{name} has no finite number of servers, so no utilisation")
            return Ratio((RunningClocks(name),), factor=1.0 / t.servers)
    link = next(link for link in net.links if link.name == name)
    return Ratio((LinkRate(name),), factor=1.0 / float(link.capacity))


def _inflow(place: str, net: Net) -> tuple[Primitive, ...]:
    return tuple(
        FiringRate(t.name, arc.multiplicity) for t in net.transitions for arc in t.arcs if arc.kind is ArcKind.OUTPUT and arc.place == place
    )


def atoms(body: Node) -> tuple[Atom, ...]:
    """The distinct atoms of a measure, in order of appearance."""
    return tuple(dict.fromkeys(n for n in walk(body) if isinstance(n, Atom)))


def primitives(body: Node, net: Net) -> tuple[Primitive, ...]:
    """The distinct primitives a measure needs, in order."""
    found: dict[Primitive, None] = {}
    for atom in atoms(body):
        r = ratio(atom, net)
        found.update(dict.fromkeys(r.numerators + (r.denominators or ())))
    return tuple(found)


def value(body: Node, net: Net, known: Mapping[Primitive, float]) -> float:
    """The measure's value from the values of its primitives; nan where it is undefined: a ratio is 0/0, or the arithmetic divides by 0 or
    leaves the range of its functions."""

    def leaf(atom: Node) -> float:
        assert isinstance(atom, Atom)
        r = ratio(atom, net)
        top = r.factor * sum(known[p] for p in r.numerators)
        if r.denominators is None:
            return top
        bottom = sum(known[p] for p in r.denominators)
        if bottom:
            return top / bottom
        return math.copysign(math.inf, top) if top else math.nan

    try:
        return float(arithmetic(body, leaf))
    except (Undefined, OverflowError):
        return math.nan


def check_measures(measures: Sequence[Measure], net: Net) -> list[Diagnostic]:
    """What is wrong with questions asked of a net: names that it does not have, two measures of one name, and markings where a
    measure is due or the other way round. The language finds all this in the text; this is for measures made in Python."""
    places, links = [p.name for p in net.places], [link.name for link in net.links]
    transitions = [t.name for t in net.transitions]
    known = {"place": places, "transition": transitions, "transition or link": transitions + links}
    found: list[Diagnostic] = []
    for m in measures:
        uses = [use for n in walk(m.body) for use in _uses(n)]
        for kind, name in dict.fromkeys(uses):
            if kind == "":
                found.append(Diagnostic(code="E0209", message=f"measure {m.name}: {name}", span=m.span))
            elif name not in known[kind]:
                near = nearest(name, known[kind])
                message = f"measure {m.name} asks for the {kind} {name}, which the net does not have"
                found.append(Diagnostic(code="E0201", message=message, span=m.span, help=f"did you mean {near}?" if near else ""))
    names = [m.name for m in measures]
    twice = sorted({n for n in names if names.count(n) > 1})
    return found + [Diagnostic(code="E0202", message=f"there are two measures {n}", help="give one another name") for n in twice]


def _uses(n: Node) -> Iterator[tuple[str, str]]:
    """The names that a node of a measure uses, with their kinds; kind "" and a complaint where it is no measure."""
    match n:
        case Tokens(place=p):
            yield "", f"#{p} stands outside of E(...) or P(...)"
        case Average(value=v, given=t):
            yield from (("place", p) for p in sorted(places_of(v)))
            if any(isinstance(x, Atom) for x in walk(v)):
                yield "", "a measure stands inside of E(...) or P(...)"
            if t is not None:
                yield "transition", t
        case Throughput(transition=t):
            yield "transition", t
        case Utilisation(target=t):
            yield "transition or link", t
        case Sojourn(place=p):
            yield "place", p
