"""The course over time of a semi-Markov process, by its Markov renewal equations.

M_j(t) is the mean number of entries into state j up to t, K the kernel (the chance that a race is over by t, and leads to k):

    M_k(t) = a_k + sum over j of the integral of M_j(t - u) dK_jk(u) over [0, t]

(E. Cinlar, Introduction to Stochastic Processes, 1975, ch. 10). On a grid of step h, K is taken exactly in every cell and M as the mean of
its ends; atoms of K and the jumps of M that come of them lie on the grid and are exact. What is left is an error in powers of h^2 where all
is smooth between the points of the grid, so that halved steps are extrapolated (Romberg); where the differences of successive steps do not
show it, the last values are taken as they are, and the error stated is twice their last change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.markov.delayed import common
from spn.reach.semimarkov import CODE, SemiMarkov
from spn.reach.space import Floats

FEWEST = 64  # cells of the first grid
MOST_WORK = 4e9  # multiplications of the last
MOST_CELLS = 40_000
LEVELS = 7
GOAL = 1e-9
LARGEST = 300  # states: the equations of a step are dense
SQUARES = (3.6, 4.4)  # successive differences that shrink so show an error in h^2


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """At a time: the probability ``at`` (n) of each state, the mean time ``spent`` (n) there from 0 on; errors estimated for both."""

    at: Floats
    spent: Floats
    at_error: Floats
    spent_error: Floats


def moments(p: SemiMarkov, times: Sequence[Fraction]) -> list[Moment]:
    """The process at ascending times.

    AnalysisError E0683 where constants and times have no common measure that is large enough, or the net has too many markings."""
    if p.space.n > LARGEST:
        raise _unanswered(f"the net has {p.space.n:,} markings, more than {LARGEST}")
    if not times[-1]:
        none = np.zeros(p.space.n)
        return [Moment(at=p.space.initial, spent=none, at_error=none, spent_error=none)]
    cells, end = _grid(p, times), float(times[-1])
    rows = sum(len(r.runners) + 1 for r in p.races)
    tables: list[Floats] = []
    while len(tables) < LEVELS and cells <= MOST_CELLS and (float(cells) ** 2 * rows <= MOST_WORK or len(tables) < 3):
        at = [round(float(t / times[-1] * cells)) for t in times]
        tables.append(_solved(p, end, cells, at))
        found, error = _extrapolated(tables)
        if len(tables) > 2 and float(error.max()) < GOAL:
            break
        cells *= 2
    return [Moment(at=found[0, k], spent=found[1, k], at_error=error[0, k], spent_error=error[1, k]) for k in range(len(times))]


def _unanswered(why: str) -> AnalysisError:
    error = refuse(AnalysisError, CODE, f"values at a time are not answered: {why}", help="ask for the long run, or simulate")
    assert isinstance(error, AnalysisError)
    return error


def _grid(p: SemiMarkov, times: Sequence[Fraction]) -> int:
    """Cells up to the last time such that times and atoms are on the grid, and kinks too if that makes not too many."""
    atoms = {_fraction(t) for r in p.races for x in r.runners for t, c in x.atoms() if c and t <= float(times[-1])}
    if Fraction(0) in atoms:
        raise _unanswered("a clock may take no time")
    needed = [*(t for t in times if t), *atoms]
    kinks = [_fraction(t) for r in p.races for x in r.runners for t in x.kinks() if 0 < t < float(times[-1])]
    step = Fraction(1)
    for points in ([*needed, *kinks], needed):
        step = common(points) or step
        count = times[-1] / step
        if count <= MOST_CELLS / 8:
            return int(count) * max(1, math.ceil(FEWEST / count))
    raise _unanswered(f"constants and times are whole multiples of {float(step):g} only: too many steps")


def _fraction(t: float) -> Fraction:
    near = Fraction(t).limit_denominator(1_000_000)
    return near if math.isclose(float(near), t, rel_tol=1e-12) else Fraction(t)


def _solved(p: SemiMarkov, end: float, cells: int, at: Sequence[int]) -> Floats:
    """Probabilities and times spent (2, times, n) on one grid."""
    n, h = p.space.n, end / cells
    grid = np.linspace(0.0, end, cells + 1)
    parts = {r: r.steps(grid) for r in dict.fromkeys(p.races)}
    owner, smooth, jumps, routes = [], [], [], []
    for j, (race, ways) in enumerate(zip(p.races, p.ways, strict=True)):
        for way in ways:
            owner.append(j)
            smooth.append(parts[race][0][way.runner])
            jumps.append(parts[race][1][way.runner])
            route = np.zeros(n)
            np.add.at(route, way.targets, way.chances)
            if way.runner < 0 and race.rate:
                share = float(way.chances.sum())
                smooth[-1] = smooth[-1] * share
                route = route / share
            routes.append(route)
    entered = _Entered(n, np.array(owner, dtype=np.int64), _rows(smooth, cells), _rows(jumps, cells + 1), _rows(routes, n))
    left, right = entered.course(p.space.initial, cells)
    spent = np.vstack([np.zeros(n), np.cumsum((right[:-1] + left[1:]) * (h / 2), axis=0)])
    return np.array([right[list(at)], spent[list(at)]])


def _rows(found: list[Floats], width: int) -> Floats:
    return np.array(found, dtype=np.float64).reshape(len(found), width)


class _Entered:
    """``owner`` (r): the state of each way out; ``smooth`` (r, cells), ``jumps`` (r, points): its kernel; ``routes`` (r, n): where to."""

    def __init__(self, n: int, owner: np.ndarray[tuple[int], np.dtype[np.int64]], smooth: Floats, jumps: Floats, routes: Floats) -> None:
        self.n, self.owner, self.smooth, self.routes = n, owner, smooth, routes
        self.atom, self.late = np.nonzero(jumps)  # way out, points later
        self.chance, self.start = jumps[self.atom, self.late], owner[self.atom]
        own = np.zeros((len(owner), n))
        own[np.arange(len(owner)), owner] = 1.0
        self.own = own
        first = smooth[:, :1] / 2 if smooth.shape[1] else np.zeros((len(owner), 1))
        self.inverse = np.linalg.inv(np.eye(n) - (own * first).T @ routes)  # rows times it

    def course(self, initial: Floats, cells: int) -> tuple[Floats, Floats]:
        """Probabilities of the states before and after each point of the grid (points, n)."""
        before, after = np.zeros((cells + 1, self.n)), np.zeros((cells + 1, self.n))
        left, right = np.zeros((cells + 1, self.n)), np.zeros((cells + 1, self.n))
        after[0] = right[0] = left[0] = initial
        mean = np.zeros((len(self.owner), cells + 1))  # of the entries in each cell, by way out; reversed in time by the slices below
        backwards = np.ascontiguousarray(self.smooth[:, ::-1])
        for k in range(1, cells + 1):
            done = self.smooth[:, 0] * after[k - 1, self.owner] / 2
            if k > 1:
                done = done + np.einsum("rk,rk->r", backwards[:, cells - k : cells - 1], mean[:, : k - 1])
            late, jumped = self._delayed(before, k), self._delayed(after, k)
            jumped = jumped - late
            before[k] = (initial + (done + late) @ self.routes) @ self.inverse
            after[k] = before[k] + jumped @ self.routes
            mean[:, k - 1] = (after[k - 1, self.owner] + before[k, self.owner]) / 2
            out = done + late + self.smooth[:, 0] * before[k, self.owner] / 2
            left[k] = before[k] - out @ self.own
            right[k] = after[k] - (out + jumped) @ self.own
        return left, right

    def _delayed(self, entered: Floats, k: int) -> Floats:
        """Firings after one of the times of positive probability, by way out (r)."""
        due = self.late <= k
        then = self.chance[due] * entered[k - self.late[due], self.start[due]]
        return np.bincount(self.atom[due], then, len(self.owner)).astype(np.float64)


def _extrapolated(tables: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Romberg's values where errors are in powers of h^2, and estimated errors; elsewhere the last ones."""
    last = tables[-1]
    if len(tables) < 3:
        return last, np.full_like(last, np.inf)
    a, b = tables[-2] - tables[-3], last - tables[-2]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / b
    square = (ratio > SQUARES[0]) & (ratio < SQUARES[1])
    once, earlier = last + b / 3, tables[-2] + a / 3
    better = np.where(square, once + (once - earlier) / 15, last)
    error = np.where(square, np.abs(once - earlier), 2 * np.maximum(np.abs(b), np.abs(a) / 4))
    return better, error + 1e-14
