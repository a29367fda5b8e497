"""The semantics applied to many markings at once.

Arcs of constant multiplicity are array arithmetic. Everything that depends on the marking (guards, multiplicities, weights, speeds) is
asked of :mod:`spn.net.semantics`, once for each distinct sub-marking of the places it reads, so that there is no second definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spn.expr.nodes import Node, places_of
from spn.net import semantics
from spn.net.model import INFINITE, Arc, Immediate, Marking, Timed
from spn.net.semantics import PlaceArcs, Rules, TransitionRules
from spn.reach.packing import Markings
from spn.reach.space import Floats, Ints

WIDEST_KEY = 2**62


@dataclass(frozen=True, slots=True)
class Test:
    """One condition for enabling, in the order in which the semantics reads them. ``rules`` hold this condition alone; it depends on
    ``places`` only. ``limits`` says that it gives the degree (the input arcs), not just yes or no."""

    rules: Rules
    places: tuple[int, ...]
    limits: bool
    constant: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A transition prepared for arrays: its tests, and what a firing reads and changes. ``delta`` is the change per place where it
    is the same in every marking, else None."""

    tests: tuple[Test, ...]
    reads: tuple[int, ...]
    changes: tuple[int, ...]
    delta: Ints | None


@dataclass(frozen=True, slots=True)
class Batch:
    rules: Rules
    steps: tuple[Step, ...]
    transfers: tuple[int, ...]


def batch(r: Rules) -> Batch:
    """Prepare the transitions of a net for :func:`degrees`, :func:`fired`, :func:`weights` and :func:`clock_rates`."""
    steps = tuple(_step(r, t) for t in range(len(r.transitions)))
    return Batch(r, steps, tuple(t for t in r.timed if _timed(r, t).transfer is not None))


def _timed(r: Rules, t: int) -> Timed:
    transition = r.transitions[t].transition
    assert isinstance(transition, Timed)
    return transition


# --- preparation ------------------------------------------------------------------------------------------------------------


def _step(r: Rules, t: int) -> Step:
    tr = r.transitions[t]
    groups = (*tr.inputs, *tr.outputs)
    changes = sorted({g.place for g in groups} | set(tr.flushes))
    reads = sorted(set(changes) | _read_by(r, groups))
    return Step(tuple(_tests(r, t)), tuple(reads), tuple(changes), _delta(r, tr))


def _delta(r: Rules, tr: TransitionRules) -> Ints | None:
    if tr.flushes or any(g.constant is None for g in (*tr.inputs, *tr.outputs)):
        return None
    delta = np.zeros(len(r.capacities), dtype=np.int64)
    for sign, groups in ((-1, tr.inputs), (1, tr.outputs)):
        for g in groups:
            delta[g.place] += sign * (g.constant or 0)
    return delta


def _tests(r: Rules, t: int) -> list[Test]:
    """Guard, inputs, tests, inhibitors, capacities: each alone, none where there is nothing to test."""
    tr = r.transitions[t]
    bare = replace(tr, transition=replace(tr.transition, guard=None), inputs=(), tests=(), inhibitors=(), bounded=False)
    full = tuple(g for g in tr.outputs if r.capacities[g.place] is not None)
    into = {g.place for g in full}
    alone = [
        replace(bare, transition=tr.transition) if tr.transition.guard is not None else None,
        replace(bare, inputs=tr.inputs) if tr.inputs else None,
        *(replace(bare, tests=(g,)) for g in tr.tests),
        *(replace(bare, inhibitors=(g,)) for g in tr.inhibitors),
        replace(bare, inputs=tuple(g for g in tr.inputs if g.place in into), outputs=full, bounded=True) if tr.bounded else None,
    ]
    return [_test(r, t, part) for part in alone if part is not None]


