"""The incidence of a net, exact and sparse, with multiplicities that depend on the marking told apart.

A transition whose multiplicities are constant has one column: what a firing adds to each place. One with marking-dependent multiplicities
has no constant column. Its change is written as a sum over *amounts*: the constant 1, numbers of tokens and other expressions of the
marking before the firing, each with a column of its own. A flush arc on p takes the amount #p (what input arcs take there is part of it).
Every amount is a whole number or the marking of a place, and never negative (a negative multiplicity is an error where it is met), so that

    m = m0 + sum over columns c of z_c * c,  z_c >= 0

holds for every reachable marking, and a weighting of places that is orthogonal to all columns is constant, whatever the amounts are.
Inhibitors, test arcs, guards, capacities and priorities disable firings and change none: all that follows from the columns holds with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.expr.evaluate import fold
from spn.expr.linear import linear
from spn.expr.nodes import Node, Number, Tokens
from spn.net.model import Arc, ArcKind, Net, Transition, place_index

Vector = Mapping[int, int]  # index to entry, no zeros


@dataclass(frozen=True, slots=True)
class Column:
    """What one unit of an amount changes, times ``scale``, by index of place; ``amount`` is None for the constant part of a transition's
    change. ``scale`` is 1 but where a multiplicity divides."""

    transition: int
    amount: Node | None
    changes: Vector
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Incidence:
    """All columns of a net: first the constant one of every transition, in their order (it may be empty), then those of amounts."""

    places: tuple[str, ...]
    transitions: tuple[str, ...]
    initial: tuple[int, ...]
    columns: tuple[Column, ...]

    @property
    def varying(self) -> frozenset[int]:
        """The transitions without a constant column."""
        return frozenset(c.transition for c in self.columns if c.amount is not None)

    def by_place(self) -> list[dict[int, int]]:
        """The rows: for each place its entry in each column."""
        rows: list[dict[int, int]] = [{} for _ in self.places]
        for k, c in enumerate(self.columns):
            for p, v in c.changes.items():
                rows[p][k] = v
        return rows


def constant(arc: Arc) -> int | None:
    """The multiplicity of an arc where it is a whole number."""
    if not isinstance(arc.multiplicity, Number):
        return None
    v = arc.multiplicity.value
    if isinstance(v, Fraction):
        return v.numerator if v.denominator == 1 else None
    return int(v) if v.is_integer() else None


def incidence(net: Net) -> Incidence:
    """The incidence of a checked net."""
    index = place_index(net)
    parts = [_parts(t, index) for t in net.transitions]
    first = [_column(k, None, part.get(None, {})) for k, part in enumerate(parts)]
    varying = ((k, amount, raw) for k, part in enumerate(parts) for amount, raw in part.items() if amount is not None)
    rest = [_column(k, amount, raw) for k, amount, raw in varying if any(raw.values())]
    return Incidence(
        places=tuple(p.name for p in net.places),
        transitions=tuple(t.name for t in net.transitions),
        initial=tuple(p.initial for p in net.places),
        columns=(*first, *rest),
    )


Parts = dict[Node | None, dict[int, Fraction | int]]


def _parts(t: Transition, index: Mapping[str, int]) -> Parts:
    """The change of a transition by amount and place."""
    found: Parts = {None: {}}
    flushed = {a.place for a in t.arcs if a.kind is ArcKind.FLUSH}
    for place in flushed:
        _add(found, Tokens(place), index[place], -1)
    for a in t.arcs:
        if a.kind is ArcKind.OUTPUT:
            _add_arc(found, a, index[a.place], 1)
        elif a.kind is ArcKind.INPUT and a.place not in flushed:
            _add_arc(found, a, index[a.place], -1)
    return found


def _add_arc(found: Parts, a: Arc, place: int, sign: int) -> None:
    whole = constant(a)
    if whole is not None:
        _add(found, None, place, sign * whole)
        return
    node = fold(a.multiplicity)
    as_sum = linear(node)
    if as_sum is None:
        _add(found, node, place, sign)
        return
    _add(found, None, place, sign * as_sum[1])
    for name, factor in as_sum[0].items():
        _add(found, Tokens(name), place, sign * factor)


def _add(found: Parts, amount: Node | None, place: int, value: Fraction | int) -> None:
    column = found.setdefault(amount, {})
    column[place] = column.get(place, 0) + value


def _column(transition: int, amount: Node | None, column: Mapping[int, Fraction | int]) -> Column:
    """A column times the least factor that makes it whole."""
    scale = math.lcm(*(v.denominator for v in column.values()))
    return Column(transition, amount, {p: int(v * scale) for p, v in column.items() if v}, scale)
