"""Building nets in Python; the only mutable thing about nets. It makes the very same nets as the language does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Integral, Real

from spn.dist.families import Deterministic, Exponential
from spn.dist.law import Law
from spn.errors import ModelError, SpnError, refuse
from spn.expr.evaluate import fold
from spn.expr.nodes import ONE, Exact, Node, Number, Operand, as_node, exact
from spn.net.check import check
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Link, Memory, Net, Place, Servers, Timed, Transfer, Transition

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
        what = f"place {_name('place', name)}"
        room = None if capacity is None else _count(f"the capacity of {what}", capacity)
        self._places.append(Place(name=name, initial=_count(f"the initial marking of {what}", tokens), capacity=room, doc=doc))

    def link(self, name: str, capacity: float | Fraction, *, doc: str = "") -> None:
        """A shared link; capacity in bytes/s."""
        amount = _amount(f"the capacity of link {_name('link', name)}", capacity)
        self._links.append(Link(name=name, capacity=amount, doc=doc))

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
                name=_name("transition", name),
                arcs=_all_arcs(inputs, tests, inhibitors, flushes, outputs),
                guard=_optional(when),
                priority=_count(f"the priority of {name}", priority),
                weight=_quantity(weight),
                resets=_names(f"resets of {name}", resets),
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
        transfer = _transfer(_name("transition", name), over, share, cap, latency)
        drawn, pace = _law_and_speed(name, law, rate, speed)
        self._transitions.append(
            Timed(
                name=name,
                law=drawn,
                arcs=_all_arcs(inputs, tests, inhibitors, flushes, outputs),
                guard=_optional(when),
                servers=_servers(name, servers, "inf" if transfer else 1),
                memory=_memory(name, memory),
                speed=pace,
                scale=_quantity(scale),
                transfer=transfer,
                priority=_count(f"the priority of {name}", priority),
                weight=_quantity(weight),
                resets=_names(f"resets of {name}", resets),
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


def _wrong(message: str, help: str = "") -> SpnError:
    return refuse(ModelError, "E0401", message, help=help)


def _name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name or "`" in name or "\n" in name:
        raise _wrong(f"the name of a {kind} is {name!r}; it is a text that is not empty, on one line, without a backquote")
    return name


def _names(what: str, given: object) -> tuple[str, ...]:
    """One name or several."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    if names is None or not all(isinstance(n, str) for n in names):
        raise _wrong(f"{what}: {given!r} is neither a name nor a list of names")
    return names


def _count(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _wrong(f"{what} is {value!r}; it is a whole number")
    return int(value)


def _amount(what: str, value: object) -> Exact:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong(f"{what} is {value!r}; it is a number in base units, seconds or bytes")
    return exact(value if isinstance(value, Fraction) else int(value) if isinstance(value, Integral) else float(value))


def _servers(name: str, servers: object, default: Servers) -> Servers:
    if servers is None:
        return default
    if servers in (INFINITE, math.inf):
        return INFINITE
    if isinstance(servers, bool) or not isinstance(servers, Integral):
        raise _wrong(f"{name} has {servers!r} servers", 'give a whole number or "inf"')
    return int(servers)


def _memory(name: str, memory: str) -> Memory:
    if memory not in tuple(Memory):
        raise _wrong(f"the memory of {name} is {memory!r}", f"it is one of {', '.join(Memory)}")
    return Memory(memory)


def _quantity(value: Operand) -> Node:
    return fold(as_node(value))


def _optional(value: Operand | None) -> Node | None:
    return None if value is None else _quantity(value)


def _law_and_speed(name: str, law: Law | float | Fraction | None, rate: Operand | None, speed: Operand) -> tuple[Law, Node]:
    if (law is None) == (rate is None):
        raise TypeError(f"transition {name}: give either a law or a rate")
    pace = _quantity(speed)
    if law is not None:
        return (law if isinstance(law, Law) else _deterministic(name, law)), pace
    assert rate is not None
    node = _quantity(rate)
    if isinstance(node, Number) and 0 < node.value < math.inf:
        return Exponential(rate=float(node.value)), pace
    return Exponential(rate=1.0), node if pace == ONE else fold(node * pace)


def _deterministic(name: str, value: object) -> Law:
    work = _amount(f"the law of {name}", value)
    if not 0 <= work < math.inf:
        raise _wrong(f"the law of {name} is {float(work):g}; a constant is finite and not negative")
    return Deterministic(value=work)


def _transfer(
    name: str, over: str | Iterable[str], share: Operand, cap: float | Fraction | None, latency: float | Fraction
) -> Transfer | None:
    links = _names(f"the links of {name}", over)
    if not links:
        return None
    limit = None if cap is None else _amount(f"the cap of {name}", cap)
    return Transfer(links=links, share=_quantity(share), cap=limit, latency=_amount(f"the latency of {name}", latency))


def _all_arcs(inputs: Arcs, tests: Arcs, inhibitors: Arcs, flushes: Iterable[str], outputs: Arcs) -> tuple[Arc, ...]:
    return (
        *_arcs(ArcKind.INPUT, inputs),
        *_arcs(ArcKind.TEST, tests),
        *_arcs(ArcKind.INHIBITOR, inhibitors),
        *_arcs(ArcKind.FLUSH, _names("the flush arcs", flushes)),
        *_arcs(ArcKind.OUTPUT, outputs),
    )


def _arcs(kind: ArcKind, given: Arcs) -> Iterable[Arc]:
    if isinstance(given, Mapping):
        places = _names(f"the {kind} arcs", tuple(given))
        return tuple(Arc(kind=kind, place=p, multiplicity=_quantity(given[p])) for p in places)
    return tuple(Arc(kind=kind, place=p) for p in _names(f"the {kind} arcs", given))
