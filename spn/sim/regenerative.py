"""Long runs cut where they regenerate: rows that are independent by proof.

*Regeneration.* After an event the state of a net is its tangible marking, the remaining work of every running clock and what is left of the
parked ones. An entry into a marking r is a *regeneration point* if every clock is then memoryless or new and no age is parked: all that
follows depends on r alone (Smith, Regenerative stochastic processes, Proc. R. Soc. A 232, 1955; Haas, Stochastic Petri Nets, 2002,
chapter 6). :class:`Entries` proves it for one step, from a tangible marking to the next, or says no:

* a transition is *memoryless* if its law is exponential, its scale constant, it does not repeat drawn work, and no latency comes before a
  transfer. Its remaining works are exponential whatever was before, running or parked, at whatever speeds;
* of any other transition u with memory restart nothing is carried over if no clock of it ran before, if none runs after, if the only one
  that ran is the one that fired, or if the transition that fired resets u;
* of any other u with memory resume or repeat, whose parked clocks the marking does not show, only if u has a single server and is what
  fired, or if what fired resets u.

Which transition fired is not observed: all that lead from the one marking to the other, through whatever immediates, must do.

*Blocks.* A stream runs at least so many firings, then on to the next entry into r that regenerates. That is a stopping time of the cycles
between such entries, so the rows are independent, and by Wald's equation each has E[Y - a T] = 0, where Y is the integral of a primitive
of average a and T the time: what ratio estimators need (Crane and Iglehart, Operations Research 23, 1975), without a warm-up and without
a doubt about correlation. Intervals are those of the jackknife for ratios (Iglehart, Naval Research Logistics Quarterly 22, 1975).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.net import semantics
from spn.net.model import Marking, Memory, Net, Timed
from spn.sim.chances import memoryless
from spn.sim.engine import Ending, Engine
from spn.sim.estimate import regroup
from spn.sim.executors import Signal
from spn.sim.longrun import FIRST_BATCH, STREAMS, Batches, Sample
from spn.sim.record import Track
from spn.sim.streams import Crew, Stream

Estimator = Literal["auto", "batches", "regenerative"]
REGENERATIVE = "regenerative"
TRIAL = 3000  # firings of the trial run that looks for a marking to regenerate in
TRIAL_WORK = 100_000  # at most so many firings times nodes of the net, unless it is asked for
LEAST_TRIAL = 200
FREQUENT = 50  # firings between two regeneration points, beyond which batches of equally many firings are taken
RARE = 1000  # the same, where regenerative estimates are asked for
PATIENCE = 1000  # times the mean distance of regeneration points, without one
GROUPS = 64  # rows of the sample a stream
MOST_VANISHING = 1000  # markings looked at on the ways from one tangible marking to the next


class Unregenerative(Signal):
    """No marking is found in which the runs regenerate often enough. Internal."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Entries:
    """Which steps from one tangible marking to the next enter it with nothing left of the past but the marking."""

    def __init__(self, net: Net) -> None:
        self.rules = semantics.rules(net)
        self.ageing = tuple(i for i in self.rules.timed if memoryless(_timed(self.rules, i)) is None)
        self._enders = {u: self._resetting(u) for u in self.ageing}
        self._running: dict[Marking, dict[int, int] | None] = {}
        self._known: dict[tuple[Marking, Marking], bool] = {}

    def _resetting(self, u: int) -> frozenset[int]:
        """The timed transitions that end all clocks of u."""
        name = self.rules.transitions[u].transition.name
        return frozenset(t for t in self.rules.timed if name in self.rules.transitions[t].transition.resets)

    def clean(self, before: Marking, after: Marking) -> bool:
        """Whether a step from ``before`` to ``after`` is a regeneration point, for certain."""
        if not self.ageing:
            return self.tangible(after)
        step = before, after
        if step not in self._known:
            self._known[step] = self._proved(before, after)
        return self._known[step]

    def tangible(self, m: Marking) -> bool:
        return self._clocks(m) is not None

    def carrier(self, before: Marking, after: Marking) -> str:
        """The name of a transition whose clocks carry age in this step, "" where there is none or it is not known."""
        return next((self.rules.transitions[u].transition.name for u in self.ageing if self._needs(u, before, after) is not None), "")

    def _proved(self, before: Marking, after: Marking) -> bool:
        if not self.tangible(before) or not self.tangible(after):
            return False
        needs = [need for u in self.ageing if (need := self._needs(u, before, after)) is not None]
        if not needs:
            return True
        able = frozenset.intersection(*needs)
        fired = self._may_have_fired(before, after) if able else None
        return fired is not None and fired <= able

    def _needs(self, u: int, before: Marking, after: Marking) -> frozenset[int] | None:
        """The transitions of which one must have fired for u to carry nothing over; None where it does not in any case."""
        t, ran, runs = _timed(self.rules, u), self._clocks(before), self._clocks(after)
        assert ran is not None and runs is not None
        if t.memory is Memory.RESTART and (ran[u] == 0 or runs[u] == 0):
            return None
        alone = t.servers == 1 if t.memory is not Memory.RESTART else ran[u] == 1
        return self._enders[u] | {u} if alone else self._enders[u]

    def _clocks(self, m: Marking) -> dict[int, int] | None:
        """The running clocks of the transitions that age; None in a vanishing marking."""
        if m not in self._running:
            r = self.rules
            self._running[m] = None if semantics.is_vanishing(r, m) else {u: semantics.running_clocks(r, u, m) for u in self.ageing}
        return self._running[m]

    def _may_have_fired(self, before: Marking, after: Marking) -> set[int] | None:
        """The timed transitions whose firing may lead from the one tangible marking to the other; None where that is too much to see."""
        r, found = self.rules, set()
        for t in r.timed:
            if semantics.enabling_degree(r, t, before) == 0:
                continue
            ends = self._ends(semantics.fire(r, t, before))
            if ends is None:
                return None
            if after in ends:
                found.add(t)
        return found

    def _ends(self, m: Marking) -> set[Marking] | None:
        """The tangible markings to which immediates may lead."""
        seen, waiting, ends = {m}, [m], set()
        while waiting:
            m = waiting.pop()
            chosen = semantics.enabled_immediates(self.rules, m)
            if not chosen:
                ends.add(m)
            new = {semantics.fire(self.rules, t, m) for t, _ in chosen} - seen
            seen |= new
            waiting.extend(new)
            if len(seen) > MOST_VANISHING:
                return None
        return ends


