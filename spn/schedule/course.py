"""All states that a net with finitely many delays can reach, as a graph; its closed classes; exact averages over them.

Most states have one successor: chance enters where a tie, an immediate or a delay has several outcomes. A class without chance is a cycle,
and its averages are sums. In others the visits to the states with several successors (*forks*) are the stationary vector of a small
chain, solved in rational numbers where that is cheap, else in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.markov.longrun import long_run
from spn.net.model import Net
from spn.reach.components import closed, members, strong_components
from spn.reach.space import compressed
from spn.schedule.steps import ONE, TANGIBLE, ZERO, State, Step, Steps

MOST_WORK = 100_000  # products of an elimination in rational numbers

Weight = Fraction | float


@dataclass(frozen=True, slots=True)
class Graph:
    """``states`` in the order met; ``after[i]``: what follows state i, its branches leading to the states ``targets[i]``."""

    states: tuple[State, ...]
    after: tuple[Step, ...]
    targets: tuple[tuple[int, ...], ...]
    steps: Steps

    @property
    def tangible(self) -> int:
        return sum(s.kind == TANGIBLE for s in self.states)


class TooMany(Exception):
    """More states than allowed; ``state`` is one of the last met."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state


def explore(net: Net, most: int) -> Graph:
    """All states; TooMany beyond ``most`` of them. Errors of markings that mean nothing are those of :mod:`spn.net.semantics`."""
    steps = Steps(net)
    states = [steps.first()]
    number = {states[0]: 0}
    after: list[Step] = []
    targets: list[tuple[int, ...]] = []
    while len(after) < len(states):
        step = steps.after(states[len(after)])
        row = []
        for b in step.branches:
            if b.state not in number:
                if len(states) >= most:
                    raise TooMany(b.state)
                number[b.state] = len(states)
                states.append(b.state)
            row.append(number[b.state])
        after.append(step)
        targets.append(tuple(row))
    return Graph(tuple(states), tuple(after), tuple(targets), steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """A closed class: its ``states``; the ``probability`` of ending in it; ``visits`` of each state, relative to one another. ``exact``
    where they are rational."""

    states: tuple[int, ...]
    probability: Weight
    visits: tuple[Weight, ...]

    @property
    def exact(self) -> bool:
        return isinstance(self.probability, Fraction) and all(isinstance(v, Fraction) for v in self.visits)


def classes(g: Graph) -> tuple[Class, ...]:
    """The closed classes, in the order in which they are met."""
    indptr = np.concatenate([[0], np.cumsum([len(t) for t in g.targets])]).astype(np.int64)
    columns = np.array([j for row in g.targets for j in row], dtype=np.int64)
    count, label = strong_components(indptr, columns)
    sources = np.repeat(np.arange(len(g.states)), np.diff(indptr))
    groups = members(count, label)
    final = [tuple(x.tolist()) for x, shut in zip(groups, closed(count, label, sources, columns), strict=True) if shut]
    final.sort(key=lambda c: c[0])
    visits = [_visits(g, c) for c in final]
    chances = [ONE] if len(final) == 1 else _chances(g, final)
    return tuple(Class(states=c, probability=p, visits=v) for c, p, v in zip(final, chances, visits, strict=True))


# --- visits within a class --------------------------------------------------------------------------------------------------------


def _visits(g: Graph, c: Sequence[int]) -> tuple[Weight, ...]:
    forks = [i for i in c if len(g.targets[i]) > 1]
    if not forks:
        return (ONE,) * len(c)
    flow: dict[int, Weight] = dict(zip(forks, _stationary(_between(g, forks), len(forks)), strict=True))
    return _spread(g, c, flow)


def _between(g: Graph, forks: Sequence[int]) -> list[dict[int, Fraction]]:
    """The chances from fork to fork, by their places in the list; what leads elsewhere is left out."""
    place = {i: k for k, i in enumerate(forks)}
    known: dict[int, int] = {}
    rows = []
    for i in forks:
        row: dict[int, Fraction] = {}
        for b, j in zip(g.after[i].branches, g.targets[i], strict=True):
            end = _next_stop(g, j, place, known)
            if end in place:
                row[place[end]] = row.get(place[end], ZERO) + b.chance
        rows.append(row)
    return rows


def _next_stop(g: Graph, i: int, stops: Mapping[int, object], known: dict[int, int]) -> int:
    """The first of the stops on the way from a state, or where the way ends or begins to repeat (its least state)."""
    way: list[int] = []
    seen: set[int] = set()
    while i not in stops and i not in known and i not in seen and g.targets[i]:
        way.append(i)
        seen.add(i)
        (i,) = g.targets[i]
    end = known.get(i, i)
    if i in seen:
        end = min(way[way.index(i) :])
    for j in way:
        known[j] = end
    return end


def _stationary(rows: Sequence[Mapping[int, Fraction]], n: int) -> list[Weight]:
    """The stationary vector of an irreducible chain, unscaled: rational where elimination is cheap, else in double precision."""
    exact = _eliminated(rows)
    if exact is not None:
        return list(exact)
    source = np.array([k for k, row in enumerate(rows) for _ in row], dtype=np.int64)
    target = np.array([j for row in rows for j in row], dtype=np.int64)
    chance = np.array([float(p) for row in rows for p in row.values()])
    start = np.zeros(n)
    start[0] = 1.0
    return [float(x) for x in long_run(compressed(n, source, target, chance), start).pi]


def _eliminated(rows: Sequence[Mapping[int, Fraction]]) -> list[Fraction] | None:
    """By sparse elimination without subtraction, the last state first (Grassmann, Taksar and Heyman, Oper. Res. 33 (1985) 1107,
    doi:10.1287/opre.33.5.1107); None beyond ``MOST_WORK``."""
    p = [{j: x for j, x in row.items() if j != i} for i, row in enumerate(rows)]
    before: list[set[int]] = [set() for _ in rows]
    for i, row in enumerate(p):
        for j in row:
            before[j].add(i)
    work = 0
    for k in range(len(p) - 1, 0, -1):
        on = {j: x for j, x in p[k].items() if j < k}
        out = sum(on.values(), ZERO)
        for i in [i for i in before[k] if i < k]:
            share = p[i][k] = p[i][k] / out
            for j, x in on.items():
                if i != j:
                    p[i][j] = p[i].get(j, ZERO) + share * x
                    before[j].add(i)
            work += len(on)
        if work > MOST_WORK:
            return None
    found = [ONE]
    for k in range(1, len(p)):
        found.append(sum((found[i] * p[i][k] for i in before[k] if i < k), ZERO))
    return found


def _spread(g: Graph, c: Sequence[int], flow: dict[int, Weight]) -> tuple[Weight, ...]:
    """From the visits to the forks those to all states: what enters a state is the sum over those before it."""
    waiting = dict.fromkeys(c, 0)
    for i in c:
        for j in g.targets[i]:
            waiting[j] += 1
    total: dict[int, Weight] = {i: flow.get(i, ZERO) for i in c}
    ready = list(flow)
    while ready:
        i = ready.pop()
        for b, j in zip(g.after[i].branches, g.targets[i], strict=True):
            if j in flow:
                continue
            total[j] = total[j] + total[i] * b.chance
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
    return tuple(total[i] for i in c)


# --- which class ------------------------------------------------------------------------------------------------------------------


def _chances(g: Graph, final: Sequence[Sequence[int]]) -> list[Weight]:
    """The probability of ending in each closed class, from state 0."""
    owner = {i: k for k, c in enumerate(final) for i in c}
    forks = [i for i in range(len(g.states)) if len(g.targets[i]) > 1 and i not in owner]
    stops = {**{i: k for k, i in enumerate(forks)}, **dict.fromkeys(owner, -1)}
    known: dict[int, int] = {}
    rows: list[dict[int, Fraction]] = []
    for i in forks:
        row: dict[int, Fraction] = {}
        for b, j in zip(g.after[i].branches, g.targets[i], strict=True):
            end = _next_stop(g, j, stops, known)
            key = len(forks) + owner[end] if end in owner else stops[end]
            row[key] = row.get(key, ZERO) + b.chance
        rows.append(row)
    first = _next_stop(g, 0, stops, known)
    if first in owner:
        return [ONE if k == owner[first] else ZERO for k in range(len(final))]
    return _absorbed(rows, stops[first], len(final))


def _absorbed(rows: list[dict[int, Fraction]], first: int, ends: int) -> list[Weight]:
    """The chances of the ends n, n + 1, … from state ``first`` of a chain: as the visits to them when it starts anew from each."""
    n = len(rows)
    order = {first: 0, **{k: at for at, k in enumerate((k for k in range(n + ends) if k != first), start=1)}}
    anew = [{first: ONE}] * ends
    renumbered: list[dict[int, Fraction]] = [{} for _ in order]
    for k, row in enumerate([*rows, *anew]):
        renumbered[order[k]] = {order[j]: x for j, x in row.items()}
    exact = _eliminated(_reached(renumbered))
    if exact is None:
        return _absorbed_in_doubles(rows, first, ends)
    visits = [exact[order[n + e]] for e in range(ends)]
    return [v / sum(visits) for v in visits]


def _reached(rows: list[dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """The same chain, in which a state that is never met from state 0 goes there at once."""
    met, work = {0}, [0]
    while work:
        new = [j for j in rows[work.pop()] if j not in met]
        met.update(new)
        work.extend(new)
    return [row if k in met else {0: ONE} for k, row in enumerate(rows)]


def _absorbed_in_doubles(rows: Sequence[Mapping[int, Fraction]], first: int, ends: int) -> list[Weight]:
    n = len(rows)
    source = np.array([k for k, row in enumerate(rows) for _ in row], dtype=np.int64)
    target = np.array([j for row in rows for j in row], dtype=np.int64)
    chance = np.array([float(p) for row in rows for p in row.values()])
    start = np.zeros(n + ends)
    start[first] = 1.0
    found = long_run(compressed(n + ends, source, target, chance), start)
    chances = {int(c.states[0]) - n: c.probability for c in found.classes}
    return [chances.get(e, 0.0) for e in range(ends)]


# --- averages ---------------------------------------------------------------------------------------------------------------------


def average(g: Graph, c: Class, rate: Callable[[int], Weight] | None, firing: Callable[[int, int], Weight] | None) -> Weight:
    """The mean per second, over a class, of a rate in each state and of what each firing (state, transition) brings.

    A class in which nothing moves has the rate of its one state. ZeroTime where no time passes in the class."""
    if g.after[c.states[0]].wait is None:
        return rate(c.states[0]) if rate is not None else ZERO
    time = length(g, c)
    total: Weight = ZERO
    for i, v in zip(c.states, c.visits, strict=True):
        step = g.after[i]
        if rate is not None and step.wait:
            total = total + v * rate(i) * step.wait
        if firing is not None:
            for b in step.branches:
                if b.fired is not None:
                    total = total + v * b.chance * firing(i, b.fired)
    return total / time


def length(g: Graph, c: Class) -> Weight:
    """The time that the visits of a class take; of a cycle, its period."""
    total: Weight = ZERO
    for i, v in zip(c.states, c.visits, strict=True):
        total = total + v * (g.after[i].wait or ZERO)
    return total


def lead(g: Graph) -> tuple[Fraction, Fraction | None] | None:
    """When a course begins to repeat, and its period (None: it ends in a marking in which nothing happens any more). None where chance
    decides what is met; ties whose outcomes lead to one and the same state decide nothing."""
    seen: dict[int, Fraction] = {}
    time = ZERO
    i = _next_lasting(g, 0)
    while i is not None and i not in seen:
        seen[i] = time
        wait = g.after[i].wait
        if wait is None:
            return time, None
        time += wait
        following = {_next_lasting(g, j) for j in g.targets[i]}
        (i,) = following if len(following) == 1 else (None,)
    return None if i is None else (seen[i], time - seen[i])


def _next_lasting(g: Graph, i: int) -> int | None:
    """The one state in which time passes that follows in zero time; None where there are several, or none."""
    found: set[int] = set()
    seen, work = {i}, [i]
    while work:
        j = work.pop()
        if g.after[j].wait != 0:
            found.add(j)
        else:
            new = [k for k in g.targets[j] if k not in seen]
            seen.update(new)
            work.extend(new)
    return found.pop() if len(found) == 1 else None


def growing(net: Net, state: State, most: int) -> SpnError:
    """The refusal where no end of states was found, naming the places that hold most tokens."""
    full = sorted(((k, p) for p, k in zip(net.places, state.marking, strict=True) if k), key=lambda x: -x[0])[:3]
    shown = ", ".join(f"{p.name}={k}" for k, p in full) or "(empty)"
    return refuse(
        AnalysisError,
        "E0671",
        f"no schedule within {most:,} states: markings with remaining times do not repeat soon enough",
        help="raise max_states, round the delays to a common unit, or simulate; a net whose tokens grow without end has no schedule",
        notes=(f"one of the last markings: {shown}",),
    )
