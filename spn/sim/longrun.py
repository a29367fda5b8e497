"""Two ways to a sample: batches of long runs, and independent replications. (A third joins them: :mod:`spn.sim.mixture`.)

*Batches.* ``STREAMS`` independent long runs are cut into batches of equally many firings; batches are joined in pairs as the runs grow, so
that a run always has between ``BATCHES`` and twice as many, each ever longer. A warm-up, found by the marginal standard error rule on the
batches averaged over the streams, is left out; the rest is regrouped into ``GROUPS`` groups a stream: their sums are the sample's rows.

*Replications.* Each runs from the initial marking: over a horizon, or, where the net may end in different long runs, until it has settled
in one. A replication that reaches an absorbing marking counts with the values there for ever after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from spn.net.model import Marking
from spn.sim.classes import ClosedClass
from spn.sim.control import Control, Stopped
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.estimate import UNLIKE, Function, Interval, averages, disagreement, halves, interval, regroup, warm_up
from spn.sim.executors import Signal
from spn.sim.remote import Task
from spn.sim.streams import Crew, Stream, generator, refuse_equal
from spn.sim.together import Runs, extend

STREAMS = 4
BATCHES = 64
FIRST_BATCH = 64  # firings
GROUPS = 16  # rows of the sample a stream
REPLICATIONS = 64  # of the first round; and the number of rows to which more are joined
SETTLE = 10_000  # firings of a replication that are left out, and as many that are measured; fewer in small known classes
SETTLE_LEAST = 1000
SETTLE_PER_MARKING = 20
NEVER_SETTLES = 100  # times as many firings, in which a small net must have come to a closed class
CONSTANT = 1e-12  # relative differences between rows that are rounding
DISAGREE = 1e-6  # level at which streams with different long runs are told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Where a replication ended: a key that is equal for equal classes, its marking, whether nothing happens there any more."""

    key: object
    marking: Marking
    still: bool
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A class in which runs end: its ``probability``, a ``marking`` of it, whether nothing happens there any more, how many markings it
    has (0 where that is unknown), and the averages of the primitives in it."""

    probability: float
    marking: Marking
    still: bool
    size: int
    averages: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Rows for :mod:`spn.sim.estimate`, from ``streams`` independent runs, one after the other. ``warmed`` says that what was left out was
    a minor part and that the rest passes the check by ``halves`` (:func:`spn.sim.estimate.halves`). ``later`` (long runs only): the sums
    over all runs begun later, by up to a row. ``ends`` and ``each`` (replications only): where every replication ended, and its row.
    ``exposure``: seconds in which an event would have been seen, 0 where that is not known. ``random``: whether anything was drawn; if
    not, every run is the same."""

    rows: Floats
    streams: int
    replications: int
    batches: int = 0
    warm_up: float = 0.0
    warmed: bool = True
    halves: float = 0.0
    ends: tuple[Ended, ...] = ()
    each: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    later: Floats | None = None
    exposure: float = 0.0
    random: bool = True

    def averages(self) -> Floats:
        """The averages of the primitives."""
        return averages(self.rows)

    def interval(self, function: Function, confidence: float, magnitude: Function | None = None) -> Interval:
        """The estimate of a function of the averages; ``magnitude`` is that of its terms."""
        size = magnitude(self.averages()) if magnitude is not None else 0.0
        return interval(self.rows, function, confidence, streams=self.streams, magnitude=size, later=self.later)

    def constant(self, column: int) -> float | None:
        """The value of a primitive that was the same in all rows, None where it was not."""
        values = self.rows[:, 1 + column] / self.rows[:, 0]
        return float(values[0]) if np.ptp(values) <= CONSTANT * abs(values[0]) else None

    def groups(self) -> list[Group]:
        """What the replications ended in, most probable first."""
        members: dict[object, list[int]] = {}
        for k, end in enumerate(self.ends):
            members.setdefault(end.key, []).append(k)
        return [self._group(numbers) for numbers in sorted(members.values(), key=lambda numbers: -len(numbers))]

    def _group(self, numbers: Sequence[int]) -> Group:
        end = self.ends[numbers[0]]
        return Group(
            probability=len(numbers) / len(self.ends),
            marking=end.marking,
            still=end.still,
            size=end.size,
            averages=averages(self.each[np.array(numbers)]),
        )


class Outcome(Protocol):
    """What :mod:`spn.sim.run` needs of a sample, however it was made."""

    @property
    def replications(self) -> int: ...
    @property
    def batches(self) -> int: ...
    @property
    def warm_up(self) -> float: ...
    @property
    def warmed(self) -> bool: ...
    @property
    def halves(self) -> float: ...
    def averages(self) -> Floats: ...
    def interval(self, function: Function, confidence: float, magnitude: Function | None = None) -> Interval: ...
    @property
    def exposure(self) -> float: ...
    @property
    def streams(self) -> int: ...
    @property
    def random(self) -> bool: ...
    def constant(self, column: int) -> float | None: ...
    def groups(self) -> list[Group]: ...


