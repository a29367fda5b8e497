"""Nets that go through rounds: tokens fork, go their ways without meeting, and join again.

A *phase* begins with a marking in which no clock runs. Every token goes through transitions that move it alone, each with a server for it,
to a place where it waits; when all have come, the one transition that takes all of them (the *gate*) ends the phase, at once or after a
time of its own, and its tokens begin the next. Phases are followed until one begins as an earlier did: what lies between is the cycle. All
times in it are drawn anew, so that long-run values are ratios of means over one cycle, whatever the laws are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spn.errors import Diagnostic
from spn.expr.nodes import constant
from spn.net.model import INFINITE, ArcKind, Immediate, Net, Timed, Transition, initial_marking
from spn.source import Span
from spn.structural.incidence import constant as multiplicity

CODE = "E0656"
MOST_PHASES = 10_000

Tokens = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One transition on the way of a token; ``timed`` None where it is immediate."""

    place: str
    transition: str
    timed: Timed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """``tokens`` tokens that go through ``stages`` and wait in ``end``."""

    tokens: int
    stages: tuple[Stage, ...]
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Branches side by side, and the ``gate`` that takes ``waiting``, all tokens; ``timed`` None where it is immediate."""

    branches: tuple[Branch, ...]
    gate: str
    waiting: Tokens
    timed: Timed | None


class _Wrong(Exception):
    """Why a net has no rounds; internal."""

    def __init__(self, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


def rounds(net: Net) -> tuple[Phase, ...] | tuple[Diagnostic, ...]:
    """The phases of one cycle, or why there are none; what is refused is told with its place in the text."""
    try:
        return _Follower(net).cycle()
    except _Wrong as why:
        help = f"use another method; see `spn check --explain {CODE}`"
        return (Diagnostic(code=CODE, message=f"no rounds of fork and join: {why.message}", span=why.span, help=help),)


class _Follower:
    def __init__(self, net: Net) -> None:
        self.net = net
        self.takers: dict[str, list[Transition]] = {p.name: [] for p in net.places}
        for t in net.transitions:
            _plain(t)
            for place in inputs(t):
                self.takers[place].append(t)

    def cycle(self) -> tuple[Phase, ...]:
        marking: Tokens = {p.name: k for p, k in zip(self.net.places, initial_marking(self.net), strict=True) if k}
        seen: dict[tuple[tuple[str, int], ...], int] = {}
        phases: list[Phase] = []
        while True:
            key = tuple(sorted(marking.items()))
            if key in seen:
                return tuple(phases[seen[key] :])
            if len(phases) == MOST_PHASES:
                raise _Wrong(f"the first {MOST_PHASES:,} phases begin in different markings", self.net.span)
            seen[key] = len(phases)
            phases.append(self._phase(marking))
            marking = outputs(next(t for t in self.net.transitions if t.name == phases[-1].gate))

    def _phase(self, marking: Tokens) -> Phase:
        if not marking:
            raise _Wrong("no token is left", self.net.span)
        branches = tuple(self._branch(p, n) for p, n in marking.items())
        self._room(branches)
        waiting: dict[str, int] = {}
        for b in branches:
            waiting[b.end] = waiting.get(b.end, 0) + b.tokens
        gates = [self._gate(place) for place in waiting]  # of every place: whatever else takes a token competes with the gate
        gate = gates[0]
        if inputs(gate) != waiting:
            raise _Wrong(f"{gate.name} does not take all tokens at once: there are {_text(waiting)}", gate.span)
        return Phase(branches=branches, gate=gate.name, waiting=waiting, timed=gate if isinstance(gate, Timed) else None)

    def _branch(self, place: str, tokens: int) -> Branch:
        stages: list[Stage] = []
        at = place
        while len(self.takers[at]) == 1 and _moves_one(t := self.takers[at][0]):
            if any(s.place == at for s in stages):
                raise _Wrong(f"tokens of {at} go round and never wait for others", t.span)
            stages.append(Stage(place=at, transition=t.name, timed=t if isinstance(t, Timed) else None))
            at = next(iter(outputs(t)))
        return Branch(tokens=tokens, stages=tuple(stages), end=at)

    def _room(self, branches: Sequence[Branch]) -> None:
        """_Wrong where tokens may wait for a server, or for room."""
        passing: dict[str, int] = {}
        for b in branches:
            for place in (*(s.place for s in b.stages), b.end):
                passing[place] = passing.get(place, 0) + b.tokens
        for s in (s for b in branches for s in b.stages):
            t, most = s.timed, passing[s.place]
            if t is not None and t.servers != INFINITE and t.servers < most:
                raise _Wrong(f"{t.name} has {t.servers} servers for {most} tokens", t.span)
        for p in self.net.places:
            if p.capacity is not None and p.capacity < passing.get(p.name, 0):
                raise _Wrong(f"place {p.name} may fill up", p.span)

    def _gate(self, place: str) -> Transition:
        found = self.takers[place]
        if len(found) != 1:
            names = ", ".join(t.name for t in found)
            message = f"{names} compete for the tokens of {place}" if found else f"tokens come to rest in {place}"
            raise _Wrong(message, found[0].span if found else next(p.span for p in self.net.places if p.name == place))
        return found[0]


def _plain(t: Transition) -> None:
    """_Wrong where a transition is more than constant arcs and a law at constant speed."""
    if t.guard is not None or t.resets or any(a.kind not in (ArcKind.INPUT, ArcKind.OUTPUT) or multiplicity(a) is None for a in t.arcs):
        raise _Wrong(f"{t.name} has a condition, resets clocks, or other arcs than constant inputs and outputs", t.span)
    if isinstance(t, Immediate):
        if constant(t.weight) is None:
            raise _Wrong(f"the weight of {t.name} depends on the marking", t.span)
        return
    if constant(t.speed) is None or constant(t.scale) is None:
        raise _Wrong(f"the time of {t.name} depends on the marking", t.span)
    if t.transfer is not None:
        raise _Wrong(f"{t.name} shares a link", t.span)
    if not 0 <= t.law.mean() < math.inf:
        raise _Wrong(f"the mean of {t.name} is {t.law.mean():g}", t.law_span or t.span)


def inputs(t: Transition) -> dict[str, int]:
    """Tokens that a transition takes."""
    return _summed(t, ArcKind.INPUT)


def outputs(t: Transition) -> dict[str, int]:
    """Tokens that a transition puts."""
    return _summed(t, ArcKind.OUTPUT)


def _summed(t: Transition, kind: ArcKind) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, n in _weights(t, kind):
        if n:
            found[place] = found.get(place, 0) + n
    return found


def _weights(t: Transition, kind: ArcKind) -> Iterator[tuple[str, int]]:
    return ((a.place, multiplicity(a) or 0) for a in t.arcs if a.kind is kind)


def _moves_one(t: Transition) -> bool:
    """Whether a transition moves single tokens."""
    return sum(inputs(t).values()) == 1 and sum(outputs(t).values()) == 1


def _text(marking: Tokens) -> str:
    return ", ".join(f"#{p} = {n}" for p, n in marking.items())
