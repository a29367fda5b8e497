"""Upper bounds on the tokens of places, from the structure alone: right whatever the rates.

A weighting of places, none negative, whose weighted sum of tokens no firing raises bounds every place it weighs. The cheap ones are found
as extreme rays (:mod:`spn.structural.semiflows`); the best one for a place is the dual of the linear program "most tokens in p among the
solutions of the state equation" (Colom and Silva 1990, LNCS 483, 79; Silva, Teruel and Colom 1998, LNCS 1491, 309), accepted once it
verifies in whole numbers. Inhibitors, guards of the form ``#p < k`` and capacities bound a place too.

All of it holds with inhibitors, tests, guards, capacities, priorities, flush arcs and marking-dependent multiplicities: see
:mod:`spn.structural.incidence`. That a place has no structural bound does not mean that it is unbounded from this initial marking.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.expr.nodes import Binary, BinaryOp, Node, Number, Tokens
from spn.net.model import ArcKind, Net, Transition
from spn.structural.algebra import product
from spn.structural.incidence import Incidence, Vector, constant, incidence
from spn.structural.programs import minimum, whole
from spn.structural.semiflows import Limits, extreme_rays

QUICK = Limits(most=1_000, seconds=0.5)
MOST_PROGRAMS = 400  # places for which a linear program is solved


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
    """Upper bounds from flows, inhibitors, guards and capacities, in a fraction of a second and without a linear program."""
    found = flows(net)
    most = {p.name: p.capacity for p in net.places if p.capacity is not None}
    for flow in found or ():
        for place, w in flow.weights.items():
            most[place] = min(most.get(place, flow.total // w), flow.total // w)
    for place, limit in _self_limited(net):
        most[place] = min(most.get(place, limit), limit)
    return Bounds(most, found or (), found is not None)


def place_bounds(net: Net, *, best: bool = True) -> tuple[int | None, ...]:
    """The most tokens that each place can hold, in the order of the net, None where the structure gives no bound.

    The best of :func:`bounds` and of the state equation, or, with ``best`` False, that of the state equation only where :func:`bounds`
    gives none (a linear program a place is saved). Reachable markings never exceed it; not every bound is reached."""
    known = bounds(net).most
    wanted = [i for i, p in enumerate(net.places) if best or p.name not in known]
    found = {}
    if wanted and len(wanted) <= MOST_PROGRAMS:
        matrix = incidence(net)
        found = {i: best_bound(matrix, i) for i in wanted}
    return tuple(_least(known.get(p.name), found.get(i)) for i, p in enumerate(net.places))


def _least(*values: int | None) -> int | None:
    return min((v for v in values if v is not None), default=None)


def best_bound(matrix: Incidence, place: int) -> int | None:
    """The bound that the state equation gives for one place, with a verified weighting; None where there is none."""
    weights = falling_weights(matrix, place)
    return None if weights is None else product(weights, dict(enumerate(matrix.initial))) // weights[place]


def falling_weights(matrix: Incidence, place: int) -> dict[int, int] | None:
    """Weights y >= 0 with y(place) > 0 that no firing raises, with the least y . m0 / y(place); verified, or None."""
    n = len(matrix.places)
    changes = _distinct(matrix)
    low, high = [0.0] * n, [math.inf] * n
    low[place] = high[place] = 1.0
    cost = {p: float(k) for p, k in enumerate(matrix.initial) if k}
    rows = [{p: float(v) for p, v in c.items()} for c in changes]
    found = minimum(cost, n, at_most=rows, limits=[0.0] * len(rows), low=low, high=high)
    for y in whole(found.x) if found.x is not None else ():
        if y.get(place, 0) > 0 and min(y.values()) > 0 and all(product(y, c) <= 0 for c in changes):
            return y
    return None


def _distinct(matrix: Incidence) -> list[dict[int, int]]:
    return [dict(c) for c in dict.fromkeys(tuple(sorted(c.changes.items())) for c in matrix.columns if c.changes)]


# --- flows ------------------------------------------------------------------------------------------------------------------------


def flows(net: Net) -> tuple[Flow, ...] | None:
    """Minimal weightings of places whose sum no firing raises; None where they are too many to be worth it.

    Columns that only take are left out, since a sum they lower is bounded as well; where an amount that varies moves tokens from place to
    place, the sum may fall too."""
    matrix = incidence(net)
    n = len(matrix.places)
    found = extreme_rays(_equations(matrix, n), range(n + len(matrix.columns)), QUICK)
    if found.stopped:
        return None
    kept = [{p: w for p, w in y.items() if p < n} for y in found.vectors]
    return tuple(_flow(matrix, y) for y in _minimal(kept))


def _equations(matrix: Incidence, n: int) -> Iterator[Vector]:
    for k, c in enumerate(matrix.columns):
        if all(v < 0 for v in c.changes.values()):
            continue
        yield c.changes if c.amount is None else {**c.changes, n + k: 1}


def _minimal(vectors: Iterable[dict[int, int]]) -> list[dict[int, int]]:
    kept: list[dict[int, int]] = []
    for y in sorted(vectors, key=len):
        if y and not any(other.keys() <= y.keys() for other in kept):
            kept.append(y)
    return kept


def _flow(matrix: Incidence, y: Mapping[int, int]) -> Flow:
    return Flow({matrix.places[p]: w for p, w in y.items()}, sum(w * matrix.initial[p] for p, w in y.items()))


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


def _changes(t: Transition) -> dict[str, int]:
    """What a firing changes by the arcs that are constant."""
    changes: dict[str, int] = {}
    for arc in t.arcs:
        k = constant(arc)
        if k is not None and arc.kind is ArcKind.OUTPUT:
            changes[arc.place] = changes.get(arc.place, 0) + k
        elif k is not None and arc.kind is ArcKind.INPUT:
            changes[arc.place] = changes.get(arc.place, 0) - k
    return changes
