"""Mean field: long-run values of nets with large populations from the fluid limit and its 1/N correction, beside the exact ones where those
are within reach."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from spn.errors import AnalysisError, Diagnostic, refuse
from spn.markov import meanfield as fluid
from spn.markov.jets import Floats, NotSmooth
from spn.markov.meanfield import Fluid, NoEnd, Refined, Unstable
from spn.measure import Average, FiringRate, Horizon, LinkRate, Primitive, RunningClocks, Throughput, TimeAverage, primitives, value
from spn.model import Model
from spn.net.expand import expand
from spn.net.model import ArcKind, timed
from spn.provenance import provenance
from spn.result import Result, Value
from spn.show.text import number
from spn.solvers import ctmc
from spn.source import Span
from spn.symmetry.groups import symmetry
from spn.symmetry.images import TooMany
from spn.symmetry.reduce import Reduction, described, reduction

NAME = "meanfield"
FEW = 10  # tokens in the fullest place below which a warning is due
SAMPLES = 4_000  # points of a trajectory that does not come to rest
STRETCHES = (300.0, 3_000.0, 30_000.0)  # how long it is followed, in times of the fastest change
AGREE = 1e-4  # of the population: to what its halves agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``compare`` is the number of states up to which the exact values are computed as well, 0 for never."""

    compare: int = 20_000

    def __post_init__(self) -> None:
        if isinstance(self.compare, bool) or not isinstance(self.compare, int) or self.compare < 0:
            raise refuse(AnalysisError, "E0617", f"compare is {self.compare!r}; it is a whole number of states, 0 for never")


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the net has no fluid limit, each with its place in the text."""
    return _begin(model)[0]


def _begin(model: Model) -> tuple[list[Diagnostic], Reduction | None]:
    """The refusals, and the net with replicas folded where it could be."""
    refused = list(chain.from_iterable(ctmc.refusals_of(t) for t in timed(model.net)))
    if refused:
        return _once(refused), None
    small = _small(model)
    return _once(fluid.refusals(small.net) + _sharing(small)), small


def _once(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Without what is said of the same place again: replicas share their text."""
    seen: dict[object, Diagnostic] = {}
    for d in found:
        seen.setdefault((d.code, d.span) if d.span is not None else d.message, d)
    return list(seen.values())


def _small(model: Model) -> Reduction:
    """The net with replicas folded to counts, and what the long-run primitives become."""
    expansion = expand(model.net)
    found = symmetry(model.net, model.measures)
    parts: list[Primitive] = []
    for p in _asked(model):
        if isinstance(p, FiringRate):
            parts += [FiringRate(t, p.value) for t in expansion.completions.get(p.transition, (p.transition,))]
        else:
            parts.append(p)
    try:
        return reduction(model.net, expansion, found.groups, parts)
    except TooMany:
        return reduction(model.net, expansion, (), parts)


def _asked(model: Model) -> tuple[Primitive, ...]:
    """The long-run primitives of the measures, and those behind values at a time."""
    wanted = dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures))
    found: dict[Primitive, None] = {}
    for p in wanted:
        if isinstance(p, TimeAverage | FiringRate | RunningClocks | LinkRate):
            found[p] = None
        elif isinstance(p, Horizon):
            found[_inside(p)] = None
    return tuple(found)


def _inside(q: Horizon) -> Primitive:
    match q.measure:
        case Throughput(transition=t):
            return FiringRate(t)
        case Average(value=v):
            return TimeAverage(v)


def _sharing(small: Reduction) -> list[Diagnostic]:
    """Replicas that take a token which all share: they are switched on and off by it."""
    made = {name for step in small.steps for name in step.folded.transitions}
    found = []
    for t in timed(small.net):
        inputs = [a.place for a in t.arcs if a.kind is ArcKind.INPUT]
        if t.name in made and len(inputs) > 1:
            message = f"no fluid limit: {t.name} is switched on and off by the tokens of {inputs[1]}, which all replicas share"
            help = "let the rate depend on the counts smoothly instead: exp(rate = …)"
            found.append(Diagnostic(code="E0650", message=message, span=t.span, help=help))
    return found


# --- the answer -------------------------------------------------------------------------------------------------------------------


