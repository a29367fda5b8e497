"""Where the curves of two models over a numeric parameter cross: at which value their measures are equal.

*Exactly*, where the exact method answers both: a scan of the range, then Brent's root finder (Brent, Algorithms for Minimization without
Derivatives, 1973, chapter 4) in every part in which the difference changes its sign.

*By simulation*, with common random numbers across models and across values of the parameter, in two steps that share out the chance of
being wrong. The scan tests the sign of the difference at every point of a grid, all tests together at a fifth of it (Bonferroni): between
neighbours of opposite sign there is a crossing, by continuity. In each such part the interval is the set of all values at which the
difference is not told from 0 by the paired Student test, which holds the crossing with the confidence of that test (test inversion;
Fieller's theorem is the case of a straight line: Fieller, Journal of the Royal Statistical Society B 16, 1954,
doi:10.1111/j.2517-6161.1954.tb00159.x). Of a whole-numbered parameter the scan alone says between which values it crosses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from spn.errors import AnalysisError, nearest, refuse
from spn.expr.dims import NUMBER
from spn.expr.nodes import Exact
from spn.model import Model, Parameter, checked
from spn.result import plain
from spn.show.text import common_unit
from spn.sim.control import Control, Stopped, all_cores
from spn.sim.estimate import averages, student
from spn.sim.paired import REPLICATIONS, apart, paired_runs
from spn.sim.streams import fresh_seed
from spn.sim.synchronised import Runs, Span, all_done, asked, check_span
from spn.solvers.averages import Averaged, exact_value, why_not
from spn.solvers.sweep import at

EXACT_GRID, GRID = 17, 9  # points of the scan
ALL = 24  # whole numbers that are all looked at
SCAN = 0.2  # of the chance of being wrong
EQUAL = 1e-9  # relative difference below which exact values are equal
WIDE = 100.0  # times: a range from which on the scan goes in equal ratios
CLOSE, NEAR = 0.3, 0.1  # of the critical value: how near in its test statistic a root and an end of its interval are searched
STEPS = 60  # of one search; each second one halves
METHODS = ("auto", "exact", "simulate")
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Both models' measures at one value of the parameter, in base units, and the standard error of the second minus the first, on
    ``freedom`` degrees (0: it is exact)."""

    at: float
    first: float
    second: float
    error: float = 0.0
    freedom: float = math.inf

    @property
    def value(self) -> float:
        return self.second - self.first

    def statistic(self) -> float:
        """The difference in standard errors."""
        slack = EQUAL * max(abs(self.first), abs(self.second))
        if abs(self.value) <= slack and self.error <= slack:
            return 0.0
        return self.value / self.error if self.error > 0 else math.copysign(math.inf, self.value)

    def sign(self, chance: float) -> int:
        """The sign of the difference, wrong with at most that chance; 0 where it is not told."""
        t = self.statistic()
        return 0 if not abs(t) > critical(chance, self.freedom) else (1 if t > 0 else -1)


