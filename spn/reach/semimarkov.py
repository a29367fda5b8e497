"""The tangible markings of a net in which every firing starts all clocks anew, but for exponential ones: a semi-Markov process.

In each marking the clocks race from the start (:mod:`spn.dist.race`). Long-run fractions of time, and means of first passages, depend on
the chances of the race and on the mean of its length alone: they are those of the Markov chain with rates chance / mean (E. Cinlar,
Introduction to Stochastic Processes, 1975, ch. 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spn.dist.exponential import Exponential
from spn.dist.race import Race, Runner
from spn.errors import AnalysisError, refuse
from spn.expr.nodes import as_node, constant
from spn.measure import Primitive
from spn.net import semantics
from spn.net.model import Net, Timed, timed, transition_index
from spn.reach import batch as many
from spn.reach.explore import state_space_of
from spn.reach.graph import explore_graph
from spn.reach.space import Floats, Ints, Limits, StateSpace
from spn.reach.vanishing import passages

CODE = "E0683"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A competitor of the race in a state: its number among the runners, -1 for exponential clocks; where its firing leads, with the
    chance (given that it is first)."""

    runner: int
    targets: Ints
    chances: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SemiMarkov:
    """``space`` is the Markov chain of the same long run; ``races`` and ``ways`` those of each tangible state. ``error``: the largest
    estimated error of a chance, or of a mean length as a part of it."""

    space: StateSpace
    races: tuple[Race, ...]
    ways: tuple[tuple[Way, ...], ...]
    error: float


def general(net: Net) -> tuple[Timed, ...]:
    """The timed transitions whose law has a memory."""
    return tuple(t for t in timed(net) if not isinstance(t.law, Exponential))


def semi_markov(net: Net, wanted: Sequence[Primitive], limits: Limits) -> SemiMarkov:
    """Explore a net. AnalysisError E0683 where a clock that is not exponential outlives a firing, several of one transition run at once, or
    two may expire together with positive probability."""
    return _Explored(net, limits).result(wanted)


class _Explored:
    def __init__(self, net: Net, limits: Limits) -> None:
        self.net, self.limits = net, limits
        self.general = general(net)
        names = {t.name for t in self.general}
        plain = tuple(
            replace(t, law=Exponential(rate=1.0), scale=as_node(1)) if isinstance(t, Timed) and t.name in names else t
            for t in net.transitions
        )
        self.plain = replace(net, transitions=plain)
        self.graph = explore_graph(self.plain, limits)
        self.index = transition_index(net)
        self.number = np.cumsum(~self.graph.vanishing) - 1
        self.timed = np.flatnonzero(~self.graph.vanishing[self.graph.source])

    def result(self, wanted: Sequence[Primitive]) -> SemiMarkov:
        graph = self.graph
        passing = passages(semantics.rules(self.plain), graph, np.zeros((len(graph.source), 0)), self.limits.memory)
        source = self.number[graph.source[self.timed]]
        ends: list[tuple[Ints, Floats]] = []
        for arc in self.timed.tolist():
            to = graph.target[arc : arc + 1]
            if graph.vanishing[to[0]]:
                at = passing.spread(to)[1]
                ends.append((self.number[passing.targets[at]], passing.probabilities[at]))
            else:
                ends.append((self.number[to], np.ones(1)))
        self._fresh(source, ends)
        return self._raced(wanted, source, ends)

    def _fresh(self, source: Ints, ends: Sequence[tuple[Ints, Floats]]) -> None:
        """All clocks but exponential ones are drawn at each firing."""
        tangible = np.flatnonzero(~self.graph.vanishing)
        rows = np.asarray(self.graph.markings[tangible])
        b = many.batch(semantics.rules(self.net))
        running = {t.name: many.running(b, self.index[t.name], rows) for t in self.general}
        for t in self.general:
            on = running[t.name]
            if (on > 1).any():
                raise self._lasting(t, f"several clocks of {t.name} run", rows[int(np.flatnonzero(on > 1)[0])])
            for arc, i, (targets, _) in zip(self.timed.tolist(), source.tolist(), ends, strict=True):
                if self.graph.transition[arc] != self.index[t.name] and on[i] and (on[targets] > 0).any():
                    fired = self.net.transitions[int(self.graph.transition[arc])].name
                    raise self._lasting(t, f"the clock of {t.name} goes on when {fired} fires", rows[i])

    def _lasting(self, t: Timed, what: str, marking: Ints) -> AnalysisError:
        error = refuse(
            AnalysisError,
            CODE,
            f"{what} in marking {semantics.marking_text(self.net, tuple(marking.tolist()))}: the net is not semi-Markov",
            span=t.law_span or t.span,
            label=t.law.describe(),
            help="use another method, or simulate",
        )
        assert isinstance(error, AnalysisError)
        return error

    def _raced(self, wanted: Sequence[Primitive], source: Ints, ends: Sequence[tuple[Ints, Floats]]) -> SemiMarkov:
        graph = self.graph
        weight, error = graph.weight.copy(), 0.0
        races, ways = [], []
        of = {self.index[t.name]: t for t in self.general}
        known: dict[Race, tuple[float, Floats, float]] = {}
        for i in range(int(self.number[-1]) + 1 if len(self.number) else 0):
            own = np.flatnonzero(source == i)
            arcs = self.timed[own]
            fired = [of.get(int(graph.transition[a])) for a in arcs.tolist()]
            race = self._race(fired, graph.weight[arcs])
            if race not in known:
                known[race] = self._solved(race, fired)
            mean, first, off = known[race]
            error = max(error, off)
            place = [k for k, t in enumerate(fired) if t is not None]
            weight[arcs[place]] = first / mean if place else 0.0
            races.append(race)
            ways.append(tuple(_ways([ends[k] for k in own.tolist()], fired, graph.weight[arcs], race.rate)))
        changed = replace(graph, weight=weight)
        return SemiMarkov(space=state_space_of(self.plain, changed, wanted, self.limits), races=tuple(races), ways=tuple(ways), error=error)

    def _race(self, fired: Sequence[Timed | None], weight: Floats) -> Race:
        runners = [
            Runner(law=t.law, factor=float(constant(t.scale) or 1) / float(w)) for t, w in zip(fired, weight, strict=True) if t is not None
        ]
        rate = float(sum(w for t, w in zip(fired, weight.tolist(), strict=True) if t is None))
        return Race(runners=tuple(runners), rate=rate)

    def _solved(self, race: Race, fired: Sequence[Timed | None]) -> tuple[float, Floats, float]:
        if race.ties():
            t = next(t for t in fired if t is not None)
            error = refuse(
                AnalysisError,
                CODE,
                f"the clock of {t.name} may expire together with another, with positive probability",
                span=t.law_span or t.span,
                help="use laws without a value in common, or another method",
            )
            raise error
        (mean, off), (first, wrong) = race.mean(), race.first()
        if not race.runners:
            return mean, first, 0.0
        missing = abs(1.0 - float(first.sum()) - race.rate * mean)  # the chances of all, by quadratures apart
        return mean, first, max(off / mean, wrong, missing)


def _ways(ends: Sequence[tuple[Ints, Floats]], fired: Sequence[Timed | None], weight: Floats, rate: float) -> list[Way]:
    found, runner = [], 0
    for (targets, chances), t, w in zip(ends, fired, weight.tolist(), strict=True):
        if t is None:
            found.append(Way(runner=-1, targets=targets, chances=chances * (w / rate)))
        else:
            found.append(Way(runner=runner, targets=targets, chances=chances))
            runner += 1
    return found
