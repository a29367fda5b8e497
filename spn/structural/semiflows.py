"""Semiflows: non-negative whole weightings that no firing changes (of places), or that change no place (of transitions).

The minimal ones have a support that holds no other's, and entries without a common divisor; every semiflow is a non-negative rational
combination of them. They are the extreme rays of the cone {y >= 0, A y = 0}, found by the method of Farkas (Martinez and Silva 1982, in
Application and Theory of Petri Nets, IFB 52, 301; Colom and Silva 1990, LNCS 483, 79) as the double description method has it
(Fukuda and Prodon 1996, LNCS 1120, 91): one equation after the other, each ray on its one side combined with the adjacent ones on the
other. Two rays are adjacent where the union of their supports holds the support of no third, so that what is made is minimal at once.
There may be exponentially many: beyond a limit on number or time the search stops, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spn.structural.algebra import Clock, Row, TooLong, primitive, product
from spn.structural.incidence import Incidence, Vector

LOOKS_BETWEEN_CLOCKS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a search gives up: more than ``most`` rays at one time, or ``seconds`` gone."""

    most: int = 2_000
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Rays:
    """The minimal vectors, or none where the search stopped; ``stopped`` then says why."""

    vectors: tuple[Vector, ...]
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class _Ray:
    mask: int
    vector: Row
    values: Row  # by equation not yet met


def extreme_rays(equations: Iterable[Vector], variables: Sequence[int], limits: Limits) -> Rays:
    """The minimal-support vectors y >= 0 with every equation . y = 0, in whole numbers, sorted by support.

    ``equations`` map variables to coefficients. Exact for any size of number. Empty with ``stopped`` where a limit is reached."""
    distinct = list({_signed(e): None for e in map(primitive, equations) if e})
    rays = _start(distinct, variables)
    open_ = set(range(len(distinct)))
    clock, met = Clock(limits.seconds), 0
    try:
        while open_:
            clock.check()
            e = _next(rays, open_)
            if e is None:
                break
            met += 1
            rays = _met(rays, e, met, clock)
            open_.discard(e)
            if len(rays) > limits.most and open_:
                return Rays((), f"more than {limits.most:,} of them on the way")
    except TooLong:
        return Rays((), f"not found in {limits.seconds:g} s")
    if len(rays) > limits.most:
        return Rays((), f"more than {limits.most:,} of them")
    return Rays(tuple(sorted((dict(sorted(r.vector.items())) for r in rays), key=lambda y: (len(y), tuple(y)))))


def _signed(equation: Row) -> tuple[tuple[int, int], ...]:
    """The equation as a key: the same for its negative."""
    items = sorted(equation.items())
    return tuple(items) if items[0][1] > 0 else tuple((k, -v) for k, v in items)


def _start(equations: list[tuple[tuple[int, int], ...]], variables: Sequence[int]) -> list[_Ray]:
    values: dict[int, Row] = {v: {} for v in variables}
    for e, items in enumerate(equations):
        for variable, coefficient in items:
            if variable in values:
                values[variable][e] = coefficient
    return [_Ray(1 << i, {v: 1}, values[v]) for i, v in enumerate(variables)]


def _next(rays: list[_Ray], open_: set[int]) -> int | None:
    """The equation with the fewest pairs to combine; None where all hold."""
    ups: dict[int, int] = {}
    downs: dict[int, int] = {}
    for r in rays:
        for e, v in r.values.items():
            side = ups if v > 0 else downs
            side[e] = side.get(e, 0) + 1
    left = [e for e in open_ if e in ups or e in downs]

    def cost(e: int) -> tuple[int, int]:
        u, d = ups.get(e, 0), downs.get(e, 0)
        return u * d - u - d, e

    return min(left, key=cost, default=None)


def _met(rays: list[_Ray], e: int, met: int, clock: Clock) -> list[_Ray]:
    """The rays of the cone cut by one more equation, the ``met``-th."""
    kept = [r for r in rays if e not in r.values]
    ups = [r for r in rays if r.values.get(e, 0) > 0]
    downs = [r for r in rays if r.values.get(e, 0) < 0]
    if not ups or not downs:
        return kept
    masks = sorted((r.mask for r in rays), key=int.bit_count)
    made, looks = [], 0
    for u in ups:
        for d in downs:
            union = u.mask | d.mask
            looks += 1
            if looks % LOOKS_BETWEEN_CLOCKS == 0:
                clock.check()
            if union.bit_count() <= met + 1 and _adjacent(masks, union, u.mask, d.mask):
                made.append(_joined(u, d, e))
    return kept + made


def _adjacent(masks: list[int], union: int, u: int, d: int) -> bool:
    outside = ~union
    return all(m & outside or m in (u, d) for m in masks)


def _joined(u: _Ray, d: _Ray, e: int) -> _Ray:
    """Both rays so that the equation holds. The values are products of the vector with the equations, so its divisor divides them."""
    a, b = -d.values[e], u.values[e]
    vector, values = _sum(u.vector, a, d.vector, b), _sum(u.values, a, d.values, b)
    divisor = math.gcd(*vector.values())
    if divisor > 1:
        vector, values = {k: v // divisor for k, v in vector.items()}, {k: v // divisor for k, v in values.items()}
    return _Ray(u.mask | d.mask, vector, values)


def _sum(x: Row, a: int, y: Row, b: int) -> Row:
    total = {k: a * v for k, v in x.items()}
    for k, v in y.items():
        total[k] = total.get(k, 0) + b * v
    return {k: v for k, v in total.items() if v}


# --- of a net ---------------------------------------------------------------------------------------------------------------------


def place_semiflows(matrix: Incidence, limits: Limits) -> Rays:
    """The minimal P-semiflows: weightings of places, by index, whose sum no firing changes."""
    return _checked(extreme_rays((c.changes for c in matrix.columns), range(len(matrix.places)), limits), matrix)


def transition_semiflows(matrix: Incidence, limits: Limits) -> Rays:
    """The minimal T-semiflows: numbers of firings, by index of transition, that give back the marking they started from. Transitions
    without a constant column take no part."""
    rows = transition_rows(matrix)
    found = extreme_rays(rows, constant_transitions(matrix), limits)
    for x in found.vectors:
        assert all(product(x, row) == 0 for row in rows), "a T-semiflow that changes a place"
    return found


def constant_transitions(matrix: Incidence) -> list[int]:
    varying = matrix.varying
    return [t for t in range(len(matrix.transitions)) if t not in varying]


def transition_rows(matrix: Incidence) -> list[dict[int, int]]:
    """For each place its change by each transition with a constant column."""
    rows: list[dict[int, int]] = [{} for _ in matrix.places]
    for t in constant_transitions(matrix):
        for p, v in matrix.columns[t].changes.items():
            rows[p][t] = v
    return rows


def _checked(found: Rays, matrix: Incidence) -> Rays:
    for y in found.vectors:
        assert all(product(y, c.changes) == 0 for c in matrix.columns), "a P-semiflow that a firing changes"
    return found
