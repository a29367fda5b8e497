"""Exact values of nets whose delays take finitely many values: the schedule, enumerated until it repeats, in rational arithmetic.

States are markings with the remaining work of every clock (:mod:`spn.schedule`). Without chance there is one course, which ends in a
cycle: long-run values are averages over its period. Where ties, immediates or delays of several values leave something to chance, the
states form a finite Markov chain embedded at their changes, and values are averages over its closed classes by the time spent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import chain

from spn.delay import is_mean
from spn.errors import AnalysisError, Diagnostic, refuse
from spn.expr.evaluate import Undefined
from spn.expr.nodes import Atom, Exact, Node, exact
from spn.measure import (
    Delay,
    FiringRate,
    Horizon,
    LinkRate,
    Measure,
    Passage,
    Primitive,
    Quantile,
    RunningClocks,
    Special,
    TimeAverage,
    primitives,
    ratio,
)
from spn.measure import value as value_of
from spn.model import Model
from spn.net import semantics
from spn.net.model import Marking, Timed, timed
from spn.provenance import provenance
from spn.result import RecurrentClass, Result, Value
from spn.schedule.course import Class, Graph, TooMany, Weight, average, classes, explore, growing, lead, length
from spn.schedule.steps import ONE, TANGIBLE, ZERO
from spn.schedule.times import TooLong, at, between, first_met
from spn.sim.loop import zero_time_loop
from spn.solvers import questions
from spn.solvers.exactly import exact_value, fraction_text, once, rational

NAME = "schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``max_states`` counts the markings with remaining times, those in which no time passes included."""

    max_states: int = 200_000

    def __post_init__(self) -> None:
        if isinstance(self.max_states, bool) or not isinstance(self.max_states, int) or self.max_states < 1:
            raise refuse(AnalysisError, "E0617", f"max_states is {self.max_states!r}; it is a whole number from 1 on")


def may(model: Model) -> list[Diagnostic]:
    """All reasons why there is no schedule, each with its place in the text. That it repeats shows only while it is enumerated."""
    own = chain.from_iterable(refusals_of(t) for t in timed(model.net))
    return [*once(own), *questions.refusals(model), *_questions(model)]


def refusals_of(t: Timed) -> Iterator[Diagnostic]:
    """Why the delay of a transition is none of finitely many."""
    if t.law.atoms() is None:
        yield Diagnostic(
            code="E0670",
            message=f"the delay of {t.name} is {t.law.describe()}: none of finitely many values, so that there is no schedule",
            span=t.law_span or t.span,
            help="use a constant or an empirical law, expand it into phases (--method phase-type), or simulate",
        )


def _questions(model: Model) -> Iterator[Diagnostic]:
    for q in questions.asked(model):
        if isinstance(q, Delay) and not is_mean(q):
            yield Diagnostic(
                code="E0672",
                message=f"a schedule does not tell how the time from {q.first} to {q.second} is distributed",
                span=q.span,
                help="ask for its mean, or simulate",
            )
        if isinstance(q, Horizon) and q.start is None and isinstance(q.measure, Atom) and _is_throughput(q, model):
            yield Diagnostic(
                code="E0672",
                message="a throughput at one moment has no value where firings happen at moments known beforehand",
                span=q.span,
                help="ask for it over a time, or for the firings in total",
            )


def _is_throughput(q: Horizon, model: Model) -> bool:
    return any(isinstance(p, FiringRate) for p in ratio(q.measure, model.net).numerators)


