"""The course over time of a process with one clock at a time whose life has finitely many values.

A clock that starts at time t and lives for x expires at t + x unless it ends before, so the expiries at a time follow from the starts a
while before: with y the distribution over the states, s the flow of starts, c that of expiries, T the rates that leave the clock alone,

    y' = y Q + c (D - I),   c(t) = sum over x of P(x) s(t - x) exp(T x),   s = the part of y B + c D that starts clocks,

Q being all exponential firings, B those of them that start a clock, D where an expiry leads: a linear differential equation with delays. It
is solved from step to step (the method of steps: R. Bellman and K. L. Cooke, Differential-Difference Equations, 1963, ch. 3) by
collocation at Gauss points; all delays are whole numbers of steps, so that solution and starts are smooth within every step. Clocks that
start all at once, as at time 0, expire all at once: such jumps are followed apart, and exactly.

Compare the supplementary variables of R. German and J. Mitzlaff, LNCS 977 (1995) 209.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.expr.nodes import exact
from spn.markov.renewal import Clock
from spn.markov.transient import TooStiff, poisson
from spn.reach.regenerative import NOBODY, Regenerative
from spn.reach.space import Floats, Ints

NODES = 10
PICARD = 40  # iterations of a step at most
LARGEST = 600  # states: the matrices are dense
MOST_WORK = 5e11  # multiplications of all steps
ITERATIONS = 20.0  # of a step, about
STEP = 1.0  # largest rate times the length of a step
SETTLED = 1e-16


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """At a time: the distribution ``at`` (n), the flow of ``expiries`` there (n, per second), whether some ``jump`` there (n: their
    probability); and from 0 on: the time ``spent`` (n) in each state, the number of expiries ``counted`` (n)."""

    at: Floats
    expiries: Floats
    jump: Floats
    spent: Floats
    counted: Floats


def moments(p: Regenerative, clocks: Sequence[Clock], times: Sequence[Fraction]) -> tuple[list[Moment], float]:
    """The process at ascending times, and an estimate of the largest error of a probability: the difference to steps twice as long.

    AnalysisError E0662 where a clock changes its speed, may be frozen or parked, or has a law of other than finitely many values; TooStiff
    where the steps are too many."""
    lives = [_lives(p, k, clock) for k, clock in enumerate(clocks)]
    if p.n > LARGEST:
        raise unanswered(f"the net has {p.n:,} markings, more than {LARGEST}")
    fine, coarse = _Steps(p, lives, times, 1), _Steps(p, lives, times, 2)
    found, other = fine.run(times), coarse.run(times)
    return found, max(float(np.abs(a.at - b.at).max()) + abs(1 - float(a.at.sum())) for a, b in zip(found, other, strict=True))


def _lives(p: Regenerative, k: int, clock: Clock) -> list[tuple[Fraction, float]]:
    """How long a clock lives unless it ends before, with probabilities."""
    speeds = np.unique(p.speed[p.owner == k])
    if not len(speeds):
        return []
    if len(speeds) > 1 or speeds[0] <= 0:
        raise unanswered("a clock changes its speed, or is stopped and keeps its age")
    atoms = clock.law.atoms()
    if atoms is None:
        raise unanswered(f"{clock.law.describe()} has more than finitely many values")
    factor = Fraction(exact(clock.scale)) / Fraction(exact(float(speeds[0])))
    found = [(Fraction(exact(v)) * factor, prob) for v, prob in atoms if prob > 0]
    if any(x <= 0 for x, _ in found):
        raise unanswered("a clock may expire at once")
    return found


def unanswered(why: str) -> SpnError:
    return refuse(
        AnalysisError,
        "E0662",
        f"values at a time are not answered: {why}",
        help="ask for the long run or for the mean of a first passage, or simulate",
    )


class _Steps:
    """Steps of one length. Rows of blocks are the Gauss points of a step."""

    def __init__(self, p: Regenerative, lives: Sequence[Sequence[tuple[Fraction, float]]], times: Sequence[Fraction], length: int) -> None:
        self.p, self.lives, n = p, lives, p.n
        self.q = float((p.kept.sums() + p.events.sums()).max(initial=0.0))
        unit = common([x for found in lives for x, _ in found]) or max(times[-1], Fraction(1))
        parts = math.ceil(float(unit) * self.q / STEP)
        self.parts = max(1, math.ceil(parts / length))
        self.unit, self.h = unit, unit / self.parts
        steps = float(times[-1] / self.h)
        if steps * ITERATIONS * NODES * n * n > MOST_WORK:
            raise TooStiff(steps)
        x, self.matrix, self.weights = _gauss()
        self.points = x
        kept, events = _dense(p.kept.rows, p.kept.columns, p.kept.values, n), _dense(p.events.rows, p.events.columns, p.events.values, n)
        alive = p.owner != NOBODY
        self.generator = kept + events - np.diag(p.kept.sums() + p.events.sums())
        self.expired = _dense(p.completion.rows, p.completion.columns, p.completion.values, n)
        self.events_into, self.expired_into = events * alive, self.expired * alive
        killed = kept - np.diag(p.kept.sums() + p.events.sums())
        self.survive = self._survivors(killed, alive)

    def _survivors(self, killed: Floats, alive: np.ndarray) -> list[tuple[int, Floats]]:
        """For each value of a life: its number of steps, and P(x) exp(T x) on the states with that clock."""
        found = []
        for k, lives in enumerate(self.lives):
            own = self.p.owner == k
            for life, prob in lives:
                matrix = np.zeros_like(killed)
                at = np.ix_(own, own)
                matrix[at] = prob * _exponential(killed[at], float(life))
                found.append((int(life / self.h), matrix))
        return found

    def run(self, times: Sequence[Fraction]) -> list[Moment]:
        """March to all the times; each is met within its step, or at its beginning, where all jumps have been made."""
        p, n = self.p, self.p.n
        alive = p.owner != NOBODY
        y, spent, counted = p.initial.copy(), np.zeros(n), np.zeros(n)
        starts: dict[int, Floats] = {}
        oldest = max((steps for steps, _ in self.survive), default=0)
        jumps: dict[int, Floats] = {0: np.zeros(n)}
        self._schedule(jumps, 0, np.where(alive, y, 0.0))
        found: list[Moment] = []
        for step in range(int(times[-1] / self.h) + 1):
            jump = jumps.pop(step, np.zeros(n))
            if jump.any():
                y = y + jump @ self.expired - jump
                counted = counted + jump
                self._schedule(jumps, step, jump @ self.expired_into)
            expiries = self._expiries(starts, step)
            slope = self._slope(y, expiries)
            while len(found) < len(times) and times[len(found)] < (step + 1) * self.h:
                theta = float(times[len(found)] / self.h - step)
                found.append(self._moment(theta, y, spent, counted, slope, expiries, jump if theta == 0 else np.zeros(n)))
            h = float(self.h)
            nodes = y + h * self.matrix @ slope
            starts[step] = nodes @ self.events_into + expiries @ self.expired_into
            starts.pop(step - oldest, None)
            counted = counted + h * self.weights @ expiries
            spent = spent + h * self.weights @ nodes
            y = y + h * self.weights @ slope
        return found

    def _schedule(self, jumps: dict[int, Floats], step: int, started: Floats) -> None:
        """Expiries of clocks that start all at once."""
        if started.any():
            for steps, survive in self.survive:
                due = jumps.setdefault(step + steps, np.zeros(self.p.n))
                due += started @ survive

    def _expiries(self, starts: Mapping[int, Floats], step: int) -> Floats:
        found = np.zeros((NODES, self.p.n))
        for steps, survive in self.survive:
            if step >= steps:
                found += starts[step - steps] @ survive
        return found

    def _slope(self, y: Floats, expiries: Floats) -> Floats:
        """y' at the Gauss points, by iteration; the steps are short enough for that."""
        given = expiries @ self.expired - expiries
        slope = y @ self.generator + given
        for _ in range(PICARD):
            better = (y + float(self.h) * self.matrix @ slope) @ self.generator + given
            change = float(np.abs(better - slope).max()) * float(self.h)
            slope = better
            if change <= SETTLED:
                break
        return slope

    def _moment(self, theta: float, y: Floats, spent: Floats, counted: Floats, slope: Floats, expiries: Floats, jump: Floats) -> Moment:
        """Within a step, by the polynomials through the Gauss points."""
        h = float(self.h)
        once, twice, value = _inside(self.points, theta)
        return Moment(
            at=y + h * once @ slope,
            expiries=value @ expiries,
            jump=jump,
            spent=spent + theta * h * y + h * h * twice @ slope,
            counted=counted + h * once @ expiries,
        )


