"""Exact phase-type expansion: a net whose laws are phase-type becomes one whose laws are exponential.

The clocks of a transition t with n > 1 phases become tokens: one place per phase counts the clocks that run in it, and under `resume` one
more the clocks parked in it. Exponential transitions on them, a clock a token, move clocks from phase to phase or complete them; a
completion has the arcs, guard and resets of t. After each firing, once no immediate of the model is enabled, immediates of lower priority
put the number of clocks right: while more run than n(m) = min(servers, degree), one chosen uniformly stops; while fewer run, a parked one
chosen uniformly goes on, or a new one begins in a phase drawn from alpha. Each expanded transition has a priority level of its own, so
that these adjustments do not interleave. A reset empties the phase and parked places. The places of the model come first and keep their
names and order, so that a marking of the expanded net begins with the marking of the model.

Source: M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models (1981), ch. 2, for the laws; memory policies as in Ajmone Marsan,
Balbo, Bobbio, Chiola, Conte and Cumani, IEEE Trans. Softw. Eng. 15 (1989) 832.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.dist.exponential import Exponential
from spn.dist.law import PhaseType
from spn.expr.nodes import Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, as_node, constant
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Memory, Net, Place, Timed, Transfer, Transition

NEVER = 1e-12  # of a phase's total rate: an exit rate below it is rounding of a row that sums to 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """``net`` has exponential laws only. ``completions`` names, for each expanded transition, the transitions whose firings are its
    firings; ``phases`` counts the phases of each expanded transition."""

    net: Net
    completions: Mapping[str, tuple[str, ...]]
    phases: Mapping[str, int]


def expand(net: Net) -> Expansion:
    """Expand every transition whose law has more than one phase; a law of one phase becomes a plain exponential.

    Raises ValueError where a law is not phase-type, a scale is not a positive constant or the memory is `repeat`: the caller asks first
    (:func:`spn.solve.ctmc.may` gives all refusals with their places in the text)."""
    laws = {t.name: phases_of(t) for t in net.transitions if isinstance(t, Timed)}
    chosen = [t for t in net.transitions if isinstance(t, Timed) and len(laws[t.name].alpha) > 1]
    name = _namer(net)
    parts = {t.name: _Part(t, laws[t.name], level, net, name) for level, t in enumerate(reversed(chosen), start=1)}
    transitions: list[Transition] = []
    for t in net.transitions:
        flushes = tuple(_arc(ArcKind.FLUSH, p) for u in t.resets if u in parts for p in parts[u].places())
        if t.name in parts:
            transitions.extend(parts[t.name].transitions(flushes))
        else:
            transitions.append(_plain(t, laws, flushes, len(chosen)))
    transitions.extend(u for t in chosen for u in parts[t.name].adjustments())
    added = tuple(Place(name=p, span=t.span) for t in chosen for p in parts[t.name].places())
    return Expansion(
        net=replace(net, places=net.places + added, transitions=tuple(transitions)),
        completions={t: part.completions() for t, part in parts.items()},
        phases={t: part.n for t, part in parts.items()},
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


def _arc(kind: ArcKind, place: str) -> Arc:
    return Arc(kind=kind, place=place)


def _namer(net: Net) -> Callable[[str], str]:
    """Names for what is added, none of them taken."""
    taken = {x.name for x in (*net.places, *net.transitions, *net.links)}

    def name(wanted: str) -> str:
        while wanted in taken:
            wanted += "'"
        taken.add(wanted)
        return wanted

    return name


class _Part:
    """The pieces that replace one transition."""

    def __init__(self, t: Timed, law: PhaseType, level: int, net: Net, name: Callable[[str], str]) -> None:
        self.t, self.law, self.level, self.name = t, law, level, name
        self.n = len(law.alpha)
        self.phase = [name(f"{t.name} in phase {i + 1}") for i in range(self.n)]
        self.parked = [name(f"{t.name} parked in phase {i + 1}") for i in range(self.n)] if t.memory is Memory.RESUME else []
        self.done = {i: name(f"{t.name} from phase {i + 1}") for i in range(self.n) if self._exit(i) > 0}
        self.clocks = running_clocks(t, net)

    def places(self) -> tuple[str, ...]:
        return (*self.phase, *self.parked)

    def completions(self) -> tuple[str, ...]:
        return tuple(self.done.values())

    def _exit(self, i: int) -> float:
        row = self.law.generator[i]
        rate = -sum(row)
        return rate if rate > NEVER * -row[i] else 0.0

    def transitions(self, flushes: tuple[Arc, ...]) -> list[Transition]:
        """Completions and moves between phases: exponential, one clock a token."""
        found: list[Transition] = []
        for i, row in enumerate(self.law.generator):
            moves = {j: rate for j, rate in enumerate(row) if j != i and rate > 0}
            ways = len(moves) + (i in self.done)
            if i in self.done:
                arcs = _with((_arc(ArcKind.INPUT, self.phase[i]), *self.t.arcs), flushes)
                found.append(self._clocked(self.done[i], self._exit(i), ways, arcs))
            for j, rate in moves.items():
                arcs = (_arc(ArcKind.INPUT, self.phase[i]), _arc(ArcKind.OUTPUT, self.phase[j]))
                found.append(
                    replace(self._clocked(self.name(f"{self.t.name} to phase {j + 1} from {i + 1}"), rate, ways, arcs), guard=None)
                )
        return found

    def _clocked(self, name: str, rate: float, ways: int, arcs: tuple[Arc, ...]) -> Timed:
        """One of the ``ways`` out of a phase. On a link, the ways of one clock together are one transfer: each takes its part of share
        and cap."""
        law, transfer = Exponential(rate=rate), self.t.transfer
        if transfer is not None and ways > 1:
            law, transfer = Exponential(rate=rate * ways), _part_of(transfer, ways)
        return replace(
            self.t, name=name, law=law, arcs=arcs, servers=INFINITE, memory=Memory.RESTART, scale=as_node(1), transfer=transfer, resets=()
        )

    def adjustments(self) -> list[Transition]:
        """Immediates that stop surplus clocks and start missing ones."""
        running = _total(self.phase)
        fewer, more = Binary(BinaryOp.LT, running, self.clocks), Binary(BinaryOp.GT, running, self.clocks)
        found: list[Transition] = []
        for i, place in enumerate(self.phase):
            parked = self.parked[i : i + 1]
            found.append(self._adjust(f"{self.t.name} stops in phase {i + 1}", place, parked, Tokens(place), more))
            for p in parked:
                found.append(self._adjust(f"{self.t.name} goes on in phase {i + 1}", p, [place], Tokens(p), fewer))
            if self.law.alpha[i] > 0:
                fresh = fewer & (~(_total(self.parked) > 0)) if self.parked else fewer
                found.append(self._adjust(f"{self.t.name} starts in phase {i + 1}", None, [place], as_node(self.law.alpha[i]), fresh))
        return found

    def _adjust(self, name: str, source: str | None, into: list[str], weight: Node, guard: Node) -> Immediate:
        arcs = tuple(_arc(ArcKind.INPUT, source) for source in ([source] if source else []))
        return Immediate(
            name=self.name(name),
            arcs=arcs + tuple(_arc(ArcKind.OUTPUT, p) for p in into),
            guard=guard,
            weight=weight,
            priority=self.level,
            span=self.t.span,
        )


def _part_of(transfer: Transfer, ways: int) -> Transfer:
    cap = None if transfer.cap is None else transfer.cap / ways
    return replace(transfer, share=Binary(BinaryOp.DIV, transfer.share, as_node(ways)), cap=cap)


def _total(places: Iterable[str]) -> Node:
    total: Node | None = None
    for p in places:
        total = Tokens(p) if total is None else Binary(BinaryOp.ADD, total, Tokens(p))
    return as_node(0) if total is None else total


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
