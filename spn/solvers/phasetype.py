"""Any law by phase type: nets with general laws as Markov chains, with the error of the approximation estimated.

Laws that are phase-type are expanded exactly, as by :mod:`spn.solvers.ctmc`. Every other law is replaced by one near it
(:mod:`spn.dist.approximate`). Mixtures of Erlangs converge as their number of stages k grows; the chain is solved for k = 2, 4, 8, … and
the values are extrapolated to the limit, until the correction is small.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

from spn.dist.approximate import MOST_PHASES, Unfit, converging, distance, fitted, three_moments, two_moments
from spn.dist.law import Law
from spn.errors import AnalysisError, Diagnostic, nearest, refuse
from spn.model import Model
from spn.net.model import Timed, timed
from spn.provenance import provenance
from spn.result import RecurrentClass, Result, Value
from spn.show.text import number
from spn.solvers import ctmc, questions
from spn.solvers.exactly import once
from spn.solvers.extrapolate import Limit, limit
from spn.structural.classes import classes

NAME = "phase-type"
HIGHEST = 128  # stages a mean
TOO_LARGE = frozenset({"E0602", "E0603", "E0605"})
ROUNDING = 1e-9  # of a value: from here on corrections are those of the linear solver
BY_MOMENTS: Mapping[str, Callable[[Law], Law]] = {"moments2": two_moments, "moments3": three_moments}
WAYS = ("converging", "moments2", "moments3", "cdf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``phases``: how a law is replaced. "converging": mixtures of Erlangs of k stages a mean, k doubled until the values are known to
    ``accuracy`` (relative); "moments2", "moments3": few phases with two or three moments; "cdf": the distribution function fitted by a
    canonical chain, whose order is doubled likewise. ``order``: one number of stages or phases instead of a growing one.
    ``max_states``: of the largest chain."""

    phases: str = "converging"
    order: int | None = None
    accuracy: float = 1e-6
    max_states: int = 100_000

    def __post_init__(self) -> None:
        if self.phases not in WAYS:
            near = nearest(str(self.phases), WAYS)
            known = f"{f'did you mean {near}? ' if near else ''}known are {', '.join(WAYS)}"
            raise refuse(AnalysisError, "E0616", f"unknown phases: {self.phases}", help=known)
        for name, given in (("order", self.order), ("max_states", self.max_states)):
            if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
                raise refuse(AnalysisError, "E0617", f"{name} is {given!r}; it is a whole number from 1 on")
        if isinstance(self.accuracy, bool) or not isinstance(self.accuracy, int | float) or not 0 < self.accuracy < math.inf:
            raise refuse(AnalysisError, "E0617", f"accuracy is {self.accuracy!r}; it is a positive number")


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the net has no approximation by phases, each with its place in the text."""
    own = chain.from_iterable(refusals_of(t) for t in timed(model.net))
    return [*once(own), *_coinciding(model), *questions.refusals(model)]


def _coinciding(model: Model) -> Iterator[Diagnostic]:
    """Where all delays have finitely many values, firings coincide and their order counts; with phases they never do, however many."""
    clocks = timed(model.net)
    discrete = [t for t in clocks if t.law.atoms() is not None]
    if len(discrete) > 1 and len(discrete) == len(clocks) and "marked graph" not in classes(model.net):
        names = ", ".join(t.name for t in discrete[:4])
        yield Diagnostic(
            code="E0676",
            message=f"the delays of {names} have finitely many values, so that firings coincide, which no phases keep",
            span=discrete[0].law_span or discrete[0].span,
            help="use --method schedule, or simulate",
        )


def refusals_of(t: Timed) -> Iterator[Diagnostic]:
    """Why the clock of a transition is none of a Markov chain even with another law."""
    yield from (d for d in ctmc.refusals_of(t) if d.code != "E0610")
    mean = t.law.mean()
    if t.law.phase_type() is None and not 0 < mean < math.inf:
        what = "0: no phase takes no time" if mean == 0 else "infinite, so that its mean is not kept"
        yield Diagnostic(
            code="E0675",
            message=f"the mean of the law of {t.name} is {what}",
            span=t.law_span or t.span,
            help="make it an immediate transition" if mean == 0 else "simulate over a horizon",
        )


def compute(model: Model, options: Options | None = None, *, reason: str = "") -> Result:
    """The values of all measures, each with the estimated error of the approximation as its half-width (none under "moments2", "moments3"
    and a given ``order``, where nothing is known of it).

    Raises AnalysisError with all refusals at once; E0676 where a law has no such approximation or even the first chain is too large."""
    began = time.perf_counter()
    options = options or Options()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    general = tuple(t for t in timed(model.net) if t.law.phase_type() is None)
    if not general:
        exact = ctmc.compute(model, ctmc.Options(max_states=options.max_states))
        return replace(exact, reason=reason or "all laws are phase-type: nothing is approximated")
    found = _Answer(model, general, options)
    return Result(
        method=NAME,
        reason=reason or f"{found.names()} by phases",
        measures=found.measures(),
        residual=found.results[-1].residual,
        converged=found.converged(),
        classes=found.classes(),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


class _Answer:
    """The results for one order after the other, and their limits."""

    def __init__(self, model: Model, general: tuple[Timed, ...], options: Options) -> None:
        self.model, self.general, self.options = model, general, options
        self.orders: list[int] = []
        self.results: list[Result] = []
        self.laws: dict[str, Law] = {}
        self.stopped = ""
        for order in self._planned():
            if not self._solve(order) or self._enough():
                break

    def growing(self) -> bool:
        return self.options.order is None and self.options.phases not in BY_MOMENTS

    def _planned(self) -> list[int]:
        if self.options.phases in BY_MOMENTS:
            return [0]
        if self.options.order is not None:
            return [self.options.order]
        return [2**i for i in range(1, 6 if self.options.phases == "cdf" else int(math.log2(HIGHEST)) + 1)]

    def _solve(self, order: int) -> bool:
        """Solve for one order; false where it is too high, which is an error only of the first."""
        try:
            laws = {t.name: self._near(t, order) for t in self.general}
            net = self.model.net
            changed = tuple(replace(t, law=laws[t.name]) if isinstance(t, Timed) and t.name in laws else t for t in net.transitions)
            model = replace(self.model, net=replace(net, transitions=changed))
            result = ctmc.compute(model, ctmc.Options(max_states=self.options.max_states))
        except AnalysisError as error:
            first = error.diagnostics[0]
            if first.code not in TOO_LARGE and (first.code != "E0676" or not self.results):
                raise
            if not self.results:
                message = f"even with {order or 'the fewest'} phases a law the chain is too large: {first.message}"
                raise refuse(AnalysisError, "E0676", message, help="raise max_states, use --phases moments2, or simulate") from None
            self.stopped = f"order {order} was out of reach: {first.message}"
            return False
        self.orders.append(order)
        self.results.append(result)
        self.laws = laws
        return True

    def _near(self, t: Timed, order: int) -> Law:
        way = self.options.phases
        try:
            if way in BY_MOMENTS:
                return BY_MOMENTS[way](t.law)
            if way == "cdf":
                return fitted(t.law, min(order, MOST_PHASES))
            return converging(t.law, order)
        except Unfit as why:
            raise refuse(
                AnalysisError,
                "E0676",
                f"the law of {t.name}, {t.law.describe()}, has no such phase-type law near it: {why}",
                span=t.law_span or t.span,
                help="use --phases converging with a lower order, or simulate",
            ) from None

    def limit(self, name: str) -> Limit:
        values = [r.measures[name].value for r in self.results]
        if self.options.phases == "converging":
            return limit(values)
        return Limit(values[-1], 2 * abs(values[-1] - values[-2]) if len(values) > 1 else math.inf)

    def _enough(self) -> bool:
        least = 3 if self.options.phases == "converging" else 4
        return len(self.results) >= least and all(self._close(m.name) for m in self.model.measures)

    def _close(self, name: str) -> bool:
        found = self.limit(name)
        return math.isnan(found.value) or found.error <= self.options.accuracy * max(abs(found.value), ROUNDING)

    def measures(self) -> dict[str, Value]:
        last = self.results[-1].measures
        if not self.growing():
            return dict(last)
        found = {}
        for name, v in last.items():
            end = self.limit(name)
            error = end.error + (self.results[-1].residual or 0.0) * abs(end.value)
            found[name] = replace(v, value=end.value, half_width=error)
        return found

    def classes(self) -> tuple[RecurrentClass, ...]:
        """Those of the highest order; chances and values extrapolated, where every order has the same classes."""
        last = self.results[-1].classes
        every = [{(c.kind, tuple(c.marking.items())): c for c in r.classes} for r in self.results]
        if self.options.phases != "converging" or not self.growing() or any(found.keys() != every[-1].keys() for found in every):
            return last
        return tuple(_limits([found[c.kind, tuple(c.marking.items())] for found in every]) for c in last)

    def converged(self) -> bool:
        own = all(r.converged for r in self.results)
        return own and (not self.growing() or all(self._close(m.name) for m in self.model.measures))

    def names(self) -> str:
        return ", ".join(t.name for t in self.general[:4]) + (f" and {len(self.general) - 4} more" if len(self.general) > 4 else "")

    def details(self) -> dict[str, object]:
        last = self.results[-1].details
        found: dict[str, object] = {"states": last.get("states", 0), "arcs": last.get("arcs", 0), "solver": last.get("solver", "")}
        if self.orders != [0]:
            found["order"] = self.orders[-1]
        found["phases"] = last.get("phases", {})
        found["orders"] = list(self.orders)
        found["course"] = {m.name: [r.measures[m.name].value for r in self.results] for m in self.model.measures}
        return found

    def notes(self) -> Iterator[str]:
        seen: dict[Law, str] = {}
        for t in self.general:
            seen.setdefault(t.law, t.name)
        for law, name in list(seen.items())[:6]:
            near = self.laws[name]
            d = distance(law, near)
            phases = near.phase_type()
            n = len(phases.alpha) if phases is not None else 0
            yield (
                f"{name}: {law.describe()} by {n} phase{'s' * (n != 1)}, largest difference of the distribution functions "
                f"{number(d.kolmogorov, 2)}, area between them {number(d.area, 2)} of the mean"
            )
        discrete = [t.name for t in timed(self.model.net) if t.law.atoms() is not None]
        if len(discrete) > 1 and "marked graph" not in classes(self.model.net):
            names = ", ".join(discrete[:4])
            yield f"where firings of {names} coincide with positive probability and their order counts, phases have another limit"
        if not self.growing():
            yield "an approximation of fixed order: nothing is known about its error"
        elif self.options.phases == "converging":
            yield f"extrapolated from {', '.join(map(str, self.orders))} stages a mean; the error is twice the last change"
        else:
            yield f"fitted with {', '.join(map(str, self.orders))} phases; the error is twice the last change"
        if self.stopped:
            yield self.stopped
        yield from (n for n in self.results[-1].notes if "expanded exactly into phases" not in n)
        if self.results[-1].classes and self.classes() is self.results[-1].classes:
            yield "the values of the classes are those of the highest order, not extrapolated"


def _limits(same: Sequence[RecurrentClass]) -> RecurrentClass:
    """One class, by growing orders."""
    measures = {name: limit([c.measures[name] for c in same]).value for name in same[-1].measures}
    return replace(same[-1], probability=min(1.0, max(0.0, limit([c.probability for c in same]).value)), measures=measures)
