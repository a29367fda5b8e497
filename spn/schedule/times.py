"""A schedule followed from the beginning: what has happened by a time, and when a condition is first met, with all chances exact."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spn.schedule.course import Graph
from spn.schedule.steps import ONE, TANGIBLE, ZERO

MOST_VISITS = 1_000_000  # of states along the way
NEGLIGIBLE = Fraction(1, 10**18)  # a chance that is left and no longer followed


class TooLong(Exception):
    """The time asked about is too many states away; the argument is the time reached."""


@dataclass(frozen=True, slots=True)
class Visit:
    """With ``chance``, state ``state`` is entered at ``time``."""

    time: Fraction
    state: int
    chance: Fraction


def visits(g: Graph, goes_on: Callable[[int], bool] = lambda i: True) -> Iterator[Visit]:
    """All visits in the order of time, those to one state at one time joined as far as they are met together; a state for which
    ``goes_on`` is false is not followed."""
    chance = {(ZERO, 0): ONE}
    queue: list[tuple[Fraction, int]] = [(ZERO, 0)]
    done = 0
    while queue:
        time, i = heapq.heappop(queue)
        p = chance.pop((time, i))
        yield Visit(time, i, p)
        done += 1
        if done > MOST_VISITS:
            raise TooLong(time)
        wait = g.after[i].wait
        if wait is None or not goes_on(i):
            continue
        for b, j in zip(g.after[i].branches, g.targets[i], strict=True):
            key = time + wait, j
            if key not in chance:
                chance[key] = ZERO
                heapq.heappush(queue, key)
            chance[key] += p * b.chance


def at(g: Graph, time: Fraction, rate: Callable[[int], Fraction]) -> Fraction:
    """The mean of a quantity at a time, what happens at that time having happened."""
    total = ZERO
    for v in visits(g):
        if v.time > time:
            break
        wait = g.after[v.state].wait
        if g.states[v.state].kind == TANGIBLE and (wait is None or v.time + wait > time):
            total += v.chance * rate(v.state)
    return total


def between(
    g: Graph, start: Fraction, end: Fraction, rate: Callable[[int], Fraction] | None, firing: Callable[[int, int], Fraction] | None
) -> Fraction:
    """The mean of the integral of a rate over a time and of what the firings bring: those after ``start`` (from 0 on: at 0 as well) and
    up to ``end``, both of its ends included."""
    total = ZERO
    for v in visits(g):
        if v.time > end:
            break
        wait = g.after[v.state].wait
        leaves = end if wait is None else v.time + wait
        if rate is not None and g.states[v.state].kind == TANGIBLE:
            total += v.chance * rate(v.state) * max(ZERO, min(leaves, end) - max(v.time, start))
        if firing is not None and wait is not None and leaves <= end and (leaves > start or not start):
            for b in g.after[v.state].branches:
                if b.fired is not None:
                    total += v.chance * b.chance * firing(v.state, b.fired)
    return total


@dataclass(frozen=True, slots=True)
class Met:
    """When a condition is first met: ``times`` with their chances, ascending, and the chance that it ``never`` is."""

    times: tuple[tuple[Fraction, Fraction], ...]
    never: Fraction
    complete: bool

    def mean(self) -> Fraction | None:
        """None for infinity."""
        return None if self.never else sum((t * p for t, p in self.times), ZERO)

    def within(self, time: Fraction) -> Fraction:
        return sum((p for t, p in self.times if t <= time), ZERO)

    def quantile(self, level: Fraction) -> Fraction | None:
        """None for infinity."""
        reached = ZERO
        for t, p in self.times:
            reached += p
            if reached >= level:
                return t
        return None


def first_met(g: Graph, holds: Sequence[bool], until: Fraction | None = None) -> Met:
    """When a tangible state in which ``holds`` is entered first, up to ``until`` at least; ``complete`` is false where a chance of less
    than 1e-18 was left out. TooLong where it takes too many states."""
    hopeful = _leading_to(g, holds)
    found: dict[Fraction, Fraction] = {}
    never, settled = ZERO, ZERO
    for v in visits(g, lambda i: not holds[i] and hopeful[i]):
        if until is not None and v.time > until:
            break
        if holds[v.state]:
            found[v.time] = found.get(v.time, ZERO) + v.chance
        elif not hopeful[v.state]:
            never += v.chance
        else:
            continue
        settled += v.chance
        if ONE - settled < NEGLIGIBLE:
            break
    return Met(tuple(sorted(found.items())), never, settled == ONE or until is not None)


def _leading_to(g: Graph, holds: Sequence[bool]) -> list[bool]:
    """The states from which one that ``holds`` can be reached."""
    before: list[list[int]] = [[] for _ in g.states]
    for i, row in enumerate(g.targets):
        for j in row:
            before[j].append(i)
    found = list(holds)
    work = [i for i, h in enumerate(holds) if h]
    while work:
        for i in before[work.pop()]:
            if not found[i]:
                found[i] = True
                work.append(i)
    return found
