"""Exact sparse linear algebra over the whole numbers: rank and kernel by fraction-free elimination (Bareiss 1968, here with the common
divisor of a row taken out instead of the previous pivot, which keeps sparse rows small)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping

from spn.structural.incidence import Vector

Row = dict[int, int]


class TooLong(Exception):
    """The time given is over; never seen by callers of the package."""


class Clock:
    """A limit on seconds of computing of this thread, so that what is found does not depend on what else the machine does."""

    def __init__(self, seconds: float) -> None:
        self.end = time.thread_time() + seconds

    def check(self) -> None:
        if time.thread_time() > self.end:
            raise TooLong


def primitive(row: Mapping[int, int]) -> Row:
    """The row without zeros, divided by the greatest common divisor of its entries."""
    kept = {k: v for k, v in row.items() if v}
    divisor = math.gcd(*kept.values())
    return kept if divisor <= 1 else {k: v // divisor for k, v in kept.items()}


def combined(x: Vector, a: int, y: Vector, b: int) -> Row:
    """a x + b y, primitive."""
    total = {k: a * v for k, v in x.items()} if a != 1 else dict(x)
    for k, v in y.items():
        total[k] = total.get(k, 0) + b * v
    return primitive(total)


def reduced(rows: Iterable[Vector], clock: Clock) -> dict[int, Row]:
    """Rows that span the same space, each by its pivot; no other row has an entry in a pivot's column. Raises TooLong."""
    found: dict[int, Row] = {}
    users: dict[int, set[int]] = {}  # column -> pivots of the rows with an entry there
    for given in sorted(rows, key=len):
        clock.check()
        row = primitive(given)
        for pivot in [k for k in row if k in found]:
            row = _without(row, found[pivot], pivot)
        if not row:
            continue
        pivot = min(row, key=lambda k: (abs(row[k]), len(users.get(k, ())), k))
        for other in sorted(users.get(pivot, ())):
            old = found[other]
            found[other] = _without(old, row, pivot)
            _moved(users, other, old, found[other])
        found[pivot] = row
        _moved(users, pivot, {}, row)
    return found


def _without(row: Row, by: Row, pivot: int) -> Row:
    """The row with its entry at a pivot removed by a multiple of another."""
    a, b = by[pivot], row[pivot]
    divisor = math.gcd(a, b)
    a, b = a // divisor, b // divisor
    return combined(row, abs(a), by, -b if a > 0 else b)


def _moved(users: dict[int, set[int]], pivot: int, old: Row, new: Row) -> None:
    for k in old.keys() - new.keys():
        users[k].discard(pivot)
    for k in new.keys() - old.keys():
        users.setdefault(k, set()).add(pivot)


def kernel(rows: Iterable[Vector], variables: Iterable[int], clock: Clock) -> list[Row]:
    """A basis of the vectors orthogonal to all rows, primitive and whole, the first entry positive: one a variable that is no pivot, so
    that it is a basis over the rationals. Raises TooLong."""
    found = reduced(rows, clock)
    at: dict[int, list[int]] = {}
    for pivot, row in found.items():
        for k in row:
            if k != pivot:
                at.setdefault(k, []).append(pivot)
    basis = []
    for free in variables:
        if free in found:
            continue
        clock.check()
        pivots = at.get(free, ())
        scale = math.lcm(*(abs(found[p][p]) for p in pivots))
        vector = {free: scale, **{p: -found[p][free] * (scale // found[p][p]) for p in pivots}}
        basis.append(_positive_first(primitive(vector)))
    return basis


def _positive_first(vector: Row) -> Row:
    ordered = dict(sorted(vector.items()))
    return ordered if next(iter(ordered.values())) > 0 else {k: -v for k, v in ordered.items()}


def product(x: Vector, y: Vector) -> int:
    if len(y) < len(x):
        x, y = y, x
    return sum(v * y.get(k, 0) for k, v in x.items())
