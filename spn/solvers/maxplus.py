"""Exact throughputs of timed event graphs (marked graphs with constant delays): one over the largest cycle ratio."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

from spn.errors import AnalysisError, Diagnostic
from spn.expr.nodes import ONE
from spn.measure import FiringRate, Measure, Primitive, RunningClocks, primitives
from spn.model import Model
from spn.net.model import initial_marking
from spn.provenance import provenance
from spn.result import Result, Value
from spn.schedule.eventgraph import Rhythm, delay, obstacles, rhythm
from spn.sim.loop import zero_time_loop
from spn.solvers.exactly import exact_value, fraction_text, once, rational

NAME = "max-plus"
SHOWN = 8  # places of a cycle that are named


def may(model: Model) -> list[Diagnostic]:
    """All reasons why throughputs are not those of an event graph, each with its place in the text."""
    return [*once(obstacles(model.net)), *chain.from_iterable(_unanswered(m, model) for m in model.measures)]


def _unanswered(m: Measure, model: Model) -> Iterator[Diagnostic]:
    for p in primitives(m.body, model.net):
        if not (isinstance(p, RunningClocks) or (isinstance(p, FiringRate) and p.value == ONE)):
            yield Diagnostic(
                code="E0674",
                message=f"measure {m.name} is not answered by the ratio of a cycle: throughputs and utilisations are",
                span=m.span,
                help="use --method schedule, which enumerates the firings, or simulate",
            )
            return


def compute(model: Model, *, reason: str = "") -> Result:
    """The throughputs and utilisations asked for, exactly.

    Raises AnalysisError with all refusals at once; SemanticsError (E0701) where a cycle takes no time."""
    began = time.perf_counter()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    found = rhythm(model.net)
    _timeless(model, found)
    wanted = dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures))
    known: dict[Primitive, Fraction | float] = {p: _value(p, model, found) for p in wanted}
    values = {m.name: exact_value(m.body, model.net, known) for m in model.measures}
    return Result(
        method=NAME,
        reason=reason or "a timed event graph: one over the largest ratio of delays to tokens",
        measures={m.name: _shown(m, values[m.name]) for m in model.measures},
        details=_details(model, found, values),
        notes=tuple(_notes(model, found)),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME}),
    )


def _value(p: Primitive, model: Model, found: Rhythm) -> Fraction:
    assert isinstance(p, FiringRate | RunningClocks)
    k = next(k for k, t in enumerate(model.net.transitions) if t.name == p.transition)
    between = found.between[k]
    rate = Fraction(0) if between is None else 1 / between
    return rate if isinstance(p, FiringRate) else rate * (delay(model.net.transitions[k]) or 0)


def _shown(m: Measure, found: Fraction | None) -> Value:
    factor = rational(m.unit_factor)
    value = float("nan") if found is None else float(found)
    return Value(value=value, unit=m.unit, unit_factor=float(factor), note="" if found is None else fraction_text(found / factor))


def _timeless(model: Model, found: Rhythm) -> None:
    """Where nothing takes time, firings have no end at one moment."""
    loop = [k for k, x in enumerate(found.between) if x == 0]
    if loop:
        raise zero_time_loop(model.net, initial_marking(model.net), loop, 0.0)


def _details(model: Model, found: Rhythm, values: dict[str, Fraction | None]) -> dict[str, object]:
    details: dict[str, object] = {"transitions": len(model.net.transitions), "solver": "Howard", "arithmetic": "rational"}
    worst = max((c for c in found.slowest if c is not None), key=lambda c: c.ratio, default=None)
    if worst is not None:
        details |= {"cycle_time": float(worst.ratio), "critical_cycle": [e.label for e in worst.edges]}
    details["exact"] = {n: str(v) for n, v in values.items() if v is not None}
    return details


def _notes(model: Model, found: Rhythm) -> Iterator[str]:
    unit = "" if model.unitless else " s"
    cycles = {id(c): c for c in found.slowest if c is not None}  # one object a part: hashing thousands of long cycles takes its time
    for c in sorted(cycles.values(), key=lambda c: -c.ratio)[:3]:
        names = [model.net.transitions[e.head].name for e in c.edges]
        tokens = sum(e.tokens for e in c.edges)
        where = f"{_some(names)} (through {_some([e.label for e in c.edges])})"
        yield f"critical cycle: {where}: {float(sum(e.weight for e in c.edges)):.10g}{unit} over {tokens} token{'s' * (tokens != 1)}"
    if len(cycles) > 1:
        yield f"{len(cycles)} parts have a pace of their own: tokens gather before the slower ones"
    for k, why in enumerate(found.stopped):
        if why:
            yield f"{model.net.transitions[k].name} stops for good: {why}"
            break


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