def _test(r: Rules, t: int, part: TransitionRules) -> Test:
    groups = (*part.inputs, *part.tests, *part.inhibitors, *(part.outputs if part.bounded else ()))
    guard = part.transition.guard
    places = {g.place for g in groups} | _read_by(r, groups) | (_indices(r, guard) if guard is not None else set())
    constant = guard is None and not part.bounded and all(g.constant is not None for g in groups)
    rules = replace(r, transitions=(*r.transitions[:t], part, *r.transitions[t + 1 :]))
    return Test(rules, tuple(sorted(places)), bool(part.inputs) and not part.bounded, constant)


def _indices(r: Rules, node: Node) -> set[int]:
    return {r.places[p] for p in places_of(node)}


def _read_by(r: Rules, groups: Sequence[PlaceArcs]) -> set[int]:
    arcs: list[Arc] = [a for g in groups if g.constant is None for a in g.arcs]
    return set().union(*(_indices(r, a.multiplicity) for a in arcs)) if arcs else set()


# --- distinct sub-markings --------------------------------------------------------------------------------------------------


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Index of the first of each kind of row, and for every row which kind it is."""
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    low = rows.min(axis=0)
    spans = (rows.max(axis=0) - low + 1).astype(object)
    total = 1
    for span in spans.tolist():
        total *= span
    if total >= WIDEST_KEY:
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return first, inverse.reshape(-1)
    key = np.zeros(len(rows), dtype=np.int64)
    for column, span in enumerate(spans.tolist()):
        key = key * span + (rows[:, column] - low[column])
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse


def tabulate(markings: Ints | Markings, places: Sequence[int], f: Callable[[Marking], float]) -> Floats:
    """f of every marking, where f depends on the given places only: asked once for each distinct sub-marking."""
    if len(markings) == 0:
        return np.zeros(0)
    if not places:
        return np.full(len(markings), f(tuple(markings[0].tolist())))
    first, inverse = distinct(markings.columns(places) if isinstance(markings, Markings) else markings[:, list(places)])
    known = np.array([f(tuple(row)) for row in markings[first].tolist()], dtype=np.float64)
    return known[inverse]


# --- the semantics ----------------------------------------------------------------------------------------------------------


def degrees(b: Batch, t: int, markings: Ints) -> Ints:
    """Enabling degree of a transition in each marking, as :func:`spn.net.semantics.enabling_degree`."""
    degree = np.ones(len(markings), dtype=np.int64)
    alive = np.arange(len(markings))
    for test in b.steps[t].tests:
        k = _degree(test, t, markings[alive])
        if test.limits:
            degree[alive] = k
        alive = alive[k > 0]
    off = np.ones(len(markings), dtype=bool)
    off[alive] = False
    degree[off] = 0
    return degree


def _degree(test: Test, t: int, markings: Ints) -> Ints:
    if test.constant:
        return _constant_degree(test.rules.transitions[t], markings)
    return tabulate(markings, test.places, lambda m: semantics.enabling_degree(test.rules, t, m)).astype(np.int64)


def _constant_degree(part: TransitionRules, markings: Ints) -> Ints:
    present = [g for g in part.inputs if g.constant]
    k = np.ones(len(markings), dtype=np.int64)
    if present:
        k = np.minimum.reduce([markings[:, g.place] // (g.constant or 1) for g in present])
    for g in part.tests:
        k = k * (markings[:, g.place] >= (g.constant or 0))
    for g in part.inhibitors:
        k = k * (markings[:, g.place] < g.constant) if g.constant else k
    return k


def running(b: Batch, t: int, markings: Ints) -> Ints:
    """Running clocks of a timed transition in each tangible marking."""
    servers = _timed(b.rules, t).servers
    degree = degrees(b, t, markings)
    return degree if servers == INFINITE else np.minimum(degree, servers)


def fired(b: Batch, t: int, markings: Ints) -> Ints:
    """The markings after one firing of a transition that is enabled in all of them."""
    step = b.steps[t]
    if step.delta is not None:
        return markings + step.delta
    new = markings.copy()
    if len(markings) and step.changes:
        changes = list(step.changes)
        first, inverse = distinct(markings[:, list(step.reads)])
        after = np.array([semantics.fire(b.rules, t, tuple(row)) for row in markings[first].tolist()], dtype=np.int64)
        new[:, changes] = after[:, changes][inverse]
    return new


def weights(b: Batch, t: int, markings: Ints) -> Floats:
    """Weight of a transition in each marking."""
    places = sorted(_indices(b.rules, b.rules.transitions[t].transition.weight))
    return tabulate(markings, places, lambda m: float(semantics.tie_weight(b.rules, t, m)))


def speeds(b: Batch, t: int, markings: Ints) -> Floats:
    """Speed of each running clock of a timed transition, without the links' share."""
    places = sorted(_indices(b.rules, _timed(b.rules, t).speed))
    return tabulate(markings, places, lambda m: float(semantics.speed(b.rules, t, m)))


