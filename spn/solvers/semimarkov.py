"""Exact answers for nets in which every firing starts all clocks anew: semi-Markov processes, with any number of general clocks racing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from spn.errors import AnalysisError, Diagnostic
from spn.expr.nodes import Node, exact
from spn.markov import LongRun, long_run
from spn.markov.semimarkov import Moment, moments
from spn.measure import Delay, FiringRate, Horizon, Measure, Passage, Primitive, Quantile, Special, TimeAverage, primitives, ratio, value
from spn.model import Model
from spn.net.model import Memory, Net, Timed, timed
from spn.net.stopped import stopped_when
from spn.provenance import provenance
from spn.reach.semimarkov import CODE, SemiMarkov, general, semi_markov
from spn.reach.space import Floats
from spn.result import RecurrentClass, Result, Value
from spn.solvers import ctmc, mrp, questions

NAME = "semi-markov"
ACCURACY = 1e-9


def may(model: Model) -> list[Diagnostic]:
    """Why the method does not apply, as far as shows without the state space; each reason with its place in the text."""
    own = chain.from_iterable(_refusals_of(t, model.net) for t in timed(model.net))
    return [*own, *questions.refusals(model), *_unanswered(model)]


def _refusals_of(t: Timed, net: Net) -> Iterator[Diagnostic]:
    yield from (d for d in mrp.refusals_of(t))
    memory = t in general(net) and t.memory is not Memory.RESTART
    if memory or any(t.name in u.resets for u in net.transitions):
        why = f"has memory {t.memory.value}" if memory else "is reset by other firings"
        yield Diagnostic(code=CODE, message=f"the clock of {t.name} {why}: the net is not taken for semi-Markov", span=t.span, help=HELP)


HELP = "use another method, or simulate"


def _unanswered(model: Model) -> Iterator[Diagnostic]:
    for q in questions.asked(model):
        match q:
            case Delay():
                what = "times of tokens"
            case Passage(quantile=None) | Quantile(given=None):
                continue
            case Passage():
                what = "quantiles of first passages"
            case Quantile():
                what = "quantiles over firings"
            case Horizon(measure=m):
                if not any(isinstance(p, FiringRate) for p in ratio(m, model.net).numerators):
                    continue
                what = "firings at a time, or over times,"
        yield Diagnostic(code=CODE, message=f"{what} are not answered by semi-Markov processes", span=q.span, help=HELP)


def compute(model: Model, options: ctmc.Options | None = None, *, reason: str = "") -> Result:
    """The exact long-run values of all measures and means of first passages; values at times with an estimated error.

    Raises AnalysisError where the method does not apply (a clock that outlives a firing among the reasons), the net is unbounded, or a
    limit is reached; SemanticsError where the net means nothing."""
    began = time.perf_counter()
    options = options or ctmc.Options()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    found = _Answer(model, options)
    return Result(
        method=NAME,
        reason=reason or "every firing starts all clocks anew, but for exponential ones: a semi-Markov process",
        measures={
            m.name: Value(
                value=value(m.body, model.net, found.known),
                half_width=found.off(m),
                unit=m.unit,
                unit_factor=float(m.unit_factor),
            )
            for m in model.measures
        },
        residual=max(found.answers.residual, found.error),
        converged=found.answers.converged and found.error < ACCURACY,
        classes=found.classes(),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


class _Answer:
    def __init__(self, model: Model, options: ctmc.Options) -> None:
        self.model, self.options = model, options
        self.answers = questions.Answers()
        self.known: dict[Primitive, float] = {}
        self.error = 0.0
        self.errors: dict[Primitive, float] = {}
        self.process: SemiMarkov | None = None
        self.solved: LongRun | None = None
        wanted = tuple(dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures)))
        special = questions.asked(model)
        plain = [p for p in wanted if not isinstance(p, Special)]
        lasting = [q for q in special if isinstance(q, Quantile)]
        if plain or lasting or not special:
            self._lasting(plain, lasting)
        self._at_times([q for q in special if isinstance(q, Horizon)])
        for condition, asked in questions.by_condition(special).items():
            self._passages(condition, asked)
        self.known.update(self.answers.values)

    def _explored(self, net: Net, wanted: Sequence[Primitive]) -> SemiMarkov:
        found = semi_markov(net, wanted, self.options.limits())
        self.error = max(self.error, found.error)
        self.process = self.process or found
        return found

    def _lasting(self, plain: Sequence[Primitive], lasting: Sequence[Quantile]) -> None:
        space = self._explored(self.model.net, [*plain, *questions.needed(lasting, self.model.net)]).space
        self.solved = long_run(space.rates, space.initial, self.options.tolerance, solver=self.options.solver)
        self.known.update({p: ctmc.average(space.rewards[p], self.solved.pi) for p in plain})
        questions.quantiles(lasting, space.rewards, self.solved.pi, self.answers)
        self.answers.methods.append(self.solved.method)
        self.answers.residual = max(self.answers.residual, self.solved.residual)
        self.answers.converged = self.answers.converged and self.solved.converged

    def _at_times(self, asked: Sequence[Horizon]) -> None:
        """Values at times and over times, all along one course."""
        if not asked:
            return
        process = self._explored(self.model.net, questions.needed(asked, self.model.net))
        times = sorted({Fraction(exact(t)) for q in asked for t in (q.start, q.end) if t is not None})
        found = dict(zip(times, self._moments(asked[0], process, times), strict=True))
        for q in asked:
            (reward,) = (process.space.rewards[p] for p in ratio(q.measure, self.model.net).numerators)
            end = found[Fraction(exact(q.end))]
            if q.start is None:
                self._answer(q, reward, end.at, end.at_error)
                continue
            start, length = found[Fraction(exact(q.start))], 1.0 if q.total else float(q.end) - float(q.start)
            self._answer(q, reward / length, end.spent - start.spent, end.spent_error + start.spent_error)

    def _answer(self, q: Primitive, reward: Floats, weights: Floats, off: Floats) -> None:
        seen = weights > off  # what is undefined where there is no weight does not matter
        self.answers.values[q] = math.fsum((reward[seen] * weights[seen]).tolist())
        self.errors[q] = math.fsum((np.abs(reward[seen]) * off[seen]).tolist())

    def _moments(self, q: Horizon | Passage, process: SemiMarkov, times: Sequence[Fraction]) -> list[Moment]:
        try:
            found = moments(process, times)
        except AnalysisError as error:
            raise AnalysisError(*(replace(d, span=d.span or q.span) for d in error.diagnostics)) from None
        self.answers.methods.append("Markov renewal equations")
        return found

    def _passages(self, condition: Node, asked: Sequence[Passage]) -> None:
        met = TimeAverage(condition)
        process = self._explored(stopped_when(self.model.net, condition), (met,))
        target = process.space.rewards[met] != 0
        within = [q for q in asked if q.within is not None]
        means = [q for q in asked if q.within is None]
        if within:
            times = sorted({Fraction(exact(q.within)) for q in within if q.within is not None})
            found = dict(zip(times, self._moments(within[0], process, times), strict=True))
            for q in within:
                assert q.within is not None
                then = found[Fraction(exact(q.within))]
                self._answer(q, target.astype(np.float64), then.at, then.at_error)
        if means:
            questions.passages(means, process.space, target, self.answers, self.options.tolerance)

    def off(self, m: Measure) -> float | None:
        """The estimated error of a measure of values at a time, to first order; None where its figures are exact but for rounding."""
        asked = [p for p in primitives(m.body, self.model.net) if p in self.errors]
        right = value(m.body, self.model.net, self.known)
        moved = [value(m.body, self.model.net, {**self.known, p: self.known[p] + self.errors[p]}) for p in asked]
        return math.fsum(abs(v - right) for v in moved) if asked else None

    def classes(self) -> tuple[RecurrentClass, ...]:
        if self.solved is None or self.process is None:
            return ()
        space = self.process.space
        kinds = {**dict.fromkeys(space.dead.tolist(), "dead"), **dict.fromkeys(space.stuck.tolist(), "stuck")}
        if len(self.solved.classes) == 1 and not kinds:
            return ()
        lasting = [m for m in self.model.measures if not any(isinstance(p, Special) for p in primitives(m.body, self.model.net))]
        found = []
        for c in self.solved.classes:
            known = {
                p: ctmc.average(space.rewards[p][c.states], c.solution.pi) for m in lasting for p in primitives(m.body, self.model.net)
            }
            found.append(
                RecurrentClass(
                    probability=c.probability,
                    size=len(c.states),
                    kind=kinds.get(int(c.states[0]), "recurrent"),
                    marking=self._shown(int(c.states[0])),
                    measures={m.name: value(m.body, self.model.net, known) for m in lasting},
                )
            )
        return tuple(found)

    def _shown(self, state: int) -> dict[str, int]:
        assert self.process is not None
        row = self.process.space.markings[state].tolist()
        return {p.name: int(k) for p, k in zip(self.model.net.places, row, strict=True) if k}

    def details(self) -> dict[str, object]:
        assert self.process is not None
        space = self.process.space
        return {
            "states": space.n,
            "arcs": space.arcs,
            "vanishing": space.vanishing,
            "races": len({r for r in self.process.races if len(r.runners) + (r.rate > 0) > 1}),
            "solver": ", ".join(dict.fromkeys(self.answers.methods)),
            "quadrature_error": self.error,
        }

    def notes(self) -> Iterator[str]:
        assert self.process is not None
        yield from ctmc.undefined({m.name: value(m.body, self.model.net, self.known) for m in self.model.measures})
        if self.solved is not None and len(self.solved.classes) > 1:
            yield f"{len(self.solved.classes)} recurrent classes: values are mixed with the probabilities of ending in each"
        if not self.answers.converged or self.error >= ACCURACY:
            yield f"not converged: the quadrature's error is {self.error:.1e}; the figures are not to be trusted"
        yield from self.answers.notes
