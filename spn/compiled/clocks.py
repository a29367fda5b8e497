"""Laws as tables, the exact tick of discrete delays, and the groups of transitions whose clocks always run at one speed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spn.dist.family import cumulative
from spn.dist.law import Law
from spn.dist.leaves import Leaf, leaves
from spn.expr.evaluate import fold
from spn.expr.nodes import ONE, Exact, Node, constant, exact
from spn.net.model import Net, Timed

MAX_TICKS = 2**40  # ticks per second; a finer common tick is not kept exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Timed transitions whose running clocks always work at one and the same rate: the marking-dependent speed, and for transfers the
    share, cap and links, are equal expressions. ``members`` are transition indices."""

    speed: Node
    share: Node = ONE
    cap: Exact | None = None
    links: tuple[str, ...] = ()
    members: tuple[int, ...] = ()


def groups(net: Net) -> tuple[Group, ...]:
    """The groups, in order of their first member. A transition at a constant speed and without links is in none."""
    found: dict[Group, list[int]] = {}
    for i, t in enumerate(net.transitions):
        if isinstance(t, Timed) and (key := _key(t)) is not None:
            found.setdefault(key, []).append(i)
    return tuple(Group(speed=g.speed, share=g.share, cap=g.cap, links=g.links, members=tuple(members)) for g, members in found.items())


def _key(t: Timed) -> Group | None:
    speed = fold(t.speed)
    if t.transfer is not None:
        links = tuple(sorted(set(t.transfer.links)))
        return Group(speed=speed, share=fold(t.transfer.share), cap=t.transfer.cap, links=links)
    return None if is_positive(constant(speed)) else Group(speed=speed)


def is_positive(value: Exact | None) -> bool:
    return value is not None and 0 < value < math.inf


def components(found: Sequence[Group]) -> tuple[tuple[int, ...], ...]:
    """For each group, the groups that share links with it directly or through others (itself included), ascending."""
    reached = [_reach(i, found) for i in range(len(found))]
    return tuple(tuple(sorted(r)) for r in reached)


def _reach(start: int, found: Sequence[Group]) -> set[int]:
    seen, links = {start}, set(found[start].links)
    while True:
        near = {j for j, g in enumerate(found) if j not in seen and links & set(g.links)}
        if not near:
            return seen
        seen |= near
        links |= set().union(*(found[j].links for j in near))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafRow:
    """One alternative of a law: chosen where a uniform draw is below ``upto``; ``discrete`` values are whole ticks."""

    upto: float
    leaf: Leaf
    discrete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Clockwork:
    """The drawing tables of a net: per timed transition its leaves and the constant ``factor`` (scale over speed) on every draw;
    ``ticks`` per second; ``inexact`` names transitions whose discrete delays have no place in the common tick."""

    ticks: int
    rows: dict[int, tuple[LeafRow, ...]]
    factors: dict[int, float]
    inexact: tuple[str, ...]


def clockwork(net: Net) -> Clockwork:
    """Draw tables and the common tick 1 / (least common multiple of the denominators of all discrete delays, in seconds)."""
    timed = {i: t for i, t in enumerate(net.transitions) if isinstance(t, Timed)}
    factors = {i: _factor(t) for i, t in timed.items()}
    needs = {i: _denominator(t, factors[i]) for i, t in timed.items()}
    ticks, exact_ones = common_tick(needs)
    rows = {i: tuple(_rows(t.law, t.transfer is None and i in exact_ones)) for i, t in timed.items()}
    left_out = tuple(timed[i].name for i, n in needs.items() if n is not None and i not in exact_ones)
    return Clockwork(ticks=ticks, rows=rows, factors={i: float(f) for i, f in factors.items()}, inexact=left_out)


def common_tick(needs: dict[int, int | None]) -> tuple[int, frozenset[int]]:
    """The least common multiple of the denominators as far as it stays below ``MAX_TICKS``, coarse ones first, and whose it serves."""
    ticks, served = 1, set()
    for i, n in sorted(((i, n) for i, n in needs.items() if n is not None), key=lambda item: item[1]):
        if math.lcm(ticks, n) <= MAX_TICKS:
            ticks = math.lcm(ticks, n)
            served.add(i)
    return ticks, frozenset(served)


def _factor(t: Timed) -> Exact:
    """Constant scale over constant speed, 1 for what depends on the marking (a transfer keeps its speed apart)."""
    scale, speed = constant(fold(t.scale)), constant(fold(t.speed))
    top = scale if scale is not None and 0 <= scale < math.inf else Fraction(1)
    bottom = speed if t.transfer is None and speed is not None and is_positive(speed) else Fraction(1)
    return top / bottom


def _denominator(t: Timed, factor: Exact) -> int | None:
    """The denominator, in seconds, of all discrete delays of a transition; None where it has none."""
    delays = [exact(t.transfer.latency)] if t.transfer is not None else list(_delays(t.law, factor))
    if not delays or any(not isinstance(d, Fraction) for d in delays):
        return None
    return math.lcm(*(d.denominator for d in delays if isinstance(d, Fraction)))


def _delays(law: Law, factor: Exact) -> Iterator[Exact]:
    for leaf in leaves(law):
        for value, _ in leaf.law.atoms() or ():
            yield _rational(leaf.shift + leaf.scale * value) * _rational(factor)


def _rational(value: Exact) -> Exact:
    return exact(value) if isinstance(value, float) else value


def _rows(law: Law, exact_delays: bool) -> Iterator[LeafRow]:
    alternatives = leaves(law)
    for leaf, upto in zip(alternatives, cumulative([a.prob for a in alternatives]), strict=True):
        yield LeafRow(upto=upto, leaf=leaf, discrete=exact_delays and leaf.law.atoms() is not None)
