"""Thresholds and factors from a pilot: fixed effort, stage by stage.

A stage has a number of *excursions*: paths from states in which others came up across the last threshold, until they fall below it again.
The next threshold is the largest importance that a share ``SHARE`` of them reaches, and the share that does gives the factor, 1 / share:
about as many paths then come up across each threshold as across the one before, which is near the optimum whatever the model
(M. J. J. Garvels and D. P. Kroese, A comparison of RESTART implementations, Proc. 1998 Winter Simulation Conference,
doi:10.1109/WSC.1998.745040). The stages end where that share of the excursions meets what the measures ask for. A trial of RESTART then
corrects the factors by what came up across each threshold. What the pilot draws takes no part in the estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spn.sim.control import Stopped
from spn.sim.engine import Floats
from spn.sim.splitting.crew import SplittingCrew
from spn.sim.splitting.path import Kept, Path, Stop
from spn.sim.splitting.restart import Levels

SHARE = 0.15  # of excursions that reach the next threshold
FEWEST = 5  # excursions that must have, for a threshold to be set
EFFORT = 200  # excursions of a stage at first; four times as many while too few get anywhere
MOST_EFFORT = 64 * EFFORT
MOST_LEVELS = 100
MOST_PATHS = 10_000  # that a threshold may split into
WARM = 2_000  # firings before the first stage of a long run
WINDOW = 50  # firings of what counts for an excursion in the first stage of a long run
ENTRANCES = 40  # states from which the excursions of a stage begin
LONG = 20_000  # firings at which an excursion is taken to be over
TRIAL = 200  # roots of a trial
TRIAL_FIRINGS = 2_000_000
FIRST = 2**41  # the number of the stream of the pilot: none of the runs'


@dataclass(frozen=True, slots=True)
class Excursion:
    """How far up a path came, and whether it met what is asked for."""

    highest: float
    met: bool


class _Enough(Exception):
    """The trial has used up its firings."""


class Pilot:
    """Finds levels for a crew. ``horizon`` is that of its runs, inf for the long run; ``notes`` say what went wrong."""

    def __init__(self, crew: SplittingCrew, horizon: float) -> None:
        self.crew, self.horizon = crew, horizon
        self.notes: list[str] = []
        self.random = np.random.default_rng(np.random.SeedSequence(crew.seed, spawn_key=(FIRST,)))
        self.firings = 0
        self._streams = FIRST

    def find(self, thresholds: Sequence[float] | None = None) -> Levels:
        """Levels; at the thresholds given, with factors for those, where there are any."""
        levels = self._staged() if thresholds is None else Levels(thresholds=tuple(thresholds), factors=(4,) * len(thresholds))
        for _ in range(2 if thresholds is None else 6):
            levels = self.corrected(levels)
        return levels

    def _path(self) -> Path:
        self._streams += 1
        return self.crew.path(self._streams)

    # --- stages -----------------------------------------------------------------------------------------------------------------

    def _staged(self) -> Levels:
        thresholds: list[float] = []
        shares: list[float] = []
        path, entrances = self._path(), list[Kept]()
        while len(thresholds) < MOST_LEVELS:
            low = thresholds[-1] if thresholds else -math.inf
            found, met = self._stage(path, entrances, low)
            if met >= SHARE or found is None:
                if met == 0:
                    where = f"importance {low:g}" if thresholds else "where it starts"
                    self.notes.append(f"the pilot never met what is asked for, and came no further than {where}")
                shares.append(met or SHARE)
                break
            value, share = found
            shares.append(share)
            entrances = self._entrances(path, entrances, low, value)
            thresholds.append(value)
        else:
            self.notes.append(f"the pilot set {MOST_LEVELS} thresholds, the most there may be, without coming to what is asked for")
            shares.append(SHARE)
        return Levels(thresholds=tuple(thresholds), factors=_factors(shares[1 : len(thresholds) + 1]))

    def _stage(self, path: Path, entrances: list[Kept], low: float) -> tuple[tuple[float, float] | None, float]:
        """The next threshold with the share of excursions above ``low`` that reached it, and the share that met what is asked for."""
        effort, excursions = EFFORT, list[Excursion]()
        while True:
            while len(excursions) < effort:
                excursions.append(self._excursion(path, entrances, low))
            met = sum(e.met for e in excursions) / len(excursions)
            found = _next_threshold([e.highest for e in excursions], low)
            if met >= SHARE or found is not None or effort >= MOST_EFFORT:
                return found, met
            effort *= 4

    def _entrances(self, path: Path, entrances: list[Kept], low: float, value: float) -> list[Kept]:
        """States in which paths from the entrances of ``low`` came up to ``value``."""
        found: list[Kept] = []
        for _ in range(MOST_EFFORT):
            path, firings = self._begun(path, entrances)
            if not entrances and path.value >= value:
                self._advance(path, value, math.inf, LONG)
            if path.value < value:
                self._advance(path, low, value, firings)
            if path.value >= value:
                found.append(path.keep())
            if len(found) >= ENTRANCES:
                break
        return found

    def _begun(self, path: Path, entrances: list[Kept]) -> tuple[Path, int]:
        """A path at the beginning of an excursion (an entrance; in the first stage the start, or anywhere in a long run), and for how
        many firings to follow it at most."""
        if entrances:
            path.back(entrances[int(self.random.integers(len(entrances)))])
            return path, LONG
        if math.isinf(self.horizon):
            if path.engine.firings == 0:
                self._advance(path, -math.inf, math.inf, WARM)
            return path, WINDOW
        path = self._path()
        path.advance(-math.inf, math.inf, 0, self.horizon)
        return path, LONG

    def _excursion(self, path: Path, entrances: list[Kept], low: float) -> Excursion:
        """One path from a beginning until it falls below ``low``."""
        path, firings = self._begun(path, entrances)
        highest = path.value
        before = path.engine.totals()[: self.crew.width]
        until = path.engine.firings + firings
        while (left := until - path.engine.firings) > 0:
            stop = self._advance(path, low, float(np.nextafter(highest, math.inf)), left)
            if stop is not Stop.CROSSED or path.value < low:
                break
            highest = path.value
        return Excursion(highest, self._met(path, before))

    def _met(self, path: Path, before: Floats) -> bool:
        return bool((path.engine.totals()[: self.crew.width] != before).all())

    def _advance(self, path: Path, low: float, high: float, firings: int) -> Stop:
        before = path.engine.firings
        stop = path.advance(low, high, firings, self.horizon)
        self.firings += path.engine.firings - before
        self.crew.made(path.engine.firings - before)
        return stop

    # --- trials -----------------------------------------------------------------------------------------------------------------

    def corrected(self, levels: Levels) -> Levels:
        """The factors after a trial: as many paths should come up across each threshold as across the one before."""
        if len(levels.thresholds) < 2:
            return levels
        hits = self._trial(levels)
        shares = []
        for k, r in enumerate(levels.factors[:-1]):
            seen = hits[k] >= 20 and hits[k + 1] >= 10
            shares.append(hits[k + 1] / hits[k] / r if seen else 1.0 / r)
        return Levels(thresholds=levels.thresholds, factors=_factors([*shares, 1.0 / levels.factors[-1]]))

    def _trial(self, levels: Levels) -> list[int]:
        """How often each threshold was crossed upwards from ``TRIAL`` roots, or until the firings are used up."""
        kept = self.crew.levels
        self.crew.set_levels(levels)
        tally, limit = self.crew.tally, TRIAL_FIRINGS // (100 if self.crew.engine == "python" else 1)

        def watched(firings: int) -> None:
            self.crew.made(firings)
            self.firings += firings
            if tally.made > limit or tally.roots[0] >= TRIAL:
                raise _Enough

        try:
            while True:
                self._streams += 1
                engine = self.crew.restart(self._streams, watched)
                if math.isinf(self.horizon):
                    engine.run(2**62, math.inf)
                else:
                    engine.run(2**62, self.horizon)
                    tally.root(np.zeros(self.crew.width), engine.reached)
                    if tally.count >= 20 * TRIAL:
                        break
        except _Enough:
            pass
        except Stopped:
            self.crew.set_levels(kept)
            raise
        self.crew.set_levels(kept)
        return tally.hits.tolist()


def _next_threshold(highest: Sequence[float], low: float) -> tuple[float, float] | None:
    """The largest value above ``low`` that a share ``SHARE`` reached, or else the lowest that enough reached; with the share that did."""
    ranked = sorted((h for h in highest if h > low), reverse=True)
    wanted = math.ceil(SHARE * len(highest))
    lowest = min(highest)
    if low == -math.inf:  # where there is no threshold yet what every path reaches is none
        ranked = [h for h in ranked if h > lowest]
    if len(ranked) >= wanted:
        value = ranked[wanted - 1]
    elif len(ranked) >= FEWEST:
        value = ranked[-1]
    else:
        return None
    return value, sum(h >= value for h in highest) / len(highest)


def _factors(shares: Sequence[float]) -> tuple[int, ...]:
    """Whole factors whose products stay as near as can be to those of 1 / share, so that rounding does not build up."""
    found: list[int] = []
    wanted, made = 1.0, 1.0
    for share in shares:
        wanted /= share
        factor = min(MOST_PATHS, max(1, round(wanted / made)))
        found.append(factor)
        made *= factor
    return tuple(found)
