"""The net: places, links, transitions and arcs, frozen. It computes nothing; :mod:`spn.net.semantics` says what it means.

All quantities are in base units (seconds, bytes). ``span`` rides along so that any later refusal still points at the source text;
it takes no part in equality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from spn.dist.law import Law
from spn.expr.nodes import ONE, Exact, Node
from spn.source import Span

INFINITE: Literal["inf"] = "inf"
Servers = int | Literal["inf"]


class ArcKind(StrEnum):
    INPUT = "input"
    OUTPUT = "output"
    TEST = "test"
    INHIBITOR = "inhibitor"
    FLUSH = "flush"


class Memory(StrEnum):
    """What becomes of a clock that is stopped before it expires (restart: prd, resume: prs, repeat: pri)."""

    RESTART = "restart"
    RESUME = "resume"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    name: str
    initial: int = 0
    capacity: int | None = None
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A shared transmission line; ``capacity`` in bytes/s."""

    name: str
    capacity: Exact
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """An arc between the transition that holds it and ``place``. Several of one kind to one place are allowed and mean what
    SEMANTICS says (inputs and outputs add, tests take the largest, inhibitors the smallest). A flush arc's multiplicity is 1 and unused."""

    kind: ArcKind
    place: str
    multiplicity: Node = ONE
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Work that goes over links: the law of the transition is a size in bytes."""

    links: tuple[str, ...]
    share: Node = ONE
    cap: Exact | None = None
    latency: Exact = Fraction(0)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Immediate:
    name: str
    arcs: tuple[Arc, ...] = ()
    guard: Node | None = None
    priority: int = 1
    weight: Node = ONE
    resets: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A transition with clocks. Work drawn from ``law`` times ``scale`` (at the draw) runs down at ``speed`` times, for a transfer,
    the rate that its links give. A marking-dependent rate ``exp(rate = f)`` is the law Exp(1) at speed ``f``.
    ``priority`` and ``weight`` settle simultaneous expiry only."""

    name: str
    law: Law
    arcs: tuple[Arc, ...] = ()
    guard: Node | None = None
    servers: Servers = 1
    memory: Memory = Memory.RESTART
    speed: Node = ONE
    scale: Node = ONE
    transfer: Transfer | None = None
    priority: int = 1
    weight: Node = ONE
    resets: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    law_span: Span | None = field(default=None, compare=False, repr=False)


Transition = Immediate | Timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One replica: its index, and the names of all that belongs to it."""

    index: tuple[int, ...]
    places: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    transitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """What a model replicates over an index: instances ``w[i]``, or an array of places, links or transitions.

    A *candidate* for symmetry, which nothing here promises: member k of one may have another rate, or a neighbour of its own, so who
    uses it verifies that a permutation of the members (with those of other arrays of the same indices) maps the net to itself.
    Members list their names in one order. ``shifted``: the text reaches other indices than its own (``i mod n + 1``), so that
    rotations are the most to hope for.
    """

    name: str
    members: tuple[Member, ...]
    shifted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """A stochastic Petri net. The order of places fixes the order of a marking's components. ``replicas`` takes no part in equality."""

    name: str = ""
    places: tuple[Place, ...] = ()
    links: tuple[Link, ...] = ()
    transitions: tuple[Transition, ...] = ()
    replicas: tuple[Replicas, ...] = field(default=(), compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)


Marking = tuple[int, ...]


def initial_marking(net: Net) -> Marking:
    return tuple(p.initial for p in net.places)


def place_index(net: Net) -> dict[str, int]:
    return {p.name: i for i, p in enumerate(net.places)}


def transition_index(net: Net) -> dict[str, int]:
    return {t.name: i for i, t in enumerate(net.transitions)}


def timed(net: Net) -> tuple[Timed, ...]:
    return tuple(t for t in net.transitions if isinstance(t, Timed))


def immediates(net: Net) -> tuple[Immediate, ...]:
    return tuple(t for t in net.transitions if isinstance(t, Immediate))
