"""Exact long-run values of nets in which one clock repeats its drawn work: conditioned on the work, averaged over its law.

Under memory `repeat` a stopped clock begins its drawn work w again, so that no chain of markings is Markov, whatever the law. Given w,
one *life* of the clock, from its draw to its completion, consists of periods in which it is enabled: each ends after w with the completion,
or before by a transition that disables it. With Q_E the rates among the markings in which it is enabled, a period that begins in marking
i is completed in j with probability exp(w Q_E)(i, j), and is broken off otherwise; what then happens until the clock is enabled again is
a chain of its own. So the expected times and firings of a life solve linear systems for each w; a quadrature over the law of w gives
those of a life, and the markings at the beginnings of lives are a finite Markov chain.

A life takes e^(r w) or so, where r is the rate at which periods are broken off: where the law's tail is heavier than e^(-r w), its mean is
infinite (an exponential law of rate at most r is), which is recognised. Sources: V. G. Kulkarni, V. F. Nicola and K. S. Trivedi, J. Appl.
Probab. 23 (1986) 1038, doi:10.2307/3214469 (completion times); A. Bobbio, V. G. Kulkarni, A. Puliafito, M. Telek and K. S. Trivedi, Proc.
Int. Computer Performance and Dependability Symp. (IPDS 1995) 124, doi:10.1109/IPDS.1995.395818 (preemptive repeat identical).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain

import numpy as np

from spn.dist.exponential import Exponential
from spn.errors import AnalysisError, Diagnostic, SpnError, refuse
from spn.expr.nodes import Number, as_node
from spn.markov.longrun import Class, long_run
from spn.measure import FiringRate, Primitive, Quantile, Special, primitives, value
from spn.model import Model
from spn.net.model import Memory, Net, Timed, timed
from spn.provenance import provenance
from spn.reach import Limits
from spn.reach.space import Bools, Floats, Rates, compressed
from spn.result import Result, Value
from spn.solvers import ctmc, questions
from spn.solvers.chain import Explored, state_space
from spn.solvers.quadrature import Nodes, heaviness, nodes

NAME = "conditioning"
MOST_STATES = 600
TERMS = 24  # of an exponential series at arguments up to 1
PACES = (1.0, 3.0)  # rates of the clock with which the net is explored, to tell its firings from those of others
NOTHING = 1e-11  # relative, below which a difference of two rates is rounding
AGREED = 1e-7  # relative, to which two quadratures have to agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``max_states`` of the chain between the firings of the repeating clock, whose matrices are dense."""

    max_states: int = MOST_STATES

    def __post_init__(self) -> None:
        if isinstance(self.max_states, bool) or not isinstance(self.max_states, int) or self.max_states < 1:
            raise refuse(AnalysisError, "E0617", f"max_states is {self.max_states!r}; it is a whole number from 1 on")


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the method does not apply, each with its place in the text."""
    repeating = [t for t in timed(model.net) if t.memory is Memory.REPEAT]
    found: list[Diagnostic] = []
    if len(repeating) != 1:
        found += [_odd(t, f"{t.name} repeats its work beside others: one transition may") for t in repeating]
        if not repeating:
            found.append(Diagnostic(code="E0677", message="no transition repeats its work", help="use --method ctmc or auto"))
    else:
        found.extend(_refusals_of(repeating[0], model.net))
    others = [t for t in timed(model.net) if t.memory is not Memory.REPEAT]
    found.extend(chain.from_iterable(ctmc.refusals_of(t) for t in others))
    found.extend(questions.refusals(model))
    for q in questions.asked(model):
        if not isinstance(q, Quantile):
            message = "values at a time and first passages are not answered where a clock repeats its work"
            found.append(Diagnostic(code="E0677", message=message, span=q.span, help="ask about the long run, or simulate"))
    return found


def _odd(t: Timed, message: str) -> Diagnostic:
    return Diagnostic(code="E0677", message=message, span=t.span, help="use memory restart or resume, or simulate")


def _refusals_of(t: Timed, net: Net) -> Iterator[Diagnostic]:
    if t.servers != 1:
        yield _odd(t, f"{t.name} repeats the work of several clocks ({t.servers} servers): one may be alive at a time")
    if t.transfer is not None:
        yield _odd(t, f"{t.name} repeats its work over a link")
    for name, node in (("speed", t.speed), ("scale", t.scale)):
        if not isinstance(node, Number) or not 0 < node.value < math.inf:
            yield _odd(t, f"{t.name} repeats its work at a {name} that depends on the marking")
    for u in net.transitions:
        if t.name in u.resets:
            yield _odd(t, f"{u.name} resets {t.name}, which repeats its work")


def compute(model: Model, options: Options | None = None, *, reason: str = "") -> Result:
    """The long-run values of all measures.

    Raises AnalysisError with all refusals at once; E0678 where the mean time to completion is infinite, E0679 where the clock may be
    stopped for good; E0602 beyond ``max_states``."""
    began = time.perf_counter()
    options = options or Options()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    found = _Answer(model, options)
    t = found.clock
    return Result(
        method=NAME,
        reason=reason or f"{t.name} repeats its drawn work: conditioned on it",
        measures={
            m.name: Value(value=found.value(m.name), half_width=found.error(m.name), unit=m.unit, unit_factor=float(m.unit_factor))
            for m in model.measures
        },
        converged=all(not found.error(m.name) > AGREED * abs(found.value(m.name)) for m in model.measures),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The chain between the firings of the clock, its states ordered: enabled ones first. ``others`` (n, n): rates of all other
    transitions, the diagonal included; ``after`` (enabled, n): where a completion leads; ``time`` and ``firing``: rewards of each
    primitive per second, and of a completion in each enabled state."""

    enabled: int
    others: Floats
    after: Floats
    time: dict[Primitive, Floats]
    firing: dict[Primitive, Floats]
    initial: Floats