def critical(chance: float, freedom: float) -> float:
    return student(1 - chance, freedom) if math.isfinite(freedom) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of the scan: both values and the second minus the first ± a half-width (0: exact) with which all points hold together;
    ``larger``: the name of the model whose measure is larger there for certain, None where that is not told."""

    at: float
    first: float
    second: float
    half_width: float
    larger: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A crossing between ``low`` and ``high`` (base units; equal where it is known exactly), estimated ``at`` (None: only that it is
    between). ``below`` names the model whose measure is larger before it, ``above`` that after it."""

    low: float
    high: float
    at: float | None
    below: str
    above: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Crossings:
    """The answer of :func:`crossing`: all ``crossings`` found in ``low`` to ``high`` (base units, shown over ``over_factor`` in
    ``over_unit``), and the ``points`` of the scan. ``confidence`` is that of all that is said together, None where it is exact."""

    over: str
    over_unit: str
    over_factor: float
    low: float
    high: float
    whole: bool
    measure: str
    first: str
    second: str
    unit: str
    unit_factor: float
    method: str
    reason: str
    crossings: tuple[Crossing, ...]
    points: tuple[Point, ...]
    confidence: float | None
    replications: int | None
    horizon: float | None
    warmup: float
    seed: int | None
    complete: bool = True
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __repr__(self) -> str:
        from spn.show.crossing import crossing_text

        return crossing_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, in base units."""
        return plain(self)


def crossing(
    first: Model,
    second: Model,
    over: str,
    low: Exact,
    high: Exact,
    measure: str,
    *,
    method: str = "auto",
    horizon: float | None = None,
    warmup: float = 0.0,
    names: tuple[str, str] | None = None,
    seed: int | None = None,
    replications: int = REPLICATIONS,
    confidence: float = 0.95,
    max_seconds: float = 60.0,
    progress: Progress | None = None,
) -> Crossings:
    """Where a measure of two models is equal, over the values of the parameter ``over`` from ``low`` to ``high`` (base units).

    ``method``: "exact" takes the exact method of each, "simulate" estimates by ``replications`` of both models at each value, "auto" is
    exact where it can be.
    With ``horizon`` the measure is averaged over ``warmup`` to ``horizon`` (seconds), by either method; a simulation needs one. Without it
    is the long-run value.

    An exact crossing is right to 1e-9 of its value where the curves are not almost parallel. By simulation all that is said holds together
    with ``confidence``, for differences that are continuous in the parameter and replications whose averages are normal: at the points of
    the scan, which model is larger; in each interval, a crossing, which is the only one where the curves cross once between the points of
    the scan beside it. What happens twice between two points of the scan is not seen. Of a parameter that is a count, a crossing lies
    between two whole numbers, or at one at which both are equal.

    At ``max_seconds``, or interrupted, it ends with what is known (``complete`` False). AnalysisError where neither method applies or an
    option is out of range, ModelError for a parameter or a measure that one of the models does not have.
    """
    started = time.monotonic()
    labels = names or _labels(first, second)
    whole = _checked(first, second, over, low, high, measure, method)
    control = Control(workers=all_cores(), max_seconds=max_seconds, max_firings=math.inf)
    seed = fresh_seed() if seed is None else seed
    check_span(1.0 if horizon is None else horizon, 0.0 if horizon is None else warmup, replications, confidence, seed, max_seconds)
    pair = _Pair(first=first, second=second, over=over, measure=measure, whole=whole)
    curves, reason = _curves(pair, (float(low), float(high)), method, Averaged(horizon=horizon, warmup=warmup), replications, seed, control)
    search = _Search(curves=curves, chance=1 - confidence, labels=labels, control=control, progress=progress)
    try:
        search.run(float(low), float(high), whole=whole)
    except Stopped:
        pass
    except KeyboardInterrupt:
        control.interrupt()
    exact = curves.exact
    shown = asked(first, measure)
    unit, factor = _unit(first, over, (float(low), float(high)))
    return Crossings(
        over=over,
        over_unit=unit,
        over_factor=factor,
        low=float(low),
        high=float(high),
        whole=whole,
        measure=measure,
        first=labels[0],
        second=labels[1],
        unit=shown.unit,
        unit_factor=float(shown.unit_factor),
        method="exact" if exact else "simulate",
        reason=reason,
        crossings=tuple(search.crossings),
        points=tuple(search.points()),
        confidence=None if exact else confidence,
        replications=None if exact else replications,
        horizon=horizon,
        warmup=warmup if horizon is not None else 0.0,
        seed=None if exact else seed,
        complete=search.complete,
        interrupted=control.interrupted,
        notes=search.notes(factor, unit),
        seconds=time.monotonic() - started,
    )


def _labels(first: Model, second: Model) -> tuple[str, str]:
    return (first.name, second.name) if first.name != second.name else (f"{first.name}#1", f"{second.name}#2")


# --- what is asked ----------------------------------------------------------------------------------------------------------------


def _checked(first: Model, second: Model, over: str, low: Exact, high: Exact, measure: str, method: str) -> bool:
    """Whether the parameter is a count, once it is certain that the question can be asked."""
    if method not in METHODS:
        raise refuse(AnalysisError, "E0616", f"unknown method: {method}", help=f"known are {', '.join(METHODS)}")
    kinds = {_parameter(checked(m), over).kind for m in (first, second)}
    for m in (first, second):
        asked(m, measure)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        message = f"the range of {over} goes from {float(low):g} to {float(high):g}; its first value is the smaller one"
        raise refuse(AnalysisError, "E0705", message)
    whole = kinds == {"count"}
    if whole and (low != int(low) or high != int(high)):
        raise refuse(AnalysisError, "E0705", f"{over} is a count: its range is one of whole numbers")
    return whole


def _parameter(model: Model, name: str) -> Parameter:
    found = next((p for p in model.parameters if p.name == name), None)
    if found is None:
        known = [p.name for p in model.parameters]
        near = nearest(name, known)
        help = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
        raise refuse(AnalysisError, "E0201", f"{model.name} has no parameter {name}", help=help)
    return found


def _unit(model: Model, over: str, ends: tuple[float, float]) -> tuple[str, float]:
    return common_unit(ends, NUMBER if model.unitless else _parameter(model, over).dimension)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two models over one parameter."""

    first: Model
    second: Model
    over: str
    measure: str
    whole: bool

    def models(self, x: float) -> tuple[Model, Model]:
        value: Exact = int(x) if self.whole else x
        return at(self.first, {self.over: value}), at(self.second, {self.over: value})


