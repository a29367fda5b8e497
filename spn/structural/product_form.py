"""Nets whose steady state is a product over places, recognised where it can be proved from the arcs and the rates.

A *bag* is what a transition takes, or puts. Where every bag that is put is also taken, and each connected part of the graph "transition:
bag taken -> bag put" is strongly connected, the routing of bags has a solution v > 0. The steady state is

    pi(m) = 1/G * product over places of y_p^m_p / (theta_p(1) ... theta_p(m_p))

where y solves  product of y_p^(O_p(t) - I_p(t)) = v(O(t)) / v(I(t))  for every transition (Henderson, Lucic and Taylor 1989, J. Austral.
Math. Soc. B 31, 180; Coleman, Henderson and Taylor 1996, Perform. Eval. 26, 159). The logarithms are linear equations: they always have a
solution where the rank of the incidence equals bags less parts (whatever the rates: Haddad, Moreaux, Sereno and Silva 2005, Perform. Eval.
59, 313), else exactly where for every flow x of transitions the product of (v(O)/v(I))^x is 1, which is checked in exact fractions.

Asked for are exponential times at constant speed, no immediates, plain arcs, and a rate that is a product over places: single servers, or
on transitions with one input of weight 1 also k or infinite servers, the same for all that take from the place (theta_p(n) = min(k, n)).
State machines of this kind are the closed networks of Gordon and Newell 1967 (Oper. Res. 15, 254). Networks that have a product form for
other reasons (BCMP with general service times, say) are not recognised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.dist.exponential import Exponential
from spn.expr.nodes import Number
from spn.net.model import INFINITE, ArcKind, Memory, Net, Timed, Transition, place_index
from spn.structural.algebra import Clock, TooLong, kernel, reduced
from spn.structural.classes import classes, obstacles
from spn.structural.incidence import constant

MOST_BAGS = 400
ROUNDING = Fraction(1, 10**9)
MOST_BITS = 200_000  # of the exact products checked
Bag = frozenset[tuple[int, int]]  # place and number of tokens


@dataclass(frozen=True, slots=True)
class ProductForm:
    """``found`` is None where it could not be decided; ``reason`` says why. ``any_rates``: it holds whatever the rates are."""

    found: bool | None
    reason: str
    any_rates: bool = False


def product_form(net: Net, bounds: Sequence[int | None]) -> ProductForm:
    """Whether the steady state of a net is of this product form; ``bounds`` are upper bounds on the tokens of its places, where known."""
    why = _refusal(net, bounds)
    if why:
        return ProductForm(False, why)
    found = _recognised(net)
    if found.found and any(b is None for b in bounds):
        return replace(found, reason=f"{found.reason}; if there is a steady state, since not every place has a bound")
    return found


def _recognised(net: Net) -> ProductForm:
    index = place_index(net)
    moves = [(i, o, _rate(t)) for t in net.transitions if (i := _bag(t, ArcKind.INPUT, index)) != (o := _bag(t, ArcKind.OUTPUT, index))]
    bags = list(dict.fromkeys(b for i, o, _ in moves for b in (i, o)))
    if len(bags) > MOST_BAGS:
        return ProductForm(None, f"more than {MOST_BAGS} bags: not looked at")
    parts = _parts(bags, moves)
    if parts is None:
        return ProductForm(False, "some tokens put together are not taken together, so that their routing does not close")
    return _solved(net, moves, bags, parts)


Move = tuple[Bag, Bag, Fraction]


def _solved(net: Net, moves: list[Move], bags: list[Bag], parts: list[list[Bag]]) -> ProductForm:
    clock = Clock(2.0)
    try:
        rank = len(reduced([_change(i, o) for i, o, _ in moves], clock))
        if len(bags) - len(parts) == rank:
            kind = "a closed queueing network (Gordon and Newell)" if "state machine" in classes(net) else "bags of deficiency 0"
            return ProductForm(True, f"{kind}: for any rates", any_rates=True)
        visits = _visits(moves, parts, clock)
        rows: list[dict[int, int]] = [{} for _ in net.places]
        for k, (i, o, _) in enumerate(moves):
            for p, v in _change(i, o).items():
                rows[p][k] = v
        flows = kernel(rows, range(len(moves)), clock)
    except TooLong:
        return ProductForm(None, "too large to be checked exactly in 2 s")
    return _balanced(moves, visits, flows)


def _balanced(moves: list[Move], visits: Mapping[Bag, Fraction], flows: list[dict[int, int]]) -> ProductForm:
    """Whether the logarithms have a solution: every flow gives the product 1 (to the rounding of rates that are no decimals)."""
    exact = True
    for x in flows:
        ratios = {k: visits[moves[k][1]] / visits[moves[k][0]] for k in x}
        if sum(abs(x[k]) * (r.numerator.bit_length() + r.denominator.bit_length()) for k, r in ratios.items()) > MOST_BITS:
            return ProductForm(None, "the numbers are too large to be checked exactly")
        gap = abs(math.prod((r ** x[k] for k, r in ratios.items()), start=Fraction(1)) - 1)
        if gap > ROUNDING:
            return ProductForm(False, "the routing of bags does not agree with the flows of the net at these rates")
        exact = exact and gap == 0
    return ProductForm(True, f"the routing of bags agrees with the flows of the net at these rates{'' if exact else ', to their rounding'}")


# --- what is asked for ------------------------------------------------------------------------------------------------------------


def _refusal(net: Net, bounds: Sequence[int | None]) -> str:
    found = obstacles(net)
    if found:
        return f"not looked for with {', '.join(found)}"
    if not net.transitions:
        return "no transition"
    for t in net.transitions:
        if not isinstance(t, Timed):
            return "not looked for with immediate transitions"
        steady = (
            isinstance(t.speed, Number) and isinstance(t.scale, Number) and 0 < t.speed.value < math.inf and 0 < t.scale.value < math.inf
        )
        if not isinstance(t.law, Exponential) or t.transfer is not None or t.memory is Memory.REPEAT or not steady:
            return f"{t.name} is not exponential at a constant rate"
    return _servers_refusal(net, bounds)


def _servers_refusal(net: Net, bounds: Sequence[int | None]) -> str:
    """Why the rates are no product over places."""
    index = place_index(net)
    servers: dict[int, object] = {}
    for t in net.transitions:
        assert isinstance(t, Timed)
        bag = _bag(t, ArcKind.INPUT, index)
        k = _most_running(t, bag, bounds)
        alone = len(bag) == 1 and all(w == 1 for _, w in bag)
        if not alone and k != 1:
            return f"{t.name} takes several tokens at once with more than one server"
        for p, _ in bag:
            most = bounds[p]
            n = min(k, math.inf if most is None else most) if alone else 1
            if servers.setdefault(p, n) != n and most != 1:
                return f"what takes from {net.places[p].name} has different numbers of servers"
    return ""


def _most_running(t: Timed, bag: Bag, bounds: Sequence[int | None]) -> float:
    degrees = [b // w for p, w in bag if (b := bounds[p]) is not None]
    most = math.inf if t.servers == INFINITE and bag else 1 if t.servers == INFINITE else t.servers
    return min([most, *(max(1, d) for d in degrees)])


def _bag(t: Transition, kind: ArcKind, index: Mapping[str, int]) -> Bag:
    found: dict[int, int] = {}
    for a in t.arcs:
        if a.kind is kind:
            found[index[a.place]] = found.get(index[a.place], 0) + (constant(a) or 0)
    return frozenset(found.items())


def _rate(t: Transition) -> Fraction:
    assert isinstance(t, Timed) and isinstance(t.speed, Number) and isinstance(t.scale, Number)
    assert isinstance(t.law, Exponential)
    return Fraction(t.speed.value) * Fraction(repr(t.law.rate)) / Fraction(t.scale.value)


def _change(i: Bag, o: Bag) -> dict[int, int]:
    change = dict(o)
    for p, w in i:
        change[p] = change.get(p, 0) - w
    return {p: v for p, v in change.items() if v}


# --- bags -------------------------------------------------------------------------------------------------------------------------


def _parts(bags: list[Bag], moves: list[Move]) -> list[list[Bag]] | None:
    """The connected parts of the graph of bags, None where one is not strongly connected."""
    ahead: dict[Bag, set[Bag]] = {b: set() for b in bags}
    back: dict[Bag, set[Bag]] = {b: set() for b in bags}
    for i, o, _ in moves:
        ahead[i].add(o)
        back[o].add(i)
    parts, seen = [], set[Bag]()
    for b in bags:
        if b in seen:
            continue
        reached = _reached(b, ahead)
        if reached != _reached(b, back):
            return None
        seen |= reached
        parts.append([c for c in bags if c in reached])
    return parts


def _reached(start: Bag, ahead: Mapping[Bag, set[Bag]]) -> set[Bag]:
    found, waiting = {start}, [start]
    while waiting:
        new = ahead[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _visits(moves: list[Move], parts: list[list[Bag]], clock: Clock) -> dict[Bag, Fraction]:
    """A positive solution of the routing of bags: what leaves each at its rate comes into it."""
    visits: dict[Bag, Fraction] = {}
    for part in parts:
        number = {b: k for k, b in enumerate(part)}
        inside = [m for m in moves if m[0] in number]
        scale = math.lcm(*(r.denominator for *_, r in inside))
        rows: list[dict[int, int]] = [{} for _ in part]
        for i, o, r in inside:
            rate, a, b = int(r * scale), number[i], number[o]
            rows[a][a] = rows[a].get(a, 0) - rate
            rows[b][a] = rows[b].get(a, 0) + rate
        (solution,) = kernel(rows, range(len(part)), clock)
        visits |= {b: Fraction(solution[k]) for b, k in number.items()}
    return visits