class _Answer:
    def __init__(self, model: Model, options: Options) -> None:
        self.model = model
        (self.clock,) = (t for t in timed(model.net) if t.memory is Memory.REPEAT)
        wanted = dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures))
        self.wanted: list[Primitive] = [p for p in wanted if not isinstance(p, Special)]
        if any(isinstance(p, Special) for p in wanted):
            raise refuse(AnalysisError, "E0677", "quantiles are not answered where a clock repeats its work", help="simulate")
        self.parts = _parts(model.net, self.clock, self.wanted, options)
        self.loss = _loss(self.parts)
        self._finite()
        self.classes = 1
        factor = float(getattr(self.clock.scale, "value", 1)) / float(getattr(self.clock.speed, "value", 1))
        self.coarse, self.fine = (self._values(nodes(self.clock.law, factor, self.loss, fine)) for fine in (False, True))

    def _finite(self) -> None:
        heavy = heaviness(self.clock.law) * float(getattr(self.clock.speed, "value", 1)) / float(getattr(self.clock.scale, "value", 1))
        if self.loss > 0 and heavy <= self.loss * (1 + 1e-9):
            raise refuse(
                AnalysisError,
                "E0678",
                f"the mean time of {self.clock.name} to complete is infinite: long works are broken off again and again "
                f"(at {self.loss:.4g} per second, and the law's tail falls no faster)",
                span=self.clock.law_span or self.clock.span,
                help="its throughput in the long run is 0; bound the work, or use memory restart or resume",
            )

    # --- one life

    def _values(self, works: Nodes) -> dict[str, float]:
        """The measures by one quadrature."""
        parts, e = self.parts, self.parts.enabled
        n = len(parts.others)
        idle = _until(parts)  # (n - e, n): time spent in the disabled states, and the enabled one then entered
        completed, spent = np.zeros((e, e)), np.zeros((e, n))
        for w, weight in zip(works.work, works.weight, strict=True):
            done, lasting = _life(parts, idle, w)
            completed += weight * done
            spent += weight * lasting
        waiting = np.zeros((e, n))
        waiting[:, e:] = parts.after[:, e:] @ idle[0]
        begun = parts.after[:, :e] + parts.after[:, e:] @ idle[1]
        step = completed @ begun
        start = parts.initial[:e] + parts.initial[e:] @ idle[1]
        classes = _classes(step, start)
        self.classes = len(classes)
        per_life = spent + completed @ waiting
        known: dict[Primitive, float] = {}
        for p in self.wanted:
            known[p] = math.fsum(c.probability * self._average(p, c, per_life, completed) for c in classes)
        return {m.name: value(m.body, self.model.net, known) for m in self.model.measures}

    def _average(self, p: Primitive, c: Class, per_life: Floats, completed: Floats) -> float:
        pi, rows = c.solution.pi, c.states
        length = pi @ per_life[rows]
        ends = pi @ completed[rows]
        return float((length @ self.parts.time[p] + ends @ self.parts.firing[p]) / length.sum())

    # --- words

    def value(self, name: str) -> float:
        return self.fine[name]

    def error(self, name: str) -> float:
        """Half the digits of a quadrature are those that a coarser one shares."""
        return abs(self.fine[name] - self.coarse[name]) + 1e-12 * abs(self.fine[name])

    def details(self) -> dict[str, object]:
        return {"states": len(self.parts.others), "solver": f"{self.parts.enabled} with {self.clock.name} enabled, quadrature"}

    def notes(self) -> Iterator[str]:
        yield f"conditioned on the drawn work of {self.clock.name}; the error is the difference of two quadratures"
        if self.classes > 1:
            yield f"{self.classes} recurrent classes: values are mixed with the probabilities of ending in each"


