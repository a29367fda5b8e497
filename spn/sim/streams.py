"""Independent streams of random numbers, and the trajectories that they drive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, TypeVar

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.measure import Primitive
from spn.net.model import INFINITE, Marking, Net, timed
from spn.sim.control import Control, Stopped
from spn.sim.direct.plan import Plan, obstacle, plan, slower
from spn.sim.direct.reference import DirectTrajectory
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.reference import Trajectory
from spn.sim.setup import prepare

T = TypeVar("T")
Choice = Literal["auto", "python", "compiled"]
PYTHON_BUDGET = 60_000  # firings that plain Python makes in about a second; more is worth a kernel
KERNELS = "spn.sim.kernels"  # clocks
DIRECT_KERNELS = "spn.sim.direct.kernels"
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

    def starting_in(self, marking: Marking) -> Crew:
        """A crew for the same net with another initial marking."""
        places = tuple(replace(p, initial=k) for p, k in zip(self.net.places, marking, strict=True))
        return Crew(replace(self.net, places=places), self.primitives, self.seed, self.control, self.engine)

    def use_kernel(self, firings: int) -> bool:
        """Whether a job of so many firings in all goes to the kernel: always once it is loaded, for it then costs nothing to use."""
        loaded = self.kernels in sys.modules
        wanted = self.engine == "compiled" or (self.engine == "auto" and (loaded or firings * self.dearer + self.clocks > PYTHON_BUDGET))
        if wanted and not loaded:
            with self.control.uncounted():
                import_module(self.kernels)
        return wanted

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
                wait(tasks, return_when=FIRST_EXCEPTION)
            except KeyboardInterrupt:
                self.control.interrupt()
            pool.shutdown(wait=True, cancel_futures=True)  # after a failure or an interruption nothing more is begun
        if any(t.cancelled() for t in tasks):
            for t in tasks:
                if not t.cancelled():
                    t.result()
            raise Stopped
        return [x for t in tasks for x in t.result()]


class Stream:
    """One long run cut into batches of equally many firings; ``rows`` are (time, sums) per batch. It begins anew, or goes on where
    ``engine``, the crew's trajectory of that number, has arrived."""

    def __init__(self, crew: Crew, number: int, batch: int, engine: Engine | None = None) -> None:
        self.crew = crew
        self.number = number
        self.batch = batch
        self.engine = engine or crew.trajectory(number, kernel=False)
        self.kernel = not isinstance(self.engine, IN_PYTHON)
        self.rows: list[Floats] = []
        self.still = False
        self._last = np.array([self.engine.time, *self.engine.totals()])

    def switch(self) -> None:
        """Go on with the kernel: it makes the same draws, so it is brought to the same point and takes over."""
        done = self.engine.firings
        self.engine, self.kernel = self.crew.trajectory(self.number, kernel=True), True
        if done:
            self.engine.run(done, np.inf)

    def extend(self, count: int) -> None:
        """Run until there are ``count`` batches, or nothing happens any more. A batch in which no time passes goes into the next."""
        while len(self.rows) < count and not self.still:
            self.still = self.crew.run(self.engine, self.batch, np.inf) is Ending.STILL
            now = np.array([self.engine.time, *self.engine.totals()])
            if not self.still and now[0] > self._last[0]:
                self.rows.append(now - self._last)
                self._last = now

    def merge(self) -> None:
        """Join neighbouring batches: half as many, twice as long. An odd one at the end is undone by leaving it out."""
        pairs = len(self.rows) // 2
        self.rows = [self.rows[2 * i] + self.rows[2 * i + 1] for i in range(pairs)]
        self.batch *= 2


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