def compute(model: Model, options: Options | None = None, *, reason: str = "") -> Result:
    """The long-run values in the fluid limit with the 1/N correction; values ``at`` a time along the trajectory, uncorrected.

    AnalysisError: E0650 where the net has no fluid limit (all reasons), E0651 where no measure has one, E0652 where the trajectory cannot
    be followed. A measure without a fluid limit beside others that have one is nan, with a note."""
    began = time.perf_counter()
    options = options or Options()
    refused, small = _begin(model)
    if refused or small is None:
        raise AnalysisError(*refused)
    found = _Answer(model, small)
    if model.measures and all(math.isnan(found.plain[m.name]) for m in model.measures):
        raise AnalysisError(*(_jumping(m.name, m.span, found.why.get(m.name, "")) for m in model.measures))
    exact = _exact(model, options.compare)
    measures = {}
    for m in model.measures:
        note = found.note(m.name, float(m.unit_factor), None if exact is None else exact[m.name])
        measures[m.name] = Value(value=found.best[m.name], unit=m.unit, unit_factor=float(m.unit_factor), note=note)
    return Result(
        method=NAME,
        reason=reason or found.said(),
        measures=measures,
        residual=found.residual,
        converged=found.converged,
        details=found.details(exact),
        notes=tuple(found.notes),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, "compare": options.compare}),
    )


def _jumping(name: str, span: Span | None, why: str) -> Diagnostic:
    return Diagnostic(
        code="E0651",
        message=f"measure {name} has no fluid limit{': ' + why if why else ''}",
        span=span,
        help="ask for throughputs and mean numbers of tokens, or solve or simulate the net",
    )


def _exact(model: Model, states: int) -> Result | None:
    """The exact result, where it takes at most so many states."""
    if states == 0:
        return None
    try:
        result = ctmc.compute(model, ctmc.Options(max_states=states))
    except AnalysisError:
        return None
    return result if result.converged else None


def _windowed(values: Floats) -> Floats:
    """The mean of values at equal times along a (quasi-)periodic course, by smooth weights that vanish with all derivatives at both ends:
    whatever phase the ends have matters little (S. Das, Y. Saiki, E. Sander and J. A. Yorke, Nonlinearity 30 (2017) 4111)."""
    t = (np.arange(len(values)) + 0.5) / len(values)
    weights = np.exp(-1.0 / (t * (1.0 - t)))
    return np.asarray(np.tensordot(weights / weights.sum(), values, axes=1))


