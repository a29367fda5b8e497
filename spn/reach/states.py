"""The state space as a user asks about it: how many markings and firings, which are dead, where the net ends up, how full places get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spn.model import Model
from spn.net import semantics
from spn.net.model import Net
from spn.net.semantics import Rules
from spn.reach import batch as many
from spn.reach.components import closed, strong_components
from spn.reach.graph import explore_graph
from spn.reach.growth import path_to
from spn.reach.properties import firing_in, time_limited, untimed
from spn.reach.space import Bools, Graph, Ints, Limits

LISTED = 20  # recurrent classes and dead markings that are named
ROWS = 50_000  # states without firings looked at together


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent:
    """A set of markings that, once entered, is never left, and within which there is a way from each to each. ``kind`` is "recurrent",
    "dead" (one marking where no transition is enabled) or "stuck" (enabled, but every speed is 0); ``marking`` is the first of it that the
    search meets, ``firings`` the shortest sequence to it, and ``lost`` the transitions that never fire again."""

    kind: str
    size: int
    marking: Mapping[str, int]
    firings: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """All reachable markings of a net, counted.

    ``tangible`` and ``vanishing`` count markings, ``timed_firings`` and ``immediate_firings`` the firings out of each. ``dead`` and
    ``stuck`` count the markings where no transition is enabled, and where some are but every speed is 0. ``recurrent`` counts the sets of
    markings that are never left, the first ``classes`` of which are described, dead and stuck markings included. ``home`` counts the
    markings that can be reached from every marking, ``reversible`` says whether the initial one is among them, ``live`` whether every
    transition can always fire again; ``never`` are transitions that fire in no marking. ``bounds`` maps each place to the least and the
    most tokens it holds; ``most_tokens`` is the most in all places together. ``components`` counts the strongly connected components of the
    graph. ``approximate`` names transitions because of whose times some of the markings may never be met; it is empty where
    all are.
    """

    name: str
    tangible: int
    vanishing: int
    timed_firings: int
    immediate_firings: int
    dead: int
    stuck: int
    recurrent: int
    classes: tuple[Recurrent, ...]
    home: int
    reversible: bool
    live: bool
    never: tuple[str, ...]
    bounds: Mapping[str, tuple[int, int]]
    most_tokens: int
    components: int
    approximate: str = ""
    net: Net = field(repr=False, compare=False)
    graph: Graph = field(repr=False, compare=False)

    def markings(self) -> Iterator[dict[str, int]]:
        """The markings, breadth-first from the initial one: their places that hold tokens."""
        names = [p.name for p in self.net.places]
        for _, rows in self.graph.markings.blocks():
            for row in rows.tolist():
                yield {name: k for name, k in zip(names, row, strict=True) if k}

    def __len__(self) -> int:
        return self.tangible + self.vanishing

    def to_dict(self) -> dict[str, Any]:
        """What JSON takes: all but the markings themselves."""
        return {
            "model": self.name,
            "markings": len(self),
            "tangible": self.tangible,
            "vanishing": self.vanishing,
            "firings": {"timed": self.timed_firings, "immediate": self.immediate_firings},
            "dead": self.dead,
            "stuck": self.stuck,
            "recurrent": self.recurrent,
            "classes": [
                {"kind": c.kind, "size": c.size, "marking": dict(c.marking), "firings": list(c.firings), "lost": list(c.lost)}
                for c in self.classes
            ],
            "home": self.home,
            "reversible": self.reversible,
            "live": self.live,
            "never": list(self.never),
            "bounds": {name: {"least": low, "most": high} for name, (low, high) in self.bounds.items()},
            "most_tokens": self.most_tokens,
            "components": self.components,
            "approximate": self.approximate,
        }


def states(model: Model | Net, *, max_states: int | None = None, max_memory: float | None = None) -> States:
    """All reachable markings of a model or a net, whatever the laws of its clocks: every clock that runs may expire next.

    At most ``max_states`` markings (20 million) in ``max_memory`` bytes (most of what is free). Raises AnalysisError where there are more,
    with what was found, or where the net is unbounded, with firings that can be repeated for ever; SemanticsError for a marking that means
    nothing."""
    net, name = (model.net, model.name) if isinstance(model, Model) else (model, model.name)
    usual = Limits()
    limits = Limits(states=usual.states if max_states is None else max_states, memory=usual.memory if max_memory is None else max_memory)
    r = semantics.rules(untimed(net))
    graph = explore_graph(r.net, limits)
    return _summary(name, net, r, graph)


def _summary(name: str, net: Net, r: Rules, graph: Graph) -> States:
    n = len(graph.markings)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.source, minlength=n))])
    dead, stuck = _ends(r, graph, np.diff(indptr))
    count, label = strong_components(indptr, graph.target)
    final = np.flatnonzero(closed(count, label, graph.source, graph.target))
    fired = firing_in(final, label, graph, len(net.transitions))
    sizes = np.bincount(label, minlength=count)
    immediate = int(graph.vanishing[graph.source].sum())
    once = np.bincount(graph.transition, minlength=len(net.transitions)) > 0
    return States(
        name=name,
        tangible=n - int(graph.vanishing.sum()),
        vanishing=int(graph.vanishing.sum()),
        timed_firings=len(graph.source) - immediate,
        immediate_firings=immediate,
        dead=int(dead.sum()),
        stuck=int(stuck.sum()),
        recurrent=len(final),
        classes=tuple(_classes(net, graph, label, final, sizes, fired, dead, stuck)),
        home=int(sizes[final[0]]) if len(final) == 1 else 0,
        reversible=count == 1,
        live=bool(fired.all()),
        never=tuple(t.name for t, some in zip(net.transitions, once.tolist(), strict=True) if not some),
        bounds=_bounds(net, graph),
        most_tokens=max((int(rows.sum(axis=1).max()) for _, rows in graph.markings.blocks()), default=0),
        components=count,
        approximate=time_limited(net, r, graph),
        net=net,
        graph=graph,
    )


def _ends(r: Rules, graph: Graph, firings: Ints) -> tuple[Bools, Bools]:
    """Which states are dead, and which stuck."""
    dead, stuck = np.zeros(len(firings), dtype=bool), np.zeros(len(firings), dtype=bool)
    still = np.flatnonzero(firings == 0)
    if not len(still):
        return dead, stuck
    b = many.batch(r)
    for begin in range(0, len(still), ROWS):
        part = still[begin : begin + ROWS]
        rows = graph.markings[part]
        enabled = np.zeros(len(part), dtype=bool)
        for t in r.timed:
            enabled |= many.degrees(b, t, rows) > 0
        dead[part], stuck[part] = ~enabled, enabled
    return dead, stuck


def _classes(net: Net, graph: Graph, label: Ints, final: Ints, sizes: Ints, fired: Bools, dead: Bools, stuck: Bools) -> Iterator[Recurrent]:
    """The first few, in the order in which the search meets them."""
    number = np.full(len(sizes), -1)
    number[final] = np.arange(len(final))
    inside = np.flatnonzero(number[label] >= 0)
    _, first = np.unique(number[label[inside]], return_index=True)
    for s in np.sort(inside[first])[:LISTED].tolist():
        kind = "dead" if dead[s] else "stuck" if stuck[s] else "recurrent"
        path = path_to(s, graph.parent)[1:]
        lost = np.flatnonzero(~fired[number[label[s]]]).tolist()
        yield Recurrent(
            kind=kind,
            size=int(sizes[label[s]]),
            marking={p.name: k for p, k in zip(net.places, graph.markings[s].tolist(), strict=True) if k},
            firings=tuple(net.transitions[int(graph.via[v])].name for v in path),
            lost=tuple(net.transitions[t].name for t in lost),
        )


def _bounds(net: Net, graph: Graph) -> dict[str, tuple[int, int]]:
    found = {}
    for p, place in enumerate(net.places):
        column = graph.markings.column(p)
        found[place.name] = int(column.min()), int(column.max())
    return found
