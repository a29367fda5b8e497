"""Which of several models is best, with a guarantee: the fully sequential procedure of Kim and Nelson (A fully sequential procedure for
indifference-zone selection in simulation, ACM TOMACS 11(3), 2001, doi:10.1145/502109.502111).

Every model makes a few replications, from which the variances of all differences are estimated; then one more at a time, and what has
fallen so far behind another that it is not the best leaves. Where the best is better than all others by the *indifference* at least, it is
selected with the probability asked for, whatever the number of models; the bound is Bonferroni's over the pairs, so that common random
numbers, which make the variances of differences small, are allowed for, and are used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.model import Model
from spn.result import plain
from spn.sim.control import Control, Stopped
from spn.sim.engine import Floats
from spn.sim.paired import paired_runs
from spn.sim.streams import fresh_seed
from spn.sim.synchronised import Span, asked, check_span

FIRST = 16  # replications of the first stage
Goal = Literal["max", "min"]
Observe = Callable[[int, int], float]  # of an alternative in a replication: independent from replication to replication


@dataclass(slots=True)
class Race:
    """What is known while alternatives leave one by one: who is still in, the sums of the observations and their number, by alternative,
    and after how many replications each of the others left."""

    alive: list[int]
    sums: Floats
    counts: list[int]
    out: dict[int, int] = field(default_factory=dict)
    rounds: int = 0

    @property
    def decided(self) -> bool:
        return len(self.alive) == 1


def reach(variances: Floats, first: int, indifference: float, confidence: float) -> Floats:
    """After how many replications each pair of alternatives is decided at the latest: h^2 S_il^2 / delta^2, h^2 = 2 eta (n0 - 1),
    eta = ((2 alpha / (k - 1))^(-2 / (n0 - 1)) - 1) / 2 (Kim and Nelson's constants for c = 1). ``variances`` (k, k): those of the
    differences over the ``first`` replications, n0."""
    k = len(variances)
    eta = ((2 * (1 - confidence) / (k - 1)) ** (-2 / (first - 1)) - 1) / 2
    return np.asarray(2 * eta * (first - 1) * variances / indifference**2)


def kim_nelson(observe: Observe, k: int, *, first: int, indifference: float, confidence: float) -> Race:
    """Select the largest mean of ``k`` alternatives. What ``observe`` refuses to go on with (:class:`spn.sim.control.Stopped`) leaves the
    race undecided, with what is known by then. Alternatives that are equal in every replication count as decided in the order given."""
    race = Race(alive=list(range(k)), sums=np.zeros(k), counts=[0] * k)
    values = np.zeros((first, k))
    try:
        for r in range(first):
            for i in range(k):
                values[r, i] = _seen(race, observe, i, r)
        race.rounds = first
        ends = reach(_variances(values), first, indifference, confidence)
        _screen(race, ends, indifference)
        while not race.decided:
            for i in race.alive:
                _seen(race, observe, i, race.rounds)
            race.rounds += 1
            _screen(race, ends, indifference)
    except Stopped:
        pass
    return race


def _seen(race: Race, observe: Observe, i: int, r: int) -> float:
    found = observe(i, r)
    race.sums[i] += found
    race.counts[i] += 1
    return found


def _variances(values: Floats) -> Floats:
    """Of the differences of all pairs of columns."""
    apart = values[:, :, None] - values[:, None, :]
    return np.asarray(apart.var(axis=0, ddof=1))


def _screen(race: Race, ends: Floats, indifference: float) -> None:
    """Who stays: whose mean is above that of every other less the room that is left between them."""
    r, alive = race.rounds, np.array(race.alive)
    means = race.sums[alive] / r
    room = np.maximum(0.0, indifference / (2 * r) * (ends[np.ix_(alive, alive)] - r))
    np.fill_diagonal(room, math.inf)
    stays = (means[:, None] >= means[None, :] - room).all(axis=1)
    if stays.sum() > 1 and not room[np.ix_(stays, stays)][~np.eye(int(stays.sum()), dtype=bool)].any():
        stays[np.flatnonzero(stays)[1:]] = False  # no room is left, so they are equal
    race.out.update({int(i): r for i, stay in zip(alive, stays, strict=True) if not stay})
    race.alive = [int(i) for i, stay in zip(alive, stays, strict=True) if stay]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One alternative: the mean of its measure over its ``replications``, in base units, and after how many it left (None: it did not).
    The means of those that left early are from fewer runs, and are no fair estimates: who is behind by chance leaves the sooner."""

    name: str
    value: float
    replications: int
    left: int | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Selection:
    """The answer of :func:`select_best`: the name of the ``best``, None where the limits came first; the candidates in the order given.

    The guarantee: where the measure of the best is better than those of all others by ``indifference`` (in ``unit``) or more, ``best`` is
    it with probability ``confidence`` or more, for replications whose averages are normal."""

    measure: str
    goal: Goal
    best: str | None
    candidates: tuple[Candidate, ...]
    indifference: float
    confidence: float
    first: int
    horizon: float
    warmup: float
    seed: int
    unit: str = ""
    unit_factor: float = 1.0
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def replications(self) -> int:
        """Of all candidates together."""
        return sum(c.replications for c in self.candidates)

    @property
    def remaining(self) -> tuple[str, ...]:
        """Who was still in at the end: the best alone where it is decided."""
        return tuple(c.name for c in self.candidates if c.left is None)

    def __repr__(self) -> str:
        from spn.show.selection import selection_text

        return selection_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, values in base units."""
        return plain(self)


def select_best(
    models: Sequence[Model],
    measure: str,
    *,
    horizon: float,
    indifference: float,
    goal: Goal = "max",
    warmup: float = 0.0,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    first: int = FIRST,
    confidence: float = 0.95,
    max_seconds: float = 60.0,
) -> Selection:
    """Which model has the largest (``goal`` "min": smallest) mean of a measure averaged over ``warmup`` to ``horizon`` (seconds), selected
    rightly with probability ``confidence`` or more where the best is better by ``indifference`` at least.

    ``indifference`` is in the unit in which the measure is shown; models that are closer than that count as equally good, and either may be
    named. ``first``: replications of all models before any may leave. All use common random numbers. At ``max_seconds``, or interrupted, it
    ends undecided, with those that remain. A measure that is no mean (a ratio) is that of one replication, with its bias for a short
    horizon. AnalysisError for fewer than two models, options out of range, a measure that one does not have, that is no long-run
    average or that is undefined in a replication.
    """
    started = time.monotonic()
    seed = fresh_seed() if seed is None else seed
    _check(models, indifference, goal, names)
    check_span(horizon, warmup, first, confidence, seed, max_seconds)
    if first < 3:
        raise refuse(AnalysisError, "E0705", f"first is {first}; variances are estimated from at least 3 replications")
    control = Control(workers=1, max_seconds=max_seconds, max_firings=math.inf)
    span = Span(horizon=horizon, warmup=warmup, seed=seed)
    runs = [paired_runs(m, measure, span, control) for m in models]
    sign = 1.0 if goal == "max" else -1.0
    shown = asked(models[0], measure)
    factor = float(shown.unit_factor)
    labels = list(names) if names is not None else [m.name for m in models]

    def observe(i: int, r: int) -> float:
        try:
            found = runs[i].function(runs[i].row(r)[: len(runs[i].wanted)])
        except KeyboardInterrupt:
            control.interrupt()
            raise Stopped from None
        if not math.isfinite(found):  # no comparison with it says anything
            message = f"measure {measure} of {labels[i]} is undefined in a replication: a division by 0 or the like"
            raise refuse(AnalysisError, "E0705", message, help="give it a longer horizon, in which what it divides by happens")
        return sign * found

    race = kim_nelson(observe, len(models), first=first, indifference=indifference * factor, confidence=confidence)
    return Selection(
        measure=measure,
        goal=goal,
        best=labels[race.alive[0]] if race.decided else None,
        candidates=tuple(_candidate(race, i, label, sign) for i, label in enumerate(labels)),
        indifference=indifference,
        confidence=confidence,
        first=first,
        horizon=horizon,
        warmup=warmup,
        seed=seed,
        unit=shown.unit,
        unit_factor=factor,
        notes=()
        if race.decided
        else (f"{control.exhausted() or 'stopped'} before it was decided; allow more seconds or a larger indifference",),
        interrupted=control.interrupted,
        seconds=time.monotonic() - started,
    )


def _candidate(race: Race, i: int, name: str, sign: float) -> Candidate:
    n = race.counts[i]
    return Candidate(name=name, value=sign * float(race.sums[i]) / n if n else math.nan, replications=n, left=race.out.get(i))


def _check(models: Sequence[Model], indifference: float, goal: str, names: Sequence[str] | None) -> None:
    wrong = [
        (len(models) < 2, f"there is {len(models)} model; a choice takes two"),
        (not 0 < indifference < math.inf, f"indifference is {indifference}; it is a difference above 0 that would not matter"),
        (goal not in get_args(Goal), f"goal is {goal!r}; it is one of {', '.join(get_args(Goal))}"),
        (names is not None and len(names) != len(models), "there is not one name for each model"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)
