"""Exact answers for nets with one clock at a time that is neither exponential nor phase-type: DSPNs and Markov regenerative nets.

That at most one is alive at a time shows only while the state space is built. Phase-type laws beside it are expanded exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import chain

from spn.delay import is_mean
from spn.errors import AnalysisError, Diagnostic
from spn.expr.nodes import Node, constant, exact
from spn.markov.delayed import Moment, moments
from spn.markov.firstpassage import mean_passage
from spn.markov.regenerative import Regeneration, RegenerativeClass, regeneration
from spn.markov.renewal import Clock, Renewal
from spn.markov.transient import TooStiff
from spn.measure import Delay, FiringRate, Horizon, Passage, Primitive, Quantile, Special, TimeAverage, primitives, ratio, value
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
NOT_ONE = frozenset({"E0660", "E0662", "E0663", "E0664", "E0630"})  # found in the state space: two clocks at once, too large, too stiff …


def may(model: Model) -> list[Diagnostic]:
    """Why the method does not apply, as far as shows without the state space; each reason with its place in the text."""
    return [*chain.from_iterable(refusals_of(t) for t in timed(model.net)), *questions.refusals(model), *_unanswered(model)]


def refusals_of(t: Timed) -> Iterator[Diagnostic]:
    """Why the clock of a transition has no law of work that is drawn alike in all markings."""
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
    """Questions about times where a law has more than finitely many values, and quantiles of first passages."""
    others = [t for t in general(model.net) if t.law.atoms() is None]
    for q in questions.asked(model):
        if isinstance(q, Delay) and not is_mean(q):
            yield Diagnostic(
                code="E0662",
                message=f"how the time from {q.first} to {q.second} is distributed is not answered where a clock is neither exponential nor"
                " phase-type",
                span=q.span,
                help="ask for its mean, or simulate",
            )
        late = isinstance(q, Passage) and q.quantile is not None
        timely = isinstance(q, Horizon) or (isinstance(q, Passage) and q.within is not None)
        if late or (timely and others):
            law = f", as that of {others[0].name}: {others[0].law.describe()}" if others else ""
            yield Diagnostic(
                code="E0662",
                message="quantiles of first passages are not answered where a clock is neither exponential nor phase-type"
                if late
                else f"values at a time are answered for laws of finitely many values only, not where one is continuous{law}",
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
    solved: Regeneration | None


def _explored(net: Net, wanted: Sequence[Primitive], options: ctmc.Options) -> tuple[Clocked, Regenerative]:
    c = clocked(net)
    if c.expansion.phases:
        explore_graph(skeleton(net), options.limits())  # so that errors speak of the net as it was written
    return c, regenerative(net, c, wanted, options.limits())


def _mean(process: Regenerative, p: Primitive, pi: Floats, expiries: Floats) -> float:
    found = ctmc.average(process.flowing[p], pi)
    return found + ctmc.average(process.completing[p], expiries) if p in process.completing else found


def _quantile(process: Regenerative, solved: Regeneration, q: Quantile) -> float:
    weights = solved.pi
    if q.given is not None:
        firing = FiringRate(q.given)
        weights = solved.pi * process.flowing[firing] + solved.expiries * process.completing[firing]
    return questions.quantile_of(process.flowing[TimeAverage(q.value)], weights, float(q.level))


def _horizon(process: Regenerative, p: Primitive, q: Horizon, times: Sequence[Fraction], found: Sequence[Moment]) -> float:
    """A value at a time (infinite where firings of positive probability fall on it), or its integral or average over times."""
    end = found[times.index(Fraction(exact(q.end)))]
    if q.start is None:
        jump = ctmc.average(process.completing[p], end.jump) if p in process.completing else 0.0
        return math.copysign(math.inf, jump) if jump else _mean(process, p, end.at, end.expiries)
    start = found[times.index(Fraction(exact(q.start)))]
    total = _mean(process, p, end.spent - start.spent, end.counted - start.counted)
    return total if q.total else total / (float(q.end) - float(q.start))


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
        timely = [q for q in special if isinstance(q, Horizon)]
        if plain or lasting or timely or not special:
            needed = tuple(dict.fromkeys((*plain, *questions.needed(special, model.net))))
            c, process = _explored(model.net, needed, options)
            self._at_times(timely, c, process)
            self.course = _Course(clocked=c, process=process, solved=self._lasting(c, process, plain, lasting, not timely))
        for condition, asked in questions.by_condition(special).items():
            self._passages(condition, asked)
        self.known.update(self.others.values)

    def _lasting(
        self, c: Clocked, process: Regenerative, plain: Sequence[Primitive], lasting: Sequence[Quantile], always: bool
    ) -> Regeneration | None:
        """Long-run averages and quantiles; None where none is asked for."""
        if not (plain or lasting or always):
            return None
        clocks = [clock_of(t) for t in c.general]
        solved = regeneration(Renewal(process, clocks), self.options.tolerance, solver=self.options.solver)
        self.known.update((p, _mean(process, p, solved.pi, solved.expiries)) for p in plain)
        self.known.update((q, _quantile(process, solved, q)) for q in lasting)
        self.others.residual = max(self.others.residual, solved.residual)
        self.others.converged = solved.converged
        self.others.methods.append(solved.method)
        return solved

    def _at_times(self, asked: Sequence[Horizon], c: Clocked, process: Regenerative) -> None:
        """Values at times and over times, all along one course."""
        if not asked:
            return
        times = sorted({Fraction(exact(t)) for q in asked for t in (q.start, q.end) if t is not None})
        found = self._moments(asked[0], c, process, times)
        for q in asked:
            (reward,) = ratio(q.measure, self.model.net).numerators
            self.others.values[q] = _horizon(process, reward, q, times, found)

    def _moments(self, q: Horizon | Passage, c: Clocked, process: Regenerative, times: Sequence[Fraction]) -> list[Moment]:
        try:
            found, off = moments(process, [clock_of(t) for t in c.general], times)
        except TooStiff as stiff:
            raise questions.too_stiff(q, stiff) from None
        except AnalysisError as error:
            raise AnalysisError(*(replace(d, span=d.span or q.span) for d in error.diagnostics)) from None
        self.others.residual = max(self.others.residual, off)
        self.others.methods.append("method of steps")
        return found

    def _passages(self, condition: Node, asked: Sequence[Passage]) -> None:
        met, net = TimeAverage(condition), stopped_when(self.model.net, condition)
        c, process = _explored(net, (met,), self.options)
        target, answers = process.flowing[met] != 0, self.others
        within = [q for q in asked if q.within is not None]
        times = sorted({Fraction(exact(q.within)) for q in within if q.within is not None})
        if within:
            found = dict(zip(times, self._moments(within[0], c, process, times), strict=True))
            answers.values.update((q, float(found[Fraction(exact(q.within))].at[target].sum())) for q in within if q.within is not None)
        solved = None
        if len(within) < len(asked):
            mean = mean_passage(process, [clock_of(t) for t in c.general], target, self.options.tolerance)
            answers.values.update((q, mean.mean) for q in asked if q.within is None)
            answers.residual = max(answers.residual, mean.solved.residual)
            answers.converged = answers.converged and mean.solved.converged
            answers.methods.append("first passage")
            solved = mean.solved
            if mean.chance < 1:
                answers.notes.append(questions.may_never(asked[0], mean.chance))
        if self.course is None:
            self.course = _Course(clocked=c, process=process, solved=solved)

    def value(self, body: Node) -> float:
        return value(body, self.model.net, self.known)

    def classes(self) -> tuple[RecurrentClass, ...]:
        if self.course is None or self.course.solved is None or not self.known.keys() - self.others.values.keys():
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
        }
        if solved is not None:
            details.update(embedded=solved.embedded, estimated_error=solved.error)
        if solved is not None and solved.cut:
            details["tail_left_out"] = solved.cut
        if self.course.clocked.expansion.phases:
            details["phases"] = dict(self.course.clocked.expansion.phases)
        return details

    def notes(self) -> list[str]:
        assert self.course is not None
        process, solved = self.course.process, self.course.solved
        notes = ctmc.undefined({m.name: self.value(m.body) for m in self.model.measures})
        if solved is not None and len(solved.classes) > 1:
            notes.append(f"{len(solved.classes)} recurrent classes: values are mixed with the probabilities of ending in each")
        for kind, states in (("dead", process.dead), ("stuck", process.stuck)):
            notes.extend(ctmc.absorbed(kind, self._shown(process, i)) for i in states[:3].tolist())
            if len(states) > 3:
                notes.append(f"{len(states) - 3} more {kind} markings")
        if not self.others.converged:
            also = f" or the estimated error {solved.error:.1e}" if solved is not None else ""
            notes.append(
                f"not converged: the residual {self.others.residual:.1e}{also} misses the tolerance; the figures are not to be trusted"
            )
        return [*notes, *self.others.notes]
