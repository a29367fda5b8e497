"""What a simulation has not seen: is it impossible, or only rare?

A transition that never fired in a run gives a throughput of 0 in every batch, so no spread, and an interval of width 0 would be a claim
that nothing supports. Where all markings are known it can often be proved that the quantity never varies; else there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from spn.errors import SpnError
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net import semantics
from spn.net.model import Marking, Timed, transition_index
from spn.sim.classes import MarkingGraph
from spn.sim.meter import measured

FEW = 1_000_000  # firings below which something may well not have been seen by chance
CLOSE = 1e-9  # relative: equal but for the rounding of sums
Range = tuple[float, float]


class Proofs:
    """Asks whether a primitive without spread is one that cannot vary. ``closed`` says that only closed classes matter (long-run
    averages); without a graph nothing can be proved."""

    def __init__(self, graph: MarkingGraph | None, *, closed: bool) -> None:
        self._ranges: dict[Primitive, Range | None] = {}
        self._rules = None if graph is None else semantics.rules(graph.net)
        self._markings: tuple[Marking, ...] = ()
        if graph is not None:
            self._markings = graph.lasting if closed else tuple(graph.successors)

    def unseen(self, p: Primitive, value: float) -> bool:
        """Whether a primitive that had the same ``value`` in all batches may yet have others: a firing rate of 0 though the transition can
        fire, a time average at the end of the range of what it averages."""
        if isinstance(p, FiringRate) and value != 0:
            return False
        known = self.range(p)
        if known is None:
            return math.isclose(value, round(value), rel_tol=CLOSE)
        low, high = known
        return low < high and any(math.isclose(value, end, rel_tol=CLOSE) for end in known)

    def range(self, p: Primitive) -> Range | None:
        """The least and the largest value over the markings, None where they are not known."""
        if p not in self._ranges:
            try:
                self._ranges[p] = None if self._rules is None else _ends(self._values(self._rules, p))
            except SpnError:
                self._ranges[p] = None
        return self._ranges[p]

    def _values(self, r: semantics.Rules, p: Primitive) -> Iterable[float]:
        index = transition_index(r.net)
        tangible = (m for m in self._markings if not semantics.is_vanishing(r, m))
        match p:
            case FiringRate(transition=name):
                return (float(_fires(r, index[name], m)) for m in self._markings)
            case TimeAverage(value=v):
                return (measured(r, v, m) for m in tangible)
            case RunningClocks(transition=name):
                return (float(semantics.running_clocks(r, index[name], m)) for m in tangible)
            case LinkRate(link=link):
                return (float(_carries(r, link, m)) for m in tangible)
        raise TypeError(f"{p} is no primitive of one marking")


def _ends(values: Iterable[float]) -> Range:
    found = set(values)
    return min(found, default=0.0), max(found, default=0.0)


def _fires(r: semantics.Rules, t: int, m: Marking) -> bool:
    chosen = semantics.enabled_immediates(r, m)
    if chosen:
        return any(t == i for i, _ in chosen)
    timed = isinstance(r.transitions[t].transition, Timed)
    return timed and semantics.enabling_degree(r, t, m) > 0 and semantics.speed(r, t, m) > 0


def _carries(r: semantics.Rules, link: str, m: Marking) -> bool:
    transitions = ((t, r.transitions[t].transition) for t in r.timed)
    return any(
        isinstance(x, Timed) and x.transfer is not None and link in x.transfer.links and semantics.enabling_degree(r, t, m) > 0
        for t, x in transitions
    )