def common(values: Sequence[Fraction]) -> Fraction | None:
    """The greatest number of which all values are multiples."""
    found: Fraction | None = None
    for v in values:
        if found is None:
            found = v
        else:
            both = math.gcd(found.numerator * v.denominator, v.numerator * found.denominator)
            found = Fraction(both, found.denominator * v.denominator)
    return found


def _dense(rows: Ints, columns: Ints, values: Floats, n: int) -> Floats:
    matrix = np.zeros((n, n))
    np.add.at(matrix, (rows, columns), values)
    return matrix


def _exponential(killed: Floats, time: float) -> Floats:
    """exp(T time) of a killed generator, by uniformisation of a short step and squaring: no subtraction."""
    q = float(-killed.diagonal().min(initial=0.0))
    n = len(killed)
    if q == 0:
        return np.eye(n)
    doublings = max(0, math.ceil(math.log2(q * time)))
    first, weights = poisson(q * math.ldexp(time, -doublings))
    move = np.maximum(np.eye(n) + killed / q, 0.0)
    power, found = np.linalg.matrix_power(move, first), np.zeros((n, n))
    for w in weights.tolist():
        found += w * power
        power = power @ move
    for _ in range(doublings):
        found = found @ found
    return found


def _gauss() -> tuple[Floats, Floats, Floats]:
    """Gauss points on (0, 1), the integrals of their Lagrange polynomials up to each point, and up to 1."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    points = (x + 1) / 2
    return points, np.array([_inside(points, t)[0] for t in points.tolist()]), w / 2


def _inside(points: Floats, theta: float) -> tuple[Floats, Floats, Floats]:
    """Of the Lagrange polynomials through the points: the integral up to ``theta``, the integral of that, and the value there."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    inner = theta * (x + 1) / 2
    values = _lagrange(points, inner)  # (theta's points, polynomials)
    once = theta / 2 * w @ values
    twice = theta / 2 * (w * (theta - inner)) @ values
    return once, twice, _lagrange(points, np.array([theta]))[0]


def _lagrange(points: Floats, at: Floats) -> Floats:
    found = np.ones((len(at), len(points)))
    for j, x in enumerate(points.tolist()):
        for k, other in enumerate(points.tolist()):
            if k != j:
                found[:, j] *= (at - other) / (x - other)
    return found
