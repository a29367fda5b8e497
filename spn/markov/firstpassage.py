"""The mean time to the first visit of some states, of a Markov regenerative process that stops there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from spn.markov.regenerative import Regeneration, regeneration
from spn.markov.renewal import Clock, Renewal, joined
from spn.markov.stationary import TOLERANCE
from spn.reach.regenerative import Moves, Regenerative
from spn.reach.space import Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPassage:
    """``chance`` that the states are ever visited, the ``mean`` time until then (infinite where the chance is below 1); ``solved`` is the
    last system solved."""

    chance: float
    mean: float
    solved: Regeneration


def mean_passage(process: Regenerative, clocks: list[Clock], target: Bools, tolerance: float = TOLERANCE) -> MeanPassage:
    """From the initial distribution to ``target`` (n), states without a firing.

    As a stationary problem: a target starts the process anew at some rate r. If it is there for a fraction p of the time, the mean is
    (1 - p) / (p r). The rate is first any, then the inverse of the mean found, so that p is about one half."""
    at_once = float(process.initial[target].sum())
    ends = regeneration(Renewal(process, clocks), tolerance)
    chance = min(1.0, math.fsum(c.probability for c in ends.classes if target[c.states].any()))
    if len(ends.classes) > 1 and any(not target[c.states].any() for c in ends.classes):
        return MeanPassage(chance=chance, mean=math.inf, solved=ends)
    if not target[ends.classes[0].states].any():
        return MeanPassage(chance=0.0, mean=math.inf, solved=ends)
    if at_once >= 1:
        return MeanPassage(chance=1.0, mean=0.0, solved=ends)
    pace, solved, waiting = 1.0, ends, math.inf
    for _ in range(2):
        solved = regeneration(Renewal(_restarted(process, target, pace), clocks), tolerance)
        share = math.fsum(solved.pi[target].tolist())
        waiting = math.fsum(solved.pi[~target].tolist()) / (share * pace)
        pace = 1.0 / waiting
    return MeanPassage(chance=1.0, mean=(1.0 - at_once) * waiting, solved=solved)


def _restarted(process: Regenerative, target: Bools, pace: float) -> Regenerative:
    initial = np.where(target, 0.0, process.initial)
    initial /= initial.sum()
    starts, ends = np.flatnonzero(initial), np.flatnonzero(target)
    rows, columns = np.repeat(ends, len(starts)), np.tile(starts, len(ends))
    anew = Moves(rows=rows, columns=columns, values=pace * initial[columns], n=process.n)
    return replace(process, events=joined(process.events, anew))
