"""First passage: when a Markov chain is in one of its target states for the first time."""

from __future__ import annotations

import math

import numpy as np

from spn.markov.longrun import long_run, restarted
from spn.markov.stationary import TOLERANCE
from spn.markov.transient import Walk
from spn.reach.space import Bools, Floats, Rates, compressed

STEPS = 200  # of the search for a quantile


class Passage:
    """The time to the ``target`` states of a chain from ``initial`` (n).

    The targets are one absorbing state, the last, of the chain kept here; ``chance`` is the probability that it is ever reached."""

    def __init__(self, rates: Rates, initial: Floats, target: Bools, tolerance: float = TOLERANCE) -> None:
        inside = np.flatnonzero(~target)
        self.hub = len(inside)
        number = np.full(rates.n, self.hub, dtype=np.int64)
        number[inside] = np.arange(self.hub)
        sources = rates.sources()
        on = ~target[sources]
        self.rates = compressed(self.hub + 1, number[sources[on]], number[rates.columns[on]], rates.values[on])
        self.initial = np.bincount(number, initial, self.hub + 1).astype(np.float64)
        self.tolerance, self.residual, self.converged = tolerance, 0.0, True
        self.methods: list[str] = []
        self.chance = self._chance() if target.any() else 0.0

    def _chance(self) -> float:
        """1 where no other end can be reached."""
        if self.initial[self.hub] >= 1:
            return 1.0
        ends = long_run(self.rates, self.initial, self.tolerance)
        self.residual, self.converged = ends.residual, ends.converged
        if len(ends.classes) == 1:
            return float(int(ends.classes[0].states[0]) == self.hub)
        return float(next((c.probability for c in ends.classes if int(c.states[0]) == self.hub), 0.0))

    def mean(self) -> float:
        """The mean time, infinite where the targets may never be reached.

        As a stationary problem: the target starts the chain anew, at rate r; the times spent in the states are then in proportion to their
        probabilities, and the mean is (1 - p) / (p r) where p is that of the target."""
        if self.chance < 1:
            return math.inf
        at_once = float(self.initial[self.hub])
        if at_once >= 1:
            return 0.0
        r, starts = self.rates, np.flatnonzero(self.initial[: self.hub])
        rows = np.concatenate([r.sources(), np.full(len(starts), self.hub)])
        columns = np.concatenate([r.columns, starts])
        anew = self.initial[starts] / self.initial[starts].sum()

        def chain(pace: float) -> Rates:
            return compressed(r.n, rows, columns, np.concatenate([r.values, pace * anew]))

        found, pace = restarted(chain, np.array([self.hub]), r, self.tolerance)
        self.residual, self.converged = max(self.residual, found.residual), self.converged and found.converged
        waiting = math.fsum(found.pi[: self.hub].tolist()) / (float(found.pi[self.hub]) * pace)
        return (1.0 - at_once) * waiting

    def within(self, time: float) -> float:
        """The probability that the targets are reached by ``time``."""
        walk = Walk(self.rates)
        after, _ = walk.go(self.initial, time)
        self._note(walk)
        return float(after[self.hub])

    def _note(self, walk: Walk) -> None:
        self.residual = max(self.residual, walk.error)
        self.methods.append(walk.method())

    def quantile(self, level: float) -> float:
        """The least time by which the probability is ``level``; infinite where it never is."""
        if self.initial[self.hub] >= level:
            return 0.0
        if self.chance <= level:
            return math.inf
        walk = Walk(self.rates)
        low, high, p = 0.0, 1.0 / walk.q, self.initial
        while (beyond := walk.go(p, high - low)[0])[self.hub] < level:
            low, high, p = high, 2.0 * high, beyond
        found = self._between(walk, p, low, high, level)
        self._note(walk)
        return found

    def _between(self, walk: Walk, p: Floats, low: float, high: float, level: float) -> float:
        """Newton's steps on the probability, whose slope is the flow into the target; halving where a step leaves the bracket.

        ``p`` is the distribution at ``low``; the time found is a root to rounding."""
        into = np.zeros(self.rates.n)
        entering = self.rates.columns == self.hub
        into[self.rates.sources()[entering]] = self.rates.values[entering]
        at, time = p, low
        for _ in range(STEPS):
            gap = level - float(at[self.hub])
            if abs(gap) <= walk.error:
                break
            if gap >= 0:
                low, p = time, at
            else:
                high = time
            slope = float(at @ into)
            guess = time + gap / slope if slope > 0 else high
            time, last = (guess if low < guess < high else 0.5 * (low + high)), time
            if abs(time - last) <= 1e-13 * time:
                break
            at, _ = walk.go(p, time - low)
        return time
