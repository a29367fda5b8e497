"""Replications that several models, or several runs of one, share their random numbers in.

Every transition has streams of uniform numbers of its own, by its name, and draws each work by inversion: one number a draw, whatever the
law, and the work the larger the larger the number. So the same activities of different models stay in step and go up and down together
(common random numbers: Law, Simulation Modeling and Analysis, 5th ed., 2015, section 11.2), and a *mirrored* run, whose works come from
1 - u where the other's come from u, has long works where the other has short ones (antithetic variates: Hammersley and Morton,
Mathematical Proceedings of the Cambridge Philosophical Society 52, 1956, doi:10.1017/S0305004100031455). Choices are the same in both.

Plain Python and the kernel (:mod:`spn.sim.recorded`) make the same runs; short ones do not wait for the kernel to be loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

import numpy as np

from spn.compiled import CompiledNet
from spn.dist.random import Random, Words
from spn.errors import AnalysisError, SpnError, refuse
from spn.measure import Measure, Primitive
from spn.model import Model
from spn.net import semantics
from spn.net.model import Timed
from spn.sim.control import Control, Stopped
from spn.sim.engine import Ending, Floats
from spn.sim.estimate import Function, measure_function
from spn.sim.options import check_types
from spn.sim.questions import LONG_RUN, sorts_of
from spn.sim.recorded import RanOut, Recorded, Recorder, recordable
from spn.sim.reference import Instant, Station, Trajectory
from spn.sim.streams import KERNELS, Crew

FIRST_BLOCK, LARGEST_BLOCK = 16, 1024  # numbers that a stream makes at a time: ever more, so that inversion is cheap in long runs
LEAST, MOST = 2.0**-54, 1 - 2.0**-53  # 0 and 1 are no numbers to invert at
LOT = 16  # replications that threads share
MOST_WORKS = 30_000_000  # recorded for one run: a quarter of a gigabyte
LOOK = 200_000  # firings of the kernel between two looks whether its works ran out
Key = tuple[int, int, bool]  # seed, replication, whether mirrored


def uniform_source(key: Key, name: str) -> Callable[[int], Floats]:
    """A stream of uniform numbers strictly between 0 and 1, of which any number can be asked for at a time."""
    seed, replication, mirrored = key
    words = np.frombuffer(blake2b(name.encode(), digest_size=16).digest(), dtype=np.uint32)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replication, *words.tolist())))

    def next_ones(count: int) -> Floats:
        u = generator.random(count)
        return np.clip(1 - u if mirrored else u, LEAST, MOST)

    return next_ones


def choice_words(key: Key, name: str) -> Words:
    """Where the stream begins that the choices of a name are made from: the same for both of a pair."""
    digest = blake2b(f"{key[0]} {key[1]} {name}".encode(), digest_size=32).digest()
    a, b, c, d = (int.from_bytes(digest[8 * k : 8 * k + 8], "little") for k in range(4))
    return a, b, c, d | 1


def work_name(name: str) -> str:
    return f"work {name}"


def choice_name(name: str) -> str:
    return f"choice {name}"


class Works:
    """An endless stream of works by inversion."""

    def __init__(self, key: Key, name: str, quantile: Callable[[Floats], Floats]) -> None:
        self._source, self._quantile = uniform_source(key, name), quantile
        self._block: list[float] = []
        self._used, self._size = 0, FIRST_BLOCK

    def next(self) -> float:
        if self._used == len(self._block):
            self._block = self._quantile(self._source(self._size)).tolist()
            self._used, self._size = 0, min(2 * self._size, LARGEST_BLOCK)
        self._used += 1
        return self._block[self._used - 1]


class Synchronised(Trajectory):
    """The reference trajectory with streams of random numbers for each transition.

    ``excess`` (transitions): how much more work each has drawn than so many draws of its law are expected to be; its mean is 0 at any
    time (Wald's identity)."""

    def __init__(self, compiled: CompiledNet, primitives: Sequence[Primitive], key: Key) -> None:
        self._key = key
        self._works: dict[tuple[int, int], Works] = {}
        self._parts: dict[int, Random] = {}
        self._means = [t.law.mean() if isinstance(t, Timed) else 0.0 for t in compiled.net.transitions]
        self._excess = [0.0] * len(compiled.net.transitions)
        super().__init__(compiled, primitives, np.random.default_rng(0))
        self.random = Random(choice_words(key, ""))

    @property
    def excess(self) -> Floats:
        return np.array(self._excess)

    def _draw(self, s: Station) -> Instant:
        rows, name = self.compiled.clockwork.rows[s.index], s.transition.name
        which = 0
        if len(rows) > 1:
            if s.index not in self._parts:
                self._parts[s.index] = Random(choice_words(self._key, f"part {name}"))
            u = self._parts[s.index].random()
            which = next(k for k, row in enumerate(rows) if u < row.upto)
        row = rows[which]
        if (s.index, which) not in self._works:
            own = work_name(f"{name} {which}" if which else name)
            self._works[s.index, which] = Works(self._key, own, row.leaf.law.quantile)
        drawn = float(row.leaf.shift) + float(row.leaf.scale) * self._works[s.index, which].next()
        self._excess[s.index] += drawn - self._means[s.index]
        x = drawn * s.factor
        scale = float(semantics.scale(self.rules, s.index, self.marking)) if s.scaled else 1.0
        if not row.discrete:
            return x * scale, 0.0
        ticks = float(round(x * self.ticks)) * scale
        return (0.0, ticks) if ticks == math.floor(ticks) else (ticks / self.ticks, 0.0)

    def _choose(self, weighted: Sequence[tuple[int, float]]) -> int:
        first = weighted[0][0]
        if len(weighted) > 1 and first not in self.choice_streams:
            name = choice_name(self.rules.transitions[first].transition.name)
            self.choice_streams[first] = Random(choice_words(self._key, name))
        return super()._choose(weighted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What replications average over: ``warmup`` to ``horizon``, in seconds; ``seed`` of all their random numbers."""

    horizon: float
    warmup: float
    seed: int


class Runs:
    """The replications of one model over a span, made as they are asked for: rows of the averages of the primitives behind ``measures``.

    ``functions``: the measures as functions of these averages. The work of several models is told by one ``control``, which ends all of it
    (:class:`spn.sim.control.Stopped`)."""

    def __init__(self, model: Model, measures: Sequence[Measure], wanted: Sequence[Primitive], span: Span, control: Control) -> None:
        self.span = span
        self.crew = Crew(model.net, wanted, span.seed, control)
        self.crew.kernels = KERNELS  # works are recorded for clocks, whatever the laws
        self.wanted = tuple(wanted)
        self.functions: tuple[Function, ...] = tuple(measure_function(m.body, model.net, self.wanted) for m in measures)
        self.firings = 0
        self._lock = Lock()
        self._rows: dict[tuple[int, bool], Floats] = {}
        self._recorder: Recorder | None = None

    @property
    def function(self) -> Function:
        """The only measure."""
        return self.functions[0]

    def row(self, replication: int, *, mirrored: bool = False) -> Floats:
        """Averages of the primitives, and after them how much more work than expected each transition drew, per second."""
        key = (replication, mirrored)
        if key not in self._rows:
            self._rows[key] = self._made((self.span.seed, *key))
        return self._rows[key]

    def has(self, replication: int) -> bool:
        """Whether it is made already."""
        return (replication, False) in self._rows

    @property
    def compiled(self) -> bool:
        """Whether the kernel makes the runs from now on, so that threads do not hinder each other."""
        return self._recorder is not None

    def rows(self, count: int, *, first: int = 0) -> Floats:
        """Those of ``count`` replications, with a weight of 1 before the averages, as :mod:`spn.sim.estimate` takes them."""
        width = len(self.wanted)
        return np.array([[1.0, *self.row(first + k)[:width]] for k in range(count)])

    def _made(self, key: Key) -> Floats:
        crew = self.crew
        long = self._recorder is not None and self._recorder.works() > MOST_WORKS
        if long or not (recordable(crew.net, crew.compiled) and crew.use_kernel(crew.control.firings)):
            return self._run(Synchronised(crew.compiled, self.wanted, key))
        if self._recorder is None:
            self._recorder = Recorder(crew.compiled, self.wanted)
        while True:
            engine = self._recorder.trajectory(
                lambda name: uniform_source(key, work_name(name)), lambda name: choice_words(key, choice_name(name) if name else "")
            )
            try:
                row = self._run(engine)
            except RanOut:
                self._recorder.lengthen(engine)
                if self._recorder.works() > MOST_WORKS:
                    return self._run(Synchronised(crew.compiled, self.wanted, key))
                continue
            self._recorder.learn(engine)
            return row

    def _run(self, engine: Synchronised | Recorded) -> Floats:
        span = self.span
        before, excess = np.zeros(len(self.wanted)), engine.excess
        if span.warmup > 0:
            self._until(engine, span.warmup)
            before, excess = engine.totals(), engine.excess
        self._until(engine, span.horizon)
        with self._lock:
            self.firings += engine.firings
        return np.concatenate([engine.totals() - before, engine.excess - excess]) / (span.horizon - span.warmup)

    def _until(self, engine: Synchronised | Recorded, time: float) -> None:
        try:
            while self.crew.run(engine, LOOK, time) is Ending.FIRINGS:
                _whole(engine)
        except SpnError:
            _whole(engine)  # an error that works led to which ran out means nothing
            raise
        _whole(engine)


def _whole(engine: Synchronised | Recorded) -> None:
    if isinstance(engine, Recorded):
        engine.check()


def all_done(runs: Sequence[Runs], count: int, *, offsets: Sequence[int] | None = None) -> int:
    """Make ``count`` replications of all runs, replication by replication, as far as the limits allow: how many there are of each."""
    begins = offsets or [0] * len(runs)
    crew = runs[0].crew

    def one(k: int) -> None:
        for r, begin in zip(runs, begins, strict=True):
            r.row(begin + k)

    done = 0
    try:
        while done < count:
            threads = all(r.compiled for r in runs)
            lot = range(done, min(count, done + (LOT if threads else 1)))
            crew.each(one, lot, kernel=threads)
            done = lot.stop
    except Stopped:
        pass
    except KeyboardInterrupt:
        crew.control.interrupt()
    return next((k for k in range(done, count) if not all(r.has(b + k) for r, b in zip(runs, begins, strict=True))), count)


def asked(model: Model, name: str) -> Measure:
    """The measure of that name, once it is certain to be a long-run average; AnalysisError else."""
    found = next((m for m in model.measures if m.name == name), None)
    if found is None:
        known = ", ".join(m.name for m in model.measures) or "none"
        raise refuse(AnalysisError, "E0201", f"{model.name} has no measure {name}", help=f"it has {known}")
    if any(sort != LONG_RUN for sort in sorts_of(found.body)):
        message = f"measure {name} is no average over time, of which alone differences are estimated"
        raise refuse(AnalysisError, "E0624", message, span=found.span)
    return found


def check_span(horizon: float, warmup: float, replications: int, confidence: float, seed: int, max_seconds: float = math.inf) -> None:
    """AnalysisError for what is no span of time, no number of replications, no level or no seed."""
    real = {"horizon": horizon, "warmup": warmup, "confidence": confidence, "max_seconds": max_seconds}
    check_types(whole={"seed": seed, "replications": replications}, real=real)
    wrong = [
        (not 0 < horizon < math.inf, f"horizon is {horizon} s; it is a positive time"),
        (not 0 <= warmup < horizon, f"warmup is {warmup} s; it lies between 0 and the horizon"),
        (replications < 2, f"replications is {replications}; an interval needs at least 2"),
        (not 0 < confidence < 1, f"confidence is {confidence:g}; it lies between 0 and 1"),
        (seed < 0, f"seed is {seed}; it is a whole number from 0"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)