# --- the curves -------------------------------------------------------------------------------------------------------------------


class _Curves(Protocol):
    exact: bool

    def gap(self, x: float) -> Gap: ...


def _curves(
    pair: _Pair, ends: tuple[float, float], method: str, over: Averaged, replications: int, seed: int, control: Control
) -> tuple[_Curves, str]:
    """The method's curves, and why it is that method."""
    reason = "asked for"
    if method != "simulate":
        exact = _ExactCurves(pair, over)
        try:
            for x in ends:
                exact.gap(x)
            return exact, reason if method == "exact" else "exact methods answer both"
        except AnalysisError as error:
            if method == "exact" or error.diagnostics[0].code == "E0631":
                raise
            reason = why_not(error)
    if over.horizon is None:
        message = f"a crossing of simulated curves is one of averages over a time ({reason})"
        raise refuse(AnalysisError, "E0705", message, help="say how long with --horizon, in Python horizon=, for instance 600 (seconds)")
    span = Span(horizon=over.horizon, warmup=over.warmup, seed=seed)
    return _SimulatedCurves(pair, span, replications, control), reason if method == "simulate" else f"{reason}: simulated"


class _ExactCurves:
    """Both measures by the exact method."""

    exact = True

    def __init__(self, pair: _Pair, over: Averaged) -> None:
        self.pair, self.over = pair, over
        self._known: dict[float, Gap] = {}

    def gap(self, x: float) -> Gap:
        if x not in self._known:
            first, second = (exact_value(m, asked(m, self.pair.measure), self.over) for m in self.pair.models(x))
            self._known[x] = Gap(at=x, first=first, second=second)
        return self._known[x]


class _SimulatedCurves:
    """Both measures by replications that share their random numbers, with each other and from value to value."""

    exact = False

    def __init__(self, pair: _Pair, span: Span, replications: int, control: Control) -> None:
        self.pair, self.span, self.replications, self.control = pair, span, replications, control
        self._known: dict[float, Gap] = {}

    def gap(self, x: float) -> Gap:
        if x not in self._known:
            self._known[x] = self._simulated(x)
        return self._known[x]

    def _simulated(self, x: float) -> Gap:
        runs = [paired_runs(m, self.pair.measure, self.span, self.control) for m in self.pair.models(x)]
        if all_done(runs, self.replications) < self.replications:
            raise Stopped
        a, b = ((r.rows(self.replications), r.function) for r in runs)
        (part,) = apart(a, b, 0.95).parts
        first, second = (_value(r, self.replications) for r in runs)
        return Gap(at=x, first=first, second=second, error=math.sqrt(part.variance), freedom=part.freedom)


def _value(runs: Runs, count: int) -> float:
    return runs.function(averages(runs.rows(count)))


