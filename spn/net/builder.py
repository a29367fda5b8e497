"""Building nets in Python; the only mutable thing about nets. It makes the very same nets as the language does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from spn.dist.families import Deterministic, Exponential
from spn.dist.law import Law
from spn.errors import ModelError
from spn.expr.evaluate import fold
from spn.expr.nodes import ONE, Exact, Node, Number, Operand, as_node, exact
from spn.net.check import check
from spn.net.model import Arc, ArcKind, Immediate, Link, Memory, Net, Place, Servers, Timed, Transfer, Transition

Arcs = str | Iterable[str] | Mapping[str, Operand]


class NetBuilder:
    """Collects places, links and transitions; :meth:`build` checks them and returns the frozen net.

    Arcs are given as one place name, several, or a mapping from place to multiplicity (a number or a marking expression):
    ``inputs={"queue": 2, "gpu": 1}``. Quantities are in base units, seconds and bytes.

    >>> b = NetBuilder("machine repairman")
    >>> b.place("up", 3); b.place("down")
    >>> b.timed("fail", "up", "down", rate=0.1, servers="inf")
    >>> b.timed("repair", "down", "up", rate=1)
    >>> net = b.build()
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._places: list[Place] = []
        self._links: list[Link] = []
        self._transitions: list[Transition] = []

    def place(self, name: str, tokens: int = 0, *, capacity: int | None = None, doc: str = "") -> None:
        """A place with its initial tokens; a capacity disables what would exceed it."""
        self._places.append(Place(name=name, initial=tokens, capacity=capacity, doc=doc))

    def link(self, name: str, capacity: float | Fraction, *, doc: str = "") -> None:
        """A shared link; capacity in bytes/s."""
        self._links.append(Link(name=name, capacity=exact(capacity), doc=doc))

    def immediate(
        self,
        name: str,
        inputs: Arcs = (),
        outputs: Arcs = (),
        *,
        tests: Arcs = (),
        inhibitors: Arcs = (),
        flushes: Iterable[str] = (),
        weight: Operand = 1,
        priority: int = 1,
        when: Operand | None = None,
        resets: Iterable[str] = (),
        doc: str = "",
    ) -> None:
        """A transition that fires in zero time, before every timed one."""
        self._transitions.append(
            Immediate(
                name=name,
                arcs=_all_arcs(inputs, tests, inhibitors, flushes, outputs),
                guard=_optional(when),
                priority=priority,
                weight=_quantity(weight),
                resets=tuple(resets),
                doc=doc,
            )
        )

    def timed(
        self,
        name: str,
        inputs: Arcs = (),
        outputs: Arcs = (),
        law: Law | float | Fraction | None = None,
        *,
        rate: Operand | None = None,
        over: str | Iterable[str] = (),
        share: Operand = 1,
        cap: float | Fraction | None = None,
        latency: float | Fraction = 0,
        tests: Arcs = (),
        inhibitors: Arcs = (),
        flushes: Iterable[str] = (),
        servers: Servers | None = None,
        memory: Memory | str = Memory.RESTART,
        speed: Operand = 1,
        scale: Operand = 1,
        when: Operand | None = None,
        priority: int = 1,
        weight: Operand = 1,
        resets: Iterable[str] = (),
        doc: str = "",
    ) -> None:
        """A transition with clocks.

        Give ``law`` (a bare number is a constant: seconds, or bytes ``over`` links) or ``rate`` for the exponential one, which may be a
        marking expression: the rate of one clock. ``servers`` defaults to 1, over links to ``"inf"``.
        """
        transfer = _transfer(over, share, cap, latency)
        drawn, pace = _law_and_speed(name, law, rate, speed)
        self._transitions.append(
            Timed(
                name=name,
                law=drawn,
                arcs=_all_arcs(inputs, tests, inhibitors, flushes, outputs),
                guard=_optional(when),
                servers=servers if servers is not None else "inf" if transfer else 1,
                memory=Memory(memory),
                speed=pace,
                scale=_quantity(scale),
                transfer=transfer,
                priority=priority,
                weight=_quantity(weight),
                resets=tuple(resets),
                doc=doc,
            )
        )

    def build(self) -> Net:
        """The frozen net, or a :class:`ModelError` with all that is wrong with it."""
        net = Net(name=self._name, places=tuple(self._places), links=tuple(self._links), transitions=tuple(self._transitions))
        problems = check(net)
        if problems:
            raise ModelError(*problems)
        return net


def _quantity(value: Operand) -> Node:
    return fold(as_node(value))


def _optional(value: Operand | None) -> Node | None:
    return None if value is None else _quantity(value)


def _law_and_speed(name: str, law: Law | float | Fraction | None, rate: Operand | None, speed: Operand) -> tuple[Law, Node]:
    if (law is None) == (rate is None):
        raise TypeError(f"transition {name}: give either a law or a rate")
    pace = _quantity(speed)
    if law is not None:
        return (law if isinstance(law, Law) else Deterministic(value=exact(law))), pace
    assert rate is not None
    node = _quantity(rate)
    if isinstance(node, Number) and node.value > 0:
        return Exponential(rate=float(node.value)), pace
    return Exponential(rate=1.0), node if pace == ONE else fold(node * pace)


def _transfer(over: str | Iterable[str], share: Operand, cap: float | Fraction | None, latency: float | Fraction) -> Transfer | None:
    links = (over,) if isinstance(over, str) else tuple(over)
    if not links:
        return None
    limit: Exact | None = None if cap is None else exact(cap)
    return Transfer(links=links, share=_quantity(share), cap=limit, latency=exact(latency))


def _all_arcs(inputs: Arcs, tests: Arcs, inhibitors: Arcs, flushes: Iterable[str], outputs: Arcs) -> tuple[Arc, ...]:
    return (
        *_arcs(ArcKind.INPUT, inputs),
        *_arcs(ArcKind.TEST, tests),
        *_arcs(ArcKind.INHIBITOR, inhibitors),
        *_arcs(ArcKind.FLUSH, (flushes,) if isinstance(flushes, str) else flushes),
        *_arcs(ArcKind.OUTPUT, outputs),
    )


def _arcs(kind: ArcKind, given: Arcs) -> Iterable[Arc]:
    if isinstance(given, str):
        return (Arc(kind=kind, place=given),)
    if isinstance(given, Mapping):
        return tuple(Arc(kind=kind, place=p, multiplicity=_quantity(k)) for p, k in given.items())
    return tuple(Arc(kind=kind, place=p) for p in given)
