"""RESTART: a trajectory that is split where it gets nearer to a rare event.

Thresholds t_1 < … < t_m on the importance cut the markings into regions 0 … m. Where a path comes up across t_k it is replaced by ``r_k``
paths from there: all but one end when they fall below t_k again, one goes on. What is measured in region k counts 1 / (r_1 ⋯ r_k), for so
many paths are there on average: every mean is what it would be without splitting, whatever the thresholds and factors (M. Villén-Altamirano
and J. Villén-Altamirano, RESTART: a straightforward method for fast simulation of rare events, Proc. 1994 Winter Simulation Conference,
doi:10.1109/WSC.1994.717150; the proof for splitting of any kind: M. J. J. Garvels, The splitting method in rare event simulation, thesis,
Twente, 2000).

Paths are followed one at a time, the copies that are still to come waiting as a number: no more than one state a threshold is kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.net.model import Marking
from spn.sim.engine import Ending, Floats
from spn.sim.snapshot import Snapshot
from spn.sim.splitting import layout as at
from spn.sim.splitting.path import Kept, Path, Stop, Watched

LOT = 50_000  # firings of a path between two looks at the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Thresholds, rising, and into how many paths each splits."""

    thresholds: tuple[float, ...] = ()
    factors: tuple[int, ...] = ()

    def weights(self) -> Floats:
        """What a path counts in each region: m + 1 numbers."""
        return np.concatenate([[1.0], 1.0 / np.cumprod(np.array(self.factors, dtype=np.float64))])


class Tally:
    """What became of the roots of many runs: a *root* is a stay of an original path above the first threshold, with all that it was
    split into (of a run to a horizon: the whole run).

    ``hits[k]``: times that any path came up across threshold k; ``roots[k]``: roots of which one did. The rows of ``sums``
    (:mod:`spn.sim.splitting.layout`) have, by primitive, the sums of what roots contributed, of its squares, the largest, the squares
    without splitting (estimated from the stays of all copies in the last region), and the whole estimate; ``carrying`` counts the roots
    that contributed at all. ``original`` firings of ``made`` were of original paths."""

    def __init__(self, levels: Levels, width: int) -> None:
        m = len(levels.thresholds)
        self.hits, self.roots = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self.sums = np.zeros((at.TALLY, width))
        self.carrying = np.zeros(width, dtype=np.int64)
        self.count = 0
        self.original = 0
        self.made = 0

    def root(self, contribution: Floats, reached: int) -> None:
        """A root is over."""
        self.count += 1
        self.sums[at.T_SUMS] += contribution
        self.sums[at.T_SQUARES] += contribution**2
        self.sums[at.T_LARGEST] = np.maximum(self.sums[at.T_LARGEST], contribution)
        self.carrying += contribution > 0
        self.roots[:reached] += 1


@dataclass(slots=True)
class _Frame:
    """A split: where, what was the floor of the path that came up, and how many copies are still to be made."""

    kept: Kept
    region: int
    floor: int
    left: int


