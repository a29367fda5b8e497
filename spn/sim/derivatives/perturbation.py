"""Infinitesimal perturbation analysis: how every instant of a trajectory moves with a parameter, firing by firing.

A parameter that scales the law of a transition moves a clock that draws x by x times the derivative of the logarithm of the scale; it
expires later by that and by as much as the firing that started it. Derivatives of integrals up to the n-th firing follow. They are those of
the means where a change of the order of two firings leads to the same marking and stops no clock (the *commuting condition*: P. Glasserman,
Structural conditions for perturbation analysis derivative estimation: finite-time performance indices, Operations Research 39, 1991,
doi:10.1287/opre.39.5.724; Gradient Estimation via Perturbation Analysis, Kluwer 1991)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spn.compiled import CompiledNet
from spn.errors import AnalysisError, Diagnostic
from spn.expr.evaluate import fold
from spn.expr.nodes import constant
from spn.measure import Primitive
from spn.net import semantics
from spn.net.model import ArcKind, Immediate, Marking, Net, Timed, initial_marking
from spn.net.semantics import Rules
from spn.sim.control import Control
from spn.sim.derivatives.changes import Change
from spn.sim.derivatives.rows import Rows
from spn.sim.engine import Ending, Floats
from spn.sim.reference import Clock, Instant, Station, Trajectory, _take
from spn.sim.setup import prepare
from spn.sim.streams import generator

BATCH = 500  # firings
WARM = 5_000
MOST_MARKINGS = 3_000  # looked at for the commuting condition
SHAPE = 1e-7  # relative difference of quantiles over means that is rounding
LEVELS = (0.02, 0.2, 0.5, 0.8, 0.98)


# --- may I ----------------------------------------------------------------------------------------------------------------------


def obstacles(net: Net) -> Iterator[Diagnostic]:
    """Why perturbation analysis is not valid for a net, each with its line; nothing where it is."""
    for t in net.transitions:
        if why := _unfit(t):
            yield _refused(f"perturbation analysis is not valid: {why}", t)
    discrete = [t for t in net.transitions if isinstance(t, Timed) and t.law.atoms() is not None]
    if len(discrete) > 1:
        names = ", ".join(t.name for t in discrete)
        yield _refused(f"perturbation analysis is not valid: the discrete laws of {names} may make firings coincide", discrete[1])
    if all(_unfit(t) == "" for t in net.transitions) and not _event_graph(net):
        yield from _commuting(net)


def _refused(message: str, t: Timed | Immediate) -> Diagnostic:
    return Diagnostic(code="E0733", message=message, span=t.span, help="the exact method differentiates it where that applies")


def _unfit(t: Timed | Immediate) -> str:
    if t.resets:
        return f"{t.name} ends clocks before they expire"
    if isinstance(t, Immediate):
        return ""
    if t.transfer is not None:
        return f"the transfers of {t.name} share links, so that each firing changes the speed of others"
    if constant(fold(t.speed)) is None or constant(fold(t.scale)) is None:
        return f"the speed or the scale of {t.name} depends on the marking"
    return ""


def _event_graph(net: Net) -> bool:
    """Whether every place has one transition that fills it and one that empties it at most, with plain arcs of one token and nothing else:
    then any two firings commute, and none stops a clock."""
    ends: dict[tuple[str, ArcKind], int] = {}
    for t in net.transitions:
        if isinstance(t, Immediate) or t.guard is not None:
            return False
        for arc in t.arcs:
            if arc.kind not in (ArcKind.INPUT, ArcKind.OUTPUT) or constant(fold(arc.multiplicity)) != 1:
                return False
            ends[arc.place, arc.kind] = ends.get((arc.place, arc.kind), 0) + 1
    return all(n == 1 for n in ends.values()) and all(p.capacity is None for p in net.places)


def _commuting(net: Net) -> Iterator[Diagnostic]:
    """The commuting condition in every reachable marking, or the first firings that break it."""
    r = semantics.rules(net)
    first = initial_marking(net)
    try:
        start = _tangible(r, first)
        seen, left = {start}, [start]
        while left:
            m = left.pop()
            after = {t: _tangible(r, semantics.fire(r, t, m)) for t in r.timed if semantics.running_clocks(r, t, m) > 0}
            if broken := _broken(r, m, after):
                yield broken
                return
            for n in after.values():
                if n not in seen:
                    seen.add(n)
                    left.append(n)
            if len(seen) > MOST_MARKINGS:
                message = f"perturbation analysis is not known to be valid: there are more than {MOST_MARKINGS} markings in which to look"
                yield Diagnostic(
                    code="E0733", message=message, help="it needs that firings commute; give capacities to places, or fewer tokens"
                )
                return
    except _Chance as chance:
        yield _refused(f"perturbation analysis is not valid: {chance}", net.transitions[chance.transition])


class _Chance(Exception):
    """A choice at random among immediates."""

    def __init__(self, name: str, transition: int) -> None:
        super().__init__(f"{name} fires by chance where another immediate may")
        self.transition = transition


def _tangible(r: Rules, m: Marking) -> Marking:
    while choices := semantics.enabled_immediates(r, m):
        if len(choices) > 1:
            raise _Chance(r.transitions[choices[0][0]].transition.name, choices[0][0])
        m = semantics.fire(r, choices[0][0], m)
    return m


def _broken(r: Rules, m: Marking, after: dict[int, Marking]) -> Diagnostic | None:
    """Two firings that are enabled in ``m`` and do not commute there, or of which one stops a clock of the other."""
    for a, b in ((a, b) for a in after for b in after):
        one, other = r.transitions[a].transition, r.transitions[b].transition
        if semantics.running_clocks(r, b, after[a]) < semantics.running_clocks(r, b, m) - (a == b):
            return _refused(
                f"perturbation analysis is not valid: {one.name} stops {other.name} in {semantics.marking_text(r.net, m)}", other
            )
        if a < b and semantics.running_clocks(r, a, after[b]) > 0:
            there = _tangible(r, semantics.fire(r, b, after[a])), _tangible(r, semantics.fire(r, a, after[b]))
            if there[0] != there[1]:
                where = semantics.marking_text(r.net, m)
                message = f"perturbation analysis is not valid: it matters which of {one.name} and {other.name} fires first in {where}"
                return _refused(message, other)
    return None


def effects(net: Net, change: Change) -> dict[int, float] | str:
    """By transition the derivative of the logarithm of its work's scale; a text where the change is none of scales."""
    found: dict[int, float] = {}
    for i, (t, a, b) in enumerate(zip(net.transitions, change.plus.net.transitions, change.minus.net.transitions, strict=True)):
        if isinstance(t, Immediate) or (
            isinstance(a, Timed) and isinstance(b, Timed) and (a.law, a.speed, a.scale) == (b.law, b.speed, b.scale)
        ):
            continue
        assert isinstance(a, Timed) and isinstance(b, Timed)
        shapes = [np.asarray(x.law.quantile(np.array(LEVELS))) / x.law.mean() for x in (a, b)]
        if not np.allclose(shapes[0], shapes[1], rtol=SHAPE, atol=0.0, equal_nan=False):
            return f"it changes the shape of the law of {t.name}, not its scale alone"
        works = [x.law.mean() * _factor(x) for x in (a, b)]
        found[i] = float(np.log(works[0]) - np.log(works[1])) / (2 * change.step)
    return found


