"""Estimates of what is no long-run average: values at a time and over a time, and first passages, by independent replications.

A *sort* of question is answered by one kind of run: long-run averages; quantiles of one expression in the long run; values at times, all
along one trajectory; the time until one condition holds, along a trajectory of the net stopped there. What mixes sorts cannot be
estimated as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from spn.delay import refusals as untold
from spn.errors import AnalysisError, Diagnostic, refuse
from spn.expr.nodes import Node, Operators, as_node
from spn.measure import Average, Delay, Horizon, Measure, Passage, Primitive, Quantile, Throughput, atoms, ratio
from spn.model import Model
from spn.net import semantics
from spn.net.model import Net
from spn.sim.classes import closed_classes
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.longrun import Ended
from spn.sim.streams import Crew

LONG_RUN = "long run"
TIMES = "times"
# What one kind of run answers: LONG_RUN, TIMES, the condition of a first passage, a quantile whatever its level, a time of tokens.
Sort = str | Node
LOOK = 100  # firings before the first look whether the condition can still be met; twice as many before each further one


def sorts_of(body: Node) -> tuple[Sort, ...]:
    """The sorts of questions in a measure; a constant has none."""
    return tuple(dict.fromkeys(_sort(a) for a in atoms(body)))


def _sort(atom: Node) -> Sort:
    match atom:
        case Horizon():
            return TIMES
        case Passage(condition=c):
            return c
        case Quantile():
            return replace(atom, level=0.5)  # one run answers all levels
        case Delay():
            return replace(atom, quantile=None, within=None)
    return LONG_RUN


def by_sort(model: Model) -> dict[Sort, Model]:
    """The model with the measures of each sort; constants go with the first."""
    found: dict[Sort, list[Measure]] = {}
    for m in model.measures:
        first = next(iter((*sorts_of(m.body), *found, LONG_RUN)))
        found.setdefault(first, []).append(m)
    return {sort: replace(model, measures=tuple(measures)) for sort, measures in found.items()}


def mean_of(model: Model, of: str | Operators) -> Operators:
    """The mean of what a caller gives: a text in the model's language, a tree over markings, or a mean itself. A text may turn out to be
    something else. AnalysisError E0705 where the model was built by hand and reads no text."""
    if not isinstance(of, str):
        return of if isinstance(of, Average) else Average(as_node(of))
    if model.reader is None:
        help = "give a tree: spn.tokens('q')"
        raise refuse(AnalysisError, "E0705", "only a model written in the model language reads expressions", help=help)
    return model.reader(f"E({of})")


def refusals(model: Model) -> Iterator[Diagnostic]:
    """What the simulator does not estimate, each with its line."""
    yield from untold(model)
    for m in model.measures:
        for atom in atoms(m.body):
            yield from _refusal(atom)
        others = len(atoms(m.body)) > 1
        for atom in filter(is_quantile, atoms(m.body)) if others else ():
            message = "a quantile together with other questions in one measure is not estimated by simulation"
            yield Diagnostic(code="E0623", message=message, span=getattr(atom, "span", None), help="ask each in a measure of its own")
        if len(sorts_of(m.body)) > 1 and not any(map(is_quantile, atoms(m.body))):
            yield Diagnostic(
                code="E0624",
                message=f"{f'measure {m.name}' if m.span else 'an expectation'} joins questions that different runs answer",
                span=m.span or getattr(m.body, "span", None),
                help="ask each in a measure of its own",
            )


def _refusal(atom: Node) -> Iterator[Diagnostic]:
    span = getattr(atom, "span", None)
    match atom:
        case Horizon(measure=Throughput(), start=None):
            message = "the rate of firing at one instant is not estimated by simulation"
            yield Diagnostic(code="E0625", message=message, span=span, help="ask over a short time: throughput(t) over 9 s..11 s")


def is_quantile(atom: Node) -> bool:
    """Whether it asks for a quantile, of a time or of an expression."""
    return isinstance(atom, Quantile) or (isinstance(atom, Passage | Delay) and atom.quantile is not None)


# --- runs -------------------------------------------------------------------------------------------------------------------------


def read_along(questions: tuple[Primitive, ...], net: Net) -> tuple[Primitive, ...]:
    """The primitives that a trajectory must carry for questions about times."""
    inner = [p for q in questions if isinstance(q, Horizon) for p in ratio(q.measure, net).numerators]
    return tuple(dict.fromkeys(inner))


def at_times(crew: Crew, questions: tuple[Primitive, ...], net: Net) -> Callable[[Engine], tuple[Floats, Ended]]:
    """Replications that read the questions off one trajectory."""
    asked = [q for q in questions if isinstance(q, Horizon)]
    times = sorted({float(t) for q in asked for t in (q.start, q.end) if t is not None})
    column = {p: i for i, p in enumerate(crew.primitives)}

    def one(engine: Engine) -> tuple[Floats, Ended]:
        totals: dict[float, Floats] = {}
        rates: dict[float, Floats] = {}
        ending = Ending.HORIZON
        for time in times:
            ending = crew.run(engine, 2**62, time)
            totals[time], rates[time] = engine.totals(), engine.rates()
        row = [_read(q, totals, rates, column[ratio(q.measure, net).numerators[0]]) for q in asked]
        return np.array([1.0, *row]), Ended(key=None, marking=engine.marking, still=ending is Ending.STILL, size=0)

    return one


def length(q: Horizon) -> float:
    """The seconds that a question is about, 0 where it is an instant."""
    return float(q.end) - float(q.start) if q.start is not None else 0.0


def _read(q: Horizon, totals: dict[float, Floats], rates: dict[float, Floats], column: int) -> float:
    end = float(q.end)
    if q.start is None:
        return float(rates[end][column])
    grown = float(totals[end][column] - totals[float(q.start)][column])
    return grown if q.total else grown / length(q)


def until(crew: Crew, questions: tuple[Primitive, ...], condition: Node, stopped: Net) -> Callable[[Engine], tuple[Floats, Ended]]:
    """Replications of the net stopped where the condition holds; a time is infinite where it can hold no more."""
    r = semantics.rules(stopped)
    lost = [c for c in closed_classes(stopped) or () if not c.absorbing]
    asked = [q for q in questions if isinstance(q, Passage)]

    def one(engine: Engine) -> tuple[Floats, Ended]:
        look = LOOK
        still = crew.run(engine, look, np.inf) is Ending.STILL
        while not still and not any(engine.marking in c.markings for c in lost):
            look *= 2
            still = crew.run(engine, look, np.inf) is Ending.STILL
        met = still and semantics.value(r, condition, engine.marking) != 0
        time = engine.time if met else math.inf
        row = [time if q.within is None else float(time <= float(q.within)) for q in asked]
        return np.array([1.0, *row]), Ended(key=None, marking=engine.marking, still=still, size=0)

    return one
