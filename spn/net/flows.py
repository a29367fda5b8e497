"""Upper bounds on the tokens of places, from the structure alone: cheap, and right whatever the rates.

A *P-flow* is a weighting of places, none negative, whose weighted sum of tokens no firing changes: it bounds every place it weighs. The
flows are found by elimination of one transition after the other (Farkas; see Colom and Silva, Adv. in Petri Nets 1990, LNCS 483, 79),
given up where they grow too many. Inhibitors, guards of the form ``#p < k`` and capacities bound a place too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.expr.nodes import Binary, BinaryOp, Node, Number, Tokens
from spn.net.model import Arc, ArcKind, Net, Transition

MOST_ROWS = 4_000
MOST_STEPS = 200_000  # additions of the elimination
MOST_COMPARED = 400  # rows of one elimination of which the minimal ones are sought

Weights = dict[str, int]
Row = tuple[Weights, Weights]  # weights of places, changes by transitions


@dataclass(frozen=True, slots=True)
class Flow:
    """Weights of places, and the sum of weighted tokens that no firing raises."""

    weights: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """``most`` maps places to the most tokens they can hold; a place that is not in it has no known bound. ``complete`` is False where
    the search for flows was given up."""

    most: Mapping[str, int]
    flows: tuple[Flow, ...]
    complete: bool


def bounds(net: Net) -> Bounds:
    """Upper bounds from flows, inhibitors, guards and capacities."""
    found = flows(net)
    most = {p.name: p.capacity for p in net.places if p.capacity is not None}
    for flow in found or ():
        for place, w in flow.weights.items():
            most[place] = min(most.get(place, flow.total // w), flow.total // w)
    for place, limit in _self_limited(net):
        most[place] = min(most.get(place, limit), limit)
    return Bounds(most, found or (), found is not None)


def constant(arc: Arc) -> int | None:
    """The multiplicity of an arc where it is a whole number."""
    v = arc.multiplicity.value if isinstance(arc.multiplicity, Number) else None
    return int(v) if v is not None and v == math.floor(v) else None


# --- flows ------------------------------------------------------------------------------------------------------------------------


def flows(net: Net) -> tuple[Flow, ...] | None:
    """The P-flows of a net with weights as small as can be; None where they are too many to be worth it."""
    varying = {a.place for t in net.transitions for a in t.arcs if a.kind is ArcKind.OUTPUT and constant(a) is None}
    table = _Table([p.name for p in net.places if p.name not in varying])
    for t in net.transitions:
        table.enter(t.name, _changes(t))
    for name in sorted(table.users, key=table.products):
        if not table.eliminate(name):
            return None
    initial = {p.name: p.initial for p in net.places}
    return tuple(Flow(y, sum(w * initial[p] for p, w in y.items())) for y, _ in table.rows.values())


class _Table:
    """Weightings of places with what each transition changes of their sums, and which of them each transition changes."""

    def __init__(self, places: list[str]) -> None:
        self.rows: dict[int, Row] = {i: ({name: 1}, {}) for i, name in enumerate(places)}
        self.number = {name: i for i, name in enumerate(places)}
        self.users: dict[str, set[int]] = {}
        self.next, self.steps = len(places), 0

    def enter(self, transition: str, changes: Weights) -> None:
        for place, change in changes.items():
            if change and place in self.number:
                self.rows[self.number[place]][1][transition] = change
                self.users.setdefault(transition, set()).add(self.number[place])

    def products(self, transition: str) -> int:
        """How many combinations the elimination of a transition makes."""
        ups = sum(self.rows[i][1][transition] > 0 for i in self.users[transition])
        return ups * (len(self.users[transition]) - ups)

    def eliminate(self, transition: str) -> bool:
        """Replace the rows that a transition changes by combinations that it does not; False where that grows too large."""
        changed = [self._remove(i) for i in sorted(self.users[transition])]
        ups = [r for r in changed if r[1][transition] > 0]
        downs = [r for r in changed if r[1][transition] < 0]
        if len(self.rows) + len(ups) * len(downs) > MOST_ROWS:
            return False
        made: list[Row] = []
        for up in ups:
            for down in downs:
                made.append(_cancelled(up, down, transition))
                self.steps += len(up[0]) + len(up[1]) + len(down[0]) + len(down[1])
                if self.steps > MOST_STEPS:
                    return False
        for row in _minimal(made):
            self._add(row)
        return True

    def _remove(self, i: int) -> Row:
        row = self.rows.pop(i)
        for t in row[1]:
            self.users[t].discard(i)
        return row

    def _add(self, row: Row) -> None:
        self.rows[self.next] = row
        for t in row[1]:
            self.users[t].add(self.next)
        self.next += 1


def _changes(t: Transition) -> Weights:
    """How a firing changes each place; what it takes in amounts that vary is left out, since bounds hold without it."""
    changes: Weights = {}
    for arc in t.arcs:
        k = constant(arc)
        if k is not None and arc.kind is ArcKind.OUTPUT:
            changes[arc.place] = changes.get(arc.place, 0) + k
        elif k is not None and arc.kind is ArcKind.INPUT:
            changes[arc.place] = changes.get(arc.place, 0) - k
    return changes


def _cancelled(up: Row, down: Row, name: str) -> Row:
    a, b = -down[1][name], up[1][name]
    y = _sum(up[0], a, down[0], b)
    c = _sum(up[1], a, down[1], b)
    divisor = math.gcd(*y.values(), *c.values())
    if divisor > 1:
        y, c = {k: v // divisor for k, v in y.items()}, {k: v // divisor for k, v in c.items()}
    return y, c


def _sum(x: Weights, a: int, y: Weights, b: int) -> Weights:
    total = {k: a * v for k, v in x.items()}
    for k, v in y.items():
        total[k] = total.get(k, 0) + b * v
    return {k: v for k, v in total.items() if v}


def _minimal(rows: list[Row]) -> list[Row]:
    """Without rows whose places include all places of another: their bounds follow."""
    if not 2 <= len(rows) <= MOST_COMPARED:
        return rows
    kept: list[Row] = []
    for row in sorted(rows, key=lambda r: len(r[0])):
        if not any(other[0].keys() <= row[0].keys() for other in kept):
            kept.append(row)
    return kept


# --- places that limit themselves -------------------------------------------------------------------------------------------------


def _self_limited(net: Net) -> Iterator[tuple[str, int]]:
    """Places that nothing fills beyond a limit: every transition that adds tokens is disabled from some number on."""
    producers: dict[str, list[tuple[Transition, int | None]]] = {}
    for t in net.transitions:
        changes = _changes(t)
        for place in {a.place for a in t.arcs if a.kind is ArcKind.OUTPUT}:
            varies = any(constant(a) is None for a in t.arcs if a.place == place and a.kind in (ArcKind.OUTPUT, ArcKind.INPUT))
            gain = None if varies else changes.get(place, 0)
            if gain is None or gain > 0:
                producers.setdefault(place, []).append((t, gain))
    for p in net.places:
        limits = [_filled(t, p.name, gain) for t, gain in producers.get(p.name, ())]
        if all(limit is not None for limit in limits):
            yield p.name, max([p.initial, *(limit for limit in limits if limit is not None)])


def _filled(t: Transition, place: str, gain: int | None) -> int | None:
    """The most tokens that a place holds after a firing of a transition that adds ``gain``."""
    if gain is None:
        return None
    if any(a.kind is ArcKind.FLUSH and a.place == place for a in t.arcs):
        return gain + sum(constant(a) or 0 for a in t.arcs if a.place == place and a.kind is ArcKind.INPUT)
    before = allowed(t, place)
    return None if before is None else before + gain


def allowed(t: Transition, place: str) -> int | None:
    """The most tokens of a place with which a transition is enabled, by its inhibitors and its guard; None where there is no limit."""
    limits = [k - 1 for a in t.arcs if a.kind is ArcKind.INHIBITOR and a.place == place and (k := constant(a)) is not None and k > 0]
    limits += [limit for name, limit in _guarded(t.guard) if name == place]
    return min(limits, default=None)


def _guarded(guard: Node | None) -> Iterator[tuple[str, int]]:
    """Limits that a guard states: ``#p < 3 and #q == 0``."""
    match guard:
        case Binary(op=BinaryOp.AND, left=left, right=right):
            yield from _guarded(left)
            yield from _guarded(right)
        case Binary(op=op, left=Tokens(place=p), right=Number(value=v)) if op in (BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ):
            yield p, _below(v, strict=op is BinaryOp.LT)
        case Binary(op=op, left=Number(value=v), right=Tokens(place=p)) if op in (BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ):
            yield p, _below(v, strict=op is BinaryOp.GT)


def _below(v: Fraction | float, *, strict: bool) -> int:
    return math.ceil(v) - 1 if strict else math.floor(v)