# --- the search -------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Search:
    """Looks at curves, and keeps what it sees: the gaps with the chances at which their signs were tested."""

    curves: _Curves
    chance: float
    labels: tuple[str, str]
    control: Control
    progress: Progress | None
    seen: dict[float, tuple[Gap, float]] = field(default_factory=dict)
    crossings: list[Crossing] = field(default_factory=list)
    complete: bool = False

    def run(self, low: float, high: float, *, whole: bool) -> None:
        if whole:
            self._whole(int(low), int(high))
        else:
            self._anywhere(low, high)
        self.complete = True

    def _look(self, x: float, chance: float) -> int:
        """The sign at a value, kept as a point of the scan."""
        self.seen[x] = self._gap(x), chance
        return self.seen[x][0].sign(chance)

    def _gap(self, x: float) -> Gap:
        self.control.check()
        if self.progress is not None:
            self.progress(f"at {x:g}", min(0.99, self.control.seconds() / self.control.max_seconds))
        return self.curves.gap(x)

    def _whole(self, low: int, high: int) -> None:
        """Scan whole numbers: all of them, or ever finer where the sign changes, each round with half of what chance is left."""
        chance = self.chance
        todo = _numbers(low, high)
        once = len(todo) == high - low + 1
        while todo:
            share = chance if once else chance / 2
            chance -= share
            signs = {x: self._look(x, share / len(todo)) for x in todo}
            todo = [] if once else self._finer(signs)
        self.crossings = [self._between(*ends) for ends in self._brackets()]

    def _finer(self, signs: dict[int, int]) -> list[int]:
        """The whole numbers to look at next: within those parts that change sign."""
        found = {x for a, b in self._brackets() for x in _numbers(int(a), int(b))}
        return sorted(x for x in found if x not in self.seen)

    def _anywhere(self, low: float, high: float) -> None:
        grid = _grid(low, high, EXACT_GRID if self.curves.exact else GRID)
        for x in grid:
            self._look(x, SCAN * self.chance / len(grid))
        brackets = self._brackets()
        self.crossings = [self._between(*ends) for ends in brackets]  # what is known if time runs out
        for k, (a, b) in enumerate(brackets):
            self.crossings[k] = self._root(a, b) if self.curves.exact else self._interval(a, b, (1 - SCAN) * self.chance / len(brackets))

    def _brackets(self) -> list[tuple[float, float]]:
        """Neighbours of opposite sign, among the points whose sign is told."""
        told = [(x, s) for x in sorted(self.seen) if (s := self._sign(x))]
        return [(a, b) for (a, s), (b, t) in pairwise(told) if s != t]

    def _sign(self, x: float) -> int:
        gap, chance = self.seen[x]
        return gap.sign(chance)

    def _larger(self, x: float) -> str:
        return self.labels[1] if self._sign(x) > 0 else self.labels[0]

    def _between(self, a: float, b: float) -> Crossing:
        """A crossing between two points; where values between them are exactly equal it is there."""
        ties = [x for x in sorted(self.seen) if a < x < b] if self.curves.exact else []
        low, high = (ties[0], ties[-1]) if ties else (a, b)
        return Crossing(low=low, high=high, at=low if low == high else None, below=self._larger(a), above=self._larger(b))

    def _root(self, a: float, b: float) -> Crossing:
        """The exact crossing between two points."""
        from scipy.optimize import brentq

        between = self._between(a, b)
        if (between.low, between.high) != (a, b):
            return between
        root = float(brentq(lambda x: self._gap(x).value, a, b, xtol=1e-13 * max(abs(a), abs(b)), rtol=1e-14))
        return Crossing(low=root, high=root, at=root, below=between.below, above=between.above)

    def _interval(self, a: float, b: float, chance: float) -> Crossing:
        """The values between two points at which the difference is not told from 0."""
        between = self._between(a, b)
        inside = _Inversion(gap=self._gap, sign=self._sign(b), critical=critical(chance, self._gap(a).freedom))
        for x in [x for x in self.seen if a <= x <= b]:
            inside.look(x)
        low, at, high = inside.found()
        return Crossing(low=low, high=high, at=at, below=between.below, above=between.above)

    def points(self) -> list[Point]:
        found = []
        for x in sorted(self.seen):
            gap, chance = self.seen[x]
            half = critical(chance, gap.freedom) * gap.error if gap.error else 0.0
            larger = self._larger(x) if self._sign(x) else None
            found.append(Point(at=x, first=gap.first, second=gap.second, half_width=half, larger=larger))
        return found

    def notes(self, factor: float, unit: str) -> tuple[str, ...]:
        """Where the signs leave doubts, and whether time ran out."""
        inside = [(c.low, c.high) for c in self.crossings] + self._brackets()
        open_ = [x for x in sorted(self.seen) if not self._sign(x) and not any(a <= x <= b for a, b in inside)]
        equal = [x for x in open_ if self.curves.exact or self.seen[x][0].error == 0]
        doubtful = [x for x in open_ if x not in equal]
        found = []
        if equal:
            found.append(f"both are equal{'' if self.curves.exact else ' in every replication'} at {_listed(equal, factor, unit)}")
        if doubtful:
            where = _listed(doubtful, factor, unit)
            found.append(
                f"which is larger is not told at {where}: they may touch or cross there; more replications or a longer horizon tell"
            )
        stiff = [x for x in sorted(self.seen) if not self.curves.exact and self.seen[x][0].error == 0 and x not in equal]
        if stiff:
            found.append(
                f"all replications gave one and the same difference at {_listed(stiff, factor, unit)}: its sign is taken from that"
            )
        if not self.complete:
            found.append(f"{self.control.exhausted() or 'stopped'} before all was looked at")
        return tuple(found)


