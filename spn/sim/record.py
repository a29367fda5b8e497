"""What a run has done so far, kept so that another can go on from there, and so that others can do a part of it.

Everything that is simulated is a *unit*: a replication, or a stretch of a long run. Units depend on the net, the seed and their numbers
alone, and what is made of their results (when to stop, what to run next) on the results alone. So a run that finds the results of its
first units in a record does, from there on, exactly what the run did that wrote it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spn.sim.engine import Engine, Floats
from spn.sim.snapshot import Snapshot, kind

if TYPE_CHECKING:
    from spn.sim.longrun import Ended

EVERY = 5.0  # seconds between two writings
SHARE = 0.05  # of all time that writing may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A replication: its row, where it ended, its firings, and whether it drew anything."""

    row: Floats
    end: Ended
    firings: int
    drew: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """A point of a long run: its firings, its time and totals (one array), whether nothing happens any more."""

    firings: int
    now: Floats
    still: bool = False


@dataclass(slots=True)
class Track:
    """Where a long run has been: ``points`` are what was reached on the way to so many firings at least. ``drew``: the firings of the first
    of them at which it had drawn anything. ``snapshot`` is of where it was last."""

    points: dict[int, Reached] = field(default_factory=dict)
    drew: int | None = None
    snapshot: Snapshot | None = None
    taken: float = field(default_factory=time.monotonic)  # when the snapshot was

    def add(self, target: int, point: Reached, *, drew: bool) -> None:
        self.points[target] = point
        if drew and self.drew is None:
            self.drew = point.firings

    def take(self, engine: Engine) -> None:
        """Keep where the trajectory is."""
        self.snapshot, self.taken = engine.snapshot(), time.monotonic()

    def old(self) -> bool:
        """Whether it is time for a new snapshot."""
        return time.monotonic() - self.taken > EVERY / 2

    def usable(self, engine: Engine, most: int) -> bool:
        """Whether the snapshot is further on than a trajectory, of its kind, and not beyond so many firings."""
        s = self.snapshot
        return s is not None and engine.firings < s.firings <= most and s.engine == kind(engine)

    def join(self, other: Track) -> None:
        """Take over what another has of the same long run, later on."""
        self.points.update(other.points)
        if self.drew is None:
            self.drew = other.drew
        if other.snapshot is not None:
            self.snapshot = other.snapshot


@dataclass(slots=True)
class Record:
    """What a run has done: ``tracks`` of long runs and ``sections`` of replications, each numbered in the order in which the run comes to
    them. ``loaded``: the kernels that were in memory when the run began, which it then uses at once. ``save`` writes it all."""

    tracks: dict[int, Track] = field(default_factory=dict)
    sections: dict[int, dict[int, Finished]] = field(default_factory=dict)
    loaded: frozenset[str] = frozenset()
    save: Callable[[Record], None] | None = None
    saved: float = field(default_factory=time.monotonic)
    pause: float = EVERY
    _runs: int = 0
    _sections: int = 0
    _kernels: set[str] = field(default_factory=set)

    def track(self) -> Track:
        """The track of the next long run."""
        self._runs += 1
        return self.tracks.setdefault(self._runs - 1, Track())

    def section(self) -> dict[int, Finished]:
        """The replications of the next section, by number; what is put there is kept."""
        self._sections += 1
        return self.sections.setdefault(self._sections - 1, {})

    def uses(self, kernels: str) -> bool:
        """Whether a kernel is in memory, as far as this run goes: the same whether it is made in one go or not."""
        return kernels in self.loaded or kernels in self._kernels

    def use(self, kernels: str) -> None:
        self._kernels.add(kernels)

    def due(self) -> bool:
        return time.monotonic() - self.saved >= self.pause

    def write(self) -> None:
        """Write it, and decide when to do so next: rarely, where it takes long."""
        if self.save is not None:
            began = time.monotonic()
            self.save(self)
            self.saved = time.monotonic()
            self.pause = max(EVERY, (self.saved - began) / SHARE)


def in_memory(kernels: Iterable[str]) -> frozenset[str]:
    """Which modules are loaded."""
    return frozenset(k for k in kernels if k in sys.modules)


def now_of(engine: Engine) -> Floats:
    """A trajectory's time and totals in one array."""
    return np.array([engine.time, *engine.totals()])