@dataclass(frozen=True, slots=True)
class Clocks:
    """For each timed transition in each marking (columns in the order of ``Rules.timed``): how many clocks ``run``, the ``rate`` at which
    each works, and the ``share`` of its links that each gets (0 for one that moves nothing)."""

    run: Ints
    rate: Floats
    share: Floats


def clocks(b: Batch, markings: Ints) -> Clocks:
    """The clocks of tangible markings, as :func:`spn.net.semantics.clock_rates`."""
    r = b.rules
    run = np.zeros((len(markings), len(r.timed)), dtype=np.int64)
    rate = np.zeros(run.shape)
    for column, t in enumerate(r.timed):
        run[:, column] = running(b, t, markings)
        on = run[:, column] > 0
        rate[on, column] = speeds(b, t, markings[on])
    share = np.zeros(run.shape)
    if b.transfers:
        columns = [r.timed.index(t) for t in b.transfers]
        share[:, columns] = _shares(b, markings, np.where(rate > 0, run, 0)[:, columns])
        rate[:, columns] *= share[:, columns]
    return Clocks(run, rate, share)


def _shares(b: Batch, markings: Ints, moving: Ints) -> Floats:
    """Link rate of one transfer of each transition, given how many of each move."""
    r = b.rules
    read = sorted(set().union(*(_indices(r, transfer.share) for t in b.transfers if (transfer := _timed(r, t).transfer) is not None)))
    first, inverse = distinct(np.hstack([moving, markings[:, read]]))
    table = np.zeros((len(first), len(b.transfers)))
    for row, i in enumerate(first.tolist()):
        counts = {t: k for t, k in zip(b.transfers, moving[i].tolist(), strict=True) if k > 0}
        for t, x in semantics.link_rates(r, tuple(markings[i].tolist()), counts).items():
            table[row, b.transfers.index(t)] = x
    return table[inverse]


def choices(b: Batch, markings: Ints) -> tuple[Ints, Ints, Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The immediates that may fire: row, transition, weight (> 0), sorted; and which rows are vanishing."""
    r = b.rules
    vanishing = np.zeros(len(markings), dtype=bool)
    rows, names, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for priority in sorted({_priority(r, t) for t in r.immediates}, reverse=True):
        open_rows = np.flatnonzero(~vanishing)
        for t in (t for t in sorted(r.immediates) if _priority(r, t) == priority):
            at = open_rows[degrees(b, t, markings[open_rows]) > 0]
            vanishing[at] = True
            w = weights(b, t, markings[at])
            rows.append(at[w > 0])
            names.append(np.full(int((w > 0).sum()), t))
            values.append(w[w > 0])
    row, name, weight = np.concatenate(rows), np.concatenate(names), np.concatenate(values)
    _weighted(r, markings, vanishing, row)
    order = np.lexsort((name, row))
    return row[order], name[order], weight[order], vanishing


def _priority(r: Rules, t: int) -> int:
    transition = r.transitions[t].transition
    assert isinstance(transition, Immediate)
    return transition.priority


def _weighted(r: Rules, markings: Ints, vanishing: np.ndarray[tuple[int], np.dtype[np.bool_]], rows: Ints) -> None:
    """Where a vanishing marking has no immediate of positive weight, let the semantics say so."""
    lost = vanishing.copy()
    lost[rows] = False
    for i in np.flatnonzero(lost).tolist():
        semantics.enabled_immediates(r, tuple(markings[i].tolist()))
