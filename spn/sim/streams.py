"""Independent streams of random numbers, and the trajectories that they drive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.measure import Primitive
from spn.net.model import INFINITE, Marking, Net, timed
from spn.sim.control import Control, Stopped
from spn.sim.direct.plan import Plan, obstacle, plan, slower
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.progress import TICK
from spn.sim.record import Reached, Track, now_of
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare

T = TypeVar("T")
Choice = Literal["auto", "python", "compiled"]
PYTHON_BUDGET = 60_000  # firings that plain Python makes in about a second; more is worth a kernel
KERNELS = "spn.sim.kernels"  # clocks
DIRECT_KERNELS = "spn.sim.direct.kernels"
ALL_KERNELS = (KERNELS, DIRECT_KERNELS)
IN_PYTHON = (Trajectory, DirectTrajectory)
LOT = 64  # items that a thread takes at a time, where there are many
CHUNK = 500_000  # firings between two looks at the clock and for an interruption


def generator(seed: int, stream: int) -> np.random.Generator:
    """The generator of a stream: child ``stream`` of ``SeedSequence(seed)``, whoever runs it and in whatever order."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))


def fresh_seed() -> int:
    """A seed from the operating system's entropy, short enough for a JSON number."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(12))


def _clocks(net: Net) -> int:
    """About how many clocks start with a run; each costs as much as a firing."""
    tokens = sum(p.initial for p in net.places)
    return sum(tokens if t.servers == INFINITE else min(tokens, t.servers) for t in timed(net))


class Crew:
    """Makes trajectories: by the direct method where the net allows it and it is the quicker, else by clocks; in plain Python while the job
    is small and by the kernel once it is not. Python and kernel give the same draws and the method depends on the net alone, so that the
    answer does not depend on who computes it. ``method`` says which it is and why."""

    def __init__(self, net: Net, primitives: Sequence[Primitive], seed: int, control: Control, engine: Choice = "auto") -> None:
        self.net = net
        self.compiled = prepare(net, primitives)
        self.primitives = tuple(primitives)
        self.seed = seed
        self.control = control
        self.engine = engine
        hindered = obstacle(net) or slower(net)
        self.plan = None if hindered else plan(self.compiled)
        self.method = f"event queue ({hindered})" if hindered else "direct method (all laws are exponential)"
        self.kernels = KERNELS if hindered else DIRECT_KERNELS
        self.clocks = _clocks(net) if hindered else 0
        self.dearer = 1 + sum(1 for _ in timed(net)) // 20  # a firing in Python, the more there is to look at
        self._start: Any = None
        self.pickled: bytes | None = None  # see spn.sim.remote.recipe

    @property
    def begun(self) -> bool:
        """Whether what trajectories by the kernel share is there already."""
        return self._start is not None

    def track(self) -> Track | None:
        """Where the next long run leaves its traces, None where nobody will ask for them."""
        if self.control.record is not None:
            return self.control.record.track()
        return Track() if self.control.site is not None else None

    def starting_in(self, marking: Marking) -> Crew:
        """A crew for the same net with another initial marking."""
        places = tuple(replace(p, initial=k) for p, k in zip(self.net.places, marking, strict=True))
        return Crew(replace(self.net, places=places), self.primitives, self.seed, self.control, self.engine)

    def use_kernel(self, firings: int) -> bool:
        """Whether a job of so many firings in all goes to the kernel: always once it is loaded, for it then costs nothing to use."""
        record = self.control.record
        loaded = record.uses(self.kernels) if record is not None else self.kernels in sys.modules
        wanted = self.engine == "compiled" or (self.engine == "auto" and (loaded or firings * self.dearer + self.clocks > PYTHON_BUDGET))
        if wanted:
            self.load()
            if record is not None:
                record.use(self.kernels)
        return wanted

    def load(self) -> None:
        """Load the kernel."""
        if self.kernels not in sys.modules:
            with self.control.uncounted():
                import_module(self.kernels)

    def trajectory(self, stream: int, *, kernel: bool) -> Engine:
        rng = generator(self.seed, stream)
        return self._by_clocks(rng, kernel=kernel) if self.plan is None else self._direct(self.plan, rng, kernel=kernel)

    def _by_clocks(self, rng: np.random.Generator, *, kernel: bool) -> Engine:
        if not kernel:
            return Trajectory(self.compiled, self.primitives, rng)
        from spn.sim.fast import CompiledTrajectory, beginning

        if self._start is None:
            self._start = beginning(self.compiled, self.primitives)
        return CompiledTrajectory(self.compiled, self.primitives, rng, self._start)

    def _direct(self, tables: Plan, rng: np.random.Generator, *, kernel: bool) -> Engine:
        if not kernel:
            return DirectTrajectory(self.compiled, self.primitives, tables, rng)
        from spn.sim.direct.fast import CompiledDirect, direct_beginning

        if self._start is None:
            self._start = direct_beginning(self.compiled, self.primitives, tables)
        return CompiledDirect(self.compiled, self.primitives, tables, rng, self._start)

    def drew(self, engine: Engine, stream: int) -> bool:
        """Whether the trajectory of that number drew anything. What does without is the same in every replication."""
        return engine.drew

    def run(self, engine: Engine, firings: int, horizon: float) -> Ending:
        """Run an engine in chunks, so that an interruption is noticed. Raises :class:`spn.sim.control.Stopped`."""
        most = CHUNK if not isinstance(engine, IN_PYTHON) else CHUNK // 100
        while firings > 0:
            self.control.check()
            before = engine.firings
            ending = engine.run(min(firings, most), horizon)
            self.control.count(engine.firings - before)
            if ending is not Ending.FIRINGS:
                return ending
            firings -= most
        return Ending.FIRINGS

    def each(self, work: Callable[[int], T], items: Sequence[int], *, kernel: bool) -> list[T]:
        """``work`` of every item, in order; by threads where the kernel runs (it does not hold the interpreter's lock)."""
        if not kernel or self.control.workers == 1 or len(items) < 2:
            return [work(i) for i in items]
        size = max(1, min(LOT, len(items) // (4 * self.control.workers)))
        lots = [items[k : k + size] for k in range(0, len(items), size)]
        with ThreadPoolExecutor(self.control.workers) as pool:
            tasks = [pool.submit(lambda lot: [work(i) for i in lot], lot) for lot in lots]
            try:
                self._wait(tasks)
            except KeyboardInterrupt:
                self.control.interrupt()
            self.control.abandoned = any(t.done() and not t.cancelled() and t.exception() is not None for t in tasks)
            pool.shutdown(wait=True, cancel_futures=True)  # after a failure or an interruption nothing more is begun
        self.control.abandoned = False
        failed = [e for t in tasks if not t.cancelled() and (e := t.exception()) is not None]
        for error in sorted(failed, key=lambda e: isinstance(e, Stopped)):  # those that were told to stop are not why
            raise error
        if any(t.cancelled() for t in tasks):
            raise Stopped
        return [x for t in tasks for x in t.result()]

    def _wait(self, tasks: Sequence[Future[Any]]) -> None:
        """Until all are done or one has failed."""
        while True:
            done, open_ = wait(tasks, timeout=TICK, return_when=FIRST_EXCEPTION)
            if not open_ or any(t.exception() for t in done):
                return
            self.control.tick()


class Stream:
    """One long run cut into batches of equally many firings; ``rows`` are (time, sums) per batch, ``firings`` is how far they reach. It
    begins anew, or goes on where ``engine``, the crew's trajectory of that number, has arrived. Points that its ``track`` knows are not
    simulated again; the engine follows when it is needed. A kind of stream that keeps more than that is not ``TRACED``: it is simulated
    here, from the beginning."""

    TRACED: ClassVar[bool] = True

    def __init__(self, crew: Crew, number: int, batch: int, engine: Engine | None = None, track: Track | None = None) -> None:
        self.crew = crew
        self.number = number
        self.batch = batch
        self.engine = engine or crew.trajectory(number, kernel=False)
        self.kernel = not isinstance(self.engine, IN_PYTHON)
        self.track = track if track is not None or not self.TRACED else crew.track()
        self.rows: list[Floats] = []
        self.still = False
        self.firings = self.engine.firings
        self.last = now_of(self.engine)
        self._drew = False

    @property
    def maker(self) -> Callable[[Crew, int, Engine, Track], Stream]:
        """What makes such a stream of its crew, number, engine and track, elsewhere. Can be pickled."""
        return _plain

    @property
    def drew(self) -> bool:
        """Whether anything was drawn so far."""
        known = self.track is not None and self.track.drew is not None and self.track.drew <= self.firings
        self._drew = self._drew or known or self.crew.drew(self.engine, self.number)
        return self._drew

    def switch(self) -> None:
        """Go on with the kernel: it makes the same draws, so it is brought to the same point and takes over."""
        self._drew, done = self.drew, self.engine.firings
        self.engine, self.kernel = self.crew.trajectory(self.number, kernel=True), True
        if not self.TRACED and done:
            self.engine.run(done, np.inf)

    def extend(self, count: int, *, simulate: bool = True) -> None:
        """Run until there are ``count`` batches, or nothing happens any more; without ``simulate`` as far as the track knows. A batch in
        which no time passes goes into the next."""
        while len(self.rows) < count and not self.still:
            now = self.go(self.firings + self.batch, simulate=simulate)
            if now is None:
                return
            if not self.still and now[0] > self.last[0]:
                self.rows.append(now - self.last)
                self.last = now

    def go(self, target: int, *, simulate: bool) -> Floats | None:
        """Time and totals at the end of a batch: after so many firings, or where :meth:`complete` says. None where ``simulate`` does not
        allow to find out."""
        known = self.track.points.get(target) if self.track is not None else None
        if known is not None:
            self.crew.control.count(known.firings - self.firings)
        elif simulate:
            known = self._simulated(target)
        else:
            return None
        self.firings, self.still = known.firings, known.still
        return known.now

    def complete(self, engine: Engine) -> bool:
        """Go on to where a batch may end, after its firings; whether anything happens still. Here a batch may end anywhere."""
        return True

    def _simulated(self, target: int) -> Reached:
        """The end of a batch, by simulation."""
        engine = self._ready(target)
        still = False
        try:
            while engine.firings < target and not still:
                still = self.crew.run(engine, min(CHUNK, target - engine.firings), np.inf) is Ending.STILL
                self._trace(engine)
        except Stopped:
            if self.track is not None:
                self.track.take(engine)
            raise
        still = still or not self.complete(engine)
        found = Reached(engine.firings, now_of(engine), still)
        if self.track is not None:
            self.track.add(target, found, drew=self.track.drew is not None or self.crew.drew(engine, self.number))
        return found

    def _trace(self, engine: Engine) -> None:
        """Keep where it is, now and then."""
        if self.crew.control.record is not None and self.track is not None and self.track.old():
            self.track.take(engine)

    def catch_up(self) -> None:
        """Bring the engine to the present point, or the track's snapshot beyond it."""
        self._ready(self.firings + self.batch)

    def _ready(self, target: int) -> Engine:
        """The engine, at or after the present point and not beyond ``target``."""
        if self.track is not None and self.track.usable(self.engine, target):
            assert self.track.snapshot is not None
            self.engine.restore(self.track.snapshot)
            self.crew.control.count(max(0, self.engine.firings - self.firings))
        if self.engine.firings > target:
            self.engine = self.crew.trajectory(self.number, kernel=self.kernel)
        if self.engine.firings < self.firings:
            self.engine.run(self.firings - self.engine.firings, np.inf)
        return self.engine

    def merge(self) -> None:
        """Join neighbouring batches: half as many, twice as long. An odd one at the end is undone by leaving it out."""
        pairs = len(self.rows) // 2
        self.rows = [self.rows[2 * i] + self.rows[2 * i + 1] for i in range(pairs)]
        self.batch *= 2


def _plain(crew: Crew, number: int, engine: Engine, track: Track) -> Stream:
    return Stream(crew, number, 1, engine, track)


def refuse_equal(generators: Sequence[np.random.Generator]) -> None:
    """Replications from equal streams would look exact: refuse them."""
    states: list[Any] = [repr(g.bit_generator.state) for g in generators]
    if len(set(states)) < len(states):
        raise refuse(
            AnalysisError,
            "E0704",
            "two replications would use one and the same stream of random numbers",
            help="give every replication a stream of its own (SeedSequence.spawn)",
        )
