"""The direct method in plain Python: what :mod:`spn.sim.direct.kernels` is compared with, draw for draw.

*Order of draws.* In a tangible marking the time to the next firing is one exponential draw over the sum of all rates; it is drawn once,
however often a run is stopped and resumed. When it is over one uniform draw chooses the transition, then each choice among two or more
immediates one more. A transition's rate is that of one clock times the clocks that run, times the speed in that marking.

*Order of sums.* The rates are summed in pairs, pairs of pairs and so on (:mod:`spn.sim.direct.layout`), anew in each marking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from spn.compiled import CompiledNet
from spn.dist.random import Random, seeds_of
from spn.measure import Primitive
from spn.net import semantics
from spn.net.model import Marking, initial_marking
from spn.sim.direct.plan import Plan
from spn.sim.engine import Ending, Floats, zero_time_limit
from spn.sim.explain import explain
from spn.sim.loop import zero_time_loop
from spn.sim.meter import Meter
from spn.sim.snapshot import Snapshot, kind, set_source, source_state

ROOM = 2_000_000  # numbers kept about markings that may come again
LAST = 1000  # firings looked back at to see who takes part in a zero-time loop


class DirectTrajectory:
    """One trajectory by the direct method: an :class:`spn.sim.engine.Engine` in plain Python. The net has no
    :func:`spn.sim.direct.plan.obstacle`; ``rng`` gives the seed of the method's own generator and is not drawn from."""

    def __init__(self, compiled: CompiledNet, primitives: Sequence[Primitive], plan: Plan, rng: np.random.Generator) -> None:
        self.compiled = compiled
        self.plan = plan
        self.rules = plan.rules
        self.reseed(rng)
        self.time = 0.0
        self.firings = 0
        self.marking: Marking = initial_marking(compiled.net)
        self.meter = Meter(self.rules, primitives)
        self.on_firing: Callable[[int, Marking, float], None] | None = None  # told of counted firings: transition, marking after, time
        self._due: float | None = None
        self._known: dict[Marking, tuple[list[float], dict[str, int]]] = {}
        self._choices: dict[Marking, list[tuple[int, float]]] = {}
        self.sums: list[float] = []  # of the rates, see spn.sim.direct.layout
        self._at_instant: list[int] = []
        self._limit = 0

    @property
    def words(self) -> tuple[int, ...]:
        """The state of the generator."""
        return self.random.words

    @property
    def drew(self) -> bool:
        """Whether anything was drawn."""
        return self.random.drew

    def run(self, firings: int, horizon: float) -> Ending:
        """See :meth:`spn.sim.engine.Engine.run`."""
        if not self.sums:
            self._limit = zero_time_limit(len(self.marking), len(self.rules.transitions), sum(self.marking))
            self._settle(counted=False)
        until = self.firings + firings
        while self.firings < until:
            if self._due is None and not self._draw():
                self._hold(horizon)
                return Ending.STILL
            assert self._due is not None
            if self._due > horizon:
                self._hold(horizon)
                return Ending.HORIZON
            self._step(self._due)
        return Ending.FIRINGS

    def totals(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.totals`."""
        return self.meter.totals()

    def rates(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.rates`."""
        return np.array(self.meter.rates)

    def snapshot(self) -> Snapshot:
        """See :meth:`spn.sim.engine.Engine.snapshot`."""
        rest = {
            "source": source_state(self.random),
            "time": self.time,
            "firings": self.firings,
            "marking": list(self.marking),
            "due": self._due,
            "begun": bool(self.sums),
            "limit": self._limit,
            "at_instant": list(self._at_instant),
            "meter": self.meter.held(),
        }
        return Snapshot(kind(self), self.firings, {}, rest)

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`spn.sim.engine.Engine.restore`."""
        rest = snapshot.of(self).rest
        set_source(self.random, rest["source"])
        self.time, self.firings, self._due, self._limit = rest["time"], rest["firings"], rest["due"], rest["limit"]
        self.marking = tuple(rest["marking"])
        self.sums = self._sums()[0] if rest["begun"] else []
        self._at_instant = list(rest["at_instant"])
        self.meter.hold(rest["meter"])

    def reseed(self, rng: np.random.Generator) -> None:
        """See :meth:`spn.sim.engine.Engine.reseed`."""
        self.rng = rng
        self.random = Random(seeds_of(rng))
        self._seed = self.random.words

    def forget(self, most: int) -> None:
        """Drop what is remembered of markings, once it is of more than ``most``: it can be computed anew."""
        for known in (self._known, self._choices):
            if len(known) > most:
                known.clear()

    def _hold(self, horizon: float) -> None:
        if math.isfinite(horizon) and horizon > self.time:
            self.meter.pass_time(horizon - self.time)
            self.time = horizon

    def _draw(self) -> bool:
        """Draw the instant of the next firing; False where nothing will ever fire."""
        total = self.sums[1]
        if total == 0:
            return False
        if not total < math.inf:
            raise explain(self.compiled.net, self.marking, -1, self.meter.primitives)
        self._due = self.time + self.random.standard_exponential() / total
        return True

    def _step(self, due: float) -> None:
        if due > self.time:
            self.meter.pass_time(due - self.time)
            self.time = due
            self._at_instant.clear()
        self._due = None
        self._fire(self.plan.slots[self._slot()], counted=True)
        self._settle(counted=True)

    def _slot(self) -> int:
        """A slot, with probability in proportion to its rate; never one of rate 0."""
        r = self.random.random() * self.sums[1]
        node = 1
        while node < self.plan.leaves:
            node *= 2
            if r >= self.sums[node] and self.sums[node + 1] > 0:
                r -= self.sums[node]
                node += 1
        return node - self.plan.leaves

    def _fire(self, t: int, *, counted: bool) -> None:
        if len(self._at_instant) > self._limit:
            raise zero_time_loop(self.compiled.net, self.marking, self._at_instant[-LAST:], self.time)
        if counted:
            self.meter.fired(t, self.marking)
            self.firings += 1
        self.marking = semantics.fire(self.rules, t, self.marking)
        self._at_instant.append(t)
        if counted and self.on_firing is not None:
            self.on_firing(t, self.marking, self.time)

    def _settle(self, *, counted: bool) -> None:
        """Fire immediates until the marking is tangible, then read the rates."""
        while choices := self._immediates():
            self._fire(self._choose(choices), counted=counted)
        self.sums, running = self._sums()
        self.meter.changed(self.marking, running, dict.fromkeys(self.rules.links, 0.0))

    def _sums(self) -> tuple[list[float], dict[str, int]]:
        """What :meth:`_read` finds in the present marking."""
        if self.marking not in self._known:
            self.forget(ROOM // self.plan.leaves)
            self._known[self.marking] = self._read()
        return self._known[self.marking]

    def _immediates(self) -> list[tuple[int, float]]:
        found = self._choices.get(self.marking)
        if found is None:
            found = [(t, float(w)) for t, w in semantics.enabled_immediates(self.rules, self.marking)]
            self._choices[self.marking] = found
        return found

    def _choose(self, weighted: Sequence[tuple[int, float]]) -> int:
        """One of several, with probability in proportion to its weight."""
        if len(weighted) == 1:
            return weighted[0][0]
        total = 0.0
        for _, w in weighted:
            total += w
        u = self.random.random() * total
        reached = 0.0
        for t, w in weighted:
            reached += w
            if u < reached:
                return t
        return weighted[-1][0]

    def _read(self) -> tuple[list[float], dict[str, int]]:
        """The tree of sums and the running clocks in the present marking."""
        plan, m = self.plan, self.marking
        sums = [0.0] * (2 * plan.leaves)
        running = {}
        for k, (t, rate, moves) in enumerate(zip(plan.slots, plan.rates, plan.moving, strict=True)):
            n = semantics.running_clocks(self.rules, t, m)
            running[self.rules.transitions[t].transition.name] = n
            speed = float(semantics.speed(self.rules, t, m)) if moves and n > 0 else 1.0
            sums[plan.leaves + k] = n * rate * speed
        for node in range(plan.leaves - 1, 0, -1):
            sums[node] = sums[2 * node] + sums[2 * node + 1]
        return sums, running
