"""Exact answers for nets with one clock at a time that is neither exponential nor phase-type: DSPNs and Markov regenerative nets.

That at most one is alive at a time shows only while the state space is built. Phase-type laws beside it are expanded exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

from spn.errors import AnalysisError, Diagnostic
from spn.expr.nodes import Node, constant
from spn.markov.firstpassage import mean_passage
from spn.markov.regenerative import Regeneration, RegenerativeClass, regeneration
from spn.markov.renewal import Clock, Renewal
from spn.measure import FiringRate, Horizon, Passage, Primitive, Quantile, Special, TimeAverage, primitives, value
from spn.model import Model
from spn.net.clocked import Clocked, clocked, general
from spn.net.expand import skeleton
from spn.net.model import Net, Timed, timed
from spn.net.stopped import stopped_when
from spn.provenance import provenance
from spn.reach.graph import explore_graph
from spn.reach.regenerative import Regenerative, regenerative
from spn.reach.space import Floats
from spn.result import RecurrentClass, Result, Value
from spn.solvers import ctmc, questions

NAME = "mrp"
NOT_ONE = frozenset({"E0660", "E0663", "E0664"})  # two clocks alive at once, or too large a system: found in the state space


def may(model: Model) -> list[Diagnostic]:
    """Why the method does not apply, as far as shows without the state space; each reason with its place in the text."""
    return [*chain.from_iterable(_refusals_of(t) for t in timed(model.net)), *questions.refusals(model), *_unanswered(model)]


def _refusals_of(t: Timed) -> Iterator[Diagnostic]:
    yield from (d for d in ctmc.refusals_of(t) if d.code != "E0610")
    if t.law.phase_type() is None and not 0 < t.law.mean() < math.inf:
        size = "infinite" if t.law.mean() else "0"
        yield Diagnostic(
            code="E0661",
            message=f"the mean of {t.law.describe()}, the law of {t.name}, is {size}",
            span=t.law_span or t.span,
            help="use a law with a finite mean" if t.law.mean() else "use an immediate transition",
        )


def _unanswered(model: Model) -> Iterator[Diagnostic]:
    """Questions about times, which are answered for the long run only."""
    for q in questions.asked(model):
        if isinstance(q, Horizon) or (isinstance(q, Passage) and (q.within is not None or q.quantile is not None)):
            yield Diagnostic(
                code="E0662",
                message="values at a time are not answered where a clock is neither exponential nor phase-type",
                span=q.span,
                help="ask for the long run or for the mean of a first passage, or simulate",
            )


def compute(model: Model, options: ctmc.Options | None = None, *, reason: str = "") -> Result:
    """The exact long-run values of all measures, and means of first passages.

    Raises AnalysisError where the method does not apply (two clocks alive at once among the reasons), the net is unbounded, or a limit is
    reached; SemanticsError where the net means nothing. An answer that misses the tolerance is returned with ``converged`` False."""
    began = time.perf_counter()
    options = options or ctmc.Options()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    found = _Answer(model, options)
    return Result(
        method=NAME,
        reason=reason or why(model),
        measures={m.name: Value(value=found.value(m.body), unit=m.unit, unit_factor=float(m.unit_factor)) for m in model.measures},
        residual=found.others.residual,
        converged=found.others.converged,
        classes=found.classes(),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


def why(model: Model) -> str:
    """Why this method, in one line."""
    names = [t.name for t in general(model.net)]
    if not names:
        return "all laws are exponential or phase-type"
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    clocks = "one general clock" if len(names) == 1 else "at most one of the general clocks"
    return f"{clocks} at a time ({shown}): the chain embedded where it starts"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """A net explored and its long run."""

    clocked: Clocked
    process: Regenerative
    solved: Regeneration


def _course(net: Net, wanted: Sequence[Primitive], options: ctmc.Options) -> _Course:
    c, process = _explored(net, wanted, options)
    renewal = Renewal(process, [clock_of(t) for t in c.general])
    return _Course(clocked=c, process=process, solved=regeneration(renewal, options.tolerance, solver=options.solver))


def _explored(net: Net, wanted: Sequence[Primitive], options: ctmc.Options) -> tuple[Clocked, Regenerative]:
    c = clocked(net)
    if c.expansion.phases:
        explore_graph(skeleton(net), options.limits())  # so that errors speak of the net as it was written
    return c, regenerative(net, c, wanted, options.limits())


def _mean(process: Regenerative, p: Primitive, pi: Floats, expiries: Floats) -> float:
    found = ctmc.average(process.flowing[p], pi)
    return found + ctmc.average(process.completing[p], expiries) if p in process.completing else found


def _quantile(course: _Course, q: Quantile) -> float:
    process, solved = course.process, course.solved
    weights = solved.pi
    if q.given is not None:
        firing = FiringRate(q.given)
        weights = solved.pi * process.flowing[firing] + solved.expiries * process.completing[firing]
    return questions.quantile_of(process.flowing[TimeAverage(q.value)], weights, float(q.level))


def clock_of(t: Timed) -> Clock:
    """The law of a transition's work, its constant scale included."""
    return Clock(law=t.law, scale=float(constant(t.scale) or 1))