class Restart(ABC):
    """One trajectory with RESTART: an :class:`spn.sim.engine.Engine` whose ``time`` and ``firings`` are those of the original path, and
    whose ``totals`` and, at a horizon, ``rates`` are weighted over all paths.

    ``made(n)`` is told of firings of whatever path; it may raise to stop the run. The path's last primitive is the importance, the others
    count. ``whole``: a root is the run, which its caller then reports, not a stay above the first threshold."""

    def __init__(self, path: Path, levels: Levels, tally: Tally, made: Callable[[int], None], *, whole: bool = False) -> None:
        self.path, self.levels, self.tally, self.made = path, levels, tally, made
        self.width = tally.sums.shape[1]
        self.weights = levels.weights()
        self.top = len(levels.thresholds)
        self.book = np.zeros(at.BOOK, dtype=np.int64)
        self.book[at.WHOLE] = whole
        self.sums = np.zeros((at.RUN, self.width))
        self.thresholds = np.array(levels.thresholds, dtype=np.float64)
        self._begun = False

    @property
    def time(self) -> float:
        return self.path.engine.time

    @property
    def marking(self) -> Marking:
        return self.path.engine.marking

    @property
    def firings(self) -> int:
        return int(self.book[at.FIRINGS])

    @property
    def reached(self) -> int:
        """How many thresholds the present root has come up across."""
        return int(self.book[at.REACHED])

    @property
    def drew(self) -> bool:
        return True

    def totals(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.totals`."""
        return np.array(self.sums[at.SUMS])

    def rates(self) -> Floats:
        """The weighted rates of all paths at the horizon that they came to."""
        return np.array(self.sums[at.ENDS])

    def snapshot(self) -> Snapshot:
        raise NotImplementedError("a run with splitting is not kept")  # which --checkpoint with --splitting is refused for

    def restore(self, snapshot: Snapshot, *, draws: bool = True) -> None:
        raise NotImplementedError("a run with splitting is not kept")

    def reseed(self, rng: np.random.Generator) -> None:
        """See :meth:`spn.sim.engine.Engine.reseed`."""
        self.path.engine.reseed(rng)

    def run(self, firings: int, horizon: float) -> Ending:
        """Go on for so many firings of the original path, with all that it is split into on the way."""
        self.sums[at.ENDS] = 0.0
        until = min(self.firings + firings, 2**62)
        if not self._begun:
            self.path.advance(-math.inf, math.inf, 0, horizon)
            self.sums[at.BEFORE], self._begun = self.path.engine.totals()[: self.width], True
            self._climb()
        return self._run(until, horizon)

    @abstractmethod
    def _run(self, until: int, horizon: float) -> Ending:
        """:meth:`run`, once it has begun."""

    @abstractmethod
    def _climb(self) -> None:
        """Split the path as often as the thresholds ask for that it begins above."""


class PlainRestart(Restart):
    """RESTART in plain Python, over any path: the definition."""

    def __init__(self, path: Path, levels: Levels, tally: Tally, made: Callable[[int], None], *, whole: bool = False) -> None:
        super().__init__(path, levels, tally, made, whole=whole)
        self.frames: list[_Frame] = []
        self.region = 0
        self.floor = 0
        self.whole = whole

    def _run(self, until: int, horizon: float) -> Ending:
        while self.frames or self.firings < until:
            stop = self._follow(LOT if self.frames else min(LOT, until - self.firings), horizon)
            if stop is Stop.CROSSED:
                self._crossed()
            elif stop is not Stop.FIRINGS:
                if stop is Stop.STILL and math.isinf(horizon):
                    return Ending.STILL
                if self._over():
                    return Ending.STILL if stop is Stop.STILL else Ending.HORIZON
        return Ending.FIRINGS

    def _follow(self, firings: int, horizon: float) -> Stop:
        """One stretch of the present path inside its region."""
        k, thresholds = self.region, self.levels.thresholds
        low = thresholds[k - 1] if k else -math.inf
        high = thresholds[k] if k < self.top else math.inf
        engine, original = self.path.engine, not self.frames
        before = engine.firings
        stop = self.path.advance(low, high, firings, horizon)
        self._count(engine.firings - before, original)
        self._measure()
        return stop

    def _count(self, firings: int, original: bool) -> None:
        self.tally.made += firings
        if original:
            self.book[at.FIRINGS] += firings
            self.tally.original += firings
        self.made(firings)

    def _measure(self) -> None:
        """Add what the stretch contributed, at its region's weight."""
        now = self.path.engine.totals()[: self.width]
        grown = now - self.sums[at.BEFORE]
        self.sums[at.BEFORE] = now
        if grown.any():
            weighted = self.weights[self.region] * grown
            self.sums[at.SUMS] += weighted
            self.tally.sums[at.T_TOTAL] += weighted
            if self.region or self.whole:
                self.sums[at.ROOT] += weighted
            if self.region == self.top:
                self.sums[at.STAY] += grown

    def _crossed(self) -> None:
        v = self.path.value
        if self.region < self.top and v >= self.thresholds[self.region]:
            self._climb()
            return
        below = int(np.searchsorted(self.thresholds, v, side="right"))
        self._leave()
        if below < self.floor:
            self._next()
            return
        self.region = below
        if below == 0 and not self.frames and not self.whole:
            self.tally.root(self.sums[at.ROOT].copy(), self.reached)
            self.sums[at.ROOT] = 0.0
            self.book[at.REACHED] = 0

    def _climb(self) -> None:
        """Split at every threshold that the present path has come up across."""
        while self.region < self.top and self.path.value >= self.thresholds[self.region]:
            self.tally.hits[self.region] += 1
            self.region += 1
            self.book[at.REACHED] = max(self.reached, self.region)
            copies = self.levels.factors[self.region - 1] - 1
            if copies:
                self.frames.append(_Frame(self.path.keep(), self.region, self.floor, copies - 1))
                self.floor = self.region

    def _leave(self) -> None:
        """A path leaves the last region, if it was there."""
        if self.region == self.top and not self.whole:
            self.tally.sums[at.T_PLAIN] += self.weights[self.top] * self.sums[at.STAY] ** 2
            self.sums[at.STAY] = 0.0

    def _over(self) -> bool:
        """A path has come to the horizon, or to rest for good; whether it was the original one."""
        self._leave()
        rates = self.path.engine.rates()[: self.width]
        self.sums[at.ENDS] += self.weights[self.region] * rates
        if self.whole:
            self.tally.sums[at.T_PLAIN] += self.weights[self.region] * rates**2
        if not self.frames:
            return True
        self._next()
        return False

    def _next(self) -> None:
        """The present path has ended: the next copy from the last split, or the path that was split there."""
        frame = self.frames[-1]
        self.path.back(frame.kept)
        self.sums[at.BEFORE] = self.path.engine.totals()[: self.width]
        self.region = frame.region
        if frame.left > 0:
            frame.left -= 1
            self.floor = frame.region
        else:
            self.frames.pop()
            self.floor = frame.floor
        self._climb()


class KernelRestart(Restart):
    """The same in a kernel, over the direct method's."""

    path: Watched

    def __init__(self, path: Watched, levels: Levels, tally: Tally, made: Callable[[int], None], *, whole: bool = False) -> None:
        super().__init__(path, levels, tally, made, whole=whole)
        self.factors = np.array(levels.factors, dtype=np.int64)
        self.places: NDArray[np.int64] = path.places(self.width)
        self.frames = np.zeros((max(1, self.top), len(path.engine.state)), dtype=np.int64)
        self.stack = np.zeros((max(1, self.top), 3), dtype=np.int64)

    def _climb(self) -> None:
        """The kernel climbs when it begins."""

    def _run(self, until: int, horizon: float) -> Ending:
        from spn.sim.splitting.kernels import restart

        engine, tally, book = self.path.engine, self.tally, self.book
        while True:
            made = int(book[at.MADE])
            status = restart(
                engine.compiled.image,
                engine.plan.words,
                engine.state,
                self.thresholds,
                self.factors,
                self.weights,
                self.places,
                book,
                self.sums,
                self.frames,
                self.stack,
                tally.sums,
                tally.hits,
                tally.roots,
                tally.carrying,
                until,
                made + LOT,
                horizon,
            )
            made = int(book[at.MADE]) - made
            tally.made += made
            tally.original += int(book[at.ORIGINAL])
            tally.count += int(book[at.ROOTS])
            book[at.ORIGINAL] = book[at.ROOTS] = 0
            self.made(made)
            if status != at.LOOK:
                return engine.ending(status, engine.firings, horizon)


def restart_of(path: Path, levels: Levels, tally: Tally, made: Callable[[int], None], *, whole: bool) -> Restart:
    """The fastest there is for a path."""
    if isinstance(path, Watched):
        return KernelRestart(path, levels, tally, made, whole=whole)
    return PlainRestart(path, levels, tally, made, whole=whole)
