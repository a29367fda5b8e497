"""The tangible markings of a net with one clock that is neither exponential nor phase-type: how they follow one another while that clock
runs, and where it starts, expires and ends.

A clock is *alive* from its draw until it expires or is dropped: it runs at the speed of the marking, which may be 0 (frozen, or parked
under `resume`). At most one may be alive in a marking; else the net is refused (E0660).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.measure import FiringRate, Primitive
from spn.net import semantics
from spn.net.clocked import Clocked
from spn.net.model import Net, place_index, transition_index
from spn.reach import batch as many
from spn.reach.explore import absorbing, firing_values, initial_distribution, state_rewards
from spn.reach.graph import explore_graph
from spn.reach.space import Bools, Floats, Graph, Ints, Limits
from spn.reach.vanishing import Passages, passages

LOOKED_AT = 150  # markings looked at for two clocks at once before the whole space is built
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """Weights of the steps from ``rows`` to ``columns``, sorted by row; a pair may occur more than once, also on the diagonal."""

    rows: Ints
    columns: Ints
    values: Floats
    n: int

    def push(self, x: Floats) -> Floats:
        """x (n) times the matrix."""
        return np.bincount(self.columns, x[self.rows] * self.values, self.n).astype(np.float64)

    def pushed(self, block: Floats) -> Floats:
        """The same for every row of a block (m, n)."""
        return np.array([self.push(x) for x in block]).reshape(len(block), self.n)

    def sums(self) -> Floats:
        """The sum of each row (n)."""
        return np.bincount(self.rows, self.values, self.n).astype(np.float64)

    def where(self, kept: Bools | Ints) -> Moves:
        """Some of the entries: those marked, or those numbered."""
        return Moves(rows=self.rows[kept], columns=self.columns[kept], values=self.values[kept], n=self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regenerative:
    """``owner`` (n): which of the general transitions has its clock alive in a state, -1 for none; ``speed`` (n) of that clock, 0 where
    frozen or parked. ``kept``: rates of the exponential firings that leave the clock alone; ``events``: of all others, which start a clock
    if their target has one alive; ``completion``: where the expiry of the clock leads, each row of a state in which it runs summing to
    1. ``flowing`` and ``completing`` map a primitive to its mean per second in each state, and to what an expiry there adds to it.
    ``markings`` (n, places of the model). ``dead``, ``stuck``: absorbing states, as those of a :class:`spn.reach.space.StateSpace`."""

    owner: Ints
    speed: Floats
    initial: Floats
    kept: Moves
    events: Moves
    completion: Moves
    flowing: dict[Primitive, Floats]
    completing: dict[Primitive, Floats]
    markings: Ints
    dead: Ints
    stuck: Ints
    arcs: int
    vanishing: int

    @property
    def n(self) -> int:
        return len(self.owner)


def regenerative(model: Net, c: Clocked, wanted: Sequence[Primitive], limits: Limits) -> Regenerative:
    """Explore a net. AnalysisError E0660 where two clocks are alive at once; else the errors of :func:`spn.reach.explore.explore`."""
    _first_markings(model, c)
    return _Explored(model, c, explore_graph(c.net, limits), limits).result(wanted)


# --- one clock at a time --------------------------------------------------------------------------------------------------------


def _first_markings(net: Net, c: Clocked) -> None:
    """Refuse early: most nets with several clocks show it within a few firings."""
    r = semantics.rules(net)
    chosen = [transition_index(net)[t.name] for t in c.general]
    start = tuple(p.initial for p in net.places)
    queue, seen = [start], {start}
    while queue and len(seen) < LOOKED_AT:
        m = queue.pop(0)
        ways = [t for t, _ in semantics.enabled_immediates(r, m)]
        if not ways:
            running = {t: semantics.running_clocks(r, t, m) for t in chosen}
            if sum(running.values()) > 1:
                raise two_clocks(net, c, {net.transitions[t].name: k for t, k in running.items() if k}, semantics.marking_text(net, m))
            ways = [t for t in r.timed if semantics.enabling_degree(r, t, m) > 0 and semantics.speed(r, t, m) > 0]
        for after in (semantics.fire(r, t, m) for t in ways):
            if after not in seen:
                seen.add(after)
                queue.append(after)


def two_clocks(net: Net, c: Clocked, alive: dict[str, int], marking: str) -> AnalysisError:
    first = next(t for t in c.general if t.name in alive)
    several = f"{max(alive.values())} clocks of {first.name} are" if len(alive) == 1 else f"the clocks of {' and '.join(alive)} are"
    error = refuse(
        AnalysisError,
        "E0660",
        f"{several} alive at once, in marking {marking}: more than one clock that is neither exponential nor phase-type",
        span=first.law_span or first.span,
        label=first.law.describe(),
        help="use phase-type laws for all but one of them, or simulate",
    )
    assert isinstance(error, AnalysisError)
    return error


class _Steps(TypedDict):
    """The fields of a :class:`Regenerative` that say what follows what."""

    owner: Ints
    speed: Floats
    initial: Floats
    kept: Moves
    events: Moves
    completion: Moves


class _Explored:
    """The reachability graph, its tangible states numbered anew; states that differ only in the freshness of a clock are one."""

    def __init__(self, model: Net, c: Clocked, graph: Graph, limits: Limits) -> None:
        self.model, self.clocked, self.graph, self.limits = model, c, graph, limits
        self.rules = semantics.rules(c.net)
        self.tangible = np.flatnonzero(~graph.vanishing)
        self.rows: Ints = graph.markings[self.tangible]
        self.position = np.cumsum(~graph.vanishing) - 1
        self.running = self._running()
        self.alive = self._alive()
        self.owner = self._owners()
        self.first, self.state = self._merged()

    def _running(self) -> Ints:
        """How many clocks of each general transition run in each tangible marking (transitions, markings)."""
        b, index = many.batch(semantics.rules(self.model)), transition_index(self.model)
        own = self.rows[:, : len(self.model.places)]
        found = [many.running(b, index[t.name], own) for t in self.clocked.general]
        return np.array(found, dtype=np.int64).reshape(len(found), len(own))

    def _alive(self) -> Ints:
        places = place_index(self.clocked.net)
        alive = self.running.copy()
        for k, t in enumerate(self.clocked.general):
            if t.name in self.clocked.place:
                held = self.rows[:, places[self.clocked.place[t.name]]] > 0
                alive[k] = np.maximum(alive[k], held)
        return alive

    def _owners(self) -> Ints:
        """Which clock is alive; an error where there are several."""
        if not len(self.alive):
            return np.full(len(self.rows), NOBODY, dtype=np.int64)
        total = self.alive.sum(axis=0)
        crowded = np.flatnonzero(total > 1)
        if len(crowded):
            at = int(crowded[0])
            names = {t.name: int(k) for t, k in zip(self.clocked.general, self.alive[:, at], strict=True) if k}
            marking = semantics.marking_text(self.model, tuple(self.rows[at, : len(self.model.places)].tolist()))
            raise two_clocks(self.model, self.clocked, names, marking)
        return np.where(total > 0, self.alive.argmax(axis=0), NOBODY)

    def _merged(self) -> tuple[Ints, Ints]:
        """One tangible marking for each state, and the state of each tangible marking."""
        places = place_index(self.clocked.net)
        columns = [places[p] for p in self.clocked.place.values()]
        if not columns:
            every = np.arange(len(self.rows))
            return every, every
        plain = self.rows.copy()
        plain[:, columns] = np.minimum(plain[:, columns], 1)
        _, first, inverse = np.unique(plain, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        return first[order], number[inverse.ravel()]

    def _fresh(self) -> Bools:
        """The tangible markings in which a clock has just been drawn, as far as places tell."""
        places = place_index(self.clocked.net)
        fresh = np.zeros(len(self.rows), dtype=bool)
        for p in self.clocked.place.values():
            fresh |= self.rows[:, places[p]] > 1
        return fresh

    # --- what follows what

    def result(self, wanted: Sequence[Primitive]) -> Regenerative:
        graph, firing, others = (
            self.graph,
            [p for p in wanted if isinstance(p, FiringRate)],
            [p for p in wanted if not isinstance(p, FiringRate)],
        )
        parts = {p: [FiringRate(t, p.value) for t in self._completions(p.transition)] for p in firing}
        below = list(dict.fromkeys(q for found in parts.values() for q in found))
        values = firing_values(self.rules, graph, below)
        passing = passages(self.rules, graph, values, self.limits.memory)
        kept = np.zeros(len(self.rows), dtype=bool)
        kept[self.first] = True
        timed = np.flatnonzero(~graph.vanishing[graph.source])
        timed = timed[kept[self.position[graph.source[timed]]]]
        general = self._is_general()[graph.transition[timed]]
        flows = self._collected(timed[~general], values, passing, graph.weight[timed[~general]])
        ends = self._collected(timed[general], values, passing, np.ones(int(general.sum())))
        own = self.rows[self.first][:, : len(self.model.places)]
        flowing: dict[Primitive, Floats] = dict(state_rewards(self.model, own, others))
        completing: dict[Primitive, Floats] = {}
        for p, found in parts.items():
            at = [below.index(q) for q in found]
            flowing[p], completing[p] = flows[:, at].sum(axis=1), ends[:, at].sum(axis=1)
        dead, stuck = self._absorbing(timed)
        return Regenerative(
            **self._steps(timed, general, passing),
            flowing=flowing,
            completing=completing,
            markings=own,
            dead=dead,
            stuck=stuck,
            arcs=len(timed),
            vanishing=int(graph.vanishing.sum()),
        )

    def _completions(self, transition: str) -> Sequence[str]:
        return self.clocked.expansion.completions.get(transition, (transition,))

    def _is_general(self) -> Bools:
        names = {t.name for t in self.clocked.general}
        return np.array([t.name in names for t in self.clocked.net.transitions], dtype=bool)

    def _collected(self, arcs: Ints, values: Floats, passing: Passages, weight: Floats) -> Floats:
        """What the firings of some arcs collect, those of the immediates that follow with them: by state (states, rewards)."""
        per_firing = values[arcs] + passing.rewards[self.graph.target[arcs]]
        source, n = self.state[self.position[self.graph.source[arcs]]], len(self.first)
        found = [np.bincount(source, weight * per_firing[:, k], n) for k in range(values.shape[1])]
        return np.array(found, dtype=np.float64).reshape(values.shape[1], n).T

    def _absorbing(self, timed: Ints) -> tuple[Ints, Ints]:
        fired = np.bincount(self.state[self.position[self.graph.source[timed]]], minlength=len(self.first))
        return absorbing(self.rules, self.graph.markings.rows(self.tangible[self.first]), fired)

    def _steps(self, timed: Ints, general: Bools, passing: Passages) -> _Steps:
        """What follows what, and how."""
        graph, n = self.graph, len(self.first)
        source, target, arc, chance = self._spread(timed, passing)
        owner = self.owner[self.first]
        speed = np.zeros(n)
        speed[self.state[self.position[graph.source[timed[general]]]]] = graph.weight[timed[general]]
        expires = general[arc]
        same = (self.owner[source] != NOBODY) & (self.owner[source] == self.owner[target]) & ~self._fresh()[target]
        rate = np.where(expires, 1.0, graph.weight[timed][arc]) * chance
        moves = Moves(rows=self.state[source], columns=self.state[target], values=rate, n=n)
        moving = moves.rows != moves.columns
        return _Steps(
            owner=owner,
            speed=speed,
            initial=np.bincount(self.state, initial_distribution(graph, passing, self.position, len(self.rows)), n).astype(np.float64),
            kept=moves.where(~expires & same & moving),
            events=moves.where(~expires & ~same & (moving | (owner[moves.rows] != NOBODY))),
            completion=moves.where(expires),
        )

    def _spread(self, timed: Ints, passing: Passages) -> tuple[Ints, Ints, Ints, Floats]:
        """Firings from tangible to tangible markings: source, target, which of ``timed``, and the probability of ending there."""
        graph = self.graph
        source, target = graph.source[timed], graph.target[timed]
        into = np.flatnonzero(graph.vanishing[target])
        straight = np.flatnonzero(~graph.vanishing[target])
        via, at = passing.spread(target[into])
        arc = np.concatenate([straight, into[via]])
        ends = np.concatenate([target[straight], passing.targets[at]])
        chance = np.concatenate([np.ones(len(straight)), passing.probabilities[at]])
        order = np.argsort(source[arc], kind="stable")
        arc, ends, chance = arc[order], ends[order], chance[order]
        return self.position[source[arc]], self.position[ends], arc, chance