def compute(model: Model, options: Options | None = None, *, reason: str = "") -> Result:
    """The exact values of all measures.

    Raises AnalysisError with all refusals at once where the method does not apply, and E0671 where the states do not come to an end within
    ``max_states``; SemanticsError where the net means nothing or time does not pass."""
    began = time.perf_counter()
    options = options or Options()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    try:
        graph = explore(model.net, options.max_states)
    except TooMany as many:
        raise growing(model.net, many.state, options.max_states) from None
    found = _Answer(model, graph)
    return Result(
        method=NAME,
        reason=reason or found.said(),
        measures={m.name: found.shown(m) for m in model.measures},
        classes=found.told(),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


class _Answer:
    """The values of all primitives, over each closed class and mixed."""

    def __init__(self, model: Model, graph: Graph) -> None:
        self.model, self.graph = model, graph
        self.read: dict[tuple[Node, Marking], Fraction] = {}
        self.running = {t.name: k for k, t in enumerate(timed(model.net))}
        self.classes = classes(graph)
        for c in self.classes:
            self._moving(c)
        wanted = tuple(dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures)))
        self.lasting = [p for p in wanted if not isinstance(p, Special)]
        self.inside = [{p: self._average(c, p) for p in self.lasting} for c in self.classes]
        self.known: dict[Primitive, Weight] = {p: self._mixed([own[p] for own in self.inside]) for p in self.lasting}
        self.cut = False
        for q in wanted:
            if isinstance(q, Special):
                self.known[q] = self._special(q)

    def _moving(self, c: Class) -> None:
        """Time passes in the class, or it is a marking in which nothing happens any more."""
        g = self.graph
        if g.after[c.states[0]].wait is not None and not length(g, c):
            fired = [b.fired for i in c.states for b in g.after[i].branches if b.fired is not None]
            raise zero_time_loop(self.model.net, g.states[c.states[0]].marking, fired, math.nan)

    # --- primitives

    def _expression(self, node: Node, m: Marking) -> Fraction:
        key = node, m
        if key not in self.read:
            try:
                found: Exact = exact(semantics.value(self.graph.steps.rules, node, m))
            except Undefined:
                found = math.nan
            if not isinstance(found, Fraction):
                raise _undefined(self.model, node, m)
            self.read[key] = found
        return self.read[key]

    def rate(self, p: Primitive) -> Callable[[int], Fraction] | None:
        """What grows with time, in each state."""
        states, after = self.graph.states, self.graph.after
        match p:
            case TimeAverage(value=v):
                return lambda i: self._expression(v, states[i].marking)
            case RunningClocks(transition=t):
                return lambda i: Fraction(len(states[i].clocks[self.running[t]].running))
            case LinkRate(link=name):
                return lambda i: after[i].used.get(name, ZERO)
        return None

    def firing(self, p: Primitive) -> Callable[[int, int], Fraction] | None:
        """What a firing brings: by the state before it and the transition."""
        if not isinstance(p, FiringRate):
            return None
        number, node = self.graph.steps.number[p.transition], p.value
        return lambda i, fired: self._expression(node, self.graph.states[i].marking) if fired == number else ZERO

    def _average(self, c: Class, p: Primitive) -> Weight:
        return average(self.graph, c, self.rate(p), self.firing(p))

    def _mixed(self, values: Sequence[Weight]) -> Weight:
        total: Weight = ZERO
        for c, v in zip(self.classes, values, strict=True):
            total = total + c.probability * v
        return total

    def _special(self, q: Special) -> Weight:
        try:
            match q:
                case Horizon():
                    return self._at_times(q)
                case Passage():
                    return self._passage(q)
                case Quantile():
                    return self._quantile(q)
        except TooLong:
            message = "the time asked about lies too many firings ahead to be followed one by one"
            raise refuse(AnalysisError, "E0672", message, span=q.span, help="ask about the long run, or simulate") from None
        raise AssertionError("refused before")

    def _at_times(self, q: Horizon) -> Fraction:
        (p,) = ratio(q.measure, self.model.net).numerators
        end = rational(q.end)
        rate = self.rate(p)
        if q.start is None:
            assert rate is not None
            return at(self.graph, end, rate)
        start = rational(q.start)
        total = between(self.graph, start, end, rate, self.firing(p))
        return total if q.total else total / (end - start)

    def _passage(self, q: Passage) -> Weight:
        g = self.graph
        holds = [s.kind == TANGIBLE and self._expression(q.condition, s.marking) != 0 for s in g.states]
        met = first_met(g, holds, None if q.within is None else rational(q.within))
        self.cut = self.cut or not met.complete
        if q.within is not None:
            return met.within(rational(q.within))
        found = met.mean() if q.quantile is None else met.quantile(rational(q.quantile))
        return math.inf if found is None else found

    def _quantile(self, q: Quantile) -> Weight:
        """The smallest value reached by a fraction of the time, or of the firings."""
        shares: dict[Fraction, Weight] = {}
        for c in self.classes:
            for v, w in self._weights(c, q):
                shares[v] = shares.get(v, ZERO) + c.probability * w
        total: Weight = sum(shares.values(), ZERO)
        reached: Weight = ZERO
        for v in sorted(shares):
            reached = reached + shares[v]
            if reached >= q.level * total:
                return v
        return math.nan

    def _weights(self, c: Class, q: Quantile) -> Iterator[tuple[Fraction, Weight]]:
        g = self.graph
        if g.after[c.states[0]].wait is None:
            if q.given is None:
                yield self._expression(q.value, g.states[c.states[0]].marking), ONE
            return
        time = length(g, c)
        number = None if q.given is None else g.steps.number[q.given]
        for i, v in zip(c.states, c.visits, strict=True):
            step = g.after[i]
            share = step.wait or ZERO if number is None else sum((b.chance for b in step.branches if b.fired == number), ZERO)
            if share:
                yield self._expression(q.value, g.states[i].marking), v * share / time

    # --- results

    def shown(self, m: Measure) -> Value:
        found = exact_value(m.body, self.model.net, self.known)
        value = value_of(m.body, self.model.net, {p: float(v) for p, v in self.known.items()}) if found is None else float(found)
        factor = m.unit_factor
        note = "" if not isinstance(found, Fraction) else fraction_text(found / rational(factor))
        return Value(value=value, unit=m.unit, unit_factor=float(factor), note=note)

    def told(self) -> tuple[RecurrentClass, ...]:
        kinds = [self._kind(c) for c in self.classes]
        if len(kinds) == 1 and kinds[0] == "recurrent":
            return ()
        lasting = [m for m in self.model.measures if not any(isinstance(p, Special) for p in primitives(m.body, self.model.net))]
        net = self.model.net
        return tuple(
            RecurrentClass(
                probability=float(c.probability),
                size=sum(self.graph.states[i].kind == TANGIBLE for i in c.states),
                kind=kind,
                marking={p.name: k for p, k in zip(net.places, self._member(c), strict=True) if k},
                measures={m.name: value_of(m.body, net, {p: float(v) for p, v in own.items()}) for m in lasting},
            )
            for c, kind, own in zip(self.classes, kinds, self.inside, strict=True)
        )

    def _member(self, c: Class) -> Marking:
        return next(self.graph.states[i].marking for i in c.states if self.graph.states[i].kind == TANGIBLE)

    def _kind(self, c: Class) -> str:
        if self.graph.after[c.states[0]].wait is not None:
            return "recurrent"
        return "dead" if semantics.is_dead(self.graph.steps.rules, self.graph.states[c.states[0]].marking) else "stuck"

    def said(self) -> str:
        if all(t.law.family == "det" for t in timed(self.model.net)):
            return "all delays are constant, and the schedule repeats"
        return "all delays have finitely many values"

    def details(self) -> Mapping[str, object]:
        g = self.graph
        found: dict[str, object] = {"states": g.tangible, "changes": len(g.states) - g.tangible}
        begins = lead(g)
        if begins is not None:
            start, period = begins
            found |= {"transient": float(start)} if period is None else {"period": float(period), "transient": float(start)}
        forks = sum(len(t) > 1 for t in g.targets)
        if forks:
            found["forks"] = forks
        found["arithmetic"] = "rational" if self._rational() else "double precision"
        values = {m.name: exact_value(m.body, self.model.net, self.known) for m in self.model.measures}
        found["exact"] = {n: str(v) for n, v in values.items() if isinstance(v, Fraction)}
        return found

    def _rational(self) -> bool:
        return all(c.exact for c in self.classes)

    def notes(self) -> Iterator[str]:
        g = self.graph
        begins = lead(g)
        if begins is not None and begins[1] is not None:
            period, start = (_seconds(x, self.model) for x in (begins[1], begins[0]))
            yield f"the schedule repeats every {period}, from {start} on; long-run values are averages over that time"
        if len(self.classes) > 1:
            yield f"{len(self.classes)} closed classes: values are mixed with the probabilities of ending in each"
        if g.steps.rounded:
            yield "some quantity is no rational number (a root, a logarithm): it was rounded to 17 digits"
        if self.cut:
            yield "a first passage was followed up to a chance of 1e-18"
        undefined = [m.name for m in self.model.measures if math.isnan(self.shown(m).value)]
        if undefined:
            yield f"{', '.join(undefined)}: undefined, a division by 0 or the like"


def _seconds(t: Weight, model: Model) -> str:
    return f"{float(t):.10g}{'' if model.unitless else ' s'}"


def _undefined(model: Model, node: Node, m: Marking) -> Exception:
    shown = semantics.marking_text(model.net, m)
    message = f"an expression of a measure has no finite value in marking {shown}"
    return refuse(AnalysisError, "E0672", message, span=getattr(node, "span", None), help="exclude the marking by a condition, or simulate")