def _listed(xs: Sequence[float], factor: float, unit: str) -> str:
    return ", ".join(f"{x / factor:g}" for x in xs) + (f" {unit}" if unit else "")


def _numbers(low: int, high: int) -> list[int]:
    """Whole numbers from low to high: all, or a grid of them."""
    if high - low < ALL:
        return list(range(low, high + 1))
    return sorted({round(x) for x in _grid(low, high, GRID)})


def _grid(low: float, high: float, count: int) -> list[float]:
    """Points from low to high: at equal distances, in equal ratios where the range is wide."""
    spaced = np.geomspace if low > 0 and high / low >= WIDE else np.linspace
    inner: Sequence[float] = spaced(low, high, count).tolist()[1:-1]
    return [low, *inner, high]


@dataclass(slots=True)
class _Inversion:
    """The values at which a test does not tell a difference from 0, where the statistic goes from below -``critical`` to above it."""

    gap: Callable[[float], Gap]
    sign: int
    critical: float
    known: dict[float, float] = field(default_factory=dict)

    def look(self, x: float) -> float:
        """The test statistic, rising from the left end to the right one."""
        if x not in self.known:
            self.known[x] = self.sign * self.gap(x).statistic()
        return self.known[x]

    def found(self) -> tuple[float, float, float]:
        """The low end, the root of the sample's own curve, and the high end; the ends are on the outer side of the searches for them, and
        take in whatever was seen further out that is not told from 0."""
        p, q = self._search(0.0, CLOSE)
        root = _straight(p, q, self.known[p], self.known[q], 0.0)
        low, _ = self._search(-self.critical, NEAR)
        _, high = self._search(self.critical, NEAR)
        doubtful = [x for x, t in self.known.items() if abs(t) <= self.critical]
        return min([low, *doubtful]), root, max([high, *doubtful])

    def _search(self, target: float, within: float) -> tuple[float, float]:
        """Two values between which the statistic passes the target, near to each other in it."""
        xs = sorted(self.known)
        p, q = next((a, b) for a, b in pairwise(xs) if self.known[a] <= target < self.known[b])
        for step in range(STEPS):
            if self.known[q] - self.known[p] <= within * self.critical or q - p <= 1e-12 * max(abs(p), abs(q)):
                break
            x = (p + q) / 2 if step % 2 else self._aimed(p, q, target)
            p, q = (x, q) if self.look(x) <= target else (p, x)
        return p, q

    def _aimed(self, p: float, q: float, target: float) -> float:
        """Where a straight line passes the target, kept off the ends; statistics far beyond the critical value say little more."""
        most = 3 * self.critical
        ends = (max(self.known[p], target - most), min(self.known[q], target + most))
        x = _straight(p, q, *ends, target)
        margin = 0.05 * (q - p)
        return min(max(x, p + margin), q - margin)


def _straight(p: float, q: float, at_p: float, at_q: float, target: float) -> float:
    if not (math.isfinite(at_p) and math.isfinite(at_q)) or at_q == at_p:
        return (p + q) / 2
    return p + (q - p) * (target - at_p) / (at_q - at_p)