def _timed(r: semantics.Rules, t: int) -> Timed:
    transition = r.transitions[t].transition
    assert isinstance(transition, Timed)
    return transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A marking in which runs regenerate, and after about how many firings they do so again."""

    marking: Marking
    every: float


def find_point(crew: Crew, entries: Entries, *, asked: bool = False) -> Point:
    """The marking in which a trial run regenerates most often after its first quarter. Raises :class:`Unregenerative` where that is less
    than once in ``FREQUENT`` firings (``RARE`` where it is asked for)."""
    size = len(crew.net.places) + len(crew.net.transitions)
    length = 10 * TRIAL if asked else min(TRIAL, TRIAL_WORK // max(1, size))
    if length < LEAST_TRIAL:
        raise Unregenerative("the net is too large for a short trial run to tell")
    counts, culprits = _trial(crew, entries, length)
    if not counts:
        why = f" (clocks of {culprits.most_common(1)[0][0]} carry their age on)" if culprits else ""
        raise Unregenerative(f"no marking was seen to be entered with every clock new or memoryless{why}")
    marking, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    every = (length - length // 4) / count
    most = RARE if asked else FREQUENT
    if every > most:
        raise Unregenerative(f"no marking regenerates more often than once in {every:.0f} firings; {most} is the most")
    return Point(marking=marking, every=every)


def described(net: Net, point: Point) -> str:
    """Where the runs regenerate, in words."""
    where = semantics.marking_text(net, point.marking)
    return f"on the way into {where} all clocks are new or memoryless, about every {point.every:.3g} firings"


def unregenerative(why: Unregenerative) -> SpnError:
    """The error where regenerative estimates were asked for."""
    return refuse(
        AnalysisError,
        "E0708",
        f"there are no regenerative estimates: {why.why}",
        help="leave the choice of the estimator to the program, or take batches",
    )


def _trial(crew: Crew, entries: Entries, length: int) -> tuple[Counter[Marking], Counter[str]]:
    """How often each marking was entered at a regeneration point after the first quarter of a run; and whose clocks carried age else."""
    engine = crew.trajectory(STREAMS, kernel=crew.use_kernel(0))
    counts: Counter[Marking] = Counter()
    culprits: Counter[str] = Counter()
    if crew.run(engine, length // 4, np.inf) is Ending.STILL:
        return counts, culprits
    done = engine.firings
    before = engine.marking
    while engine.firings - done < length - length // 4 and engine.run(1, np.inf) is not Ending.STILL:
        after = engine.marking
        if entries.clean(before, after):
            counts[after] += 1
        elif entries.tangible(before) and entries.tangible(after) and (name := entries.carrier(before, after)):
            culprits[name] += 1
        before = after
    crew.control.count(engine.firings - done)
    return counts, culprits


class RegenerativeStream(Stream):
    """A long run cut into blocks of whole cycles: at least so many firings, and on to the next regeneration point."""

    def __init__(
        self, crew: Crew, number: int, batch: int, entries: Entries, point: Point, engine: Engine | None = None, track: Track | None = None
    ) -> None:
        super().__init__(crew, number, batch, engine, track)
        self.entries = entries
        self.point = point
        self.begun = 0.0  # time of the first regeneration point

    @property
    def maker(self) -> Callable[[Crew, int, Engine, Track], Stream]:
        return partial(_regenerative, point=self.point)

    def extend(self, count: int, *, simulate: bool = True) -> None:
        """Run until there are ``count`` blocks, or nothing happens any more. The way to the first regeneration point is left out."""
        if not self.firings and not self.still:
            first = self.go(0, simulate=simulate)
            if first is None:
                return
            self.last, self.begun = first, float(first[0])
        super().extend(count, simulate=simulate)

    def complete(self, engine: Engine) -> bool:
        """Step by step to the next regeneration point."""
        done = engine.firings
        found = _reach(engine, self.entries, self.point)
        self.crew.control.count(engine.firings - done)
        return found


def _regenerative(crew: Crew, number: int, engine: Engine, track: Track, *, point: Point) -> Stream:
    return RegenerativeStream(crew, number, 1, Entries(crew.net), point, engine, track)


def _reach(engine: Engine, entries: Entries, point: Point) -> bool:
    """Step on to the next regeneration point; False where nothing happens any more."""
    before, most = engine.marking, engine.firings + int(PATIENCE * point.every) + PATIENCE
    while engine.firings < most:
        if engine.run(1, np.inf) is Ending.STILL:
            return False
        after = engine.marking
        if after == point.marking and entries.clean(before, after):
            return True
        before = after
    raise Unregenerative(f"a run did not regenerate again in {int(PATIENCE * point.every) + PATIENCE:,} firings")


class Regenerative(Batches):
    """Long runs in blocks of whole cycles, that grow until the sample is good enough."""

    def __init__(self, crew: Crew, entries: Entries, point: Point) -> None:
        self.blocks = [RegenerativeStream(crew, k, FIRST_BATCH, entries, point) for k in range(STREAMS)]
        super().__init__(crew, None, self.blocks)

    def planned(self) -> int:
        """Firings of the runs once they have their blocks: what was made before, and the ways to regeneration points, count too."""
        return max(super().planned(), int(1.02 * self.crew.control.firings))

    def sample(self) -> Sample | None:
        """The rows so far; None while there are too few."""
        n = min(len(s.rows) for s in self.blocks)
        if n < GROUPS // 2:
            return None
        return Sample(
            rows=np.concatenate([regroup(np.array(s.rows[:n]), min(GROUPS, n)) for s in self.blocks]),
            random=any(s.drew for s in self.blocks),
            exposure=float(sum(row[0] for s in self.blocks for row in s.rows[:n])),
            streams=len(self.blocks),
            replications=len(self.blocks),
            batches=n,
            warm_up=float(np.mean([s.begun for s in self.blocks])),
        )
