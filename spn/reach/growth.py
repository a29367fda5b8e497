"""Showing that a net is unbounded: a marking that covers an earlier one on its own path, by firings that can be repeated for ever.

The argument of Karp and Miller (J. Comput. Syst. Sci. 3 (1969) 147) needs firings that stay possible, with the same effect, when the
places that grew hold yet more tokens. With priorities, guards, inhibitors, flushes and marking-dependent quantities that is no matter of
course, so it is checked for every firing of the sequence: nothing that decides it may read a place that grew other than by an ordinary
input or test arc, and the same transitions must be enabled with those places as they are and with very many tokens in them. A pair that
does not pass shows nothing, and the search goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from spn.errors import AnalysisError, SemanticsError, SpnError, refuse
from spn.expr.nodes import Node, Number, places_of
from spn.net import semantics
from spn.net.model import Immediate, Marking, Timed, Transition
from spn.net.semantics import Rules
from spn.reach.packing import Ints, Whole

PLENTY = 10**12  # tokens that no ordinary input arc of a real net exhausts
LONGEST = 2_000  # markings at the end of a path in which growth is sought
SHOWN = 12  # firings of a sequence that a message lists


class History(Protocol):
    """What an exploration knows of the states found so far."""

    @property
    def count(self) -> int: ...

    def most(self) -> Ints:
        """The most tokens seen in each place."""

    def ends(self) -> Sequence[int]:
        """The newest state, and the richest of every place."""

    def way(self, state: int, longest: int) -> list[Marking]:
        """The markings on the shortest path from the initial one to a state, both included; the last ``longest`` of them. Between two of
        them vanishing markings may have been passed."""


class Unconnected(Exception):
    """No firing leads from a marking of a way to the next: they were replaced by others that stand for them."""


@dataclass(frozen=True, slots=True)
class Path:
    """Markings one firing after the other, and the firings between."""

    markings: tuple[Marking, ...]
    firings: tuple[int, ...]

    def upto(self, k: int) -> Path:
        return Path(self.markings[: k + 1], self.firings[:k])


@dataclass(frozen=True, slots=True)
class Growth:
    """Repeating ``cycle`` from the marking at ``start`` of a path adds tokens to ``places`` for ever; ``timeless``: in no time."""

    start: int
    cycle: tuple[int, ...]
    places: tuple[int, ...]
    timeless: bool


def find_growth(r: Rules, history: History) -> None:
    """Raise an error if the states found so far show that the net is unbounded; return if they do not.

    Looked at: the paths to the newest state and to the richest state of every place (of long ones the end), each marking against all
    before it on its path."""
    for end in history.ends():
        way = history.way(end, LONGEST)
        if not _covered(way):
            continue
        path = detailed(r, way)
        if _growth_at(r, path) is not None:
            whole = detailed(r, history.way(end, history.count))
            before = len(whole.markings) - len(path.markings)
            raise _unbounded(r, _earliest(r, path), path, whole.firings[:before])


def _growth_at(r: Rules, path: Path) -> Growth | None:
    """Growth shown by the last marking of a path and an earlier one, the nearest first."""
    shown = (_repeatable(r, path, at) for at in _covered(path.markings))
    return next((g for g in shown if g is not None), None)


def _earliest(r: Rules, path: Path) -> Growth:
    """Of a path that shows growth, the growth that shows first: the shortest message."""
    shown = (_growth_at(r, path.upto(k)) for k in range(1, len(path.markings)))
    return next(g for g in shown if g is not None)


def path_to(state: int, parent: Whole) -> list[int]:
    """The states on the shortest path from the initial one, both ends included."""
    path = [state]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    return path[::-1]


def detailed(r: Rules, way: Sequence[Marking]) -> Path:
    """The path with all firings, and the vanishing markings passed, between the markings of a way."""
    markings, firings = [way[0]], list[int]()
    for before, after in pairwise(way):
        for t, m in _between(r, before, after):
            firings.append(t)
            markings.append(m)
    return Path(tuple(markings), tuple(firings))


def _between(r: Rules, before: Marking, after: Marking) -> list[tuple[int, Marking]]:
    """The shortest way from a marking to one that a firing leads to, at once or by immediate firings that follow."""
    found: dict[Marking, tuple[Marking, int]] = {}
    waiting = deque([before])
    while waiting:
        m = waiting.popleft()
        chosen = [t for t, _ in semantics.enabled_immediates(r, m)]
        able = chosen or ([t for t, x in semantics.clock_rates(r, m).items() if x > 0] if m == before else [])
        for t in able:
            new = semantics.fire(r, t, m)
            if new not in found:
                found[new] = m, t
                waiting.append(new)
            if new == after:
                return _backwards(found, before, after)
    raise Unconnected


def _backwards(found: dict[Marking, tuple[Marking, int]], before: Marking, after: Marking) -> list[tuple[int, Marking]]:
    steps: list[tuple[int, Marking]] = []
    at = after
    while not steps or at != before:
        m, t = found[at]
        steps.append((t, at))
        at = m
    return steps[::-1]


def _covered(way: Sequence[Marking]) -> list[int]:
    """Positions on a path, latest first, of the markings which the last one covers."""
    chain = np.array(way, dtype=np.int64).reshape(len(way), -1)
    covered: list[int] = np.flatnonzero((chain[:-1] <= chain[-1]).all(axis=1)).tolist()
    return covered[::-1]


def _repeatable(r: Rules, path: Path, at: int) -> Growth | None:
    cycle, firings = path.markings[at:], path.firings[at:]
    grown = frozenset(p for p, (a, b) in enumerate(zip(cycle[0], cycle[-1], strict=True)) if b > a)
    if not grown or not all(_indifferent(r, t, m, grown) for m, t in zip(cycle, firings, strict=False)):
        return None
    timeless = all(isinstance(_transition(r, t), Immediate) for t in firings)
    return Growth(at, firings, tuple(sorted(grown)), timeless)


def _transition(r: Rules, t: int) -> Transition:
    return r.transitions[t].transition


def _indifferent(r: Rules, t: int, now: Marking, grown: frozenset[int]) -> bool:
    """Whether t fires from a marking in the same way however many tokens the grown places hold beyond those they have."""
    deciding = [t, *r.immediates]
    if any(_reads(r, u, grown) for u in deciding) or _changes_oddly(r, t, grown):
        return False
    then = tuple(max(k, PLENTY) if p in grown else k for p, k in enumerate(now))
    return all((semantics.enabling_degree(r, u, now) > 0) == (semantics.enabling_degree(r, u, then) > 0) for u in deciding)


def _reads(r: Rules, t: int, grown: frozenset[int]) -> bool:
    """Whether a transition depends on a grown place in any way but by input and test arcs of constant multiplicity."""
    tr = r.transitions[t]
    names = {r.net.places[p].name for p in grown}
    if any(g.place in grown for g in tr.inhibitors):
        return True
    if any(r.capacities[g.place] is not None and g.place in grown for g in tr.outputs):
        return True
    return any(places_of(node) & names for node in _expressions(tr.transition))


def _expressions(t: Transition) -> Iterable[Node]:
    yield t.weight
    if t.guard is not None:
        yield t.guard
    yield from (arc.multiplicity for arc in t.arcs if not isinstance(arc.multiplicity, Number))
    if isinstance(t, Timed):
        yield t.speed
        if t.transfer is not None:
            yield t.transfer.share


def _changes_oddly(r: Rules, t: int, grown: frozenset[int]) -> bool:
    return any(p in grown for p in r.transitions[t].flushes)


def _unbounded(r: Rules, growth: Growth, path: Path, before: Sequence[int]) -> SpnError:
    """The error; ``before`` are the firings that lead to the path's first marking."""
    places = [r.net.places[p] for p in growth.places]
    named = ", ".join(p.name for p in places)
    source = next(t for t in growth.cycle if any(g.place in growth.places for g in r.transitions[t].outputs))
    transition = _transition(r, source)
    start = path.markings[growth.start]
    firings = (*before, *path.firings[: growth.start])
    notes = (
        f"from marking {semantics.marking_text(r.net, start)} the firings {sequence(r, growth.cycle)} can be repeated for ever,"
        f" each time with more tokens in {named}",
        f"that marking is reached by {sequence(r, firings)}" if firings else "that marking is the initial one",
    )
    if growth.timeless:
        loop = ", ".join(dict.fromkeys(_transition(r, t).name for t in growth.cycle))
        return refuse(
            SemanticsError,
            "E0601",
            f"zero-time loop without exit: {loop} can fire for ever in no time, and {named} grows without bound",
            span=transition.span,
            help="let time pass in the loop, or give its immediate transitions an input that runs out",
            notes=notes,
        )
    return refuse(
        AnalysisError,
        "E0600",
        f"the net is unbounded: {transition.name} puts ever more tokens into {named}",
        span=transition.span or places[0].span,
        help=f"bound it (a capacity for {named}, or a guard on {transition.name}), or simulate the net",
        notes=notes,
    )


def sequence(r: Rules, firings: Sequence[int]) -> str:
    """A firing sequence as text, its middle left out where it is long."""
    names = [_transition(r, t).name for t in firings]
    if len(names) > SHOWN:
        half = SHOWN // 2
        names = [*names[:half], f"… ({len(names) - 2 * half} more) …", *names[-half:]]
    return ", ".join(names)
