"""The third way to a sample: the chances of ending in each closed class, and one long run inside each.

Where all closed classes are known beforehand, what a net does in the long run falls into independent parts: in which class it ends, and
the averages inside each. The chances are exact where :func:`spn.sim.chances.chances` knows them, else those of many short runs, each
only until it is in a class. A class in which nothing happens has the values of its marking; for each other one, long runs are cut into
batches. The averages of the primitives are mixed with the chances; the variance of a measure is the sum of what each part contributes
(a jackknife over the rows of each, which is the delta method with numeric derivatives).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from spn.measure import Primitive, RunningClocks, TimeAverage
from spn.net import semantics
from spn.net.model import Marking, Net
from spn.sim.chances import chances, entries
from spn.sim.classes import MarkingGraph
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.estimate import Function, Interval, Part, averages, combined, jackknife
from spn.sim.longrun import FIRST_BATCH, REPLICATIONS, STREAMS, Batches, Ended, Group, Irregular, Sample
from spn.sim.meter import measured
from spn.sim.streams import Crew, Stream
from spn.sim.together import Runs

MOST_CLASSES = 16  # with long runs inside; more are left to replications
EVADED = 2**14  # firings without a class, after which runs that times may keep out of all of them are left to replications


class Evaded(Irregular):
    """Times keep a run out of all closed classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A :class:`spn.sim.longrun.Outcome`: ``chance`` of each class; ``ends`` counts the runs that ended in each, where the chances are
    estimated; ``inside`` is the sample of each class with long runs, ``resting`` the averages of each where nothing happens."""

    chance: Floats
    ends: Floats | None
    inside: dict[int, Sample]
    resting: dict[int, Floats]
    members: tuple[tuple[Marking, int], ...]  # of each class: a marking, and how many there are
    replications: int
    batches: int = 0
    warm_up: float = 0.0
    warmed: bool = True
    halves: float = 0.0
    still: frozenset[int] = field(default_factory=frozenset)
    exposure: float = 0.0  # what was never seen was not looked for equally long in all classes
    streams: int = 1
    random: bool = True

    def averages(self) -> Floats:
        return self._mixed(self.chance, self._known())

    def _known(self) -> dict[int, Floats]:
        return {**self.resting, **{c: averages(s.rows) for c, s in self.inside.items()}}

    def _mixed(self, chance: Floats, known: dict[int, Floats]) -> Floats:
        return np.asarray(sum(chance[c] * x for c, x in known.items() if chance[c] > 0), dtype=np.float64)

    def interval(self, function: Function, confidence: float, magnitude: Function | None = None) -> Interval:
        known = self._known()
        mixed = self._mixed(self.chance, known)
        centre = function(mixed)
        parts = [self._of_chances(function, known)] if self.ends is not None else []
        parts += [self._of_class(c, function, known, centre) for c in self.inside]
        samples = sum(len(s.rows) for s in self.inside.values()) + (self.replications if self.ends is not None else 0)
        size = magnitude(mixed) if magnitude is not None else 0.0
        return combined(centre, parts, confidence, samples=samples, magnitude=size)

    def _of_chances(self, function: Function, known: dict[int, Floats]) -> Part:
        """Jackknife over the runs; all that ended in one class have one pseudo-value."""
        assert self.ends is not None
        n, seen = float(self.ends.sum()), np.flatnonzero(self.ends)
        without = []
        for c in seen:
            left = self.ends.copy()
            left[c] -= 1
            without.append(function(self._mixed(left / (n - 1), known)))
        weights = self.ends[seen]
        mean = np.average(without, weights=weights)
        variance = (n - 1) / n * float((weights * (np.array(without) - mean) ** 2).sum())
        return Part(variance=variance, freedom=n - 1)

    def _of_class(self, c: int, function: Function, known: dict[int, Floats], centre: float) -> Part:
        sample = self.inside[c]
        return jackknife(
            sample.rows, lambda x: function(self._mixed(self.chance, {**known, c: x})), centre, streams=sample.streams, later=sample.later
        )

    def constant(self, column: int) -> float | None:
        """The value of a primitive that was the same in all rows and classes, None where it was not."""
        values = {s.constant(column) for s in self.inside.values()} | {float(x[column]) for x in self.resting.values()}
        return values.pop() if len(values) == 1 else None

    def groups(self) -> list[Group]:
        known = self._known()
        shown = [c for c in known if self.chance[c] > 0]
        return [
            Group(
                probability=float(self.chance[c]),
                marking=self.members[c][0],
                still=c in self.still,
                size=self.members[c][1],
                averages=known[c],
            )
            for c in sorted(shown, key=lambda c: -self.chance[c])
        ]


class ByClass:
    """The collector of a :class:`Mixture`. Its sources of variance, in order: the chances where they are estimated, then the classes."""

    def __init__(self, crew: Crew, graph: MarkingGraph, warmup: float | None) -> None:
        self.crew = crew
        self.graph = graph
        self.warmup = warmup
        self.home = graph.class_of()
        self.exact = chances(graph)
        self.ends: dict[int, int] = {}  # of each run, its class
        self.arrivals = Runs(crew, partial(until_inside, home=self.home, most=EVADED if graph.evadable else None))
        self.count = REPLICATIONS
        self.inside: dict[int, Batches] = {}
        self.resting = {c: resting(crew.net, crew.primitives, next(iter(k.markings))) for c, k in enumerate(graph.closed) if k.absorbing}

    def extend(self) -> None:
        """Bring every part to the size that is planned for it."""
        if self.exact is None:
            self._arrive()
        else:
            self._enter(self.exact)
        for batches in self.inside.values():
            batches.extend()

    def grow(self, factors: Sequence[float]) -> bool:
        """Make each source larger by its factor (a single one is for all); False where the limit on firings allows none."""
        sources = len(self.inside) + (self.exact is None)
        of_classes = list(factors) if len(factors) == sources else [max(factors)] * sources
        grown = False
        if self.exact is None:
            factor = of_classes.pop(0)
            if factor > 1:
                self.count = math.ceil(self.count * max(factor, 1.02))
                grown = True
        for batches, factor in zip(self.inside.values(), of_classes, strict=True):
            grown |= factor > 1 and batches.grow([factor])
        return grown

    def sample(self) -> Mixture | None:
        found = {c: b.sample() for c, b in self.inside.items()}
        done = next((k for k in range(len(self.ends) + 1) if k not in self.ends), 0)
        if self.exact is None and done < 2:
            return None
        counts = None if self.exact is not None else np.bincount([self.ends[k] for k in range(done)], minlength=len(self.graph.closed))
        chance = self.exact if counts is None else counts / counts.sum()
        assert chance is not None
        inside = {c: s for c, s in found.items() if s is not None}
        if any(p > 0 and c not in inside and c not in self.resting for c, p in enumerate(chance)):
            return None
        return Mixture(
            chance=chance,
            ends=None if counts is None else counts.astype(np.float64),
            inside=inside,
            resting=self.resting,
            members=tuple((min(k.markings), len(k.markings)) for k in self.graph.closed),
            replications=done if counts is not None else sum(s.replications for s in inside.values()),
            batches=sum(s.batches for s in inside.values()),
            warm_up=max((s.warm_up for s in inside.values()), default=0.0),
            halves=max((s.halves for s in inside.values()), default=0.0),
            warmed=all(s.warmed for s in inside.values()),
            still=frozenset(self.resting),
        )

    # --- exact chances: every class is entered afresh ------------------------------------------------------------------

    def _enter(self, chance: Floats) -> None:
        """Long runs from the markings in which a class is entered. Nothing but memoryless clocks ran before, so they all start there."""
        for c in np.flatnonzero(chance).tolist():
            if c in self.inside or c in self.resting:
                continue
            doors = entries(self.graph, c)
            crews = [self.crew.starting_in(m) for m in doors[:STREAMS]]
            streams = [Stream(crews[k % len(crews)], c * STREAMS + k, FIRST_BATCH) for k in range(STREAMS)]
            self.inside[c] = Batches(self.crew, self.warmup, streams)

    # --- estimated chances: many runs into a class ---------------------------------------------------------------------

    def _arrive(self) -> None:
        if not self.ends:
            self._run([0])  # alone, to see how long it is
        firings = self.crew.control.firings
        kernel = self.crew.use_kernel(firings * self.count // max(1, len(self.ends)))
        self._run([k for k in range(self.count) if k not in self.ends], kernel=kernel)
        for c in sorted(set(self.ends.values()) - set(self.inside) - set(self.resting)):
            first = [k for k in sorted(self.ends) if self.ends[k] == c][:STREAMS]
            streams = [Stream(self.crew, k, FIRST_BATCH, self._arrived(k, kernel=kernel)) for k in first]
            self.inside[c] = Batches(self.crew, self.warmup, streams)

    def _run(self, numbers: Sequence[int], *, kernel: bool = False) -> None:
        self.arrivals.run(numbers, kernel=kernel)
        self.ends.update((k, int(f.row[0])) for k, f in self.arrivals.done.items())

    def _arrived(self, k: int, *, kernel: bool) -> Engine:
        """The trajectory of a run that has come to its class."""
        engine = self.crew.trajectory(k, kernel=kernel)
        engine.run(self.arrivals.done[k].firings, math.inf)
        return engine


def until_inside(crew: Crew, home: Mapping[Marking, int], most: int | None = None) -> Callable[[Engine], tuple[Floats, Ended]]:
    """Runs until in a class: the row is its index in ``home``, which gives the class of markings. They look ever more rarely whether they
    are: a class is never left. After more than ``most`` firings without one they are taken never to get there."""

    def one(engine: Engine) -> tuple[Floats, Ended]:
        firings = 1
        while True:
            still = crew.run(engine, firings, math.inf) is Ending.STILL
            c = home.get(engine.marking)
            if c is not None:
                return np.array([float(c)]), Ended(key=c, marking=engine.marking, still=still, size=0)
            if still:
                raise Irregular("a run came to rest in a marking in which more could happen")
            if most is not None and firings > most:
                raise Evaded("a run does not get into the markings that are never left")
            firings *= 2

    return one


def resting(net: Net, primitives: Sequence[Primitive], m: Marking) -> Floats:
    """The averages of the primitives in a marking in which nothing ever happens."""
    r = semantics.rules(net)
    index = {t.name: i for i, t in enumerate(net.transitions)}

    def value(p: Primitive) -> float:
        match p:
            case TimeAverage(value=v):
                return measured(r, v, m)
            case RunningClocks(transition=t):
                return float(semantics.running_clocks(r, index[t], m))
        return 0.0  # no link is used, nothing fires

    return np.array([value(p) for p in primitives], dtype=np.float64)