class _Answer:
    def __init__(self, model: Model, small: Reduction) -> None:
        self.model, self.small = model, small
        self.fluid = Fluid(self.small.net)
        self.notes = list(described(self.small))
        self.converged = True
        self.residual: float | None = None
        self.cycle: list[Floats] = []
        self.refined: Refined | None = None
        self.why: dict[str, str] = {}
        try:
            self.end = fluid.follow(self.fluid, self.fluid.start)
            self._look()
        except NoEnd:
            message = "the fluid limit cannot be followed: it grows without limit, or too fast"
            raise refuse(AnalysisError, "E0652", message, help="bound the populations, or simulate") from None
        except NotSmooth as jump:
            message = f"no fluid limit: a rate is not smooth along the trajectory: {jump}"
            raise refuse(AnalysisError, "E0650", message, help="solve or simulate the net") from None
        self.plain = self._measures(None)
        self.best = self._measures(self.refined) if self.refined is not None else self.plain

    # --- where it goes

    def _look(self) -> None:
        self._warn_of_few()
        if not self.end.settled:
            self._cycle()
            return
        self.end = replace(self.end, x=fluid.polished(self.fluid, self.end.x))
        gross = self.fluid.gross(self.end.x)
        self.residual = float(np.abs(self.fluid.drift(self.end.x)).sum()) / gross if gross else 0.0
        for other in fluid.other_ends(self.fluid, self.end):
            where = self._shown(other)
            self.notes.append(
                f"several fixed points: from elsewhere the trajectory ends in {where}; the one from the initial marking is given"
            )
        self._refine()

    def _refine(self) -> None:
        try:
            by = fluid.refined(self.fluid, self.end.x)
        except Unstable:
            self.notes.append("the fixed point is not isolated or not attractive: no correction for finite populations is given")
            return
        if any(a.kind is ArcKind.INPUT and float(getattr(a.multiplicity, "value", 1)) > 1 for t in timed(self.small.net) for a in t.arcs):
            self.notes.append("a transition takes several tokens at once, whose rounding is of the order of the correction: none is given")
            return
        at = self.fluid.point(self.end.x)
        for t in self.fluid.flows:
            self.fluid.rate(t, at)
        near = fluid.nearest_switch(at.switches, by)
        if near < fluid.NEAR:
            text = f"the fixed point lies {near:.1f} standard deviations from where a minimum or condition changes over"
            if near < fluid.AT:
                self.notes.append(f"{text}: no correction is given, and the error may be of the order of the square root of the population")
                return
            self.notes.append(f"{text}: the correction is not to be relied on")
        self.refined = by

    def _cycle(self) -> None:
        """The trajectory does not come to rest: averages along it, over longer and longer stretches until their two halves agree."""
        size = max(1.0, float(np.abs(self.fluid.start).sum()))
        pace = float(np.linalg.norm(self.fluid.jacobian(self.end.x), 2)) or 1.0
        for span in STRETCHES:
            self.cycle = fluid.sampled(self.fluid, self.end.x, np.linspace(0.0, span / pace, SAMPLES))
            halves = [_windowed(np.array(part)) for part in (self.cycle[: SAMPLES // 2], self.cycle[SAMPLES // 2 :])]
            self.converged = bool(np.abs(halves[0] - halves[1]).max() <= AGREE * size)
            if self.converged:
                break
        what = "a limit cycle: averages along it are given" if self.converged else "averages along it have not settled either"
        self.notes.append(f"the trajectory from the initial marking does not come to rest, {what}, without correction")

    def _warn_of_few(self) -> None:
        most = float(self.fluid.start.max(initial=0.0))
        if most < FEW:
            self.notes.append(f"no place holds more than {most:g} tokens at first: a fluid limit speaks of large populations")

    # --- values

    def _measures(self, by: Refined | None) -> dict[str, float]:
        known: dict[Primitive, float] = {}
        why: dict[Primitive, str] = {}
        wanted = dict.fromkeys(chain.from_iterable(primitives(m.body, self.model.net) for m in self.model.measures))
        for p in wanted:
            try:
                known[p] = self._value(p, by)
            except NotSmooth as jump:
                known[p], why[p] = math.nan, str(jump)
        found = {}
        for m in self.model.measures:
            found[m.name] = value(m.body, self.model.net, known)
            told = [why[p] for p in primitives(m.body, self.model.net) if p in why]
            if told:
                self.why[m.name] = told[0]
        return found

    def _value(self, p: Primitive, by: Refined | None) -> float:
        match p:
            case Horizon(start=None, end=end):
                return self._at(_inside(p), fluid.state_at(self.fluid, float(end)), None)
            case TimeAverage() | FiringRate() | RunningClocks() | LinkRate():
                if self.cycle:
                    return float(_windowed(np.array([self._at(p, x, None) for x in self.cycle])))
                return self._at(p, self.end.x, by)
        raise NotSmooth("only long-run values and values at a time follow from the fluid limit")

    def _at(self, p: Primitive, x: Floats, by: Refined | None) -> float:
        total = 0.0
        for weight, q in self._terms(p):
            at = self.fluid.point(x)
            h = fluid.reward(self.fluid, q, at)
            total += weight * (h.value if by is None else fluid.expected(h, by))
        return total

    def _terms(self, p: Primitive) -> list[tuple[float, Primitive]]:
        if p in self.small.terms:
            return list(self.small.terms[p])
        assert isinstance(p, FiringRate)
        names = expand(self.model.net).completions[p.transition]
        return [t for name in names for t in self.small.terms[FiringRate(name, p.value)]]

    # --- words

    def note(self, name: str, factor: float, exact: float | None) -> str:
        if name in self.why:
            return f"no fluid limit: {self.why[name]}"
        parts = []
        if self.refined is not None and self.best[name] != self.plain[name]:
            parts.append(f"fluid limit {number(self.plain[name] / factor)}")
        if exact is not None and not math.isnan(exact):
            parts.append(f"exact {number(exact / factor)}")
        return ", ".join(parts)

    def said(self) -> str:
        if self.cycle:
            return "average along the fluid trajectory"
        return "fixed point of the fluid limit" + (", with its 1/N correction" if self.refined is not None else "")

    def details(self, exact: Result | None) -> Mapping[str, object]:
        shown: dict[str, object] = {"equations": int(self.fluid.basis.shape[1]), "solver": "LSODA and Newton"}
        if self.refined is not None and math.isfinite(self.refined.slowest):
            shown["slowest_rate"] = self.refined.slowest
        shown["tokens"] = int(self.fluid.start.sum())
        if exact is not None:
            shown["exact_states"] = exact.details.get("states", 0)
        return shown

    def _shown(self, x: Floats) -> str:
        parts = [f"{p.name}={number(k, 4)}" for p, k in zip(self.small.net.places, x.tolist(), strict=True) if k > 1e-9]
        return ", ".join(parts[:6]) + (", …" if len(parts) > 6 else "")