def _life(parts: _Parts, idle: tuple[Floats, Floats], w: float) -> tuple[Floats, Floats]:
    """Of a life with work ``w``, by the state in which it begins: where it is completed (enabled, enabled), and the time spent in each
    state (enabled, all)."""
    e, n = parts.enabled, len(parts.others)
    whole, lasting = _period(parts.others[:e, :e], w)
    broken = lasting @ parts.others[:e, e:]
    again = np.eye(e) - broken @ idle[1]
    once = np.hstack([lasting, broken @ idle[0]]) if n > e else lasting
    solved = np.linalg.solve(again, np.hstack([whole, once]))
    return solved[:, :e], solved[:, e:]


def _period(inside: Floats, w: float) -> tuple[Floats, Floats]:
    """exp(w Q), and its integral from 0 to w: by uniformisation over a short time, doubled, without any subtraction."""
    pace = float(-inside.diagonal().min())
    doublings = max(0, math.ceil(math.log2(pace * w))) if pace * w > 0 else 0
    x = pace * w / 2**doublings
    unit = np.eye(len(inside))
    if x == 0:
        return unit, unit * w
    jump, power = unit + inside / pace, unit
    chances = math.exp(-x) * np.cumprod([1.0, *(x / m for m in range(1, TERMS))])
    later = np.cumsum(chances[::-1])[::-1]  # of m events and more; the integral takes m + 1 and more
    whole, lasting = chances[0] * unit, later[1] * unit / pace
    for m in range(1, TERMS - 1):
        power = power @ jump
        whole = whole + chances[m] * power
        lasting = lasting + later[m + 1] / pace * power
    for _ in range(doublings):
        lasting = lasting + whole @ lasting
        whole = whole @ whole
    return whole, lasting


def _until(parts: _Parts) -> tuple[Floats, Floats]:
    """From each disabled state: the time spent in every disabled state until the clock is enabled, and where it then is."""
    e = parts.enabled
    out = parts.others[e:, e:]
    if not len(out):
        return np.zeros((0, 0)), np.zeros((0, e))
    spent = np.linalg.inv(-out).astype(np.float64)
    return spent, spent @ parts.others[e:, :e]


