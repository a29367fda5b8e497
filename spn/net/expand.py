"""Exact phase-type expansion: a net whose laws are phase-type becomes one whose laws are exponential.

The clocks of a transition t with n > 1 phases become tokens; exponential transitions move them from phase to phase or complete them, and
a completion has the arcs, guard and resets of t. After each firing, once no immediate of the model is enabled, immediates of lower
priority put the number of clocks right: while more run than n(m) = min(servers, degree), one chosen uniformly stops; while fewer run, a
parked one chosen uniformly goes on, or a new one begins in a phase drawn from alpha. Each expanded transition has a priority level of its
own, so that these adjustments do not interleave. A reset empties the places of the clocks. The places of the model come first and keep
their names and order, so that a marking of the expanded net begins with the marking of the model.

With a single server there is one clock at most: the number of its phase is the number of tokens in one place, and equal steps of a chain
of phases are one transition, so that a law of 1,000 stages adds a handful of nodes. With several servers one place per phase counts the
clocks in it.

Source: M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models (1981), ch. 2, for the laws; memory policies as in Ajmone Marsan,
Balbo, Bobbio, Chiola, Conte and Cumani, IEEE Trans. Softw. Eng. 15 (1989) 832.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from spn.dist.exponential import Exponential
from spn.dist.law import PhaseType
from spn.expr.nodes import ONE, Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, as_node, constant
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Memory, Net, Place, Servers, Timed, Transfer, Transition

T = TypeVar("T")

NEVER = 1e-12  # of a phase's total rate: an exit rate below it is rounding of a row that sums to 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """``net`` has exponential laws only. ``completions`` names, for each expanded transition, the transitions whose firings are its
    firings; ``phases`` counts the phases of each expanded transition; ``owner`` says of every place and transition that was added which
    transition it belongs to."""

    net: Net
    completions: Mapping[str, tuple[str, ...]]
    phases: Mapping[str, int]
    owner: Mapping[str, str] = field(default_factory=dict)


def expand(net: Net) -> Expansion:
    """Expand every transition whose law has more than one phase; a law of one phase becomes a plain exponential.

    Raises ValueError where a law is not phase-type, a scale is not a positive constant or the memory is `repeat`: the caller asks first
    (:func:`spn.solvers.ctmc.may` gives all refusals with their places in the text)."""
    laws = {t.name: phases_of(t) for t in net.transitions if isinstance(t, Timed)}
    chosen = [t for t in net.transitions if isinstance(t, Timed) and len(laws[t.name].alpha) > 1]
    name = _namer(net)
    parts = {t.name: _part(t, laws[t.name], level, net, name) for level, t in enumerate(reversed(chosen), start=1)}
    transitions: list[Transition] = []
    owner: dict[str, str] = {p: t.name for t in chosen for p in parts[t.name].places()}
    for t in net.transitions:
        flushes = tuple(_arc(ArcKind.FLUSH, p) for u in t.resets if u in parts for p in parts[u].places())
        if t.name in parts:
            made = parts[t.name].transitions(flushes)
            owner.update((u.name, t.name) for u in made)
            transitions.extend(made)
        else:
            transitions.append(_plain(t, laws, flushes, len(chosen)))
    for t in chosen:
        adjusting = parts[t.name].adjustments()
        owner.update((u.name, t.name) for u in adjusting)
        transitions.extend(adjusting)
    added = tuple(Place(name=p, span=t.span) for t in chosen for p in parts[t.name].places())
    return Expansion(
        net=replace(net, places=net.places + added, transitions=tuple(transitions)),
        completions={t.name: parts[t.name].completions() for t in chosen},
        phases={t.name: parts[t.name].n for t in chosen},
        owner=owner,
    )


def skeleton(net: Net) -> Net:
    """The same net with exponential laws of the same means: it reaches the same markings, because a phase-type clock, like an exponential
    one, may expire at any time."""

    def exponential(t: Transition) -> Transition:
        if not isinstance(t, Timed):
            return t
        return replace(t, law=Exponential(rate=1 / t.law.mean()), scale=as_node(1), memory=Memory.RESTART, resets=())

    return replace(net, transitions=tuple(exponential(t) for t in net.transitions))


def phases_of(t: Timed) -> PhaseType:
    """The phase-type representation of a transition's work, its constant scale included; ValueError where there is none."""
    found, scale = t.law.phase_type(), constant(t.scale)
    if found is None or scale is None or not 0 < scale < float("inf") or t.memory is Memory.REPEAT:
        raise ValueError(f"{t.name} has no phase-type expansion")
    if scale == 1:
        return found
    return PhaseType(alpha=found.alpha, generator=tuple(tuple(x / float(scale) for x in row) for row in found.generator))