class _Answer:
    """The values of all primitives: of the long run from one course of the net, mean first passages from nets that stop."""

    def __init__(self, model: Model, options: ctmc.Options) -> None:
        self.model, self.options = model, options
        wanted = tuple(dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures)))
        special = questions.asked(model)
        lasting = [q for q in special if isinstance(q, Quantile)]
        plain = tuple(p for p in wanted if not isinstance(p, Special))
        self.others = questions.Answers()
        self.course: _Course | None = None
        self.known: dict[Primitive, float] = {}
        if plain or lasting or not special:
            self.course = course = _course(model.net, tuple(dict.fromkeys((*plain, *questions.needed(special, model.net)))), options)
            self.known.update((p, _mean(course.process, p, course.solved.pi, course.solved.expiries)) for p in plain)
            self.known.update((q, _quantile(course, q)) for q in lasting)
            self.others.residual, self.others.converged = course.solved.residual, course.solved.converged
            self.others.methods.append(course.solved.method)
        for condition, asked in questions.by_condition(special).items():
            self._passages(condition, asked)
        self.known.update(self.others.values)

    def _passages(self, condition: Node, asked: Sequence[Passage]) -> None:
        met, net = TimeAverage(condition), stopped_when(self.model.net, condition)
        c, process = _explored(net, (met,), self.options)
        found = mean_passage(process, [clock_of(t) for t in c.general], process.flowing[met] != 0, self.options.tolerance)
        answers = self.others
        answers.values.update(dict.fromkeys(asked, found.mean))
        answers.residual = max(answers.residual, found.solved.residual)
        answers.converged = answers.converged and found.solved.converged
        answers.methods.append("first passage")
        if found.chance < 1:
            answers.notes.append(questions.may_never(asked[0], found.chance))
        if self.course is None:
            self.course = _Course(clocked=c, process=process, solved=found.solved)

    def value(self, body: Node) -> float:
        return value(body, self.model.net, self.known)

    def classes(self) -> tuple[RecurrentClass, ...]:
        if self.course is None or not self.known.keys() - self.others.values.keys():
            return ()
        process, solved = self.course.process, self.course.solved
        kinds = {**dict.fromkeys(process.dead.tolist(), "dead"), **dict.fromkeys(process.stuck.tolist(), "stuck")}
        if len(solved.classes) == 1 and not kinds:
            return ()
        return tuple(self._class(self.course, kinds.get(int(c.states[0]), "recurrent"), c) for c in solved.classes)

    def _class(self, course: _Course, kind: str, c: RegenerativeClass) -> RecurrentClass:
        lasting = [m for m in self.model.measures if not any(isinstance(p, Special) for p in primitives(m.body, self.model.net))]
        wanted = dict.fromkeys(chain.from_iterable(primitives(m.body, self.model.net) for m in lasting))
        known = {p: _mean(course.process, p, c.pi, c.expiries) for p in wanted}
        return RecurrentClass(
            probability=c.probability,
            size=len(c.states),
            kind=kind,
            marking=self._shown(course.process, int(c.states[0])),
            measures={m.name: value(m.body, self.model.net, known) for m in lasting},
        )

    def _shown(self, process: Regenerative, state: int) -> dict[str, int]:
        row = process.markings[state].tolist()
        return {p.name: k for p, k in zip(self.model.net.places, row, strict=True) if k}

    def details(self) -> dict[str, object]:
        assert self.course is not None
        process, solved = self.course.process, self.course.solved
        details: dict[str, object] = {
            "states": process.n,
            "arcs": process.arcs,
            "vanishing": process.vanishing,
            "solver": ", ".join(dict.fromkeys(self.others.methods)),
            "embedded": solved.embedded,
            "estimated_error": solved.error,
        }
        if solved.cut:
            details["tail_left_out"] = solved.cut
        if self.course.clocked.expansion.phases:
            details["phases"] = dict(self.course.clocked.expansion.phases)
        return details

    def notes(self) -> list[str]:
        assert self.course is not None
        process, solved = self.course.process, self.course.solved
        notes = ctmc.undefined({m.name: self.value(m.body) for m in self.model.measures})
        if len(solved.classes) > 1:
            notes.append(f"{len(solved.classes)} recurrent classes: values are mixed with the probabilities of ending in each")
        for kind, states in (("dead", process.dead), ("stuck", process.stuck)):
            notes.extend(ctmc.absorbed(kind, self._shown(process, i)) for i in states[:3].tolist())
            if len(states) > 3:
                notes.append(f"{len(states) - 3} more {kind} markings")
        if not self.others.converged:
            missed = f"the residual {self.others.residual:.1e} and the estimated error {solved.error:.1e} miss the tolerance"
            notes.append(f"not converged: {missed}; the figures are not to be trusted")
        return [*notes, *self.others.notes]