def _classes(step: Floats, start: Floats) -> tuple[Class, ...]:
    """The recurrent classes of the chain of lives, each with its chance and its stationary vector."""
    found = np.argwhere(step > 1e-15)
    rates = compressed(len(step), found[:, 0], found[:, 1], step[found[:, 0], found[:, 1]])
    return long_run(rates, start / start.sum()).classes


def _loss(parts: _Parts) -> float:
    """The rate at which long periods are broken off: that of the slowest decay among the enabled states that lose anything."""
    inside = parts.others[: parts.enabled, : parts.enabled]
    if not np.any(parts.others[: parts.enabled, parts.enabled :] > 0):
        return 0.0
    return max(0.0, -float(np.linalg.eigvals(inside).real.max()))


# --- the chain between the firings --------------------------------------------------------------------------------------------------


def _parts(net: Net, clock: Timed, wanted: list[Primitive], options: Options) -> _Parts:
    """Two explorations with the clock made exponential, at different rates, tell its firings from the others'."""
    asked = list(dict.fromkeys([*wanted, FiringRate(clock.name)]))
    slow, fast = (state_space(_exponential(net, clock, pace), asked, Limits(states=options.max_states)) for pace in PACES)
    gap = PACES[1] - PACES[0]
    first, second = _dense(slow.space.rates), _dense(fast.space.rates)
    firing = _difference(first, second) / gap
    others = np.where(firing > 0, _difference(PACES[0] * firing, first), first)
    on = slow.rewards[FiringRate(clock.name)] > 0
    order = np.concatenate([np.flatnonzero(on), np.flatnonzero(~on)])
    e = int(on.sum())
    _returns(others, on, clock, slow)
    stays = 1 - firing.sum(axis=1)
    firing[on, on.nonzero()[0]] += np.maximum(stays[on], 0.0)
    np.fill_diagonal(others, 0.0)
    np.fill_diagonal(others, -others.sum(axis=1))
    once = {p: (fast.rewards[p] - slow.rewards[p]) / gap for p in wanted}
    return _Parts(
        enabled=e,
        others=others[np.ix_(order, order)],
        after=firing[np.ix_(order[:e], order)],
        time={p: (slow.rewards[p] - PACES[0] * once[p])[order] for p in wanted},
        firing={p: once[p][order[:e]] for p in wanted},
        initial=slow.space.initial[order],
    )


def _exponential(net: Net, clock: Timed, pace: float) -> Net:
    """The clock made exponential at a rate."""
    changed = replace(clock, law=Exponential(rate=pace), memory=Memory.RESTART, speed=as_node(1), scale=as_node(1))
    return replace(net, transitions=tuple(changed if t is clock else t for t in net.transitions))


def _dense(rates: Rates) -> Floats:
    found = np.zeros((rates.n, rates.n))
    found[rates.sources(), rates.columns] = rates.values
    return found


def _difference(small: Floats, large: Floats) -> Floats:
    """large - small, what is rounding made 0."""
    found = large - small
    return np.where(np.abs(found) > NOTHING * np.abs(large), np.maximum(found, 0.0), 0.0)


def _returns(others: Floats, on: Bools, clock: Timed, found: Explored) -> None:
    """From every state in which the clock is disabled it is enabled again some time."""
    reached = on.copy()
    while True:
        more = ~reached & (others @ reached > 0)
        if not more.any():
            break
        reached |= more
    if not on.any() or not reached.all():
        raise _for_good(clock, found.shown(int(np.flatnonzero(~reached)[0])) if not reached.all() else {})


def _for_good(clock: Timed, marking: dict[str, int]) -> SpnError:
    shown = ", ".join(f"{p}={k}" for p, k in marking.items()) or "(empty)"
    return refuse(
        AnalysisError,
        "E0679",
        f"{clock.name} may be stopped for good, in marking {shown}",
        span=clock.span,
        help="simulate; or ask for the marking by `spn states`",
    )