def _plain(t: Transition, laws: Mapping[str, PhaseType], flushes: tuple[Arc, ...], levels: int) -> Transition:
    """A transition that is not expanded: resets become flushes, immediates come before all adjustments."""
    if isinstance(t, Immediate):
        return replace(t, arcs=_with(t.arcs, flushes), priority=t.priority + levels, resets=())
    rate = -laws[t.name].generator[0][0]
    return replace(t, law=Exponential(rate=rate), scale=as_node(1), memory=Memory.RESTART, arcs=_with(t.arcs, flushes), resets=())


def _with(arcs: tuple[Arc, ...], more: Iterable[Arc]) -> tuple[Arc, ...]:
    return arcs + tuple(dict.fromkeys(more))


def _arc(kind: ArcKind, place: str, multiplicity: int = 1) -> Arc:
    return Arc(kind=kind, place=place, multiplicity=as_node(multiplicity))


def _namer(net: Net) -> Callable[[str], str]:
    """Names for what is added, none of them taken."""
    taken = {x.name for x in (*net.places, *net.transitions, *net.links)}

    def name(wanted: str) -> str:
        while wanted in taken:
            wanted += "'"
        taken.add(wanted)
        return wanted

    return name


def _part(t: Timed, law: PhaseType, level: int, net: Net, name: Callable[[str], str]) -> _Part:
    return (_OneClock if t.servers == 1 else _Clocks)(t, law, level, net, name)


