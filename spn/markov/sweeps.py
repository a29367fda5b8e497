"""Stationary vectors by point iterations, which need less memory than any other method: over-relaxed sweeps, and the damped power method.

Neither trusts a small step. A step of 1e-10 that shrinks by a thousandth each time is still 1e-7 from the end, and backward sweeps on some
cyclic nets go round in a circle that a look every few sweeps does not see. So the error is judged from how fast the steps shrink, and from
the residual times what the vector moved for each unit of residual before.
"""

from __future__ import annotations

import math

import numpy as np

from spn.markov.jumps import Jumps, Solved, normalised, unbalance
from spn.reach.space import Floats, Rates

BLOCK = 20  # sweeps between two looks at the progress
MOST_SWEEPS = 30_000
MOST_WORK = 1e11  # rates visited in all: some minutes
STEP = 0.1  # of the relaxation factor
MOST_FACTOR = 1.8
LEAST_FACTOR = 0.8
PROBATION = 2  # blocks in which another way must prove better
PAUSE = 3  # blocks after a trial that was worse; one more each time
STUCK = 0.998  # left of the residual after a block without progress
PATIENCE = 40  # blocks without progress
DAMPING = 1.05  # of the power method: the fastest state stays with probability 1 - 1 / 1.05 each step, so that no period is left
GOAL = 0.1  # of the tolerance
MEMORY = 8  # blocks looked back on


class Pace:
    """The error of an iterate from the history of its steps and residuals, one of each a block."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.residuals: list[float] = []
        self.error = math.inf

    def seen(self, step: float, before: float, after: float) -> float:
        """``step`` is the distance moved, ``before`` and ``after`` are the residuals at its ends."""
        self.steps = [*self.steps[1 - MEMORY :], step]
        self.residuals = [*self.residuals[1 - MEMORY :], before]
        if len(self.steps) > 3:
            q = max(b / a if a > 0 else 0.0 for a, b in zip(self.steps[-4:], self.steps[-3:], strict=False))
            to_come = step * q / (1.0 - q) if q < 1 else math.inf
            moved = np.cumsum(self.steps[::-1])[::-1]
            per_unit = max(float(m) / r for m, r in zip(moved, self.residuals, strict=True) if r > 0)
            self.error = max(to_come, per_unit * after)
        return self.error


def by_sweeps(jumps: Jumps, tolerance: float) -> Solved:
    """Successive over-relaxation, forward or backward in the order of the states (forward Gauss-Seidel never converges on some rings that
    backward sweeps solve at once, and the other way round). Direction and relaxation factor are tried out now and again: what brings the
    residual down faster is kept."""
    run = _Relaxation(jumps)
    limit = min(MOST_SWEEPS, int(MOST_WORK / max(len(jumps.values), 1)))
    while run.count < limit and run.residual > 0 and run.idle < PATIENCE:
        if run.block() <= GOAL * tolerance:
            break
    error = run.pace.error if run.residual > 0 else jumps.n * 3e-16
    way = "backward" if run.backward else "forward"
    return Solved(normalised(jumps, run.x), error, f"{run.count} sweeps, {way} at the end with factor {run.factor:.1f}")


class _Relaxation:
    """The state of a run of sweeps: the iterate ``x``, its residual, the way it is swept, and how a block shrinks the residual."""

    def __init__(self, jumps: Jumps) -> None:
        self.jumps, self.count, self.pace, self.idle = jumps, 0, Pace(), 0
        flat = np.full(jumps.n, 1.0 / jumps.n)
        tried = [(*self.swept(flat, 1.0, way), way) for way in (False, True)]
        self.residual, self.x, self.backward = min(tried, key=lambda t: t[0])
        self.factor, self.shrink = 1.0, 1.0
        self.trials = 0
        self.next_trial = PROBATION  # blocks until then
        self.pause = PAUSE
        self.last = (1.0, self.backward, 1.0)  # the way before the present one, and how it shrank the residual

    def swept(self, x: Floats, factor: float, backward: bool) -> tuple[float, Floats]:
        from spn.markov import kernels

        y = x.copy()
        for _ in range(BLOCK):
            kernels.sweep(*self.jumps.rows, y, factor, backward)
        self.count += BLOCK
        total = y.sum()
        if total > 0:
            y /= total
        return unbalance(self.jumps, y), y

    def block(self) -> float:
        """Sweeps, and the error estimated after them."""
        trial = self.next_trial == 0
        way = self.other() if trial else (self.factor, self.backward)
        after, y = self.swept(self.x, *way)
        shrink = after / self.residual
        if trial:
            self.judge(way, shrink)
            if not shrink < 1.0:
                return self.pace.error
        else:
            self.shrink = shrink
            self.next_trial -= 1
            if self.next_trial == 0:
                self.confirm()
            self.idle = self.idle + 1 if shrink > STUCK else 0
        moved, before = float(np.abs(y - self.x).sum()), self.residual
        self.x, self.residual = y, after
        return self.pace.seen(moved, before, after)

    def other(self) -> tuple[float, bool]:
        """Another way to sweep: a larger factor, the other direction, a smaller factor, in turn."""
        kind = self.trials % 3
        if kind == 1:
            return 1.0, not self.backward
        factor = self.factor + (STEP if kind == 0 else -STEP)
        return min(max(factor, LEAST_FACTOR), MOST_FACTOR), self.backward

    def judge(self, way: tuple[float, bool], shrink: float) -> None:
        """A better way is kept on probation, for any change of way shakes some error out at first; a worse one is left."""
        if shrink < self.shrink:
            self.last = (self.factor, self.backward, self.shrink)
            self.factor, self.backward = way
            self.next_trial = PROBATION
        else:
            self.fail()

    def confirm(self) -> None:
        """The end of probation: back to the last way where that was better."""
        factor, backward, shrink = self.last
        if self.shrink > shrink:
            self.factor, self.backward, self.shrink = factor, backward, shrink
            self.fail()
        self.last = (self.factor, self.backward, math.inf)

    def fail(self) -> None:
        self.trials += 1
        self.next_trial = 1 if self.shrink > STUCK else self.pause
        self.pause += 1


def by_power(rates: Rates, exits: Floats, tolerance: float) -> Solved:
    """The power method on I + Q / q, q = 1.05 times the fastest exit rate: three vectors besides the rates, and no transposition."""
    from spn.markov import kernels

    fastest = DAMPING * float(exits.max())
    columns, stay = rates.columns.astype(np.int32, copy=False), 1.0 - exits / fastest
    x, y = np.full(rates.n, 1.0 / rates.n), np.empty(rates.n)
    pace, before, done = Pace(), 1.0, 0
    limit = min(MOST_SWEEPS, int(MOST_WORK / max(len(columns), 1)))
    while done < limit and pace.error > GOAL * tolerance:
        start = x.copy()
        for _ in range(BLOCK):
            after = kernels.power_step(rates.starts, columns, rates.values, stay, fastest, x, y)
            x, y = y, x
        done += BLOCK
        x /= x.sum()
        pace.seen(float(np.abs(x - start).sum()), before, after)
        before = after
    return Solved(x, pace.error, f"{done} steps")