def _factor(t: Timed) -> float:
    scale, speed = constant(fold(t.scale)), constant(fold(t.speed))
    assert scale is not None and speed is not None
    return float(scale) / float(speed)


# --- the run ----------------------------------------------------------------------------------------------------------------------


class Perturbed(Trajectory):
    """The reference trajectory with the derivatives of its instants. ``effects[t]`` (J): of the logarithm of the scale of the works of t by
    each parameter. ``moved`` (J) is the derivative of the present instant, ``slopes`` (K, J) those of the integrals of the primitives."""

    def __init__(
        self, compiled: CompiledNet, primitives: Sequence[Primitive], rng: np.random.Generator, by: dict[int, Floats], j: int
    ) -> None:
        self.effects, self.none = by, np.zeros(j)
        self.moved: Floats = np.zeros(j)
        self.slopes: Floats = np.zeros((len(primitives), j))
        self._of: dict[int, tuple[Clock, Floats]] = {}
        super().__init__(compiled, primitives, rng)

    def _start_work(self, s: Station, work: Instant) -> None:
        super()._start_work(s, work)
        clock = s.running[-1]
        effect = self.effects.get(s.index)
        slope = self.moved if effect is None else self.moved + (work[0] + work[1] / self.ticks) * effect
        self._of[id(clock)] = clock, slope

    def _expire(self) -> None:
        expired = {t: clocks for t, s in self.stations.items() if (clocks := self._expired(s))}
        t = self._winner(sorted(expired))
        clock = self.stations[t].running[expired[t][0]]
        _, moved = self._of.pop(id(clock))
        self.slopes += np.outer(self.meter.rates, moved - self.moved)
        self.moved = moved
        _take(self.stations[t].running, expired[t][0])
        self._fire(t)

    def _stop_one(self, s: Station, keep: int) -> None:
        message = f"perturbation analysis is not valid: a clock of {s.transition.name} is stopped"
        raise AnalysisError(_refused(message, s.transition))


class Batches:
    """Collects batches of equally many firings. ``rows`` (n, 1 + K + K J + J): time, integrals, their derivatives, that of the time."""

    def __init__(self, net: Net, wanted: Sequence[Primitive], by: Sequence[dict[int, float]], seed: int, control: Control) -> None:
        vectors = {t: np.array([e.get(t, 0.0) for e in by]) for t in {t for e in by for t in e}}
        self.control = control
        self.engine = Perturbed(prepare(net, wanted), wanted, generator(seed, 0), vectors, len(by))
        self.rows = Rows()
        self._last: Floats | None = None

    def extend(self, count: int) -> None:
        """Run until there are so many batches. Raises Stopped at a limit."""
        while self.rows.count < count:
            firings = WARM if self._last is None else BATCH
            self.control.check()
            if self.engine.run(firings, np.inf) is Ending.STILL:
                message = "a run came to rest in a marking in which nothing happens any more"
                raise AnalysisError(Diagnostic(code="E0733", message=message, help="derivatives are of one long run"))
            self.control.count(firings)
            self.engine.forget(100_000)
            e = self.engine
            now = np.concatenate([[e.time], e.totals(), e.slopes.ravel(), e.moved])
            if self._last is not None:
                self.rows.add(now - self._last)
            self._last = now