class _Part(ABC):
    """The pieces that replace one transition."""

    def __init__(self, t: Timed, law: PhaseType, level: int, net: Net, name: Callable[[str], str]) -> None:
        self.t, self.law, self.level, self.name = t, law, level, name
        self.n = len(law.alpha)
        self.resumes = t.memory is Memory.RESUME
        self.clocks = running_clocks(t, net)
        self.done: list[str] = []
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Name the places."""

    @abstractmethod
    def places(self) -> tuple[str, ...]:
        """The places added."""

    @abstractmethod
    def transitions(self, flushes: tuple[Arc, ...]) -> list[Transition]:
        """Completions (with the flushes of the resets) and moves between phases: exponential."""

    @abstractmethod
    def adjustments(self) -> list[Transition]:
        """Immediates that stop surplus clocks and start missing ones."""

    def completions(self) -> tuple[str, ...]:
        return tuple(self.done)

    def exit(self, i: int) -> float:
        row = self.law.generator[i]
        rate = -sum(row)
        return rate if rate > NEVER * -row[i] else 0.0

    def moves(self, i: int) -> dict[int, float]:
        return {j: rate for j, rate in enumerate(self.law.generator[i]) if j != i and rate > 0}

    def ways(self, i: int) -> int:
        """How many transitions compete for a clock in a phase."""
        return len(self.moves(i)) + (self.exit(i) > 0)

    def completion(self, text: str, rate: float, ways: int, servers: Servers, arcs: tuple[Arc, ...]) -> Timed:
        name = self.name(f"{self.t.name} {text}")
        self.done.append(name)
        return self.clocked(name, rate, ways, servers, arcs)

    def move(self, text: str, rate: float, ways: int, servers: Servers, arcs: tuple[Arc, ...]) -> Timed:
        return replace(self.clocked(self.name(f"{self.t.name} {text}"), rate, ways, servers, arcs), guard=None)

    def clocked(self, name: str, rate: float, ways: int, servers: Servers, arcs: tuple[Arc, ...]) -> Timed:
        """One of the ``ways`` out of a phase. On a link, the ways of one clock together are one transfer: each takes its part of share
        and cap."""
        law, transfer = Exponential(rate=rate), self.t.transfer
        if transfer is not None and ways > 1:
            law, transfer = Exponential(rate=rate * ways), _part_of(transfer, ways)
        return replace(
            self.t, name=name, law=law, arcs=arcs, servers=servers, memory=Memory.RESTART, scale=as_node(1), transfer=transfer, resets=()
        )

    def adjustment(self, text: str, arcs: Iterable[Arc], guard: Node, weight: Node = ONE) -> Immediate:
        name = self.name(f"{self.t.name} {text}")
        return Immediate(name=name, arcs=tuple(arcs), guard=guard, weight=weight, priority=self.level, span=self.t.span)


class _OneClock(_Part):
    """At most one clock: ``stage`` tokens are the number of its phase, counted from 1, none where no clock runs; likewise ``parked``."""

    def prepare(self) -> None:
        self.stage = self.name(f"{self.t.name} phase")
        self.parked = [self.name(f"{self.t.name} parked phase")] if self.resumes else []

    def places(self) -> tuple[str, ...]:
        return (self.stage, *self.parked)

    def transitions(self, flushes: tuple[Arc, ...]) -> list[Transition]:
        ends = self._runs((i, (self.exit(i), self.ways(i))) for i in range(self.n) if self.exit(i) > 0)
        steps = self._runs((i, (j - i, rate, self.ways(i))) for i in range(self.n) for j, rate in self.moves(i).items())
        found: list[Transition] = []
        for first, last, (rate, ways) in ends:
            arcs = _with((*self._between(first, last), *self.t.arcs), (_arc(ArcKind.FLUSH, self.stage), *flushes))
            found.append(self.completion(f"ends in phase {first + 1}", rate, ways, 1, arcs))
        for first, last, (by, rate, ways) in steps:
            change = _arc(ArcKind.OUTPUT if by > 0 else ArcKind.INPUT, self.stage, abs(by))
            found.append(self.move(f"moves by {by} from phase {first + 1}", rate, ways, 1, (*self._between(first, last), change)))
        return found

    def _runs(self, items: Iterable[tuple[int, T]]) -> list[tuple[int, int, T]]:
        """Phases that follow one another and do the same: first, last, what."""
        found: dict[T, list[tuple[int, int]]] = {}
        for i, what in items:
            runs = found.setdefault(what, [])
            if runs and runs[-1][1] == i - 1:
                runs[-1] = (runs[-1][0], i)
            else:
                runs.append((i, i))
        return [(first, last, what) for what, runs in found.items() for first, last in runs]

    def _between(self, first: int, last: int) -> tuple[Arc, ...]:
        """The clock is in one of the phases ``first`` to ``last``."""
        return _arc(ArcKind.TEST, self.stage, first + 1), _arc(ArcKind.INHIBITOR, self.stage, last + 2)

    def adjustments(self) -> list[Transition]:
        wanted, idle = self.clocks > 0, _arc(ArcKind.INHIBITOR, self.stage)
        kept = [Arc(kind=ArcKind.OUTPUT, place=p, multiplicity=Tokens(self.stage)) for p in self.parked]
        stop = [_arc(ArcKind.TEST, self.stage), _arc(ArcKind.FLUSH, self.stage), *kept]
        found: list[Transition] = [self.adjustment("stops", stop, ~wanted)]
        for p in self.parked:
            back = Arc(kind=ArcKind.OUTPUT, place=self.stage, multiplicity=Tokens(p))
            found.append(self.adjustment("goes on", [_arc(ArcKind.TEST, p), _arc(ArcKind.FLUSH, p), idle, back], wanted))
        for i, alpha in enumerate(self.law.alpha):
            if alpha > 0:
                arcs = [idle, *(_arc(ArcKind.INHIBITOR, p) for p in self.parked), _arc(ArcKind.OUTPUT, self.stage, i + 1)]
                found.append(self.adjustment(f"starts in phase {i + 1}", arcs, wanted, as_node(alpha)))
        return found


class _Clocks(_Part):
    """Several clocks: how many are in each ``phase``, and how many in all (``running``); likewise the parked ones (``held`` in all)."""

    def prepare(self) -> None:
        t = self.t.name
        self.phase = [self.name(f"{t} in phase {i + 1}") for i in range(self.n)]
        self.running = self.name(f"{t} running")
        self.parked = [self.name(f"{t} parked in phase {i + 1}") for i in range(self.n)] if self.resumes else []
        self.held = [self.name(f"{t} parked")] if self.resumes else []

    def places(self) -> tuple[str, ...]:
        return (*self.phase, self.running, *self.parked, *self.held)

    def transitions(self, flushes: tuple[Arc, ...]) -> list[Transition]:
        found: list[Transition] = []
        for i, place in enumerate(self.phase):
            leave = _arc(ArcKind.INPUT, place)
            if self.exit(i) > 0:
                arcs = _with((leave, _arc(ArcKind.INPUT, self.running), *self.t.arcs), flushes)
                found.append(self.completion(f"ends in phase {i + 1}", self.exit(i), self.ways(i), INFINITE, arcs))
            for j, rate in self.moves(i).items():
                enter = _arc(ArcKind.OUTPUT, self.phase[j])
                found.append(self.move(f"moves from phase {i + 1} to {j + 1}", rate, self.ways(i), INFINITE, (leave, enter)))
        return found

    def adjustments(self) -> list[Transition]:
        fewer, more = Tokens(self.running) < self.clocks, Tokens(self.running) > self.clocks
        found: list[Transition] = []
        for i, alpha in enumerate(self.law.alpha):
            runs = [self.phase[i], self.running]
            parks = [*self.parked[i : i + 1], *self.held]
            found.append(self.adjustment(f"stops in phase {i + 1}", _between(runs, parks), more, Tokens(self.phase[i])))
            if parks:
                found.append(self.adjustment(f"goes on in phase {i + 1}", _between(parks, runs), fewer, Tokens(parks[0])))
            if alpha > 0:
                none_parked = [_arc(ArcKind.INHIBITOR, p) for p in self.held]
                found.append(self.adjustment(f"starts in phase {i + 1}", [*none_parked, *_between([], runs)], fewer, as_node(alpha)))
        return found


def _between(sources: list[str], targets: list[str]) -> list[Arc]:
    return [*(_arc(ArcKind.INPUT, p) for p in sources), *(_arc(ArcKind.OUTPUT, p) for p in targets)]


def _part_of(transfer: Transfer, ways: int) -> Transfer:
    cap = None if transfer.cap is None else transfer.cap / ways
    return replace(transfer, share=Binary(BinaryOp.DIV, transfer.share, as_node(ways)), cap=cap)


# --- n(m) as an expression --------------------------------------------------------------------------------------------------


def running_clocks(t: Timed, net: Net) -> Node:
    """min(servers, enabling degree) as a marking expression, by the same reading of arcs as :mod:`spn.net.semantics`."""
    degree = _input_degree(t)
    if t.servers != INFINITE:
        degree = Call(Function.MIN, (degree, as_node(t.servers)))
    conditions = [*_test_conditions(t), *_capacity_conditions(t, net)]
    for condition in reversed(conditions):
        degree = Conditional(condition, degree, as_node(0))
    return degree if t.guard is None else Conditional(t.guard, degree, as_node(0))


def _combined(t: Timed, kind: ArcKind) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for arc in t.arcs:
        if arc.kind is kind:
            found.setdefault(arc.place, []).append(arc.multiplicity)
    return found


def _sum(nodes: list[Node]) -> Node:
    total = nodes[0]
    for node in nodes[1:]:
        total = Binary(BinaryOp.ADD, total, node)
    return total


def _input_degree(t: Timed) -> Node:
    """The least quotient over the input arcs that are present; 1 where none is."""
    quotients: list[Node] = []
    absent: list[Node] = []
    for place, multiplicities in _combined(t, ArcKind.INPUT).items():
        a = _sum(multiplicities)
        quotient: Node = Binary(BinaryOp.IDIV, Tokens(place), a)
        if not isinstance(a, Number):
            quotient = Conditional(a > 0, quotient, Number(Fraction(10**15)))
            absent.append(a)
        quotients.append(quotient)
    if not quotients:
        return as_node(1)
    least: Node = quotients[0] if len(quotients) == 1 else Call(Function.MIN, tuple(quotients))
    return Conditional(_sum(absent) > 0, least, as_node(1)) if len(absent) == len(quotients) else least


def _test_conditions(t: Timed) -> Iterable[Node]:
    for place, multiplicities in _combined(t, ArcKind.TEST).items():
        for a in multiplicities:
            yield Tokens(place) >= a
    for place, multiplicities in _combined(t, ArcKind.INHIBITOR).items():
        for h in multiplicities:
            below: Node = Tokens(place) < h
            yield below if isinstance(h, Number) else below | Binary(BinaryOp.EQ, h, as_node(0))


def _capacity_conditions(t: Timed, net: Net) -> Iterable[Node]:
    """Firing leaves at most the capacity in every place it puts tokens into."""
    capacity = {p.name: p.capacity for p in net.places if p.capacity is not None}
    taken, flushed = _combined(t, ArcKind.INPUT), _combined(t, ArcKind.FLUSH)
    for place, multiplicities in _combined(t, ArcKind.OUTPUT).items():
        if place in capacity:
            left: Node = as_node(0) if place in flushed else Tokens(place)
            if place in taken and place not in flushed:
                left = Binary(BinaryOp.SUB, left, _sum(taken[place]))
            yield Binary(BinaryOp.ADD, left, _sum(multiplicities)) <= as_node(capacity[place])
