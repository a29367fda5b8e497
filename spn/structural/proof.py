"""Conditions on markings, proved for all reachable ones without visiting any.

The negation of the condition is taken apart into systems of linear inequalities A m >= b. Each is refuted by a certificate: multipliers
lambda >= 0 and a weighting u of places whose sum no firing raises, with lambda A <= u + beta, so that in every reachable marking

    lambda b <= lambda A m <= u m + beta m <= u m0 + beta B,

where B are upper bounds of places; it is a contradiction where the right end is less than the left. A linear program proposes the
certificate (it is the dual of the state equation: Murata 1989, section V; Esparza and Melzer 2000, Formal Methods Syst. Des. 16, 159),
exact arithmetic verifies it. What is proved holds with inhibitors, guards, capacities, priorities and all times, since they only leave
markings out. What is not proved may hold all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as combinations

from spn.expr.evaluate import fold
from spn.expr.linear import added, linear, scaled
from spn.expr.nodes import Binary, BinaryOp, Node, Number, Unary, UnaryOp
from spn.expr.text import name
from spn.net.model import Net
from spn.structural.algebra import product
from spn.structural.bounds import Bounds, bounds
from spn.structural.incidence import Incidence, Vector, incidence
from spn.structural.programs import minimum, whole

MOST_SYSTEMS = 64
MOST_SIZE = 4_000  # places and columns together


@dataclass(frozen=True, slots=True)
class AtLeast:
    """sum of weights * tokens >= total, in whole numbers."""

    weights: Mapping[int, int]
    total: int


System = tuple[AtLeast, ...]


def prove(net: Net, condition: Node) -> str | None:
    """What proves that a condition holds in every reachable marking, in words; None where no proof was found."""
    systems = _negated(fold(condition), {p.name: i for i, p in enumerate(net.places)})
    if systems is None:
        return None
    matrix = incidence(net)
    if len(matrix.places) + len(matrix.columns) > MOST_SIZE:
        return None
    known = bounds(net)
    told: dict[str, None] = {}
    for system in systems:
        words = _refuted(matrix, known, system)
        if words is None:
            return None
        told.update(dict.fromkeys(words))
    return "; ".join(told) or "true by itself"


def unchanged(matrix: Incidence, weights: Mapping[str, Fraction]) -> bool:
    """Whether no firing changes a weighted sum of tokens, in any marking."""
    at = {p: k for k, p in enumerate(matrix.places)}
    y = {at[p]: w for p, w in weights.items() if w}
    return all(sum(w * c.changes.get(p, 0) for p, w in y.items()) == 0 for c in matrix.columns)


# --- certificates -----------------------------------------------------------------------------------------------------------------


def _refuted(matrix: Incidence, known: Bounds, system: System) -> list[str] | None:
    """What excludes a system of inequalities, in words; None where nothing was found."""
    limits = {i: known.most[p] for i, p in enumerate(matrix.places) if p in known.most}
    if any(not a.weights and a.total > 0 for a in system):
        return []
    for a in system:
        if (words := _at_once(matrix, known, a)) is not None:
            return words
    k, n = len(system), len(matrix.places)
    bounded = list(limits)
    size = k + n + len(bounded)  # lambda, u, beta
    cost: dict[int, float] = {i: -float(a.total) for i, a in enumerate(system)}
    cost |= {k + p: float(m) for p, m in enumerate(matrix.initial)}
    cost |= {k + n + j: float(limits[p]) for j, p in enumerate(bounded)}
    rows: list[dict[int, float]] = [{k + p: float(v) for p, v in c.changes.items()} for c in matrix.columns if c.changes]
    rows += _covers(system, bounded, n)
    rows.append(dict.fromkeys(range(k), 1.0))
    ends = [0.0] * (len(rows) - 1) + [1.0]
    low = [0.0] * k + [-math.inf] * n + [0.0] * len(bounded)
    found = minimum(cost, size, at_most=rows, limits=ends, low=low)
    if found.x is None or found.value > -1e-9:
        return None
    for vector in whole(found.x):
        words = _verified(matrix, limits, system, bounded, vector)
        if words is not None:
            return words
    return None


def _at_once(matrix: Incidence, known: Bounds, a: AtLeast) -> list[str] | None:
    """A refutation of one inequality that needs no program: its sum never changes, or is that of one bounded place."""
    total = product(a.weights, dict(enumerate(matrix.initial)))
    if total < a.total and all(product(a.weights, c.changes) == 0 for c in matrix.columns):
        return [_relation(matrix.places, a.weights, total, kept=True)]
    if all(w < 0 for w in a.weights.values()) and a.total > 0:
        return []
    if len(a.weights) == 1:
        ((p, w),) = a.weights.items()
        limit = known.most.get(matrix.places[p])
        if w > 0 and limit is not None and w * limit < a.total:
            return [_why(matrix, known, matrix.places[p], limit)]
    return None


def _why(matrix: Incidence, known: Bounds, place: str, limit: int) -> str:
    """The sum that bounds a place, or the bound itself where it is a capacity, a guard or an inhibitor."""
    flow = next((f for f in known.flows if place in f.weights and f.total // f.weights[place] <= limit), None)
    if flow is None or len(flow.weights) == 1:
        return f"{name(place)} <= {limit}"
    y = {matrix.places.index(q): w for q, w in flow.weights.items()}
    return _relation(matrix.places, y, flow.total, kept=all(product(y, c.changes) == 0 for c in matrix.columns))


def _covers(system: System, bounded: list[int], n: int) -> Iterator[dict[int, float]]:
    """lambda A - u - beta <= 0, a row a place."""
    k = len(system)
    at = {p: k + n + j for j, p in enumerate(bounded)}
    for p in range(n):
        row = {i: float(a.weights[p]) for i, a in enumerate(system) if p in a.weights}
        row[k + p] = -1.0
        if p in at:
            row[at[p]] = -1.0
        yield row


def _verified(
    matrix: Incidence, limits: Mapping[int, int], system: System, bounded: list[int], vector: Mapping[int, int]
) -> list[str] | None:
    """The proof in words, once it holds in whole numbers."""
    k, n = len(system), len(matrix.places)
    factors = [vector.get(i, 0) for i in range(k)]
    u = {p: vector[k + p] for p in range(n) if vector.get(k + p)}
    beta = {p: vector[k + n + j] for j, p in enumerate(bounded) if vector.get(k + n + j)}
    if min([*factors, *beta.values()], default=0) < 0:
        return None
    wanted: dict[int, int] = {}
    for f, a in zip(factors, system, strict=True):
        for p, w in a.weights.items():
            wanted[p] = wanted.get(p, 0) + f * w
    covered = all(w <= u.get(p, 0) + beta.get(p, 0) for p, w in wanted.items()) and all(
        u.get(p, 0) + beta.get(p, 0) >= wanted.get(p, 0) for p in (*u, *beta)
    )
    changes = [product(u, c.changes) for c in matrix.columns]
    total = product(u, dict(enumerate(matrix.initial)))
    below = total + product(beta, limits) < sum(f * a.total for f, a in zip(factors, system, strict=True))
    if not covered or not below or any(v > 0 for v in changes):
        return None
    words = [f"{name(matrix.places[p])} <= {limits[p]}" for p in beta]
    return ([_relation(matrix.places, u, total, kept=not any(changes))] if u else []) + words


def _relation(names: Sequence[str], u: Vector, total: int, *, kept: bool) -> str:
    """``idle + busy = 4``; where firings may lower the sum, with <=."""
    divisor = math.gcd(*u.values(), total) * (-1 if kept and u[min(u)] < 0 else 1)
    shown = {p: w // divisor for p, w in u.items()}
    return f"{weighted_sum(names, shown)} {'=' if kept else '<='} {total // divisor}"


def weighted_sum(names: Sequence[str], weights: Mapping[int, int], most: int = 0) -> str:
    """``idle + 2 busy - down``; with ``most`` positive, so many terms and how many more there are."""
    items = sorted(weights.items())
    shown = items[:most] if 0 < most < len(items) else items
    text = ""
    for k, w in shown:
        sign = ("-" if w < 0 else "") if not text else (" - " if w < 0 else " + ")
        text += sign + (f"{abs(w)} " if abs(w) != 1 else "") + name(names[k])
    return (text or "0") + (f" + … ({len(items)} terms)" if len(shown) < len(items) else "")


# --- conditions -------------------------------------------------------------------------------------------------------------------


def _negated(node: Node, index: Mapping[str, int]) -> list[System] | None:
    """The systems of which one holds exactly where a condition does not; None where it is not linear, or falls apart into too many."""
    return _systems(node, index, want=False)


def _systems(node: Node, index: Mapping[str, int], *, want: bool) -> list[System] | None:
    match node:
        case Unary(op=UnaryOp.NOT, operand=x):
            return _systems(x, index, want=not want)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=x, right=y):
            parts = [_systems(x, index, want=want), _systems(y, index, want=want)]
            if parts[0] is None or parts[1] is None:
                return None
            return _both(parts[0], parts[1]) if (op is BinaryOp.AND) is want else _few([*parts[0], *parts[1]])
        case Binary(op=op, left=x, right=y) if op in _COMPARED:
            gap = added(linear(x), scaled(linear(y), Fraction(-1)))
            return None if gap is None else _compared(op if want else _OPPOSITE[op], gap[0], gap[1], index)
        case Number(value=v):
            return [()] if (v != 0) is want else []
    return None


def _both(x: list[System], y: list[System]) -> list[System] | None:
    return _few([(*a, *b) for a, b in combinations(x, y)]) if len(x) * len(y) <= MOST_SYSTEMS else None


def _few(systems: list[System]) -> list[System] | None:
    return systems if len(systems) <= MOST_SYSTEMS else None


_OPPOSITE = {
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
}
_COMPARED = frozenset(_OPPOSITE)


def _compared(op: BinaryOp, weights: Mapping[str, Fraction], constant: Fraction, index: Mapping[str, int]) -> list[System]:
    """Where weights * tokens + constant ``op`` 0; tokens are whole, so that < is <= one less."""

    def up(strict: bool) -> AtLeast:
        return _at_least(weights, constant, index, 1, strict=strict)

    def down(strict: bool) -> AtLeast:
        return _at_least(weights, constant, index, -1, strict=strict)

    match op:
        case BinaryOp.GE:
            return [(up(False),)]
        case BinaryOp.GT:
            return [(up(True),)]
        case BinaryOp.LE:
            return [(down(False),)]
        case BinaryOp.LT:
            return [(down(True),)]
        case BinaryOp.EQ:
            return [(up(False), down(False))]
        case _:
            return [(up(True),), (down(True),)]


def _at_least(weights: Mapping[str, Fraction], constant: Fraction, index: Mapping[str, int], sign: int, *, strict: bool) -> AtLeast:
    """sign * (weights * tokens + constant) >= 0, or > 0, in whole numbers without a common divisor."""
    scale = math.lcm(*(w.denominator for w in weights.values()))
    whole_weights = {index[p]: int(sign * w * scale) for p, w in weights.items() if w}
    divisor = math.gcd(*whole_weights.values()) or 1
    least = -sign * constant * scale / divisor
    total = math.floor(least) + 1 if strict else math.ceil(least)
    return AtLeast({p: w // divisor for p, w in whole_weights.items()}, total)