class Collector(Protocol):
    """A sample that can grow, by a factor for each of its independent sources."""

    def extend(self) -> None: ...
    def grow(self, factors: Sequence[float]) -> bool: ...
    def sample(self) -> Outcome | None: ...


class Irregular(Signal):
    """Batches of long runs are no way to this model's values: a run came to rest, or the runs disagree. Internal."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Batches:
    """Long runs that grow until the sample is good enough."""

    def __init__(self, crew: Crew, warmup: float | None, streams: Sequence[Stream] | None = None) -> None:
        self.crew = crew
        self.warmup = warmup
        self.streams = list(streams) if streams is not None else [Stream(crew, k, FIRST_BATCH) for k in range(STREAMS)]
        refuse_equal([generator(crew.seed, s.number) for s in self.streams])
        self.count = BATCHES
        self._disagreed = 0

    def planned(self) -> int:
        """Firings of the runs once they have their batches."""
        return len(self.streams) * self.count * self.streams[0].batch

    def grow(self, factors: Sequence[float]) -> bool:
        """Make the runs longer by a factor; False where the limit on firings does not allow any more."""
        factor = min(factors[0], self.crew.control.max_firings / self.planned())
        self.count = int(self.count * factor)
        if factor < 1.02:
            return False
        while self.count >= 2 * BATCHES:
            for s in self.streams:
                s.merge()
            self.count //= 2
        return True

    def extend(self) -> None:
        """Run until every stream has its batches."""
        kernel = self.streams[0].kernel or self.crew.use_kernel(self.planned())
        extend(self.crew, self.streams, self.count, kernel=kernel)
        if any(s.still for s in self.streams):
            raise Irregular("a run came to rest in a marking in which nothing happens any more")

    def sample(self) -> Sample | None:
        """The rows so far; None while there are too few."""
        n = min(len(s.rows) for s in self.streams)
        if n < 2 * GROUPS:
            return None
        runs = [np.array(s.rows[:n]) for s in self.streams]
        cut = self._cut(runs)
        kept = [regroup(run[cut:], GROUPS) for run in runs if n - cut >= GROUPS]
        if not kept:
            return None
        self._compare(kept)
        differ = halves(kept)
        time = float(np.mean([run[:cut, 0].sum() for run in runs]))
        return Sample(
            rows=np.concatenate(kept),
            later=_later(runs, cut),
            random=any(s.drew for s in self.streams),
            exposure=float(sum(run[:, 0].sum() for run in kept)),
            streams=len(runs),
            replications=len(runs),
            batches=n - cut,
            warm_up=time,
            warmed=cut <= 0.4 * n and differ <= UNLIKE,
            halves=differ,
        )

    def _cut(self, runs: Sequence[Floats]) -> int:
        """Batches to leave out."""
        if self.warmup is not None:
            return int(max(np.searchsorted(np.cumsum(run[:, 0]), self.warmup) + 1 for run in runs)) if self.warmup > 0 else 0
        return warm_up(np.mean([run[:, 1:] / run[:, :1] for run in runs], axis=0))

    def _compare(self, runs: Sequence[Floats]) -> None:
        self._disagreed = self._disagreed + 1 if disagreement(runs) < DISAGREE else 0
        if self._disagreed >= 4:
            raise Irregular("independent runs settle at different values")


def _later(runs: Sequence[Floats], cut: int) -> Floats:
    """The sums of all runs without their first 1, 2, … batches of the first row."""
    size = (len(runs[0]) - cut) // GROUPS
    begin = len(runs[0]) - size * GROUPS
    ends = np.sum([run[begin:].sum(axis=0) for run in runs], axis=0)
    return np.asarray(ends - np.cumsum(np.sum([run[begin : begin + size] for run in runs], axis=0), axis=0))


class Replications:
    """Independent replications, ever more of them. ``task`` makes of a crew what runs a replication and gives its row (1, averages) and
    where it ended; ``span`` is the time that each averages over, 0 where they differ."""

    def __init__(self, crew: Crew, task: Task, fixed: int | None, *, span: float = 0.0) -> None:
        self.crew = crew
        self.runs = Runs(crew, task)
        self.fixed = fixed
        self.span = span
        self.count = fixed or REPLICATIONS
        self.done = self.runs.done
        self.kernel = crew.use_kernel(0)
        if fixed is not None:
            crew.control.reporter.goal = lambda: (len(self.done), fixed)

    def planned(self) -> int:
        return self.count

    def grow(self, factors: Sequence[float]) -> bool:
        """Ask for more replications, by a factor; False where their number is fixed or the limit on firings is reached."""
        control = self.crew.control
        factor = min(factors[0], control.max_firings / max(1, control.firings))
        if self.fixed is not None or factor < 1.02:
            return False
        self.count = math.ceil(self.count * factor / REPLICATIONS) * REPLICATIONS
        return True

    def extend(self) -> None:
        """Run the replications that are missing: the first alone, to see how long they are."""
        if not self.done:
            self.runs.run([0], kernel=self.kernel)
        made = self.crew.control.firings
        self.kernel = self.kernel or self.crew.use_kernel(made * self.count // max(1, len(self.done)))
        self.runs.run([k for k in range(self.count) if k not in self.done], kernel=self.kernel)

    def sample(self) -> Sample | None:
        """The replications before the first that is missing (those that happen to be short are no fair sample)."""
        n = next((k for k in range(len(self.done) + 1) if k not in self.done), 0)
        if n < 2:
            return None
        each = np.array([self.done[k].row for k in range(n)])
        return Sample(
            rows=each if n < 2 * REPLICATIONS else regroup(each, REPLICATIONS),
            streams=1,
            exposure=n * self.span,
            random=any(f.drew for f in self.done.values()),
            replications=n,
            ends=tuple(self.done[k].end for k in range(n)),
            each=each,
        )


def over_horizon(crew: Crew, horizon: float, start: float) -> Callable[[Engine], tuple[Floats, Ended]]:
    """Replications averaged over the time from ``start`` to ``horizon``."""

    def one(engine: Engine) -> tuple[Floats, Ended]:
        before = np.zeros(len(crew.primitives))
        if start > 0:
            crew.run(engine, 2**62, start)
            before = engine.totals()
        ending = crew.run(engine, 2**62, horizon)
        rates = (engine.totals() - before) / (horizon - start)
        return np.array([1.0, *rates]), Ended(key=None, marking=engine.marking, still=ending is Ending.STILL, size=0)

    return one


def until_settled(crew: Crew, classes: Sequence[ClosedClass] | None, warmup: float | None) -> Callable[[Engine], tuple[Floats, Ended]]:
    """Replications that run until they are settled in a long run and are averaged there."""
    most = SETTLE if classes is None else SETTLE_PER_MARKING * max(len(c.markings) for c in classes)
    length = min(SETTLE, max(SETTLE_LEAST, most))

    def settle(engine: Engine) -> bool:
        """Whether the engine came to rest."""
        if warmup is not None:
            return crew.run(engine, 2**62, warmup) is Ending.STILL
        for _ in range(NEVER_SETTLES):
            if crew.run(engine, length, np.inf) is Ending.STILL:
                return True
            if classes is None or _class_of(classes, engine.marking) is not None:
                break
        return False

    def one(engine: Engine) -> tuple[Floats, Ended]:
        if not settle(engine):
            time, before = engine.time, engine.totals()
            ending = crew.run(engine, length, np.inf)
            while ending is not Ending.STILL and engine.time == time:
                ending = crew.run(engine, length, np.inf)  # until time passes, or the engine says that it never does
            if ending is not Ending.STILL:
                row = np.array([1.0, *(engine.totals() - before) / (engine.time - time)])
                return row, _ended(classes, engine.marking, still=False)
        return np.array([1.0, *engine.rates()]), _ended(classes, engine.marking, still=True)

    return one


def _class_of(classes: Sequence[ClosedClass], m: Marking) -> int | None:
    return next((i for i, c in enumerate(classes) if m in c.markings), None)


def _ended(classes: Sequence[ClosedClass] | None, m: Marking, *, still: bool) -> Ended:
    known = None if classes is None else _class_of(classes, m)
    if known is not None and classes is not None:
        return Ended(key=known, marking=m, still=still, size=1 if still else len(classes[known].markings))
    return Ended(key=("still", m) if still else "recurrent", marking=m, still=still, size=1 if still else 0)


def collect(collector: Collector, judge: Callable[[Outcome], Sequence[float]], control: Control) -> Outcome | None:
    """Grow the sample until ``judge`` asks for no more: it gives, for each independent source, the factor by which the work should grow,
    none above 1 when done.

    Ends early at a limit or an interruption, with what there is by then."""
    last: Outcome | None = None
    try:
        while True:
            collector.extend()
            sample = collector.sample()
            last = sample or last
            factors = judge(sample) if sample is not None else [2.0]
            if max(factors) <= 1 or control.exhausted() or not collector.grow([min(f, 4.0) for f in factors]):
                return sample
    except Stopped:
        pass
    except KeyboardInterrupt:
        control.interrupt()
    return collector.sample() or last
