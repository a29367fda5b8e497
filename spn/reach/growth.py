"""Showing that a net is unbounded: a marking that covers an earlier one on its own path, by firings that can be repeated for ever.

The argument of Karp and Miller (J. Comput. Syst. Sci. 3 (1969) 147) needs firings that stay possible, with the same effect, when the
places that grew hold yet more tokens. With priorities, guards, inhibitors, flushes and marking-dependent quantities that is no matter of
course, so it is checked for every firing of the sequence: nothing that decides it may read a place that grew other than by an ordinary
input or test arc, and the same transitions must be enabled with those places as they are and with very many tokens in them. A pair that
does not pass shows nothing, and the search goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spn.errors import AnalysisError, SemanticsError, SpnError, refuse
from spn.expr.nodes import Node, Number, places_of
from spn.net import semantics
from spn.net.model import Immediate, Marking, Timed, Transition
from spn.net.semantics import Rules
from spn.reach.space import Bools, Ints

PLENTY = 10**12  # tokens that no ordinary input arc of a real net exhausts
SHOWN = 12  # firings of a sequence that a message lists


@dataclass(frozen=True, slots=True)
class Growth:
    """``firings`` lead from the initial marking to state ``start``; repeating ``cycle`` from there adds tokens to ``places`` for ever."""

    start: int
    firings: tuple[int, ...]
    cycle: tuple[int, ...]
    places: tuple[int, ...]
    timeless: bool


def find_growth(r: Rules, rows: Ints, parent: Ints, via: Ints, vanishing: Bools) -> None:
    """Raise an error if the states found so far show that the net is unbounded; return if they do not.

    Looked at: the paths to the newest state and to the richest state of every place, each state against all before it on its path."""
    ends = dict.fromkeys([len(rows) - 1, *(rows.argmax(axis=0).tolist() if rows.size else [])])
    for end in ends:
        path = path_to(end, parent)
        if _growth_at(r, rows, path, via, vanishing) is not None:
            raise _unbounded(r, _earliest(r, rows, path, via, vanishing), rows)


def _growth_at(r: Rules, rows: Ints, path: list[int], via: Ints, vanishing: Bools) -> Growth | None:
    """Growth shown by the last state of a path and an earlier one, the nearest first."""
    shown = (_repeatable(r, rows, path, at, via, vanishing) for at in _covered(rows, path))
    return next((g for g in shown if g is not None), None)


def _earliest(r: Rules, rows: Ints, path: list[int], via: Ints, vanishing: Bools) -> Growth:
    """Of a path that shows growth, the growth that shows first: the shortest message."""
    shown = (_growth_at(r, rows, path[: k + 1], via, vanishing) for k in range(1, len(path)))
    return next(g for g in shown if g is not None)


def path_to(state: int, parent: Ints) -> list[int]:
    """The states on the shortest path from the initial one, both ends included."""
    path = [state]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    return path[::-1]


def _covered(rows: Ints, path: Sequence[int]) -> list[int]:
    """Positions on a path, latest first, of the states whose markings the last one covers."""
    chain = rows[list(path)]
    covered: list[int] = np.flatnonzero((chain[:-1] <= chain[-1]).all(axis=1)).tolist()
    return covered[::-1]


def _repeatable(r: Rules, rows: Ints, path: list[int], at: int, via: Ints, vanishing: Bools) -> Growth | None:
    cycle = path[at:]
    firings = tuple(int(via[s]) for s in cycle[1:])
    grown = frozenset(np.flatnonzero(rows[cycle[-1]] > rows[cycle[0]]).tolist())
    if not all(_indifferent(r, t, rows[s], grown) for s, t in zip(cycle, firings, strict=False)):
        return None
    known = vanishing[[s for s in cycle if s < len(vanishing)]]
    timeless = all(isinstance(_transition(r, t), Immediate) for t in firings) and bool(known.any())
    return Growth(cycle[0], tuple(int(via[s]) for s in path[1 : at + 1]), firings, tuple(sorted(grown)), timeless)


def _transition(r: Rules, t: int) -> Transition:
    return r.transitions[t].transition


def _indifferent(r: Rules, t: int, row: Ints, grown: frozenset[int]) -> bool:
    """Whether t fires from a marking in the same way however many tokens the grown places hold beyond those they have."""
    deciding = [t, *r.immediates]
    if any(_reads(r, u, grown) for u in deciding) or _changes_oddly(r, t, grown):
        return False
    more: list[int] = row.tolist()
    for p in grown:
        more[p] = PLENTY
    now, then = tuple(row.tolist()), tuple(more)
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


def _unbounded(r: Rules, growth: Growth, rows: Ints) -> SpnError:
    places = [r.net.places[p] for p in growth.places]
    named = ", ".join(p.name for p in places)
    source = next(t for t in growth.cycle if any(g.place in growth.places for g in r.transitions[t].outputs))
    transition = _transition(r, source)
    start: Marking = tuple(rows[growth.start].tolist())
    notes = (
        f"from marking {semantics.marking_text(r.net, start)} the firings {sequence(r, growth.cycle)} can be repeated for ever,"
        f" each time with more tokens in {named}",
        f"that marking is reached by {sequence(r, growth.firings)}" if growth.firings else "that marking is the initial one",
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
